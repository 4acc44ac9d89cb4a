/*
 * Tar archives, written: see tar.h.
 *
 * An ordinary entry is one block that every tar knows.  Whatever does not fit into it (a long or odd name, a large number,
 * parts of a second, attributes, holes) stands in a pax header before it.
 */
#include <stdio.h>
#include <string.h>

#include "archive/tar.h"

#define NAME_ROOM 100 /* in the block */
#define SIZE_MOST 077777777777ULL
#define ID_MOST   07777777U
#define PAX_NAME  "././@PaxHeader"

/* The block of an entry, as POSIX lays it out. */
struct block {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type,
		target[100], magic[6], version[2], user[32], group[32], major[8], minor[8],
		prefix[155], rest[12];
};

_Static_assert(sizeof(struct block) == RF_TAR_BLOCK, "a block is a block");

static void put_octal(char *field, size_t size, uint64_t value)
{
	for (field[--size] = '\0'; size-- > 0; value >>= 3)
		field[size] = (char)('0' + (value & 7));
}

static void put_block(char type, const char *name, const char *target, mode_t mode, uint32_t uid,
		      uint32_t gid, uint64_t size, int64_t mtime, struct rf_buf *out)
{
	struct block block = { .type = type, .magic = "ustar", .version = { '0', '0' } };
	const unsigned char *bytes = (const unsigned char *)&block;
	unsigned sum = 0;

	memcpy(block.name, name, strnlen(name, sizeof(block.name)));
	if (target)
		memcpy(block.target, target, strnlen(target, sizeof(block.target)));
	put_octal(block.mode, sizeof(block.mode), mode);
	put_octal(block.uid, sizeof(block.uid), uid <= ID_MOST ? uid : 0);
	put_octal(block.gid, sizeof(block.gid), gid <= ID_MOST ? gid : 0);
	put_octal(block.size, sizeof(block.size), size <= SIZE_MOST ? size : 0);
	put_octal(block.mtime, sizeof(block.mtime),
		  mtime >= 0 && (uint64_t)mtime <= SIZE_MOST ? (uint64_t)mtime : 0);
	memset(block.checksum, ' ', sizeof(block.checksum));
	for (size_t i = 0; i < sizeof(block); i++)
		sum += bytes[i];
	put_octal(block.checksum, sizeof(block.checksum) - 1, sum);
	rf_buf_add(out, &block, sizeof(block));
}

void rf_tar_put_padding(uint64_t stored, struct rf_buf *out)
{
	static const char zeros[RF_TAR_BLOCK];
	size_t over = (size_t)(stored % RF_TAR_BLOCK);

	if (over > 0)
		rf_buf_add(out, zeros, RF_TAR_BLOCK - over);
}

void rf_tar_put_end(struct rf_buf *out)
{
	static const char zeros[2 * RF_TAR_BLOCK];

	rf_buf_add(out, zeros, sizeof(zeros));
}

/* ------------------------------------------------------------- pax */

/* A record begins with its own length, the digits of that included. */
static void put_record(const char *key, const char *name, const void *value, size_t len,
		       struct rf_buf *out)
{
	size_t bare = strlen(key) + strlen(name) + len + 3, whole = bare + 1; /* " ", "=", "\n" */
	char digits[24];

	while (whole != bare + (size_t)snprintf(digits, sizeof(digits), "%zu", whole))
		whole++;
	rf_buf_printf(out, "%s %s%s=", digits, key, name);
	rf_buf_add(out, value, len);
	rf_buf_puts(out, "\n");
}

static void put_text(const char *key, const char *value, struct rf_buf *out)
{
	put_record(key, "", value, strlen(value), out);
}

static void put_number(const char *key, uint64_t value, struct rf_buf *out)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	put_text(key, digits, out);
}

static bool needs_record(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c < ' ' || *c >= 0x7f)
			return true;
	return strlen(text) > NAME_ROOM;
}

static void put_time(const struct rf_tar_entry *entry, struct rf_buf *out)
{
	char text[48];

	if (entry->mtime_ns == 0 && entry->mtime >= 0 && (uint64_t)entry->mtime <= SIZE_MOST)
		return;
	/* Parts of a second count forward also before 1970: -1.25 is one and a quarter before. */
	if (entry->mtime < 0 && entry->mtime_ns > 0)
		snprintf(text, sizeof(text), "-%lld.%09u", -(long long)(entry->mtime + 1),
			 1000000000U - entry->mtime_ns);
	else
		snprintf(text, sizeof(text), "%lld.%09u", (long long)entry->mtime, entry->mtime_ns);
	put_text("mtime", text, out);
}

/* All that does not fit into a block; `stored` with the map of pieces. */
static void put_records(const struct rf_tar_entry *entry, uint64_t stored, struct rf_buf *out)
{
	if (entry->pieces) {
		put_text("GNU.sparse.major", "1", out);
		put_text("GNU.sparse.minor", "0", out);
		put_text("GNU.sparse.name", entry->path, out);
		put_number("GNU.sparse.realsize", entry->size, out);
	} else if (needs_record(entry->path)) {
		put_text("path", entry->path, out);
	}
	if (entry->target && needs_record(entry->target))
		put_text("linkpath", entry->target, out);
	if (stored > SIZE_MOST)
		put_number("size", stored, out);
	if (entry->uid > ID_MOST)
		put_number("uid", entry->uid, out);
	if (entry->gid > ID_MOST)
		put_number("gid", entry->gid, out);
	put_time(entry, out);
	for (size_t i = 0; i < entry->attributes.count; i++)
		put_record("SCHILY.xattr.", entry->attributes.items[i].name,
			   entry->attributes.items[i].value, entry->attributes.items[i].len, out);
}

/* Where the pieces are, in front of them: how many, then offset and length of each, a line each, to a whole block. */
static void put_map(const struct rf_tar_entry *entry, struct rf_buf *out)
{
	size_t from = out->len;

	rf_buf_printf(out, "%zu\n", entry->piece_count);
	for (size_t i = 0; i < entry->piece_count; i++)
		rf_buf_printf(out, "%llu\n%llu\n", (unsigned long long)entry->pieces[i].offset,
			      (unsigned long long)entry->pieces[i].len);
	rf_tar_put_padding(out->len - from, out);
}

void rf_tar_put_entry(const struct rf_tar_entry *entry, struct rf_buf *out)
{
	static const char types[] = { [RF_TAR_FILE] = '0',
				      [RF_TAR_FOLDER] = '5',
				      [RF_TAR_LINK] = '2',
				      [RF_TAR_HARD_LINK] = '1' };
	RF_AUTO_BUF struct rf_buf records, map;
	uint64_t stored = entry->stored;

	rf_buf_init(&records, out->max);
	rf_buf_init(&map, out->max);
	if (entry->pieces) {
		put_map(entry, &map);
		stored += map.len;
	}
	put_records(entry, stored, &records);
	if (records.len > 0) {
		put_block('x', PAX_NAME, NULL, 0644, 0, 0, records.len, 0, out);
		rf_buf_add(out, records.data, records.len);
		rf_tar_put_padding(records.len, out);
	}
	put_block(types[entry->type], entry->path, entry->target, entry->mode, entry->uid,
		  entry->gid, stored, entry->mtime, out);
	if (map.len > 0)
		rf_buf_add(out, map.data, map.len);
	out->has_failed |= records.has_failed || map.has_failed;
}
