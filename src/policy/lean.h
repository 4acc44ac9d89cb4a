/*
 * A request that leans on a base: what it does not say is the base's, and what it says can only tighten that.
 *
 * A meet completes both sides with defaults, so that a request which is silent about the network has none.  Here the silence of the request means the base's own word, key
 * by key; and then the two meet, so that nothing comes of it that the base does not allow.
 */
#ifndef RF_POLICY_LEAN_H
#define RF_POLICY_LEAN_H

#include <stddef.h>

#include "base/err.h"
#include "policy/policy.h"

/*
 * Reads a stranger's text with the built-in profiles that it extends, and no other file; paths count from the root.  Gives `*ret_policy`, which holds only the keys that
 * they set.
 */
int rf_lean_read(const char *text, size_t len, struct rf_policy **ret_policy, struct rf_err *err);

/* Borrows both, of which neither extends anything any more.  Gives `*ret_policy`: all that was said, and no more than the base allows. */
int rf_lean_on(const struct rf_policy *base, const struct rf_policy *request,
	       struct rf_policy **ret_policy, struct rf_err *err);

#endif
