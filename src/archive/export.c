/* The whole tree of a workspace as an archive: see archive.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/tar.h"
#include "archive/zstream.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/merged.h"
#include "workspace/search.h"

#define PIECE      ((size_t)256 << 10)
#define HEADER_MAX ((size_t)64 << 20)

/* An export under way. */
struct work {
	const struct rf_stack *stack;
	struct rf_zstream *stream;
	char *piece;
	size_t *left;
	struct rf_err *err;
};

static int write_buf(struct work *w, struct rf_buf *out)
{
	int code =
		out->has_failed ? -ENOMEM : rf_zstream_write(w->stream, out->data, out->len, false);

	return code < 0 ? rf_fail(w->err, code, "write the archive") : 0;
}

/* Where a file has data, up to a number of pieces.  False if they are more, or nobody can tell. */
static bool list_pieces(int file, struct rf_tar_entry *entry, struct rf_tar_piece *pieces)
{
	off_t size = (off_t)entry->size, data, hole = 0;
	size_t count = 0;

	entry->stored = 0;
	while ((data = lseek(file, hole, SEEK_DATA)) >= 0 && data < size) {
		hole = lseek(file, data, SEEK_HOLE);
		if (hole < 0 || count == RF_TAR_PIECES - 1)
			return false;
		hole = hole < size ? hole : size;
		pieces[count++] = (struct rf_tar_piece){ (uint64_t)data, (uint64_t)(hole - data) };
		entry->stored += (uint64_t)(hole - data);
	}
	if (hole < size) /* GNU tar takes the end of the last piece for that of the file */
		pieces[count++] = (struct rf_tar_piece){ entry->size, 0 };
	entry->piece_count = count;
	return true;
}

/* One without holes has no pieces. */
static void find_pieces(int file, struct rf_tar_entry *entry)
{
	struct rf_tar_piece *pieces;

	if (entry->size == 0 || lseek(file, 0, SEEK_HOLE) >= (off_t)entry->size)
		return;
	pieces = calloc(RF_TAR_PIECES, sizeof(*pieces));
	if (pieces && list_pieces(file, entry, pieces)) {
		entry->pieces = pieces;
		return;
	}
	free(pieces);
	entry->stored = entry->size;
}

/* Writes a range of a file; what has shrunk meanwhile is filled up, since its length is told. */
static int write_range(struct work *w, int file, uint64_t from, uint64_t len)
{
	while (len > 0) {
		size_t part = len < PIECE ? (size_t)len : PIECE;
		ssize_t n = pread(file, w->piece, part, (off_t)from);
		int code;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			memset(w->piece, 0, part);
			n = (ssize_t)part;
		}
		code = rf_zstream_write(w->stream, w->piece, (size_t)n, false);
		if (code < 0)
			return code;
		from += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int write_content(struct work *w, int file, const struct rf_tar_entry *entry)
{
	int code = 0;

	if (!entry->pieces)
		return write_range(w, file, 0, entry->stored);
	for (size_t i = 0; i < entry->piece_count && code == 0; i++)
		code = write_range(w, file, entry->pieces[i].offset, entry->pieces[i].len);
	return code;
}

/* Writes an entry whose file, if it is one, is open. */
static int write_entry(struct work *w, const struct rf_tar_entry *entry, int file)
{
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, HEADER_MAX);
	rf_tar_put_entry(entry, &out);
	if (write_buf(w, &out) < 0)
		return w->err->code;
	if (entry->type != RF_TAR_FILE)
		return 0;
	code = write_content(w, file, entry);
	if (code < 0)
		return rf_fail(w->err, code, "write %.200s to the archive", entry->path);
	rf_buf_clear(&out);
	rf_tar_put_padding(entry->stored, &out);
	return out.len > 0 ? write_buf(w, &out) : 0;
}

/* Opens a file or a folder, for its content and its attributes. */
static int open_one(const struct rf_merged *in, const char *name, const struct stat *st)
{
	struct rf_merged folder = { 0 };
	int fd, code;

	if (S_ISREG(st->st_mode))
		return rf_merged_open(in, name);
	code = rf_merged_enter(in, name, &folder);
	fd = code < 0 ? code : rf_fd_copy(folder.dirs[0], 3);
	rf_merged_done(&folder);
	return fd;
}

static int fill_entry(const struct rf_merged *in, const char *name,
		      const struct rf_merged_entry *found, int fd, struct rf_tar_entry *entry)
{
	const struct stat *st = &found->st;
	ssize_t len;

	entry->mode = st->st_mode & 0777;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	entry->mtime = st->st_mtim.tv_sec;
	entry->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
	if (S_ISLNK(st->st_mode)) {
		entry->type = RF_TAR_LINK;
		entry->target = calloc(1, PATH_MAX);
		len = entry->target
			      ? readlinkat(in->dirs[found->at], name, entry->target, PATH_MAX - 1)
			      : -1;
		return len < 0 ? -ENOMEM : 0;
	}
	entry->type = S_ISDIR(st->st_mode) ? RF_TAR_FOLDER : RF_TAR_FILE;
	if (entry->type == RF_TAR_FILE) {
		entry->size = entry->stored = (uint64_t)st->st_size;
		find_pieces(fd, entry);
	}
	return rf_attributes_read(fd, &entry->attributes);
}

/* Access control lists name this machine's users, and stay. */
static void keep_users_attributes(struct rf_attributes *attributes)
{
	size_t kept = 0;

	for (size_t i = 0; i < attributes->count; i++) {
		struct rf_attribute *one = &attributes->items[i];

		if (strncmp(one->name, "user.", 5) == 0) {
			attributes->items[kept++] = *one;
		} else {
			free(one->name);
			free(one->value);
		}
	}
	attributes->count = kept;
}

static int export_one(struct work *w, const struct rf_merged *in, const char *name,
		      const char *path)
{
	struct rf_merged_entry found;
	struct rf_tar_entry entry = { 0 };
	RF_AUTO_FD int fd = -1;
	int code = rf_merged_look(in, name, &found);

	if (code == 0 && !S_ISREG(found.st.st_mode) && !S_ISDIR(found.st.st_mode) &&
	    !S_ISLNK(found.st.st_mode)) {
		++*w->left;
		return 0;
	}
	if (code == 0 && !S_ISLNK(found.st.st_mode)) {
		fd = open_one(in, name, &found.st);
		code = fd < 0 ? fd : 0;
	}
	if (code == -EACCES || code == -EPERM) {
		++*w->left;
		return 0;
	}
	entry.path = code == 0 ? strdup(path) : NULL;
	if (code == 0)
		code = entry.path ? fill_entry(in, name, &found, fd, &entry) : -ENOMEM;
	keep_users_attributes(&entry.attributes);
	if (code == 0)
		code = write_entry(w, &entry, fd);
	else
		rf_fail(w->err, code, "read %.200s", path);
	rf_tar_entry_done(&entry);
	return code;
}

static int export_found(void *data, const struct rf_search_hit *hit)
{
	return export_one(data, hit->in, hit->name, hit->path);
}

int rf_archive_export(const struct rf_stack *stack, int fd, size_t *ret_left, struct rf_err *err)
{
	const struct rf_search everything = { NULL, NULL };
	struct work w = { .stack = stack,
			  .stream = rf_zstream_new(fd, true),
			  .piece = malloc(PIECE),
			  .left = ret_left,
			  .err = err };
	RF_AUTO_BUF struct rf_buf out;
	size_t closed = 0;
	int code = -ENOMEM;

	*ret_left = 0;
	rf_buf_init(&out, HEADER_MAX);
	if (w.stream && w.piece)
		code = rf_search(stack, ".", &everything, export_found, &w, &closed, err);
	else
		rf_fail(err, code, "write an archive");
	if (code == 0) {
		rf_tar_put_end(&out);
		code = rf_zstream_write(w.stream, out.data, out.len, true);
		if (code < 0)
			rf_fail(err, code, "write the archive");
	}
	*ret_left += closed;
	rf_zstream_free(w.stream);
	free(w.piece);
	return code;
}
