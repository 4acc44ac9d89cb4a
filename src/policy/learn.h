/*
 * What a run was seen to need, as the least policy under which it would pass again.
 *
 * Of the network that is each host and port, and each method and path where requests were looked into; many paths of one host
 * become their common beginning.  Files and programs are learn-files.h's.  Pure; what to watch and where to write is
 * the caller's.
 */
#ifndef RF_POLICY_LEARN_H
#define RF_POLICY_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/policy.h"

#define RF_LEARN_SEEN  8192 /* requests that differ */
#define RF_LEARN_PATHS 8    /* of one host and port; more become their common beginning */

struct rf_learn_seen {
	char *host, *method,
		*path; /* `method` and `path` are "" for a connection that was not looked into */
	uint16_t port;
};

struct rf_learn {
	struct rf_learn_seen *seen;
	size_t count, room;
	size_t left_out; /* that were too many, or that no rule can name */
	bool has_files; /* files and programs are learnt, too (learn-files.h): the base's rules for them are left out */
};

void rf_learn_done(struct rf_learn *learn);

/* Notes what passed, or would have to; `host` is a name or an address, `path` has no query. */
int rf_learn_note(struct rf_learn *learn, const char *host, uint16_t port, const char *method,
		  const char *path);

/*
 * Gives `*ret_policy`: what `base` (borrows; complete) says beyond the defaults, but with the rules of the network that were
 * seen to be needed in the place of its own, and enforced.
 */
int rf_learn_policy(struct rf_learn *learn, const struct rf_policy *base,
		    struct rf_policy **ret_policy, struct rf_err *err);

#endif
