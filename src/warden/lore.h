/*
 * Policies that were read before: the same text need not be read twice.
 *
 * A client sends its policy as text, and most send the same one again and again.  What a text comes
 * to is found once: with the built-in profiles that it extends (a warden reads no others: files are
 * for whoever sends the text), over the defaults, and bounded by the errand's ceiling, by what its agent
 * may do, and by the warden's own ceiling.
 */
#ifndef RF_WARDEN_LORE_H
#define RF_WARDEN_LORE_H

#include "base/err.h"
#include "policy/policy.h"
#include "result/result.h"
#include "warden/bound.h"
#include "wire/errand.h"

struct rf_lore;

/* `ceiling` (borrows): what no request goes beyond; or NULL. */
int rf_lore_new(const struct rf_policy *ceiling, struct rf_lore **ret_lore, struct rf_err *err);
void rf_lore_free(struct rf_lore *lore);

/* The policy of an errand.  It stays the lore's, and is there until the next call. */
int rf_lore_find(struct rf_lore *lore, const struct rf_errand *errand,
		 const struct rf_policy **ret_policy, struct rf_err *err);

/* The same on a connection on terms (NULL: on none): where it is done for an agent of the tenant's, within what that may do, whoever says so. */
int rf_lore_find_within(struct rf_lore *lore, const struct rf_bound *bound,
			const struct rf_errand *errand, const struct rf_policy **ret_policy,
			struct rf_err *err);

/* True if somebody else says how far it goes: a ceiling of the warden's, or of the errand's own. */
bool rf_lore_is_bounded(const struct rf_lore *lore, const struct rf_errand *errand);

/* Its text, as a watcher may be told of it (rf_policy_format_told()); borrowed until the next call.  NULL: no memory. */
const char *rf_lore_told(struct rf_lore *lore, const struct rf_policy *policy);

/*
 * Warns of what an errand's policy names beyond the warden's own ceiling, which is narrowed and not
 * refused.  What is as the command has it by itself does not count: nobody asked for it.
 */
void rf_lore_warn(const struct rf_lore *lore, const struct rf_policy *policy,
		  struct rf_result *result);

#endif
