/* A workspace that is kept: see workspace.h. */
#include "workspace/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/statedir.h"
#include "workspace/clear.h"
#include "workspace/occupant.h"
#include "workspace/recall.h"
#include "workspace/roll.h"
#include "workspace/submount.h"

#define FOLDER "workspaces"
#define LEDGER "ledger.json"
#define NEW    "new"
#define MAKING                                                                                     \
	".new-" /* a workspace that is not whole yet; a name with a dot in front is nobody's */
#define GONE     ".gone-" /* one that was removed */
#define WAIT_MS  5000     /* for whoever works on it */
#define PATIENCE 20       /* milliseconds between two looks */

/* ------------------------------------------------------------- folders */

static int open_all(bool may_make, struct rf_err *err)
{
	int all = rf_statedir_open_in(FOLDER, may_make);

	if (all >= 0)
		return all;
	rf_fail(err, all, "open the folder of workspaces");
	if (may_make && all == -ENOENT) /* what is missing could not even be named */
		rf_fail_hint(err, "this user has no home: set XDG_STATE_HOME to a folder of yours");
	if (all == -EPERM)
		rf_fail_hint(err, "$XDG_STATE_HOME/ringfort and what is in it must be yours, and "
				  "closed to others: chmod go=");
	return err->code;
}

static int check_name(const char *name, struct rf_err *err)
{
	if (rf_ledger_is_name(name))
		return 0;
	rf_fail_say(err, -EINVAL, "`%.60s` can't be a name", name);
	return rf_fail_hint(err,
			    "letters, digits, `-`, `_` and `.`, at most %d of them; the first is a "
			    "letter or a digit",
			    RF_LEDGER_NAME - 1);
}

static int wait_for_lock(int folder, int wait_ms)
{
	const struct timespec pause = { 0, PATIENCE * 1000000L };

	for (int waited = 0; flock(folder, LOCK_EX | LOCK_NB) < 0; waited += PATIENCE) {
		if (errno != EWOULDBLOCK || waited >= wait_ms)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int rf_workspace_wait(int folder)
{
	return wait_for_lock(folder, WAIT_MS);
}

static int fail_busy(int folder, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int occupant = rf_occupant_find(folder);

	if (occupant < 0) {
		rf_fail_say(err, -EBUSY, "somebody works on workspace `%s`", name);
		return rf_fail_hint(err, "wait for the other command, or end it");
	}
	rf_fail_say(err, -EBUSY, "somebody works on workspace `%s`: a program runs in it", name);
	return rf_fail_hint(err, "wait for its end; --stop ends it first; checkpoint and fork copy "
				 "what it has done so far with --live");
}

static int fail_none(const char *name, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "there is no workspace `%s`", name);
	return rf_fail_hint(
		err,
		"`ringfort workspaces` lists those there are; `ringfort create --name %s "
		"--workspace DIR` makes it",
		name);
}

static int open_locked(int all, const char *name, int wait_ms, struct rf_err *err)
{
	RF_AUTO_FD int folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat held, there;
	int code;

	if (folder < 0 && errno == ENOENT)
		return fail_none(name, err);
	if (folder < 0)
		return rf_fail(err, -errno, "open workspace %s", name);
	code = wait_for_lock(folder, wait_ms);
	if (code == -EWOULDBLOCK)
		return fail_busy(folder, name, err);
	if (code < 0)
		return rf_fail(err, code, "lock workspace %s", name);
	/* Removed while we waited, and perhaps made again? */
	if (fstat(folder, &held) < 0 || fstatat(all, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    held.st_ino != there.st_ino)
		return rf_fail_say(err, -ENOENT, "workspace `%s` was removed meanwhile", name);
	return rf_fd_take(&folder);
}

/* ------------------------------------------------------------- the ledger */

/* Reads the ledger in the folder of a workspace. */
static int load(int folder, const char *name, struct rf_ledger *ret_ledger, struct rf_err *err)
{
	char *text = malloc(RF_MAX_JSON_READ + 1);
	ssize_t len = text ? rf_fd_read_text(folder, LEDGER, text, RF_MAX_JSON_READ + 1) : -ENOMEM;
	int code;

	if (len < 0)
		code = rf_fail(err, (int)len, "read its ledger");
	else
		code = rf_ledger_parse(text, (size_t)len, ret_ledger, err);
	free(text);
	if (code == 0 && strcmp(ret_ledger->name, name) != 0)
		code = rf_fail_say(err, -EINVAL, "its ledger is that of `%s`", ret_ledger->name);
	return code < 0 ? rf_fail_in(err, "workspace %s", name) : 0;
}

/*
 * Replaces the ledger in the folder of a workspace as a whole.  Where that is to outlive a loss of power, the layers that
 * it names are on the disk before it is: they lie on the same one.
 */
static int save(int folder, const struct rf_ledger *ledger, bool is_durable, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_FD int file = -1;
	int code;

	rf_buf_init(&text, RF_MAX_JSON_READ);
	rf_ledger_format(ledger, &text);
	if (text.has_failed)
		return rf_fail_say(err, -E2BIG, "the ledger of workspace %s is too long",
				   ledger->name);
	file = openat(folder, NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	code = file < 0 ? -errno : rf_fd_write(file, text.data, text.len);
	if (code == 0 && is_durable && syncfs(file) < 0)
		code = -errno;
	if (code == 0 && renameat(folder, NEW, folder, LEDGER) < 0)
		code = -errno;
	if (code == 0 && is_durable && fsync(folder) < 0)
		code = -errno;
	return code < 0 ? rf_fail(err, code, "write the ledger of workspace %s", ledger->name) : 0;
}

/* Sees to it that the ledger is on the disk; not for the layers, of which a new workspace has none. */
static int sync_ledger(int folder)
{
	RF_AUTO_FD int file = openat(folder, LEDGER, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return file < 0 || fsync(file) < 0 || fsync(folder) < 0 ? -errno : 0;
}

int rf_workspace_save(const struct rf_workspace *workspace, bool is_durable, struct rf_err *err)
{
	return save(workspace->folder, &workspace->ledger, is_durable, err);
}

/* ------------------------------------------------------------- open and closed */

bool rf_workspace_exists(const char *name)
{
	RF_AUTO_FD int all = rf_ledger_is_name(name) ? rf_statedir_open_in(FOLDER, false) : -1;

	return all >= 0 && faccessat(all, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_waiting(const char *name, int wait_ms, struct rf_workspace *ret_workspace,
			struct rf_err *err)
{
	RF_AUTO_FD int all = -1;

	*ret_workspace = (struct rf_workspace){ .folder = -1 };
	if (check_name(name, err) < 0)
		return err->code;
	all = open_all(false, err);
	if (all < 0)
		return all == -ENOENT ? fail_none(name, err) : all;
	ret_workspace->folder = open_locked(all, name, wait_ms, err);
	if (ret_workspace->folder < 0)
		return err->code;
	if (load(ret_workspace->folder, name, &ret_workspace->ledger, err) == 0)
		return 0;
	rf_workspace_close(ret_workspace);
	return err->code;
}

int rf_workspace_open(const char *name, struct rf_workspace *ret_workspace, struct rf_err *err)
{
	return open_waiting(name, WAIT_MS, ret_workspace, err);
}

int rf_workspace_open_now(const char *name, struct rf_workspace *ret_workspace, struct rf_err *err)
{
	return open_waiting(name, 0, ret_workspace, err);
}

int rf_workspace_stop(const char *name, struct rf_err *err)
{
	RF_AUTO_FD int all = -1;
	RF_AUTO_FD int folder = -1;

	if (check_name(name, err) < 0)
		return err->code;
	all = open_all(false, err);
	if (all < 0)
		return all == -ENOENT ? fail_none(name, err) : all;
	folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Who opens it next says what is wrong with it. */
	return folder < 0 ? 0 : rf_occupant_stop(folder, name, err);
}

int rf_workspace_open_beside(const char *name, struct rf_workspace *ret_workspace,
			     struct rf_err *err)
{
	RF_AUTO_FD int all = -1;

	*ret_workspace = (struct rf_workspace){ .folder = -1 };
	if (check_name(name, err) < 0)
		return err->code;
	all = open_all(false, err);
	if (all < 0)
		return all;
	ret_workspace->folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return ret_workspace->folder < 0 ? rf_fail(err, -ESRCH, "open workspace %s", name) : 0;
}

int rf_workspace_reload(struct rf_workspace *workspace, const char *name, struct rf_err *err)
{
	struct rf_ledger ledger = { 0 };
	char own[RF_LEDGER_NAME];

	snprintf(own, sizeof(own), "%s", name); /* it may be the old ledger's */
	if (load(workspace->folder, own, &ledger, err) < 0) {
		rf_ledger_done(&ledger);
		return err->code;
	}
	rf_ledger_done(&workspace->ledger);
	workspace->ledger = ledger;
	return 0;
}

int rf_workspace_peek(const char *name, struct rf_ledger *ret_ledger, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(false, err);
	RF_AUTO_FD int folder = -1;

	*ret_ledger = (struct rf_ledger){ 0 };
	if (all < 0)
		return all;
	folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 ? rf_fail(err, -errno, "open workspace %s", name)
			  : load(folder, name, ret_ledger, err);
}

static int fail_applying(const struct rf_ledger *ledger, struct rf_err *err)
{
	rf_fail_say(err, -EBUSY, "an apply of workspace `%s` was interrupted", ledger->name);
	return rf_fail_hint(err, "`ringfort apply -w %s` goes on, `ringfort undo -w %s` goes back",
			    ledger->name, ledger->name);
}

static int note_base(struct rf_ledger *ledger, const char *base, struct rf_base_scan *ret_scan,
		     struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_fd_open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0) {
		rf_fail(err, -errno, "open %s", base);
		return rf_fail_hint(err, "a workspace lies over a directory that is there");
	}
	if (rf_submount_refuse(dir, base, err) < 0 ||
	    (!ledger->is_shadow && rf_base_scan_run(dir, ret_scan, err) < 0))
		return rf_fail_in(err, "%s can't be a workspace", base);
	if (!rf_json_is_utf8(base, strlen(base)))
		return rf_fail_say(err, -EINVAL, "the path of the directory is not UTF-8");
	ledger->base = strdup(base);
	ledger->dev = st.st_dev;
	ledger->ino = st.st_ino;
	return ledger->base ? 0 : rf_fail(err, -ENOMEM, "make a workspace");
}

/*
 * Puts the folder of a new workspace together out of sight, and shows it in one step: whoever is killed on the way
 * leaves no workspace that is not whole.  `origin`: whose fork it is, or NULL: then a loss of power leaves none either.
 * The name of the ledger is its own.
 */
static int found(int all, const struct rf_ledger *ledger, const struct rf_workspace *origin,
		 struct rf_err *err)
{
	char hidden[sizeof(MAKING) + RF_LAYER_ID], id[RF_LAYER_ID];
	bool is_durable = !origin;
	RF_AUTO_FD int folder = -1;
	int code;

	if (rf_pool_name(id) < 0)
		return rf_fail(err, -EIO, "name a workspace");
	snprintf(hidden, sizeof(hidden), MAKING "%s", id);
	/* So that nobody sweeps away what is not whole. */
	if (flock(all, LOCK_SH) < 0 || mkdirat(all, hidden, 0700) < 0)
		return rf_fail(err, -errno, "make workspace %s", ledger->name);
	folder = openat(all, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	code = folder < 0 ? rf_fail(err, -errno, "make workspace %s", ledger->name)
			  : save(folder, ledger, false, err);
	if (code == 0 && is_durable && sync_ledger(folder) < 0)
		code = rf_fail(err, -errno, "write the ledger of workspace %s", ledger->name);
	if (code == 0 && origin)
		code = rf_recall_share(origin, folder, err);
	if (code == 0 && renameat(all, hidden, all, ledger->name) < 0) {
		code = rf_fail(err, errno == ENOTEMPTY ? -EEXIST : -errno, "make workspace %s",
			       ledger->name);
		if (code == -EEXIST)
			rf_fail_hint(err, "`ringfort rm %s` removes it; or choose another name",
				     ledger->name);
	}
	if (code == 0 && is_durable && fsync(all) < 0)
		code = rf_fail(err, -errno, "make workspace %s", ledger->name);
	else if (code < 0)
		rf_clear(all, hidden);
	flock(all, LOCK_UN);
	return code;
}

int rf_workspace_make(const char *name, const char *base, bool is_shadow,
		      struct rf_workspace *ret_workspace, struct rf_err *err)
{
	RF_AUTO_FD int all = -1;
	struct rf_ledger *ledger = &ret_workspace->ledger;

	*ret_workspace = (struct rf_workspace){ .folder = -1 };
	if (check_name(name, err) < 0)
		return err->code;
	snprintf(ledger->name, sizeof(ledger->name), "%s", name);
	ledger->time = time(NULL);
	ledger->next = 1;
	ledger->is_shadow = is_shadow;
	all = open_all(true, err);
	if (all >= 0 && note_base(ledger, base, &ret_workspace->scan, err) == 0 &&
	    found(all, ledger, NULL, err) == 0)
		ret_workspace->folder = open_locked(all, name, WAIT_MS, err);
	if (ret_workspace->folder >= 0)
		return 0; /* err says why not, otherwise */
	rf_workspace_close(ret_workspace);
	return err->code;
}

int rf_workspace_fork(const struct rf_workspace *workspace, const char *name, struct rf_err *err)
{
	struct rf_ledger ledger = workspace->ledger; /* borrows all that it points to */
	RF_AUTO_FD int all = -1;
	int code;

	if (check_name(name, err) < 0)
		return err->code;
	if (ledger.is_applying)
		return fail_applying(&ledger, err);
	all = open_all(true, err);
	if (all < 0)
		return all;
	memset(ledger.name, 0, sizeof(ledger.name));
	snprintf(ledger.name, sizeof(ledger.name), "%s", name);
	ledger.time = time(NULL);
	ledger.is_shadow = false;
	ledger.applies = calloc(ledger.apply_count + 1, sizeof(*ledger.applies));
	if (!ledger.applies)
		return rf_fail(err, -ENOMEM, "make a fork");
	for (size_t i = 0; i < ledger.apply_count; i++) {
		ledger.applies[i] = workspace->ledger.applies[i];
		ledger.applies[i].is_own = false;
	}
	code = found(all, &ledger, workspace, err);
	free(ledger.applies);
	return code;
}

void rf_workspace_close(struct rf_workspace *workspace)
{
	rf_ledger_done(&workspace->ledger);
	rf_fd_done(&workspace->folder);
}

int rf_workspace_remove(struct rf_workspace *workspace, struct rf_err *err)
{
	RF_AUTO_FD int all = -1;
	char gone[RF_LEDGER_NAME + 16];
	int code;

	if (workspace->ledger.is_applying)
		return fail_applying(&workspace->ledger, err);
	all = open_all(false, err);
	if (all < 0)
		return all;
	/* Out of sight in one step. */
	snprintf(gone, sizeof(gone), GONE "%s", workspace->ledger.name);
	rf_clear(all, gone);
	code = renameat(all, workspace->ledger.name, all, gone) < 0 ? -errno : rf_clear(all, gone);
	if (code < 0)
		return rf_fail(err, code, "remove workspace %s", workspace->ledger.name);
	rf_workspace_close(workspace);
	return 0;
}

/* ------------------------------------------------------------- all of them */

static int is_leftover(const struct dirent *entry)
{
	return strncmp(entry->d_name, MAKING, strlen(MAKING)) == 0 ||
	       strncmp(entry->d_name, GONE, strlen(GONE)) == 0;
}

void rf_workspace_sweep(void)
{
	struct rf_err ignored;
	RF_AUTO_FD int all = open_all(false, &ignored);
	struct dirent **entries;
	char path[32];
	int count;

	/* Not while somebody makes one. */
	if (all < 0 || flock(all, LOCK_EX | LOCK_NB) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", all);
	count = scandir(path, &entries, is_leftover, alphasort);
	for (int i = 0; i < count; i++) {
		rf_clear(all, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int rf_workspace_each(int (*fn)(void *data, const char *name), void *data, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(false, err);

	if (all == -ENOENT) { /* who only looks makes no folder */
		*err = RF_ERR_INIT;
		return 0;
	}
	return all < 0 ? all : rf_roll_each(all, "workspaces", fn, data, err);
}

/* ------------------------------------------------------------- its trees */

int rf_workspace_open_base(const struct rf_workspace *workspace, struct rf_err *err)
{
	const struct rf_ledger *ledger = &workspace->ledger;
	RF_AUTO_FD int root = rf_fd_open("/", O_PATH | O_DIRECTORY);
	RF_AUTO_FD int base = -1;
	struct stat st;

	base = root < 0 ? -errno : rf_path_open_beneath(root, ledger->base, O_RDONLY | O_DIRECTORY);
	if (base < 0 || fstat(base, &st) < 0)
		return rf_fail(err, base < 0 ? base : -errno,
			       "open %s, which workspace %s lies over", ledger->base, ledger->name);
	if (st.st_dev != ledger->dev || st.st_ino != ledger->ino) {
		rf_fail_say(err, -ESTALE,
			    "%s is another directory than the one workspace `%s` was made over",
			    ledger->base, ledger->name);
		return rf_fail_hint(err,
				    "put the old one back, or remove the workspace: ringfort rm %s",
				    ledger->name);
	}
	if (rf_submount_refuse(base, ledger->base, err) < 0)
		return rf_fail_in(err, "workspace %s, over %s", ledger->name, ledger->base);
	return rf_fd_take(&base);
}

int rf_workspace_open_stack(const struct rf_workspace *workspace, uint32_t point,
			    struct rf_stack *ret_stack, struct rf_err *err)
{
	char path[4096];
	RF_AUTO_FD int pool = rf_pool_open(true, path, sizeof(path), err);
	const char **layers;
	int base, code = 0;

	*ret_stack = (struct rf_stack){ 0 };
	if (pool < 0)
		return pool;
	layers = rf_ledger_layers(&workspace->ledger, point, &ret_stack->runs);
	if (!layers)
		return rf_fail(err, -ENOMEM, "open the layers");
	for (const char **layer = layers; *layer && code == 0; layer++)
		code = rf_stack_add_named(ret_stack, pool, *layer, err);
	free(layers);
	if (code < 0)
		return rf_fail_in(err, "workspace %s", workspace->ledger.name);
	base = rf_workspace_open_base(workspace, err);
	return base < 0 ? base : rf_stack_add(ret_stack, base, RF_STACK_BASE, err);
}
