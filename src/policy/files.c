/* File rules: see files.h. */
#include "policy/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

/* Refuses what can't stand in a path that a person should be able to read back. */
static int check_bytes(const char *text, struct rf_err *err)
{
	if (!*text)
		return rf_fail_say(err, -EINVAL, "an empty path");
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return rf_fail_say(err, -EINVAL, "a path with a control character");
	if (strstr(text, ":/"))
		return rf_fail_say(err, -EINVAL, "\"%.80s\": a path can't hold \":/\"", text);
	return 0;
}

int rf_files_normal(const char *text, char *path, struct rf_err *err)
{
	size_t len = 0;

	if (check_bytes(text, err) < 0)
		return err->code;
	if (*text != '/')
		return rf_fail_say(err, -EINVAL, "\"%.80s\" is not an absolute path", text);

	while (*text) {
		size_t part = strcspn(text, "/");

		if (part == 2 && memcmp(text, "..", 2) == 0) {
			rf_fail_say(err, -EINVAL, "a path with \"..\" in it");
			return rf_fail_hint(err, "write the path that is meant, without \"..\"");
		}
		if (part > 0 && !(part == 1 && *text == '.')) {
			if (len + 1 + part >= RF_FILES_PATH)
				return rf_fail_say(err, -EINVAL, "a path longer than %d bytes",
						   RF_FILES_PATH - 1);
			path[len++] = '/';
			memcpy(path + len, text, part);
			len += part;
		}
		text += part + (text[part] == '/');
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
	return 0;
}

int rf_files_resolve(const char *text, const struct rf_files_base *base, char *path,
		     struct rf_err *err)
{
	bool is_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
	const char *from = is_home ? base->home : base->folder;
	char whole[RF_FILES_PATH];

	if (text[0] == '/' || text[0] == '\0')
		return rf_files_normal(text, path, err);
	if (text[0] == '~' && !is_home) {
		rf_fail_say(err, -EINVAL, "\"%.80s\": only your own home can be written as ~",
			    text);
		return rf_fail_hint(err, "write the absolute path");
	}
	if (!from) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" is not an absolute path", text);
		return rf_fail_hint(err, "there is no folder here that it could be relative to");
	}
	if (snprintf(whole, sizeof(whole), "%s/%s", from, is_home ? text + 1 : text) >=
	    (int)sizeof(whole))
		return rf_fail_say(err, -EINVAL, "a path longer than %d bytes", RF_FILES_PATH - 1);
	return rf_files_normal(whole, path, err);
}

int rf_files_parse(const char *text, const struct rf_files_base *base, char *source, char *dest,
		   struct rf_err *err)
{
	const char *colon = strstr(text, ":/");
	char first[RF_FILES_PATH];

	if (!colon) {
		if (rf_files_resolve(text, base, source, err) < 0)
			return err->code;
		memcpy(dest, source, strlen(source) + 1);
		return 0;
	}
	if ((size_t)(colon - text) >= sizeof(first))
		return rf_fail_say(err, -EINVAL, "a path longer than %d bytes", RF_FILES_PATH - 1);
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = '\0';
	if (rf_files_resolve(first, base, source, err) < 0)
		return err->code;
	return rf_files_normal(colon + 1, dest, err);
}

/* What follows `folder` in `path`: "" or "/rest".  The path lies within the folder. */
static const char *rest_of(const char *path, const char *folder)
{
	if (strcmp(folder, "/") == 0)
		return strcmp(path, "/") == 0 ? "" : path;
	return path + strlen(folder);
}

/* The rule that governs `dest`: the one with the longest place that holds it. */
static const struct rf_list_item *governing(const struct rf_list *list, const char *dest)
{
	const struct rf_list_item *best = NULL;

	for (size_t i = 0; i < list->count; i++)
		if (rf_path_is_beneath(dest, list->items[i].value) &&
		    (!best || strlen(list->items[i].value) > strlen(best->value)))
			best = &list->items[i];
	return best;
}

enum rf_files_right rf_files_look(const struct rf_list *read, const struct rf_list *write,
				  const char *source, const char *dest)
{
	const struct rf_list_item *r = governing(read, dest), *w = governing(write, dest);
	bool is_write = w && (!r || strlen(w->value) >= strlen(r->value));
	const struct rf_list_item *rule = is_write ? w : r;

	/* The place may be covered and yet show something else of the host. */
	if (!rule || !rf_path_is_beneath(source, rule->name) ||
	    strcmp(rest_of(source, rule->name), rest_of(dest, rule->value)) != 0)
		return RF_FILES_NONE;
	return is_write ? RF_FILES_WRITE : RF_FILES_READ;
}
