/* What a repository points to: see pointed.h. */
#include "jail/pointed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "policy/protected.h"

#define TEXT_MAX 65536 /* bytes of one file */
#define FILES    16    /* of settings */

struct look {
	int top;
	const char *source;
	struct rf_pointed *pointed;
	unsigned files;
};

/* `text` from the folder `base` on, as a path of the tree; false if it leads out, or to the top. */
static bool resolve(const struct look *look, const char *base, const char *text,
		    char ret_path[PATH_MAX])
{
	size_t len = strlen(look->source), used = 0;
	char whole[2 * PATH_MAX];

	if (strncmp(text, look->source, len) == 0 && text[len] == '/')
		snprintf(whole, sizeof(whole), "%s", text + len);
	else if (text[0] == '/' || text[0] == '~' ||
		 snprintf(whole, sizeof(whole), "%s/%s", base, text) >= (int)sizeof(whole))
		return false;
	for (const char *part = whole; *part; part += *part == '/') {
		size_t name = strcspn(part, "/");

		if (name == 2 && strncmp(part, "..", 2) == 0) {
			if (used == 0)
				return false;
			while (used > 0 && ret_path[--used] != '/')
				;
		} else if (name > 0 && !(name == 1 && *part == '.')) {
			if (used + name + 2 > PATH_MAX)
				return false;
			if (used > 0)
				ret_path[used++] = '/';
			memcpy(ret_path + used, part, name);
			used += name;
		}
		part += name;
	}
	ret_path[used] = '\0';
	return used > 0;
}

static void add(struct look *look, const char *path, const char *name)
{
	struct rf_pointed *pointed = look->pointed;
	char *copy = pointed->count < RF_POINTED_MAX ? strdup(path) : NULL;

	if (copy)
		pointed->places[pointed->count++] = (struct rf_pointed_place){ copy, name };
}

/* The text of a file, or -1; nothing else is opened. */
static ssize_t read_file(const struct look *look, const char *path, char text[TEXT_MAX])
{
	RF_AUTO_FD int it = rf_path_open_within(look->top, path, O_PATH | O_NOFOLLOW);
	RF_AUTO_FD int file = -1;
	struct stat st;

	if (it < 0 || fstat(it, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	file = rf_path_open_within(look->top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return file < 0 ? -1 : pread(file, text, TEXT_MAX, 0);
}

/* Settings at `path`, where the work tree is the folder itself. */
static void read_config(struct look *look, const char *path)
{
	char *text = look->files++ < FILES ? malloc(TEXT_MAX) : NULL;
	char *scratch = text ? malloc(TEXT_MAX + 1) : NULL;
	ssize_t len = scratch ? read_file(look, path, text) : -1;
	const char *slash = strrchr(path, '/');
	struct rf_gitconfig config;
	char folder[PATH_MAX], next[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (len > 0)
		rf_gitconfig_init(&config, text, (size_t)len, scratch);
	while (len > 0 && rf_gitconfig_next(&config) > 0) {
		enum rf_gitconfig_role role = rf_gitconfig_role(&config);

		if (role == RF_GITCONFIG_INCLUDE && resolve(look, folder, config.value, next)) {
			add(look, next, ".git/config");
			read_config(look, next);
		} else if (role == RF_GITCONFIG_HOOKS && resolve(look, "", config.value, next)) {
			add(look, next, ".git/hooks");
		} else if (role == RF_GITCONFIG_ATTRIBUTES &&
			   resolve(look, "", config.value, next)) {
			add(look, next, ".git/info/attributes");
		}
	}
	free(scratch);
	free(text);
}

void rf_pointed_find(int top, const char *source, struct rf_pointed *ret_pointed)
{
	struct look look = { top, source, ret_pointed, 0 };
	char *text = malloc(TEXT_MAX), git[PATH_MAX] = ".git", link[PATH_MAX], path[PATH_MAX];
	ssize_t len = text ? read_file(&look, git, text) : -1;
	bool is_inside = true;

	*ret_pointed = (struct rf_pointed){ 0 };
	if (len > 0) {
		is_inside = rf_gitconfig_read_link(text, (size_t)len, link) &&
			    resolve(&look, "", link, git);
		if (is_inside)
			add(&look, git, ".git");
	}
	if (is_inside && resolve(&look, git, "commondir", path) &&
	    (len = text ? read_file(&look, path, text) : -1) > 0) {
		is_inside = rf_gitconfig_read_path(text, (size_t)len, link) &&
			    resolve(&look, git, link, path);
		if (is_inside) {
			add(&look, path, ".git");
			memcpy(git, path, sizeof(git));
		}
	}
	free(text);
	if (is_inside && resolve(&look, git, "config", path))
		read_config(&look, path);
}

void rf_pointed_done(struct rf_pointed *pointed)
{
	while (pointed->count > 0)
		free(pointed->places[--pointed->count].path);
}

const char *rf_pointed_what(const struct rf_pointed *pointed, const char *path)
{
	for (size_t i = 0; i < pointed->count; i++) {
		const struct rf_pointed_place *place = &pointed->places[i];
		size_t len = strlen(place->path);
		char name[2 * PATH_MAX];
		const char *what;

		if (strncmp(path, place->path, len) != 0 || (path[len] && path[len] != '/') ||
		    snprintf(name, sizeof(name), "%s%s", place->name, path + len) >=
			    (int)sizeof(name))
			continue;
		what = rf_protected_what(name);
		if (what)
			return what;
	}
	return NULL;
}
