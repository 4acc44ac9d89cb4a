/* The arguments of MCP's tools: see mcp-arguments.h. */
#include "server/mcp-arguments.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "server/form.h"

#define PATH_BYTES 128

/* Where an argument stands: `env.PATH`, `limits.memory`. */
struct path {
	char text[PATH_BYTES];
};

static struct path path_of(const struct path *above, const char *name)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%.60s%s%.60s", above->text,
		 above->text[0] ? "." : "", name);
	return path;
}

static int refuse(struct rf_api_error *error, const struct path *path, const char *what,
		  const char *hint)
{
	rf_api_error_say(error, RF_API_INVALID, path->text, "%s: %s", path->text, what);
	return rf_api_error_hint(error, "%s", hint);
}

/* The names that an object may have, for a model that guessed another. */
static int refuse_name(struct rf_api_error *error, const struct path *path,
		       const struct rf_mcp_argument *object, bool is_tool)
{
	char hint[240];
	size_t len =
		(size_t)snprintf(hint, sizeof(hint), "%s has %s%s", object->name,
				 object->count ? "" : "no ", is_tool ? "arguments" : "members");

	for (size_t i = 0; i < object->count && len < sizeof(hint); i++)
		len += (size_t)snprintf(hint + len, sizeof(hint) - len, "%s%s", i ? ", " : ": ",
					object->members[i].name);
	return refuse(error, path,
		      is_tool ? "there is no such argument" : "there is no such member", hint);
}

static unsigned type_of(const struct rf_jsonread_value *value)
{
	switch (value->type) {
	case RF_JSONREAD_STRING:
		return RF_MCP_STRING;
	case RF_JSONREAD_NUMBER:
		return RF_MCP_INTEGER;
	case RF_JSONREAD_FALSE:
	case RF_JSONREAD_TRUE:
		return RF_MCP_BOOLEAN;
	case RF_JSONREAD_OBJECT:
		return RF_MCP_OBJECT;
	default:
		return 0;
	}
}

static int refuse_type(struct rf_api_error *error, const struct path *path,
		       const struct rf_mcp_argument *argument,
		       const struct rf_jsonread_value *value)
{
	static const char *const names[] = { "a string", "a whole number", "true or false",
					     "an object" };
	char what[160];
	size_t len = (size_t)snprintf(what, sizeof(what), "it is %s, and should be ",
				      rf_jsonread_kind(value));
	bool is_first = true;

	for (size_t i = 0; i < RF_LEN(names); i++) {
		if (!(argument->types & (1u << i)))
			continue;
		len += (size_t)snprintf(what + len, sizeof(what) - len, "%s%s",
					is_first ? "" : " or ", names[i]);
		is_first = false;
	}
	return refuse(error, path, what, "look at the tool's schema");
}

static int check_integer(const struct rf_mcp_argument *argument,
			 const struct rf_jsonread_value *value, const struct path *path,
			 struct rf_api_error *error)
{
	uint64_t number;
	char what[160];

	if (rf_form_number(value, &number) == 0 && number >= argument->least &&
	    number <= argument->most)
		return 0;
	if (argument->most == UINT64_MAX)
		return refuse(error, path, "it should be a whole number, and not negative",
			      "look at the tool's schema");
	snprintf(what, sizeof(what), "%.24s, and should be a whole number from %llu to %llu",
		 value->text, (unsigned long long)argument->least,
		 (unsigned long long)argument->most);
	return refuse(error, path, what, "look at the tool's schema");
}

static int check_choice(const struct rf_mcp_argument *argument,
			const struct rf_jsonread_value *value, const struct path *path,
			struct rf_api_error *error)
{
	char what[160];
	size_t len;

	for (const char *const *at = argument->choices; at && *at; at++)
		if (strcmp(*at, value->text) == 0)
			return 0;
	if (!argument->choices)
		return 0;
	len = (size_t)snprintf(what, sizeof(what), "`%.40s`, and should be one of ", value->text);
	for (const char *const *at = argument->choices; *at && len < sizeof(what); at++)
		len += (size_t)snprintf(what + len, sizeof(what) - len, "%s%s",
					at == argument->choices ? "" : ", ", *at);
	return refuse(error, path, what, "look at the tool's schema");
}

static const struct rf_mcp_argument *find(const struct rf_mcp_argument *object, const char *name)
{
	for (size_t i = 0; i < object->count; i++)
		if (strcmp(object->members[i].name, name) == 0)
			return &object->members[i];
	return object->others;
}

static int check_value(const struct rf_mcp_argument *argument,
		       const struct rf_jsonread_value *value, const struct path *path,
		       struct rf_api_error *error);

/* As deep as the schema, whatever the depth of the value. */
static int check_object(const struct rf_mcp_argument *object, const struct rf_jsonread_value *value,
			const struct path *path, bool is_tool, struct rf_api_error *error)
{
	for (const struct rf_jsonread_value *at = value->first; at; at = at->next) {
		const struct rf_mcp_argument *member = find(object, at->name);
		const struct path beneath = path_of(path, at->name);

		if (!member)
			return refuse_name(error, &beneath, object, is_tool);
		if (check_value(member, at, &beneath, error) < 0)
			return -1;
	}
	return 0;
}

static int check_value(const struct rf_mcp_argument *argument,
		       const struct rf_jsonread_value *value, const struct path *path,
		       struct rf_api_error *error)
{
	unsigned type = type_of(value);

	if (!(argument->types & type))
		return refuse_type(error, path, argument, value);
	if (type == RF_MCP_INTEGER)
		return check_integer(argument, value, path, error);
	if (type == RF_MCP_STRING)
		return check_choice(argument, value, path, error);
	return type == RF_MCP_OBJECT ? check_object(argument, value, path, false, error) : 0;
}

int rf_mcp_arguments_check(const char *tool, const struct rf_jsonread_value *arguments,
			   const char *subject, struct rf_api_error *error)
{
	const struct path none = { "" };
	size_t i = 0;

	while (i < rf_mcp_schema_count && strcmp(rf_mcp_schemas[i].name, tool) != 0)
		i++;
	if (i == rf_mcp_schema_count) /* a test holds the tables against each other */
		return rf_api_error_say(error, RF_API_INTERNAL, NULL, "%s has no schema", tool);
	if (arguments && check_object(&rf_mcp_schemas[i], arguments, &none, true, error) < 0)
		return -1;
	for (size_t j = 0; j < rf_mcp_schemas[i].count; j++) {
		const struct rf_mcp_argument *one = &rf_mcp_schemas[i].members[j];

		if (one->is_required && strcmp(one->name, subject) != 0 &&
		    !(arguments && rf_jsonread_member(arguments, one->name))) {
			const struct path path = path_of(&none, one->name);

			return refuse(error, &path, "it is missing", "look at the tool's schema");
		}
	}
	return 0;
}
