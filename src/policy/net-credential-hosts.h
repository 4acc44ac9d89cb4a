/*
 * The hosts of credentials, held against the rules of the network.
 *
 * A credential is added to requests that a rule of `network.allow` lets pass, and to no others.  One that is bound to a
 * host without such a rule would be accepted without effect, so it is refused.  Only the policy of one operator is
 * checked, with all its sources joined: what a ceiling takes away from it is the ceiling's to say.
 */
#ifndef RF_POLICY_NET_CREDENTIAL_HOSTS_H
#define RF_POLICY_NET_CREDENTIAL_HOSTS_H

#include "base/err.h"
#include "policy/policy.h"

/* Refuses a credential that is bound to a host which no rule allows.  `ret_name` (borrows) may be NULL. */
int rf_net_credential_hosts_check(const struct rf_policy *policy, const char **ret_name,
				  struct rf_err *err);

/*
 * The same where somebody else chose the hosts of the credentials than who wrote the rules: refuses
 * one of whose hosts none is allowed.  Of several, a request may need the first and its key's
 * ceiling not reach the second.
 */
int rf_net_credential_hosts_check_some(const struct rf_policy *policy, struct rf_err *err);

/* Adds the hosts of every credential of `policy` to its `network.allow`, as they are bound: ports, methods and paths. */
int rf_net_credential_hosts_allow(struct rf_policy *policy, struct rf_err *err);

#endif
