/*
 * What a workspace saw of its directory before it changed it, path by path.
 *
 * Noted when a run that changed the path first has ended, with a hash of its content, so that what changes beneath the
 * workspace later can be told from what it changed itself.  Kept beside the ledger as lines of text.
 */
#ifndef RF_WORKSPACE_SEEN_H
#define RF_WORKSPACE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

/* A path as it was in the directory. */
struct rf_seen {
	char *path;
	bool is_unsure; /* it changed while the run went on, which may have seen it before or after */
	uint32_t mode; /* 0: nothing was there */
	uint64_t ino;
	int64_t ctime_ns;
	uint8_t hash[RF_SHA256_BYTES]; /* of a file's content, or of where a link leads */
};

struct rf_seen_list {
	struct rf_seen *items; /* sorted by path */
	size_t count, room;
};

/* Looks at `path` beneath `base` as it is now; the path stays the caller's. */
int rf_seen_look(int base, const char *path, struct rf_seen *ret_seen);

/* True if both say that the same is there: the same file unchanged, or one with the same content. */
bool rf_seen_is_same(const struct rf_seen *a, const struct rf_seen *b);

/* Finds a path, or NULL. */
struct rf_seen *rf_seen_find(const struct rf_seen_list *list, const char *path);

/* Sets what was seen at a path (copies). */
int rf_seen_set(struct rf_seen_list *list, const struct rf_seen *seen);

int rf_seen_parse(const char *text, size_t len, struct rf_seen_list *ret_list, struct rf_err *err);
void rf_seen_format(const struct rf_seen_list *list, struct rf_buf *out);
void rf_seen_done(struct rf_seen_list *list);

#endif
