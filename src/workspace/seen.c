/* What was seen of a workspace's directory: see seen.h. */
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
#include "workspace/content.h"
#include "workspace/copy.h"

#define SEEN_MAX ((size_t)4 << 20)   /* paths */
#define TEXT_MAX ((size_t)512 << 20) /* bytes */

/* ------------------------------------------------------------- looking */

static int hash_file(int dir, const char *name, uint8_t hash[RF_SHA256_BYTES])
{
	RF_AUTO_FD int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return file < 0 ? -errno : rf_content_hash(file, hash);
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

/* Looks at `name` in a folder. */
static int glance(int dir, const char *name, struct rf_seen *ret_seen)
{
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
	return 0;
}

int rf_seen_glance(int base, const char *path, struct rf_seen *ret_seen)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(base, path, &name);

	return glance(dir, name, ret_seen);
}

int rf_seen_look(int base, const char *path, struct rf_seen *ret_seen)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(base, path, &name);
	int code = glance(dir, name, ret_seen);

	if (code == 0 && S_ISREG(ret_seen->mode)) {
		code = hash_file(dir, name, ret_seen->hash);
		ret_seen->is_unsure = code == -EACCES; /* nobody can tell what is in it */
		return code == -EACCES ? 0 : code;
	}
	return code == 0 && S_ISLNK(ret_seen->mode) ? hash_link(dir, name, ret_seen->hash) : code;
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

struct rf_seen *rf_seen_find(const struct rf_seen_list *list, const char *path)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(list->items[middle].path, path);

		if (order == 0)
			return &list->items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
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
	int code = list->count == list->room ? widen(list) : 0;
	char *path = code == 0 ? strdup(seen->path) : NULL;

	if (!path)
		return code < 0 ? code : -ENOMEM;
	if (list->count > 0 && strcmp(list->items[list->count - 1].path, path) >= 0)
		list->is_unsettled = true;
	list->items[list->count] = *seen;
	list->items[list->count].path = path;
	list->items[list->count].order = list->count;
	list->count++;
	return 0;
}

static int by_path_then_order(const void *a, const void *b)
{
	const struct rf_seen *one = a, *two = b;
	int order = strcmp(one->path, two->path);

	return order ? order : one->order < two->order ? -1 : 1;
}

void rf_seen_settle(struct rf_seen_list *list)
{
	size_t kept = 0;

	if (!list->is_unsettled)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_path_then_order);
	for (size_t i = 0; i < list->count; i++) {
		bool is_last = i + 1 == list->count ||
			       strcmp(list->items[i].path, list->items[i + 1].path) != 0;

		if (!is_last) {
			free(list->items[i].path);
			continue;
		}
		list->items[kept] = list->items[i];
		list->items[kept].order = kept;
		kept++;
	}
	list->count = kept;
	list->is_unsettled = false;
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

		rf_buf_printf(out, "%c %" PRIu32 " %o %" PRIu64 " %" PRId64 " ",
			      seen->is_unsure ? '?' : '=', seen->since, seen->mode, seen->ino,
			      seen->ctime_ns);
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

	if (sscanf(line, "%c %" SCNu32 " %o %" SCNu64 " %" SCNd64 " %64s %n", &sign, &seen.since,
		   &seen.mode, &seen.ino, &seen.ctime_ns, hash, &at) != 6 ||
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
	rf_seen_settle(ret_list);
	return code < 0 ? rf_fail(err, code, "line %d of what was seen", number) : 0;
}

/* ------------------------------------------------------------- files */

int rf_seen_load(int folder, const char *name, struct rf_seen_list *ret_list, struct rf_err *err)
{
	RF_AUTO_FD int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t len;
	int code;

	*ret_list = (struct rf_seen_list){ 0 };
	if (file < 0 && errno == ENOENT)
		return 0;
	if (file < 0 || fstat(file, &st) < 0)
		return rf_fail(err, -errno, "read what was seen");
	text = (size_t)st.st_size <= TEXT_MAX ? malloc((size_t)st.st_size + 1) : NULL;
	len = text ? rf_fd_read(file, text, (size_t)st.st_size) : -ENOMEM;
	code = len < 0 ? rf_fail(err, (int)len, "read what was seen")
		       : rf_seen_parse(text, (size_t)len, ret_list, err);
	free(text);
	return code;
}

int rf_seen_save(int folder, const char *name, struct rf_seen_list *list, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_FD int file = -1;
	char fresh[NAME_MAX + 1];
	int code;

	rf_buf_init(&text, TEXT_MAX);
	rf_seen_settle(list);
	rf_seen_format(list, &text);
	if (text.has_failed || snprintf(fresh, sizeof(fresh), "%s.new", name) >= (int)sizeof(fresh))
		return rf_fail(err, -E2BIG, "note what was seen");
	file = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	code = file < 0 ? -errno : rf_fd_write(file, text.data ? text.data : "", text.len);
	if (code == 0 && renameat(folder, fresh, folder, name) < 0)
		code = -errno;
	return code < 0 ? rf_fail(err, code, "note what was seen") : 0;
}
