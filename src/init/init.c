/*
 * ringfort-init: pid 1 of a box.
 *
 * Started by the launcher after all walls are up, with the program's arguments and environment as
 * its own (or, built ahead, none yet) and the orders socket as descriptor 3.  It starts the program behind the one choke point
 * (the proof, then exec), reaps what the box leaves, passes on the signals that the launcher sends,
 * and reports how the program ended.  When it exits, the kernel ends everything else in the box; in
 * a lesser one, which has no pid namespace, it ends everything itself before it exits.
 *
 * It holds no secret, is not dumpable, and lives under the same filter as the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <time.h>

#include "init/init.h"
#include "init/kept.h"
#include "init/orders.h"
#include "init/proof.h"
#include "init/sys.h"

/* How often it is looked whether somebody stopped what is to become a program, before that is killed. */
#define STOPPED_LOOKS   50
#define STOPPED_LOOK_NS 10000000
#define TELL_BYTES      (1u << 20)

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

_Noreturn void init_leave(int code)
{
	for (;;)
		SYS1(__NR_exit_group, code);
}

bool init_report(const struct rf_report *report)
{
	long sent;

	do
		sent = SYS(__NR_sendto, RF_ORDERS_FD, report, sizeof(*report), MSG_NOSIGNAL, 0, 0);
	while (sent == -EINTR);
	return sent == (long)sizeof(*report);
}

static long set_mask(int how, uint64_t mask)
{
	return SYS4(__NR_rt_sigprocmask, how, &mask, 0, sizeof(mask));
}

/*
 * What the caller ignores is not the program's business; a libc would hide some of its own.  Done by pid 1,
 * whose signals are blocked: what it forgets before there are orders, a box built ahead need not wait for.
 */
static long forget_dispositions(void)
{
	static const long by_default[4]; /* the kernel's struct sigaction: SIG_DFL, nothing set */
	long code = 0;

	for (long number = 1; number <= 64 && code == 0; number++)
		if (number != SIGKILL && number != SIGSTOP)
			code = SYS4(__NR_rt_sigaction, number, by_default, 0, sizeof(uint64_t));
	return code;
}

static const char *variable(char *const *env, const char *name)
{
	for (; *env; env++)
		if (sys_starts_with(*env, name))
			return *env + sys_strlen(name);
	return "";
}

/*
 * Executes the descriptor that came along, or tries argv[0] as it is, or in each directory of PATH.  Returns only on
 * failure: the errno.
 */
static int exec_program(const struct init_start *start)
{
	char *const *argv = start->argv, *const *env = start->env;
	const char *at = variable(env, "PATH=");
	const char *name = argv[0];
	size_t len = sys_strlen(name);
	int err = ENOENT;
	char path[4096];

	if (start->orders.has_program)
		return (int)-SYS(__NR_execveat, RF_PROGRAM_FD, "", argv, env, AT_EMPTY_PATH, 0);
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

static int enter_inner(const struct rf_orders *orders, struct rf_report *report)
{
	if (!orders->lesser.has_inner)
		return 0;
	report->fact = RF_PROOF_LANDLOCK;
	return proof_enter_inner(orders);
}

/* The choke point: the only place in Ringfort where a program of a box begins. */
void init_become_program(void *data)
{
	const struct init_start *start = data;
	struct rf_report report = { .kind = RF_REPORT_STARTED, .number = start->number };
	long code;

	SYS0(__NR_setsid);
	if (start->orders.has_terminal) /* and its foreground, so that ctrl-C means the program */
		SYS3(__NR_ioctl, 0, TIOCSCTTY, 0);
	spread_out(&start->orders);
	if (proof_check(&start->orders, &report) < 0 || enter_inner(&start->orders, &report) < 0) {
		report.kind = RF_REPORT_REFUSED;
		init_report(&report);
		init_leave(125);
	}
	if (!init_report(&report)) /* nothing starts that nobody hears of */
		init_leave(125);
	code = set_mask(SIG_SETMASK, 0);
	report = (struct rf_report){
		.kind = RF_REPORT_NO_EXEC,
		.number = start->number,
		.code = code < 0 ? (int)-code : exec_program(start),
	};
	init_report(&report);
	init_leave(127);
}

int init_reap(int *ret_status, struct rusage *ret_used)
{
	static uint64_t unsaid;
	struct rf_report report = { .kind = RF_REPORT_WRITTEN };
	int pid = (int)SYS4(__NR_wait4, -1, ret_status, 1 /* WNOHANG */, ret_used);

	if (pid > 0)
		unsaid += (uint64_t)ret_used->ru_oublock * 512u;
	report.written_bytes = unsaid;
	/* A launcher that does not listen just now is told with the next one: pid 1 waits for nobody. */
	if (pid > 0 && unsaid >= TELL_BYTES &&
	    SYS(__NR_sendto, RF_ORDERS_FD, &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT, 0,
		0) == (long)sizeof(report))
		unsaid = 0;
	return pid;
}

void init_report_end(struct rf_report *report, const struct rf_orders *orders)
{
	struct statfs fs;

	/* A lesser box has no file system of its own. */
	if (!orders->lesser.is_lesser && SYS2(__NR_statfs, "/tmp", &fs) == 0) {
		uint64_t block = (uint64_t)fs.f_bsize;

		report->scratch_bytes = fs.f_blocks * block;
		report->scratch_free_bytes = fs.f_bfree * block;
		report->scratch_files = fs.f_files;
		report->scratch_free_files = fs.f_ffree;
	}
	init_report(report);
}

static char child_stack[65536] __attribute__((aligned(16)));

long init_make_process(void (*become)(void *), void *data)
{
	return sys_clone(SYS_VFORK_FLAGS, become, data, child_stack + sizeof(child_stack), 0);
}

/* What pid 1 knows of its child without reaping it. */
static bool is_stopped(long child)
{
	siginfo_t info = { 0 };

	return SYS(__NR_waitid, 1 /* P_PID */, child, &info,
		   0x01000003 /* WNOWAIT|WSTOPPED|WNOHANG */, 0, 0) == 0 &&
	       info.si_pid == child;
}

long init_make_process_among(void (*become)(void *), void *data)
{
	static int left; /* not 0 while the child has our memory */
	const struct timespec a_while = { .tv_nsec = STOPPED_LOOK_NS };
	long child;
	int looks = 0;

	left = 1;
	child = sys_clone(SYS_SPAWN_FLAGS, become, data, child_stack + sizeof(child_stack), &left);
	while (child > 0 && __atomic_load_n(&left, __ATOMIC_ACQUIRE)) {
		SYS4(__NR_futex, &left, 0 /* FUTEX_WAIT */, 1, &a_while);
		if (__atomic_load_n(&left, __ATOMIC_ACQUIRE) && is_stopped(child))
			SYS2(__NR_kill, child, ++looks < STOPPED_LOOKS ? SIGCONT : SIGKILL);
	}
	return child;
}

/* ------------------------------------------------------------- built ahead */

/* Puts the three descriptors of a message in the place of 0, 1 and 2. */
static int take_streams(const struct msghdr *message)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int streams[3];

	if (message->msg_flags & (MSG_CTRUNC | MSG_TRUNC) || !head ||
	    head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(streams)))
		return -EINVAL;
	memcpy(streams, CMSG_DATA(head), sizeof(streams));
	for (int i = 0; i < 3; i++)
		if (SYS3(__NR_dup3, streams[i], i, 0) != i || SYS1(__NR_close, streams[i]) != 0)
			return -EBADF;
	return 0;
}

/* Lays `count` pointers to the strings from `at` on, and a NULL.  NULL if the text ends before. */
static char *lay_list(char **pointers, uint32_t count, char *at, const char *end)
{
	for (uint32_t i = 0; i < count; i++) {
		pointers[i] = at;
		while (at < end && *at)
			at++;
		if (at++ >= end)
			return 0;
	}
	pointers[count] = 0;
	return at;
}

static int enter(const char *workdir, uint32_t number)
{
	struct rf_report report = { .kind = RF_REPORT_NO_WORKDIR, .number = number };

	report.code = (int32_t)-SYS1(__NR_chdir, workdir);
	if (report.code != 0)
		init_report(&report);
	return -report.code;
}

int init_lay_words(struct rf_words *words, size_t len, struct init_start *start)
{
	static char *argv[RF_WORDS_COUNT + 1], *env[RF_WORDS_COUNT + 1], *workdir[2];
	const size_t head = offsetof(struct rf_words, text);
	const char *end = words->text + words->len;
	char *at = words->text;

	if (len < head || words->len > RF_WORDS_BYTES || len != head + words->len ||
	    words->argc == 0 || words->argc > RF_WORDS_COUNT || words->envc > RF_WORDS_COUNT)
		return -EINVAL;
	at = lay_list(workdir, 1, at, end);
	at = at ? lay_list(argv, words->argc, at, end) : 0;
	at = at ? lay_list(env, words->envc, at, end) : 0;
	if (at != end)
		return -EINVAL;
	start->argv = argv;
	start->env = env;
	start->workdir = workdir[0];
	start->umask = words->umask;
	return 0;
}

int init_settle(const struct init_start *start)
{
	SYS1(__NR_umask, start->umask);
	return enter(start->workdir, start->number);
}

/* Waits for what to run, in a box that stood ready before anybody asked for one. */
static int take_words(struct init_start *start)
{
	static struct rf_words words;
	static char control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { .iov_base = &words, .iov_len = sizeof(words) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	long len = SYS3(__NR_recvmsg, RF_ORDERS_FD, &message, MSG_CMSG_CLOEXEC);

	if (len < 0 || init_lay_words(&words, (size_t)len, start) < 0 || take_streams(&message) < 0)
		return -EINVAL;
	return init_settle(start);
}

/*
 * True if the launcher was alive after our death had been tied to its own, so that it can't have died
 * unheard.  That its end of the orders' socket is open does not say so: a second pair of hands may hold it
 * for a moment longer.  The kernel signals the children of who dies and marks it dead in one go, under a
 * lock that wait4() takes, too: so it was marked before, or we were there to be signalled.
 */
static bool has_launcher(const struct rf_orders *orders)
{
	struct pollfd launcher = { .fd = RF_LAUNCHER_FD, .events = POLLIN };
	struct timespec now = { 0 };

	if (orders->has_launcher && (SYS4(__NR_wait4, -1, 0, 1 /* WNOHANG */, 0) != -ECHILD ||
				     SYS(__NR_ppoll, &launcher, 1, &now, 0, 0, 0) != 0))
		return false;
	return SYS1(__NR_close, RF_LAUNCHER_FD) == 0;
}

/* ------------------------------------------------------------- the end of a lesser box */

/* Without a scope only the children are safe to name; theirs become ours when they are dead. */
static void kill_children(void)
{
	char text[4096];
	int fd = (int)SYS4(__NR_openat, AT_FDCWD, "/proc/thread-self/children",
			   O_RDONLY | O_CLOEXEC, 0);
	long len, pid = 0;

	if (fd < 0)
		return;
	while ((len = SYS3(__NR_read, fd, text, sizeof(text))) > 0)
		for (long i = 0; i < len; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 1)
				SYS2(__NR_kill, pid, SIGKILL);
			pid = 0;
		}
	SYS1(__NR_close, fd);
}

/*
 * Kills until nobody is left.  Where Landlock keeps our signals inside, "everyone" is the box, and one
 * call reaches all of it at once, also what forks meanwhile.  Whether that is so is asked of the
 * kernel each time: a scope that did not hold would end the user's session.  That our parent can't be
 * signalled is no answer by itself: it may be another's, or the host's own pid 1 by now.  The sentinel
 * is kept from us by the very ruleset that has the scope.
 */
static void end_kin(const struct rf_orders *orders)
{
	long gone;

	do {
		if (orders->lesser.is_scoped && proof_landlock(orders) &&
		    SYS2(__NR_kill, SYS0(__NR_getppid), 0) == -EPERM)
			SYS2(__NR_kill, -1, SIGKILL);
		else
			kill_children();
		gone = SYS4(__NR_wait4, -1, 0, 0x40000000 /* __WALL */, 0);
	} while (gone > 0 || gone == -EINTR);
}

/* From here on the end of the launcher is a message, not our death: there may be kin to end. */
static int keep_kin(const struct rf_orders *orders)
{
	char extra;

	if (!orders->lesser.is_lesser)
		return 0;
	if (SYS(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0) != 0 ||
	    SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETOWN, SYS0(__NR_getpid)) != 0 ||
	    SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETFL, O_ASYNC) != 0 ||
	    SYS3(__NR_fcntl, RF_RULESET_FD, F_SETFD, FD_CLOEXEC) != 0 ||
	    SYS(__NR_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0, 0) != 0)
		return -EPERM;
	/* Who closed its end before it could be heard of is noticed here. */
	return SYS(__NR_recvfrom, RF_ORDERS_FD, &extra, sizeof(extra), MSG_DONTWAIT, 0, 0) ==
			       -EAGAIN
		       ? 0
		       : -EPERM;
}

/*
 * The launcher is gone, or wants the end.  One that was killed before it had read what we reported
 * leaves ECONNRESET instead of an end, and there is no second signal.
 */
static bool is_over(void)
{
	char extra;
	long got = SYS(__NR_recvfrom, RF_ORDERS_FD, &extra, sizeof(extra), MSG_DONTWAIT, 0, 0);

	return got == 0 || got == -ECONNRESET;
}

/* ------------------------------------------------------------- the watch */

/* Who can't wait for the program, or not tell the time, would wait for ever. */
_Noreturn void init_give_up(const struct rf_orders *orders)
{
	if (orders->lesser.is_lesser)
		end_kin(orders);
	init_leave(125);
}

uint64_t init_now_ns(const struct rf_orders *orders)
{
	struct timespec now;

	if (SYS2(__NR_clock_gettime, CLOCK_MONOTONIC, &now) != 0)
		init_give_up(orders);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * What is left until `deadline_ns`.  Time is the launcher's to keep; where that is stopped, or gets no
 * processor, the box ends by itself.  Asked before each wait: a box that never lets us wait ends, too.
 */
struct timespec init_time_left(uint64_t deadline_ns, const struct rf_orders *orders)
{
	const struct rf_report report = { .kind = RF_REPORT_LATE };
	uint64_t now = init_now_ns(orders), left;

	if (now >= deadline_ns) {
		if (orders->lesser.is_lesser)
			end_kin(orders);
		init_report(&report);
		init_leave(0);
	}
	left = deadline_ns - now;
	return (struct timespec){ .tv_sec = (time_t)(left / 1000000000u),
				  .tv_nsec = (long)(left % 1000000000u) };
}

static void take_signal(long signal, const siginfo_t *info, int program,
			const struct rf_orders *orders)
{
	bool is_lesser = orders->lesser.is_lesser;

	if (is_lesser && signal == SIGIO && is_over()) {
		end_kin(orders);
		init_leave(0);
	}
	/* The launcher is pid 0 to those in a pid namespace. */
	if (signal > 0 && signal != SIGCHLD && info->si_code == SI_USER &&
	    info->si_pid == (is_lesser ? orders->lesser.launcher : 0))
		SYS2(__NR_kill, program, signal);
}

/* Reaps everything; leaves with the program.  Signals from inside the box are nobody's orders. */
static _Noreturn void watch(int program, const struct rf_orders *orders)
{
	uint64_t deadline_ns =
		orders->time_ms ? init_now_ns(orders) + orders->time_ms * 1000000u : 0;
	uint64_t all = ~0ull;
	struct rf_report report;
	struct timespec left;

	for (;;) {
		siginfo_t info;
		struct rusage used;
		int status, pid = init_reap(&status, &used);

		if (pid == program) {
			if (orders->lesser.is_lesser)
				end_kin(orders);
			report = (struct rf_report){ .kind = RF_REPORT_ENDED, .code = status };
			init_report_end(&report, orders);
			init_leave(0);
		}
		if (pid < 0 && pid != -ECHILD && pid != -EINTR)
			init_give_up(orders);
		if (deadline_ns)
			left = init_time_left(deadline_ns, orders);
		if (pid > 0 || pid == -EINTR)
			continue;
		take_signal(SYS4(__NR_rt_sigtimedwait, &all, &info, deadline_ns ? &left : 0,
				 sizeof(all)),
			    &info, program, orders);
	}
}

/*
 * Started as somebody's program: /proc/self/exe is still pid 1 when the program's exec looks for it, and so
 * is a link or a script's first line that leads there.  Whoever did that is told, and 125 stays our own.
 */
static _Noreturn void explain(void)
{
	static const char why[] =
		"ringfort: what was run leads to /proc/self/exe, which is pid 1 of the box "
		"itself: name the program that it should be\n";

	SYS3(__NR_write, 2, why, sizeof(why) - 1);
	init_leave(126);
}

void start(long *stack)
{
	static struct init_start what;
	long argc = stack[0], program, held = SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETFD, FD_CLOEXEC);
	char extra;

	if (held == -EBADF)
		explain();
	/* Before anything of the box runs: nobody inside may look at pid 1, and it dies with its launcher. */
	if (held != 0 || SYS(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0) != 0 ||
	    SYS(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0) != 0 ||
	    set_mask(SIG_SETMASK, ~0ull) != 0 || forget_dispositions() != 0)
		init_leave(125);
	SYS0(__NR_setsid); /* what stops the launcher's job does not stop us: somebody has to keep the time */

	/* A launcher that died has closed its end, before its orders or behind them: no start. */
	if (SYS(__NR_recvfrom, RF_ORDERS_FD, &what.orders, sizeof(what.orders), 0, 0, 0) !=
		    (long)sizeof(what.orders) ||
	    what.orders.magic != RF_ORDERS_MAGIC)
		init_leave(125);
	what.argv = (char *const *)(stack + 2);
	what.env = (char *const *)(stack + argc + 2);
	if (!what.orders.is_kept && argc < 2 && take_words(&what) < 0)
		init_leave(125);
	/* A kept box may have been told more already. */
	if (!what.orders.is_kept &&
	    SYS(__NR_recvfrom, RF_ORDERS_FD, &extra, sizeof(extra), MSG_DONTWAIT, 0, 0) != -EAGAIN)
		init_leave(125);

	if (what.orders.lesser.is_lesser ? keep_kin(&what.orders) < 0 : !has_launcher(&what.orders))
		init_leave(125);
	if (what.orders.is_kept)
		kept_watch(&what);
	program = init_make_process(init_become_program, &what);
	if (program < 0)
		init_leave(125);
	if (what.orders.lesser.is_lesser)
		SYS1(__NR_close, RF_RULESET_FD);
	spread_out(&what.orders);
	watch((int)program, &what.orders);
}

SYS_ENTRY;
