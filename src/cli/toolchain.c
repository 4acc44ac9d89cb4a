/* Toolchains: see toolchain.h. */
#include "cli/toolchain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/current.h"

/* Joins two parts of a path; false if that is too long. */
static bool join(char *path, const char *folder, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks for `name` in each absolute folder of `path`. */
static bool search(const char *path, const char *name, char *found)
{
	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (*path == '/' &&
		    snprintf(found, PATH_MAX, "%.*s/%s", (int)len, path, name) < PATH_MAX &&
		    is_program(found))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* The box's own PATH first: what is there needs nothing to be shown. */
static bool look_for(const char *name, const struct rf_toolchain_caller *caller, char *found)
{
	if (name[0] == '~' && name[1] == '/')
		return join(found, caller->home, name + 2) && is_program(found);
	if (strchr(name, '/'))
		return name[0] == '/' && snprintf(found, PATH_MAX, "%s", name) < PATH_MAX &&
		       is_program(found);
	return search(RF_TOOLCHAIN_BOX_PATH, name, found) || search(caller->path, name, found);
}

/* Cuts the last name off a path, in place; false if none would be left. */
static bool cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static const char *last_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* ------------------------------------------------------------- rustup */

/* rustup is one program under many names, by symbolic or hard links; it asks which toolchain to use. */
static bool is_rustup(const char *found)
{
	char folder[PATH_MAX], other[PATH_MAX];
	struct stat mine, its;

	snprintf(folder, sizeof(folder), "%s", found);
	return cut(folder) && join(other, folder, "rustup") && stat(found, &mine) == 0 &&
	       stat(other, &its) == 0 && mine.st_dev == its.st_dev && mine.st_ino == its.st_ino;
}

/* The toolchain that the caller chose: a variable, else a line of rustup's settings. */
static bool chosen_toolchain(const char *home, char *name, size_t size)
{
	static const char key[] = "default_toolchain = \"";
	const char *variable = getenv("RUSTUP_TOOLCHAIN"), *at;
	char path[PATH_MAX], settings[16384];

	if (variable && *variable)
		return snprintf(name, size, "%s", variable) < (int)size;
	if (!join(path, home, "settings.toml") ||
	    rf_fd_read_text(AT_FDCWD, path, settings, sizeof(settings)) < 0)
		return false;
	at = strstr(settings, key);
	if (!at)
		return false;
	at += sizeof(key) - 1;
	return snprintf(name, size, "%.*s", (int)strcspn(at, "\"\n"), at) < (int)size;
}

/* The folder of a toolchain by its whole name, or by the beginning of it ("stable"). */
static bool toolchain_folder(const char *folder, const char *name, char *path)
{
	DIR *dir;
	bool is_found = false;

	if (!*name || strchr(name, '/') || name[0] == '.')
		return false;
	if (join(path, folder, name) && access(path, F_OK) == 0)
		return true;
	dir = opendir(folder);
	for (struct dirent *e; dir && !is_found && (e = readdir(dir));)
		is_found = strncmp(e->d_name, name, strlen(name)) == 0 &&
			   e->d_name[strlen(name)] == '-' && join(path, folder, e->d_name);
	if (dir)
		closedir(dir);
	return is_found;
}

static bool resolve_rustup(const char *name, const char *caller_home, struct rf_toolchain *chain)
{
	const char *variable = getenv("RUSTUP_HOME");
	char home[PATH_MAX], folder[PATH_MAX], toolchain[128], path[PATH_MAX];

	if (variable && variable[0] == '/')
		snprintf(home, sizeof(home), "%s", variable);
	else if (!join(home, caller_home, ".rustup"))
		return false;
	return chosen_toolchain(home, toolchain, sizeof(toolchain)) &&
	       join(folder, home, "toolchains") && toolchain_folder(folder, toolchain, path) &&
	       realpath(path, chain->shown) &&
	       snprintf(chain->program, sizeof(chain->program), "%s/bin/%s", chain->shown, name) <
		       (int)sizeof(chain->program) &&
	       is_program(chain->program);
}

/* ------------------------------------------------------------- pyenv, rbenv and their like */

/* ROOT/shims/NAME is a script that finds ROOT/versions/VERSION/bin/NAME; ROOT/version has the version. */
static bool resolve_shim(const char *found, struct rf_toolchain *chain)
{
	char root[PATH_MAX], path[PATH_MAX], version[128];

	snprintf(root, sizeof(root), "%s", found);
	if (!cut(root) || strcmp(last_of(root), "shims") != 0 || !cut(root) ||
	    !join(path, root, "version") ||
	    rf_fd_read_text(AT_FDCWD, path, version, sizeof(version)) <= 0)
		return false;
	version[strcspn(version, "\n ")] = '\0';
	if (!*version || strchr(version, '/') || version[0] == '.')
		return false;
	return snprintf(path, sizeof(path), "%s/versions/%s", root, version) < (int)sizeof(path) &&
	       realpath(path, chain->shown) &&
	       snprintf(chain->program, sizeof(chain->program), "%s/bin/%s", chain->shown,
			last_of(found)) < (int)sizeof(chain->program) &&
	       is_program(chain->program);
}

/* ------------------------------------------------------------- any other */

/*
 * True if a folder is one program's own, so that showing it shows nothing else.  A home, what lies
 * right beneath one (.local and .cargo hold much besides programs) and folders of the system are not.
 */
static bool is_own_folder(const char *folder, const char *home)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", folder);
	return cut(parent) && rf_current_refusal(folder, home) == NULL &&
	       strcmp(parent, home) != 0 && strcmp(parent, "/root") != 0 &&
	       !(strncmp(parent, "/home/", 6) == 0 && !strchr(parent + 6, '/'));
}

/* PREFIX/bin/NAME: the prefix, if the program lies within it and it is a folder of its own. */
static bool resolve_prefix(const char *found, const char *real, const char *home,
			   struct rf_toolchain *chain)
{
	char prefix[PATH_MAX];

	snprintf(prefix, sizeof(prefix), "%s", found);
	if (!cut(prefix) || strcmp(last_of(prefix), "bin") != 0 || !cut(prefix) ||
	    !realpath(prefix, chain->shown) || !rf_path_is_beneath(real, chain->shown) ||
	    !is_own_folder(chain->shown, home))
		return false;
	return snprintf(chain->program, sizeof(chain->program), "%s/bin/%s", chain->shown,
			last_of(found)) < (int)sizeof(chain->program);
}

/* Where the program is, once links and scripts that only lead to it are out of the way. */
static int resolve(const char *found, const struct rf_toolchain_caller *caller,
		   struct rf_toolchain *chain)
{
	char real[PATH_MAX];

	if (is_rustup(found))
		return resolve_rustup(last_of(found), caller->home, chain) ? 0 : -ENOENT;
	if (resolve_shim(found, chain))
		return 0;
	if (!realpath(found, real))
		return -errno;
	if (rf_path_is_beneath(real, "/usr")) {
		/* By the name it was found under, if a box has that too: some programs look at it. */
		bool is_link_outside =
			!rf_path_is_beneath(found, "/usr") && !rf_path_is_beneath(found, "/bin");

		snprintf(chain->program, sizeof(chain->program), "%s",
			 is_link_outside ? real : found);
		chain->shown[0] = '\0';
		return 0;
	}
	if (resolve_prefix(found, real, caller->home, chain) ||
	    resolve_prefix(real, real, caller->home, chain))
		return 0;
	memcpy(chain->program, real, sizeof(real));
	memcpy(chain->shown, real, sizeof(real));
	return 0;
}

/* Where PATH of the box does not lead, its helpers would not be found by name. */
static void note_folder(struct rf_toolchain *chain)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };

	snprintf(chain->folder, sizeof(chain->folder), "%s", chain->program);
	cut(chain->folder);
	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (strcmp(chain->folder, folders[i]) == 0)
			chain->folder[0] = '\0';
}

static int fail_missing(const struct rf_lang *lang, const char *program, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "%s needs `%.60s`, which is not on this machine", lang->name,
		    program);
	if (lang->is_own)
		return rf_fail_hint(err,
				    "install it%s%.60s, or correct languages.%.40s.program in the "
				    "configuration",
				    lang->package ? ": apt install " : "",
				    lang->package ? lang->package : "", lang->name);
	if (lang->package)
		return rf_fail_hint(err,
				    "apt install %s (Debian's package), or put it on your PATH",
				    lang->package);
	return rf_fail_hint(err, "Debian has no package of it; put it on your PATH");
}

int rf_toolchain_find(const struct rf_lang *lang, const struct rf_toolchain_caller *caller,
		      struct rf_toolchain *ret_toolchain, struct rf_err *err)
{
	char found[PATH_MAX], name[256];

	for (const char *const *need = lang->needs; *need; need++)
		if (!look_for(*need, caller, found))
			return fail_missing(lang, *need, err);
	for (const char *const *program = lang->programs; *program; program++) {
		size_t len = strcspn(*program, " ");
		struct rf_toolchain chain = { .arguments = *program + len };
		int code;

		if (len >= sizeof(name))
			continue;
		memcpy(name, *program, len);
		name[len] = '\0';
		if (!look_for(name, caller, found))
			continue;
		code = resolve(found, caller, &chain);
		if (code < 0) {
			rf_fail(err, code, "%s: %.100s leads to no program", lang->name, found);
			return rf_fail_hint(err,
					    "choose one with its own tool (rustup default "
					    "stable), or install %s",
					    lang->package ? lang->package : "another");
		}
		note_folder(&chain);
		*ret_toolchain = chain;
		return 0;
	}
	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(lang->programs[0] ? lang->programs[0] : "?", " "),
		 lang->programs[0] ? lang->programs[0] : "?");
	return fail_missing(lang, name, err);
}
