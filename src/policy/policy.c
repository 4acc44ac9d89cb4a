/*
 * The life of a policy: its defaults, flags set one by one, and sources joined by merge.
 *
 * Reading text is policy/text.c, bounding someone else's request is policy/meet.c.
 */
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rune.h"
#include "policy/key.h"
#include "policy/net-place.h"
#include "policy/value.h"

struct rf_policy *rf_policy_new_empty(void)
{
	return calloc(1, sizeof(struct rf_policy));
}

void rf_policy_free(struct rf_policy *policy)
{
	if (!policy)
		return;
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		free(policy->values[i].text);
		rf_list_done(&policy->values[i].list);
	}
	free(policy);
}

/* Output to a terminal is read as it comes; whoever sits at a shell decides when it is over. */
static uint64_t default_limit(enum rf_limit limit, enum rf_command command)
{
	const struct rf_limit_info *info = &rf_limit_table[limit];

	if (command == RF_COMMAND_TERMINAL && limit != RF_LIMIT_OUTPUT)
		return info->for_run;
	return command == RF_COMMAND_RUN ? info->for_run : info->for_shell;
}

struct rf_policy *rf_policy_new(enum rf_command command)
{
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_files_base nowhere = { NULL, NULL };
	struct rf_err err;

	if (!policy)
		return NULL;
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const char *text = rf_key_table[i].defaults[command];

		if (rf_key_table[i].type == RF_KEY_TYPE_LIMIT) {
			policy->values[i].number =
				default_limit((enum rf_limit)(i - RF_KEY_LIMIT), command);
			policy->set |= RF_KEY_BIT(i);
		} else if (text && rf_value_set(policy, (enum rf_key)i, text, &nowhere, &err) < 0) {
			rf_policy_free(policy); /* the table is tested, so memory is gone */
			return NULL;
		}
	}
	return policy;
}

int rf_policy_set(struct rf_policy *policy, const char *key, const char *text, const char *folder,
		  const char *home, struct rf_err *err)
{
	struct rf_files_base base = { folder, home };
	int index = rf_key_find(key), section = rf_key_find_section(key), r;

	if (index < 0 && section >= 0)
		index = rf_key_sections[section].short_for;
	if (index < 0 && section >= 0)
		r = rf_fail_say(err, -EINVAL, "%s: holds other keys and has no value itself", key);
	else if (index < 0)
		r = rf_key_refuse(key, err);
	else if (!rf_json_is_utf8(text, strlen(text)))
		r = rf_fail_say(err, -EINVAL, "%s: the value is not UTF-8", key);
	else
		r = rf_value_set(policy, (enum rf_key)index, text, &base, err);
	if (r < 0) {
		rf_rune_tidy(err);
		return r;
	}
	if (index == RF_KEY_READ || index == RF_KEY_WRITE)
		rf_value_settle(policy);
	if (rf_value_check_deny(policy, (enum rf_key)index, err) < 0) {
		rf_rune_tidy(err);
		return err->code;
	}
	return 0;
}

int rf_policy_line(const struct rf_policy *policy, const char *key, const char *name,
		   const char *value)
{
	int index = rf_key_find(key);
	const struct rf_list *list;

	if (index < 0 || !(policy->set & RF_KEY_BIT(index)))
		return -1;
	if (!name)
		return policy->lines[index];
	list = &policy->values[index].list;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0 &&
		    (!value || (list->items[i].value && strcmp(list->items[i].value, value) == 0)))
			return list->items[i].line;
	return -1;
}

bool rf_policy_is_final(const struct rf_policy *policy, const char *key)
{
	int index = rf_key_find(key);

	return index >= 0 && policy->finals & RF_KEY_BIT(index);
}

/* True if `over` leaves a key that `base` marked final as it is, or makes it stricter. */
static bool keeps_final(const struct rf_policy *base, const struct rf_policy *over, enum rf_key key)
{
	const struct rf_key_value *a = &base->values[key], *b = &over->values[key];
	bool is_set = base->set & RF_KEY_BIT(key);

	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_CHOICE:
	case RF_KEY_TYPE_LIMIT:
	case RF_KEY_TYPE_QUOTA:
		return (is_set || rf_key_has_rest(key)) &&
		       rf_key_is_as_strict(key, b->number, rf_key_number(base, key));
	case RF_KEY_TYPE_AGENT:
	case RF_KEY_TYPE_HOST:
	case RF_KEY_TYPE_PATH:
		return is_set && strcmp(a->text, b->text) == 0;
	case RF_KEY_TYPE_PROGRAMS:
		if (!is_set)
			return true; /* all were allowed: any list is stricter */
		__attribute__((fallthrough));
	case RF_KEY_TYPE_FILES:
	case RF_KEY_TYPE_NAMES:
	case RF_KEY_TYPE_MAP:
	case RF_KEY_TYPE_HOSTS:
	case RF_KEY_TYPE_PORTS:
	case RF_KEY_TYPE_GRANTS:
	case RF_KEY_TYPE_SOURCES:
	case RF_KEY_TYPE_ROOTS:
		for (size_t i = 0; i < b->list.count; i++)
			if (!rf_list_has(&a->list, b->list.items[i].name, b->list.items[i].value))
				return false;
		return true;
	case RF_KEY_TYPE_RULES:
		return key == RF_KEY_NET_DENY || rf_net_rules_cover(&a->list, &b->list);
	case RF_KEY_TYPE_FILTERS:
	case RF_KEY_TYPE_PATTERNS:
	case RF_KEY_TYPE_PATHS:
	case RF_KEY_TYPE_MASKS:
		return true; /* one more is stricter, and nothing takes one away */
	case RF_KEY_TYPE_KEYS:
		return (over->finals & ~base->finals) == 0;
	}
	return false;
}

int rf_policy_merge(struct rf_policy *base, const struct rf_policy *over, struct rf_err *err)
{
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		if (!(base->finals & over->set & RF_KEY_BIT(i)) ||
		    keeps_final(base, over, (enum rf_key)i))
			continue;
		rf_fail_say(err, -EPERM, "%s: an earlier profile made this key final",
			    rf_key_table[i].path);
		return rf_fail_hint(err, "it can be made stricter, or leave that profile out");
	}
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		int r = 0;

		if (over->set & RF_KEY_BIT(i))
			r = rf_value_join(base, over, (enum rf_key)i);
		if (r == -E2BIG)
			return rf_fail_say(err, r, "%s: too many elements", rf_key_table[i].path);
		if (r < 0)
			return rf_fail(err, r, "%s", rf_key_table[i].path);
	}
	rf_value_settle(base);
	return 0;
}

const char *rf_policy_root(const struct rf_policy *policy, size_t i)
{
	const struct rf_list *list = &policy->values[RF_KEY_NET_ROOTS].list;

	return i < list->count ? list->items[i].name : NULL;
}

const char *rf_policy_item(const struct rf_policy *policy, const char *key, size_t i)
{
	int index = rf_key_find(key);
	const struct rf_list *list = index < 0 ? NULL : &policy->values[index].list;

	return list && i < list->count ? list->items[i].name : NULL;
}

const char *rf_policy_filter(const struct rf_policy *policy, size_t i)
{
	const struct rf_list *list = &policy->values[RF_KEY_SECCOMP].list;

	return i < list->count ? list->items[i].name : NULL;
}
