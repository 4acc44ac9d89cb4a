/* What a workspace saw of its directory: see seen.h. */
#include "workspace/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/copy.h"

#define SEEN_MAX ((size_t)4 << 20)
#define PIECE    ((size_t)256 << 10)

/* ------------------------------------------------------------- looking */

static int hash_file(int dir, const char *name, uint8_t hash[RF_SHA256_BYTES])
{
	static char piece[PIECE];
	RF_AUTO_FD int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct rf_sha256 sha;
	ssize_t n;

	if (file < 0)
		return -errno;
	rf_sha256_init(&sha);
	while ((n = rf_fd_read(file, piece, sizeof(piece))) > 0)
		rf_sha256_add(&sha, piece, (size_t)n);
	rf_sha256_end(&sha, hash);
	return (int)n;
}

static int hash_link(int dir, const char *name, uint8_t hash[RF_SHA256_BYTES])
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, name, target, sizeof(target));
	struct rf_sha256 sha;

	if (len < 0)
		return -errno;
	rf_sha256_init(&sha);
	rf_sha256_add(&sha, target, (size_t)len);
	rf_sha256_end(&sha, hash);
	return 0;
}

int rf_seen_look(int base, const char *path, struct rf_seen *ret_seen)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(base, path, &name);
	struct stat st;

	*ret_seen = (struct rf_seen){ 0 };
	if (dir == -ENOENT || dir == -ENOTDIR || dir == -ELOOP)
		return 0; /* nothing is there under this name */
	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	ret_seen->mode = st.st_mode;
	ret_seen->ino = st.st_ino;
	ret_seen->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	if (S_ISREG(st.st_mode)) {
		int code = hash_file(dir, name, ret_seen->hash);

		ret_seen->is_unsure = code == -EACCES; /* nobody can tell what is in it */
		return code == -EACCES ? 0 : code;
	}
	return S_ISLNK(st.st_mode) ? hash_link(dir, name, ret_seen->hash) : 0;
}

bool rf_seen_is_same(const struct rf_seen *a, const struct rf_seen *b)
{
	if (a->mode == 0 || b->mode == 0)
		return a->mode == b->mode;
	if (a->ino == b->ino && a->ctime_ns == b->ctime_ns)
		return true;
	if ((a->mode ^ b->mode) & S_IFMT || a->is_unsure || b->is_unsure)
		return false;
	/* A folder is what is in it, and that is looked at name by name. */
	return S_ISDIR(a->mode) || memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

/* ------------------------------------------------------------- the list */

/* Where a path is, or where it belongs. */
static size_t place_of(const struct rf_seen_list *list, const char *path, bool *ret_is_there)
{
	size_t low = 0, high = list->count;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(list->items[middle].path, path);

		if (order == 0)
			*ret_is_there = true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct rf_seen *rf_seen_find(const struct rf_seen_list *list, const char *path)
{
	bool is_there;
	size_t at = place_of(list, path, &is_there);

	return is_there ? &list->items[at] : NULL;
}

static int widen(struct rf_seen_list *list)
{
	size_t room = list->room ? list->room * 2 : 64;
	struct rf_seen *more = room <= SEEN_MAX ? realloc(list->items, room * sizeof(*more)) : NULL;

	if (!more)
		return room <= SEEN_MAX ? -ENOMEM : -E2BIG;
	list->items = more;
	list->room = room;
	return 0;
}

int rf_seen_set(struct rf_seen_list *list, const struct rf_seen *seen)
{
	bool is_there;
	size_t at = place_of(list, seen->path, &is_there);
	char *path;
	int code;

	if (is_there) {
		path = list->items[at].path;
	} else {
		code = list->count == list->room ? widen(list) : 0;
		path = code == 0 ? strdup(seen->path) : NULL;
		if (!path)
			return code < 0 ? code : -ENOMEM;
		memmove(&list->items[at + 1], &list->items[at],
			(list->count - at) * sizeof(*list->items));
		list->count++;
	}
	list->items[at] = *seen;
	list->items[at].path = path;
	return 0;
}

void rf_seen_done(struct rf_seen_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct rf_seen_list){ 0 };
}

/* ------------------------------------------------------------- text */

/* Bytes that can't stand in a line as they are become %XX. */
static void put_path(const char *path, struct rf_buf *out)
{
	for (const unsigned char *c = (const unsigned char *)path; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '%')
			rf_buf_printf(out, "%%%02x", *c);
		else
			rf_buf_add(out, c, 1);
}

void rf_seen_format(const struct rf_seen_list *list, struct rf_buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct rf_seen *seen = &list->items[i];

		rf_buf_printf(out, "%c %o %" PRIu64 " %" PRId64 " ", seen->is_unsure ? '?' : '=',
			      seen->mode, seen->ino, seen->ctime_ns);
		for (size_t k = 0; k < sizeof(seen->hash); k++)
			rf_buf_printf(out, "%02x", seen->hash[k]);
		rf_buf_puts(out, " ");
		put_path(seen->path, out);
		rf_buf_puts(out, "\n");
	}
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Reads `count` bytes written as two digits each.  False if they are not. */
static bool read_bytes(const char *text, uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Takes %XX out of a path, in place.  False for one that could lead out of the tree. */
static bool read_path(char *path)
{
	char *to = path;

	for (const char *c = path; *c; c++) {
		uint8_t byte = (uint8_t)*c;

		if (*c == '%') {
			if (!read_bytes(c + 1, &byte, 1) || byte == 0)
				return false;
			c += 2;
		}
		*to++ = (char)byte;
	}
	*to = '\0';
	if (!*path || *path == '/')
		return false;
	for (const char *part = path; part;
	     part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
		size_t len = strcspn(part, "/");

		if (len == 0 || (len == 1 && *part == '.') ||
		    (len == 2 && strncmp(part, "..", 2) == 0))
			return false;
	}
	return true;
}

/* One line, which is changed on the way. */
static int read_line(char *line, struct rf_seen_list *list)
{
	struct rf_seen seen = { 0 };
	char sign, hash[2 * RF_SHA256_BYTES + 1];
	int at = 0;

	if (sscanf(line, "%c %o %" SCNu64 " %" SCNd64 " %64s %n", &sign, &seen.mode, &seen.ino,
		   &seen.ctime_ns, hash, &at) != 5 ||
	    at == 0 || (sign != '=' && sign != '?') || strlen(hash) != 2 * RF_SHA256_BYTES ||
	    !read_bytes(hash, seen.hash, sizeof(seen.hash)) || !read_path(line + at))
		return -EINVAL;
	seen.is_unsure = sign == '?';
	seen.path = line + at;
	return rf_seen_set(list, &seen);
}

int rf_seen_parse(const char *text, size_t len, struct rf_seen_list *ret_list, struct rf_err *err)
{
	char *copy = malloc(len + 1), *line, *next;
	int number = 0, code = 0;

	*ret_list = (struct rf_seen_list){ 0 };
	if (!copy || memchr(text, '\0', len)) {
		code = copy ? -EINVAL : -ENOMEM;
		free(copy);
		return rf_fail(err, code, "read what was seen");
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (line = copy; code == 0 && *line; line = next) {
		next = strchr(line, '\n');
		number++;
		if (!next) {
			code = -EINVAL;
			break;
		}
		*next++ = '\0';
		code = read_line(line, ret_list);
	}
	free(copy);
	return code < 0 ? rf_fail(err, code, "line %d of what was seen", number) : 0;
}
