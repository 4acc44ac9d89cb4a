/*
 * What was seen of a workspace's directory, path by path: with a hash of the content, so that what changes beneath the
 * workspace later can be told from what it changed itself.
 *
 * There are two kinds of such lists.  That of a layer has what the directory had under the names that the run changed;
 * it lies beside the layer and is as unchanging.  That of a workspace has what its applies wrote.  See recall.h for
 * what they say together.  Kept as lines of text.
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
	bool is_unsure; /* nobody can tell whether the run saw what is there now */
	uint32_t
		since; /* from which point on it counts: that of the run, or the next one after an apply */
	uint32_t mode; /* 0: nothing was there */
	uint64_t ino;
	int64_t ctime_ns;
	uint8_t hash[RF_SHA256_BYTES]; /* of a file's content, or of where a link leads */
	size_t order;                  /* the list's own */
};

struct rf_seen_list {
	struct rf_seen *items; /* once settled: sorted by path, each path once */
	size_t count, room;
	bool is_unsettled;
};

/* Looks which file is at `path` beneath `base` now, and when it was last changed; the path stays the caller's. */
int rf_seen_glance(int base, const char *path, struct rf_seen *ret_seen);

/* The same, and what is in it. */
int rf_seen_look(int base, const char *path, struct rf_seen *ret_seen);

/* True if both say that the same is there: the same file unchanged, or one with the same content. */
bool rf_seen_is_same(const struct rf_seen *a, const struct rf_seen *b);

/* Sets what was seen at a path (copies).  Of several for one path, the last holds. */
int rf_seen_set(struct rf_seen_list *list, const struct rf_seen *seen);

/* Brings a list in order after some were set: at once, because one by one would cost the square of them. */
void rf_seen_settle(struct rf_seen_list *list);

/* Finds a path in a list that is settled, or NULL. */
struct rf_seen *rf_seen_find(const struct rf_seen_list *list, const char *path);

/* A list that was read is settled, and one that is written has to be. */
int rf_seen_parse(const char *text, size_t len, struct rf_seen_list *ret_list, struct rf_err *err);
void rf_seen_format(const struct rf_seen_list *list, struct rf_buf *out);

/*
 * The same from and to a file, which is replaced as a whole; a file that is not there is an empty list.  What is read
 * is to be freed in any case.
 */
int rf_seen_load(int folder, const char *name, struct rf_seen_list *ret_list, struct rf_err *err);
int rf_seen_save(int folder, const char *name, struct rf_seen_list *list, struct rf_err *err);

void rf_seen_done(struct rf_seen_list *list);

#endif
