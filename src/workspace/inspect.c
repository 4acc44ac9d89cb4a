/* One change looked at closely: see inspect.h. */
#include "workspace/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/copy.h"

#define PIECE  ((size_t)256 << 10)
#define HOLLOW 16 /* of so many bytes, less than one was written */

int rf_inspect_open_file(int layer, const char *path)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(layer, path, &name);
	RF_AUTO_FD int file = -1;
	struct stat st;

	if (dir < 0)
		return dir;
	file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file < 0 || fstat(file, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? rf_fd_take(&file) : -EINVAL;
}

int rf_inspect_hash(int file, uint8_t hash[RF_SHA256_BYTES])
{
	char *piece = malloc(PIECE);
	struct rf_sha256 sha;
	ssize_t n = piece ? 0 : -ENOMEM;

	rf_sha256_init(&sha);
	while (piece && (n = rf_fd_read(file, piece, PIECE)) > 0)
		rf_sha256_add(&sha, piece, (size_t)n);
	rf_sha256_end(&sha, hash);
	free(piece);
	return (int)n;
}

/*
 * Makes a file known by its hash.  One that is long and nearly all a hole costs a box nothing, and would cost hours here
 * if there were many.
 */
static int hash_file(int file, struct rf_inspect_side *side)
{
	struct stat st;
	int code;

	if (fstat(file, &st) < 0 || lseek(file, 0, SEEK_SET) < 0)
		return -errno;
	if ((uint64_t)st.st_size > RF_INSPECT_TEXT && st.st_blocks < st.st_size / HOLLOW / 512)
		return 0;
	code = rf_inspect_hash(file, side->hash);
	side->is_hashed = code == 0;
	return code;
}

/* Reads a file that may be text.  Gives 1 if it is, 0 if not. */
static int read_text(int file, struct rf_inspect_side *side)
{
	ssize_t len;

	if (side->size > RF_INSPECT_TEXT)
		return 0;
	side->data = malloc((size_t)side->size + 1);
	if (!side->data)
		return -ENOMEM;
	len = rf_fd_read(file, side->data, (size_t)side->size);
	if (len < 0)
		return (int)len;
	side->len = (size_t)len;
	return memchr(side->data, '\0', side->len) == NULL;
}

static int read_file(int layer, const char *path, bool with_content, struct rf_inspect_side *side)
{
	RF_AUTO_FD int file = rf_inspect_open_file(layer, path);
	int is_text = with_content, code;

	side->kind = RF_INSPECT_TEXT_FILE;
	if (file == -EACCES || file == -EPERM) {
		side->kind = RF_INSPECT_CLOSED;
		return 0;
	}
	if (file < 0)
		return file;
	code = rf_attributes_read(file, &side->attributes);
	if (code < 0 || !with_content)
		return code;
	is_text = read_text(file, side);
	if (is_text != 0)
		return is_text < 0 ? is_text : 0;
	side->kind = RF_INSPECT_BINARY;
	free(side->data);
	side->data = NULL;
	side->len = 0;
	return hash_file(file, side);
}

static int read_link(int layer, const char *path, struct rf_inspect_side *side)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(layer, path, &name);
	ssize_t len;

	side->kind = RF_INSPECT_LINK;
	side->data = malloc(PATH_MAX);
	if (dir < 0 || !side->data)
		return dir < 0 ? dir : -ENOMEM;
	len = readlinkat(dir, name, side->data, PATH_MAX);
	if (len < 0)
		return -errno;
	side->len = (size_t)len;
	return 0;
}

static int read_folder(int layer, const char *path, struct rf_inspect_side *side)
{
	RF_AUTO_FD int dir = rf_path_open_beneath(layer, path, O_RDONLY | O_DIRECTORY);

	side->kind = RF_INSPECT_FOLDER;
	if (dir == -EACCES)
		return 0;
	return dir < 0 ? dir : rf_attributes_read(dir, &side->attributes);
}

static int read_side(int layer, const char *path, const struct rf_change_side *what,
		     bool with_content, struct rf_inspect_side *side)
{
	side->mode = what->mode;
	side->size = what->size;
	if (!what->mode)
		return 0;
	if (S_ISREG(what->mode))
		return read_file(layer, path, with_content, side);
	if (S_ISLNK(what->mode))
		return read_link(layer, path, side);
	if (S_ISDIR(what->mode))
		return read_folder(layer, path, side);
	side->kind = RF_INSPECT_OTHER;
	return 0;
}

static bool is_text(const struct rf_inspect_side *side)
{
	return side->kind == RF_INSPECT_TEXT_FILE || side->kind == RF_INSPECT_NOTHING;
}

/* A text with too many lines to be compared is told as a binary would be. */
static void take_as_binary(struct rf_inspect_side *side)
{
	struct rf_sha256 sha;

	if (side->kind != RF_INSPECT_TEXT_FILE)
		return;
	rf_sha256_init(&sha);
	rf_sha256_add(&sha, side->data ? side->data : "", side->len);
	rf_sha256_end(&sha, side->hash);
	side->is_hashed = true;
	side->kind = RF_INSPECT_BINARY;
}

static int compare(struct rf_inspect *inspect)
{
	struct rf_inspect_side *old = &inspect->old, *new = &inspect->new;
	int code;

	if (!is_text(old) || !is_text(new))
		return 0;
	code = rf_lines_compare(old->data ? old->data : "", old->len, new->data ? new->data : "",
				new->len, &inspect->lines);
	inspect->has_lines = code == 0;
	if (code != -E2BIG)
		return code;
	rf_lines_done(&inspect->lines);
	take_as_binary(old);
	take_as_binary(new);
	return 0;
}

int rf_inspect_open(const struct rf_change *change, const struct rf_change *origin,
		    const struct rf_stack *before, const struct rf_stack *after,
		    struct rf_inspect *ret_inspect, struct rf_err *err)
{
	const struct rf_change *first = origin ? origin : change;
	bool with_content = change->kind != RF_CHANGE_MODE && change->kind != RF_CHANGE_ATTRIBUTES;
	int code = 0;

	*ret_inspect =
		(struct rf_inspect){ .path = change->path, .from = first->path, .change = change };
	if (first->before.mode)
		code = read_side(before->layers[first->old], first->path, &first->before,
				 with_content, &ret_inspect->old);
	if (code == 0 && change->after.mode)
		code = read_side(after->layers[change->new], change->path, &change->after,
				 with_content, &ret_inspect->new);
	if (code == 0)
		code = compare(ret_inspect);
	return code < 0 ? rf_fail(err, code, "read %.200s", change->path) : 0;
}

static void done(struct rf_inspect_side *side)
{
	free(side->data);
	rf_attributes_done(&side->attributes);
}

void rf_inspect_done(struct rf_inspect *inspect)
{
	done(&inspect->old);
	done(&inspect->new);
	rf_lines_done(&inspect->lines);
	*inspect = (struct rf_inspect){ 0 };
}

int rf_inspect_likeness(const struct rf_inspect *inspect)
{
	const struct rf_inspect_side *old = &inspect->old, *new = &inspect->new;
	uint64_t same = 0, most = old->len > new->len ? old->len : new->len;

	if (!inspect->has_lines && (!old->is_hashed || !new->is_hashed))
		return 0;
	if (!inspect->has_lines)
		return memcmp(old->hash, new->hash, sizeof(old->hash)) == 0 ? 100 : 0;
	for (size_t i = 0; i < inspect->lines.old.count; i++)
		if (!inspect->lines.old.are_changed[i])
			same += inspect->lines.old.lines[i].len;
	return most > 0 ? (int)(same * 100 / most) : 100;
}
