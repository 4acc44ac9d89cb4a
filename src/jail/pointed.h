/*
 * What the repository at the top of a written folder points to.
 *
 * A file `.git` leads to a repository of any name, and settings name hooks and further settings.  Those that lie in the folder
 * are told by the name in `.git` that they stand for.  For a report: only what is plainly there is followed, no link
 * and nothing outside, up to a few files.
 */
#ifndef RF_JAIL_POINTED_H
#define RF_JAIL_POINTED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define RF_POINTED_MAX 32

struct rf_pointed {
	struct rf_pointed_place {
		char *path;
		const char *name; /* in `.git` */
	} places[RF_POINTED_MAX];
	size_t count;
};

/* Looks at the folder `top`, whose own path is `source`.  To be freed with rf_pointed_done(). */
void rf_pointed_find(int top, const char *source, struct rf_pointed *ret_pointed);
void rf_pointed_done(struct rf_pointed *pointed);

/* What the file at a path of the folder is by one of these ("git hook"), or NULL. */
const char *rf_pointed_what(const struct rf_pointed *pointed, const char *path);

#endif
