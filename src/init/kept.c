/*
 * Pid 1 of a kept box: see kept.h.
 *
 * The box is proven by pid 1 before anything else, and once more, whole, by every process that is about to become a
 * program in it: the walls are the box's, but descriptors, session and directory are each program's own.  The three
 * streams of a program are pid 1's for as long as it takes to make the process, closed on every exec meanwhile; only one
 * program is made at a time, so none sees another's.
 *
 * Messages and the ends of children both arrive as signals, which are blocked and waited for: one that comes at
 * any moment is still there when the next wait begins.  Anybody in the box can send such a signal, too: then
 * pid 1 looks, and finds nothing.
 */
#include "init/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "init/proof.h"
#include "init/sys.h"

#define STREAMS 3

/* A program that was started and not waited for, so that its pid is nobody else's. */
struct program {
	int pid; /* 0: the place is free */
	uint32_t number;
};

static struct program programs[RF_TASKS_MOST];

static struct program *find(int pid)
{
	for (int i = 0; i < RF_TASKS_MOST; i++)
		if (programs[i].pid == pid)
			return &programs[i];
	return 0;
}

static const struct program *find_number(uint32_t number)
{
	for (int i = 0; i < RF_TASKS_MOST; i++)
		if (programs[i].pid && programs[i].number == number)
			return &programs[i];
	return 0;
}

/* ------------------------------------------------------------- programs */

/* Puts what came along in its place.  Descriptors are this process's own, and pid 1's stay as they are. */
static int arrange(const struct init_start *start)
{
	for (int i = 0; i < STREAMS; i++)
		if (SYS3(__NR_dup3, start->fds[i], i, 0) != i)
			return -EBADF;
	/* Its place is that of a stream that has been copied, or its own. */
	if (start->orders.has_program && start->fds[STREAMS] != RF_PROGRAM_FD &&
	    SYS3(__NR_dup3, start->fds[STREAMS], RF_PROGRAM_FD, O_CLOEXEC) != RF_PROGRAM_FD)
		return -EBADF;
	for (int i = 0; i < start->fd_count; i++)
		if (start->fds[i] > 2 &&
		    (start->fds[i] != RF_PROGRAM_FD || !start->orders.has_program))
			SYS1(__NR_close, start->fds[i]);
	return 0;
}

static void become(void *data)
{
	const struct init_start *start = data;

	if (arrange(start) < 0 || init_settle(start) < 0)
		init_leave(125);
	init_become_program(data);
}

static void refuse(uint32_t kind, uint32_t number, long code)
{
	const struct rf_report report = { .kind = kind, .number = number, .code = (int32_t)-code };

	init_report(&report);
}

static void start_program(struct init_start *start, struct rf_task *task, size_t len)
{
	struct program *place = find(0);
	struct init_start one = *start;
	long pid;

	if (init_lay_words(&task->words, len - offsetof(struct rf_task, words), &one) < 0)
		init_leave(125);
	one.number = task->number;
	one.orders.has_terminal = task->has_terminal;
	one.orders.terminal_rdev = task->terminal_rdev;
	one.orders.has_program = task->has_program;
	for (int i = 0; i < STREAMS; i++) {
		one.orders.stdio_dev[i] = task->stdio_dev[i];
		one.orders.stdio_ino[i] = task->stdio_ino[i];
	}
	pid = place ? init_make_process_among(become, &one) : -EAGAIN;
	if (pid < 0)
		refuse(RF_REPORT_NO_PROCESS, task->number, pid);
	else
		*place = (struct program){ .pid = (int)pid, .number = task->number };
}

static void end_program(struct program *program, int status, const struct rusage *used,
			const struct rf_orders *orders)
{
	struct rf_report report = {
		.kind = RF_REPORT_ENDED,
		.code = status,
		.number = program->number,
		.cpu_ns = (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000u +
			  (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000u,
		.peak_bytes = (uint64_t)used->ru_maxrss * 1024u,
	};

	program->pid = 0;
	init_report_end(&report, orders);
}

/* True if somebody has ended.  One at a time: a box whose processes end without end does not keep us from the rest. */
static bool reap(const struct rf_orders *orders)
{
	struct rusage used;
	int status, pid = init_reap(&status, &used);
	struct program *program = pid > 0 ? find(pid) : 0;

	if (pid < 0 && pid != -ECHILD && pid != -EINTR)
		init_give_up(orders);
	if (program)
		end_program(program, status, &used, orders);
	return pid > 0 || pid == -EINTR;
}

/* ------------------------------------------------------------- terminals */

/* Sends a report with a descriptor. */
static void hand_over(struct rf_report *report, int fd)
{
	static char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { .iov_base = report, .iov_len = sizeof(*report) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	*(int *)(void *)CMSG_DATA(head) = fd;
	SYS3(__NR_sendmsg, RF_ORDERS_FD, &message, MSG_NOSIGNAL);
}

/* Opens one of the box's own, and hands its master over; the launcher brings the other end with the program. */
static void make_terminal(uint32_t number)
{
	struct rf_report report = { .kind = RF_REPORT_TERMINAL, .number = number };
	int unlocked = 0, master = (int)SYS4(__NR_openat, AT_FDCWD, "/dev/ptmx",
					     O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
	long code = master < 0 ? master : SYS3(__NR_ioctl, master, TIOCSPTLCK, &unlocked);

	if (code == 0)
		hand_over(&report, master);
	else
		refuse(RF_REPORT_TERMINAL, number, code);
	if (master >= 0)
		SYS1(__NR_close, master);
}

/* ------------------------------------------------------------- ports */

/*
 * Connects without waiting.  On a loopback all has happened when the first call returns, but the socket learns of it only then: a second call tells.  Where a program
 * lets connections wait, it is not known yet.
 */
static long connect_to(int fd, const void *address, size_t len)
{
	long code = SYS3(__NR_connect, fd, address, len);

	if (code == -EINPROGRESS)
		code = SYS3(__NR_connect, fd, address, len);
	return code == -EISCONN || code == -EALREADY || code == -EINPROGRESS ? 0 : code;
}

/* As who is inside: over IPv4, or over IPv6 where nobody listens there. */
static void reach(uint32_t number, uint16_t port)
{
	const struct sockaddr_in four = { .sin_family = AF_INET,
					  .sin_port = __builtin_bswap16(port),
					  .sin_addr.s_addr = __builtin_bswap32(0x7f000001u) };
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6,
					  .sin6_port = __builtin_bswap16(port),
					  .sin6_addr.s6_addr = { [15] = 1 } };
	struct rf_report report = { .kind = RF_REPORT_REACHED, .number = number };
	long code = 0, first = 0;

	for (int i = 0; i < 2; i++) {
		int fd = (int)SYS3(__NR_socket, i == 0 ? AF_INET : AF_INET6,
				   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		code = fd < 0   ? fd
		       : i == 0 ? connect_to(fd, &four, sizeof(four))
				: connect_to(fd, &six, sizeof(six));
		if (code == 0)
			hand_over(&report, fd);
		if (fd >= 0)
			SYS1(__NR_close, fd);
		if (code == 0)
			return;
		first = first ? first : code;
	}
	refuse(RF_REPORT_REACHED, number, first);
}

/* ------------------------------------------------------------- tasks */

/* Owns what came along. */
static int take_fds(const struct msghdr *message, struct init_start *start)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	const int *fds;

	start->fd_count = 0;
	if (message->msg_flags & (MSG_CTRUNC | MSG_TRUNC))
		return -EINVAL;
	if (!head)
		return 0;
	if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -EINVAL;
	fds = (const int *)(const void *)CMSG_DATA(head);
	while (CMSG_LEN((size_t)(start->fd_count + 1) * sizeof(int)) <= head->cmsg_len) {
		start->fds[start->fd_count] = fds[start->fd_count];
		start->fd_count++;
	}
	return 0;
}

static void carry_out(struct init_start *start, struct rf_task *task, size_t len)
{
	const struct program *program = find_number(task->number);

	switch (task->kind) {
	case RF_TASK_START:
		if (start->fd_count != STREAMS + (task->has_program ? 1 : 0))
			init_leave(125);
		start_program(start, task, len);
		break;
	case RF_TASK_SIGNAL: /* one that has ended meanwhile is no mistake */
		if (program)
			SYS2(__NR_kill, task->is_for_group ? -program->pid : program->pid,
			     task->signal);
		break;
	case RF_TASK_TERMINAL:
		make_terminal(task->number);
		break;
	case RF_TASK_REACH:
		reach(task->number, (uint16_t)task->port);
		break;
	case RF_TASK_RENEW:
		start->orders.time_ms = task->time_ms;
		break;
	case RF_TASK_FREEZE: /* one call reaches all of them, also what forks meanwhile */
	case RF_TASK_THAW:
		SYS2(__NR_kill, -1, task->kind == RF_TASK_FREEZE ? SIGSTOP : SIGCONT);
		break;
	default:
		init_leave(125);
	}
}

/* True if there was one.  `*ret_renewed`: time counts anew. */
static bool take_task(struct init_start *start, bool *ret_renewed)
{
	static struct rf_task task;
	static char control[CMSG_SPACE((STREAMS + 1) * sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { .iov_base = &task, .iov_len = sizeof(task) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	long len = SYS3(__NR_recvmsg, RF_ORDERS_FD, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (len == -EAGAIN || len == -EINTR)
		return len == -EINTR;
	/* The end of the launcher, or what no launcher says. */
	if (len < (long)offsetof(struct rf_task, words) || take_fds(&message, start) < 0)
		init_leave(125);
	carry_out(start, &task, (size_t)len);
	*ret_renewed = task.kind == RF_TASK_RENEW;
	for (int i = 0; i < start->fd_count; i++)
		SYS1(__NR_close, start->fds[i]);
	return true;
}

static uint64_t deadline(const struct rf_orders *orders)
{
	return orders->time_ms ? init_now_ns(orders) + orders->time_ms * 1000000u : 0;
}

/* Nothing is started in a box that is not proven. */
static void prove(const struct rf_orders *orders)
{
	struct rf_report report = { .kind = RF_REPORT_STARTED };

	if (proof_check(orders, &report) < 0) {
		report.kind = RF_REPORT_REFUSED;
		init_report(&report);
		init_leave(125);
	}
	if (!init_report(&report))
		init_leave(125);
}

_Noreturn void kept_watch(struct init_start *start)
{
	uint64_t until_ns = deadline(&start->orders), all = ~0ull;
	struct timespec left;

	/* Before the first look: what comes afterwards is signalled. */
	if (SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETOWN, SYS0(__NR_getpid)) != 0 ||
	    SYS3(__NR_fcntl, RF_ORDERS_FD, F_SETFL, O_ASYNC) != 0)
		init_leave(125);
	prove(&start->orders);
	for (;;) {
		bool is_renewed = false;
		bool has_reaped = reap(&start->orders), has_task = take_task(start, &is_renewed);
		siginfo_t info;

		if (is_renewed)
			until_ns = deadline(&start->orders);
		if (until_ns)
			left = init_time_left(until_ns, &start->orders);
		if (!has_reaped && !has_task)
			SYS4(__NR_rt_sigtimedwait, &all, &info, until_ns ? &left : 0, sizeof(all));
	}
}
