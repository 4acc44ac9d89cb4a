/* Tar archives, written and read again: src/archive/tar-write.c, tar-read.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/tar.h"
#include "base/fd.h"
#include "harness.h"

struct memory {
	const char *data;
	size_t left;
};

static ssize_t pull(void *data, void *bytes, size_t len)
{
	struct memory *memory = data;
	size_t part = memory->left < len ? memory->left : len;

	memcpy(bytes, memory->data, part);
	memory->data += part;
	memory->left -= part;
	return (ssize_t)part;
}

/* Writes an entry with the end behind it, and reads it. */
static int travel(const struct rf_tar_entry *entry, struct rf_tar_entry *ret_entry,
		  struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct memory memory;
	struct rf_tar_reader reader = { .pull = pull, .data = &memory };

	rf_buf_init(&out, 1 << 24);
	rf_tar_put_entry(entry, &out);
	rf_tar_put_end(&out);
	RF_REQUIRE(!out.has_failed && out.len % RF_TAR_BLOCK == 0, "%zu bytes", out.len);
	memory = (struct memory){ out.data, out.len };
	return rf_tar_next(&reader, ret_entry, err);
}

static char *repeat(char c, size_t len)
{
	char *text = calloc(1, len + 1);

	RF_REQUIRE(text, "no memory");
	memset(text, c, len);
	return text;
}

RF_TEST(names_of_all_lengths_come_back)
{
	for (size_t len = 1; len <= 255; len++) {
		char *name = repeat(len % 2 ? 'x' : (char)0xff, len),
		     *target = repeat('y', 5 * len);
		struct rf_tar_entry entry = { .type = RF_TAR_LINK, .path = name, .target = target },
				    back;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(travel(&entry, &back, &err) == 1, "%zu: %s", len, err.msg);
		RF_CHECK(back.path && strcmp(back.path, name) == 0, "%zu", len);
		RF_CHECK(back.target && strcmp(back.target, target) == 0, "%zu", len);
		rf_tar_entry_done(&back);
		free(name);
		free(target);
	}
}

RF_TEST(numbers_come_back)
{
	/* clang-format off */
	static const struct { uint64_t size; int64_t mtime; uint32_t ns; } cases[] = {
		{ 0, 0, 0 },                    { 1, 1, 1 },
		{ 077777777777, 077777777777, 0 }, { 077777777777 + 1, 077777777777 + 1, 999999999 },
		{ (uint64_t)1 << 60, -1, 0 },   { 5, -1, 750000000 },
		{ 5, -1000, 1 },                { 5, 1577923200, 123456789 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char path[] = "file";
		struct rf_tar_entry entry = { .path = path,
					      .mode = 0640,
					      .size = cases[i].size,
					      .stored = cases[i].size,
					      .mtime = cases[i].mtime,
					      .mtime_ns = cases[i].ns },
				    back;
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(travel(&entry, &back, &err) == 1, "case %zu: %s", i, err.msg);
		RF_CHECK(back.size == cases[i].size && back.stored == cases[i].size, "case %zu", i);
		RF_CHECK(back.mtime == cases[i].mtime && back.mtime_ns == cases[i].ns,
			 "case %zu: %lld %u", i, (long long)back.mtime, back.mtime_ns);
		RF_CHECK(back.mode == 0640 && back.type == RF_TAR_FILE, "case %zu", i);
		rf_tar_entry_done(&back);
	}
}

RF_TEST(attributes_and_holes_come_back)
{
	char path[] = "file", name[] = "user.note", value[] = { 'a', '\0', '\n', '=' };
	struct rf_attribute attribute = { name, value, sizeof(value) };
	struct rf_tar_piece pieces[] = { { 4096, 3 }, { 1 << 20, 5 }, { 1 << 21, 0 } };
	struct rf_tar_entry entry = { .path = path,
				      .size = 1 << 21,
				      .stored = 8,
				      .attributes = { &attribute, 1 },
				      .pieces = pieces,
				      .piece_count = RF_LEN(pieces) },
			    back;
	RF_AUTO_BUF struct rf_buf out;
	struct memory memory;
	struct rf_tar_reader reader = { .pull = pull, .data = &memory };
	struct rf_err err = RF_ERR_INIT;
	char content[16];

	rf_buf_init(&out, 1 << 20);
	rf_tar_put_entry(&entry, &out);
	rf_buf_puts(&out, "abcdefgh");
	rf_tar_put_padding(8, &out);
	rf_tar_put_end(&out);
	memory = (struct memory){ out.data, out.len };
	RF_REQUIRE(rf_tar_next(&reader, &back, &err) == 1, "%s", err.msg);
	RF_CHECK(back.size == 1 << 21 && back.piece_count == 3 &&
			 memcmp(back.pieces, pieces, sizeof(pieces)) == 0,
		 "other holes");
	RF_CHECK(back.attributes.count == 1 &&
			 rf_attributes_are_same(&back.attributes.items[0], &attribute),
		 "other attributes");
	RF_CHECK(rf_tar_read(&reader, content, sizeof(content), &err) == 8 &&
			 memcmp(content, "abcdefgh", 8) == 0,
		 "another content");
	rf_tar_entry_done(&back);
	RF_CHECK(rf_tar_next(&reader, &back, &err) == 0, "no end: %s", err.msg);
	rf_tar_entry_done(&back);
}

RF_TEST(paths_that_lead_elsewhere_are_refused_and_others_made_plain)
{
	/* clang-format off */
	static const struct { const char *path, *read; } cases[] = {
		{ "a/b", "a/b" },     { "./a//b/./c/", "a/b/c" }, { "...", "..." }, { "a/..b", "a/..b" },
		{ "..", NULL },       { "../a", NULL },           { "a/..", NULL }, { "a/../b", NULL },
		{ "/a", NULL },       { "/", NULL },              { "", NULL },     { ".", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		char *path = strdup(cases[i].path);
		struct rf_tar_entry entry = { .path = path }, back;
		int code;

		RF_REQUIRE(path, "no memory");
		code = travel(&entry, &back, &err);
		if (cases[i].read)
			RF_CHECK(code == 1 && strcmp(back.path, cases[i].read) == 0, "`%s`: %s",
				 path, err.msg);
		else
			RF_CHECK(code == -EXDEV, "`%s` is taken: %d", path, code);
		rf_tar_entry_done(&back);
		free(path);
	}
}

RF_TEST(every_bit_of_a_header_counts)
{
	char path[] = "file";
	const struct rf_tar_entry entry = { .path = path, .mode = 0644 };
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_tar_put_entry(&entry, &out);
	rf_tar_put_end(&out);
	for (size_t i = 0; i < RF_TAR_BLOCK; i++) {
		struct memory memory = { out.data, out.len };
		struct rf_tar_reader reader = { .pull = pull, .data = &memory };
		struct rf_err err = RF_ERR_INIT;
		struct rf_tar_entry back;

		out.data[i] ^= 1;
		/* The digits of the checksum end with a blank and a NUL, which say nothing. */
		RF_CHECK(rf_tar_next(&reader, &back, &err) < 0 || (i >= 154 && i < 156), "byte %zu",
			 i);
		rf_tar_entry_done(&back);
		out.data[i] ^= 1;
	}
}
