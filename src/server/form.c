/* What a request's JSON says: see form.h. */
#include "server/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const struct rf_form_field *fields;
	size_t count;
	char *to;
	struct rf_arena *arena;
	const char *where;
	struct rf_api_error *error;
};

static int complain(const struct reading *r, const char *name, const char *what)
{
	char where[128];

	snprintf(where, sizeof(where), "%.60s%s%.60s", r->where, r->where[0] ? "." : "", name);
	rf_api_error_say(r->error, RF_API_INVALID, where, "%s: %s", where, what);
	return -1;
}

static int unknown(const struct reading *r, const char *name)
{
	char list[200] = "";
	size_t len = 0;

	complain(r, name, "there is no such field");
	for (size_t i = 0; i < r->count && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					r->fields[i].name);
	return rf_api_error_hint(r->error, "the fields are %s", list);
}

static int expect(const struct reading *r, const struct rf_form_field *field,
		  const struct rf_jsonread_value *value, const char *wanted)
{
	char what[160];

	snprintf(what, sizeof(what), "it is %s, and should be %s", rf_jsonread_kind(value), wanted);
	return complain(r, field->name, what);
}

static int bound(const struct reading *r, const struct rf_form_field *field, uint64_t number,
		 const char *unit)
{
	char what[160];

	if (number >= field->least && number <= field->most)
		return 0;
	snprintf(what, sizeof(what), "%llu%s, and should be %llu to %llu",
		 (unsigned long long)number, unit, (unsigned long long)field->least,
		 (unsigned long long)field->most);
	return complain(r, field->name, what);
}

static int read_string(const struct reading *r, const struct rf_form_field *field,
		       const struct rf_jsonread_value *value)
{
	if (value->type != RF_JSONREAD_STRING)
		return expect(r, field, value, "a string");
	if (bound(r, field, strlen(value->text), " bytes") < 0)
		return -1;
	*(const char **)(void *)(r->to + field->offset) = value->text;
	return 0;
}

static char **make_list(const struct reading *r, const struct rf_form_field *field, size_t count)
{
	char **list = rf_arena_alloc(r->arena, (count + 1) * sizeof(*list));

	*(char ***)(void *)(r->to + field->offset) = list;
	return list;
}

static int no_memory(const struct reading *r)
{
	return rf_api_error_say(r->error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
}

static int read_strings(const struct reading *r, const struct rf_form_field *field,
			const struct rf_jsonread_value *value)
{
	bool is_one = field->type == RF_FORM_NAMES && value->type == RF_JSONREAD_STRING;
	const struct rf_jsonread_value *at = is_one ? value : value->first;
	size_t count = is_one ? 1 : value->count, i = 0;
	char **list;

	if (!is_one && value->type != RF_JSONREAD_ARRAY)
		return expect(r, field, value, "a list of strings");
	if (bound(r, field, count, " of them") < 0)
		return -1;
	list = make_list(r, field, count);
	for (; list && i < count; i++, at = at->next) {
		if (at->type != RF_JSONREAD_STRING)
			return expect(r, field, at, "a string, in a list of strings");
		list[i] = (char *)(uintptr_t)at->text;
	}
	return list ? 0 : no_memory(r);
}

static bool is_variable(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && len <= 64 && !name[len] && (*name < '0' || *name > '9');
}

static int read_variables(const struct reading *r, const struct rf_form_field *field,
			  const struct rf_jsonread_value *value)
{
	const struct rf_jsonread_value *at;
	size_t i = 0;
	char **list;

	if (value->type != RF_JSONREAD_OBJECT)
		return expect(r, field, value, "an object of strings");
	if (bound(r, field, value->count, " of them") < 0)
		return -1;
	list = make_list(r, field, value->count);
	for (at = value->first; list && at; at = at->next, i++) {
		if (at->type != RF_JSONREAD_STRING)
			return expect(r, field, at, "a string, in an object of strings");
		if (!is_variable(at->name))
			return complain(r, field->name,
					"a variable's name has letters, digits and `_`, and up to "
					"64 of them");
		list[i] = rf_arena_printf(r->arena, "%s=%s", at->name, at->text);
		if (!list[i])
			return no_memory(r);
	}
	return list ? 0 : no_memory(r);
}

int rf_form_number(const struct rf_jsonread_value *value, uint64_t *ret_number)
{
	struct rf_jsonread_value whole = *value;
	size_t len = strcspn(value->text, ".");
	char digits[24];

	if (!value->text[len])
		return rf_jsonread_u64(value, ret_number);
	if (len >= sizeof(digits) ||
	    strspn(value->text + len + 1, "0") != strlen(value->text + len + 1))
		return -1;
	memcpy(digits, value->text, len);
	digits[len] = '\0';
	whole.text = digits;
	return rf_jsonread_u64(&whole, ret_number);
}

static int read_number(const struct reading *r, const struct rf_form_field *field,
		       const struct rf_jsonread_value *value)
{
	uint64_t number;

	if (value->type != RF_JSONREAD_NUMBER || rf_form_number(value, &number) < 0)
		return value->type == RF_JSONREAD_NUMBER
			       ? complain(r, field->name,
					  "it should be a whole number, and not negative")
			       : expect(r, field, value, "a number");
	if (bound(r, field, number, "") < 0)
		return -1;
	*(uint64_t *)(void *)(r->to + field->offset) = number;
	return 0;
}

static int read_objects(const struct reading *r, const struct rf_form_field *field,
			const struct rf_jsonread_value *value)
{
	bool is_list = field->type == RF_FORM_OBJECTS;

	if (value->type != (is_list ? RF_JSONREAD_ARRAY : RF_JSONREAD_OBJECT))
		return expect(r, field, value, is_list ? "a list of objects" : "an object");
	if (bound(r, field, value->count, " of them") < 0)
		return -1;
	for (const struct rf_jsonread_value *at = is_list ? value->first : NULL; at; at = at->next)
		if (at->type != RF_JSONREAD_OBJECT)
			return expect(r, field, at, "an object, in a list of objects");
	*(const struct rf_jsonread_value **)(void *)(r->to + field->offset) = value;
	return 0;
}

static int read_field(const struct reading *r, const struct rf_form_field *field,
		      const struct rf_jsonread_value *value)
{
	switch (field->type) {
	case RF_FORM_STRING:
		return read_string(r, field, value);
	case RF_FORM_STRINGS:
	case RF_FORM_NAMES:
		return read_strings(r, field, value);
	case RF_FORM_VARIABLES:
		return read_variables(r, field, value);
	case RF_FORM_NUMBER:
		return read_number(r, field, value);
	case RF_FORM_TRUTH:
		if (value->type != RF_JSONREAD_TRUE && value->type != RF_JSONREAD_FALSE)
			return expect(r, field, value, "true or false");
		*(bool *)(r->to + field->offset) = value->type == RF_JSONREAD_TRUE;
		return 0;
	default:
		return read_objects(r, field, value);
	}
}

int rf_form_read(const struct rf_jsonread_value *object, const struct rf_form_field *fields,
		 size_t count, void *to, struct rf_arena *arena, const char *where,
		 struct rf_api_error *error)
{
	const struct reading r = { fields, count, to, arena, where, error };

	if (object->type != RF_JSONREAD_OBJECT)
		return rf_api_error_say(error, RF_API_INVALID, where,
					"it is %s, and should be an object",
					rf_jsonread_kind(object));
	for (const struct rf_jsonread_value *at = object->first; at; at = at->next) {
		size_t i = 0;

		while (i < count && strcmp(fields[i].name, at->name) != 0)
			i++;
		if (i == count)
			return unknown(&r, at->name);
		if (read_field(&r, &fields[i], at) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].is_needed && !rf_jsonread_member(object, fields[i].name))
			return complain(&r, fields[i].name, "it is missing");
	return 0;
}

static void copy_number(const char *text, const char *name, struct rf_json *json)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	if (*end)
		rf_json_double(json, name, strtod(text, NULL), 6);
	else
		rf_json_int(json, name, number);
}

void rf_form_copy(const struct rf_jsonread_value *value, const char *name, struct rf_json *json)
{
	const struct rf_jsonread_value *at;

	switch (value->type) {
	case RF_JSONREAD_NULL:
		rf_json_null(json, name);
		break;
	case RF_JSONREAD_FALSE:
	case RF_JSONREAD_TRUE:
		rf_json_bool(json, name, value->type == RF_JSONREAD_TRUE);
		break;
	case RF_JSONREAD_NUMBER:
		copy_number(value->text, name, json);
		break;
	case RF_JSONREAD_STRING:
		rf_json_string(json, name, value->text);
		break;
	case RF_JSONREAD_ARRAY:
		rf_json_open_array(json, name);
		for (at = value->first; at; at = at->next)
			rf_form_copy(at, NULL, json);
		rf_json_close_array(json);
		break;
	case RF_JSONREAD_OBJECT:
		rf_json_open_object(json, name);
		for (at = value->first; at; at = at->next)
			rf_form_copy(at, at->name, json);
		rf_json_close_object(json);
		break;
	}
}
