/*
 * A credential that the gateway adds to requests: read field by field, kept as text.
 *
 * In a policy's list it is an element whose value is its fields as lines, "field value", in the order of one table and with
 * all that was left out filled in; so two that mean the same are the same text, and every part of the policy that knows how
 * to treat a list knows how to treat them.  Internal to src/policy.
 */
#ifndef RF_POLICY_NET_CREDENTIAL_H
#define RF_POLICY_NET_CREDENTIAL_H

#include "base/buf.h"
#include "policy/arena.h"
#include "policy/files.h"
#include "policy/list.h"
#include "policy/net.h"

/* One that is being read: its fields, and what it is bound to, as they came. */
struct rf_net_credential_draft {
	struct rf_list fields, hosts;
};

void rf_net_credential_done(struct rf_net_credential_draft *draft);

int rf_net_credential_check_name(const char *name, struct rf_err *err);

/* Adds a field, or to the list of hosts one element. */
int rf_net_credential_add(struct rf_net_credential_draft *draft, const char *field,
			  const char *text, const struct rf_files_base *base, struct rf_err *err);

/* True if the field is a list. */
bool rf_net_credential_is_list(const char *field);

/* Checks the whole and gives its text, to be freed. */
int rf_net_credential_end(const struct rf_net_credential_draft *draft, char **ret_text,
			  struct rf_err *err);

/* As a flag has it, behind "NAME=": "env:GITHUB_TOKEN@api.github.com". */
int rf_net_credential_parse(const char *text, const struct rf_files_base *base, char **ret_text,
			    struct rf_err *err);

/* Walks the lines of such a text: gives a field and its value until false.  Begins where `*at` is the text. */
bool rf_net_credential_next(const char **at, struct rf_span *ret_field, struct rf_span *ret_value);

/* Compiles one, with everything in `arena`. */
int rf_net_credential_make(struct rf_arena *arena, const char *name, const char *text,
			   struct rf_net_credential *ret_credential, struct rf_err *err);

/* What two sides allow of one: nothing if they differ in more than in hosts, budgets and cost.  Gives, or gives NULL. */
int rf_net_credential_meet(const char *a, const char *b, char **ret_text);

#endif
