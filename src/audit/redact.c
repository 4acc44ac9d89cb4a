/* What must not be kept: see redact.h. */
#include "audit/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"

#define TOKEN_REST 12 /* letters that a token has behind its prefix, at least */

/* How tokens begin whose form says what they are. */
static const char *const prefixes[] = {
	"AKIA",        "ASIA",   "ghp_",  "gho_",  "ghu_",     "ghs_",     "ghr_",
	"github_pat_", "glpat-", "gldt-", "sk-",   "sk_live_", "sk_test_", "rk_live_",
	"xoxb-",       "xoxp-",  "xoxa-", "xoxr-", "xoxs-",    "xapp-",    "AIza",
	"ya29",        "eyJ",    "npm_",  "pypi-", "dop_v1_",  "hf_",      "SG",
	"shpat_",      "shpss_", "sbp_",  "vcp_",  "lin_api_", "key-",     "rnd_",
};

/* What the name of a secret has in it. */
static const char *const names[] = {
	"password", "passwd", "passphrase", "pwd",  "secret",  "token",      "apikey",    "api_key",
	"api-key",  "auth",   "cookie",     "cred", "private", "access_key", "accesskey", "session",
};

/* Names whose value goes on to the end of the line. */
static const char *const whole_lines[] = { "auth", "cookie" };

static const char *const schemes[] = { "bearer", "basic" };

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_token(char c)
{
	return is_word(c) || (c && strchr("./+=~", c));
}

static bool is_value(char c)
{
	return c && !isspace((unsigned char)c) && !strchr("\"'`,;&)}<>", c);
}

/* Where a run of letters of one sort that begins at `at` ends. */
static size_t run_of(bool (*is)(char c), const char *text, size_t len, size_t at)
{
	while (at < len && is(text[at]))
		at++;
	return at;
}

static bool has_one(const char *word, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(list[i]);

		for (size_t at = 0; at + n <= len; at++)
			if (strncasecmp(word + at, list[i], n) == 0)
				return true;
	}
	return false;
}

/* Where a token of a known form that begins at `at` ends; `at` itself if there is none. */
static size_t known_token(const char *text, size_t len, size_t at)
{
	for (size_t i = 0; i < RF_LEN(prefixes); i++) {
		size_t n = strlen(prefixes[i]), end;

		if (len - at < n + TOKEN_REST || memcmp(text + at, prefixes[i], n) != 0)
			continue;
		end = run_of(is_token, text, len, at);
		if (end - at >= n + TOKEN_REST)
			return end;
	}
	return at;
}

/* The end of a value that begins at `at`, its quotes included. */
static size_t value_end(const char *text, size_t len, size_t at, bool is_line)
{
	if (is_line) {
		const char *end = memchr(text + at, '\n', len - at);

		return end ? (size_t)(end - text) : len;
	}
	if (at < len && strchr("\"'`", text[at]) && text[at]) {
		char quote = text[at];

		for (at++; at < len && text[at] != quote;)
			at++;
		return at < len ? at + 1 : len;
	}
	return run_of(is_value, text, len, at);
}

static bool is_gap(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * A word at `at` that ends at `end`, and the value that it names, if it is a secret's.  Gives where the value begins and
 * ends; false if there is none.
 */
static bool find_value(const char *text, size_t len, size_t at, size_t end, size_t *ret_begin,
		       size_t *ret_end)
{
	size_t size = end - at, sign = end;
	bool is_line = has_one(text + at, size, whole_lines, RF_LEN(whole_lines));

	for (size_t i = 0; i < RF_LEN(schemes); i++)
		if (size == strlen(schemes[i]) && strncasecmp(text + at, schemes[i], size) == 0) {
			*ret_begin = run_of(is_gap, text, len, end);
			*ret_end = value_end(text, len, *ret_begin, false);
			return *ret_begin > end && *ret_end > *ret_begin;
		}
	if (!has_one(text + at, size, names, RF_LEN(names)))
		return false;
	while (sign < len && (strchr("\"' \t", text[sign]) && text[sign]))
		sign++;
	if (sign >= len || (text[sign] != ':' && text[sign] != '='))
		return false;
	*ret_begin = run_of(is_gap, text, len, sign + 1);
	*ret_end = value_end(text, len, *ret_begin, is_line);
	return *ret_end > *ret_begin;
}

static void mark(struct rf_buf *out)
{
	rf_buf_puts(out, RF_REDACT_MARK);
}

/* A word: itself, without it, or with its value taken away.  Gives how far it went. */
static size_t put_word(const char *text, size_t len, size_t at, struct rf_buf *out)
{
	size_t token = known_token(text, len, at), end = run_of(is_word, text, len, at);
	size_t begin, stop;

	if (token > at) {
		mark(out);
		return token;
	}
	if (find_value(text, len, at, end, &begin, &stop)) {
		rf_buf_add(out, text + at, begin - at);
		mark(out);
		return stop;
	}
	rf_buf_add(out, text + at, end - at);
	return end;
}

static bool is_of_query(char c)
{
	return c != '#' && is_value(c);
}

/* The question mark of a URL at `at` and what follows: names stay, values go. */
static size_t put_query(const char *text, size_t len, size_t at, struct rf_buf *out)
{
	for (; at < len && (is_of_query(text[at]) || text[at] == '&'); at++) {
		rf_buf_add(out, text + at, 1);
		if (text[at] == '=') {
			mark(out);
			at = run_of(is_of_query, text, len, at + 1) - 1;
		}
	}
	return at;
}

/* Behind "://": who logs in, and with what, if an @ follows before the path begins. */
static size_t put_login(const char *text, size_t len, size_t at, struct rf_buf *out)
{
	for (size_t i = at; i < len && is_value(text[i]) && text[i] != '/'; i++)
		if (text[i] == '@') {
			mark(out);
			return i;
		}
	return at;
}

static bool starts(const char *text, size_t len, size_t at, const char *with)
{
	size_t n = strlen(with);

	return len - at >= n && memcmp(text + at, with, n) == 0;
}

void rf_redact(const char *text, size_t len, struct rf_buf *out)
{
	size_t at = 0;

	while (at < len) {
		if (starts(text, len, at, "-----BEGIN")) {
			mark(out);
			return;
		}
		if (starts(text, len, at, "://")) {
			rf_buf_add(out, text + at, 3);
			at = put_login(text, len, at + 3, out);
		} else if (text[at] == '?') {
			at = put_query(text, len, at, out);
		} else if (is_word(text[at]) && text[at] != '-') {
			at = put_word(text, len, at, out);
		} else {
			rf_buf_add(out, text + at, 1);
			at++;
		}
	}
}
