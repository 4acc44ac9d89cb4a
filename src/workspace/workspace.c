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

#define FOLDER   "workspaces"
#define LEDGER   "ledger.json"
#define NEW      "new"
#define SEEN     "seen"
#define SEEN_MAX ((off_t)1 << 30)
#define WAIT_MS  5000 /* for whoever works on it */
#define PATIENCE 20   /* milliseconds between two looks */

/* ------------------------------------------------------------- folders */

static int open_all(bool may_make, struct rf_err *err)
{
	int all = rf_statedir_open_in(FOLDER, may_make);

	return all < 0 ? rf_fail(err, all, "open the folder of workspaces") : all;
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

static int open_locked(int all, const char *name, int wait_ms, struct rf_err *err)
{
	RF_AUTO_FD int folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat held, there;
	int code;

	if (folder < 0 && errno == ENOENT) {
		rf_fail_say(err, -ENOENT, "there is no workspace `%s`", name);
		return rf_fail_hint(
			err,
			"`ringfort workspaces` lists those there are; `ringfort create --name %s "
			"--workspace DIR` makes it",
			name);
	}
	if (folder < 0)
		return rf_fail(err, -errno, "open workspace %s", name);
	code = wait_for_lock(folder, wait_ms);
	if (code == -EWOULDBLOCK) {
		rf_fail_say(err, -EBUSY, "somebody works on workspace `%s`", name);
		return rf_fail_hint(err, "wait for the other command, or end it");
	}
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

/* Replaces a file of the workspace's folder as a whole. */
static int replace(const struct rf_workspace *workspace, const char *name,
		   const struct rf_buf *text, bool is_durable)
{
	RF_AUTO_FD int file = openat(workspace->folder, NEW,
				     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = file < 0 ? -errno : rf_fd_write(file, text->data ? text->data : "", text->len);

	if (code == 0 && is_durable && fsync(file) < 0)
		code = -errno;
	if (code == 0 && renameat(workspace->folder, NEW, workspace->folder, name) < 0)
		code = -errno;
	if (code == 0 && is_durable && fsync(workspace->folder) < 0)
		code = -errno;
	return code;
}

int rf_workspace_save(const struct rf_workspace *workspace, bool is_durable, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, RF_MAX_JSON_READ);
	rf_ledger_format(&workspace->ledger, &text);
	if (text.has_failed)
		return rf_fail_say(err, -E2BIG, "the ledger of workspace %s is too long",
				   workspace->ledger.name);
	code = replace(workspace, LEDGER, &text, is_durable);
	return code < 0 ? rf_fail(err, code, "write the ledger of workspace %s",
				  workspace->ledger.name)
			: 0;
}

int rf_workspace_load_seen(const struct rf_workspace *workspace, struct rf_seen_list *ret_list,
			   struct rf_err *err)
{
	RF_AUTO_FD int file = openat(workspace->folder, SEEN, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *text;
	struct stat st;
	ssize_t len;
	int code;

	*ret_list = (struct rf_seen_list){ 0 };
	if (file < 0 && errno == ENOENT)
		return 0;
	if (file < 0 || fstat(file, &st) < 0)
		return rf_fail(err, -errno, "read what workspace %s saw", workspace->ledger.name);
	text = st.st_size <= SEEN_MAX ? malloc((size_t)st.st_size + 1) : NULL;
	len = text ? rf_fd_read(file, text, (size_t)st.st_size) : -ENOMEM;
	code = len < 0 ? rf_fail(err, (int)len, "read it")
		       : rf_seen_parse(text, (size_t)len, ret_list, err);
	free(text);
	return code < 0 ? rf_fail_in(err, "what workspace %s saw", workspace->ledger.name) : 0;
}

int rf_workspace_save_seen(const struct rf_workspace *workspace, const struct rf_seen_list *list,
			   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, SEEN_MAX);
	rf_seen_format(list, &text);
	code = text.has_failed ? -E2BIG : replace(workspace, SEEN, &text, false);
	return code < 0 ? rf_fail(err, code, "note what workspace %s saw", workspace->ledger.name)
			: 0;
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
	all = open_all(true, err);
	if (all < 0)
		return all;
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

int rf_workspace_peek(const char *name, struct rf_ledger *ret_ledger, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(true, err);
	RF_AUTO_FD int folder = -1;

	*ret_ledger = (struct rf_ledger){ 0 };
	if (all < 0)
		return all;
	folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 ? rf_fail(err, -errno, "open workspace %s", name)
			  : load(folder, name, ret_ledger, err);
}

static int note_base(struct rf_ledger *ledger, const char *base, struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_fd_open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0) {
		rf_fail(err, -errno, "open %s", base);
		return rf_fail_hint(err, "a workspace lies over a directory that is there");
	}
	if (!rf_json_is_utf8(base, strlen(base)))
		return rf_fail_say(err, -EINVAL, "the path of the directory is not UTF-8");
	ledger->base = strdup(base);
	ledger->dev = st.st_dev;
	ledger->ino = st.st_ino;
	return ledger->base ? 0 : rf_fail(err, -ENOMEM, "make a workspace");
}

int rf_workspace_make(const char *name, const char *base, struct rf_workspace *ret_workspace,
		      struct rf_err *err)
{
	RF_AUTO_FD int all = -1;
	struct rf_ledger *ledger = &ret_workspace->ledger;

	*ret_workspace = (struct rf_workspace){ .folder = -1 };
	if (check_name(name, err) < 0)
		return err->code;
	snprintf(ledger->name, sizeof(ledger->name), "%s", name);
	ledger->time = time(NULL);
	ledger->next = 1;
	all = open_all(true, err);
	if (all < 0 || note_base(ledger, base, err) < 0)
		goto failed;
	if (mkdirat(all, name, 0700) < 0) {
		rf_fail(err, -errno, "make workspace %s", name);
		if (err->code == -EEXIST)
			rf_fail_hint(err, "`ringfort rm %s` removes it; or choose another name",
				     name);
		goto failed;
	}
	ret_workspace->folder = open_locked(all, name, WAIT_MS, err);
	if (ret_workspace->folder >= 0 && rf_workspace_save(ret_workspace, false, err) == 0)
		return 0;
	rf_clear(all, name);
failed:
	rf_workspace_close(ret_workspace);
	return err->code;
}

int rf_workspace_fork(const struct rf_workspace *workspace, const char *name, struct rf_err *err)
{
	struct rf_workspace other;
	struct rf_ledger ledger;
	struct rf_seen_list seen;
	char own[RF_LEDGER_NAME];
	int code = rf_workspace_make(name, workspace->ledger.base, &other, err);

	if (code < 0)
		return code;
	/* The same ledger under another name, for this moment; each owns its own memory. */
	memcpy(own, other.ledger.name, sizeof(own));
	ledger = other.ledger;
	other.ledger = workspace->ledger;
	memcpy(other.ledger.name, own, sizeof(own));
	other.ledger.time = ledger.time;
	other.ledger.inverse[0] = '\0'; /* what was applied is the other one's to take back */
	other.ledger.is_applying = false;
	code = rf_workspace_load_seen(workspace, &seen, err);
	if (code == 0)
		code = rf_workspace_save_seen(&other, &seen, err);
	if (code == 0)
		code = rf_workspace_save(&other, false, err);
	rf_seen_done(&seen);
	other.ledger = ledger;
	if (code < 0) {
		struct rf_err ignored;

		rf_workspace_remove(&other, &ignored);
	}
	rf_workspace_close(&other);
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

	if (workspace->ledger.is_applying) {
		rf_fail_say(err, -EBUSY, "an apply of workspace `%s` was interrupted",
			    workspace->ledger.name);
		return rf_fail_hint(
			err, "`ringfort apply -w %s` goes on, `ringfort undo -w %s` goes back",
			workspace->ledger.name, workspace->ledger.name);
	}
	all = open_all(false, err);
	if (all < 0)
		return all;
	/* Out of sight in one step; a name with a dot in front is nobody's. */
	snprintf(gone, sizeof(gone), ".gone-%s", workspace->ledger.name);
	rf_clear(all, gone);
	code = renameat(all, workspace->ledger.name, all, gone) < 0 ? -errno : rf_clear(all, gone);
	if (code < 0)
		return rf_fail(err, code, "remove workspace %s", workspace->ledger.name);
	rf_workspace_close(workspace);
	return 0;
}

/* ------------------------------------------------------------- all of them */

static int is_visible(const struct dirent *entry)
{
	return rf_ledger_is_name(entry->d_name);
}

int rf_workspace_each(int (*fn)(void *data, const char *name), void *data, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(true, err);
	struct dirent **entries;
	char path[32];
	int count, code = 0;

	if (all < 0)
		return all;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", all);
	count = scandir(path, &entries, is_visible, alphasort);
	if (count < 0)
		return rf_fail(err, -errno, "list the workspaces");
	for (int i = 0; i < count; i++) {
		if (code == 0)
			code = fn(data, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return code;
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
	return rf_fd_take(&base);
}

int rf_workspace_open_stack(const struct rf_workspace *workspace, uint32_t point,
			    struct rf_stack *ret_stack, struct rf_err *err)
{
	char path[4096];
	RF_AUTO_FD int pool = rf_pool_open(true, path, sizeof(path), err);
	int base;

	*ret_stack = (struct rf_stack){ 0 };
	if (pool < 0)
		return pool;
	for (const struct rf_point *p; point && (p = rf_ledger_point(&workspace->ledger, point));
	     point = p->parent)
		if (rf_stack_add_named(ret_stack, pool, p->layer, err) < 0)
			return rf_fail_in(err, "workspace %s", workspace->ledger.name);
	base = rf_workspace_open_base(workspace, err);
	return base < 0 ? base : rf_stack_add(ret_stack, base, RF_STACK_BASE, err);
}
