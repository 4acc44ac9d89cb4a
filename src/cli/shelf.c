/* The shelf of profiles: see shelf.h. */
#include "cli/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/own-file.h"
#include "base/slurp.h"
#include "cli/home.h"
#include "policy/near.h"
#include "policy/profile.h"

#define SYSTEM_FOLDER "/etc/ringfort/profiles"
#define ENDING        ".yaml"

int rf_shelf_init(struct rf_shelf *shelf, const char *home, struct rf_err *err)
{
	*shelf = (struct rf_shelf){ .home = home ? strdup(home) : rf_home_find(geteuid()) };
	if (shelf->home)
		shelf->folder = rf_home_config(shelf->home, "profiles");
	return shelf->folder ? 0 : rf_fail(err, -ENOMEM, "find the profiles");
}

void rf_shelf_done(struct rf_shelf *shelf)
{
	free(shelf->home);
	free(shelf->folder);
	*shelf = (struct rf_shelf){ 0 };
}

/* ------------------------------------------------------------- files */

/* The folder of a path, absolute: relative paths in a policy count from there. */
static char *folder_of(const char *path)
{
	char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL, *folder;

	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	folder = copy ? realpath(slash ? copy : ".", NULL) : NULL;
	free(copy);
	return folder;
}

/* An empty file is an empty policy; an empty pipe is a program's that failed to write one. */
static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Reads the file at `path`, known as `name`; one that is read unasked must be the caller's own. */
static int load_path(const char *path, const char *name, bool is_own,
		     struct rf_chain_text *ret_text, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf buf = { 0 };
	struct rf_chain_text text = { 0 };
	int code = is_own ? rf_own_file_read(path, RF_MAX_POLICY_BYTES, &buf, err)
			  : rf_slurp(path, RF_MAX_POLICY_BYTES, &buf, err);

	if (code < 0)
		return code;
	if (buf.len == 0 && is_pipe(path)) {
		rf_fail_say(err, -ENODATA, "nothing came through this pipe");
		return rf_fail_hint(err, "did what should write the policy fail, or start late?");
	}
	text = (struct rf_chain_text){
		.name = strdup(name),
		.path = strdup(path),
		.id = realpath(path, NULL),
		.folder = folder_of(path),
		.len = buf.len,
		.is_own = is_own,
	};
	if (!text.id) /* a pipe of the shell's, /dev/fd/63, leads nowhere */
		text.id = strdup(path);
	text.text = rf_buf_take(&buf);
	if (!text.name || !text.path || !text.id || !text.folder || !text.text) {
		rf_chain_text_done(&text);
		return rf_fail(err, -ENOMEM, "can't read it");
	}
	*ret_text = text;
	return 0;
}

int rf_shelf_load_file(const char *path, struct rf_chain_text *ret_text, struct rf_err *err)
{
	return load_path(path, path, false, ret_text, err);
}

int rf_shelf_load_own(const char *path, struct rf_chain_text *ret_text, struct rf_err *err)
{
	return load_path(path, path, true, ret_text, err);
}

/* A file that another policy names: counted from that one's folder and as trusted as it is. */
static int load_beside(const struct rf_shelf *shelf, const char *name,
		       const struct rf_chain_text *from, struct rf_chain_text *ret_text,
		       struct rf_err *err)
{
	bool is_home = name[0] == '~' && name[1] == '/';
	const char *folder = is_home ? shelf->home : from->folder;
	char *path = NULL;
	int len, code;

	if (name[0] == '/')
		len = asprintf(&path, "%s", name);
	else if (folder)
		len = asprintf(&path, "%s/%s", folder,
			       is_home || strncmp(name, "./", 2) == 0 ? name + 2 : name);
	else
		return rf_fail_say(err, -EINVAL, "\"%.80s\": a built-in profile extends no files",
				   name);
	if (len < 0)
		return rf_fail(err, -ENOMEM, "%.80s", name);
	code = load_path(path, name, from->is_own, ret_text, err);
	if (code < 0 && !from->is_own) /* else the error names the file by itself */
		rf_fail_in(err, "%.80s", name);
	free(path);
	return code;
}

/* ------------------------------------------------------------- profiles */

static char *path_in(const char *folder, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s" ENDING, folder, name) < 0 ? NULL : path;
}

/* Where a profile of this name lies in a file; `*ret_path` is NULL if nowhere.  Twice is an error. */
static int find_file(const struct rf_shelf *shelf, const char *name, char **ret_path,
		     struct rf_err *err)
{
	char *mine = path_in(shelf->folder, name), *system = path_in(SYSTEM_FOLDER, name);
	bool has_mine = mine && access(mine, F_OK) == 0;
	bool has_system = system && access(system, F_OK) == 0;
	bool is_built_in = rf_profile_find(name) != NULL;
	int code = 0;

	*ret_path = NULL;
	if (!mine || !system) {
		code = rf_fail(err, -ENOMEM, "find profile %s", name);
	} else if (is_built_in && (has_mine || has_system)) {
		code = rf_fail_say(
			err, -EEXIST,
			"%s is a built-in profile, and there is a file of that name: %.120s", name,
			has_mine ? mine : system);
		rf_fail_hint(err, "give the file another name");
	} else if (has_mine && has_system) {
		code = rf_fail_say(err, -EEXIST, "two profiles are called %s: %.80s and %.80s",
				   name, mine, system);
		rf_fail_hint(err, "give yours another name; it may extend the other");
	} else if (has_mine || has_system) {
		*ret_path = strdup(has_mine ? mine : system);
		if (!*ret_path)
			code = rf_fail(err, -ENOMEM, "find profile %s", name);
	}
	free(mine);
	free(system);
	return code;
}

static int refuse_unknown(struct rf_shelf *shelf, const char *name, struct rf_err *err)
{
	struct rf_near near = rf_near_init(name);
	struct rf_shelf_list list = { 0 };

	if (rf_shelf_list(shelf, &list, err) < 0)
		return err->code;
	for (size_t i = 0; i < list.count; i++)
		rf_near_consider(&near, name, list.items[i].name, list.items[i].name);
	rf_fail_say(err, -ENOENT, "there is no profile \"%.40s\"", name);
	if (near.name)
		rf_fail_hint(err, "did you mean \"%s\"?", near.name);
	else
		rf_fail_hint(err,
			     "`ringfort policy show` lists the profiles; yours would be %.100s",
			     shelf->folder);
	rf_shelf_list_done(&list);
	return err->code;
}

int rf_shelf_load(void *context, const char *name, const struct rf_chain_text *from,
		  struct rf_chain_text *ret_text, struct rf_err *err)
{
	struct rf_shelf *shelf = context;
	char *path = NULL;
	int code;

	if (rf_chain_is_path(name) && from)
		return load_beside(shelf, name, from, ret_text, err);
	if (rf_chain_is_path(name)) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" is a file, not a profile's name", name);
		return rf_fail_hint(err, "--policy takes files");
	}
	if (rf_chain_check_name(name, err) < 0 || find_file(shelf, name, &path, err) < 0)
		return err->code;
	if (path)
		code = load_path(path, name, true, ret_text, err);
	else if (rf_profile_find(name))
		code = rf_profile_load(name, ret_text, err);
	else
		code = refuse_unknown(shelf, name, err);
	free(path);
	return code;
}

/* Merges a chain over the defaults and is done with it, also if it failed before. */
static int finish(struct rf_chain *chain, int code, struct rf_policy **ret_policy, char **ret_file,
		  struct rf_err *err)
{
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN);

	if (code >= 0 && !policy)
		code = rf_fail(err, -ENOMEM, "a policy");
	if (code >= 0)
		code = rf_chain_merge(chain, policy, err);
	*ret_file = chain->file;
	chain->file = NULL;
	rf_chain_done(chain);
	if (code < 0) {
		rf_policy_free(policy);
		return code;
	}
	*ret_policy = policy;
	return 0;
}

int rf_shelf_policy_file(struct rf_shelf *shelf, const char *path, struct rf_policy **ret_policy,
			 char **ret_file, struct rf_err *err)
{
	struct rf_chain chain = { .load = rf_shelf_load, .context = shelf, .home = shelf->home };
	struct rf_chain_text text = { 0 };
	int code = rf_shelf_load_file(path, &text, err);

	if (code < 0)
		chain.file = strdup(path);
	else
		code = rf_chain_add_text(&chain, &text, err);
	return finish(&chain, code, ret_policy, ret_file, err);
}

int rf_shelf_policy(struct rf_shelf *shelf, const char *what, struct rf_policy **ret_policy,
		    char **ret_file, struct rf_err *err)
{
	struct rf_chain chain = { .load = rf_shelf_load, .context = shelf, .home = shelf->home };
	bool is_nothing = strcmp(what, "-") == 0;

	if (rf_chain_is_path(what))
		return rf_shelf_policy_file(shelf, what, ret_policy, ret_file, err);
	return finish(&chain, is_nothing ? 0 : rf_chain_add(&chain, what, err), ret_policy,
		      ret_file, err);
}

/* ------------------------------------------------------------- the list */

static int add_item(struct rf_shelf_list *list, const char *name, const char *path,
		    struct rf_err *err)
{
	struct rf_shelf_item *items =
		realloc(list->items, (list->count + 1) * sizeof(*list->items));

	if (!items)
		return rf_fail(err, -ENOMEM, "list the profiles");
	list->items = items;
	items[list->count] = (struct rf_shelf_item){
		.name = strdup(name),
		.path = path ? strdup(path) : NULL,
	};
	if (!items[list->count++].name || (path && !items[list->count - 1].path))
		return rf_fail(err, -ENOMEM, "list the profiles");
	return 0;
}

/* What a profile's file says about itself, or why it can't be used. */
static void look(struct rf_shelf *shelf, struct rf_shelf_item *item)
{
	struct rf_policy *policy = NULL;
	struct rf_chain_text text = { 0 };
	struct rf_err err = RF_ERR_INIT;
	char *file = NULL;

	if (rf_shelf_load(shelf, item->name, NULL, &text, &err) >= 0)
		rf_profile_summary(text.text, item->summary, sizeof(item->summary));
	if (err.code == 0)
		rf_shelf_policy(shelf, item->name, &policy, &file, &err);
	snprintf(item->problem, sizeof(item->problem), "%s", err.msg);
	rf_chain_text_done(&text);
	rf_policy_free(policy);
	free(file);
}

static int by_name(const void *a, const void *b)
{
	const struct rf_shelf_item *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Adds the profiles of a folder; what is not called like one is none. */
static int list_folder(const char *folder, struct rf_shelf_list *list, struct rf_err *err)
{
	DIR *dir = opendir(folder);
	size_t first = list->count;
	const struct dirent *entry;
	int code = 0;

	while (dir && code >= 0 && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		struct rf_err ignored;
		char *name, *path;

		if (len <= strlen(ENDING) ||
		    strcmp(entry->d_name + len - strlen(ENDING), ENDING) != 0)
			continue;
		name = strndup(entry->d_name, len - strlen(ENDING));
		path = name ? path_in(folder, name) : NULL;
		if (!path)
			code = rf_fail(err, -ENOMEM, "list the profiles");
		else if (rf_chain_check_name(name, &ignored) >= 0)
			code = add_item(list, name, path, err);
		free(name);
		free(path);
	}
	if (dir)
		closedir(dir);
	if (list->count > first)
		qsort(list->items + first, list->count - first, sizeof(*list->items), by_name);
	return code;
}

int rf_shelf_list(struct rf_shelf *shelf, struct rf_shelf_list *ret_list, struct rf_err *err)
{
	struct rf_shelf_list list = { 0 };
	int code = 0;

	for (const struct rf_profile_text *p = rf_profile_texts; p->name && code >= 0; p++)
		code = add_item(&list, p->name, NULL, err);
	if (code >= 0)
		code = list_folder(SYSTEM_FOLDER, &list, err);
	if (code >= 0)
		code = list_folder(shelf->folder, &list, err);
	if (code < 0) {
		rf_shelf_list_done(&list);
		return code;
	}
	*ret_list = list;
	return 0;
}

void rf_shelf_list_look(struct rf_shelf *shelf, struct rf_shelf_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		look(shelf, &list->items[i]);
}

void rf_shelf_list_done(struct rf_shelf_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].path);
	}
	free(list->items);
	*list = (struct rf_shelf_list){ 0 };
}
