/* Patterns of `files.deny`: see pattern.h. */
#include "policy/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/rune.h"

static const char special[] = "*?[\\";

/* ------------------------------------------------------------- one part */

/* The character at `text`: a rune, or a byte where it is none, so that any name can be matched. */
static size_t take(const char *text, const char *end, uint32_t *ret_rune)
{
	size_t n = rf_rune_take(text, (size_t)(end - text), ret_rune);

	if (n > 0)
		return n;
	*ret_rune = 0x110000u + (unsigned char)*text; /* beyond every rune */
	return 1;
}

/* The same in a pattern, where a backslash goes before what is meant literally. */
static size_t take_escaped(const char *text, const char *end, uint32_t *ret_rune)
{
	size_t skip = *text == '\\' && text + 1 < end;

	return skip + take(text + skip, end, ret_rune);
}

/* The end of the class that begins at `[`, behind its `]`, or NULL if it has none. */
static const char *class_end(const char *at, const char *end)
{
	uint32_t rune;

	at++;
	if (at < end && (*at == '!' || *at == '^'))
		at++;
	for (bool is_first = true; at < end; is_first = false) {
		if (*at == ']' && !is_first)
			return at + 1;
		at += take_escaped(at, end, &rune);
	}
	return NULL;
}

/* True if the class between `[` and `end`, behind its `]`, holds the character. */
static bool class_holds(const char *at, const char *end, uint32_t rune)
{
	bool is_negated = at[1] == '!' || at[1] == '^', holds = false;
	uint32_t low, high;

	end--; /* the bracket */
	for (at += 1 + is_negated; at < end;) {
		at += take_escaped(at, end, &low);
		high = low;
		if (at + 1 < end && *at == '-')
			at += 1 + take_escaped(at + 1, end, &high);
		holds |= rune >= low && rune <= high;
	}
	return holds != is_negated;
}

/* Matches one element of a part other than `*`; moves both on if it fits. */
static bool fits(const char **p, const char *p_end, const char **n, const char *n_end)
{
	uint32_t want, have;
	size_t len = take(*n, n_end, &have);

	if (**p == '?') {
		*p += 1;
	} else if (**p == '[') {
		const char *end = class_end(*p, p_end);

		if (!class_holds(*p, end, have))
			return false;
		*p = end;
	} else {
		size_t used = take_escaped(*p, p_end, &want);

		if (want != have)
			return false;
		*p += used;
	}
	*n += len;
	return true;
}

/* Only the last `*` is ever tried again, so this takes len * name_len steps at most. */
static bool wild_matches(const char *part, size_t len, const char *name, size_t name_len)
{
	const char *p = part, *p_end = part + len, *n = name, *n_end = name + name_len;
	const char *star = NULL, *star_name = NULL;
	uint32_t ignored;

	while (n < n_end) {
		if (p < p_end && *p == '*') {
			star = ++p;
			star_name = n;
		} else if (p < p_end && fits(&p, p_end, &n, n_end)) {
			continue;
		} else if (star) {
			star_name += take(star_name, n_end, &ignored);
			n = star_name;
			p = star;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

/* True if part `i` stands for `name`. */
static bool part_matches(const struct rf_pattern *pattern, size_t i, const char *name, size_t len)
{
	const char *at = pattern->parts[i].at;

	if (pattern->parts[i].is_plain)
		return pattern->parts[i].len == len && memcmp(at, name, len) == 0;
	return wild_matches(at, pattern->parts[i].len, name, len);
}

/* ------------------------------------------------------------- normal form */

/* A normal pattern in the making. */
struct writer {
	char *out;
	size_t len, parts;
	bool was_any; /* the last part was `**` */
};

static int put(struct writer *w, const char *text, size_t len, struct rf_err *err)
{
	if (w->len + len >= RF_FILES_PATH)
		return rf_fail_say(err, -EINVAL, "a pattern longer than %d bytes",
				   RF_FILES_PATH - 1);
	memcpy(w->out + w->len, text, len);
	w->len += len;
	return 0;
}

/* Writes one part whose wildcards count, without backslashes that do nothing. */
static int put_wild(struct writer *w, const char *part, size_t len, struct rf_err *err)
{
	for (const char *at = part, *end = part + len; at < end;) {
		const char *close = *at == '[' ? class_end(at, end) : NULL;

		if (*at == '[' && !close) {
			rf_fail_say(err, -EINVAL, "\"%.*s\": a [ without its ]", (int)len, part);
			return rf_fail_hint(err, "write \\[ if the bracket itself is meant");
		}
		if (*at == '\\' && at + 1 == end)
			return rf_fail_say(err, -EINVAL, "\"%.*s\" ends in a backslash", (int)len,
					   part);
		if (at[0] == '*' && at + 1 < end && at[1] == '*') {
			rf_fail_say(err, -EINVAL, "\"%.*s\": ** within a name", (int)len, part);
			return rf_fail_hint(err, "** stands alone between slashes; use *");
		}
		if (close) {
			if (put(w, at, (size_t)(close - at), err) < 0)
				return err->code;
			at = close;
			continue;
		}
		if (*at == '\\' && !strchr(special, at[1]))
			at++;
		if (put(w, at, 1 + (*at == '\\'), err) < 0)
			return err->code;
		at += 1 + (*at == '\\');
	}
	return 0;
}

static int put_literal(struct writer *w, const char *part, size_t len, struct rf_err *err)
{
	for (size_t i = 0; i < len; i++)
		if ((strchr(special, part[i]) && put(w, "\\", 1, err) < 0) ||
		    put(w, part + i, 1, err) < 0)
			return err->code;
	return 0;
}

static int put_part(struct writer *w, const char *part, size_t len, bool is_literal,
		    struct rf_err *err)
{
	bool is_any = !is_literal && len == 2 && memcmp(part, "**", 2) == 0;

	if (len == 0 || (len == 1 && *part == '.') || (is_any && w->was_any))
		return 0;
	if (len == 2 && memcmp(part, "..", 2) == 0) {
		rf_fail_say(err, -EINVAL, "a path with \"..\" in it");
		return rf_fail_hint(err, "write the path that is meant, without \"..\"");
	}
	if (++w->parts > RF_PATTERN_PARTS)
		return rf_fail_say(err, -EINVAL, "a pattern with more than %d parts",
				   RF_PATTERN_PARTS);
	w->was_any = is_any;
	if (put(w, "/", 1, err) < 0)
		return err->code;
	if (is_any)
		return put(w, part, len, err);
	return (is_literal ? put_literal : put_wild)(w, part, len, err);
}

static int put_parts(struct writer *w, const char *text, bool is_literal, struct rf_err *err)
{
	while (*text) {
		size_t len = strcspn(text, "/");

		if (put_part(w, text, len, is_literal, err) < 0)
			return err->code;
		text += len + (text[len] == '/');
	}
	return 0;
}

/* The folder that `text` counts from, "" for the root, or NULL with an error. */
static const char *folder_for(const char *text, const struct rf_files_base *base,
			      struct rf_err *err)
{
	bool is_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
	const char *from = is_home ? base->home : base->folder;

	if (text[0] == '/' || strcmp(text, "**") == 0 || strncmp(text, "**/", 3) == 0)
		return "";
	if (text[0] == '~' && !is_home) {
		rf_fail_say(err, -EINVAL, "\"%.80s\": only your own home can be written as ~",
			    text);
		rf_fail_hint(err, "write the absolute path");
		return NULL;
	}
	if (!from) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" is not an absolute path", text);
		rf_fail_hint(err, "there is no folder here that it could be relative to");
	}
	return from;
}

int rf_pattern_normal(const char *text, const struct rf_files_base *base, char *pattern,
		      struct rf_err *err)
{
	struct writer w = { .out = pattern };
	const char *folder;

	if (!*text)
		return rf_fail_say(err, -EINVAL, "an empty pattern");
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return rf_fail_say(err, -EINVAL, "a pattern with a control character");
	folder = folder_for(text, base, err);
	if (!folder)
		return err->code;
	if (put_parts(&w, folder, true, err) < 0 ||
	    put_parts(&w, text + (*folder && *text == '~'), false, err) < 0)
		return err->code;
	if (w.len == 0) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" would hide everything", text);
		return rf_fail_hint(err, "show less, in files.read and files.write");
	}
	w.out[w.len] = '\0';
	return 0;
}

/* ------------------------------------------------------------- matching */

void rf_pattern_init(struct rf_pattern *pattern, const char *text)
{
	*pattern = (struct rf_pattern){ .text = text };
	while (*text && pattern->count < RF_PATTERN_PARTS) {
		size_t len = strcspn(++text, "/"), i = pattern->count++;
		bool is_literal = true;

		for (size_t k = 0; k < len; k++) {
			if (text[k] == '\\')
				k++;
			else if (strchr(special, text[k]))
				is_literal = false;
		}
		pattern->parts[i].at = text;
		pattern->parts[i].len = len;
		pattern->parts[i].is_any = len == 2 && memcmp(text, "**", 2) == 0;
		pattern->parts[i].is_literal = is_literal;
		pattern->parts[i].is_plain = is_literal && !memchr(text, '\\', len);
		text += len;
	}
}

static uint64_t bit(size_t i)
{
	return UINT64_C(1) << i;
}

/* The state before part `i`, and where `**` may stand for nothing, those behind it. */
static uint64_t arrive(const struct rf_pattern *pattern, size_t i)
{
	uint64_t states = bit(i);

	if (i + 1 < pattern->count && pattern->parts[i].is_any)
		states |= bit(i + 1); /* no two of them follow each other */
	return states;
}

uint64_t rf_pattern_start(const struct rf_pattern *pattern)
{
	return arrive(pattern, 0);
}

uint64_t rf_pattern_step(const struct rf_pattern *pattern, uint64_t states, const char *name,
			 size_t len)
{
	uint64_t next = 0;

	for (size_t i = 0; i < pattern->count; i++) {
		if (!(states & bit(i)))
			continue;
		if (pattern->parts[i].is_any)
			next |= arrive(pattern, i) |
				(i + 1 == pattern->count ? bit(pattern->count) : 0);
		else if (part_matches(pattern, i, name, len))
			next |= arrive(pattern, i + 1);
	}
	return next;
}

bool rf_pattern_is_match(const struct rf_pattern *pattern, uint64_t states)
{
	return states & bit(pattern->count);
}

bool rf_pattern_is_alive(const struct rf_pattern *pattern, uint64_t states)
{
	return states & (bit(pattern->count) - 1);
}

uint64_t rf_pattern_walk(const struct rf_pattern *pattern, const char *path)
{
	uint64_t states = rf_pattern_start(pattern);

	if (strcmp(path, "/") == 0)
		return states;
	while (*path && states && !rf_pattern_is_match(pattern, states)) {
		size_t len = strcspn(++path, "/");

		states = rf_pattern_step(pattern, states, path, len);
		path += len;
	}
	return states;
}

bool rf_pattern_covers(const struct rf_pattern *pattern, const char *path)
{
	return rf_pattern_is_match(pattern, rf_pattern_walk(pattern, path));
}

bool rf_pattern_name(const struct rf_pattern *pattern, size_t i, char *name)
{
	const char *at = pattern->parts[i].at;
	size_t len = pattern->parts[i].len, n = 0;

	if (!pattern->parts[i].is_literal)
		return false;
	for (size_t k = 0; k < len; k++) {
		k += at[k] == '\\';
		if (n + 1 == RF_PATTERN_NAME)
			return false; /* no file has such a name, and a listing will not find one */
		name[n++] = at[k];
	}
	name[n] = '\0';
	return true;
}
