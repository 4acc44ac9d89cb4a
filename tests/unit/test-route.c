/* The table of the API: src/server/route.c, and openapi.json, which tells the same. */
#include "server/route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonread.h"
#include "harness.h"
#include "server/openapi.h"

RF_TEST(a_path_has_one_spelling)
{
	/* clang-format off */
	static const struct { const char *method, *path; const char *pattern; enum rf_api_code code; } cases[] = {
		{ "GET",    "/v1/health",              "/v1/health",              0 },
		{ "HEAD",   "/v1/health",              "/v1/health",              0 },
		{ "GET",    "/v1/sandboxes/ab12",      "/v1/sandboxes/{id}",      0 },
		{ "POST",   "/v1/sandboxes/a-b_C/exec", "/v1/sandboxes/{id}/exec", 0 },
		{ "get",    "/v1/health",              NULL, RF_API_NO_METHOD },
		{ "POST",   "/v1/health",              NULL, RF_API_NO_METHOD },
		{ "GET",    "/v1/health/",             NULL, RF_API_NOT_FOUND },
		{ "GET",    "//v1/health",             NULL, RF_API_NOT_FOUND },
		{ "GET",    "/v1/./health",            NULL, RF_API_NOT_FOUND },
		{ "GET",    "/v1/sandboxes/",          NULL, RF_API_NOT_FOUND },
		{ "GET",    "/v1/sandboxes/..",        NULL, RF_API_NOT_FOUND },
		{ "GET",    "/v1/sandboxes/a%2fb",     NULL, RF_API_NOT_FOUND },
		{ "GET",    "/v1/sandboxes/a/b",       NULL, RF_API_NOT_FOUND },
		{ "GET",    "",                        NULL, RF_API_NOT_FOUND },
		{ "GET",    "/V1/health",              NULL, RF_API_NOT_FOUND },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_api_error error = { 0 };
		struct rf_route_parts parts;
		const struct rf_route *route = rf_route_find(
			rf_span_of(cases[i].method), rf_span_of(cases[i].path), &parts, &error);

		RF_CHECK(cases[i].pattern
				 ? route && strcmp(route->path, cases[i].pattern) == 0
				 : !route && error.code == cases[i].code && error.remedy[0],
			 "%s %s: %s", cases[i].method, cases[i].path,
			 route ? route->path : error.message);
	}
}

static const struct rf_jsonread_value *operation_of(const struct rf_jsonread_value *paths,
						    const struct rf_route *route)
{
	const struct rf_jsonread_value *path = rf_jsonread_member(paths, route->path);
	char method[16] = "";

	for (size_t i = 0; route->method[i]; i++)
		method[i] = (char)tolower((unsigned char)route->method[i]);
	return path ? rf_jsonread_member(path, method) : NULL;
}

/* Parameters, body, scope: whatever the table says of a route is in the document. */
static void compare(const struct rf_jsonread_value *operation, const struct rf_route *route)
{
	const struct rf_jsonread_value *security = rf_jsonread_member(operation, "security");
	const struct rf_jsonread_value *parameters = rf_jsonread_member(operation, "parameters");
	bool has_body = rf_jsonread_member(operation, "requestBody") != NULL;
	size_t queries = 0, told = 0;

	RF_CHECK(has_body == (route->body > 0), "%s %s: a body", route->method, route->path);
	RF_CHECK((security && security->count == 0) == (route->scope == 0), "%s %s: a key",
		 route->method, route->path);
	for (const char *at = route->query; at && at[1]; at = strchr(at + 1, ','))
		queries++;
	for (const struct rf_jsonread_value *at = parameters ? parameters->first : NULL; at;
	     at = at->next) {
		const struct rf_jsonread_value *name = rf_jsonread_member(at, "name");
		const struct rf_jsonread_value *in = rf_jsonread_member(at, "in");
		char word[80];

		if (!name || !in || strcmp(in->text, "query") != 0)
			continue;
		told++;
		snprintf(word, sizeof(word), ",%s,", name->text);
		RF_CHECK(route->query && strstr(route->query, word), "%s %s: %s", route->method,
			 route->path, name->text);
	}
	RF_CHECK(queries == told, "%s %s: %zu parameters, and %zu are told", route->method,
		 route->path, queries, told);
	RF_CHECK(rf_jsonread_member(operation, "operationId") &&
			 rf_jsonread_member(operation, "summary"),
		 "%s %s: its name", route->method, route->path);
}

RF_TEST(the_document_tells_every_route_and_no_other)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_jsonread *json;
	const struct rf_jsonread_value *paths;
	size_t told = 0;

	RF_REQUIRE(rf_jsonread_parse(rf_openapi_text, rf_openapi_len, &json, &err) == 0, "%s",
		   err.msg);
	paths = rf_jsonread_member(rf_jsonread_root(json), "paths");
	RF_REQUIRE(paths, "paths");
	for (size_t i = 0; i < rf_route_count; i++) {
		const struct rf_jsonread_value *operation = operation_of(paths, &rf_route_table[i]);

		RF_CHECK(operation, "%s %s is not told", rf_route_table[i].method,
			 rf_route_table[i].path);
		if (operation)
			compare(operation, &rf_route_table[i]);
	}
	for (const struct rf_jsonread_value *path = paths->first; path; path = path->next)
		for (const struct rf_jsonread_value *at = path->first; at; at = at->next)
			told += strcmp(at->name, "parameters") != 0;
	RF_CHECK(told == rf_route_count, "%zu are told, and there are %zu", told, rf_route_count);
	rf_jsonread_free(json);
}
