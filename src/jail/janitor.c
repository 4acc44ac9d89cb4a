/* The janitor: see janitor.h. */
#include "jail/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/lesser.h"
#include "jail/record.h"
#include "jail/scratch.h"

/* Closes every other descriptor, gap by gap. */
static void keep_only(const int *kept, size_t count)
{
	for (int from = 0;;) {
		int next = INT_MAX;

		for (size_t i = 0; i < count; i++)
			if (kept[i] >= from && kept[i] < next)
				next = kept[i];
		if (next > from)
			rf_kernel_close_range((unsigned)from, (unsigned)next - 1, 0);
		if (next == INT_MAX)
			return;
		from = next + 1;
	}
}

/* Waits for the launcher's end of the pipe to close; holds nothing but `kept` and that meanwhile. */
static void wait_for_end(int life, const int *kept, size_t count)
{
	sigset_t all;
	ssize_t n;
	char none;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "ringfort-clean", 0, 0, 0);
	/* Nothing of the caller's: a reader of its output must see the end. */
	keep_only(kept, count);
	while ((n = read(life, &none, 1)) < 0 && errno == EINTR)
		;
	if (n < 0) /* not a word of the launcher: it may well live, and so may its boxes */
		_exit(1);
}

/*
 * Waits for the launcher's end, then for pid 1, and removes what is left.  Keeps the record's lock and
 * the uid's until then, so that neither is taken over too early.
 */
static _Noreturn void wait_and_clean(const struct rf_box *launchers, int life)
{
	struct rf_box box = *launchers;
	struct pollfd gone = { .fd = box.pidfd, .events = POLLIN };

	wait_for_end(life, (int[]){ life, box.pidfd, box.record, box.uid_lock, box.scratch_lock },
		     5);
	if (box.is_lesser) { /* whose pid 1 has seen it too, and is ending its kin */
		rf_cgroup_let_die(&box.cgroup);
		rf_lesser_await(&box);
	} else {
		rf_box_kill(&box);
	}
	poll(&gone, 1, 2000);
	if (box.scratch[0] && rf_scratch_remove(box.scratch))
		box.scratch[0] = '\0';
	for (int i = 0; i < RF_GROUP_COUNT; i++)
		box.cgroup.dirs[i] = -1;
	rf_cgroup_done(&box.cgroup);
	rf_record_done(&box);
	_exit(0);
}

/* Sweeps records that nobody holds any more; boxes that are still dying get a moment. */
static _Noreturn void wait_and_sweep(int life)
{
	wait_for_end(life, &life, 1);
	for (int i = 0; i < 4; i++) {
		rf_record_sweep_all();
		poll(NULL, 0, 50 << i);
	}
	_exit(0);
}

/* `box`: the one that is cleaned up after, or NULL for all. */
static void start(struct rf_janitor *janitor, const struct rf_box *box)
{
	int life[2];

	if (pipe2(life, O_CLOEXEC) < 0)
		return;
	janitor->pid = fork();
	if (janitor->pid == 0) {
		close(life[1]);
		if (box)
			wait_and_clean(box, life[0]);
		wait_and_sweep(life[0]);
	}
	close(life[0]);
	janitor->life = life[1];
	if (janitor->pid < 0) {
		janitor->pid = 0;
		rf_fd_done(&janitor->life);
	}
}

void rf_janitor_start(struct rf_janitor *janitor, const struct rf_box *box)
{
	*janitor = (struct rf_janitor){ .life = -1 };
	if (rf_cgroup_is_used(&box->cgroup) || box->record >= 0 || box->is_lesser)
		start(janitor, box);
}

void rf_janitor_stand(struct rf_janitor *janitor)
{
	*janitor = (struct rf_janitor){ .life = -1 };
	start(janitor, NULL);
}

void rf_janitor_stop(struct rf_janitor *janitor)
{
	if (janitor->pid <= 0)
		return;
	kill(janitor->pid, SIGKILL);
	rf_fd_done(
		&janitor->life); /* which ends it, too, and there is nothing left to be cleaned */
	while (waitpid(janitor->pid, NULL, 0) < 0 && errno == EINTR)
		;
	janitor->pid = 0;
}
