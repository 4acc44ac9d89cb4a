/* Tar archives, read: see tar.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive/tar.h"
#include "base/decimal.h"

#define PAX_MOST   ((uint64_t)1 << 20) /* bytes of one pax header, or of a map of pieces */
#define SIZE_MOST  ((uint64_t)1 << 62)
#define ATTRIBUTES 256 /* of one entry */
#define HEADERS    16  /* before one entry */

/* Where things are in a block. */
enum {
	NAME = 0,
	MODE = 100,
	SIZE = 124,
	MTIME = 136,
	CHECKSUM = 148,
	TYPE = 156,
	TARGET = 157,
	MAGIC = 257,
	PREFIX = 345,
};

/* What was said before an entry's own block. */
struct before {
	char *path, *target;
	char *real_path; /* of a sparse file; its path names no file */
	bool has_size, has_mtime, is_sparse;
	uint64_t size, real_size;
	int64_t mtime;
	uint32_t mtime_ns;
	char major, minor; /* of the form of a sparse file */
	struct rf_attributes attributes;
};

static void before_done(struct before *before)
{
	free(before->path);
	free(before->target);
	free(before->real_path);
	rf_attributes_done(&before->attributes);
	*before = (struct before){ 0 };
}

void rf_tar_entry_done(struct rf_tar_entry *entry)
{
	free(entry->path);
	free(entry->target);
	free(entry->pieces);
	rf_attributes_done(&entry->attributes);
	*entry = (struct rf_tar_entry){ 0 };
}

/* ------------------------------------------------------------- numbers and paths */

static bool read_decimal(const char *text, size_t len, uint64_t most, uint64_t *ret_value)
{
	return rf_decimal_parse(text, len, most, ret_value) == 0;
}

/* Octal digits between blanks, or, with the highest bit set, a big-endian number. */
static bool read_field(const char *field, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i = 0;

	if ((unsigned char)field[0] & 0x80) {
		if ((unsigned char)field[0] != 0x80)
			return false; /* negative, or larger than anything */
		for (i = 1; i < size; i++) {
			if (value > SIZE_MOST >> 8)
				return false;
			value = value << 8 | (unsigned char)field[i];
		}
		*ret_value = value;
		return true;
	}
	while (i < size && field[i] == ' ')
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
		if (value > SIZE_MOST >> 3)
			return false;
		value = value << 3 | (uint64_t)(field[i] - '0');
	}
	for (; i < size; i++)
		if (field[i] != ' ' && field[i] != '\0')
			return false;
	*ret_value = value;
	return true;
}

/* The same of a time, which GNU tar writes as a negative number where it is before 1970. */
static bool read_time_field(const char *field, size_t size, int64_t *ret_value)
{
	uint64_t value = 0;

	if ((unsigned char)field[0] != 0xff) {
		bool is_good = read_field(field, size, &value);

		*ret_value = (int64_t)value;
		return is_good;
	}
	for (size_t i = 0; i < size; i++) {
		if (i < size - 6 && (unsigned char)field[i] != 0xff)
			return false;
		value = value << 8 | (unsigned char)field[i];
	}
	*ret_value = (int64_t)value;
	return true;
}

/* "12.5", "-3": seconds and what is left of one, which counts forward. */
static bool read_time(const char *text, size_t len, struct before *before)
{
	bool is_negative = len > 0 && text[0] == '-';
	const char *dot;
	uint64_t seconds, part = 0;
	size_t whole, digits;

	text += is_negative;
	len -= is_negative;
	dot = memchr(text, '.', len);
	whole = dot ? (size_t)(dot - text) : len;
	if (!read_decimal(text, whole, (uint64_t)1 << 40, &seconds))
		return false;
	for (digits = 0; digits < 9; digits++) {
		size_t at = whole + 1 + digits;
		bool is_there = dot && at < len;

		if (is_there && (text[at] < '0' || text[at] > '9'))
			return false;
		part = part * 10 + (is_there ? (uint64_t)(text[at] - '0') : 0);
	}
	before->mtime = is_negative ? -(int64_t)seconds : (int64_t)seconds;
	before->mtime_ns = (uint32_t)part;
	if (is_negative && part > 0) {
		before->mtime--;
		before->mtime_ns = 1000000000U - (uint32_t)part;
	}
	before->has_mtime = true;
	return true;
}

/* A copy of a path without `.` and double slashes; NULL for one that leads elsewhere, or is too long. */
static char *clean_path(const char *path, int *ret_code)
{
	size_t len = strlen(path), kept = 0;
	char *clean = len < PATH_MAX ? calloc(1, len + 1) : NULL;

	*ret_code = len < PATH_MAX ? -ENOMEM : -ENAMETOOLONG;
	if (clean && (*path == '/' || !*path))
		*ret_code = -EXDEV;
	while (clean && *path != '/' && *path) {
		size_t part = strcspn(path, "/");

		if ((part == 2 && path[0] == '.' && path[1] == '.') || part > NAME_MAX) {
			*ret_code = part == 2 ? -EXDEV : -ENAMETOOLONG;
			break;
		}
		if (part != 1 || path[0] != '.') {
			if (kept > 0)
				clean[kept++] = '/';
			memcpy(clean + kept, path, part);
			kept += part;
		}
		path += part;
		path += strspn(path, "/");
		if (!*path)
			return clean;
	}
	free(clean);
	return NULL;
}

/* ------------------------------------------------------------- pax records */

static char *copy_text(const char *text, size_t len)
{
	char *copy = memchr(text, '\0', len) ? NULL : malloc(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

static bool take_text(char **place, const char *value, size_t len)
{
	free(*place);
	*place = copy_text(value, len);
	return *place != NULL;
}

/* One attribute.  Only users' own have a place; those that overlayfs reads would change what a tree is. */
static bool take_attribute(struct before *before, const char *name, size_t name_len,
			   const char *value, size_t len)
{
	struct rf_attributes *all = &before->attributes;
	struct rf_attribute *more;
	char *copy = copy_text(name, name_len);

	if (!copy)
		return false;
	if (strncmp(copy, "user.overlay.", 13) == 0) {
		free(copy);
		return false;
	}
	if (strncmp(copy, "user.", 5) != 0 || name_len > 255 || len > 65536) {
		free(copy);
		return true;
	}
	more = all->count < ATTRIBUTES ? realloc(all->items, (all->count + 1) * sizeof(*more))
				       : NULL;
	if (!more) {
		free(copy);
		return false;
	}
	all->items = more;
	more[all->count] = (struct rf_attribute){ copy, malloc(len + 1), len };
	if (!more[all->count].value) {
		free(copy);
		return false;
	}
	memcpy(more[all->count++].value, value, len);
	return true;
}

static bool is_key(const char *key, size_t len, const char *wanted)
{
	return strlen(wanted) == len && memcmp(key, wanted, len) == 0;
}

/* One record; keys that say nothing about a tree of files are passed over. */
static bool take_record(struct before *before, const char *key, size_t key_len, const char *value,
			size_t len)
{
	static const char attribute[] = "SCHILY.xattr.";
	size_t head = sizeof(attribute) - 1;

	if (is_key(key, key_len, "path"))
		return take_text(&before->path, value, len);
	if (is_key(key, key_len, "GNU.sparse.name"))
		return take_text(&before->real_path, value, len);
	if (is_key(key, key_len, "linkpath"))
		return take_text(&before->target, value, len);
	if (is_key(key, key_len, "size"))
		return (before->has_size = read_decimal(value, len, SIZE_MOST, &before->size));
	if (is_key(key, key_len, "mtime"))
		return read_time(value, len, before);
	if (is_key(key, key_len, "GNU.sparse.realsize"))
		return (before->is_sparse =
				read_decimal(value, len, SIZE_MOST, &before->real_size));
	if (is_key(key, key_len, "GNU.sparse.major"))
		return len == 1 && (before->major = *value);
	if (is_key(key, key_len, "GNU.sparse.minor"))
		return len == 1 && (before->minor = *value);
	if (key_len > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
		return false; /* an older form of the same */
	if (key_len > head && memcmp(key, attribute, head) == 0)
		return take_attribute(before, key + head, key_len - head, value, len);
	return true;
}

static bool take_records(struct before *before, const char *text, size_t len)
{
	while (len > 0) {
		const char *blank = memchr(text, ' ', len < 21 ? len : 21), *equals;
		uint64_t whole;
		size_t digits = blank ? (size_t)(blank - text) : 0;

		if (!blank || !read_decimal(text, digits, len, &whole) || whole < digits + 3 ||
		    text[whole - 1] != '\n')
			return false;
		equals = memchr(blank + 1, '=', (size_t)whole - digits - 1);
		if (!equals || !take_record(before, blank + 1, (size_t)(equals - blank - 1),
					    equals + 1, (size_t)(text + whole - 1 - (equals + 1))))
			return false;
		text += whole;
		len -= (size_t)whole;
	}
	return true;
}

/* ------------------------------------------------------------- pulling bytes */

static int fail_bad(struct rf_err *err, const char *what)
{
	rf_fail_say(err, -EINVAL, "this is no archive that can be read: %s", what);
	return rf_fail_hint(err, "`ringfort export` writes one; tar --format=posix does, too");
}

static int pull_all(struct rf_tar_reader *reader, void *bytes, size_t len, struct rf_err *err)
{
	ssize_t n = reader->pull(reader->data, bytes, len);

	if (n < 0)
		return rf_fail(err, (int)n, "read the archive");
	return (size_t)n == len ? 0 : fail_bad(err, "it ends too early");
}

static int skip(struct rf_tar_reader *reader, uint64_t len, struct rf_err *err)
{
	char piece[4096];
	int code = 0;

	while (len > 0 && code == 0) {
		size_t part = len < sizeof(piece) ? (size_t)len : sizeof(piece);

		code = pull_all(reader, piece, part, err);
		len -= part;
	}
	return code;
}

static uint64_t padding_of(uint64_t len)
{
	return (RF_TAR_BLOCK - len % RF_TAR_BLOCK) % RF_TAR_BLOCK;
}

/* Reads the whole content of a header of headers, with a NUL behind it. */
static int pull_text(struct rf_tar_reader *reader, uint64_t len, char **ret_text,
		     struct rf_err *err)
{
	char *text;
	int code;

	if (len > PAX_MOST)
		return fail_bad(err, "a header is too long");
	text = malloc((size_t)len + 1);
	if (!text)
		return rf_fail(err, -ENOMEM, "read the archive");
	text[len] = '\0';
	code = pull_all(reader, text, (size_t)len, err);
	if (code == 0)
		code = skip(reader, padding_of(len), err);
	if (code < 0) {
		free(text);
		return code;
	}
	*ret_text = text;
	return 0;
}

ssize_t rf_tar_read(struct rf_tar_reader *reader, void *bytes, size_t len, struct rf_err *err)
{
	size_t part = reader->left < len ? (size_t)reader->left : len;
	int code;

	if (part == 0)
		return 0;
	code = pull_all(reader, bytes, part, err);
	if (code < 0)
		return code;
	reader->left -= part;
	return (ssize_t)part;
}

/* ------------------------------------------------------------- holes */

/* A number and its newline, out of the map. */
static int pull_number(struct rf_tar_reader *reader, uint64_t *read, uint64_t *ret_value,
		       struct rf_err *err)
{
	char digits[24];
	size_t len = 0;
	ssize_t n;

	for (;; len++) {
		if (len == sizeof(digits) || reader->left == 0 || *read >= PAX_MOST)
			return fail_bad(err, "a map of holes is none");
		n = rf_tar_read(reader, &digits[len], 1, err);
		if (n < 0)
			return (int)n;
		++*read;
		if (digits[len] == '\n')
			break;
	}
	return read_decimal(digits, len, SIZE_MOST, ret_value)
		       ? 0
		       : fail_bad(err, "a map of holes is none");
}

/* Reads where the pieces are; they have to come one after the other, and to be all that is stored. */
static int read_map(struct rf_tar_reader *reader, struct rf_tar_entry *entry, struct rf_err *err)
{
	uint64_t count = 0, read = 0, end = 0, sum = 0;
	char filler[RF_TAR_BLOCK];

	if (pull_number(reader, &read, &count, err) < 0)
		return err->code;
	if (count > RF_TAR_PIECES)
		return fail_bad(err, "a file has too many holes");
	entry->pieces = calloc((size_t)count + 1, sizeof(*entry->pieces));
	if (!entry->pieces)
		return rf_fail(err, -ENOMEM, "read the archive");
	for (size_t i = 0; i < count; i++) {
		struct rf_tar_piece *piece = &entry->pieces[i];

		if (pull_number(reader, &read, &piece->offset, err) < 0 ||
		    pull_number(reader, &read, &piece->len, err) < 0)
			return err->code;
		if (piece->offset < end || piece->len > entry->size ||
		    piece->offset > entry->size - piece->len)
			return fail_bad(err, "a map of holes is none");
		end = piece->offset + piece->len;
		sum += piece->len;
	}
	entry->piece_count = (size_t)count;
	if (reader->left < padding_of(read) ||
	    rf_tar_read(reader, filler, (size_t)padding_of(read), err) < 0)
		return err->code ? err->code : fail_bad(err, "a map of holes is none");
	entry->stored = reader->left;
	return sum == reader->left ? 0 : fail_bad(err, "a map of holes is none");
}

/* ------------------------------------------------------------- entries */

static bool is_zero(const char *block)
{
	for (size_t i = 0; i < RF_TAR_BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

static bool has_checksum(const char *block)
{
	uint64_t told, sum = 0;

	for (size_t i = 0; i < RF_TAR_BLOCK; i++)
		sum += i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : (unsigned char)block[i];
	return read_field(block + CHECKSUM, 8, &told) && told == sum;
}

/* The name in the block; in POSIX's form there may be more of it in front. */
static char *block_path(const char *block)
{
	char path[100 + 155 + 2];
	size_t len = 0;

	if (memcmp(block + MAGIC, "ustar", 6) == 0 && block[PREFIX]) {
		len = strnlen(block + PREFIX, 155);
		memcpy(path, block + PREFIX, len);
		path[len++] = '/';
	}
	memcpy(path + len, block + NAME, strnlen(block + NAME, 100));
	return copy_text(path, len + strnlen(block + NAME, 100));
}

static bool read_type(char letter, enum rf_tar_type *ret_type)
{
	static const struct {
		char letter;
		enum rf_tar_type type;
	} types[] = {
		{ '0', RF_TAR_FILE }, { '\0', RF_TAR_FILE },  { '7', RF_TAR_FILE },
		{ '2', RF_TAR_LINK }, { '5', RF_TAR_FOLDER }, { '1', RF_TAR_HARD_LINK },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].letter == letter) {
			*ret_type = types[i].type;
			return true;
		}
	return false;
}

static int fail_entry(struct rf_err *err, int code, const char *path)
{
	if (code == -EXDEV) {
		rf_fail_say(err, code, "the archive has a path that leads elsewhere: %.120s", path);
		return rf_fail_hint(err, "it is refused as a whole; nothing was unpacked");
	}
	return rf_fail(err, code, "the archive's %.120s", path);
}

/* Puts an entry together from its block and what was said before it. */
static int make_entry(const char *block, struct before *before, uint64_t size,
		      struct rf_tar_entry *entry, struct rf_err *err)
{
	char *path = before->real_path ? before->real_path : before->path;
	uint64_t mode;
	int64_t mtime;
	int code = -ENOMEM;

	if (!path)
		path = before->path = block_path(block); /* freed with it */
	if (!path || !read_field(block + MODE, 8, &mode) ||
	    !read_time_field(block + MTIME, 12, &mtime))
		return fail_bad(err, "a header is broken");
	entry->path = clean_path(path, &code);
	if (!entry->path)
		return fail_entry(err, code, path);
	entry->mode = (mode_t)mode & 0777;
	entry->mtime = before->has_mtime ? before->mtime : mtime;
	entry->mtime_ns = before->mtime_ns;
	entry->attributes = before->attributes;
	before->attributes = (struct rf_attributes){ 0 };
	entry->size = entry->stored = entry->type == RF_TAR_FILE ? size : 0;
	if (entry->type == RF_TAR_LINK || entry->type == RF_TAR_HARD_LINK) {
		char *target = before->target
				       ? before->target
				       : copy_text(block + TARGET, strnlen(block + TARGET, 100));

		before->target = target;
		if (!target || !*target || strlen(target) >= PATH_MAX)
			return fail_bad(err, "a link leads nowhere");
		entry->target =
			entry->type == RF_TAR_LINK ? strdup(target) : clean_path(target, &code);
		if (!entry->target)
			return fail_entry(err, code, target);
	}
	if (!*entry->path && entry->type != RF_TAR_FOLDER)
		return fail_entry(err, -EXDEV, "name is empty");
	return 0;
}

/* What a header of headers says: a long name in GNU's form, or records. */
static int read_before(struct rf_tar_reader *reader, char type, uint64_t size,
		       struct before *before, struct rf_err *err)
{
	char *text = NULL;
	bool is_good;

	if (pull_text(reader, size, &text, err) < 0)
		return err->code;
	if (type == 'L' || type == 'K')
		is_good = take_text(type == 'L' ? &before->path : &before->target, text,
				    strlen(text));
	else
		is_good = type == 'g' || take_records(before, text, (size_t)size);
	free(text);
	return is_good ? 0 : fail_bad(err, "a header is broken, or forges what a layer means");
}

/* The end: nothing but zeros comes behind it, and not much of that. */
static int read_end(struct rf_tar_reader *reader, struct rf_err *err)
{
	char block[RF_TAR_BLOCK];

	for (int i = 0; i < 4096; i++) {
		ssize_t n = reader->pull(reader->data, block, sizeof(block));

		if (n < 0)
			return rf_fail(err, (int)n, "read the archive");
		if (n == 0)
			return 0;
		memset(block + n, 0, sizeof(block) - (size_t)n);
		if (!is_zero(block))
			break;
	}
	return fail_bad(err, "something comes behind its end");
}

static int read_entry(struct rf_tar_reader *reader, const char *block, struct before *before,
		      struct rf_tar_entry *entry, struct rf_err *err)
{
	uint64_t size;

	if (!read_type(block[TYPE], &entry->type)) {
		rf_fail_say(err, -EINVAL, "the archive has a device, a pipe or something unknown");
		return rf_fail_hint(err, "files, folders and links are all that a workspace takes; "
					 "nothing was unpacked");
	}
	if (!read_field(block + SIZE, 12, &size))
		return fail_bad(err, "a header is broken");
	if (before->has_size)
		size = before->size;
	if (make_entry(block, before, size, entry, err) < 0)
		return err->code;
	reader->left = entry->type == RF_TAR_FILE || entry->type == RF_TAR_HARD_LINK ? size : 0;
	reader->padding = padding_of(reader->left);
	if (!before->is_sparse)
		return 1;
	if (entry->type != RF_TAR_FILE || before->major != '1' || before->minor != '0')
		return fail_bad(err, "a file with holes is in a form that is not known");
	entry->size = before->real_size;
	return read_map(reader, entry, err) < 0 ? err->code : 1;
}

static int next_block(struct rf_tar_reader *reader, struct before *before,
		      struct rf_tar_entry *entry, struct rf_err *err)
{
	for (int headers = 0; headers < HEADERS; headers++) {
		char block[RF_TAR_BLOCK], type;
		uint64_t size;

		if (pull_all(reader, block, sizeof(block), err) < 0)
			return err->code;
		if (is_zero(block))
			return read_end(reader, err);
		type = block[TYPE];
		if (!has_checksum(block) || !read_field(block + SIZE, 12, &size))
			return fail_bad(err, "a header is broken");
		if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
			return read_entry(reader, block, before, entry, err);
		if (read_before(reader, type, size, before, err) < 0)
			return err->code;
	}
	return fail_bad(err, "too many headers before one entry");
}

int rf_tar_next(struct rf_tar_reader *reader, struct rf_tar_entry *ret_entry, struct rf_err *err)
{
	struct before before = { 0 };
	int code;

	*ret_entry = (struct rf_tar_entry){ 0 };
	if (skip(reader, reader->left, err) < 0 || skip(reader, reader->padding, err) < 0)
		return err->code;
	reader->left = reader->padding = 0;
	code = next_block(reader, &before, ret_entry, err);
	before_done(&before);
	return code;
}
