/* A program that stands still for a moment: see standstill.h. */
#include "cli/standstill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/worksite.h"
#include "watch/herd.h"

#define TRIES    100 /* to find the box, which may be about to start, and to stop it */
#define PATIENCE 20  /* milliseconds between two of them */
#define NO_GROUP "-" /* no box is called so: its processes are stopped one by one */

static void wait_a_moment(void)
{
	const struct timespec pause = { 0, PATIENCE * 1000000L };

	nanosleep(&pause, NULL);
}

/* The box among the children of one thread of its launcher. */
static int find_among(pid_t launcher, const char *thread, struct rf_herd *herd)
{
	char path[64], text[4096];
	char *at = text, *end;
	struct rf_err ignored;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)launcher, thread);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -ESRCH;
	for (;; at = end) {
		long pid = strtol(at, &end, 10);
		RF_AUTO_FD int pidfd = -1;

		if (end == at || pid <= 0)
			return -ESRCH;
		pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
		if (pidfd >= 0 &&
		    rf_herd_open(herd, &pidfd, launcher, NO_GROUP, false, &ignored) == 0)
			return 0;
	}
}

static int find_box(pid_t launcher, struct rf_herd *herd)
{
	char path[32];
	const struct dirent *thread;
	int code = -ESRCH;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)launcher);
	dir = opendir(path);
	while (dir && code < 0 && (thread = readdir(dir)))
		if (thread->d_name[0] != '.')
			code = find_among(launcher, thread->d_name, herd);
	if (dir)
		closedir(dir);
	return code;
}

static int await_box(pid_t launcher, struct rf_herd *herd, struct rf_err *err)
{
	for (int tries = TRIES; find_box(launcher, herd) < 0; wait_a_moment())
		if (--tries == 0) {
			rf_fail_say(err, -EBUSY, "the program is only just starting, or ending");
			return rf_fail_hint(err, "try again in a moment");
		}
	return 0;
}

static int stop_box(const struct rf_herd *herd, struct rf_err *err)
{
	for (int tries = TRIES; !rf_herd_stop(herd); wait_a_moment())
		if (--tries == 0 || !rf_herd_is_alive(herd)) {
			rf_fail_say(err, -EBUSY, "the program does not stand still");
			return rf_fail_hint(err, "--stop ends it instead");
		}
	return 0;
}

/* ------------------------------------------------------------- whoever is killed meanwhile */

/* A process that lets the box go on if we end without having done so. */
struct relief {
	pid_t pid;
	int line; /* whose end it hears */
};

/* In the child: no signal that is meant for us, or for all that a terminal started, reaches it. */
static void relieve(int line, const struct rf_herd *herd)
{
	sigset_t all;
	char word;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (rf_fd_read(line, &word, 1) <= 0)
		rf_herd_continue(herd);
	_exit(0);
}

static int relief_begin(struct relief *relief, const struct rf_herd *herd, struct rf_err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return rf_fail(err, -errno, "make a pipe");
	relief->pid = fork();
	if (relief->pid == 0) {
		close(ends[1]);
		relieve(ends[0], herd);
	}
	close(ends[0]);
	relief->line = ends[1];
	if (relief->pid > 0)
		return 0;
	rf_fd_done(&relief->line);
	return rf_fail(err, -errno, "start who lets the program go on if this is killed");
}

static void relief_end(struct relief *relief)
{
	rf_fd_write(relief->line, ".", 1);
	rf_fd_done(&relief->line);
	while (waitpid(relief->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int copy_still(struct rf_snapshot *snapshot, struct rf_err *err)
{
	struct rf_herd herd;
	struct relief relief;
	int code;

	rf_herd_init(&herd);
	code = await_box(snapshot->occupant.pid, &herd, err);
	if (code == 0)
		code = relief_begin(&relief, &herd, err);
	if (code == 0) {
		code = stop_box(&herd, err);
		if (code == 0)
			code = rf_snapshot_copy(snapshot, err);
		rf_herd_continue(&herd);
		relief_end(&relief);
	}
	rf_herd_done(&herd);
	return code;
}

/* A name that no point has. */
static int check_name(const struct rf_ledger *ledger, const char *checkpoint, struct rf_err *err)
{
	struct rf_err ignored = RF_ERR_INIT;
	uint32_t taken;

	if (!checkpoint)
		return 0;
	if (!rf_ledger_is_name(checkpoint)) {
		rf_fail_say(err, -EINVAL, "`%.60s` can't be a name", checkpoint);
		return rf_fail_hint(err, "letters, digits, `-`, `_` and `.`");
	}
	if (rf_ledger_find_point(ledger, checkpoint, &taken, &ignored) < 0)
		return 0;
	rf_fail_say(err, -EEXIST, "@%u is called `%s` already", taken, checkpoint);
	return rf_fail_hint(err, "choose another name");
}

int rf_standstill_keep(const char *name, const char *checkpoint, struct rf_snapshot *ret_snapshot,
		       uint32_t *ret_point, struct rf_err *err)
{
	int code = rf_snapshot_open(name, ret_snapshot, err);

	if (code < 0)
		return code;
	code = check_name(&ret_snapshot->visit.kept.ledger, checkpoint, err);
	if (code == 0)
		code = copy_still(ret_snapshot, err);
	if (code == 0)
		code = rf_snapshot_keep(ret_snapshot, checkpoint, ret_point, err);
	if (code < 0)
		rf_snapshot_close(ret_snapshot);
	return code;
}
