/*
 * The policy language as JSON Schema: see schema.h.
 *
 * Made from the tables that the reader goes by, so a key that enters the language is in the schema
 * as well, by its type.  The schema says what a validator can know from the text alone: names,
 * shapes, choices, how a value is written.  It accepts what the reader accepts in both notations:
 * a number may stand plain or in quotes, a switch as on, off, true or false.
 */
#include "policy/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "policy/key.h"
#include "policy/profile.h"
#include "policy/words.h"

#define NAME_PATTERN "^[A-Za-z_][A-Za-z0-9_]*$"

static void put_type(struct rf_json *json, const char *type)
{
	rf_json_string(json, "type", type);
}

/* A string that matches a pattern, or any that is not empty. */
static void put_text(struct rf_json *json, const char *name, const char *pattern)
{
	rf_json_open_object(json, name);
	put_type(json, "string");
	if (pattern)
		rf_json_string(json, "pattern", pattern);
	else
		rf_json_int(json, "minLength", 1);
	rf_json_close_object(json);
}

/* Each choice as a string, and as what YAML and JSON would take an unquoted one for. */
static void put_choices(struct rf_json *json, enum rf_key key)
{
	const struct rf_key_choice *choices = rf_key_table[key].choices;

	rf_json_open_array(json, "enum");
	for (const struct rf_key_choice *c = choices; c->name; c++)
		if (c->value != RF_KEY_LATER)
			rf_json_string(json, NULL, c->name);
	for (const struct rf_key_choice *c = choices; c->name; c++) {
		if (strcmp(c->name, "true") == 0 || strcmp(c->name, "false") == 0)
			rf_json_bool(json, NULL, c->name[0] == 't');
		else if (strspn(c->name, "0123456789") == strlen(c->name))
			rf_json_int(json, NULL, strtol(c->name, NULL, 10));
	}
	rf_json_close_array(json);
}

static void put_limit(struct rf_json *json, const struct rf_limit_info *info)
{
	rf_json_open_array(json, "anyOf");
	put_text(json, NULL, rf_limit_pattern(info->unit));
	if (info->unit == RF_UNIT_BYTES || info->unit == RF_UNIT_COUNT) {
		rf_json_open_object(json, NULL);
		put_type(json, "integer");
		rf_json_int(json, "minimum", (int64_t)info->min);
		rf_json_int(json, "maximum", (int64_t)info->max);
		rf_json_close_object(json);
	}
	if (info->may_be_none) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "const", "none");
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

/* Ports to publish; one alone may stand as a number. */
static void put_ports(struct rf_json *json)
{
	put_type(json, "array");
	rf_json_int(json, "maxItems", RF_MAX_LIST);
	rf_json_open_object(json, "items");
	rf_json_open_array(json, "anyOf");
	put_text(json, NULL, "^([0-9A-Fa-f.:\\[\\]]+:)?[0-9]+$");
	rf_json_open_object(json, NULL);
	put_type(json, "integer");
	rf_json_int(json, "minimum", 1);
	rf_json_int(json, "maximum", 65535);
	rf_json_close_object(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

/* Names and the addresses that they lead to. */
static void put_hosts(struct rf_json *json)
{
	put_type(json, "object");
	rf_json_int(json, "maxProperties", RF_MAX_LIST);
	rf_json_open_object(json, "propertyNames");
	rf_json_string(json, "pattern", "^[A-Za-z0-9.-]+$");
	rf_json_close_object(json);
	put_text(json, "additionalProperties", "^[0-9A-Fa-f.:]+$|^\\[[0-9A-Fa-f.:]+\\](:[0-9]+)?$");
}

/* What is on or not there. */
static void put_switch(struct rf_json *json, const char *name, const char *help)
{
	rf_json_open_object(json, name);
	rf_json_string(json, "description", help);
	rf_json_open_array(json, "enum");
	rf_json_string(json, NULL, "on");
	rf_json_string(json, NULL, "true");
	rf_json_bool(json, NULL, true);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

/* Credentials: each with a source, what it is bound to, and at most one way to be sent. */
static void put_grants(struct rf_json *json)
{
	static const struct {
		const char *name, *pattern, *help;
	} fields[] = {
		{ "from", "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|cmd:.+|stdin:)$",
		  "where the value comes from" },
		{ "header", "^[^: ]+: .*\\{\\}", "a header, with {} for the value" },
		{ "basic", NULL, "the user, or {}: where the value is the user" },
		{ "query", "^[A-Za-z0-9._~-]+$", "the name of a parameter" },
		{ "sigv4", "^[a-z0-9-]+/[a-z0-9-]+$", "AWS: a region and a service" },
		{ "env", NAME_PATTERN, "the variable inside that holds the placeholder" },
		{ "budget", "^[0-9]+/(s|min|h|day)$|^none$", "requests that may use it" },
		{ "cost", "^[0-9]+(\\.[0-9]{1,6})?$", "what each of these comes to" },
		{ "money", "^[0-9]+(\\.[0-9]{1,6})?/(h|day)$", "what all of them may come to" },
	};

	put_type(json, "object");
	rf_json_int(json, "maxProperties", RF_MAX_CREDENTIALS);
	rf_json_open_object(json, "propertyNames");
	rf_json_string(json, "pattern", "^[A-Za-z0-9_][A-Za-z0-9_-]{0,31}$");
	rf_json_close_object(json);
	rf_json_open_object(json, "additionalProperties");
	put_type(json, "object");
	rf_json_bool(json, "additionalProperties", false);
	rf_json_open_array(json, "required");
	rf_json_string(json, NULL, "from");
	rf_json_string(json, NULL, "hosts");
	rf_json_close_array(json);
	rf_json_open_object(json, "properties");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		rf_json_open_object(json, fields[i].name);
		rf_json_string(json, "description", fields[i].help);
		put_type(json, "string");
		if (fields[i].pattern)
			rf_json_string(json, "pattern", fields[i].pattern);
		rf_json_close_object(json);
	}
	put_switch(json, "body", "replace the placeholder where it stands in a body");
	put_switch(json, "certificate", "it is shown to servers when a connection begins");
	rf_json_open_object(json, "hosts");
	rf_json_string(json, "description", "what it is bound to; it is sent nowhere else");
	rf_json_open_array(json, "anyOf");
	put_text(json, NULL, NULL);
	rf_json_open_object(json, NULL);
	put_type(json, "array");
	rf_json_int(json, "minItems", 1);
	put_text(json, "items", NULL);
	rf_json_close_object(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_object(json);
	rf_json_close_object(json);
}

/* A list; `element` is the pattern of its elements, `dots` whether `..` may be a part of one. */
static void put_list(struct rf_json *json, const char *element, bool has_dots, int max)
{
	put_type(json, "array");
	rf_json_int(json, "maxItems", max);
	rf_json_open_object(json, "items");
	put_type(json, "string");
	if (element)
		rf_json_string(json, "pattern", element);
	else
		rf_json_int(json, "minLength", 1);
	if (!has_dots) {
		rf_json_open_object(json, "not");
		rf_json_string(json, "pattern", "(^|/)\\.\\.(/|:/|$)");
		rf_json_close_object(json);
	}
	rf_json_close_object(json);
}

static void put_map(struct rf_json *json)
{
	static const char *const types[] = { "string", "number", "boolean", "null" };

	put_type(json, "object");
	rf_json_open_object(json, "propertyNames");
	rf_json_string(json, "pattern", NAME_PATTERN);
	rf_json_close_object(json);
	rf_json_open_object(json, "additionalProperties");
	rf_json_open_array(json, "type");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		rf_json_string(json, NULL, types[i]);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

static void put_keys(struct rf_json *json)
{
	put_type(json, "array");
	rf_json_open_object(json, "items");
	rf_json_open_array(json, "enum");
	for (size_t i = 0; i < RF_KEY_SECTIONS; i++)
		rf_json_string(json, NULL, rf_key_sections[i].name);
	for (int i = 0; i < RF_KEY_COUNT; i++)
		rf_json_string(json, NULL, rf_key_table[i].path);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

/* The name of a profile or the path of a file; the built-in names are there to be completed. */
static void put_source(struct rf_json *json)
{
	rf_json_open_object(json, NULL);
	rf_json_open_array(json, "enum");
	for (const struct rf_profile_text *p = rf_profile_texts; p->name; p++)
		rf_json_string(json, NULL, p->name);
	rf_json_close_array(json);
	rf_json_close_object(json);
	put_text(json, NULL, "^[a-z0-9][a-z0-9._-]{0,39}$|/|.\\.(yaml|yml|json)$");
}

/* Paths of files; one may stand without brackets. */
static void put_filters(struct rf_json *json)
{
	rf_json_open_array(json, "anyOf");
	put_text(json, NULL, NULL);
	rf_json_open_object(json, NULL);
	put_type(json, "array");
	rf_json_int(json, "maxItems", RF_MAX_FILTERS);
	put_text(json, "items", NULL);
	rf_json_close_object(json);
	rf_json_close_array(json);
}

static void put_sources(struct rf_json *json)
{
	rf_json_open_array(json, "anyOf");
	put_source(json);
	rf_json_open_object(json, NULL);
	put_type(json, "array");
	rf_json_int(json, "maxItems", RF_MAX_EXTENDS);
	rf_json_open_object(json, "items");
	rf_json_open_array(json, "anyOf");
	put_source(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_object(json);
	rf_json_close_array(json);
}

/* What a key's value may be, within the object that is open. */
static void put_value(struct rf_json *json, enum rf_key key)
{
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_CHOICE:
		put_choices(json, key);
		break;
	case RF_KEY_TYPE_LIMIT:
	case RF_KEY_TYPE_QUOTA:
		put_limit(json, rf_key_figure(key));
		break;
	case RF_KEY_TYPE_AGENT:
		put_type(json, "string");
		rf_json_string(json, "pattern", "^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}$");
		break;
	case RF_KEY_TYPE_HOST:
		put_type(json, "string");
		rf_json_string(json, "pattern", "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$");
		break;
	case RF_KEY_TYPE_PATH:
		put_type(json, "string");
		rf_json_string(json, "pattern", "^/");
		break;
	case RF_KEY_TYPE_FILES:
		put_list(json, NULL, false, RF_MAX_LIST);
		break;
	case RF_KEY_TYPE_NAMES:
		put_list(json, NAME_PATTERN, true, RF_MAX_LIST);
		break;
	case RF_KEY_TYPE_MAP:
		put_map(json);
		break;
	case RF_KEY_TYPE_RULES:
		put_list(json, NULL, true, RF_MAX_NET_RULES);
		break;
	case RF_KEY_TYPE_PORTS:
		put_ports(json);
		break;
	case RF_KEY_TYPE_MASKS:
		put_list(json, "^[^\\n]{1,511}$", true, RF_MAX_MASKS);
		break;
	case RF_KEY_TYPE_HOSTS:
		put_hosts(json);
		break;
	case RF_KEY_TYPE_GRANTS:
		put_grants(json);
		break;
	case RF_KEY_TYPE_KEYS:
		put_keys(json);
		break;
	case RF_KEY_TYPE_SOURCES:
		put_sources(json);
		break;
	case RF_KEY_TYPE_FILTERS:
	case RF_KEY_TYPE_ROOTS:
		put_filters(json);
		break;
	default: /* whatever else there is, is a text or a list of texts */
		if (rf_words_is_list(key))
			put_list(json, NULL, true, RF_MAX_LIST);
		else
			put_type(json, "string");
	}
}

static void put_default(struct rf_json *json, enum rf_key key)
{
	const struct rf_limit_info *figure = rf_key_figure(key);
	char text[32];

	if (figure) {
		rf_limit_write(figure, figure->for_run, text, sizeof(text));
		rf_json_string(json, "default", text);
	} else if (rf_key_table[key].defaults[RF_COMMAND_RUN]) {
		rf_json_string(json, "default", rf_key_table[key].defaults[RF_COMMAND_RUN]);
	}
}

static void put_key(struct rf_json *json, enum rf_key key)
{
	rf_json_open_object(json, rf_key_name(key));
	rf_json_string(json, "description", rf_words_help(key));
	put_default(json, key);
	put_value(json, key);
	rf_json_close_object(json);
}

/* The object that holds the keys of a section, within the object that is open. */
static void put_members(struct rf_json *json, const char *section)
{
	size_t len = strlen(section);

	put_type(json, "object");
	rf_json_bool(json, "additionalProperties", false);
	rf_json_open_object(json, "properties");
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (strncmp(rf_key_table[i].path, section, len) == 0 &&
		    rf_key_table[i].path[len] == '.')
			put_key(json, (enum rf_key)i);
	rf_json_close_object(json);
}

static void put_section(struct rf_json *json, const struct rf_key_section *section)
{
	rf_json_open_object(json, section->name);
	if (section->short_for < 0) {
		put_members(json, section->name);
	} else {
		enum rf_key key = (enum rf_key)section->short_for;

		rf_json_open_array(json, "anyOf");
		rf_json_open_object(json, NULL);
		rf_json_string(json, "description", rf_words_help(key));
		put_value(json, key);
		rf_json_close_object(json);
		rf_json_open_object(json, NULL);
		put_members(json, section->name);
		rf_json_close_object(json);
		rf_json_close_array(json);
	}
	rf_json_close_object(json);
}

void rf_schema_json(struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	rf_json_string(&json, "title", "Ringfort policy");
	rf_json_string(&json, "description", "What a box may see, use and do.");
	rf_json_open_array(&json, "type"); /* an empty text is an empty policy */
	rf_json_string(&json, NULL, "object");
	rf_json_string(&json, NULL, "null");
	rf_json_close_array(&json);
	rf_json_bool(&json, "additionalProperties", false);
	rf_json_open_object(&json, "properties");
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (!strchr(rf_key_table[i].path, '.'))
			put_key(&json, (enum rf_key)i);
	for (size_t i = 0; i < RF_KEY_SECTIONS; i++)
		put_section(&json, &rf_key_sections[i]);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
