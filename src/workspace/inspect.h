/*
 * One change looked at closely: what both sides hold, and which lines differ.
 *
 * What is text is read whole, up to a size; anything else is told by its size and a hash.  Files are opened beneath their layer
 * without following a link, and are what was looked at: never a pipe or a device.
 */
#ifndef RF_WORKSPACE_INSPECT_H
#define RF_WORKSPACE_INSPECT_H

#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "workspace/attributes.h"
#include "workspace/delta.h"
#include "workspace/lines.h"

#define RF_INSPECT_TEXT ((size_t)16 << 20) /* a longer one is compared as bytes */

enum rf_inspect_kind {
	RF_INSPECT_NOTHING,
	RF_INSPECT_TEXT_FILE,
	RF_INSPECT_BINARY, /* or too long to be compared line by line */
	RF_INSPECT_CLOSED, /* a file that we may not read */
	RF_INSPECT_LINK,
	RF_INSPECT_FOLDER,
	RF_INSPECT_OTHER, /* a pipe or a socket */
};

struct rf_inspect_side {
	enum rf_inspect_kind kind;
	mode_t mode;
	uint64_t size;
	char *data; /* a text, or where a link leads; NULL if the content is no part of the change */
	size_t len;
	bool is_hashed; /* a binary, unless it is long and next to nothing in it was written */
	uint8_t hash[RF_SHA256_BYTES]; /* of it */
	struct rf_attributes attributes;
};

struct rf_inspect {
	const char *path; /* borrowed */
	const char *from; /* the name that it had before; the same unless it was renamed */
	const struct rf_change *change; /* borrowed */
	struct rf_inspect_side old, new;
	struct rf_lines lines; /* of two texts, or of one and nothing */
	bool has_lines;
};

/*
 * Looks at `change` from `before` to `after` (borrows all until rf_inspect_done()).  `origin`: the change that deleted
 * the name that it had before, or NULL.  To be freed in any case.
 */
int rf_inspect_open(const struct rf_change *change, const struct rf_change *origin,
		    const struct rf_stack *before, const struct rf_stack *after,
		    struct rf_inspect *ret_inspect, struct rf_err *err);
void rf_inspect_done(struct rf_inspect *inspect);

/* How much of the file was kept, in percent. */
int rf_inspect_likeness(const struct rf_inspect *inspect);

/* Opens a file of a layer for reading, without following a link; -EINVAL if it is no file. */
int rf_inspect_open_file(int layer, const char *path);

/* The hash of what an open file holds from here on. */
int rf_inspect_hash(int file, uint8_t hash[RF_SHA256_BYTES]);

#endif
