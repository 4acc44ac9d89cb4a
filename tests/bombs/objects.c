/*
 * Things of the kernel's that a program has it make: descriptors, mappings, page tables, locks.  The
 * unit is what one costs in bytes, roughly; what it truly costs is seen from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define KIB  1024ull
#define MIB  (1024 * KIB)
#define PAGE (4 * KIB)

/* ------------------------------------------------------------- of an address space */

/* One page read in each two megabytes: all are the same page of zeroes, the tables are not. */
static int page_tables(void)
{
	uint64_t len = 1024 * MIB;

	for (;;) {
		volatile char *at = mmap(NULL, len, PROT_READ,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		int seen = 0;

		if (at == MAP_FAILED)
			return bomb_refused();
		for (uint64_t done = 0; done < len; done += 2 * MIB) {
			bomb_take(PAGE);
			seen += at[done];
		}
		if (seen)
			return -EIO;
	}
}

/* Neighbours that differ are never joined. */
static int mappings(void)
{
	for (;;) {
		char *at = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		bomb_take(2 * 200);
		if (at == MAP_FAILED || mprotect(at, PAGE, PROT_READ) < 0)
			return bomb_refused();
	}
}

/* Each thread carries a filter chain; it belongs to the process and its children. */
static int filters(void)
{
	static struct sock_filter code[4000];
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	code[sizeof(code) / sizeof(code[0]) - 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (;;) {
		bomb_take(96 * KIB);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			return bomb_refused();
	}
}

/* ------------------------------------------------------------- by descriptor */

static int events(void)
{
	for (;;) {
		bomb_take(512);
		if (eventfd(0, EFD_CLOEXEC) < 0)
			return bomb_refused();
	}
}

static int timer_descriptors(void)
{
	for (;;) {
		bomb_take(704);
		if (timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0)
			return bomb_refused();
	}
}

static int signal_descriptors(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (;;) {
		bomb_take(460);
		if (signalfd(-1, &set, SFD_CLOEXEC) < 0)
			return bomb_refused();
	}
}

static int sockets(void)
{
	for (;;) {
		int ends[2];

		bomb_take(2 * 2560);
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return bomb_refused();
	}
}

static int empty_pipes(void)
{
	for (;;) {
		int ends[2];

		bomb_take(2560);
		if (pipe2(ends, O_CLOEXEC) < 0)
			return bomb_refused();
	}
}

/* One file watched by many names: a watch stays when its descriptor goes, as long as the file. */
static int watch_sets(void)
{
	int file = eventfd(0, EFD_CLOEXEC);

	for (;;) {
		struct epoll_event event = { .events = EPOLLIN };
		int set = epoll_create1(EPOLL_CLOEXEC);

		bomb_take(640);
		if (set < 0)
			return bomb_refused();
		for (int name = 900; name < 1000; name++) {
			bomb_take(200);
			if (dup3(file, name, O_CLOEXEC) < 0 ||
			    epoll_ctl(set, EPOLL_CTL_ADD, name, &event) < 0)
				return bomb_refused();
			close(name);
		}
	}
}

static int news(void)
{
	for (;;) {
		bomb_take(1024);
		if (inotify_init1(IN_CLOEXEC) < 0)
			return bomb_refused();
	}
}

/* Descriptors under way in a socket's queue: nobody has them open. */
static int in_flight(void)
{
	enum {
		AT_ONCE = 250
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(AT_ONCE * sizeof(int))];
	} control = { 0 };
	int code = 0;

	for (;;) {
		struct iovec bytes = { (char[]){ 'x' }, 1 };
		struct msghdr message = { .msg_iov = &bytes,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = sizeof(control) };
		int ends[2], files[AT_ONCE];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
			return code ? code : bomb_refused();
		for (;;) {
			int count = 0;

			for (; count < AT_ONCE; count++)
				if ((files[count] = eventfd(0, EFD_CLOEXEC)) < 0)
					break;
			control.head =
				(struct cmsghdr){ CMSG_LEN(sizeof(files)), SOL_SOCKET, SCM_RIGHTS };
			memcpy(CMSG_DATA(&control.head), files, sizeof(files));
			if (count == AT_ONCE)
				bomb_take(AT_ONCE * 512);
			if (count < AT_ONCE || sendmsg(ends[0], &message, 0) < 0)
				code = bomb_refused();
			while (count > 0)
				close(files[--count]);
			if (code)
				break;
		}
		if (code != -EAGAIN)
			return code;
	}
}

/* ------------------------------------------------------------- without a descriptor */

static int timers(void)
{
	for (;;) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
		timer_t timer;

		bomb_take(448);
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
			return bomb_refused();
	}
}

static int signals(void)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		bomb_take(80);
		if (syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &info) < 0)
			return bomb_refused();
	}
}

/* A file's locks are a list that each new one walks along: so there are many files. */
static int locks(void)
{
	for (;;) {
		int fd = bomb_file(bomb_scratch());

		if (fd < 0)
			return fd;
		for (off_t at = 0; at < 1000; at += 2) {
			struct flock lock = { .l_type = F_WRLCK, .l_start = at, .l_len = 1 };

			bomb_take(208);
			if (fcntl(fd, F_SETLK, &lock) < 0)
				return bomb_refused();
		}
	}
}

static int message_queues(void)
{
	for (int i = 0;; i++) {
		struct mq_attr shape = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
		char name[32];
		mqd_t queue;

		snprintf(name, sizeof(name), "/bomb-%d-%d", getpid(), i);
		queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &shape);
		if (queue < 0)
			return bomb_refused();
		for (int m = 0; m < 10; m++) {
			static char bytes[8192];

			bomb_take(sizeof(bytes));
			mq_send(queue, bytes, sizeof(bytes), 0);
		}
	}
}

static int semaphores(void)
{
	for (;;) {
		bomb_take(32000 * 64);
		if (semget(IPC_PRIVATE, 32000, IPC_CREAT | 0600) < 0)
			return bomb_refused();
	}
}

/* Rules about ports: some sixty thousand of them in each descriptor. */
static int rules(void)
{
	const struct {
		uint64_t files, ports, scoped;
	} kinds = { 0, 3, 0 };

	for (;;) {
		long ruleset = syscall(SYS_landlock_create_ruleset, &kinds, sizeof(kinds), 0);

		if (ruleset < 0)
			return bomb_refused();
		for (uint64_t port = 1; port < 65535; port++) {
			struct {
				uint64_t kinds, port;
			} rule = { 1, port };

			bomb_take(64);
			if (syscall(SYS_landlock_add_rule, ruleset, 2, &rule, 0) < 0)
				return bomb_refused();
		}
	}
}

/* clang-format off */
const struct bomb bomb_objects[] = {
	{ "page-tables",     page_tables,        1  },
	{ "mappings",        mappings,           16 },
	{ "seccomp-filters", filters,            200 },
	{ "eventfds",        events,             200 },
	{ "timerfds",        timer_descriptors,  200 },
	{ "signalfds",       signal_descriptors, 200 },
	{ "sockets",         sockets,            64 },
	{ "pipes-empty",     empty_pipes,        200 },
	{ "epoll-watches",   watch_sets,         8  },
	{ "inotify",         news,               4  },
	{ "fds-in-flight",   in_flight,          4  },
	{ "posix-timers",    timers,             4  },
	{ "signal-queue",    signals,            4  },
	{ "file-locks",      locks,              8  },
	{ "posix-queues",    message_queues,     1  },
	{ "sysv-semaphores", semaphores,         1  },
	{ "landlock-rules",  rules,              1  },
	{ NULL,              NULL,               0  },
};
/* clang-format on */
