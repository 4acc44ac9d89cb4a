/* The programs that a box may run: see program.h. */
#include "jail/program.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "jail/head.h"
#include "jail/helper.h"
#include "policy/view.h"

#define LINKS_MAX 40 /* on one way, as the kernel has it */
#define DEPTH_MAX 5  /* a script of a script of a script ... */

/* Where names of the policy are looked for, whatever PATH is in the box. */
static const char *const name_folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };

/* ------------------------------------------------------------- the set */

/* Makes room for one more in an array of `count`.  Returns 0 or a negative errno. */
static int reserve(void **array, size_t count, size_t size)
{
	void *more;

	if (count >= RF_PROGRAM_MAX)
		return -E2BIG;
	if (count & (count - 1)) /* grows at 0, 1, 2, 4, 8 ... */
		return 0;
	more = realloc(*array, (count ? count * 2 : 1) * size);
	if (!more)
		return -ENOMEM;
	*array = more;
	return 0;
}

static int add_link(struct rf_program_set *set, const char *path, const char *target)
{
	struct rf_program_link link;
	int r;

	for (size_t i = 0; i < set->link_count; i++)
		if (strcmp(set->links[i].path, path) == 0)
			return 0;
	r = reserve((void **)&set->links, set->link_count, sizeof(link));
	if (r < 0)
		return r;
	link = (struct rf_program_link){ strdup(path), strdup(target) };
	set->links[set->link_count++] = link;
	return link.path && link.target ? 0 : -ENOMEM;
}

static struct rf_program *find_program(const struct rf_program_set *set, const char *path)
{
	for (size_t i = 0; i < set->program_count; i++)
		if (strcmp(set->programs[i].path, path) == 0)
			return &set->programs[i];
	return NULL;
}

/* Returns 1 if it is new, 0 if not, or a negative errno. */
static int add_file(struct rf_program_set *set, const char *path, bool is_folder, const char *role,
		    const char *of)
{
	struct rf_program *known = find_program(set, path), program;
	char why[64];
	int r;

	if (known) {
		known->is_named |= !role;
		return 0;
	}
	r = reserve((void **)&set->programs, set->program_count, sizeof(program));
	if (r < 0)
		return r;
	snprintf(why, sizeof(why), "%s%s%.40s", role ? role : "named", role ? " of " : "",
		 role ? of : "");
	program = (struct rf_program){ strdup(path), strdup(why), !role, is_folder };
	set->programs[set->program_count++] = program;
	return program.path && program.why ? 1 : -ENOMEM;
}

static int add_folder(struct rf_program_set *set, const char *path)
{
	int r = reserve((void **)&set->folders, set->folder_count, sizeof(*set->folders));

	if (r < 0)
		return r;
	set->folders[set->folder_count] = strdup(path);
	return set->folders[set->folder_count++] ? 0 : -ENOMEM;
}

void rf_program_free(struct rf_program_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->program_count; i++) {
		free(set->programs[i].path);
		free(set->programs[i].why);
	}
	for (size_t i = 0; i < set->link_count; i++) {
		free(set->links[i].path);
		free(set->links[i].target);
	}
	for (size_t i = 0; i < set->folder_count; i++)
		free(set->folders[i]);
	free(set->programs);
	free(set->links);
	free(set->folders);
	free(set);
}

/* ------------------------------------------------------------- names as the box sees them */

/* Writes where on the host a path of the box lies.  False where it is not the host's at all. */
static bool host_path(const struct rf_plan *plan, const char *path, char host[PATH_MAX])
{
	const struct rf_place *place = rf_view_place(plan, path);

	if (!place || (place->kind != RF_PLACE_HOST && place->kind != RF_PLACE_SYSTEM))
		return false;
	return snprintf(host, PATH_MAX, "%s%s", place->source, path + strlen(place->path)) <
	       PATH_MAX;
}

/* True if an errno says that nothing is there to be seen; any other says nothing. */
static bool is_nothing(int code)
{
	return code == ENOENT || code == ENOTDIR || code == EACCES;
}

/* Reads the link at `path` of the box.  Returns its length, 0 if there is none, or a negative errno. */
static ssize_t read_link(const struct rf_plan *plan, const char *path, char target[PATH_MAX])
{
	const struct rf_place *place = rf_view_place(plan, path);
	char host[PATH_MAX];
	ssize_t len;

	if (place && place->kind == RF_PLACE_LINK && strcmp(place->path, path) == 0)
		return snprintf(target, PATH_MAX, "%s", place->source);
	/* A rule's own source is never a link: the mount wall refuses that. */
	if (!host_path(plan, path, host))
		return 0;
	len = readlink(host, target, PATH_MAX - 1);
	if (len < 0)
		return errno == EINVAL || is_nothing(errno) ? 0 : -errno;
	target[len] = '\0';
	return len;
}

/* Takes the last component off a path. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/*
 * Follows `path` in the box to a name without links, noting each link on the way in `set` (which may
 * be NULL).  Returns 0 or a negative errno; whether a file is there is another question.
 */
static int walk(const struct rf_plan *plan, const char *path, struct rf_program_set *set,
		char real[PATH_MAX])
{
	char rest[2 * PATH_MAX], target[PATH_MAX], *at = rest;
	int links = 0, r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(rest, path, strlen(path) + 1);
	real[0] = '\0';
	while (*(at += strspn(at, "/"))) {
		size_t part = strcspn(at, "/"), len = strlen(real);
		ssize_t size;

		if (part == 1 && at[0] == '.') {
			at += part;
			continue;
		}
		if (part == 2 && memcmp(at, "..", 2) == 0) {
			go_up(real);
			at += part;
			continue;
		}
		if (len + 1 + part >= PATH_MAX)
			return -ENAMETOOLONG;
		snprintf(real + len, PATH_MAX - len, "/%.*s", (int)part, at);
		at += part;
		size = read_link(plan, real, target);
		if (size < 0)
			return (int)size;
		if (size == 0)
			continue;
		if (++links > LINKS_MAX)
			return -ELOOP;
		r = set ? add_link(set, real, target) : 0;
		if (r < 0)
			return r;
		if ((size_t)size + strlen(at) >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(target + size, at, strlen(at) + 1);
		at = memcpy(rest, target, strlen(target) + 1);
		if (target[0] == '/')
			real[0] = '\0';
		else
			go_up(real);
	}
	return 0;
}

/* Opens the file at a name without links, if it is a program.  Returns a descriptor or an errno. */
static int open_program(const struct rf_plan *plan, const char *real)
{
	char host[PATH_MAX];
	RF_AUTO_FD int file = -1;
	struct stat st;

	if (!host_path(plan, real, host))
		return -ENOENT;
	/* Looked at before it is opened: to open a pipe or a device can have effects. */
	if (lstat(host, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -EACCES;
	file = open(host, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file < 0 &&
	    errno == EACCES) /* executable, and not readable: what it needs is not known */
		file = open(host, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return -errno;
	return rf_fd_take(&file);
}

/* ------------------------------------------------------------- what a program needs */

static int add_path(const struct rf_plan *plan, struct rf_program_set *set, const char *path,
		    const char *role, const char *of, int depth);
static int add_name(const struct rf_plan *plan, struct rf_program_set *set, const char *name,
		    const char *role, const char *of, int depth);

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A needed thing that is not there is none of our business: the program itself will say it. */
static int forgive(int code)
{
	return code == -E2BIG || code == -ENOMEM ? code : 0;
}

static int add_loader(const struct rf_plan *plan, struct rf_program_set *set, int file,
		      const struct rf_head *head, const char *of, int depth)
{
	char loader[RF_HEAD_LOADER + 1];
	ssize_t n = pread(file, loader, head->loader_len, (off_t)head->loader_at);

	if (n != (ssize_t)head->loader_len || loader[0] != '/')
		return 0;
	loader[n] = '\0';
	return forgive(add_path(plan, set, loader, "loader", of, depth));
}

/* What the kernel starts besides the file itself. */
static int add_starters(const struct rf_plan *plan, struct rf_program_set *set, int file,
			const char *of, int depth)
{
	char bytes[RF_HEAD_BYTES];
	ssize_t len = pread(file, bytes, sizeof(bytes), 0);
	struct rf_head head;
	int r = 0;

	if (len <= 0)
		return 0;
	rf_head_parse(bytes, (size_t)len, &head);
	if (head.interpreter[0])
		r = forgive(add_path(plan, set, head.interpreter, "interpreter", of, depth));
	if (r >= 0 && head.program[0])
		r = forgive((head.program[0] == '/' ? add_path : add_name)(
			plan, set, head.program, "interpreter", of, depth));
	if (r >= 0 && head.loader_len)
		r = add_loader(plan, set, file, &head, of, depth);
	return r;
}

/* Adds what lies at a pattern of paths; one that ends in a slash means folders. */
static int add_pattern(const struct rf_plan *plan, struct rf_program_set *set, const char *pattern,
		       const char *of, int depth)
{
	bool is_folder = pattern[strlen(pattern) - 1] == '/';
	glob_t found = { 0 };
	int r = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
		globfree(&found);
		return 0;
	}
	for (size_t i = 0; i < found.gl_pathc && r >= 0; i++) {
		char real[PATH_MAX], host[PATH_MAX];
		struct stat st;

		if (!is_folder)
			r = forgive(add_path(plan, set, found.gl_pathv[i], "helper", of, depth));
		else if (walk(plan, found.gl_pathv[i], NULL, real) == 0 &&
			 host_path(plan, real, host) && lstat(host, &st) == 0 &&
			 S_ISDIR(st.st_mode))
			r = forgive(add_file(set, real, true, "helper", of));
	}
	globfree(&found);
	return r;
}

static int add_helpers(const struct rf_plan *plan, struct rf_program_set *set, const char *name,
		       int depth)
{
	int r = 0;

	for (size_t i = 0; i < rf_helper_count; i++) {
		if (fnmatch(rf_helper_table[i].program, name, 0) != 0)
			continue;
		for (const char *const *need = rf_helper_table[i].needs; *need && r >= 0; need++)
			r = **need == '/'
				    ? add_pattern(plan, set, *need, name, depth)
				    : forgive(add_name(plan, set, *need, "helper", name, depth));
	}
	return r;
}

/* Adds the program at `path` of the box with what it needs.  `role` is NULL for a named one. */
static int add_path(const struct rf_plan *plan, struct rf_program_set *set, const char *path,
		    const char *role, const char *of, int depth)
{
	char real[PATH_MAX];
	RF_AUTO_FD int file = -1;
	int r = depth > DEPTH_MAX ? -ELOOP : walk(plan, path, NULL, real);

	if (r < 0)
		return r;
	file = open_program(plan, real);
	if (file < 0)
		return file;
	r = walk(plan, path, set, real); /* now that it leads somewhere, its links count */
	if (r >= 0)
		r = add_file(set, real, false, role, of);
	if (r <= 0)
		return r;
	r = add_starters(plan, set, file, base_of(path), depth + 1);
	if (r >= 0)
		r = add_helpers(plan, set, base_of(path), depth + 1);
	/* gcc is x86_64-linux-gnu-gcc-12: either name may be the one that the table knows. */
	if (r >= 0 && strcmp(base_of(path), base_of(real)) != 0)
		r = add_helpers(plan, set, base_of(real), depth + 1);
	return r;
}

static int add_name(const struct rf_plan *plan, struct rf_program_set *set, const char *name,
		    const char *role, const char *of, int depth)
{
	int r = -ENOENT;

	for (size_t i = 0; i < RF_LEN(name_folders) && r == -ENOENT; i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s/%s", name_folders[i], name) >=
		    (int)sizeof(path))
			return -ENAMETOOLONG;
		r = add_path(plan, set, path, role, of, depth);
		if (r == -ENOTDIR)
			r = -ENOENT;
	}
	return r;
}

/* ------------------------------------------------------------- the folders */

static bool is_in_folder(const struct rf_program_set *set, const char *path)
{
	for (size_t i = 0; i < set->folder_count; i++)
		if (rf_path_is_beneath(path, set->folders[i]))
			return true;
	/* A folder that is all helpers is shown as it is. */
	for (size_t i = 0; i < set->program_count; i++)
		if (set->programs[i].is_folder && rf_path_is_beneath(path, set->programs[i].path))
			return true;
	return false;
}

/* Notes a folder of programs, if it is one, by the name without links. */
static int note_folder(const struct rf_plan *plan, struct rf_program_set *set, const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	int r = walk(plan, path, NULL, real);

	if (r < 0)
		return r == -ELOOP || r == -ENAMETOOLONG ? 0 : r;
	if (strcmp(path, real) != 0)
		return 0;
	if (lstat(path, &st) < 0)
		return is_nothing(errno) ? 0 : -errno;
	return S_ISDIR(st.st_mode) && !is_in_folder(set, path) ? add_folder(set, path) : 0;
}

/* For glob(3): a folder that could not be looked for may be there.  musl's forgets that it was told. */
static bool has_stopped;

static int stop_at(const char *path, int code)
{
	(void)path;
	has_stopped |= !is_nothing(code);
	return has_stopped;
}

/* The folders of programs that this machine has. */
static int find_folders(const struct rf_plan *plan, struct rf_program_set *set)
{
	int r = 0;

	for (size_t i = 0; i < rf_helper_folder_count && r >= 0; i++) {
		glob_t found = { 0 };
		int code;

		has_stopped = false;
		code = glob(rf_helper_folders[i], GLOB_NOSORT, stop_at, &found);
		if (has_stopped || (code != 0 && code != GLOB_NOMATCH))
			r = code == GLOB_NOSPACE ? -ENOMEM : -EIO;
		for (size_t k = 0; code == 0 && k < found.gl_pathc && r >= 0; k++)
			r = note_folder(plan, set, found.gl_pathv[k]);
		globfree(&found);
	}
	return r;
}

/* ------------------------------------------------------------- the whole */

static int fail_command(const char *name, int code, struct rf_err *err)
{
	if (code == -E2BIG || code == -ENOMEM)
		return rf_fail(err, code, "commands");
	if (code == -ENOENT || code == -ENOTDIR) {
		rf_fail_say(err, -ENOENT, "commands: there is no program `%.100s` for the box",
			    name);
		if (name[0] == '/')
			return rf_fail_hint(err, "it must lie in /usr or in a shown tree; see "
						 "files.read");
		return rf_fail_hint(err, "install it, or write its path in the box; names are "
					 "looked for in /usr/local/bin, /usr/bin and /bin");
	}
	if (code == -EACCES) {
		rf_fail_say(err, -EACCES, "commands: %.100s is not a program", name);
		return rf_fail_hint(err, "name an executable file");
	}
	return rf_fail(err, code, "commands: %.100s", name);
}

int rf_program_find(const struct rf_plan *plan, struct rf_program_set **ret_set, struct rf_err *err)
{
	struct rf_program_set *set = calloc(1, sizeof(*set));
	int r = set ? 0 : rf_fail(err, -ENOMEM, "commands");

	for (char *const *name = plan->commands; set && *name && r >= 0; name++) {
		r = (**name == '/' ? add_path : add_name)(plan, set, *name, NULL, NULL, 0);
		if (r < 0)
			fail_command(*name, r, err);
	}
	if (r >= 0) {
		r = find_folders(plan, set);
		if (r < 0)
			rf_fail(err, r, "commands: look for folders of programs");
	}
	if (r < 0) {
		rf_program_free(set);
		return err->code;
	}
	*ret_set = set;
	return 0;
}

/* Where `name` is found in the box, as pid 1 looks.  Returns 0, or a negative errno if nowhere. */
static int find_inside(const struct rf_plan *plan, const char *name, char whole[PATH_MAX],
		       char real[PATH_MAX])
{
	const char *path = "";

	if (strchr(name, '/')) {
		if (snprintf(whole, PATH_MAX, "%s%s%s", name[0] == '/' ? "" : plan->workdir,
			     name[0] == '/' ? "" : "/", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return walk(plan, whole, NULL, real);
	}
	for (char *const *env = plan->env; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			path = *env + 5;
	for (; *path; path += *path == ':') {
		size_t len = strcspn(path, ":");
		RF_AUTO_FD int file = -1;

		if (snprintf(whole, PATH_MAX, "%.*s/%s", (int)len, path, name) < PATH_MAX &&
		    walk(plan, whole, NULL, real) == 0)
			file = open_program(plan, real);
		if (file >= 0)
			return 0;
		path += len;
	}
	return -ENOENT;
}

const struct rf_program *rf_program_look(const struct rf_program_set *set,
					 const struct rf_plan *plan, const char *name, char *real)
{
	char whole[PATH_MAX];
	RF_AUTO_FD int file = -1;

	if (find_inside(plan, name, whole, real) == 0)
		file = open_program(plan, real);
	if (file < 0) {
		real[0] = '\0';
		return NULL;
	}
	for (size_t i = 0; i < set->program_count; i++)
		if (set->programs[i].is_folder ? rf_path_is_beneath(real, set->programs[i].path)
					       : strcmp(real, set->programs[i].path) == 0)
			return &set->programs[i];
	return NULL;
}

int rf_program_admit(struct rf_program_set *set, const struct rf_plan *plan, struct rf_err *err)
{
	const char *name = plan->argv[0];
	const struct rf_program *program;
	char whole[PATH_MAX], real[PATH_MAX];
	int r;

	if (find_inside(plan, name, whole, real) < 0)
		return 0; /* it is not there: pid 1 says so */
	program = find_program(set, real);
	if (program && program->is_named) {
		r = walk(plan, whole, set, real);
		return r < 0 ? rf_fail(err, r, "commands: %.100s", name) : 0;
	}
	rf_fail_say(err, -EPERM, "%.100s is not one of the programs that the policy allows", name);
	return rf_fail_hint(err, "add it: `commands: [%.60s]`, or --command %.60s", name, name);
}
