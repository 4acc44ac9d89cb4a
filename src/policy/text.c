/*
 * Policies as text: YAML, and JSON as the part of YAML that it is.
 *
 * policy/markup.c gives events with positions, and this reader follows the shape that the table of keys
 * prescribes: a mapping of keys and sections, in a section scalars, lists of scalars and maps of
 * scalars, and credentials, which are maps of maps.  It never goes deeper than that, and stops at the first event that does not fit, so the
 * stack does not grow with the text.  What makes YAML surprising is refused with its position: repeated
 * and merge keys here, the rest by the reader of events.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/rune.h"
#include "policy/files.h"
#include "policy/key.h"
#include "policy/markup.h"
#include "policy/net-credential.h"
#include "policy/value.h"

/* A list in a credential is as deep as it gets, far from where the stack or libyaml would suffer. */
#define DEEPEST 4
static_assert(DEEPEST <= RF_MAX_POLICY_DEPTH, "the keys fit into the depth that is allowed");

struct reader {
	struct rf_markup yaml;
	struct rf_files_base base;
	struct rf_policy *policy;
	rf_key_set seen, seen_sections;
	struct rf_err *err;
};

/* Two rules of one text that can't both hold.  The newest rule is the last of its list. */
static int check_files(struct reader *r, enum rf_key key)
{
	const struct rf_list *mine = &r->policy->values[key].list;
	const struct rf_list_item *rule = &mine->items[mine->count - 1];
	enum rf_key other = key == RF_KEY_READ ? RF_KEY_WRITE : RF_KEY_READ;

	if (rf_list_has(&r->policy->values[other].list, rule->name, rule->value)) {
		rf_markup_fail(&r->yaml, "%s: \"%.80s\" is listed under %s, too",
			       rf_key_table[key].path, rule->name, rf_key_table[other].path);
		return rf_fail_hint(r->err, "files.write includes reading; list it there only");
	}
	for (int k = RF_KEY_READ; k <= RF_KEY_WRITE; k++) {
		const struct rf_list *list = &r->policy->values[k].list;

		for (size_t i = 0; i < list->count; i++)
			if (strcmp(list->items[i].value, rule->value) == 0 &&
			    strcmp(list->items[i].name, rule->name) != 0)
				return rf_markup_fail(
					&r->yaml,
					"%s: both \"%.60s\" and \"%.60s\" would show at %.60s",
					rf_key_table[key].path, list->items[i].name, rule->name,
					rule->value);
	}
	return 0;
}

/* Takes the current scalar as one element of a list, or as the whole of one. */
static int read_element(struct reader *r, enum rf_key key)
{
	const struct rf_list *list = &r->policy->values[key].list;

	if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
		return rf_markup_fail(&r->yaml, "%s: plain text is needed here, not %s",
				      rf_key_table[key].path, rf_markup_kind(&r->yaml));
	if (rf_value_set(r->policy, key, rf_markup_scalar(&r->yaml), &r->base, r->err) < 0)
		return rf_markup_at(&r->yaml);
	if (list->count > 0) /* of `final` there is no list */
		list->items[list->count - 1].line = (int)r->yaml.event.start_mark.line + 1;
	if (rf_key_table[key].type == RF_KEY_TYPE_FILES)
		return check_files(r, key);
	if (rf_key_table[key].type == RF_KEY_TYPE_SOURCES) {
		r->policy->extends_at[list->count - 1].line =
			(int)r->yaml.event.start_mark.line + 1;
		r->policy->extends_at[list->count - 1].column =
			(int)r->yaml.event.start_mark.column + 1;
	}
	return 0;
}

/* Reads a list of scalars up to its end. */
static int read_list(struct reader *r, enum rf_key key)
{
	const char *path = rf_key_table[key].path;

	if (!rf_markup_is(&r->yaml, YAML_SEQUENCE_START_EVENT)) {
		rf_markup_fail(&r->yaml, "%s: a list is needed here, not %s", path,
			       rf_markup_kind(&r->yaml));
		return rf_fail_hint(r->err, "write [one, two], or [] for none");
	}
	r->policy->set |= RF_KEY_BIT(key);
	for (;;) {
		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_markup_is(&r->yaml, YAML_SEQUENCE_END_EVENT))
			return 0;
		if (read_element(r, key) < 0)
			return r->err->code;
		if (rf_value_check_deny(r->policy, key, r->err) < 0)
			return rf_markup_at(&r->yaml);
	}
}

/* Reads the fields of one credential up to their end. */
static int read_fields(struct reader *r, struct rf_net_credential_draft *draft)
{
	char field[64];

	for (;;) {
		bool is_list;

		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_markup_is(&r->yaml, YAML_MAPPING_END_EVENT))
			return 0;
		if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->yaml, "a key is needed here, not %s",
					      rf_markup_kind(&r->yaml));
		snprintf(field, sizeof(field), "%.60s", rf_markup_scalar(&r->yaml));
		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		is_list = rf_net_credential_is_list(field) &&
			  rf_markup_is(&r->yaml, YAML_SEQUENCE_START_EVENT);
		if (is_list && rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		while (!is_list || !rf_markup_is(&r->yaml, YAML_SEQUENCE_END_EVENT)) {
			if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
				return rf_markup_fail(&r->yaml,
						      "%s: plain text is needed here, not %s",
						      field, rf_markup_kind(&r->yaml));
			if (rf_net_credential_add(draft, field, rf_markup_scalar(&r->yaml),
						  &r->base, r->err) < 0)
				return rf_markup_at(&r->yaml);
			if (!is_list)
				break;
			if (rf_markup_next(&r->yaml) < 0)
				return r->err->code;
		}
	}
}

/* Reads one credential, whose first event is the current one. */
static int read_grant(struct reader *r, enum rf_key key, const char *name)
{
	struct rf_list *list = &r->policy->values[key].list;
	int line = (int)r->yaml.event.start_mark.line + 1, code;
	struct rf_net_credential_draft draft = { 0 };
	char *fields = NULL;

	if (!rf_markup_is(&r->yaml, YAML_MAPPING_START_EVENT)) {
		rf_markup_fail(&r->yaml, "a mapping is needed here, not %s",
			       rf_markup_kind(&r->yaml));
		return rf_fail_hint(r->err,
				    "write { from: \"env:NAME\", hosts: [api.example.org] }");
	}
	code = read_fields(r, &draft);
	if (code >= 0 && rf_net_credential_end(&draft, &fields, r->err) < 0)
		code = rf_markup_at(&r->yaml);
	if (code >= 0)
		code = rf_value_set_pair(r->policy, key, name, fields, r->err);
	if (code >= 0 && list->count > 0)
		list->items[list->count - 1].line = line;
	rf_net_credential_done(&draft);
	free(fields);
	return code;
}

/* Reads a mapping of names to what they stand for, up to its end. */
static int read_map(struct reader *r, enum rf_key key)
{
	const char *path = rf_key_table[key].path;

	if (!rf_markup_is(&r->yaml, YAML_MAPPING_START_EVENT)) {
		rf_markup_fail(&r->yaml, "%s: a mapping is needed here, not %s", path,
			       rf_markup_kind(&r->yaml));
		return rf_fail_hint(r->err, "write { NAME: value }, or {} for none");
	}
	r->policy->set |= RF_KEY_BIT(key);
	for (;;) {
		char name[256];

		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_markup_is(&r->yaml, YAML_MAPPING_END_EVENT))
			return 0;
		if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->yaml, "%s: a name is needed here, not %s", path,
					      rf_markup_kind(&r->yaml));
		if (r->yaml.event.data.scalar.length >= sizeof(name))
			return rf_markup_fail(&r->yaml, "%s: a name longer than %zu bytes", path,
					      sizeof(name) - 1);
		memcpy(name, rf_markup_scalar(&r->yaml), r->yaml.event.data.scalar.length + 1);
		if (rf_list_find(&r->policy->values[key].list, name))
			return rf_markup_fail(&r->yaml, "%s.%.80s: the name is here twice", path,
					      name);
		/* Checked before its value is there, so that the position is the name's. */
		if (rf_key_table[key].type != RF_KEY_TYPE_HOSTS &&
		    rf_value_set_pair(r->policy, key, name, "", r->err) < 0)
			return rf_markup_at(&r->yaml);
		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_key_table[key].type == RF_KEY_TYPE_GRANTS) {
			if (read_grant(r, key, name) < 0)
				return rf_fail_in(r->err, "%s.%.40s", path, name);
			continue;
		}
		if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->yaml,
					      "%s.%.80s: plain text is needed here, not %s", path,
					      name, rf_markup_kind(&r->yaml));
		if (rf_value_set_pair(r->policy, key, name, rf_markup_scalar(&r->yaml), r->err) < 0)
			return rf_markup_at(&r->yaml);
	}
}

/* Reads the value of a key, whose first event is the current one. */
static int read_value(struct reader *r, enum rf_key key)
{
	r->policy->lines[key] = (int)r->yaml.event.start_mark.line + 1;
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_FILES:
	case RF_KEY_TYPE_PATTERNS:
	case RF_KEY_TYPE_PATHS:
	case RF_KEY_TYPE_NAMES:
	case RF_KEY_TYPE_PROGRAMS:
	case RF_KEY_TYPE_KEYS:
	case RF_KEY_TYPE_RULES:
	case RF_KEY_TYPE_PORTS:
	case RF_KEY_TYPE_MASKS:
		return read_list(r, key);
	case RF_KEY_TYPE_SOURCES:
	case RF_KEY_TYPE_FILTERS:
	case RF_KEY_TYPE_ROOTS:
		return rf_markup_is(&r->yaml, YAML_SCALAR_EVENT) ? read_element(r, key)
								 : read_list(r, key);
	case RF_KEY_TYPE_MAP:
	case RF_KEY_TYPE_HOSTS:
	case RF_KEY_TYPE_GRANTS:
		return read_map(r, key);
	default:
		break;
	}
	if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
		return rf_markup_fail(&r->yaml, "%s: plain text is needed here, not %s",
				      rf_key_table[key].path, rf_markup_kind(&r->yaml));
	if (rf_value_set(r->policy, key, rf_markup_scalar(&r->yaml), &r->base, r->err) < 0)
		return rf_markup_at(&r->yaml);
	return 0;
}

/* Marks one bit of `seen`; a second time is an error. */
static int see(struct reader *r, rf_key_set *seen, int bit, const char *path)
{
	if (*seen & RF_KEY_BIT(bit))
		return rf_markup_fail(&r->yaml, "%s: the key is here twice", path);
	*seen |= RF_KEY_BIT(bit);
	return 0;
}

/* Takes the current event as a key beneath `prefix` ("" or "limits.") and gives its whole path. */
static int take_path(struct reader *r, const char *prefix, char *path, size_t size)
{
	if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
		return rf_markup_fail(&r->yaml, "a key is needed here, not %s",
				      rf_markup_kind(&r->yaml));
	if (!*prefix && strchr(rf_markup_scalar(&r->yaml), '.')) {
		rf_markup_fail(&r->yaml, "%.80s: a key can't hold a point",
			       rf_markup_scalar(&r->yaml));
		return rf_fail_hint(r->err, "write it as a section with the key beneath");
	}
	snprintf(path, size, "%s%.80s", prefix, rf_markup_scalar(&r->yaml));
	return 0;
}

/* Reads a section up to its end. */
static int read_section(struct reader *r, const struct rf_key_section *section)
{
	char prefix[32], path[128];

	if (rf_markup_is(&r->yaml, YAML_SCALAR_EVENT) && section->short_for >= 0)
		return read_value(r, (enum rf_key)section->short_for);
	if (!rf_markup_is(&r->yaml, YAML_MAPPING_START_EVENT)) {
		rf_markup_fail(&r->yaml, "%s: a mapping is needed here, not %s", section->name,
			       rf_markup_kind(&r->yaml));
		return rf_fail_hint(r->err, "write the keys of %s beneath it, or {} for none",
				    section->name);
	}
	snprintf(prefix, sizeof(prefix), "%s.", section->name);
	for (;;) {
		int key;

		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_markup_is(&r->yaml, YAML_MAPPING_END_EVENT))
			return 0;
		if (take_path(r, prefix, path, sizeof(path)) < 0)
			return r->err->code;
		key = rf_key_find(path);
		if (key < 0) {
			rf_key_refuse(path, r->err);
			return rf_markup_at(&r->yaml);
		}
		if (see(r, &r->seen, key, path) < 0 || rf_markup_next(&r->yaml) < 0 ||
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

		if (rf_markup_next(&r->yaml) < 0)
			return r->err->code;
		if (rf_markup_is(&r->yaml, YAML_MAPPING_END_EVENT))
			return 0;
		if (take_path(r, "", path, sizeof(path)) < 0)
			return r->err->code;
		key = rf_key_find(path);
		section = rf_key_find_section(path);
		if (key < 0 && section < 0) {
			rf_key_refuse(path, r->err);
			return rf_markup_at(&r->yaml);
		}
		if (key >= 0 && (see(r, &r->seen, key, path) < 0 || rf_markup_next(&r->yaml) < 0 ||
				 read_value(r, (enum rf_key)key) < 0))
			return r->err->code;
		if (section >= 0 &&
		    (see(r, &r->seen_sections, section, path) < 0 || rf_markup_next(&r->yaml) < 0 ||
		     read_section(r, &rf_key_sections[section]) < 0))
			return r->err->code;
	}
}

int rf_policy_parse(const char *text, size_t len, const char *folder, const char *home,
		    struct rf_policy **ret_policy, struct rf_err *err)
{
	struct reader r = { .base = { folder, home }, .err = err };
	int code;

	if (rf_markup_init(&r.yaml, text, len, RF_MAX_POLICY_BYTES, "policy", err) < 0)
		return err->code;
	r.policy = rf_policy_new_empty();
	code = r.policy ? rf_markup_begin(&r.yaml) : rf_fail(err, -ENOMEM, "read the policy");
	if (code > 0)
		code = read_top(&r) < 0 ? err->code : rf_markup_end(&r.yaml);
	rf_markup_done(&r.yaml);
	if (code < 0) {
		rf_policy_free(r.policy);
		rf_rune_tidy(err);
		return code;
	}
	*ret_policy = r.policy;
	return 0;
}
