/*
 * The client's side: see client.h.
 *
 * A program of one's own (a private warden, a gateway) is started by a grandchild, which the child does not wait for:
 * so it belongs to the system's pid 1, and a program that counts its children, or waits for any of them, never
 * meets one of ours.  Both are made with CLONE_VM and CLONE_VFORK on a stack of their own, with all
 * signals blocked, as posix_spawn(3) does it: no copy of the caller's memory, no handler of the caller's
 * that runs in them, and no lock that a thread could have left behind.
 *
 * Who is to end with its starter for sure, whatever has become of it, must be a child of it (PR_SET_PDEATHSIG): that is the other way.
 */
#include "wire/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/rundir.h"
#include "wire/peer.h"

#define STACK      (32 * 1024) /* of the child, and as much of the grandchild */
#define THEIR_FD   3
#define ABOVE      10 /* descriptors from here on are not in the way of 0 to 3 */
#define MANY_FILES 65536

/* ------------------------------------------------------------- a warden that there is */

static int check_socket(int run, const char *name, const char *who, struct rf_err *err)
{
	struct stat st;

	if (fstatat(run, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rf_fail(err, -errno, "the %s's socket", who);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return rf_fail_say(err, -EPERM, "the %s's socket is not a socket of yours", who);
	return 0;
}

/* Root shows who listens that it is in no sandbox (peer.h). */
static int prove(int fd, int connection, const char *who, struct rf_err *err)
{
	RF_AUTO_FD int proof = -1;
	struct rf_err why = RF_ERR_INIT;
	int code;

	if (geteuid() != 0)
		return 0;
	proof = rf_peer_open_proof(connection);
	if (proof < 0)
		return rf_fail_say(err, -EXDEV,
				   "this process can't look at the %s, as in a sandbox", who);
	code = rf_wire_send(fd, RF_WIRE_PROVE, 0, NULL, 0, &proof, 1, &why);
	if (code == 0 || code == -EPIPE || code == -ECONNRESET)
		return 0; /* who has refused us by now said why, which is heard with the first answer */
	*err = why;
	return code;
}

static int check_peer(int fd, const char *who, pid_t *ret_pid, struct rf_err *err)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return rf_fail(err, -errno, "look who the %s is", who);
	if (peer.uid != geteuid())
		return rf_fail_say(err, -EPERM, "the %s belongs to user %u, and not to you", who,
				   (unsigned)peer.uid);
	*ret_pid = peer.pid;
	return 0;
}

/* A full queue is waited for as long as the socket may send; 0: not at all. */
static int bound_waits(int fd, int wait_ms)
{
	const struct timeval most = { wait_ms / 1000, wait_ms % 1000 * 1000 };

	return wait_ms > 0 ? setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most))
			   : fcntl(fd, F_SETFL, O_NONBLOCK);
}

int rf_client_connect_to(const char *name, const char *who, int wait_ms, int *ret_fd,
			 pid_t *ret_pid, struct rf_err *err)
{
	RF_AUTO_FD int run = rf_rundir_open(false);
	RF_AUTO_FD int fd = -1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int code;

	if (run < 0)
		return rf_fail(err, run, "the folder of the %s's socket", who);
	if (check_socket(run, name, who, err) < 0)
		return err->code;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || bound_waits(fd, wait_ms) < 0)
		return rf_fail(err, -errno, "a socket");
	/* By the open folder: a path of any length, and nobody can put another one in its place. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", run, name);
	do
		code = connect(fd, (struct sockaddr *)&address, sizeof(address));
	while (code < 0 && errno == EINTR);
	if (code < 0 && errno == EAGAIN)
		return rf_fail_say(err, -ETIMEDOUT, "the %s does not answer", who);
	if (code < 0)
		return rf_fail(err, -errno, "connect to the %s", who);
	if (check_peer(fd, who, ret_pid, err) < 0 || prove(fd, fd, who, err) < 0)
		return err->code;
	*ret_fd = rf_fd_take(&fd);
	return 0;
}

int rf_client_connect(int *ret_fd, struct rf_err *err)
{
	pid_t pid;
	int code = rf_client_connect_to(RF_CLIENT_SOCKET, "warden", RF_CLIENT_WAIT_MS, ret_fd, &pid,
					err);

	return code == -EXDEV ? rf_fail_hint(err, "run it with --no-warden") : code;
}

/* ------------------------------------------------------------- a program of one's own */

/* What the child and the grandchild, which share our memory, are given and give back. */
struct birth {
	const char *program;
	const char *const *argv;
	int fd;
	char *stack;      /* of the grandchild: its end */
	bool is_child;    /* there is no grandchild: the child becomes the program */
	pid_t pid;        /* of the child */
	int process;      /* a descriptor of a child that stays; or -1 */
	int code;         /* negative errno, or 0 */
	const char *what; /* failed */
};

static int fail_birth(struct birth *birth, const char *what)
{
	birth->code = -errno;
	birth->what = what;
	return 127;
}

static void close_the_rest(void)
{
	if (rf_kernel_close_range(THEIR_FD + 1, ~0u, 0) == 0)
		return;
	for (int fd = THEIR_FD + 1; fd < MANY_FILES; fd++) /* before Linux 5.9 */
		close(fd);
}

/*
 * The caller's ignored signals would stay ignored; its handlers end with exec, and can't run before.
 * Asked of the kernel: a libc keeps one or two to itself.
 */
static void forget_signals(void)
{
	static const long by_default[4]; /* the kernel's struct sigaction: SIG_DFL, nothing set */
	static const uint64_t none;

	for (int i = 1; i <= 64; i++)
		syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(none));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

static int become_program(void *data)
{
	struct birth *birth = data;
	int fd = fcntl(birth->fd, F_DUPFD, ABOVE), null;

	if (fd < 0)
		return fail_birth(birth, "a descriptor");
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		return fail_birth(birth, "open /dev/null");
	for (int i = 0; i < THEIR_FD; i++)
		if (dup2(null, i) < 0)
			return fail_birth(birth, "a descriptor");
	if (dup2(fd, THEIR_FD) < 0)
		return fail_birth(birth, "a descriptor");
	close_the_rest();
	setsid(); /* keys that are typed in the caller's terminal are not for it */
	if (chdir("/") < 0)
		return fail_birth(birth, "change to /");
	forget_signals();
	execve(birth->program, (char *const *)(uintptr_t)birth->argv, environ);
	return fail_birth(birth, birth->program);
}

/* Ends at once: the system's pid 1 takes the grandchild over. */
static int bear_program(void *data)
{
	struct birth *birth = data;

	if (clone(become_program, birth->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, birth) < 0)
		fail_birth(birth, "a process");
	return 0;
}

/* One that does not become the program itself ends without a signal: it is no child that anybody else waits for. */
static void make_child(struct birth *birth, char *stack)
{
	int got;

	if (birth->is_child)
		birth->pid = clone(become_program, stack,
				   CLONE_VM | CLONE_VFORK | (int)RF_CLONE_PIDFD | SIGCHLD, birth,
				   &birth->process);
	else
		birth->pid = clone(bear_program, stack, CLONE_VM | CLONE_VFORK, birth);
	if (birth->pid < 0) {
		fail_birth(birth, "a process");
		return;
	}
	if (birth->is_child && birth->code == 0)
		return;
	do
		got = waitpid(birth->pid, NULL, __WALL);
	while (got < 0 && errno == EINTR);
}

static int start(struct birth *birth, const char *who, struct rf_err *err)
{
	char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;

	if (stacks == MAP_FAILED)
		return rf_fail(err, -errno, "memory for a stack");
	birth->stack = stacks + 2 * STACK;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	make_child(birth, stacks + STACK);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stacks, 2 * STACK);
	if (birth->code == 0)
		return 0;
	rf_fail(err, birth->code, "start the %s: %s", who, birth->what);
	if (birth->code == -ENOENT)
		rf_fail_hint(err, "install Ringfort, or say where the program ringfort-%s is", who);
	return err->code;
}

static int start_with_line(struct birth *birth, const char *who, int *ret_fd, struct rf_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	birth->fd = pair[1];
	if (start(birth, who, err) == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
	return birth->code;
}

int rf_client_start(const char *program, const char *const *argv, const char *who, int *ret_fd,
		    struct rf_err *err)
{
	struct birth birth = { .program = program, .argv = argv, .process = -1 };

	return start_with_line(&birth, who, ret_fd, err);
}

int rf_client_start_child(const char *program, const char *const *argv, const char *who,
			  int *ret_fd, pid_t *ret_pid, int *ret_process, struct rf_err *err)
{
	struct birth birth = { .program = program, .argv = argv, .is_child = true, .process = -1 };
	int code = start_with_line(&birth, who, ret_fd, err);

	if (code == 0) {
		*ret_pid = birth.pid;
		*ret_process = rf_fd_take(&birth.process);
	}
	rf_fd_done(&birth.process);
	return code;
}

int rf_client_private(const char *program, int *ret_fd, struct rf_err *err)
{
	const char *const argv[] = { program, "--private", NULL };

	return rf_client_start(program, argv, "warden", ret_fd, err);
}

/* ------------------------------------------------------------- asking */

int rf_client_join(int fd, int *ret_fd, struct rf_err *err)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	code = rf_wire_send(fd, RF_WIRE_JOIN, 0, NULL, 0, &pair[1], 1, err);
	/* A private one's connection is a pair of ours, and asks for no proof. */
	if (code == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    peer.pid != getpid())
		code = prove(pair[0], fd, "warden", err);
	if (code == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
	return code;
}

int rf_client_hello(int fd, int timeout_ms, struct rf_wire_welcome *ret_welcome, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf buf;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int got;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	if (rf_wire_send(fd, RF_WIRE_HELLO, 0, NULL, 0, NULL, 0, err) < 0)
		return err->code;
	do
		got = poll(&wait, 1, timeout_ms);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return rf_fail_say(err, -ETIMEDOUT, "the warden does not answer");
	got = rf_wire_receive(fd, RF_WIRE_WARDEN, &buf, &message, err);
	if (got < 0)
		return got;
	if (got == 0)
		return rf_fail_say(err, -ECONNRESET, "the warden has ended");
	if (message.type == RF_WIRE_REFUSED)
		return rf_wire_refused(&message, err);
	return rf_wire_welcome(&message, ret_welcome, err);
}

int rf_client_run(int fd, uint64_t id, const struct rf_errand *errand, const int stdio[3],
		  int gateway, struct rf_err *err)
{
	int fds[4];
	size_t count = 0;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_WIRE_BODY);
	if (rf_errand_check(errand, err) < 0)
		return err->code;
	rf_errand_pack(errand, &body);
	if (body.has_failed) {
		rf_fail_say(err, -E2BIG, "what is asked for is longer than %d MiB",
			    RF_WIRE_BODY >> 20);
		return rf_fail_hint(err, "bring less code along, or show it as a file");
	}
	for (int i = 0; stdio && i < 3; i++)
		fds[count++] = stdio[i];
	if (gateway >= 0)
		fds[count++] = gateway;
	return rf_wire_send(fd, stdio ? RF_WIRE_RUN : RF_WIRE_KEEP, id, body.data, body.len, fds,
			    count, err);
}
