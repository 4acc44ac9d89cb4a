/*
 * Writing a value as others write it.
 *
 * base64 cuts its input into threes, so a value inside a longer text ("user:secret" of Basic) begins at one of three places in a
 * group.  The characters that depend on its neighbours are left off at both ends; what remains is the value's own.
 */
#include "filter/forms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";

static bool is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static void put(struct rf_buf *out, char c)
{
	rf_buf_add(out, &c, 1);
}

/* The characters of a value that `shift` bytes stand before, as far as they are its own. */
static void base64(struct rf_buf *out, const char *value, size_t len, size_t shift,
		   const char *alphabet)
{
	size_t first = (shift * 8 + 5) / 6; /* the first character that no bit of others is in */
	size_t last = (shift + len) * 8 / 6;

	for (size_t i = first; i < last; i++) {
		unsigned bits = 0;

		for (size_t bit = i * 6; bit < i * 6 + 6; bit++)
			bits = bits << 1 |
			       ((unsigned char)value[bit / 8 - shift] >> (7 - bit % 8) & 1);
		put(out, alphabet[bits]);
	}
}

static void hexadecimal(struct rf_buf *out, const char *value, size_t len, const char *digits)
{
	for (size_t i = 0; i < len; i++) {
		put(out, digits[(unsigned char)value[i] >> 4]);
		put(out, digits[value[i] & 15]);
	}
}

/* Percent-encoded; `kept` are the marks that stay as they are, and a space may become a plus. */
static void percent(struct rf_buf *out, const char *value, size_t len, const char *kept,
		    bool has_plus, const char *digits)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (is_alnum(c) || (c && strchr(kept, c))) {
			put(out, (char)c);
		} else if (c == ' ' && has_plus) {
			put(out, '+');
		} else {
			put(out, '%');
			put(out, digits[c >> 4]);
			put(out, digits[c & 15]);
		}
	}
}

/* Reads one character of UTF-8; returns its length, or 0 if it is none. */
static size_t utf8(const char *at, size_t len, uint32_t *ret_rune)
{
	unsigned char c = (unsigned char)at[0];
	size_t need = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
	uint32_t rune = need == 4 ? c & 7U : need == 3 ? c & 15U : c & 31U;

	if (!need || c >= 0xf8 || need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | ((unsigned char)at[i] & 0x3f);
	}
	*ret_rune = rune;
	return need;
}

static void escape(struct rf_buf *out, uint32_t unit, const char *digits)
{
	rf_buf_puts(out, "\\u");
	for (int shift = 12; shift >= 0; shift -= 4)
		put(out, digits[unit >> shift & 15]);
}

/* How different writers of JSON write a string. */
struct json_style {
	const char *escaped; /* characters written as \uXXXX though they need not be */
	bool has_slash;      /* a slash is \/ */
	bool is_ascii;       /* what is not ASCII is written as \uXXXX */
	const char *digits;
};

static void json(struct rf_buf *out, const char *value, size_t len, const struct json_style *style)
{
	static const char named[] = "\bb\ff\nn\rr\tt";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];
		const char *name = c && c < 0x20 ? strchr(named, c) : NULL;
		uint32_t rune = 0;
		size_t size = c >= 0x80 && style->is_ascii ? utf8(value + i, len - i, &rune) : 0;

		if (size && rune >= 0x10000) {
			escape(out, 0xd800 + ((rune - 0x10000) >> 10), style->digits);
			escape(out, 0xdc00 + ((rune - 0x10000) & 0x3ff), style->digits);
			i += size - 1;
		} else if (size) {
			escape(out, rune, style->digits);
			i += size - 1;
		} else if ((c && strchr(style->escaped, c)) || (c < 0x20 && !name)) {
			escape(out, c, style->digits);
		} else if (c == '"' || c == '\\' || (c == '/' && style->has_slash)) {
			put(out, '\\');
			put(out, (char)c);
		} else if (name) {
			put(out, '\\');
			put(out, name[1]);
		} else {
			put(out, (char)c);
		}
	}
}

static void html(struct rf_buf *out, const char *value, size_t len, const char *apostrophe)
{
	for (size_t i = 0; i < len; i++)
		switch (value[i]) {
		case '&':
			rf_buf_puts(out, "&amp;");
			break;
		case '<':
			rf_buf_puts(out, "&lt;");
			break;
		case '>':
			rf_buf_puts(out, "&gt;");
			break;
		case '"':
			rf_buf_puts(out, "&quot;");
			break;
		case '\'':
			rf_buf_puts(out, apostrophe);
			break;
		default:
			put(out, value[i]);
		}
}

struct teller {
	struct rf_buf *out;
	rf_forms_told *told;
	void *context;
};

static void tell(const struct teller *teller)
{
	if (!teller->out->has_failed && teller->out->len)
		teller->told(teller->context, teller->out->data, teller->out->len);
	if (teller->out->data)
		explicit_bzero(teller->out->data, teller->out->len);
	if (!teller->out->has_failed)
		rf_buf_clear(teller->out);
}

static void tell_all(const struct teller *teller, const char *value, size_t len)
{
	static const char *const alphabets[] = {
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	};
	/* What stays in a component (RFC 3986), in JavaScript's encodeURIComponent, in a form, in a path. */
	static const struct {
		const char *kept;
		bool has_plus;
	} percents[] = {
		{ "-._~", false }, { "-_.!~*'()", false },          { "-._*", true },
		{ "-._~", true },  { "-._~!$&'()*+,;=:@/", false }, { "-._~/", false },
	};
	static const struct json_style styles[] = {
		{ "", false, false, lower },      { "", false, true, lower },
		{ "", true, true, lower },        { "", true, false, lower },
		{ "<>&", false, false, lower },   { "<>&'\"+`", false, true, upper },
		{ "<>&='", false, false, lower },
	};
	static const char *const apostrophes[] = { "'", "&#39;", "&#x27;", "&#039;" };

	for (size_t a = 0; a < 2; a++)
		for (size_t shift = 0; shift < 3; shift++) {
			base64(teller->out, value, len, shift, alphabets[a]);
			tell(teller);
		}
	for (size_t i = 0; i < 2; i++) {
		const char *digits = i ? upper : lower;

		hexadecimal(teller->out, value, len, digits);
		tell(teller);
		for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p++) {
			percent(teller->out, value, len, percents[p].kept, percents[p].has_plus,
				digits);
			tell(teller);
		}
	}
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		json(teller->out, value, len, &styles[i]);
		tell(teller);
	}
	for (size_t i = 0; i < sizeof(apostrophes) / sizeof(apostrophes[0]); i++) {
		html(teller->out, value, len, apostrophes[i]);
		tell(teller);
	}
}

int rf_forms_of(const char *value, size_t len, rf_forms_told *told, void *context)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	const struct teller teller = { .out = &out, .told = told, .context = context };

	/* One block from the start, so that growing leaves no copies behind. */
	rf_buf_init(&out, len * 6 + 16);
	if (!rf_buf_reserve(&out, len * 6 + 8))
		return -ENOMEM;
	told(context, value, len);
	tell_all(&teller, value, len);
	return out.has_failed ? -ENOMEM : 0;
}
