/*
 * A hostile pattern: the input is a pattern and, behind a newline, a path.  Whatever they are, a normal
 * form is its own normal form, matching ends, and a part without wildcards matches its name.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pattern.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Builds the path that the pattern's literal parts name; false if it has others. */
static bool literal_path(const struct rf_pattern *pattern, char *path)
{
	size_t len = 0;

	for (size_t i = 0; i < pattern->count; i++) {
		char name[RF_PATTERN_NAME];

		if (!rf_pattern_name(pattern, i, name))
			return false;
		require(strlen(name) > 0 && !strchr(name, '/'));
		path[len++] = '/';
		memcpy(path + len, name, strlen(name) + 1);
		len += strlen(name);
	}
	return true;
}

RF_FUZZ(data, size)
{
	static const struct rf_files_base base = { "/folder/with [brackets]", "/home/box" };
	char normal[RF_FILES_PATH], again[RF_FILES_PATH], path[RF_FILES_PATH + 2];
	struct rf_pattern pattern;
	struct rf_err err = RF_ERR_INIT;
	char *text = calloc(1, size + 1), *other;

	require(text);
	memcpy(text, data, size);
	other = strchr(text, '\n');
	if (other)
		*other++ = '\0';
	if (rf_pattern_normal(text, &base, normal, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		free(text);
		return 0;
	}
	require(normal[0] == '/' && normal[1] && strlen(normal) < RF_FILES_PATH);
	require(rf_pattern_normal(normal, &base, again, &err) == 0 && strcmp(normal, again) == 0);
	rf_pattern_init(&pattern, normal);
	require(pattern.count > 0 && pattern.count <= RF_PATTERN_PARTS);
	if (literal_path(&pattern, path))
		require(rf_pattern_covers(&pattern, path));
	if (other && *other == '/')
		rf_pattern_covers(&pattern, other);
	free(text);
	return 0;
}
