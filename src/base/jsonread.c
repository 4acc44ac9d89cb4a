/*
 * A JSON reader: see jsonread.h.
 *
 * Works on a copy of the text.  A string is decoded where it stands, since no escape is shorter than
 * what it means, and is ended by a NUL in the place of its closing quote; so a value costs no memory
 * but its node.  Descends by recursion, which the depth bounds.
 */
#include "base/jsonread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#define NODES 128 /* values that are allocated at a time */

struct block {
	struct block *next;
	size_t used;
	struct rf_jsonread_value values[NODES];
};

struct rf_jsonread {
	char *text; /* our copy, in which strings have been decoded */
	struct block *blocks;
	struct rf_jsonread_value *root;
};

struct reader {
	struct rf_jsonread *json;
	char *at, *end;
	char *mark; /* up to where line and column have been counted */
	int line, column;
	int depth;
	struct rf_err *err;
};

/* ------------------------------------------------------------- positions */

/* Counts on to `to`; only ever forward, so the whole text is counted once. */
static void count_to(struct reader *r, const char *to)
{
	for (; r->mark < to; r->mark++) {
		if (*r->mark == '\n') {
			r->line++;
			r->column = 1;
		} else if (((unsigned char)*r->mark & 0xc0) != 0x80) {
			r->column++;
		}
	}
}

static int fail_here(struct reader *r, const char *what)
{
	count_to(r, r->at);
	return rf_fail_at(r->err, r->line, r->column, "not JSON: %s", what);
}

/* ------------------------------------------------------------- values */

static struct rf_jsonread_value *new_value(struct reader *r, enum rf_jsonread_type type)
{
	struct block *block = r->json->blocks;
	struct rf_jsonread_value *value;

	if (!block || block->used == NODES) {
		block = malloc(sizeof(*block));
		if (!block) {
			rf_fail(r->err, -ENOMEM, "read JSON");
			return NULL;
		}
		block->next = r->json->blocks;
		block->used = 0;
		r->json->blocks = block;
	}
	count_to(r, r->at);
	value = &block->values[block->used++];
	*value = (struct rf_jsonread_value){ .type = type, .line = r->line, .column = r->column };
	return value;
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

/* The next character, or 0 at the end: the text holds no NUL. */
static char peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static int hex4(const char *at, const char *end, unsigned *ret_code)
{
	unsigned code = 0;

	if (end - at < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			digit = (unsigned)(c - 'A') + 10;
		else
			return -EINVAL;
		code = code << 4 | digit;
	}
	*ret_code = code;
	return 0;
}

static char *put_utf8(char *to, unsigned rune)
{
	if (rune < 0x80) {
		*to++ = (char)rune;
	} else if (rune < 0x800) {
		*to++ = (char)(0xc0 | rune >> 6);
		*to++ = (char)(0x80 | (rune & 0x3f));
	} else if (rune < 0x10000) {
		*to++ = (char)(0xe0 | rune >> 12);
		*to++ = (char)(0x80 | (rune >> 6 & 0x3f));
		*to++ = (char)(0x80 | (rune & 0x3f));
	} else {
		*to++ = (char)(0xf0 | rune >> 18);
		*to++ = (char)(0x80 | (rune >> 12 & 0x3f));
		*to++ = (char)(0x80 | (rune >> 6 & 0x3f));
		*to++ = (char)(0x80 | (rune & 0x3f));
	}
	return to;
}

/* Decodes \uXXXX, and the pair of them that a character beyond U+FFFF takes.  `at` is behind the u. */
static int read_unicode(struct reader *r, char **to)
{
	unsigned code, low;

	if (hex4(r->at, r->end, &code) < 0)
		return fail_here(r, "\\u needs four hexadecimal digits");
	if (code == 0)
		return fail_here(r, "a NUL character in a string");
	if (code >= 0xdc00 && code <= 0xdfff)
		return fail_here(r, "the second half of a character without its first");
	if (code >= 0xd800 && code <= 0xdbff) {
		if (r->end - r->at < 6 || r->at[4] != '\\' || r->at[5] != 'u' ||
		    hex4(r->at + 6, r->end, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return fail_here(r, "the first half of a character without its second");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		r->at += 6;
	}
	r->at += 4;
	*to = put_utf8(*to, code);
	return 0;
}

static int read_escape(struct reader *r, char **to)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	r->at++; /* the backslash */
	if (peek(r) == 'u') {
		r->at++;
		return read_unicode(r, to);
	}
	letter = peek(r) ? strchr(letters, peek(r)) : NULL;
	if (!letter)
		return fail_here(r, "an unknown escape in a string");
	*(*to)++ = meanings[letter - letters];
	r->at++;
	return 0;
}

/* Reads the string that begins here and gives its content. */
static int read_string(struct reader *r, const char **ret_text)
{
	char *begin = r->at + 1, *to = begin;

	/* Counted before the text changes beneath the counter. */
	count_to(r, r->at);
	r->at++;
	for (;;) {
		unsigned char c = (unsigned char)peek(r);

		if (c == '"')
			break;
		if (r->at == r->end)
			return fail_here(r, "a string without an end");
		if (c < 0x20)
			return fail_here(r, "a control character in a string");
		count_to(r, r->at);
		if (c == '\\') {
			if (read_escape(r, &to) < 0)
				return r->err->code;
			/* What was decoded is no longer there to be counted: it was ASCII. */
			r->column += (int)(r->at - r->mark);
			r->mark = r->at;
		} else {
			count_to(r, r->at + 1);
			*to++ = (char)c;
			r->at++;
		}
	}
	r->at++;
	count_to(r, r->at);
	*to = '\0';
	*ret_text = begin;
	return 0;
}

static size_t skip_digits(struct reader *r)
{
	size_t n = 0;

	for (; peek(r) >= '0' && peek(r) <= '9'; n++)
		r->at++;
	return n;
}

/* A number's text can't be ended in place, since what follows it counts; so it is moved one down. */
static int read_number(struct reader *r, struct rf_jsonread_value *value)
{
	char *begin = r->at;
	size_t len;

	if (peek(r) == '-')
		r->at++;
	if (peek(r) == '0') {
		r->at++;
		if (peek(r) >= '0' && peek(r) <= '9')
			return fail_here(r, "a number that begins with 0");
	} else if (skip_digits(r) == 0) {
		return fail_here(r, "a digit is needed here");
	}
	if (peek(r) == '.') {
		r->at++;
		if (skip_digits(r) == 0)
			return fail_here(r, "a digit is needed here");
	}
	if (peek(r) == 'e' || peek(r) == 'E') {
		r->at++;
		if (peek(r) == '+' || peek(r) == '-')
			r->at++;
		if (skip_digits(r) == 0)
			return fail_here(r, "a digit is needed here");
	}
	count_to(r, r->at);
	len = (size_t)(r->at - begin);
	memmove(begin - 1, begin, len); /* there is a byte before every value: see parse() */
	begin[len - 1] = '\0';
	value->text = begin - 1;
	return 0;
}

static int read_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return fail_here(r, "neither a value nor the end of one");
	r->at += len;
	return 0;
}

/* ------------------------------------------------------------- arrays and objects */

static int by_name(const void *a, const void *b)
{
	const struct rf_jsonread_value *x = *(const struct rf_jsonread_value *const *)a;
	const struct rf_jsonread_value *y = *(const struct rf_jsonread_value *const *)b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->name_line != y->name_line)
		return x->name_line < y->name_line ? -1 : 1;
	return x->name_column < y->name_column ? -1 : 1;
}

/* Refuses a name that stands twice; sorted, so that an object of a million members costs no more. */
static int check_names(struct reader *r, const struct rf_jsonread_value *object)
{
	const struct rf_jsonread_value **all;
	size_t n = 0;
	int code = 0;

	if (object->count < 2)
		return 0;
	all = calloc(object->count, sizeof(const struct rf_jsonread_value *));
	if (!all)
		return rf_fail(r->err, -ENOMEM, "read JSON");
	for (const struct rf_jsonread_value *v = object->first; v; v = v->next)
		all[n++] = v;
	qsort(all, n, sizeof(const struct rf_jsonread_value *), by_name);
	for (size_t i = 1; i < n && code == 0; i++)
		if (strcmp(all[i]->name, all[i - 1]->name) == 0)
			code = rf_fail_at(r->err, all[i]->name_line, all[i]->name_column,
					  "\"%.60s\" is here twice, first in line %d", all[i]->name,
					  all[i - 1]->name_line);
	free((void *)all);
	return code;
}

static int read_value(struct reader *r, struct rf_jsonread_value **ret_value);

/* The name of a member and the colon behind it. */
static int read_name(struct reader *r, const char **ret_name, int *ret_line, int *ret_column)
{
	skip_space(r);
	if (peek(r) != '"')
		return fail_here(r, "a name in double quotes is needed here");
	count_to(r, r->at);
	*ret_line = r->line;
	*ret_column = r->column;
	if (read_string(r, ret_name) < 0)
		return r->err->code;
	skip_space(r);
	if (peek(r) != ':')
		return fail_here(r, "a colon is needed behind a name");
	r->at++;
	return 0;
}

static int read_members(struct reader *r, struct rf_jsonread_value *into, char end)
{
	const struct rf_jsonread_value **link = &into->first;
	bool is_object = into->type == RF_JSONREAD_OBJECT;

	r->at++; /* the bracket */
	skip_space(r);
	if (peek(r) == end) {
		r->at++;
		return 0;
	}
	for (;;) {
		struct rf_jsonread_value *value;
		const char *name = NULL;
		int line = 0, column = 0;

		if ((is_object && read_name(r, &name, &line, &column) < 0) ||
		    read_value(r, &value) < 0)
			return r->err->code;
		value->name = name;
		value->name_line = line;
		value->name_column = column;
		*link = value;
		link = &value->next;
		into->count++;
		skip_space(r);
		if (peek(r) == end) {
			r->at++;
			return is_object ? check_names(r, into) : 0;
		}
		if (peek(r) != ',')
			return fail_here(r, is_object ? "a comma or } is needed here"
						      : "a comma or ] is needed here");
		r->at++;
	}
}

static int read_nested(struct reader *r, struct rf_jsonread_value *value, char end)
{
	int code;

	if (r->depth == RF_MAX_JSON_DEPTH)
		return fail_here(r, "nested too deeply");
	r->depth++;
	code = read_members(r, value, end);
	r->depth--;
	return code;
}

static int read_value(struct reader *r, struct rf_jsonread_value **ret_value)
{
	/* clang-format off */
	static const struct { char first; enum rf_jsonread_type type; const char *word; } words[] = {
		{ 'n', RF_JSONREAD_NULL,   "null" },
		{ 'f', RF_JSONREAD_FALSE,  "false" },
		{ 't', RF_JSONREAD_TRUE,   "true" },
		{ '"', RF_JSONREAD_STRING, NULL },
		{ '[', RF_JSONREAD_ARRAY,  NULL },
		{ '{', RF_JSONREAD_OBJECT, NULL },
	};
	/* clang-format on */
	enum rf_jsonread_type type = RF_JSONREAD_NUMBER;
	struct rf_jsonread_value *value;
	const char *word = NULL;

	skip_space(r);
	if (r->at == r->end)
		return fail_here(r, "a value is needed here, and the text is at its end");
	for (size_t i = 0; i < RF_LEN(words); i++)
		if (*r->at == words[i].first) {
			type = words[i].type;
			word = words[i].word;
		}
	if (type == RF_JSONREAD_NUMBER && *r->at != '-' && (*r->at < '0' || *r->at > '9'))
		return fail_here(r, "a value is needed here");
	value = new_value(r, type);
	if (!value)
		return r->err->code;
	*ret_value = value;
	switch (type) {
	case RF_JSONREAD_NUMBER:
		return read_number(r, value);
	case RF_JSONREAD_STRING:
		return read_string(r, &value->text);
	case RF_JSONREAD_ARRAY:
		return read_nested(r, value, ']');
	case RF_JSONREAD_OBJECT:
		return read_nested(r, value, '}');
	default:
		return read_word(r, word);
	}
}

/* ------------------------------------------------------------- the whole */

/* The whole must be UTF-8 without NUL; what is not is found character by character. */
static int check_bytes(struct reader *r)
{
	size_t n = 1;

	if (rf_json_is_utf8(r->at, (size_t)(r->end - r->at)))
		return 0;
	while (r->at < r->end && n <= 4) {
		for (n = 1; n <= 4; n++)
			if (n <= (size_t)(r->end - r->at) && rf_json_is_utf8(r->at, n))
				break;
		if (n <= 4)
			r->at += n;
	}
	return fail_here(r, "the text is not UTF-8 here");
}

static int parse(struct rf_jsonread *json, size_t len, struct rf_err *err)
{
	static const char mark[] = { '\xef', '\xbb', '\xbf' }; /* some editors begin with it */
	struct reader r = { .json = json, .line = 1, .column = 1, .err = err };

	r.at = r.mark = json->text + 1; /* a byte before it, for a number at the very beginning */
	r.end = r.at + len;
	if (len >= sizeof(mark) && memcmp(r.at, mark, sizeof(mark)) == 0)
		r.at = r.mark = r.at + sizeof(mark);
	if (check_bytes(&r) < 0 || read_value(&r, &json->root) < 0)
		return err->code;
	skip_space(&r);
	return r.at == r.end ? 0 : fail_here(&r, "more text behind the value");
}

int rf_jsonread_parse(const char *text, size_t len, struct rf_jsonread **ret_json,
		      struct rf_err *err)
{
	struct rf_jsonread *json;

	if (len > RF_MAX_JSON_READ)
		return rf_fail_say(err, -EFBIG, "longer than %d bytes", RF_MAX_JSON_READ);
	json = calloc(1, sizeof(*json));
	if (json)
		json->text = malloc(len + 2);
	if (!json || !json->text) {
		rf_jsonread_free(json);
		return rf_fail(err, -ENOMEM, "read JSON");
	}
	json->text[0] = '\0';
	if (len > 0)
		memcpy(json->text + 1, text, len);
	json->text[len + 1] = '\0';
	if (parse(json, len, err) < 0) {
		rf_jsonread_free(json);
		return err->code;
	}
	*ret_json = json;
	return 0;
}

void rf_jsonread_free(struct rf_jsonread *json)
{
	if (!json)
		return;
	while (json->blocks) {
		struct block *block = json->blocks;

		json->blocks = block->next;
		free(block);
	}
	free(json->text);
	free(json);
}

const struct rf_jsonread_value *rf_jsonread_root(const struct rf_jsonread *json)
{
	return json->root;
}

const struct rf_jsonread_value *rf_jsonread_member(const struct rf_jsonread_value *object,
						   const char *name)
{
	for (const struct rf_jsonread_value *v = object->first; v; v = v->next)
		if (v->name && strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

int rf_jsonread_u64(const struct rf_jsonread_value *value, uint64_t *ret_number)
{
	if (value->type != RF_JSONREAD_NUMBER)
		return -EINVAL;
	return rf_decimal_parse(value->text, strlen(value->text), UINT64_MAX, ret_number) == 0
		       ? 0
		       : -EINVAL;
}

const char *rf_jsonread_kind(const struct rf_jsonread_value *value)
{
	static const char *const kinds[] = {
		[RF_JSONREAD_NULL] = "null",        [RF_JSONREAD_FALSE] = "false",
		[RF_JSONREAD_TRUE] = "true",        [RF_JSONREAD_NUMBER] = "a number",
		[RF_JSONREAD_STRING] = "a string",  [RF_JSONREAD_ARRAY] = "an array",
		[RF_JSONREAD_OBJECT] = "an object",
	};

	return kinds[value->type];
}
