/*
 * Workspaces of tenants: made, listed and taken away (wire/tenancy.h says where they lie).
 *
 * What boxes wrote is never walked here while a box could move it: checkpoints are copied in boxes of their own, a fork is a checkpoint that
 * is renamed, and what is taken away is nobody's by then, since every box holds its own by a lock.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/pack.h"
#include "base/path.h"
#include "server/clerk-agent.h"
#include "server/clerk-desk.h"
#include "server/clerk-quota.h"
#include "server/clerk-sweep.h"
#include "server/clerk-workspace.h"
#include "wire/tenancy.h"
#include "workspace/clear.h"

#define MOST       256   /* workspaces of one tenant */
#define OWNER      65534 /* of root's: boxes have uids of their own, which this one is shown as */
#define SPARE_S    60    /* that one of a sandbox has, until the sandbox stands */
#define FOLDER     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NOTE       128 /* bytes of one, with a NUL */
#define NO_REPLACE 1u  /* RENAME_NOREPLACE */

/* ------------------------------------------------------------- one of them */

struct about {
	int64_t created;
	bool is_named; /* it stays until it is deleted; others go with their sandbox */
	bool is_used;
	uint64_t id;                  /* by which it is told from another of its name */
	char origin[RF_TENANCY_NAME]; /* of which it is a fork, or "" */
	uint64_t origin_id;           /* of that one */
};

/* The note is ours: a letter, when it was made, and its id; of a fork a line more, with its origin's id and name. */
static int read_note(int folder, struct about *ret_about)
{
	char text[NOTE], *end;
	ssize_t len = rf_fd_read_text(folder, "note", text, sizeof(text));

	*ret_about = (struct about){ 0 };
	if (len < 2)
		return len < 0 ? (int)len : -EBADMSG;
	ret_about->is_named = text[0] == 'n';
	ret_about->created = strtoll(text + 1, &end, 10);
	ret_about->id = *end == ' ' ? strtoull(end, &end, 16) : 0;
	if (strncmp(end, "\nfork ", 6) != 0)
		return 0;
	ret_about->origin_id = strtoull(end + 6, &end, 16);
	end += *end == ' ';
	end[strcspn(end, "\n")] = '\0';
	if (!rf_tenancy_is_name(end))
		return -EBADMSG;
	snprintf(ret_about->origin, sizeof(ret_about->origin), "%s", end);
	return 0;
}

static void put_one(struct rf_json *json, const char *name, const struct about *about)
{
	time_t at = (time_t)about->created;
	struct tm tm;
	char when[32];

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	rf_json_open_object(json, NULL);
	rf_json_string(json, "name", name);
	rf_json_string(json, "created", when);
	rf_json_bool(json, "named", about->is_named);
	rf_json_bool(json, "in_use", about->is_used);
	rf_json_string(json, "origin", about->origin[0] ? about->origin : NULL);
	rf_json_close_object(json);
}

/* True if no box has it: then we have it alone, until `folder` is closed. */
static bool take_alone(int folder)
{
	return flock(folder, LOCK_EX | LOCK_NB) == 0;
}

static int look_at(int folder, struct about *ret_about)
{
	int code = read_note(folder, ret_about);

	if (code < 0)
		return code;
	ret_about->is_used = rf_tenancy_is_held(folder);
	return 0;
}

/* Out of the way first, under a name that is nobody's; what is left of it after a crash the next clerk takes away.  It lies in `dir`. */
static int take_away_from(int dir, const char *name, int all)
{
	struct rf_tenancy_usage freed = { 0 };
	RF_AUTO_FD int folder = -1;
	char gone[32];
	uint64_t chance = 0;
	int code;

	if (getrandom(&chance, sizeof(chance), 0) < 0)
		return -errno;
	snprintf(gone, sizeof(gone), RF_CLERK_SWEEP_GONE "%016llx", (unsigned long long)chance);
	if (renameat(dir, name, all, gone) < 0)
		return -errno;
	folder = openat(all, gone, FOLDER);
	if (folder >= 0 && rf_clerk_quota_count(folder, &freed) == 0)
		freed.files++; /* itself */
	code = rf_clear(all, gone);
	rf_clerk_quota_again(all, code == 0 ? &freed : NULL);
	return code;
}

static int take_away(int all, const char *name)
{
	return take_away_from(all, name, all);
}

/* ------------------------------------------------------------- all of them */

struct names {
	char (*of)[RF_TENANCY_NAME];
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int list_names(int all, struct names *ret_names)
{
	int listed = openat(all, ".", FOLDER);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	*ret_names = (struct names){ calloc(MOST, sizeof(*ret_names->of)), 0 };
	if (!dir || !ret_names->of) {
		if (dir)
			closedir(dir);
		else
			rf_fd_done(&listed);
		free(ret_names->of);
		*ret_names = (struct names){ 0 };
		return -ENOMEM;
	}
	while ((entry = readdir(dir)) && ret_names->count < MOST)
		if (rf_tenancy_is_name(entry->d_name))
			snprintf(ret_names->of[ret_names->count++], RF_TENANCY_NAME, "%s",
				 entry->d_name);
	closedir(dir);
	qsort(ret_names->of, ret_names->count, sizeof(*ret_names->of), by_name);
	return 0;
}

/* Those of sandboxes that are gone, also of such that never stood. */
static void sweep(int all, struct names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		RF_AUTO_FD int folder = openat(all, names->of[i], FOLDER);
		struct about about = { 0 };
		bool goes = folder >= 0 && read_note(folder, &about) == 0 && !about.is_named &&
			    time(NULL) - about.created > SPARE_S && take_alone(folder) &&
			    take_away(all, names->of[i]) == 0;

		if (!goes)
			memmove(names->of[kept++], names->of[i], sizeof(*names->of));
	}
	names->count = kept;
}

int rf_clerk_workspace_list(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			    struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenancy_open_all(who->tenant, true);
	struct names names = { 0 };
	struct rf_json json;
	int code = all < 0 ? all : list_names(all, &names);

	if (code == 0)
		sweep(all, &names);
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "workspaces");
	for (size_t i = 0; i < names.count; i++) {
		RF_AUTO_FD int folder = openat(all, names.of[i], FOLDER);
		struct about about = { 0 };

		if (folder >= 0 && look_at(folder, &about) == 0)
			put_one(&json, names.of[i], &about);
	}
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	free(names.of);
	return code < 0 ? rf_fail(err, code, "list the workspaces") : 0;
}

static int read_name(const struct rf_clerk_matter *matter, char name[RF_TENANCY_NAME],
		     struct rf_err *err)
{
	struct rf_pack_reader in;

	rf_pack_read_init(&in, matter->body, matter->len);
	rf_pack_read_text(&in, name, RF_TENANCY_NAME);
	return rf_pack_is_whole(&in) ? 0
				     : rf_fail_say(err, -EINVAL, "it is no name of a workspace");
}

static int tell_one(const struct rf_clerk_asker *who, const char *name,
		    struct rf_clerk_matter *matter, struct rf_err *err)
{
	RF_AUTO_FD int folder = rf_tenancy_open(who->tenant, name, err);
	struct about about = { 0 };
	struct rf_json json;
	int code;

	if (folder < 0)
		return err->code;
	code = look_at(folder, &about);
	if (code < 0)
		return rf_fail(err, code, "look at workspace `%s`", name);
	rf_json_init(&json, &matter->out, false);
	put_one(&json, name, &about);
	rf_buf_puts(&matter->out, "\n");
	return 0;
}

int rf_clerk_workspace_get(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	char name[RF_TENANCY_NAME];

	return read_name(matter, name, err) < 0 ? err->code : tell_one(who, name, matter, err);
}

int rf_clerk_workspace_hold(const struct rf_clerk_asker *who, const char *name, int *ret_folder,
			    struct rf_err *err)
{
	RF_AUTO_FD int folder = rf_tenancy_open(who->tenant, name, err);

	if (folder < 0)
		return err->code;
	if (!take_alone(folder)) {
		rf_fail_say(err, -EBUSY, "a sandbox has workspace `%s`", name);
		return rf_fail_hint(err, "end it first");
	}
	*ret_folder = rf_fd_take(&folder);
	return 0;
}

int rf_clerk_workspace_end(const struct rf_clerk_asker *who, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenancy_open_all(who->tenant, false);
	int code = all < 0 ? all : take_away(all, name);

	return code < 0 ? rf_fail(err, code, "take workspace `%s` away", name) : 0;
}

int rf_clerk_workspace_remove(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			      struct rf_err *err)
{
	char name[RF_TENANCY_NAME];
	RF_AUTO_FD int folder = -1;

	if (read_name(matter, name, err) < 0 ||
	    rf_clerk_workspace_hold(who, name, &folder, err) < 0 ||
	    rf_clerk_agent_spares(who, name, NULL, err) < 0)
		return err->code;
	return rf_clerk_workspace_end(who, name, err);
}

/* ------------------------------------------------------------- a new one */

static int read_wish(const struct rf_clerk_matter *matter, struct rf_clerk_workspace_wish *wish,
		     struct rf_err *err)
{
	struct rf_pack_reader in;

	rf_pack_read_init(&in, matter->body, matter->len);
	rf_pack_read_text(&in, wish->name, sizeof(wish->name));
	rf_pack_read_text(&in, wish->from, sizeof(wish->from));
	wish->point = rf_pack_read_u32(&in);
	if (rf_pack_is_whole(&in) && (!wish->name[0] || rf_tenancy_is_name(wish->name)) &&
	    strncmp(wish->name, RF_TENANCY_OWN, strlen(RF_TENANCY_OWN)) != 0 &&
	    (!wish->from[0] || rf_tenancy_is_name(wish->from)))
		return 0;
	rf_fail_say(err, -EINVAL, "it is no name of a workspace");
	return rf_fail_hint(err, "up to 63 letters, digits, `-` and `_`, beginning with one of the "
				 "first two");
}

static int make_folder(int dir, const char *name, mode_t mode, int *ret_fd)
{
	if (mkdirat(dir, name, mode) < 0)
		return -errno;
	*ret_fd = openat(dir, name, FOLDER);
	if (*ret_fd < 0)
		return -errno;
	return geteuid() == 0 && mode != 0700 && fchown(*ret_fd, OWNER, OWNER) < 0 ? -errno : 0;
}

/* What it begins with: nothing, or what a checkpoint has, of which nobody else has anything. */
static int fill(const struct rf_clerk_asker *who, const struct rf_clerk_workspace_wish *wish,
		int tree, struct rf_err *err)
{
	RF_AUTO_FD int files = -1;
	RF_AUTO_FD int from = -1;
	RF_AUTO_FD int points = -1;
	RF_AUTO_FD int point = -1;
	char path[64];
	struct stat st;
	int code;

	if (!wish->from[0]) {
		code = make_folder(tree, "files", 0755, &files);
		return code < 0 ? rf_fail(err, code, "make a workspace") : 0;
	}
	from = rf_tenancy_open(who->tenant, wish->from, err);
	if (from < 0)
		return err->code;
	/* Boxes write there: a link is none of ours, and never followed. */
	snprintf(path, sizeof(path), "%u", wish->point);
	points = rf_path_open_beneath(from, "tree/points", O_RDONLY | O_DIRECTORY);
	point = points < 0 ? -1 : rf_path_open_beneath(points, path, O_RDONLY | O_DIRECTORY);
	if (point < 0 || fstatat(point, "files", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return rf_fail_say(err, -ENOENT, "there is no such checkpoint");
	if (renameat(point, "files", tree, "files") < 0)
		return rf_fail(err, -errno, "take the checkpoint");
	if (renameat(point, "base", tree, "base") < 0) /* what it was: for who applies it */
		return rf_fail(err, -errno, "take the checkpoint's list");
	unlinkat(point, "name", 0);
	unlinkat(point, "created", 0);
	unlinkat(points, path, AT_REMOVEDIR);
	return 0;
}

/* What is known of it, and of its origin. */
static int write_note(const struct rf_clerk_asker *who, const struct rf_clerk_workspace_wish *wish,
		      int folder, struct rf_err *err)
{
	RF_AUTO_FD int from = -1;
	RF_AUTO_FD int file = -1;
	struct about origin = { 0 };
	char note[NOTE];
	uint64_t id = 0;
	int code = getrandom(&id, sizeof(id), 0) < 0 ? -errno : 0;

	if (wish->from[0]) {
		from = rf_tenancy_open(who->tenant, wish->from, err);
		if (from < 0)
			return err->code;
		code = read_note(from, &origin);
	}
	snprintf(note, sizeof(note), "%c%lld %016llx\n", wish->name[0] ? 'n' : 's',
		 (long long)time(NULL), (unsigned long long)id);
	if (wish->from[0])
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "fork %016llx %s\n",
			 (unsigned long long)origin.id, wish->from);
	file = openat(folder, "note", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (code == 0)
		code = file < 0 ? -errno : rf_fd_write(file, note, strlen(note));
	return code < 0 ? rf_fail(err, code, "make a workspace") : 0;
}

static int build(const struct rf_clerk_asker *who, const struct rf_clerk_workspace_wish *wish,
		 int folder, struct rf_err *err)
{
	RF_AUTO_FD int tree = -1;
	RF_AUTO_FD int points = -1;
	int code = make_folder(folder, "tree", 0755, &tree);

	if (code == 0)
		code = make_folder(tree, "points", 0755, &points);
	if (code < 0)
		return rf_fail(err, code, "make a workspace");
	if (write_note(who, wish, folder, err) < 0)
		return err->code;
	return fill(who, wish, tree, err);
}

int rf_clerk_workspace_new(const struct rf_clerk_asker *who, struct rf_clerk_workspace_wish *wish,
			   struct rf_err *err)
{
	struct names names;
	char new[32];
	uint64_t chance = 0;
	RF_AUTO_FD int all = rf_tenancy_open_all(who->tenant, true);
	RF_AUTO_FD int folder = -1;
	bool is_named = wish->name[0];
	int code = all < 0 ? all : list_names(all, &names);

	if (code == 0) {
		sweep(all, &names);
		code = names.count < MOST ? 0 : -EDQUOT;
		free(names.of);
	}
	if (code == 0 && getrandom(&chance, sizeof(chance), 0) < 0)
		code = -errno;
	if (code < 0)
		return rf_fail(err, code, "make a workspace");
	/* What a fork begins with was counted when it was copied. */
	if (!wish->from[0] && rf_clerk_quota_check(who, all, err) < 0)
		return err->code;
	snprintf(new, sizeof(new), RF_CLERK_SWEEP_NEW "%016llx", (unsigned long long)chance);
	code = make_folder(all, new, 0700, &folder);
	if (code < 0)
		return rf_fail(err, code, "make a workspace");
	code = build(who, wish, folder, err);
	if (!is_named)
		snprintf(wish->name, sizeof(wish->name), RF_TENANCY_OWN "%016llx",
			 (unsigned long long)chance);
	if (code == 0 && syscall(SYS_renameat2, all, new, all, wish->name, NO_REPLACE) < 0)
		code = errno == EEXIST
			       ? rf_fail_say(err, -EEXIST, "there is a workspace `%s` already",
					     wish->name)
			       : rf_fail(err, -errno, "make workspace `%s`", wish->name);
	if (code < 0)
		rf_clear(all, new);
	return code;
}

int rf_clerk_workspace_make(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			    struct rf_err *err)
{
	struct rf_clerk_workspace_wish wish = { 0 };

	if (read_wish(matter, &wish, err) < 0 || rf_clerk_workspace_new(who, &wish, err) < 0)
		return err->code;
	return tell_one(who, wish.name, matter, err);
}

/* ------------------------------------------------------------- a fork that is applied */

static int open_tree(int folder, struct rf_err *err)
{
	int tree = rf_path_open_beneath(folder, "tree", O_RDONLY | O_DIRECTORY);

	return tree < 0 ? rf_fail(err, tree, "open a workspace") : tree;
}

/* The workspace that a fork began as, if that is still the same. */
static int open_origin(const struct rf_clerk_asker *who, const struct about *fork, int *ret_folder,
		       struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	struct about about = { 0 };

	if (!fork->origin[0]) {
		rf_fail_say(err, -EBUSY, "the workspace is no fork");
		return rf_fail_hint(err, "only what POST .../fork made can be applied");
	}
	folder = rf_tenancy_open(who->tenant, fork->origin, err);
	if (folder >= 0 && read_note(folder, &about) == 0 && about.id == fork->origin_id) {
		*ret_folder = rf_fd_take(&folder);
		return 0;
	}
	*err = RF_ERR_INIT;
	rf_fail_say(err, -ENOENT, "workspace `%s`, of which it is a fork, is gone", fork->origin);
	return rf_fail_hint(err, "make a fork of what there is, and copy what is needed");
}

/*
 * Each apply has a number of 16 digits that the front chose: so who applies something settles that, whatever was laid aside meanwhile.  A name longer than any
 * of these is none.
 */
#define OUT    "out-"  /* in the fork's tree: what is to be sent */
#define NEXT   "next-" /* beside it: what the fork begins with once that is applied */
#define IN     "in-"   /* in the origin's: what was sent */
#define NUMBER 17
#define PLACE  32

/* A fork, and its origin. */
struct pair {
	struct about about;
	int from, to; /* their trees */
};

static void pair_done(struct pair *pair)
{
	rf_fd_done(&pair->from);
	rf_fd_done(&pair->to);
}

/* The fork's tree is open where there is a fork, also when its origin is gone. */
static int open_pair(const struct rf_clerk_asker *who, const char *name, struct pair *ret_pair,
		     struct rf_err *err)
{
	RF_AUTO_FD int folder = rf_tenancy_open(who->tenant, name, err);
	RF_AUTO_FD int origin = -1;
	int code;

	*ret_pair = (struct pair){ .from = -1, .to = -1 };
	if (folder < 0)
		return err->code;
	code = read_note(folder, &ret_pair->about);
	if (code < 0)
		return rf_fail(err, code, "look at workspace `%s`", name);
	ret_pair->from = open_tree(folder, err);
	if (ret_pair->from < 0 || open_origin(who, &ret_pair->about, &origin, err) < 0)
		return err->code;
	ret_pair->to = open_tree(origin, err);
	return ret_pair->to < 0 ? err->code : 0;
}

/* A copy that nobody will ask for. */
static void drop_copy(const struct rf_clerk_asker *who, int tree, const char *name)
{
	RF_AUTO_FD int all = rf_tenancy_open_all(who->tenant, false);

	if (all >= 0 && tree >= 0)
		take_away_from(tree, name, all);
}

/* What is asked of one apply: of which fork, and its number. */
struct sending {
	char fork[RF_TENANCY_NAME];
	char out[PLACE], next[PLACE], in[PLACE];
};

static void read_sending(struct rf_pack_reader *in, struct sending *ret_sending)
{
	char number[NUMBER];

	rf_pack_read_text(in, ret_sending->fork, sizeof(ret_sending->fork));
	rf_pack_read_text(in, number, sizeof(number));
	snprintf(ret_sending->out, PLACE, OUT "%s", number);
	snprintf(ret_sending->next, PLACE, NEXT "%s", number);
	snprintf(ret_sending->in, PLACE, IN "%s", number);
}

static int check_sending(const struct rf_pack_reader *in, const struct sending *sending,
			 struct rf_err *err)
{
	const char *digits = sending->in + strlen(IN);

	if (rf_pack_is_whole(in) && strlen(digits) == NUMBER - 1 &&
	    strspn(digits, "0123456789abcdef") == NUMBER - 1)
		return 0;
	return rf_fail_say(err, -EINVAL, "it is no number of an apply");
}

/* What a fork has laid aside becomes a folder of its origin's tree, beside the files: one rename, and nothing in it is looked at. */
int rf_clerk_workspace_send(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			    struct rf_err *err)
{
	struct rf_pack_reader in;
	struct sending sending;
	struct pair pair;
	int code;

	rf_pack_read_init(&in, matter->body, matter->len);
	read_sending(&in, &sending);
	if (check_sending(&in, &sending, err) < 0)
		return err->code;
	code = open_pair(who, sending.fork, &pair, err);
	if (code == 0 &&
	    syscall(SYS_renameat2, pair.from, sending.out, pair.to, sending.in, NO_REPLACE) < 0)
		code = rf_fail(err, -errno, "send a fork");
	if (code == 0)
		rf_pack_string(&matter->out, pair.about.origin);
	pair_done(&pair);
	return code;
}

/* What was sent is what the fork begins with from now on; or it came to nothing, and goes, wherever it is. */
int rf_clerk_workspace_settle(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			      struct rf_err *err)
{
	struct rf_pack_reader in;
	struct sending sending;
	bool is_applied;
	struct pair pair;
	int code;

	rf_pack_read_init(&in, matter->body, matter->len);
	read_sending(&in, &sending);
	is_applied = rf_pack_read_bool(&in);
	if (check_sending(&in, &sending, err) < 0)
		return err->code;
	code = open_pair(who, sending.fork, &pair, err);
	if (!is_applied) {
		if (pair.from >= 0)
			unlinkat(pair.from, sending.next, 0);
		drop_copy(who, pair.from, sending.out);
		drop_copy(who, pair.to, sending.in);
	} else if (code == 0 && renameat(pair.from, sending.next, pair.from, "base") < 0) {
		code = rf_fail(err, -errno, "settle a fork");
	}
	pair_done(&pair);
	return code;
}
