/*
 * Bytes from strangers through the JSON writer: whatever goes in, what comes out is one line of
 * UTF-8 without a control character, a string closes where it should, and bytes that are UTF-8
 * already are not replaced.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

/* The place after the string that begins at `text`. */
static const char *skip_string(const char *text)
{
	require(*text++ == '"');
	for (; *text != '"'; text++) {
		require(*text != '\0');
		if (*text == '\\')
			text++;
	}
	return text + 1;
}

RF_FUZZ(data, size)
{
	const char *bytes = (const char *)data;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	const char *rest;

	rf_buf_init(&out, 8 * size + 16);
	rf_json_init(&json, &out, false);
	rf_json_open_array(&json, NULL);
	rf_json_bytes(&json, NULL, bytes, size);
	rf_json_base64(&json, NULL, bytes, size);
	rf_json_close_array(&json);

	require(!out.has_failed && rf_json_is_utf8(out.data, out.len) && !has_control(out.data));
	rest = skip_string(out.data + 1);
	require(strncmp(rest, ", ", 2) == 0);
	require(strcspn(rest + 3, "\"") == (size + 2) / 3 * 4);
	require(strcmp(skip_string(rest + 2), "]") == 0);
	if (rf_json_is_utf8(bytes, size) && !memmem(bytes, size, "\\ufffd", 6))
		require(!memmem(out.data, out.len, "\\ufffd", 6));
	return 0;
}
