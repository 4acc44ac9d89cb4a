/* What a front that was broken into could still do: src/server/confine.c. */
#include "server/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static bool opens(int folder, const char *path)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_denied(long call, long first, long second, long third)
{
	return syscall(call, first, second, third) < 0 && errno == EPERM;
}

RF_TEST(a_confined_process_has_its_descriptors_and_nothing_else)
{
	void *code;
	char word[] = "true";
	char *const words[] = { word, NULL };
	struct rf_err err = RF_ERR_INIT;
	struct rlimit limit = { 1, 1 };
	struct msghdr nothing = { 0 };
	int pair[2], file = open("/dev/null", O_RDONLY), pid = getppid();
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	RF_REQUIRE(file >= 0 && rf_confine_raise(pid, &err) == 0, "%s", err.msg);
	/* What it needs: */
	RF_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0,
		 "a pair of packets");
	RF_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0,
		 "a pair for HTTP/2");
	RF_CHECK(write(pair[0], "x", 1) == 1 && pipe2(pair, O_CLOEXEC) == 0, "bytes");
	RF_CHECK(memfd_create("x", MFD_CLOEXEC) >= 0, "memory that can be passed on");
	RF_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "to know its own limits");
	/* What it does not: */
	RF_CHECK(!opens(AT_FDCWD, "/dev/null") && !opens(AT_FDCWD, "/proc/self/status"), "a file");
	RF_CHECK(!opens(file, "/etc/passwd"), "a file by a descriptor");
	RF_CHECK(is_denied(SYS_socket, AF_INET, SOCK_STREAM, 0) &&
			 is_denied(SYS_socket, AF_UNIX, SOCK_STREAM, 0),
		 "a socket");
	RF_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 &&
			 socketpair(AF_UNIX, SOCK_RAW, 0, pair) < 0,
		 "a pair that sends to others");
	RF_CHECK(is_denied(SYS_connect, file, 0, 0), "a connection");
	RF_CHECK(ioctl(file, TIOCSTI, "x") < 0 && errno == EPERM, "what a terminal is told");
	RF_CHECK(ioctl(file, TIOCSWINSZ, &limit) < 0 && errno == ENOTTY, "a terminal's size");
	RF_CHECK(is_denied(SYS_bind, file, 0, 0), "an address");
	RF_CHECK(send(tcp, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL) < 0 && errno == EPERM &&
			 sendmsg(tcp, &nothing, MSG_FASTOPEN | MSG_NOSIGNAL) < 0 && errno == EPERM,
		 "a connection by its first bytes");
	RF_CHECK(send(tcp, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE, "bytes all the same");
	RF_CHECK(fork() < 0 && errno == EPERM, "a process");
	RF_CHECK(execve("/bin/true", words, NULL) < 0 && errno == EPERM, "a program");
	RF_CHECK(kill(pid, 0) < 0 && errno == EPERM, "a signal");
	RF_CHECK(is_denied(SYS_fcntl, tcp, F_SETOWN, pid) &&
			 is_denied(SYS_fcntl, tcp, F_SETSIG, SIGKILL),
		 "a signal by a socket");
	RF_CHECK(fcntl(tcp, F_DUPFD_CLOEXEC, 3) >= 0 && fcntl(tcp, F_GETFL) >= 0,
		 "flags and copies all the same");
	RF_CHECK(prlimit(pid, RLIMIT_NOFILE, &limit, NULL) < 0, "another's limits");
	RF_CHECK(syscall(SYS_ptrace, 16, pid, 0, 0) < 0 && errno == EPERM, "another's memory");
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	RF_CHECK(syscall(SYS_unshare, 0x10000000) < 0 && errno == EPERM, "a namespace");
	RF_CHECK(code == MAP_FAILED, "code of its own");
	RF_CHECK(is_denied(SYS_prctl, PR_SET_PDEATHSIG, 0, 0), "to outlive its parent");
	RF_CHECK(setuid(0) < 0 && geteuid() != 0, "root");
}

RF_TEST(a_confined_process_dies_with_its_parent)
{
	int tie[2];
	char byte;
	pid_t parent;

	RF_REQUIRE(pipe2(tie, O_CLOEXEC) == 0, "a pipe");
	parent = fork();
	if (parent == 0) {
		struct rf_err err = RF_ERR_INIT;

		if (fork() == 0) { /* it has the pipe for as long as it lives, and would do so */
			if (rf_confine_raise(getppid(), &err) == 0 && write(tie[1], "x", 1) == 1)
				ppoll(NULL, 0, NULL, NULL);
			_exit(1);
		}
		for (;;)
			pause();
	}
	close(tie[1]);
	RF_CHECK(read(tie[0], &byte, 1) == 1, "it is there");
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	RF_CHECK(read(tie[0], &byte, 1) == 0, "it is gone, for the pipe is");
}

RF_TEST(who_has_lost_its_parent_is_not_confined_but_ended)
{
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(rf_confine_raise(getpid(), &err) == -ESRCH, "%s", err.msg);
}
