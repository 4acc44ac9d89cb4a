/* A small binary form: see pack.h. */
#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#define ABSENT UINT32_MAX /* in place of a length */

/* ------------------------------------------------------------- writing */

void rf_pack_u32(struct rf_buf *buf, uint32_t value)
{
	rf_buf_add(buf, &value, sizeof(value));
}

void rf_pack_u64(struct rf_buf *buf, uint64_t value)
{
	rf_buf_add(buf, &value, sizeof(value));
}

void rf_pack_bool(struct rf_buf *buf, bool value)
{
	rf_pack_u32(buf, value ? 1 : 0);
}

void rf_pack_string(struct rf_buf *buf, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!text) {
		rf_pack_u32(buf, ABSENT);
		return;
	}
	if (len >= ABSENT) {
		buf->has_failed = true;
		return;
	}
	rf_pack_u32(buf, (uint32_t)len);
	rf_buf_add(buf, text, len + 1);
}

void rf_pack_strings(struct rf_buf *buf, const char *const *list)
{
	uint32_t count = 0;

	while (list && list[count])
		count++;
	rf_pack_u32(buf, count);
	for (uint32_t i = 0; i < count; i++)
		rf_pack_string(buf, list[i]);
}

void rf_pack_err(struct rf_buf *buf, const struct rf_err *err)
{
	rf_pack_u32(buf, (uint32_t)err->code);
	rf_pack_u32(buf, (uint32_t)err->line);
	rf_pack_u32(buf, (uint32_t)err->column);
	rf_pack_string(buf, err->msg);
	rf_pack_string(buf, err->hint);
}

/* ------------------------------------------------------------- reading */

void rf_pack_read_init(struct rf_pack_reader *reader, const void *data, size_t len)
{
	const char *at = len > 0 ? data : "";

	*reader = (struct rf_pack_reader){ .at = at, .end = at + len };
}

/* The next `size` bytes, or NULL. */
static const char *take(struct rf_pack_reader *reader, size_t size)
{
	const char *at = reader->at;

	if (reader->has_failed || (size_t)(reader->end - at) < size) {
		reader->has_failed = true;
		return NULL;
	}
	reader->at += size;
	return at;
}

uint32_t rf_pack_read_u32(struct rf_pack_reader *reader)
{
	const char *at = take(reader, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t rf_pack_read_u64(struct rf_pack_reader *reader)
{
	const char *at = take(reader, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint32_t rf_pack_read_below(struct rf_pack_reader *reader, uint32_t end)
{
	uint32_t value = rf_pack_read_u32(reader);

	if (value < end)
		return value;
	reader->has_failed = true;
	return 0;
}

bool rf_pack_read_bool(struct rf_pack_reader *reader)
{
	return rf_pack_read_below(reader, 2);
}

const char *rf_pack_read_maybe(struct rf_pack_reader *reader, size_t size)
{
	uint32_t len = rf_pack_read_u32(reader);
	const char *text;

	if (reader->has_failed || len == ABSENT)
		return NULL;
	text = len < size ? take(reader, (size_t)len + 1) : NULL;
	if (text && strnlen(text, (size_t)len + 1) == len)
		return text;
	reader->has_failed = true;
	return NULL;
}

const char *rf_pack_read_string(struct rf_pack_reader *reader, size_t size)
{
	const char *text = rf_pack_read_maybe(reader, size);

	if (text)
		return text;
	reader->has_failed = true;
	return "";
}

void rf_pack_read_text(struct rf_pack_reader *reader, char *text, size_t size)
{
	const char *from = rf_pack_read_string(reader, size);

	memcpy(text, from, strlen(from) + 1);
}

char **rf_pack_read_strings(struct rf_pack_reader *reader, size_t max, size_t size)
{
	uint32_t count = rf_pack_read_u32(reader);
	char **list;

	/* Each takes five bytes at least: a claim that can't be true costs no memory. */
	if (reader->has_failed || count > max || count > (size_t)(reader->end - reader->at) / 5) {
		reader->has_failed = true;
		return NULL;
	}
	list = calloc((size_t)count + 1, sizeof(*list));
	if (!list)
		reader->has_failed = true;
	for (uint32_t i = 0; i < count && !reader->has_failed; i++)
		list[i] = (char *)(uintptr_t)rf_pack_read_string(reader, size);
	if (!reader->has_failed)
		return list;
	free(list);
	return NULL;
}

void rf_pack_read_err(struct rf_pack_reader *reader, struct rf_err *err)
{
	*err = RF_ERR_INIT;
	err->code = (int)rf_pack_read_u32(reader);
	err->line = (int)rf_pack_read_u32(reader);
	err->column = (int)rf_pack_read_u32(reader);
	rf_pack_read_text(reader, err->msg, sizeof(err->msg));
	rf_pack_read_text(reader, err->hint, sizeof(err->hint));
	if (err->code > 0 || err->line < 0 || err->column < 0)
		reader->has_failed = true;
}

bool rf_pack_is_whole(const struct rf_pack_reader *reader)
{
	return !reader->has_failed && reader->at == reader->end;
}
