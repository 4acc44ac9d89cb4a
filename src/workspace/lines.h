/*
 * Which lines differ between two texts.
 *
 * The shortest edit that Eugene Myers' algorithm finds (An O(ND) Difference Algorithm, 1986), as long as that is cheap.
 * The texts are a box's, which may have made them to be hard to compare: work and memory are bounded by their length, and
 * where the bound is reached, more lines than needed count as changed.  What is said is always true.  Pure.
 */
#ifndef RF_WORKSPACE_LINES_H
#define RF_WORKSPACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_LINES_MAX ((size_t)1 << 18) /* of one text */

struct rf_line {
	const char *text; /* borrowed */
	uint32_t len;     /* with its newline; the last one may have none */
	uint32_t id;      /* the same for lines that are the same */
};

/* One of the two texts. */
struct rf_lines_side {
	struct rf_line *lines;
	bool *are_changed; /* each line: deleted from the old text, or added by the new one */
	size_t count, changed;
};

struct rf_lines {
	struct rf_lines_side old, new;
};

/*
 * Compares two texts (borrows, until rf_lines_done()).  Returns 0, -E2BIG for more lines than RF_LINES_MAX, or
 * -ENOMEM.  To be freed in any case.
 */
int rf_lines_compare(const char *old, size_t old_len, const char *new, size_t new_len,
		     struct rf_lines *ret_lines);
void rf_lines_done(struct rf_lines *lines);

#endif
