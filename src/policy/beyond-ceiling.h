/*
 * What a request names beyond a ceiling, key by key and element by element of lists.
 *
 * A meet (policy.h) narrows without a word.  Here its result is compared with what the request
 * named, so that a grant that would vanish can be refused, or listed.  Only what the request itself
 * names counts: defaults, and what a profile brings along, were not asked for by anyone.  One table
 * decides for every key.  Pure.
 */
#ifndef RF_POLICY_BEYOND_CEILING_H
#define RF_POLICY_BEYOND_CEILING_H

#include <stddef.h>

#include "base/err.h"
#include "policy/policy.h"

struct rf_beyond_ceiling;

struct rf_beyond_ceiling_item {
	const char *key;   /* "limits.memory" */
	const char *asked; /* "2G"; or one element of a list; of variables, the name alone */
	const char *rule;  /* what bounds it: "limits.memory: 512M", "files.read: nothing" */
};

/*
 * Compares the keys that `named` sets (borrows) with what `ceiling` (borrows) leaves of them.  What
 * `named` extends is not looked at.  Gives `*ret_beyond`, to be freed with
 * rf_beyond_ceiling_free(); it has no item where nothing is beyond.
 */
int rf_beyond_ceiling_new(const struct rf_policy *ceiling, const struct rf_policy *named,
			  struct rf_beyond_ceiling **ret_beyond, struct rf_err *err);
void rf_beyond_ceiling_free(struct rf_beyond_ceiling *beyond);

/* The `i`th item, or NULL behind the last. */
const struct rf_beyond_ceiling_item *rf_beyond_ceiling_item(const struct rf_beyond_ceiling *beyond,
							    size_t i);

/* Gives the keys of `policy` that have an item the value that the ceiling leaves. */
int rf_beyond_ceiling_narrow(const struct rf_beyond_ceiling *beyond, struct rf_policy *policy,
			     struct rf_err *err);

/*
 * Fails with -EPERM for the first item, or returns 0 where there is none.  `whose` is the ceiling
 * in words: "the ceiling of key 1f2e".
 */
int rf_beyond_ceiling_fail(const struct rf_beyond_ceiling *beyond, const char *whose,
			   struct rf_err *err);

/* True if the table decides for this key, by its path.  A test asks for all of them. */
bool rf_beyond_ceiling_decides(const char *key);

#endif
