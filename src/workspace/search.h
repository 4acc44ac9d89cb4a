/*
 * Files of a workspace, found by name and by what is in them.
 */
#ifndef RF_WORKSPACE_SEARCH_H
#define RF_WORKSPACE_SEARCH_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "workspace/merged.h"
#include "workspace/stack.h"

#define RF_SEARCH_FILE ((off_t)64 << 20) /* content of a longer file is not looked at */

/* What to look for; NULL: anything. */
struct rf_search {
	const char
		*name; /* a pattern, see policy/pattern.h; with a slash in it, of the whole path */
	const char *content; /* text that a line has in it, byte for byte */
};

struct rf_search_hit {
	const char *path;           /* from the top of the workspace */
	const struct rf_merged *in; /* the folder that it lies in, open */
	const char *name;           /* there */
	const struct stat *st;
	uint64_t line;    /* where the content is, counted from 1; 0: no content was looked for */
	const char *text; /* that line, without its end; NULL in a file that is no text */
	size_t len;
};

/* Called for each; a result other than 0 ends the search and is returned. */
typedef int rf_search_fn(void *data, const struct rf_search_hit *hit);

/*
 * Searches `path` and all beneath it, sorted; links are named and not followed.  `ret_skipped`: how many files were too
 * long or closed to us.
 */
int rf_search(const struct rf_stack *stack, const char *path, const struct rf_search *search,
	      rf_search_fn *fn, void *data, size_t *ret_skipped, struct rf_err *err);

#endif
