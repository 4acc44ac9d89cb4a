/* An archive as a change to a workspace: see archive.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/tar.h"
#include "archive/zstream.h"
#include "base/fd.h"
#include "workspace/merged.h"

#define PIECE ((size_t)256 << 10)

/* A folder whose mode and time are set when all is in it. */
struct folder {
	char *path;
	mode_t mode;
	struct timespec mtime;
};

/* An import under way. */
struct work {
	struct rf_edit *edit;
	struct rf_archive_limits left;
	struct rf_tar_reader reader;
	struct folder *folders;
	size_t count, room;
	char *piece;
	struct rf_err *err;
};

/* ------------------------------------------------------------- what it may take */

static int charge(struct work *w, const struct rf_tar_entry *entry)
{
	if (w->left.entries-- == 0 || entry->size > w->left.bytes) {
		rf_fail_say(w->err, -EFBIG, "the archive unpacks to more than is allowed");
		return rf_fail_hint(w->err, "--max-bytes and --max-files allow more; nothing was "
					    "unpacked");
	}
	w->left.bytes -= entry->size;
	return 0;
}

/* ------------------------------------------------------------- one entry */

static struct timespec time_of(const struct rf_tar_entry *entry)
{
	return (struct timespec){ .tv_sec = entry->mtime, .tv_nsec = (long)entry->mtime_ns };
}

/* What can't be kept here (a file system has less room for them than another) is left out. */
static void set_attributes(int fd, const struct rf_attributes *attributes)
{
	for (size_t i = 0; i < attributes->count; i++)
		fsetxattr(fd, attributes->items[i].name, attributes->items[i].value,
			  attributes->items[i].len, 0);
}

static int copy_piece(struct work *w, int fd, uint64_t at, uint64_t len)
{
	while (len > 0) {
		size_t part = len < PIECE ? (size_t)len : PIECE;
		ssize_t n = rf_tar_read(&w->reader, w->piece, part, w->err);
		int code;

		if (n <= 0)
			return n < 0 ? (int)n
				     : rf_fail_say(w->err, -EINVAL, "the archive ends too early");
		code = lseek(fd, (off_t)at, SEEK_SET) < 0 ? -errno
							  : rf_fd_write(fd, w->piece, (size_t)n);
		if (code < 0)
			return rf_fail(w->err, code, "write a file");
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int copy_content(struct work *w, int fd, const struct rf_tar_entry *entry)
{
	int code = 0;

	if (ftruncate(fd, (off_t)entry->size) < 0)
		return rf_fail(w->err, -errno, "make a file of %llu bytes",
			       (unsigned long long)entry->size);
	if (!entry->pieces)
		return copy_piece(w, fd, 0, entry->stored);
	for (size_t i = 0; i < entry->piece_count && code == 0; i++)
		code = copy_piece(w, fd, entry->pieces[i].offset, entry->pieces[i].len);
	return code;
}

static int put_file(struct work *w, const struct rf_tar_entry *entry)
{
	const struct timespec times[2] = { time_of(entry), time_of(entry) };
	RF_AUTO_FD int fd = rf_edit_make_file(w->edit, entry->path, w->err);

	if (fd < 0 || copy_content(w, fd, entry) < 0)
		return w->err->code;
	set_attributes(fd, &entry->attributes);
	if (fchmod(fd, entry->mode) < 0 || futimens(fd, times) < 0)
		return rf_fail(w->err, -errno, "finish %.200s", entry->path);
	return 0;
}

/* A second name of a file becomes a file of its own, as overlayfs makes of it anyway. */
static int put_copy(struct work *w, const struct rf_tar_entry *entry)
{
	struct rf_merged folder = { 0 };
	char name[NAME_MAX + 1];
	RF_AUTO_FD int from = -1;
	RF_AUTO_FD int to = -1;
	struct rf_tar_entry like = { 0 };
	struct timespec times[2];
	struct stat st;
	ssize_t n = 0;
	int code = rf_merged_find(&w->edit->stack, entry->target, &folder, name);

	from = code == 0 ? rf_merged_open(&folder, name) : code;
	rf_merged_done(&folder);
	if (from < 0 || fstat(from, &st) < 0)
		return rf_fail(w->err, from < 0 ? from : -errno, "%.120s is another name of %.120s",
			       entry->path, entry->target);
	like.size = (uint64_t)st.st_size;
	if (charge(w, &like) < 0)
		return w->err->code;
	to = rf_edit_make_file(w->edit, entry->path, w->err);
	if (to < 0)
		return to;
	while ((n = rf_fd_read(from, w->piece, PIECE)) > 0) {
		code = rf_fd_write(to, w->piece, (size_t)n);
		if (code < 0)
			return rf_fail(w->err, code, "write %.200s", entry->path);
	}
	times[0] = times[1] = st.st_mtim;
	if (n < 0 || fchmod(to, st.st_mode & 0777) < 0 || futimens(to, times) < 0)
		return rf_fail(w->err, n < 0 ? (int)n : -errno, "write %.200s", entry->path);
	return 0;
}

static int remember(struct work *w, const struct rf_tar_entry *entry)
{
	if (w->count == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		struct folder *more = realloc(w->folders, room * sizeof(*more));

		if (!more)
			return rf_fail(w->err, -ENOMEM, "unpack the archive");
		w->folders = more;
		w->room = room;
	}
	w->folders[w->count] = (struct folder){ strdup(entry->path), entry->mode, time_of(entry) };
	return w->folders[w->count++].path ? 0 : rf_fail(w->err, -ENOMEM, "unpack the archive");
}

static int put_folder(struct work *w, const struct rf_tar_entry *entry)
{
	RF_AUTO_FD int fd = -1;

	if (!*entry->path)
		return 0; /* the top is the directory's own */
	fd = rf_edit_open_folder(w->edit, entry->path, w->err);
	if (fd < 0)
		return fd;
	set_attributes(fd, &entry->attributes);
	return remember(w, entry);
}

static int put_link(struct work *w, const struct rf_tar_entry *entry)
{
	int code = rf_edit_clear(w->edit, entry->path, w->err);

	return code < 0 ? code : rf_edit_make_link(w->edit, entry->path, entry->target, w->err);
}

static int put(struct work *w, const struct rf_tar_entry *entry)
{
	if (charge(w, entry) < 0)
		return w->err->code;
	switch (entry->type) {
	case RF_TAR_FILE:
		return put_file(w, entry);
	case RF_TAR_FOLDER:
		return put_folder(w, entry);
	case RF_TAR_LINK:
		return put_link(w, entry);
	default:
		return put_copy(w, entry);
	}
}

/* ------------------------------------------------------------- the whole */

/* From the depth up: a mode may deny what was still to come. */
static int finish_folders(struct work *w)
{
	for (size_t i = w->count; i-- > 0;) {
		const struct folder *folder = &w->folders[i];
		const struct timespec times[2] = { folder->mtime, folder->mtime };
		RF_AUTO_FD int fd = rf_edit_open_folder(w->edit, folder->path, w->err);

		if (fd < 0)
			return fd;
		if (fchmod(fd, folder->mode) < 0 || futimens(fd, times) < 0)
			return rf_fail(w->err, -errno, "finish %.200s", folder->path);
	}
	return 0;
}

static ssize_t pull(void *data, void *bytes, size_t len)
{
	return rf_zstream_read(data, bytes, len);
}

static int unpack(struct work *w)
{
	int more;

	do {
		struct rf_tar_entry entry;

		more = rf_tar_next(&w->reader, &entry, w->err);
		if (more > 0 && put(w, &entry) < 0)
			more = w->err->code;
		rf_tar_entry_done(&entry);
	} while (more > 0);
	return more < 0 ? more : finish_folders(w);
}

int rf_archive_import(struct rf_edit *edit, int fd, const struct rf_archive_limits *limits,
		      struct rf_err *err)
{
	struct rf_zstream *stream = rf_zstream_new(fd, false);
	struct work w = { .edit = edit,
			  .left = *limits,
			  .reader = { .pull = pull, .data = stream },
			  .piece = malloc(PIECE),
			  .err = err };
	int code = stream && w.piece ? unpack(&w) : rf_fail(err, -ENOMEM, "unpack the archive");

	for (size_t i = 0; i < w.count; i++)
		free(w.folders[i].path);
	free(w.folders);
	free(w.piece);
	rf_zstream_free(stream);
	return code;
}
