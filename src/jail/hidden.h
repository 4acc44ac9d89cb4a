/*
 * What a box must not see of the trees that it is shown: found in the launcher, covered by jail/mask.c.
 *
 * Three rules hide: `files.deny`, whose patterns are looked for in the trees of the host that the
 * policy shows (in the box's own system places never); well-known credentials, at the top of those
 * trees; and the plan itself, which hides Ringfort's own state.  Found is what is there before the
 * start, by the caller's rights.  A file that is not there is never made.
 */
#ifndef RF_JAIL_HIDDEN_H
#define RF_JAIL_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct rf_box;

struct rf_hidden {
	char *path;       /* in the box */
	char *source;     /* on the host */
	size_t rest;      /* where in `source` the part beneath the shown tree begins */
	const char *rule; /* "files.deny", "files.credentials" or "default" */
	size_t place;     /* of the plan, that shows it */
	dev_t dev;        /* which file it was when it was found; 0: it could not be looked at */
	ino_t ino;
	nlink_t names;  /* of a regular file; another one of them may be in sight */
	bool is_target; /* of a link, which can't be covered itself */
};

/* Sorted by path, none twice. */
struct rf_hidden_list {
	struct rf_hidden *items;
	size_t count, room;
};

/* Fills box->hidden.  Too many files, or too many to look at, are an error that names the pattern. */
int rf_hidden_find(struct rf_box *box, struct rf_err *err);
void rf_hidden_done(struct rf_hidden_list *list);

#endif
