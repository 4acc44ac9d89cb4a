/*
 * Tar archives (POSIX pax, with what GNU tar and others add for holes and extended attributes): read and written.
 *
 * A reader trusts nothing: a number has to be one, a path has to stay beneath the top it is unpacked under, what has no
 * place in a tree of files (a device, a pipe) is an error, and every length has a bound before it is believed.  It pulls
 * bytes through one function and makes no system call, so that a test can feed it from memory.
 */
#ifndef RF_ARCHIVE_TAR_H
#define RF_ARCHIVE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "workspace/attributes.h"

#define RF_TAR_BLOCK  512
#define RF_TAR_PIECES 65536 /* of data in a file with holes */

enum rf_tar_type {
	RF_TAR_FILE,
	RF_TAR_FOLDER,
	RF_TAR_LINK,
	RF_TAR_HARD_LINK, /* `target` is a path of an entry before it */
};

/* Bytes of a file that are not a hole. */
struct rf_tar_piece {
	uint64_t offset, len;
};

struct rf_tar_entry {
	enum rf_tar_type type;
	char *path; /* relative and without `..`; a reader's has no `.` and no double slash either */
	char *target;      /* of a link, or NULL */
	mode_t mode;       /* permissions only */
	uint32_t uid, gid; /* told to others, and not asked of them */
	uint64_t size;     /* of the file, with its holes */
	uint64_t stored;   /* bytes of it in the archive */
	int64_t mtime;
	uint32_t mtime_ns;
	struct rf_attributes attributes; /* of users; others are not read */
	struct rf_tar_piece *pieces;     /* where it has holes, else NULL */
	size_t piece_count;
};

void rf_tar_entry_done(struct rf_tar_entry *entry);

/* Puts what stands before an entry's content, and what fills the block behind it. */
void rf_tar_put_entry(const struct rf_tar_entry *entry, struct rf_buf *out);
void rf_tar_put_padding(uint64_t stored, struct rf_buf *out);

/* Puts the mark of an archive's end. */
void rf_tar_put_end(struct rf_buf *out);

/* Reads up to `len` bytes; fewer only at the end.  Returns how many, or a negative errno. */
typedef ssize_t rf_tar_pull(void *data, void *bytes, size_t len);

struct rf_tar_reader {
	rf_tar_pull *pull;
	void *data;
	uint64_t left;    /* of the current entry's content */
	uint64_t padding; /* and of what fills its last block */
};

/*
 * Goes to the next entry, past what was not read of the one before.  Returns 1 with `*ret_entry`, 0 at the end, or a
 * negative errno.  The entry is to be freed in any case.
 */
int rf_tar_next(struct rf_tar_reader *reader, struct rf_tar_entry *ret_entry, struct rf_err *err);

/* Reads the current entry's stored content.  Returns how many bytes, 0 behind the last, or a negative errno. */
ssize_t rf_tar_read(struct rf_tar_reader *reader, void *bytes, size_t len, struct rf_err *err);

#endif
