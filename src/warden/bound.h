/*
 * What bounds a connection that is somebody else's (wire/terms.h), and all that are joined to it.
 *
 * At its other end is a process that reads what strangers send, and may have been talked into anything.  So nothing that it says of itself
 * counts: no working directory, home or file of the host is taken from its errands, its policies are met with the ceiling
 * that whoever made the connection gave, and it sees the boxes of its tenant and no others.
 */
#ifndef RF_WARDEN_BOUND_H
#define RF_WARDEN_BOUND_H

#include <stdbool.h>

#include "base/err.h"
#include "policy/policy.h"
#include "wire/errand.h"
#include "wire/terms.h"

#define RF_BOUND_CODE "/code" /* beneath which files may be brought along */

struct rf_bound;

/* Copies the terms; their ceiling must be a policy.  Gives `*ret_bound`. */
int rf_bound_new(const struct rf_terms *terms, struct rf_bound **ret_bound, struct rf_err *err);

/* One more who is bound by it (NULL: nobody is), and one less. */
struct rf_bound *rf_bound_ref(struct rf_bound *bound);
void rf_bound_unref(struct rf_bound *bound);

/* Whose it is: a key's id, and a tenant. */
const char *rf_bound_key(const struct rf_bound *bound);
const char *rf_bound_tenant(const struct rf_bound *bound);
const struct rf_terms_sums *rf_bound_sums(const struct rf_bound *bound);

/* True if a client that is bound so (NULL: not at all) may know of a box of one that is bound so. */
bool rf_bound_sees(const struct rf_bound *client, const struct rf_bound *keeper);

/*
 * Takes from the errand what is not its to say; or refuses it.  For NULL it says what becomes of
 * what is named beyond a ceiling: of a box that is kept (`is_kept`) nobody sees a result that could
 * tell, so it is refused.
 */
int rf_bound_errand(const struct rf_bound *bound, struct rf_errand *errand, bool is_kept,
		    struct rf_err *err);

/*
 * The agent of the tenant's (wire/tenant-agent.h) that a policy, met with the ceiling already, is done for: 1, and gives the text of what it may do, to be freed; 0: the
 * policy names none, or one that nobody ever made, which is but a name.  One that is gone or can't be read is an error: what it may do is not known then.
 */
int rf_bound_agent(const struct rf_bound *bound, const struct rf_policy *policy, char **ret_text,
		   struct rf_err *err);

/*
 * Refuses a policy, met with the ceiling already, that would have the warden open files which the ceiling does not name; and a gateway
 * (`has_gateway`) where it leaves no network.
 */
int rf_bound_check(const struct rf_bound *bound, const struct rf_policy *policy, bool has_gateway,
		   struct rf_err *err);

/*
 * One more box with these limits, which count toward what boxes of the key have together: gives its share.  -EDQUOT: it may later; -EPERM: it never
 * may.  And one less.
 */
int rf_bound_enter(struct rf_bound *bound, const struct rf_policy *policy,
		   struct rf_terms_sums *ret_share, struct rf_err *err);
void rf_bound_leave(struct rf_bound *bound, const struct rf_terms_sums *share);

#endif
