/*
 * What of a box's network can change while the box lives, and how far.
 *
 * Rules, where names lead, the mode and the figures can.  What was made when the box began stays: credentials, ports that are published,
 * filters, roots, and whether there is a gateway at all.
 */
#ifndef RF_POLICY_NET_CHANGE_H
#define RF_POLICY_NET_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/policy.h"

struct rf_buf;

/* Writes the keys that can change, as rf_policy_format() does. */
void rf_net_change_format(const struct rf_policy *policy, struct rf_buf *out);

/* True if the policy has a final key among these: who may not go beyond it at the start may not afterwards. */
bool rf_net_change_is_final(const struct rf_policy *policy);

/*
 * The policy that a box gets: what `text` says of the keys that can change (all of them: one that is missing is gone), and the rest of what it
 * began with (`opened`, borrowed).  It allows nothing that `most` (borrowed) does not; NULL: nothing bounds it.  `is_whole`: what the text names beyond that is
 * refused with -EPERM.  Gives `*ret_policy`.
 */
int rf_net_change_make(const struct rf_policy *opened, const char *text, size_t len,
		       const struct rf_policy *most, bool is_whole, struct rf_policy **ret_policy,
		       struct rf_err *err);

/* For who asks for one: keys that `over` (borrowed) sets take the place of those in `policy`. */
int rf_net_change_replace(struct rf_policy *policy, const struct rf_policy *over,
			  struct rf_err *err);

/* Or join them; what is newly allowed is no longer denied by a rule of the same words. */
int rf_net_change_add(struct rf_policy *policy, const struct rf_policy *over, struct rf_err *err);

/* The first of the rules that `over` allows and `policy` does not have, or NULL: it goes beyond what the box may have. */
const char *rf_net_change_missing(const struct rf_policy *policy, const struct rf_policy *over);

#endif
