/*
 * What one policy allows and another does not, in words: the most dangerous first.
 *
 * Both policies are whole (made by rf_policy_new() and merged into), so that silence is compared as
 * the default that it means.  Pure.
 */
#ifndef RF_POLICY_DIFF_H
#define RF_POLICY_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/* What the second policy is, compared with the first. */
enum rf_diff_way {
	RF_DIFF_LOOSER,
	RF_DIFF_OTHER, /* neither */
	RF_DIFF_STRICTER,
};

/* One difference.  A scalar has both texts; of a list, an element was added or removed. */
struct rf_diff_row {
	int key; /* enum rf_key */
	enum rf_diff_way way;
	int rank;             /* the smaller, the more dangerous */
	char *before, *after; /* or NULL: was not there, is not there */
	const char *note;     /* what that means, or "" */
};

struct rf_diff {
	struct rf_diff_row *rows;
	size_t count;
	size_t looser, stricter; /* how many of them */
};

/* Compares `b` with `a` (borrows).  Gives `*ret_diff`; -ENOMEM is the only failure. */
int rf_diff_make(const struct rf_policy *a, const struct rf_policy *b, struct rf_diff *ret_diff,
		 struct rf_err *err);
void rf_diff_done(struct rf_diff *diff);

/* One line for each row, and one that says which side is looser.  `a` and `b` are their names. */
void rf_diff_text(const struct rf_diff *diff, const char *a, const char *b, struct rf_buf *out);
void rf_diff_json(const struct rf_diff *diff, const char *a, const char *b, struct rf_buf *out);

#endif
