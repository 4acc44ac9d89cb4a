/* Attacks on one process of the host, by every call that takes the number of a process. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define IOPRIO_IDLE (3 << 13)

static int by_tkill(char **args)
{
	return attack_result(syscall(SYS_tkill, atoi(args[0]), SIGKILL));
}

static int by_tgkill(char **args)
{
	return attack_result(syscall(SYS_tgkill, atoi(args[0]), atoi(args[0]), SIGKILL));
}

static int by_queue(char **args)
{
	return attack_result(sigqueue(atoi(args[0]), SIGKILL, (union sigval){ .sival_int = 0 }));
}

static int by_seize(char **args)
{
	return attack_result(ptrace(PTRACE_SEIZE, atoi(args[0]), NULL, NULL));
}

/* An address that nobody has: EFAULT comes after the permission. */
static int by_memory(long call, const char *pid)
{
	char byte = 0;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)8, 1 };
	long got = syscall(call, atoi(pid), &ours, 1, &theirs, 1, 0);

	return got < 0 && errno == ESRCH ? -ESRCH : attack_reached(got);
}

static int by_reading(char **args)
{
	return by_memory(SYS_process_vm_readv, args[0]);
}

static int by_writing(char **args)
{
	return by_memory(SYS_process_vm_writev, args[0]);
}

static int by_pidfd(char **args)
{
	return attack_result(syscall(SYS_pidfd_open, atoi(args[0]), 0));
}

static int by_descriptor(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(args[0]), 0);

	return fd < 0 ? -errno : attack_result(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int by_limits(char **args)
{
	struct rlimit limit;

	return attack_result(prlimit(atoi(args[0]), RLIMIT_NOFILE, NULL, &limit));
}

static int by_priority(char **args)
{
	return attack_result(setpriority(PRIO_PROCESS, (id_t)atoi(args[0]), 15));
}

static int by_affinity(char **args)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return attack_result(sched_setaffinity(atoi(args[0]), sizeof(one), &one));
}

static int by_policy(char **args)
{
	return attack_result(sched_getscheduler(atoi(args[0])));
}

static int by_group(char **args)
{
	return attack_result(getpgid(atoi(args[0])));
}

static int by_session(char **args)
{
	return attack_result(getsid(atoi(args[0])));
}

static int by_disk_priority(char **args)
{
	return attack_result(syscall(SYS_ioprio_set, 1, atoi(args[0]), IOPRIO_IDLE));
}

static int by_robust_list(char **args)
{
	void *head;
	size_t len;

	return attack_result(syscall(SYS_get_robust_list, atoi(args[0]), &head, &len));
}

static int by_comparing(char **args)
{
	return attack_result(syscall(SYS_kcmp, getpid(), atoi(args[0]), 0, 0, 0));
}

static int by_moving_pages(char **args)
{
	return attack_result(syscall(SYS_move_pages, atoi(args[0]), 0ul, NULL, NULL, NULL, 0));
}

static int by_counters(char **args)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
	};

	return attack_result(syscall(SYS_perf_event_open, &attr, atoi(args[0]), -1, -1, 0));
}

static int by_clock(char **args)
{
	clockid_t clock;
	struct timespec now;
	int code = clock_getcpuclockid(atoi(args[0]), &clock);

	return code ? -code : attack_result(clock_gettime(clock, &now));
}

const struct attack attack_reach[] = {
	{ "reach-tkill", by_tkill },
	{ "reach-tgkill", by_tgkill },
	{ "reach-sigqueue", by_queue },
	{ "reach-ptrace", by_seize },
	{ "reach-vm-readv", by_reading },
	{ "reach-vm-writev", by_writing },
	{ "reach-pidfd", by_pidfd },
	{ "reach-pidfd-getfd", by_descriptor },
	{ "reach-prlimit", by_limits },
	{ "reach-setpriority", by_priority },
	{ "reach-setaffinity", by_affinity },
	{ "reach-getscheduler", by_policy },
	{ "reach-getpgid", by_group },
	{ "reach-getsid", by_session },
	{ "reach-ioprio", by_disk_priority },
	{ "reach-robust-list", by_robust_list },
	{ "reach-kcmp", by_comparing },
	{ "reach-move-pages", by_moving_pages },
	{ "reach-perf", by_counters },
	{ "reach-clock", by_clock },
	{ NULL, NULL },
};
