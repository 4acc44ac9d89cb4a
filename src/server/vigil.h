/*
 * What changed in a tree of files between two looks at it.
 *
 * A look is a list of words, each ended by a NUL: five of each file (inode, type, size, time, path), and five dashes at its end, as find(1) can write it.  It
 * comes from a box, so its form is all that is believed of it.  Pure; holds two looks, each of bounded size.
 */
#ifndef RF_SERVER_VIGIL_H
#define RF_SERVER_VIGIL_H

#include <stdbool.h>
#include <stddef.h>

#define RF_VIGIL_FILES 10000
#define RF_VIGIL_BYTES (1u << 20) /* of all paths of a look */
#define RF_VIGIL_WORD  4200       /* bytes of a word */

enum rf_vigil_change {
	RF_VIGIL_CREATED,
	RF_VIGIL_MODIFIED,
	RF_VIGIL_REMOVED,
	RF_VIGIL_RENAMED,
	RF_VIGIL_CHANGES
};

struct rf_vigil;

/* Told of each change, in the order of paths; `from` is where it was, of RENAMED, else NULL.  `type` is find's letter. */
typedef void rf_vigil_fn(void *data, enum rf_vigil_change change, const char *path,
			 const char *from, char type);

struct rf_vigil *rf_vigil_new(rf_vigil_fn *fn, void *data);
void rf_vigil_free(struct rf_vigil *vigil);

/* Takes more of what was seen.  How many looks have become whole by it, or -EBADMSG. */
int rf_vigil_feed(struct rf_vigil *vigil, const char *bytes, size_t len);

/* Of the last whole look: how many files there are, and whether some were left out. */
size_t rf_vigil_count(const struct rf_vigil *vigil);
bool rf_vigil_is_cut(const struct rf_vigil *vigil);

#endif
