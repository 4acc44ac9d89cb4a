/*
 * A policy written out as YAML that reads back to the same policy.
 *
 * Only what was set is written.  Text that could be taken for anything else than itself stands in
 * double quotes, where every character that YAML treats specially is escaped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/rune.h"
#include "policy/key.h"
#include "policy/net-credential.h"
#include "policy/words.h"

/* Paths, names and sizes: nothing in these letters can be mistaken for YAML. */
static bool is_plain(const char *text)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
	size_t len = strlen(text);

	return len > 0 && strchr(first, text[0]) &&
	       strspn(text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789_/.%+-") == len - 1;
}

/* Characters that YAML lets stand between double quotes, and that our own reader takes as themselves. */
static bool is_printable(uint32_t rune, uint32_t before)
{
	return !rf_rune_is_control(rune) && !rf_rune_is_hidden(rune, before) && rune != 0xfffe &&
	       rune != 0xffff;
}

static void put_text(struct rf_buf *out, const char *text)
{
	uint32_t rune, before = 0;
	size_t len = strlen(text);

	if (is_plain(text)) {
		rf_buf_puts(out, text);
		return;
	}
	rf_buf_puts(out, "\"");
	for (size_t at = 0, n; at < len; at += n) {
		rune = '?';
		n = rf_rune_take(text + at, len - at, &rune);
		if (n == 0)
			n = 1; /* values are UTF-8; this only makes the loop end */
		if (is_printable(rune, before)) {
			rf_buf_puts(out, rune == '"' || rune == '\\' ? "\\" : "");
			rf_buf_add(out, text + at, n);
			before = rune;
		} else {
			rf_buf_printf(out, rune > 0xffff ? "\\U%08X" : "\\u%04X", rune);
			before = 0; /* an escape ends in a digit */
		}
	}
	rf_buf_puts(out, "\"");
}

static void put_element(struct rf_buf *out, enum rf_key key, const struct rf_list_item *item)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };

	if (rf_words_is_name(key, item)) {
		put_text(out, item->name);
		return;
	}
	rf_buf_init(&text, out->max);
	rf_words_element(key, item, &text);
	if (text.has_failed)
		out->has_failed = true;
	else
		put_text(out, text.data);
}

/* A credential's fields, beneath its name; its hosts stand next to each other. */
static void put_fields(struct rf_buf *out, const char *fields, const char *indent)
{
	struct rf_span field, value;
	bool is_in_list = false;

	while (rf_net_credential_next(&fields, &field, &value)) {
		char name[16];
		char *text = strndup(value.at, value.len);
		bool is_list;

		snprintf(name, sizeof(name), "%.*s", RF_SPAN_ARG(field));
		is_list = rf_net_credential_is_list(name);
		if (!is_list || !is_in_list)
			rf_buf_printf(out, "%s    %s:%s", indent, name, is_list ? "\n" : " ");
		if (is_list)
			rf_buf_printf(out, "%s      - ", indent);
		is_in_list = is_list;
		if (text)
			put_text(out, text);
		else
			out->has_failed = true;
		rf_buf_puts(out, "\n");
		free(text);
	}
}

/* One element a line, beneath its key. */
static void put_list(struct rf_buf *out, enum rf_key key, const struct rf_list *list,
		     const char *indent)
{
	enum rf_key_type type = rf_key_table[key].type;

	if (list->count == 0)
		rf_buf_puts(out, rf_key_is_map(key) ? " {}" : " []");
	rf_buf_puts(out, "\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct rf_list_item *item = &list->items[i];

		rf_buf_puts(out, indent);
		rf_buf_puts(out, rf_key_is_map(key) ? "  " : "  - ");
		if (rf_key_is_map(key))
			put_text(out, item->name);
		else
			put_element(out, key, item);
		if (type == RF_KEY_TYPE_GRANTS) {
			rf_buf_puts(out, ":\n");
			put_fields(out, item->value, indent);
			continue;
		}
		if (rf_key_is_map(key)) {
			rf_buf_puts(out, ": ");
			put_text(out, item->value);
		}
		rf_buf_puts(out, "\n");
	}
}

static void put_keys(struct rf_buf *out, rf_key_set keys)
{
	rf_buf_puts(out, keys ? "\n" : " []\n");
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (keys & RF_KEY_BIT(i))
			rf_buf_printf(out, "  - %s\n", rf_key_table[i].path);
}

static void put_word(struct rf_buf *out, const char *word)
{
	rf_buf_puts(out, " ");
	rf_buf_puts(out, word);
	rf_buf_puts(out, "\n");
}

/* Written for every run that is recorded, so without printf, which takes its time. */
static void put_value(struct rf_buf *out, const struct rf_policy *policy, enum rf_key key,
		      const char *indent)
{
	const struct rf_key_value *value = &policy->values[key];
	char text[64];

	rf_buf_puts(out, indent);
	rf_buf_puts(out, rf_key_name(key));
	rf_buf_puts(out, ":");
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_CHOICE:
		put_word(out, rf_key_choice_name(key, value->number));
		break;
	case RF_KEY_TYPE_LIMIT:
	case RF_KEY_TYPE_QUOTA:
		rf_limit_write(rf_key_figure(key), value->number, text, sizeof(text));
		put_word(out, text);
		break;
	case RF_KEY_TYPE_HOST:
	case RF_KEY_TYPE_AGENT:
	case RF_KEY_TYPE_PATH:
		rf_buf_puts(out, " ");
		put_text(out, value->text);
		rf_buf_puts(out, "\n");
		break;
	case RF_KEY_TYPE_FILES:
	case RF_KEY_TYPE_PATTERNS:
	case RF_KEY_TYPE_PATHS:
	case RF_KEY_TYPE_NAMES:
	case RF_KEY_TYPE_PROGRAMS:
	case RF_KEY_TYPE_MAP:
	case RF_KEY_TYPE_SOURCES:
	case RF_KEY_TYPE_FILTERS:
	case RF_KEY_TYPE_RULES:
	case RF_KEY_TYPE_HOSTS:
	case RF_KEY_TYPE_PORTS:
	case RF_KEY_TYPE_MASKS:
	case RF_KEY_TYPE_ROOTS:
	case RF_KEY_TYPE_GRANTS:
		put_list(out, key, &value->list, indent);
		break;
	case RF_KEY_TYPE_KEYS:
		put_keys(out, policy->finals);
		break;
	}
}

static void put_keys_of(const struct rf_policy *policy, rf_key_set set, struct rf_buf *out)
{
	const char *open = ""; /* the section whose keys are being written */

	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const char *path = rf_key_table[i].path, *dot = strchr(path, '.');
		size_t len = dot ? (size_t)(dot - path) : 0;

		if (!(set & RF_KEY_BIT(i)))
			continue;
		if (dot && (strncmp(open, path, len) != 0 || open[len] != '.')) {
			rf_buf_printf(out, "%.*s:\n", (int)len, path);
			open = path;
		}
		put_value(out, policy, (enum rf_key)i, dot ? "  " : "");
	}
	if (set == 0)
		rf_buf_puts(out, "{}\n");
}

void rf_policy_format(const struct rf_policy *policy, struct rf_buf *out)
{
	put_keys_of(policy, policy->set, out);
}

void rf_policy_format_told(const struct rf_policy *policy, struct rf_buf *out)
{
	const struct rf_list *vars = &policy->values[RF_KEY_SET].list;
	bool has_vars = policy->set & RF_KEY_BIT(RF_KEY_SET) && vars->count > 0;

	put_keys_of(policy, policy->set & ~RF_KEY_BIT(RF_KEY_SET), out);
	for (size_t i = 0; has_vars && i < vars->count; i++)
		rf_buf_printf(out, "%s%s", i > 0 ? " " : RF_POLICY_TOLD_VARS, vars->items[i].name);
	if (has_vars)
		rf_buf_puts(out, "\n");
}

void rf_policy_format_net(const struct rf_policy *policy, struct rf_buf *out)
{
	rf_key_set keys = 0;

	for (int i = RF_KEY_LINK; i <= RF_KEY_GRANTS; i++)
		keys |= RF_KEY_BIT(i);
	put_keys_of(policy, policy->set & keys, out);
}
