/*
 * What the kernel refused a box, read from its audit records.
 *
 * Pure: the caller reads the records (ear.h).  A record of the filter tells the uid of whoever asked,
 * and each of root's boxes has a uid that nobody else has.  One of Landlock's tells the domain, and
 * whose domain it is stands in another record, right behind the first refusal in it.  In a box that is
 * pid 1's try of the sentinel, before anything else runs: so what comes before our domain is known is
 * not ours, and a domain that the program made for itself comes later and is none of our walls.
 */
#ifndef RF_JAIL_DENIAL_H
#define RF_JAIL_DENIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/calls.h"

#define RF_DENIAL_MAX  64   /* that are listed */
#define RF_DENIAL_WHAT 1024 /* bytes of a path; a longer one is cut */

/* Types of records (include/uapi/linux/audit.h). */
#define RF_DENIAL_SECCOMP 1326
#define RF_DENIAL_ACCESS  1423 /* Linux 6.15 */
#define RF_DENIAL_DOMAIN  1424 /* Linux 6.15 */

struct rf_denial {
	const char *kind; /* "file", "network", "signal", "ptrace", "syscall" */
	char what[RF_DENIAL_WHAT];
	char rule[96];                    /* the wall, and its word for what was asked */
	char remedy[RF_DENIAL_WHAT + 64]; /* a line of a policy, or a question to ask; or "" */
};

struct rf_denials {
	/* Set by the caller: */
	uid_t uid;                    /* of the box, on the host */
	struct rf_call_options calls; /* what its filter was built of */
	bool has_commands;            /* the policy names the programs that run */
	/* Found: */
	uint64_t domain; /* of the box, or 0: not yet known */
	struct rf_denial rows[RF_DENIAL_MAX];
	size_t count;
	uint64_t more; /* refusals that did not fit */
};

/* Takes one record of `type` in: `len` bytes of `text` (borrows).  What it can't read it leaves. */
void rf_denial_take(struct rf_denials *denials, unsigned type, const char *text, size_t len);

#endif
