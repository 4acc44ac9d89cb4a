/*
 * ringfort-init: pid 1 of a box.
 *
 * Started by the launcher after all walls are up, with the program's arguments and environment as
 * its own and the orders socket as descriptor 3.  It starts the program behind the one choke point
 * (the proof, then exec), reaps what the box leaves, passes on the signals that the launcher sends,
 * and reports how the program ended.  When it exits, the kernel ends everything else in the box.
 *
 * It holds no secret, is not dumpable, and lives under the same filter as the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include "init/orders.h"
#include "init/proof.h"
#include "init/sys.h"

void start(long *stack);

/* What the compiler calls without being asked. */
void *memset(void *to, int byte, size_t len);
void *memcpy(void *restrict to, const void *restrict from, size_t len);

void *memset(void *to, int byte, size_t len)
{
	for (volatile char *at = to; len > 0; len--)
		*at++ = (char)byte;
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	const char *source = from;

	for (volatile char *at = to; len > 0; len--)
		*at++ = *source++;
	return to;
}

static _Noreturn void leave(int code)
{
	for (;;)
		SYS1(__NR_exit_group, code);
}

static void send_report(const struct rf_report *report)
{
	SYS(__NR_sendto, RF_ORDERS_FD, report, sizeof(*report), MSG_NOSIGNAL, 0, 0);
}

static void set_mask(int how, uint64_t mask)
{
	SYS4(__NR_rt_sigprocmask, how, &mask, 0, sizeof(mask));
}

/* What the caller ignores is not the program's business; a libc would hide some of its own. */
static void forget_dispositions(void)
{
	static const long by_default[4]; /* the kernel's struct sigaction: SIG_DFL, nothing set */

	for (long number = 1; number <= 64; number++)
		SYS4(__NR_rt_sigaction, number, by_default, 0, sizeof(uint64_t));
}

static const char *variable(char *const *env, const char *name)
{
	for (; *env; env++)
		if (sys_starts_with(*env, name))
			return *env + sys_strlen(name);
	return "";
}

/* Tries argv[0] as it is, or in each directory of PATH.  Returns only on failure: the errno. */
static int exec_program(char *const *argv, char *const *env)
{
	const char *at = variable(env, "PATH=");
	const char *name = argv[0];
	size_t len = sys_strlen(name);
	int err = ENOENT;
	char path[4096];

	for (const char *c = name; *c; c++)
		if (*c == '/')
			return (int)-SYS3(__NR_execve, name, argv, env);
	while (*at) {
		size_t dir = 0;
		int got;

		while (at[dir] && at[dir] != ':')
			dir++;
		if (dir > 0 && dir + len + 2 <= sizeof(path)) {
			memcpy(path, at, dir);
			path[dir] = '/';
			memcpy(path + dir + 1, name, len + 1);
			got = (int)-SYS3(__NR_execve, path, argv, env);
			if (got != ENOENT && got != ENOTDIR)
				err = got;
		}
		at += dir + (at[dir] == ':');
	}
	return err;
}

/* The box was built on one processor; from here on the scheduler chooses. */
static void spread_out(const struct rf_orders *orders)
{
	if (orders->cpus_bytes && orders->cpus_bytes <= sizeof(orders->cpus))
		SYS3(__NR_sched_setaffinity, 0, orders->cpus_bytes, orders->cpus);
}

/* What to start, and under which conditions. */
struct start {
	struct rf_orders orders;
	char *const *argv, *const *env;
};

/* The choke point: the only place in Ringfort where a program of a box begins. */
static void become_program(void *data)
{
	const struct start *start = data;
	struct rf_report report = { .kind = RF_REPORT_STARTED };

	SYS0(__NR_setsid);
	forget_dispositions();
	spread_out(&start->orders);
	if (proof_check(&start->orders, &report) < 0) {
		report.kind = RF_REPORT_REFUSED;
		send_report(&report);
		leave(125);
	}
	send_report(&report);
	set_mask(SIG_SETMASK, 0);
	report = (struct rf_report){ .kind = RF_REPORT_NO_EXEC,
				     .code = exec_program(start->argv, start->env) };
	send_report(&report);
	leave(127);
}

static void report_end(int status)
{
	struct rf_report report = { .kind = RF_REPORT_ENDED, .code = status };
	struct statfs fs;

	if (SYS2(__NR_statfs, "/tmp", &fs) == 0) {
		uint64_t block = (uint64_t)fs.f_bsize;

		report.scratch_bytes = fs.f_blocks * block;
		report.scratch_free_bytes = fs.f_bfree * block;
		report.scratch_files = fs.f_files;
		report.scratch_free_files = fs.f_ffree;
	}
	send_report(&report);
}

/* Reaps everything; leaves with the program.  Signals from inside the box are nobody's orders. */
static _Noreturn void watch(int program)
{
	uint64_t all = ~0ull;

	for (;;) {
		siginfo_t info;
		int status, pid;
		long signal = SYS4(__NR_rt_sigtimedwait, &all, &info, 0, sizeof(all));

		if (signal > 0 && signal != SIGCHLD && info.si_pid == 0 && info.si_code == SI_USER)
			SYS2(__NR_kill, program, signal);
		while ((pid = (int)SYS4(__NR_wait4, -1, &status, 1 /* WNOHANG */, 0)) > 0)
			if (pid == program) {
				report_end(status);
				leave(0);
			}
	}
}

void start(long *stack)
{
	static char program_stack[65536] __attribute__((aligned(16)));
	static struct start what;
	long argc = stack[0], program;
	char extra;

	/* Before anything of the box runs: nobody inside may look at pid 1, and it dies with its launcher. */
	SYS(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
	SYS(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETFD, FD_CLOEXEC);
	set_mask(SIG_SETMASK, ~0ull);

	/* A launcher that died has closed its end, before its orders or behind them: no start. */
	if (SYS(__NR_recvfrom, RF_ORDERS_FD, &what.orders, sizeof(what.orders), 0, 0, 0) !=
		    (long)sizeof(what.orders) ||
	    what.orders.magic != RF_ORDERS_MAGIC || argc < 2 ||
	    SYS(__NR_recvfrom, RF_ORDERS_FD, &extra, sizeof(extra), MSG_DONTWAIT, 0, 0) != -EAGAIN)
		leave(125);

	what.argv = (char *const *)(stack + 2);
	what.env = (char *const *)(stack + argc + 2);
	program = sys_vfork(become_program, &what, program_stack + sizeof(program_stack));
	if (program < 0)
		leave(125);
	spread_out(&what.orders);
	watch((int)program);
}

SYS_ENTRY;
