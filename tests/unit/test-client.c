/* The client's side: src/wire/client.c, with this test as the warden. */
#include "wire/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

/* A warden's program for these tests: tells on its socket what it is like to be started. */
static const char script[] =
	"#!/bin/sh\n"
	"exec 2>&1\n"
	"{ echo \"arg $*\"; echo \"cwd $(pwd)\"; ls /proc/self/fd | tr '\\n' ' '; echo;\n"
	"  grep -E '^Sig(Ign|Blk)' /proc/self/status; readlink /proc/self/fd/0; } >\"$REPORT\"\n"
	"mv \"$REPORT\" \"$REPORT.done\"\n"
	"sleep 0.2\n";

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/rf-client-XXXXXX");
	RF_REQUIRE(mkdtemp(folder), "%s", strerror(errno));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	RF_CHECK(system(command) == 0, "%s", command);
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	RF_REQUIRE(dir, "no /proc");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int children;

static void on_child(int signal)
{
	(void)signal;
	children++;
}

RF_TEST(a_private_warden_is_started_clean_and_is_no_child_of_ours)
{
	char program[128], report[128], text[4096];
	struct sigaction told = { .sa_handler = on_child };
	struct rf_err err = RF_ERR_INIT;
	int fd = -1, out, before, inherited;

	make_folder();
	snprintf(program, sizeof(program), "%s/warden", folder);
	snprintf(report, sizeof(report), "%s/report", folder);
	setenv("REPORT", report, 1);
	out = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	RF_REQUIRE(out >= 0 && rf_fd_write(out, script, sizeof(script) - 1) == 0, "write");
	close(out);
	signal(SIGHUP, SIG_IGN);
	sigaction(SIGCHLD, &told, NULL);
	inherited = open("/", O_RDONLY);
	RF_REQUIRE(inherited >= 0, "a descriptor that would be inherited");
	before = count_fds();
	RF_REQUIRE(rf_client_private(program, &fd, &err) == 0, "%s", err.msg);
	RF_CHECK(count_fds() == before + 1, "%d descriptors more", count_fds() - before);
	RF_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
	RF_CHECK(children == 0, "%d signals", children);
	RF_CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "not close-on-exec");
	snprintf(report, sizeof(report), "%s/report.done", folder);
	for (int i = 0; i < 500 && access(report, F_OK) < 0; i++)
		usleep(10000);
	RF_REQUIRE(rf_fd_read_text(AT_FDCWD, report, text, sizeof(text)) > 0, "no report");
	RF_CHECK(strstr(text, "arg --private\n"), "%s", text);
	RF_CHECK(strstr(text, "cwd /\n"), "%s", text);
	RF_CHECK(strstr(text, "\n0 1 2 3 4 \n"), "%s", text); /* 4 is ls's own */
	RF_CHECK(strstr(text, "SigBlk:\t0000000000000000"), "%s", text);
	RF_CHECK(strstr(text, "SigIgn:\t0000000000000000"), "%s", text);
	RF_CHECK(strstr(text, "/dev/null"), "%s", text);
	usleep(300000);
	RF_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD && children == 0,
		 "its end is told");
	RF_CHECK(recv(fd, text, sizeof(text), MSG_DONTWAIT) == 0, "it has ended");
	remove_folder();
}

RF_TEST(a_child_is_ours_to_kill_and_to_wait_for)
{
	const char *const argv[] = { "/bin/sleep", "100", NULL };
	struct rf_err err = RF_ERR_INIT;
	int fd = -1, process = -1, status = 0, before = count_fds();
	pid_t pid = 0;

	RF_REQUIRE(rf_client_start_child(argv[0], argv, "child", &fd, &pid, &process, &err) == 0,
		   "%s", err.msg);
	RF_CHECK(waitpid(pid, NULL, WNOHANG) == 0, "it lives");
	RF_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid &&
			 WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		 "it was killed");
	rf_fd_done(&fd);
	rf_fd_done(&process);
	RF_CHECK(rf_client_start_child("/nowhere/it", argv, "child", &fd, &pid, &process, &err) ==
			 -ENOENT,
		 "%s", err.msg);
	RF_CHECK(count_fds() == before && fd == -1 && process == -1, "descriptors are left");
	RF_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

RF_TEST(a_program_that_is_not_there_is_named_with_a_remedy)
{
	struct rf_err err = RF_ERR_INIT;
	int fd = -1, before = count_fds();

	RF_CHECK(rf_client_private("/nowhere/warden", &fd, &err) == -ENOENT, "%s", err.msg);
	RF_CHECK(strstr(err.msg, "/nowhere/warden") && err.hint[0] && fd == -1, "%s", err.msg);
	RF_CHECK(count_fds() == before && waitpid(-1, NULL, WNOHANG) == -1, "something is left");
}

RF_TEST(a_warden_is_started_where_no_standard_stream_is_open)
{
	struct rf_err err = RF_ERR_INIT;
	int fd = -1, kept = dup(1);
	char byte;

	for (int i = 0; i < 3; i++)
		close(i);
	if (rf_client_private("/bin/true", &fd, &err) < 0 || recv(fd, &byte, 1, 0) != 0) {
		dup2(kept, 1);
		RF_CHECK(false, "%s", err.msg);
	}
	dup2(kept, 1);
}

/* Listens where a standing warden would, in a runtime directory of this test's. */
static int listen_there(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char path[128];

	make_folder();
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(path, sizeof(path), "%s/ringfort", folder);
	RF_REQUIRE(mkdir(path, 0700) == 0 && chown(folder, 12345, 12345) == 0 &&
			   chown(path, 12345, 12345) == 0 && seteuid(12345) == 0,
		   "as another");
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/" RF_CLIENT_SOCKET, path);
	RF_REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0 &&
			   listen(fd, 5) == 0,
		   "listen");
	return fd;
}

RF_TEST(a_standing_warden_must_be_ours_from_the_folder_to_the_process)
{
	struct rf_err err = RF_ERR_INIT;
	char path[128], moved[128];
	int listener, fd = -1, before;

	if (geteuid() != 0)
		RF_SKIP("only root can be several users");
	listener = listen_there();
	before = count_fds();
	RF_CHECK(rf_client_connect(&fd, &err) == 0, "%s", err.msg);
	rf_fd_done(&fd);

	snprintf(path, sizeof(path), "%s/ringfort", folder);
	RF_CHECK(chmod(path, 0750) == 0 && rf_client_connect(&fd, &err) == -EPERM,
		 "open to others");
	chmod(path, 0700);
	snprintf(path, sizeof(path), "%s/ringfort/" RF_CLIENT_SOCKET, folder);
	snprintf(moved, sizeof(moved), "%s/elsewhere", folder);
	RF_REQUIRE(rename(path, moved) == 0 && symlink(moved, path) == 0, "a link");
	RF_CHECK(rf_client_connect(&fd, &err) == -EPERM, "a link is followed");
	RF_REQUIRE(unlink(path) == 0 && rename(moved, path) == 0, "back");

	RF_REQUIRE(seteuid(0) == 0 && chown(path, 0, 0) == 0 && seteuid(12345) == 0, "root's");
	RF_CHECK(rf_client_connect(&fd, &err) == -EPERM, "another's socket");
	/* Root listens behind a socket that seems to be ours. */
	RF_REQUIRE(seteuid(0) == 0 && chown(path, 12345, 12345) == 0 && listen(listener, 5) == 0 &&
			   seteuid(12345) == 0,
		   "root's process");
	RF_CHECK(rf_client_connect(&fd, &err) == -EPERM && strstr(err.msg, "belongs to user 0"),
		 "%s", err.msg);

	close(listener);
	RF_CHECK(rf_client_connect(&fd, &err) == -ECONNREFUSED, "%s", err.msg);
	unlink(path);
	RF_CHECK(rf_client_connect(&fd, &err) == -ENOENT, "%s", err.msg);
	RF_CHECK(count_fds() == before - 1, "descriptors are left");
	RF_REQUIRE(seteuid(0) == 0, "back to root");
	remove_folder();
}

RF_TEST(a_client_says_hello_joins_and_runs)
{
	char program[] = "true", *const argv[] = { program, NULL };
	struct rf_errand errand = { .policy = "", .folder = "/", .home = "/", .argv = argv }, got;
	struct rf_wire_welcome welcome = { .version = "9.9" }, heard;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_wire_message message = { 0 };
	int pair[2], joined = -1, stdio[3], before;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	RF_CHECK(rf_client_hello(pair[0], 10, &heard, &err) == -ETIMEDOUT, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == 1 &&
			   message.type == RF_WIRE_HELLO,
		   "%s", err.msg);
	RF_REQUIRE(rf_wire_send(pair[1], RF_WIRE_WELCOME, 0, &welcome, sizeof(welcome), NULL, 0,
				&err) == 0,
		   "%s", err.msg);
	RF_CHECK(rf_client_hello(pair[0], 1000, &heard, &err) == 0 &&
			 strcmp(heard.version, "9.9") == 0,
		 "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == 1, "%s",
		   err.msg);

	RF_REQUIRE(rf_client_join(pair[0], &joined, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == 1 &&
			   message.type == RF_WIRE_JOIN,
		   "%s", err.msg);
	for (int i = 0; i < 3; i++)
		stdio[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	before = count_fds();
	RF_REQUIRE(rf_client_run(joined, 42, &errand, stdio, -1, &err) == 0, "%s", err.msg);
	RF_CHECK(count_fds() == before, "descriptors are left");
	joined = message.fds[0];
	RF_REQUIRE(rf_wire_receive(joined, RF_WIRE_CLIENT, &buf, &message, &err) == 1 &&
			   message.type == RF_WIRE_RUN && message.id == 42 && message.fd_count == 3,
		   "%s", err.msg);
	RF_REQUIRE(rf_errand_unpack(message.body, message.len, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(got.argv[0], "true") == 0, "%s", got.argv[0]);
	rf_errand_done(&got);
	rf_wire_done(&message);
	close(pair[1]);
	RF_CHECK(rf_client_hello(pair[0], 1000, &heard, &err) < 0, "nobody is there");
}
