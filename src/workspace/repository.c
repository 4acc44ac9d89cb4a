/* What git repositories point to: see repository.h. */
#include "workspace/repository.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "workspace/spot.h"

#define FILE_MAX   ((size_t)1 << 20)  /* bytes of one file of settings */
#define READS      8192               /* files that are read */
#define BYTES      ((size_t)32 << 20) /* of all of them together */
#define PLACES     65536              /* that are found */
#define FOUND      16384              /* repositories */
#define NEIGHBOURS 8192               /* folders beside the way that are looked into */
#define DEPTH      10                 /* of settings that include others, as git counts */
#define WORDS      32                 /* of a command */
#define HOOKS      256                /* links among hooks that are followed */
#define LISTED_MAX ((off_t)16384)     /* bytes of a folder whose neighbours are looked for */

/* The two sides of a comparison. */
enum {
	BEFORE,
	AFTER
};

/* A folder that has a `.git`, or is a repository itself, by its HEAD. */
struct found {
	char *folder; /* absolute */
	bool is_head;
};

struct setting {
	enum rf_gitconfig_role role;
	char *text;
	bool is_own;
};

struct search {
	struct rf_spot_view views[2];
	struct rf_repository_places *places;
	struct found *found;
	size_t found_count, found_room;
	struct setting *settings; /* those of the user, then those of one repository */
	size_t count, room;
	size_t reads, bytes, neighbours;
	int side;
	const char *name; /* what is resolved just now */
	int code;         /* of the first failure, which ends all */
};

/* ------------------------------------------------------------- what is found */

/* Room for one more in a list that grows, or NULL. */
static void *grow(struct search *s, void *items, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	void *grown = items;

	if (count < *room)
		return items;
	grown = realloc(items, more * size);
	if (!grown) {
		s->code = -ENOMEM;
		return NULL;
	}
	*room = more;
	return grown;
}

static void add(struct search *s, const char *path, const char *name, bool is_exact)
{
	struct rf_repository_places *places = s->places;
	struct rf_repository_place *items;

	if (places->count >= PLACES) {
		places->is_partial = true;
		return;
	}
	items = grow(s, places->items, places->count, &places->room, sizeof(*items));
	if (!items)
		return;
	places->items = items;
	items += places->count++;
	*items = (struct rf_repository_place){ strdup(path), strdup(name), is_exact,
					       s->side == AFTER };
	if (!items->path || !items->name)
		s->code = -ENOMEM;
}

static void on_link(void *data, const char *inside)
{
	struct search *s = data;

	if (*inside)
		add(s, inside, s->name, true);
}

/* The path's last name. */
static const char *last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True for what has the name already, as `.git` itself. */
static bool ends_with(const char *path, const char *name)
{
	size_t len = strlen(path), behind = strlen(name);

	return len >= behind && strcmp(path + len - behind, name) == 0 &&
	       (len == behind || path[len - behind - 1] == '/');
}

/* A place that is as good as `name`; also one above the directory, which then lies in it. */
static void add_spot(struct search *s, const struct rf_spot *spot, const char *name, bool is_exact)
{
	const struct rf_spot_view *view = &s->views[s->side];
	const char *inside = rf_spot_inside(view, spot->path);
	size_t len = strlen(spot->path);
	char whole[RF_SPOT_WAY];

	if (inside && (*inside || !is_exact)) {
		if (!ends_with(inside, name))
			add(s, inside, name, is_exact);
	} else if (!inside && strcmp(name, ".git") == 0 &&
		   strncmp(view->top, spot->path, len) == 0 && view->top[len] == '/') {
		snprintf(whole, sizeof(whole), "%s%s", name, view->top + len);
		add(s, "", whole, false);
	}
}

/* Follows a way to something that is as good as `name`.  spot->is_own is to be set before. */
static bool lead(struct search *s, const char *way, const char *name, bool is_exact,
		 struct rf_spot *spot)
{
	s->name = name;
	spot->is_own &= s->side == BEFORE;
	if (s->code < 0 || !rf_spot_resolve(&s->views[s->side], way, on_link, s, spot))
		return false;
	add_spot(s, spot, name, is_exact);
	return true;
}

/* A path that stands in a file, from the folder `base` on. */
static bool join(const char *base, const char *text, char ret_way[RF_SPOT_WAY])
{
	const char *home = getenv("HOME");
	int len;

	if (text[0] == '~' && text[1] == '/' && home)
		len = snprintf(ret_way, RF_SPOT_WAY, "%s%s", home, text + 1);
	else if (text[0] == '/')
		len = snprintf(ret_way, RF_SPOT_WAY, "%s", text);
	else
		len = snprintf(ret_way, RF_SPOT_WAY, "%s/%s", base, text);
	return len < RF_SPOT_WAY;
}

/* A file's text, to be freed, or NULL. */
static char *read_text(struct search *s, struct rf_spot *spot, size_t *ret_len)
{
	char *text = NULL;
	int code;

	if (s->reads >= READS || s->bytes >= BYTES) {
		s->places->is_partial = true;
		return NULL;
	}
	code = rf_spot_read(&s->views[s->side], spot, FILE_MAX, &text, ret_len);
	s->reads += code == 1;
	s->bytes += code == 1 ? *ret_len : 0;
	s->places->is_partial |= code == -E2BIG;
	if (code == -ENOMEM)
		s->code = code;
	return code == 1 ? text : NULL;
}

/* ------------------------------------------------------------- settings */

static void keep(struct search *s, enum rf_gitconfig_role role, const char *text, bool is_own)
{
	struct setting *settings = grow(s, s->settings, s->count, &s->room, sizeof(*s->settings));

	if (!settings)
		return;
	s->settings = settings;
	settings[s->count] = (struct setting){ role, strdup(text), is_own };
	if (!settings[s->count].text)
		s->code = -ENOMEM;
	else
		s->count++;
}

/* Forgets the settings behind the first `count`. */
static void forget(struct search *s, size_t count)
{
	while (s->count > count)
		free(s->settings[--s->count].text);
}

/* Settings, and those that they include: whether git would at this moment is not asked. */
static void read_config(struct search *s, const char *way, bool is_own, unsigned depth)
{
	struct rf_spot spot = { .is_own = is_own };
	struct rf_gitconfig config;
	char *text = NULL, *scratch, next[RF_SPOT_WAY], folder[RF_SPOT_WAY];
	size_t len = 0;

	if (depth <= DEPTH && lead(s, way, ".git/config", true, &spot))
		text = read_text(s, &spot, &len);
	scratch = text ? malloc(len + 1) : NULL;
	if (text && !scratch)
		s->code = -ENOMEM;
	if (scratch)
		rf_gitconfig_init(&config, text, len, scratch);
	snprintf(folder, sizeof(folder), "%.*s", (int)(last(way) - way), way);
	while (scratch && s->code == 0 && rf_gitconfig_next(&config) > 0) {
		enum rf_gitconfig_role role = rf_gitconfig_role(&config);

		if (role == RF_GITCONFIG_INCLUDE && join(folder, config.value, next))
			read_config(s, next, spot.is_own, depth + 1);
		else if (role != RF_GITCONFIG_OTHER && role != RF_GITCONFIG_INCLUDE)
			keep(s, role, config.value, spot.is_own);
	}
	free(scratch);
	free(text);
}

/* The user's own settings and the machine's, which count in every repository. */
static void read_user(struct search *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char folder[RF_SPOT_WAY], way[RF_SPOT_WAY];

	read_config(s, "/etc/gitconfig", true, 0);
	if (!getenv("HOME"))
		return;
	if (join("", xdg && *xdg ? xdg : "~/.config", folder) && join(folder, "git/config", way))
		read_config(s, way, true, 0);
	if (join("", "~/.gitconfig", way))
		read_config(s, way, true, 0);
}

/* Links among hooks: what they lead to is run as one. */
static void follow_hooks(struct search *s, const struct rf_spot *folder)
{
	struct rf_merged_names names;
	int code = rf_spot_list(&s->views[s->side], folder, HOOKS, &names);

	for (size_t i = 0; i < names.count && code == 0 && s->code == 0; i++) {
		struct rf_spot spot = { .is_own = folder->is_own };
		char way[RF_SPOT_WAY], name[NAME_MAX + 16];

		snprintf(way, sizeof(way), "%s/%s", folder->path, names.items[i]);
		snprintf(name, sizeof(name), ".git/hooks/%s", names.items[i]);
		s->name = name;
		if (rf_spot_resolve(&s->views[s->side], way, on_link, s, &spot) &&
		    strcmp(spot.path, way) != 0)
			add_spot(s, &spot, name, true);
	}
	rf_merged_names_done(&names);
	if (code < 0)
		s->code = code;
}

/* What a setting names, where the work tree's top is `top`. */
static void use(struct search *s, const struct setting *setting, const char *top)
{
	struct rf_spot spot = { .is_own = setting->is_own };
	char way[RF_SPOT_WAY], word[PATH_MAX];
	const char *command = setting->text;

	if (setting->role == RF_GITCONFIG_COMMAND) {
		for (int i = 0; i < WORDS && rf_gitconfig_next_file(&command, word); i++) {
			spot.is_own = setting->is_own;
			if (join(top, word, way))
				lead(s, way, ".git/hooks/command", true, &spot);
		}
	} else if (join(top, setting->text, way)) {
		if (setting->role == RF_GITCONFIG_ATTRIBUTES)
			lead(s, way, ".git/info/attributes", true, &spot);
		else if (setting->role == RF_GITCONFIG_TEMPLATE)
			lead(s, way, ".git", false, &spot);
		else if (setting->role == RF_GITCONFIG_HOOKS &&
			 lead(s, way, ".git/hooks", false, &spot))
			follow_hooks(s, &spot);
	}
}

static void use_all(struct search *s, const char *top)
{
	for (size_t i = 0; i < s->count && s->code == 0; i++)
		use(s, &s->settings[i], top);
}

/* ------------------------------------------------------------- one repository */

/* Where a file in a repository says that something is; false if there is none. */
static bool read_path(struct search *s, const struct rf_spot *git, const char *name,
		      char ret_way[RF_SPOT_WAY], bool *ret_own)
{
	struct rf_spot spot = { .is_own = git->is_own };
	char way[RF_SPOT_WAY], path[PATH_MAX], *text = NULL;
	size_t len = 0;
	bool has_path;

	if (join(git->path, name, way) && lead(s, way, ".git/commondir", true, &spot))
		text = read_text(s, &spot, &len);
	has_path =
		text && rf_gitconfig_read_path(text, len, path) && join(git->path, path, ret_way);
	*ret_own = spot.is_own;
	free(text);
	return has_path;
}

/* Goes from a folder to the repository that its `.git` is, or names. */
static bool enter(struct search *s, const char *folder, struct rf_spot *git)
{
	char way[RF_SPOT_WAY], path[PATH_MAX], *text;
	size_t len = 0;
	bool is_there = true;

	if (!join(folder, ".git", way) || !lead(s, way, ".git", false, git) ||
	    !rf_spot_is_there(&s->views[s->side], git))
		return false;
	text = read_text(s, git, &len);
	if (text)
		is_there = rf_gitconfig_read_link(text, len, path) && join(folder, path, way) &&
			   lead(s, way, ".git", false, git);
	free(text);
	return is_there;
}

/*
 * True for a HEAD that is a branch of others (refs/remotes/origin/HEAD) or its history (logs/HEAD), beside which a branch
 * may well be called `config`.
 */
static bool is_branch(struct search *s, const struct rf_spot *git)
{
	const struct rf_spot_view *view = &s->views[s->side];
	char whole[RF_SPOT_WAY];
	struct rf_spot spot = *git;

	snprintf(whole, sizeof(whole), "%s/", git->path);
	if (!strstr(whole, "/refs/") && !strstr(whole, "/logs/"))
		return false;
	for (const char *const *name = (const char *const[]){ "objects", "commondir", NULL }; *name;
	     name++)
		if (snprintf(spot.path, sizeof(spot.path), "%s/%s", git->path, *name) <
			    (int)sizeof(spot.path) &&
		    rf_spot_is_there(view, &spot))
			return false;
	return true;
}

/* All that a repository has and names. */
static void look_into(struct search *s, const struct rf_spot *git, const char *top)
{
	static const char *const names[] = { "config", "config.worktree" };
	struct rf_spot common = *git, spot;
	size_t users = s->count;
	char way[RF_SPOT_WAY];
	bool is_own;

	if (read_path(s, git, "commondir", way, &is_own)) {
		common.is_own = is_own;
		if (!lead(s, way, ".git", false, &common))
			return;
	}
	for (size_t i = 0; i < RF_LEN(names); i++)
		if (join(i == 0 ? common.path : git->path, names[i], way))
			read_config(s, way, i == 0 ? common.is_own : git->is_own, 0);
	spot.is_own = common.is_own;
	if (join(common.path, "info/attributes", way))
		lead(s, way, ".git/info/attributes", true, &spot);
	spot.is_own = common.is_own;
	if (join(common.path, "hooks", way) && lead(s, way, ".git/hooks", false, &spot))
		follow_hooks(s, &spot);
	use_all(s, top);
	for (size_t i = users, count = s->count; i < count && s->code == 0; i++) {
		spot.is_own = s->settings[i].is_own;
		s->name = ".git/config";
		if (s->settings[i].role == RF_GITCONFIG_WORKTREE &&
		    join(git->path, s->settings[i].text, way) &&
		    rf_spot_resolve(&s->views[s->side], way, on_link, s, &spot))
			use_all(s, spot.path);
	}
	forget(s, users);
}

static void visit(struct search *s, const struct found *found)
{
	struct rf_spot git = { .is_own = s->side == BEFORE };
	char top[RF_SPOT_WAY];
	bool is_own;

	if (!found->is_head) {
		if (enter(s, found->folder, &git))
			look_into(s, &git, found->folder);
		return;
	}
	snprintf(git.path, sizeof(git.path), "%s", found->folder);
	if (is_branch(s, &git))
		return;
	add_spot(s, &git, ".git", false);
	/* A work tree of several says where it is: at the `.git` that leads here. */
	if (read_path(s, &git, "gitdir", top, &is_own) && strrchr(top, '/'))
		*strrchr(top, '/') = '\0';
	else
		snprintf(top, sizeof(top), "%s", git.path);
	look_into(s, &git, top);
}

/* ------------------------------------------------------------- which there are */

static void note(struct search *s, const char *folder, const char *below, bool is_head)
{
	struct found *found;
	char *path = NULL;

	if (is_head && strcasecmp(last(*below ? below : folder), ".git") == 0)
		return; /* known by the folder that it is in */
	if (s->found_count >= FOUND) {
		s->places->is_partial = true;
		return;
	}
	found = grow(s, s->found, s->found_count, &s->found_room, sizeof(*found));
	if (!found)
		return;
	s->found = found;
	if (asprintf(&path, "%s%s%s", folder, *below ? "/" : "", below) < 0) {
		s->code = -ENOMEM;
		return;
	}
	found[s->found_count++] = (struct found){ path, is_head };
}

/* Looks whether there is one at a path of the directory. */
static void look_at(struct search *s, int dir, const char *inside)
{
	struct stat st;

	if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
		note(s, s->views[BEFORE].top, inside, false);
	if (fstatat(dir, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		note(s, s->views[BEFORE].top, inside, true);
}

/* The folders in a folder: a work tree beside its repository, or the other way round. */
static void look_beside(struct search *s, int dir, const char *folder)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!stream)
		rf_fd_done(&copy);
	while (stream && s->code == 0 && (entry = readdir(stream))) {
		RF_AUTO_FD int below = -1;
		char path[PATH_MAX];

		if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    strcmp(entry->d_name, ".git") == 0 || s->neighbours++ >= NEIGHBOURS ||
		    snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "",
			     entry->d_name) >= (int)sizeof(path))
			continue;
		below = rf_path_open_within(dir, entry->d_name, O_PATH | O_DIRECTORY);
		if (below >= 0)
			look_at(s, below, path);
	}
	if (stream)
		closedir(stream);
}

static void look_in_folder(struct search *s, int base, const char *folder)
{
	RF_AUTO_FD int dir =
		rf_path_open_within(base, *folder ? folder : ".", O_PATH | O_DIRECTORY);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return;
	look_at(s, dir, folder);
	if (st.st_size <= LISTED_MAX && s->neighbours < NEIGHBOURS)
		look_beside(s, dir, folder);
}

/* The folders on the way to each change, once each (changes are sorted by path), and what a box made of it. */
static void look_on_the_way(struct search *s, int base, const struct rf_delta *delta)
{
	const char *before = "";

	look_in_folder(s, base, "");
	for (size_t i = 0; i < delta->count && s->code == 0; i++) {
		const struct rf_change *change = &delta->changes[i];
		const char *name = last(change->path);
		char folder[PATH_MAX];
		size_t from = 0;

		for (size_t k = 0; change->path[k] && change->path[k] == before[k]; k++)
			if (change->path[k] == '/')
				from = k + 1;
		for (const char *slash = strchr(change->path + from, '/'); slash && s->code == 0;
		     slash = strchr(slash + 1, '/')) {
			if ((size_t)(slash - change->path) >= sizeof(folder))
				break;
			snprintf(folder, sizeof(folder), "%.*s", (int)(slash - change->path),
				 change->path);
			look_in_folder(s, base, folder);
		}
		before = change->path;
		if (!change->after.mode ||
		    (strcasecmp(name, ".git") != 0 && strcasecmp(name, "HEAD") != 0))
			continue;
		snprintf(folder, sizeof(folder), "%.*s",
			 name > change->path ? (int)(name - change->path - 1) : 0, change->path);
		note(s, s->views[BEFORE].top, folder, name[0] != '.');
	}
}

/* The directory may lie in the work tree of another one. */
static void look_above(struct search *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", s->views[BEFORE].top);
	for (char *slash; (slash = strrchr(path, '/')) && s->code == 0;) {
		RF_AUTO_FD int dir = -1;
		struct stat st;

		*slash = '\0';
		dir = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
			note(s, path, "", false);
		if (dir >= 0 && fstatat(dir, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
			note(s, path, "", true);
	}
}

static int by_folder(const void *a, const void *b)
{
	const struct found *one = a, *two = b;
	int order = strcmp(one->folder, two->folder);

	return order ? order : one->is_head - two->is_head;
}

int rf_repository_find(const struct rf_stack *before, const struct rf_stack *after,
		       const struct rf_delta *delta, struct rf_repository_places *ret_places,
		       struct rf_err *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int code;

	*ret_places = (struct rf_repository_places){ 0 };
	if (!s)
		return rf_fail(err, -ENOMEM, "look for git repositories");
	s->places = ret_places;
	rf_spot_look_from(before, &s->views[BEFORE]);
	rf_spot_look_from(after, &s->views[AFTER]);
	look_on_the_way(s, before->layers[before->count - 1], delta);
	look_above(s);
	read_user(s);
	if (s->found_count == 0)
		use_all(s, s->views[BEFORE].top);
	if (s->found_count > 1)
		qsort(s->found, s->found_count, sizeof(*s->found), by_folder);
	for (s->side = BEFORE; s->side <= AFTER; s->side++)
		for (size_t i = 0; i < s->found_count && s->code == 0; i++)
			if (i == 0 || by_folder(&s->found[i - 1], &s->found[i]) != 0)
				visit(s, &s->found[i]);
	for (size_t i = 0; i < s->found_count; i++)
		free(s->found[i].folder);
	forget(s, 0);
	free(s->settings);
	free(s->found);
	code = s->code;
	free(s);
	return code < 0 ? rf_fail(err, code, "look for git repositories") : 0;
}

void rf_repository_done(struct rf_repository_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->items[i].path);
		free(places->items[i].name);
	}
	free(places->items);
	*places = (struct rf_repository_places){ 0 };
}
