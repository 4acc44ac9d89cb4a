/*
 * A policy written out as JSON that reads back to the same policy.
 *
 * The shape is that of the language (see policy/format.c for YAML); new types of keys come out as
 * the text or the list of texts that they are.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "policy/key.h"
#include "policy/net-credential.h"
#include "policy/words.h"

static void put_keys(struct rf_json *json, const char *name, rf_key_set keys)
{
	rf_json_open_array(json, name);
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (keys & RF_KEY_BIT(i))
			rf_json_string(json, NULL, rf_key_table[i].path);
	rf_json_close_array(json);
}

static void put_map(struct rf_json *json, const char *name, const struct rf_list *list)
{
	rf_json_open_object(json, name);
	for (size_t i = 0; i < list->count; i++)
		rf_json_string(json, list->items[i].name, list->items[i].value);
	rf_json_close_object(json);
}

/* Fields as members, and hosts as the array that they are. */
static void put_fields(struct rf_json *json, const struct rf_list_item *item)
{
	const char *at = item->value;
	struct rf_span field, value;
	bool is_in_list = false;

	rf_json_open_object(json, item->name);
	while (rf_net_credential_next(&at, &field, &value)) {
		char name[16];
		bool is_list;

		snprintf(name, sizeof(name), "%.*s", RF_SPAN_ARG(field));
		is_list = rf_net_credential_is_list(name);
		if (is_list && !is_in_list)
			rf_json_open_array(json, name);
		else if (!is_list && is_in_list)
			rf_json_close_array(json);
		is_in_list = is_list;
		rf_json_bytes(json, is_list ? NULL : name, value.at, value.len);
	}
	if (is_in_list)
		rf_json_close_array(json);
	rf_json_close_object(json);
}

static void put_grants(struct rf_json *json, const char *name, const struct rf_list *list)
{
	rf_json_open_object(json, name);
	for (size_t i = 0; i < list->count; i++)
		put_fields(json, &list->items[i]);
	rf_json_close_object(json);
}

static void put_list(struct rf_json *json, enum rf_key key, const struct rf_list *list)
{
	rf_json_open_array(json, rf_key_name(key));
	for (size_t i = 0; i < list->count; i++) {
		RF_AUTO_BUF struct rf_buf text = { 0 };

		rf_buf_init(&text, RF_MAX_POLICY_BYTES);
		rf_words_element(key, &list->items[i], &text);
		rf_json_string(json, NULL, text.data);
	}
	rf_json_close_array(json);
}

static void put_scalar(struct rf_json *json, const struct rf_policy *policy, enum rf_key key)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_words_scalar(policy, key, &text);
	if (key == RF_KEY_VERSION)
		rf_json_int(json, rf_key_name(key), (int64_t)policy->values[key].number);
	else
		rf_json_string(json, rf_key_name(key), text.data);
}

static void put_value(struct rf_json *json, const struct rf_policy *policy, enum rf_key key)
{
	if (rf_key_table[key].type == RF_KEY_TYPE_KEYS)
		put_keys(json, rf_key_name(key), policy->finals);
	else if (rf_key_table[key].type == RF_KEY_TYPE_GRANTS)
		put_grants(json, rf_key_name(key), &policy->values[key].list);
	else if (rf_key_is_map(key))
		put_map(json, rf_key_name(key), &policy->values[key].list);
	else if (rf_words_is_list(key))
		put_list(json, key, &policy->values[key].list);
	else
		put_scalar(json, policy, key);
}

void rf_policy_json(const struct rf_policy *policy, const char *name, struct rf_json *json)
{
	const char *open = NULL; /* the section whose keys are being written */
	size_t len = 0;

	rf_json_open_object(json, name);
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const char *path = rf_key_table[i].path, *dot = strchr(path, '.');
		char section[32];

		if (!(policy->set & RF_KEY_BIT(i)))
			continue;
		if (open && !(dot && strncmp(open, path, len + 1) == 0)) {
			rf_json_close_object(json);
			open = NULL;
		}
		if (dot && !open) {
			open = path;
			len = (size_t)(dot - path);
			memcpy(section, path, len);
			section[len] = '\0';
			rf_json_open_object(json, section);
		}
		put_value(json, policy, (enum rf_key)i);
	}
	if (open)
		rf_json_close_object(json);
	rf_json_close_object(json);
}
