/* Paths with `..`: see dots.h. */
#include "cli/dots.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether one of the names in the first `len` bytes of a path is `..`. */
static bool has_dots(const char *path, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t name = strcspn(path + at, "/");

		if (name > len - at)
			name = len - at;
		if (name == 2 && path[at] == '.' && path[at + 1] == '.')
			return true;
		at += name + 1;
	}
	return false;
}

int rf_dots_resolve(const char *rule, char **ret_rule, struct rf_err *err)
{
	const char *colon = strstr(rule, ":/");
	size_t len = colon ? (size_t)(colon - rule) : strlen(rule);
	char *source = NULL, *found = NULL;
	int code = 0;

	if (!has_dots(rule, len)) {
		*ret_rule = strdup(rule);
		return *ret_rule ? 0 : rf_fail(err, -ENOMEM, "a path");
	}
	source = strndup(rule, len);
	found = source ? realpath(source, NULL) : NULL;
	if (!found)
		code = rf_fail(err, -errno, "%s", source ? source : "a path");
	else if (asprintf(ret_rule, "%s%s", found, rule + len) < 0)
		code = rf_fail(err, -ENOMEM, "a path");
	free(source);
	free(found);
	return code;
}
