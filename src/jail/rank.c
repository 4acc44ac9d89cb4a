/*
 * What a box's processes count for among the machine's.
 *
 * Most of it they have from the caller, as a program without a box would: how nice it is, and which processors it
 * may use.  Three things would let a box push the host aside and are taken away, before the first wall:
 *
 * - a real-time turn: no share of the processor bounds it, and the host waits for who has it; a cgroup does not even
 *   let such a process in
 * - a real-time turn at the disk
 * - a life that is worth as much as another's when memory runs out: boxes go first (the watcher last)
 *
 * The last is a courtesy where the kernel lets a program take it back: down to what the caller has, unless who made
 * the box holds CAP_SYS_RESOURCE.
 */
#include "jail/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/parts.h"

#define FIRST_TO_GO "1000" /* the most that proc(5) has */

static int leave_real_time(struct rf_err *err)
{
	const int usual = 0; /* struct sched_param */
	long turn = syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;

	if (turn == SCHED_OTHER || turn == SCHED_BATCH || turn == SCHED_IDLE)
		return 0;
	if (syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual) < 0)
		return rf_fail(err, -errno, "leave the caller's real-time turn");
	return 0;
}

static int leave_real_time_disk(struct rf_err *err)
{
	long turn = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

	if (turn < 0 || IOPRIO_PRIO_CLASS(turn) != IOPRIO_CLASS_RT)
		return 0; /* or a kernel that knows none */
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) < 0)
		return rf_fail(err, -errno, "leave the caller's real-time turn at the disk");
	return 0;
}

int rf_rank_lower(const struct rf_box *box, struct rf_err *err)
{
	int proc = rf_parts_has_mold(box) ? box->parts->proc : AT_FDCWD; /* a mold shows none */
	int code;

	if (leave_real_time(err) < 0 || leave_real_time_disk(err) < 0)
		return err->code;
	code = rf_fd_write_text(proc, proc < 0 ? "/proc/self/oom_score_adj" : "self/oom_score_adj",
				FIRST_TO_GO);
	return code < 0 ? rf_fail(err, code, "be the first to go when memory runs out") : 0;
}
