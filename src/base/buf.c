/* A growing run of bytes with a maximum: see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rf_buf_init(struct rf_buf *buf, size_t max)
{
	*buf = (struct rf_buf){ .max = max };
}

void rf_buf_done(struct rf_buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	*buf = (struct rf_buf){ .max = buf->max };
}

void rf_buf_clear(struct rf_buf *buf)
{
	buf->len = 0;
	buf->has_failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

/* Makes room for `len` more bytes and the NUL.  False, and failed for good, if that can't be. */
static bool reserve(struct rf_buf *buf, size_t len)
{
	size_t room = buf->room ? buf->room : 64;
	char *data;

	if (buf->has_failed || len > buf->max - buf->len) {
		buf->has_failed = true;
		return false;
	}
	if (buf->data && buf->len + len < buf->room)
		return true;
	while (room <= buf->len + len)
		room *= 2;
	data = realloc(buf->data, room);
	if (!data) {
		buf->has_failed = true;
		return false;
	}
	buf->data = data;
	buf->room = room;
	return true;
}

void rf_buf_add(struct rf_buf *buf, const void *data, size_t len)
{
	if (!reserve(buf, len))
		return;
	if (len > 0)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

char *rf_buf_reserve(struct rf_buf *buf, size_t len)
{
	return reserve(buf, len) ? buf->data + buf->len : NULL;
}

void rf_buf_grew(struct rf_buf *buf, size_t len)
{
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void rf_buf_puts(struct rf_buf *buf, const char *text)
{
	rf_buf_add(buf, text, strlen(text));
}

void rf_buf_printf(struct rf_buf *buf, const char *fmt, ...)
{
	size_t room = buf->data ? buf->room - buf->len : 0;
	va_list args, again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(room ? buf->data + buf->len : NULL, room, fmt, args);
	if (len >= 0 && reserve(buf, (size_t)len)) {
		if ((size_t)len >= room) /* it was too long, or there was nowhere to put it */
			vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	} else if (room) {
		buf->data[buf->len] = '\0'; /* as it was */
	}
	va_end(again);
	va_end(args);
}

char *rf_buf_take(struct rf_buf *buf)
{
	char *data;

	rf_buf_add(buf, "", 0);
	data = buf->has_failed ? NULL : buf->data;
	if (buf->has_failed)
		free(buf->data);
	*buf = (struct rf_buf){ .max = buf->max };
	return data;
}
