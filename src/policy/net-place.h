/* Addresses and ports that a policy names: where a name leads, what is published.  Internal to src/policy. */
#ifndef RF_POLICY_NET_PLACE_H
#define RF_POLICY_NET_PLACE_H

#include "policy/arena.h"
#include "policy/list.h"
#include "policy/net.h"

#define RF_NET_PLACE 64 /* bytes of one as text, with its NUL */

/* Reads "10.0.0.1", "10.0.0.1:8080", "::1" or "[::1]:8080"; a port that is not there is 0. */
int rf_net_place_read(const char *text, uint8_t ret_address[16], uint16_t *ret_port,
		      struct rf_err *err);
void rf_net_place_write(const uint8_t address[16], uint16_t port, char text[RF_NET_PLACE]);

/* Reads "8080", "8080:80" (the host's first) or "0.0.0.0:8080:80". */
int rf_net_place_publish(const char *text, struct rf_net_publish *ret_publish, struct rf_err *err);
void rf_net_place_write_publish(const struct rf_net_publish *publish, char text[RF_NET_PLACE]);

/* Reads a rule and keeps its texts. */
int rf_net_rule_keep(struct rf_arena *arena, const char *text, bool is_deny,
		     struct rf_net_rule *ret_rule, struct rf_err *err);

/* What both rules match, written into `out`, which has room for `max`; returns how many rules that are. */
#define RF_NET_MEET 4
size_t rf_net_rule_meet(const struct rf_net_rule *a, const struct rf_net_rule *b,
			struct rf_net_rule_room *rooms, struct rf_net_rule *rules, size_t max);

/*
 * True if all that `inner` grants, `outer` grants (or denies, if it is a rule that denies): certainly; of odd patterns it may
 * say no.  127.0.0.1 is not covered by 0.0.0.0/0, which grants public addresses alone.
 */
bool rf_net_rule_covers(const struct rf_net_rule *outer, const struct rf_net_rule *inner);

/* The same of two lists of rules that allow. */
bool rf_net_rules_cover(const struct rf_list *outer, const struct rf_list *inner);

/* Adds to `out` the rules that name no address that is not public: what is left of them beside `mode: open`. */
int rf_net_rules_public(const struct rf_list *list, struct rf_list *out);

/* Adds to `out` what the rules of both lists allow.  Returns 0 or a negative errno. */
int rf_net_rules_meet(const struct rf_list *a, const struct rf_list *b, struct rf_list *out);

#endif
