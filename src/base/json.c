/* A JSON writer: see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/rune.h"

void rf_json_init(struct rf_json *json, struct rf_buf *out, bool is_pretty)
{
	*json = (struct rf_json){ .out = out, .is_pretty = is_pretty };
}

/*
 * The length of the well-formed UTF-8 sequence at `s`, or 0.  Overlong forms, surrogates and what
 * lies beyond U+10FFFF are not well-formed (Unicode 15, table 3-7).
 */
static size_t sequence(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		need = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		need = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		need = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (len < need || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return need;
}

bool rf_json_is_utf8(const char *data, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = sequence((const unsigned char *)data + i, len - i);

		if (n == 0 || data[i] == '\0')
			return false;
		i += n;
	}
	return true;
}

/* How many of the next bytes can be copied as they are; most text is nothing else. */
static size_t plain_run(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && data[n] >= 0x20 && data[n] < 0x7f && data[n] != '"' && data[n] != '\\')
		n++;
	return n;
}

/*
 * One character.  What is not seen is escaped: a policy that is written as JSON is read as YAML again, whose reader refuses it
 * otherwise, and people read both.  (YAML has no pairs, and refuses a character beyond U+FFFF in either form.)  Gives the
 * character as which it stands there: 0 for an escape.
 */
static uint32_t quote_rune(struct rf_buf *out, const char *data, size_t len, uint32_t before)
{
	uint32_t rune = 0;
	bool is_seen = rf_rune_take(data, len, &rune) == 0 ||
		       (!rf_rune_is_hidden(rune, before) && rune != 0xfffe && rune != 0xffff);

	if (is_seen)
		rf_buf_add(out, data, len);
	else if (rune < 0x10000)
		rf_buf_printf(out, "\\u%04x", rune);
	else /* a pair, as JSON has it: letters of tags, which people don't see and models read */
		rf_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((rune - 0x10000) >> 10),
			      0xdc00 + ((rune - 0x10000) & 0x3ff));
	return is_seen ? rune : 0;
}

static void quote(struct rf_buf *out, const char *data, size_t len)
{
	static const char escapes[] = { ['"'] = '"',  ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r',
					['\t'] = 't', ['\b'] = 'b',  ['\f'] = 'f', [0x7f] = 0 };
	uint32_t rune, before = 0;

	rf_buf_add(out, "\"", 1);
	for (size_t i = 0; i < len; before = rune) {
		size_t plain = plain_run(data + i, len - i);
		unsigned char c;
		size_t n;

		rf_buf_add(out, data + i, plain);
		i += plain;
		if (plain > 0)
			before = ' ';
		rune = 0;
		if (i == len)
			break;
		c = (unsigned char)data[i];
		n = sequence((const unsigned char *)data + i, len - i);

		if (n == 0)
			rf_buf_puts(out, "\\ufffd");
		else if (c < 0x80 && escapes[c])
			rf_buf_printf(out, "\\%c", escapes[c]);
		else if (c < 0x20 || c == 0x7f)
			rf_buf_printf(out, "\\u%04x", c);
		else if (c == 0xc2 && (unsigned char)data[i + 1] < 0xa0) /* C1: 0x9b is ESC [ */
			rf_buf_printf(out, "\\u%04x", (unsigned char)data[i + 1]);
		else
			rune = quote_rune(out, data + i, n, before);
		i += n ? n : 1;
	}
	rf_buf_add(out, "\"", 1);
}

static void new_line(struct rf_json *json)
{
	if (!json->is_pretty)
		return;
	rf_buf_puts(json->out, "\n");
	for (int i = 0; i < json->depth; i++)
		rf_buf_puts(json->out, "  ");
}

/* What stands before every value: a comma, a line, a name. */
static void begin(struct rf_json *json, const char *name)
{
	if (json->needs_comma)
		rf_buf_puts(json->out, json->is_pretty || json->depth == 0 ? "," : ", ");
	if (json->depth > 0)
		new_line(json);
	if (name) {
		quote(json->out, name, strlen(name));
		rf_buf_puts(json->out, ": ");
	}
	json->needs_comma = true;
}

static void open_with(struct rf_json *json, const char *name, const char *bracket)
{
	begin(json, name);
	rf_buf_puts(json->out, bracket);
	json->depth++;
	json->needs_comma = false;
}

static void close_with(struct rf_json *json, const char *bracket)
{
	bool is_empty = !json->needs_comma;

	json->depth--;
	if (!is_empty)
		new_line(json);
	rf_buf_puts(json->out, bracket);
	json->needs_comma = true;
}

void rf_json_open_object(struct rf_json *json, const char *name)
{
	open_with(json, name, "{");
}

void rf_json_close_object(struct rf_json *json)
{
	close_with(json, "}");
}

void rf_json_open_array(struct rf_json *json, const char *name)
{
	open_with(json, name, "[");
}

void rf_json_close_array(struct rf_json *json)
{
	close_with(json, "]");
}

void rf_json_bytes(struct rf_json *json, const char *name, const char *data, size_t len)
{
	begin(json, name);
	quote(json->out, data, len);
}

void rf_json_string(struct rf_json *json, const char *name, const char *text)
{
	if (text)
		rf_json_bytes(json, name, text, strlen(text));
	else
		rf_json_null(json, name);
}

void rf_json_base64(struct rf_json *json, const char *name, const char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)data;
	char block[4096];
	size_t used = 0;

	begin(json, name);
	rf_buf_puts(json->out, "\"");
	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)in[i] << 16;
		char four[4] = { 0, 0, '=', '=' };

		if (i + 1 < len)
			v |= (unsigned)in[i + 1] << 8;
		if (i + 2 < len)
			v |= in[i + 2];
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		if (i + 1 < len)
			four[2] = digits[v >> 6 & 63];
		if (i + 2 < len)
			four[3] = digits[v & 63];
		memcpy(block + used, four, sizeof(four));
		used += sizeof(four);
		if (used == sizeof(block)) {
			rf_buf_add(json->out, block, used);
			used = 0;
		}
	}
	rf_buf_add(json->out, block, used);
	rf_buf_puts(json->out, "\"");
}

void rf_json_int(struct rf_json *json, const char *name, int64_t value)
{
	begin(json, name);
	rf_buf_printf(json->out, "%" PRId64, value);
}

void rf_json_double(struct rf_json *json, const char *name, double value, int decimals)
{
	begin(json, name);
	rf_buf_printf(json->out, "%.*f", decimals, value);
}

void rf_json_bool(struct rf_json *json, const char *name, bool value)
{
	begin(json, name);
	rf_buf_puts(json->out, value ? "true" : "false");
}

void rf_json_null(struct rf_json *json, const char *name)
{
	begin(json, name);
	rf_buf_puts(json->out, "null");
}
