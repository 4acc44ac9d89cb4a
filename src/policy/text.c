/*
 * Policies as text: YAML, and JSON as the part of YAML that it is.
 *
 * libyaml gives events with positions, and this reader follows the shape that the table of keys
 * prescribes: a mapping of keys and sections, in a section scalars, lists of scalars and one map of
 * scalars.  It never goes deeper than that, and stops at the first event that does not fit, so the
 * stack does not grow with the text.  What makes YAML surprising (anchors, aliases, tags, merge
 * keys, second documents, repeated keys) is refused with its position.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/fd.h"
#include "base/limits.h"
#include "policy/files.h"
#include "policy/key.h"
#include "policy/rune.h"
#include "policy/value.h"

/* A list in a section is as deep as it gets, far from where the stack or libyaml would suffer. */
#define DEEPEST 3
static_assert(DEEPEST <= RF_MAX_POLICY_DEPTH, "the keys fit into the depth that is allowed");

struct reader {
	yaml_parser_t yaml;
	yaml_event_t event; /* the current one; its strings live until the next */
	const char *text;
	size_t len;
	struct rf_files_base base;
	struct rf_policy *policy;
	uint64_t seen, seen_sections;
	struct rf_err *err;
};

/* The line and column of a byte, for problems that libyaml reports by offset only. */
static void locate(const char *text, size_t len, size_t offset, int *line, int *column)
{
	uint32_t rune;

	*line = *column = 1;
	for (size_t at = 0; at < offset && at < len;) {
		size_t n = rf_rune_take(text + at, len - at, &rune);

		at += n ? n : 1;
		*column += 1;
		if (n == 1 && rune == '\n') {
			*line += 1;
			*column = 1;
		}
	}
}

/* Puts the position of the current event into an error that a value's check has told. */
static int at_event(struct reader *r)
{
	r->err->line = (int)r->event.start_mark.line + 1;
	r->err->column = (int)r->event.start_mark.column + 1;
	return r->err->code;
}

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *fmt, ...)
{
	char msg[sizeof(r->err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	rf_fail_say(r->err, -EINVAL, "%s", msg);
	return at_event(r);
}

/* What libyaml found wrong: in the bytes, in the tokens, or in their order. */
static int fail_syntax(struct reader *r)
{
	const char *problem = r->yaml.problem ? r->yaml.problem : "not readable";
	int line = (int)r->yaml.problem_mark.line + 1;
	int column = (int)r->yaml.problem_mark.column + 1;

	if (r->yaml.error == YAML_MEMORY_ERROR)
		return rf_fail(r->err, -ENOMEM, "read the policy");
	if (r->yaml.error == YAML_READER_ERROR)
		locate(r->text, r->len, r->yaml.problem_offset, &line, &column);
	return rf_fail_at(r->err, line, column, "not YAML: %s", problem);
}

static bool is(const struct reader *r, yaml_event_type_t type)
{
	return r->event.type == type;
}

/* Refuses what gives one text two meanings. */
static int check_event(struct reader *r)
{
	const yaml_event_t *e = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return fail(r, "aliases (*) are not part of the policy language");
	case YAML_SCALAR_EVENT:
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
		break;
	default:
		return 0;
	}
	if (anchor)
		return fail(r, "anchors (&) are not part of the policy language");
	if (tag)
		return fail(r, "tags (!) are not part of the policy language");
	if (is(r, YAML_SCALAR_EVENT) && memchr(e->data.scalar.value, '\0', e->data.scalar.length))
		return fail(r, "a NUL character");
	return 0;
}

static int next(struct reader *r)
{
	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->yaml, &r->event))
		return fail_syntax(r);
	return check_event(r);
}

/* The text of the current scalar; the bytes are UTF-8 without NUL. */
static const char *scalar(const struct reader *r)
{
	return (const char *)r->event.data.scalar.value;
}

static const char *kind_of(const struct reader *r)
{
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		return "plain text";
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	default:
		return "a mapping";
	}
}

/* Two rules of one text that can't both hold.  The newest rule is the last of its list. */
static int check_files(struct reader *r, enum rf_key key)
{
	const struct rf_list *mine = &r->policy->values[key].list;
	const struct rf_list_item *rule = &mine->items[mine->count - 1];
	enum rf_key other = key == RF_KEY_READ ? RF_KEY_WRITE : RF_KEY_READ;

	if (rf_list_has(&r->policy->values[other].list, rule->name, rule->value)) {
		fail(r, "%s: \"%.80s\" is listed under %s, too", rf_key_table[key].path, rule->name,
		     rf_key_table[other].path);
		return rf_fail_hint(r->err, "files.write includes reading; list it there only");
	}
	for (int k = RF_KEY_READ; k <= RF_KEY_WRITE; k++) {
		const struct rf_list *list = &r->policy->values[k].list;

		for (size_t i = 0; i < list->count; i++)
			if (strcmp(list->items[i].value, rule->value) == 0 &&
			    strcmp(list->items[i].name, rule->name) != 0)
				return fail(r,
					    "%s: both \"%.60s\" and \"%.60s\" would show at %.60s",
					    rf_key_table[key].path, list->items[i].name, rule->name,
					    rule->value);
	}
	return 0;
}

/* Reads a list of scalars up to its end. */
static int read_list(struct reader *r, enum rf_key key)
{
	const char *path = rf_key_table[key].path;

	if (!is(r, YAML_SEQUENCE_START_EVENT)) {
		fail(r, "%s: a list is needed here, not %s", path, kind_of(r));
		return rf_fail_hint(r->err, "write [one, two], or [] for none");
	}
	r->policy->set |= RF_KEY_BIT(key);
	for (;;) {
		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_SEQUENCE_END_EVENT))
			return 0;
		if (!is(r, YAML_SCALAR_EVENT))
			return fail(r, "%s: plain text is needed here, not %s", path, kind_of(r));
		if (rf_value_set(r->policy, key, scalar(r), &r->base, r->err) < 0)
			return at_event(r);
		if (rf_key_table[key].type == RF_KEY_TYPE_FILES && check_files(r, key) < 0)
			return r->err->code;
	}
}

/* Reads a mapping of names to scalars up to its end. */
static int read_map(struct reader *r, enum rf_key key)
{
	const char *path = rf_key_table[key].path;

	if (!is(r, YAML_MAPPING_START_EVENT)) {
		fail(r, "%s: a mapping is needed here, not %s", path, kind_of(r));
		return rf_fail_hint(r->err, "write { NAME: value }, or {} for none");
	}
	r->policy->set |= RF_KEY_BIT(key);
	for (;;) {
		char name[256];

		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		if (!is(r, YAML_SCALAR_EVENT))
			return fail(r, "%s: a name is needed here, not %s", path, kind_of(r));
		if (r->event.data.scalar.length >= sizeof(name))
			return fail(r, "%s: a name longer than %zu bytes", path, sizeof(name) - 1);
		memcpy(name, scalar(r), r->event.data.scalar.length + 1);
		if (rf_list_find(&r->policy->values[key].list, name))
			return fail(r, "%s.%.80s: the name is here twice", path, name);
		/* Checked before its value is there, so that the position is the name's. */
		if (rf_value_set_pair(r->policy, key, name, "", r->err) < 0)
			return at_event(r);
		if (next(r) < 0)
			return r->err->code;
		if (!is(r, YAML_SCALAR_EVENT))
			return fail(r, "%s.%.80s: plain text is needed here, not %s", path, name,
				    kind_of(r));
		if (rf_value_set_pair(r->policy, key, name, scalar(r), r->err) < 0)
			return at_event(r);
	}
}

/* Reads the value of a key, whose first event is the current one. */
static int read_value(struct reader *r, enum rf_key key)
{
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_FILES:
	case RF_KEY_TYPE_NAMES:
	case RF_KEY_TYPE_KEYS:
		return read_list(r, key);
	case RF_KEY_TYPE_MAP:
		return read_map(r, key);
	default:
		break;
	}
	if (!is(r, YAML_SCALAR_EVENT))
		return fail(r, "%s: plain text is needed here, not %s", rf_key_table[key].path,
			    kind_of(r));
	if (rf_value_set(r->policy, key, scalar(r), &r->base, r->err) < 0)
		return at_event(r);
	return 0;
}

/* Marks one bit of `seen`; a second time is an error. */
static int see(struct reader *r, uint64_t *seen, int bit, const char *path)
{
	if (*seen & RF_KEY_BIT(bit))
		return fail(r, "%s: the key is here twice", path);
	*seen |= RF_KEY_BIT(bit);
	return 0;
}

/* Takes the current event as a key beneath `prefix` ("" or "limits.") and gives its whole path. */
static int take_path(struct reader *r, const char *prefix, char *path, size_t size)
{
	if (!is(r, YAML_SCALAR_EVENT))
		return fail(r, "a key is needed here, not %s", kind_of(r));
	if (!*prefix && strchr(scalar(r), '.')) {
		fail(r, "%.80s: a key can't hold a point", scalar(r));
		return rf_fail_hint(r->err, "write it as a section with the key beneath");
	}
	snprintf(path, size, "%s%.80s", prefix, scalar(r));
	return 0;
}

/* Reads a section up to its end. */
static int read_section(struct reader *r, const struct rf_key_section *section)
{
	char prefix[32], path[128];

	if (is(r, YAML_SCALAR_EVENT) && section->short_for >= 0)
		return read_value(r, (enum rf_key)section->short_for);
	if (!is(r, YAML_MAPPING_START_EVENT)) {
		fail(r, "%s: a mapping is needed here, not %s", section->name, kind_of(r));
		return rf_fail_hint(r->err, "write the keys of %s beneath it, or {} for none",
				    section->name);
	}
	snprintf(prefix, sizeof(prefix), "%s.", section->name);
	for (;;) {
		int key;

		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		if (take_path(r, prefix, path, sizeof(path)) < 0)
			return r->err->code;
		key = rf_key_find(path);
		if (key < 0) {
			rf_key_refuse(path, r->err);
			return at_event(r);
		}
		if (see(r, &r->seen, key, path) < 0 || next(r) < 0 ||
		    read_value(r, (enum rf_key)key) < 0)
			return r->err->code;
	}
}

/* Reads the outermost mapping up to its end. */
static int read_top(struct reader *r)
{
	char path[128];

	for (;;) {
		int key, section;

		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		if (take_path(r, "", path, sizeof(path)) < 0)
			return r->err->code;
		key = rf_key_find(path);
		section = rf_key_find_section(path);
		if (key < 0 && section < 0) {
			rf_key_refuse(path, r->err);
			return at_event(r);
		}
		if (key >= 0 && (see(r, &r->seen, key, path) < 0 || next(r) < 0 ||
				 read_value(r, (enum rf_key)key) < 0))
			return r->err->code;
		if (section >= 0 && (see(r, &r->seen_sections, section, path) < 0 || next(r) < 0 ||
				     read_section(r, &rf_key_sections[section]) < 0))
			return r->err->code;
	}
}

static bool is_empty_scalar(const struct reader *r)
{
	return is(r, YAML_SCALAR_EVENT) && r->event.data.scalar.length == 0 &&
	       r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Reads the one document; a text of comments has none and is an empty policy. */
static int read_stream(struct reader *r)
{
	if (next(r) < 0 || next(r) < 0) /* the stream's start, then the document's */
		return r->err->code;
	if (is(r, YAML_STREAM_END_EVENT))
		return 0;
	if (next(r) < 0)
		return r->err->code;
	if (is(r, YAML_MAPPING_START_EVENT)) {
		if (read_top(r) < 0)
			return r->err->code;
	} else if (!is_empty_scalar(r)) {
		fail(r, "a policy is a mapping of keys, not %s", kind_of(r));
		return rf_fail_hint(r->err, "begin with `version: 1`");
	}
	if (next(r) < 0 || next(r) < 0) /* the document's end, then the stream's */
		return r->err->code;
	if (!is(r, YAML_STREAM_END_EVENT))
		return fail(r, "a second document");
	return 0;
}

/* Everything that can be said about the bytes before they are read as YAML. */
static int check_bytes(const char *text, size_t len, struct rf_err *err)
{
	uint32_t rune;
	int line, column;

	if (len > RF_MAX_POLICY_BYTES)
		return rf_fail_say(err, -EFBIG, "the policy is longer than %d bytes",
				   RF_MAX_POLICY_BYTES);
	for (size_t at = 0; at < len;) {
		size_t n = rf_rune_take(text + at, len - at, &rune);

		if (n == 0 || rune == 0) {
			locate(text, len, at, &line, &column);
			return rf_fail_at(err, line, column, "not UTF-8 text");
		}
		at += n;
	}
	return 0;
}

int rf_policy_parse(const char *text, size_t len, const char *folder, const char *home,
		    struct rf_policy **ret_policy, struct rf_err *err)
{
	static const char mark[] = { '\xef', '\xbb', '\xbf' }; /* some editors begin with it */
	struct reader r = { .base = { folder, home }, .err = err };
	int code;

	if (check_bytes(text, len, err) < 0)
		return err->code;
	if (len >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0) {
		text += sizeof(mark);
		len -= sizeof(mark);
	}
	r.text = text;
	r.len = len;
	r.policy = rf_policy_new_empty();
	if (!r.policy || !yaml_parser_initialize(&r.yaml)) {
		rf_policy_free(r.policy);
		return rf_fail(err, -ENOMEM, "read the policy");
	}
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);

	code = read_stream(&r);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.yaml);
	if (code < 0) {
		rf_policy_free(r.policy);
		rf_rune_tidy(err);
		return code;
	}
	*ret_policy = r.policy;
	return 0;
}
