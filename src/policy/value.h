/* The values of a policy's keys: from text into the struct, checked.  Internal to src/policy. */
#ifndef RF_POLICY_VALUE_H
#define RF_POLICY_VALUE_H

#include "base/err.h"
#include "policy/files.h"
#include "policy/key.h"

/*
 * Sets a scalar key from its text, or adds one element to a list.  On failure `err` names the key
 * and says what would be right; the policy is as it was.
 */
int rf_value_set(struct rf_policy *policy, enum rf_key key, const char *text,
		 const struct rf_files_base *base, struct rf_err *err);

/* Sets one variable of a map key. */
int rf_value_set_pair(struct rf_policy *policy, enum rf_key key, const char *name,
		      const char *content, struct rf_err *err);

/* Gives `to` what `from` has under `key`: a scalar is replaced, a list joined. */
int rf_value_join(struct rf_policy *to, const struct rf_policy *from, enum rf_key key);

/* Where different sources listed one rule under read and write, write wins. */
void rf_value_settle(struct rf_policy *policy);

/*
 * Refuses a source of rules that shows a file and hides it: looks at the newest element of `key`, and
 * has nothing to say about other keys.  Between sources, hiding wins.
 */
int rf_value_check_deny(const struct rf_policy *policy, enum rf_key key, struct rf_err *err);

#endif
