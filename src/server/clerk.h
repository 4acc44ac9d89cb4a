/*
 * ringfort-clerk: does for strangers what takes the operator's rights, mostly with files of the state folder.
 *
 * Started by who has the keys, which makes a connection for each of them on its terms (clerk-terms.h); the front asks on it.  The table of what
 * can be asked is clerk-table.c.  One loop reads and answers; what is asked is done in threads (clerk-pool.h).  A connection of the front's is never
 * waited for, and has a most of what may be under way on it.
 */
#ifndef RF_SERVER_CLERK_H
#define RF_SERVER_CLERK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/clerk-terms.h"

#define RF_CLERK_FDS 4 /* descriptors of a question, and of an answer */

/* Who asks: a connection's terms.  Never changes, and stays while something is done for it. */
struct rf_clerk_asker {
	const char *key, *tenant, *ceiling;
	uint32_t scopes, boxes, rate;
	struct rf_terms_sums sums;
};

/* What is asked, and what is answered.  The handler may take descriptors (rf_fd_take()); what is left is closed. */
struct rf_clerk_matter {
	const char *body; /* with a NUL behind it */
	size_t len;
	int fds[RF_CLERK_FDS];
	size_t fd_count;
	struct rf_buf out; /* the answer */
	int out_fds[RF_CLERK_FDS];
	size_t out_fd_count;
};

/*
 * Answers one question, in a thread of its own: several run at once, of one tenant, too.  Returns 0, or a negative errno and what the front's client is told
 * (-ENOENT: 404, -EEXIST, -EBUSY: 409, -EINVAL: 422, -EAGAIN, -EDQUOT: 429; see api-error.c).
 */
typedef int rf_clerk_fn(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			struct rf_err *err);

struct rf_clerk_row {
	const char *name;
	unsigned scopes; /* enum rf_scope bits: any of them will do */
	size_t most;     /* bytes of the question */
	size_t fds;      /* descriptors that it may bring */
	rf_clerk_fn *answer;
};

/* By question (clerk-table.c). */
extern const struct rf_clerk_row rf_clerk_table[RF_CLERK_QUESTIONS];

/* Serves on the connection to who started it, until that ends. */
int rf_clerk_serve(int host, struct rf_err *err);

#endif
