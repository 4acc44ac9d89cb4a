/*
 * What the script that applies a fork says it has done, or would (serve-apply.c): records that end in NUL, first figures and then paths.
 *
 *     point 3, added 2, modified 1, deleted 0, conflicts 0, then "A path", "M path", "D path", "C path"
 *
 * Written by programs of a box, about files that others named: so believed in nothing but its form.
 */
#ifndef RF_SERVER_APPLY_SAID_H
#define RF_SERVER_APPLY_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rf_apply_said_figure {
	RF_APPLY_SAID_POINT, /* the checkpoint that was made first, or 0 */
	RF_APPLY_SAID_ADDED,
	RF_APPLY_SAID_MODIFIED,
	RF_APPLY_SAID_DELETED,
	RF_APPLY_SAID_CONFLICTS,
	RF_APPLY_SAID_FIGURES
};

struct rf_apply_said {
	uint64_t figures[RF_APPLY_SAID_FIGURES];
	const char *at, *end; /* the paths; borrowed */
};

struct rf_apply_said_path {
	char kind; /* one of "AMDC" */
	const char *path;
};

/* Reads the figures; -EBADMSG. */
int rf_apply_said_read(const char *data, size_t len, struct rf_apply_said *ret_said,
		       struct rf_err *err);

/* The next path, until there is none or it is malformed. */
bool rf_apply_said_next(struct rf_apply_said *said, struct rf_apply_said_path *ret_path);

#endif
