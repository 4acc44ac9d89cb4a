/* All processes of a box: src/watch/herd.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/herd.h"

RF_TEST(a_group_is_found_if_it_is_the_boxs_own)
{
	static const char v1[] =
		"9:name=systemd:/\n4:memory:/a/ringfort-77\n3:cpu,cpuacct:/ringfort-77\n"
		"2:pids:/a\n0::/\n";
	/* clang-format off */
	static const struct { const char *text, *controller; bool is_pure; const char *want; } cases[] = {
		{ v1, "memory",  false, "/sys/fs/cgroup/memory/a/ringfort-77" },
		{ v1, "cpuacct", false, "/sys/fs/cgroup/cpu,cpuacct/ringfort-77" },
		{ v1, "pids",    false, "" },
		{ v1, "acct",    false, "" },
		{ v1, "",        false, "" },
		{ "0::/x/ringfort-77\n", "", true,  "/sys/fs/cgroup/x/ringfort-77" },
		{ "0::/x/ringfort-77",   "", false, "/sys/fs/cgroup/unified/x/ringfort-77" },
		{ "0::/x/ringfort-77/inner\n", "", true, "" },
		{ "0::/x/ringfort-777\n",  "", true, "" },
		{ "0::/../ringfort-77\n",  "", true, "" },
		{ "0::ringfort-77\n",      "", true, "" },
		{ "::\n\n0:\n:",           "", true, "" },
		{ "",                      "", true, "" },
	};
	/* clang-format on */
	char path[128];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_herd_path(cases[i].text, cases[i].controller, "77", cases[i].is_pure, path,
			     sizeof(path));
		RF_CHECK(strcmp(path, cases[i].want) == 0, "case %zu: %s", i, path);
	}
	rf_herd_path(v1, "memory", "77", false, path, 20);
	RF_CHECK(path[0] == '\0', "cut: %s", path);
}

static char state_of(pid_t pid)
{
	char path[32], text[256], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return '-';
	at = strrchr(text, ')');
	return at ? at[2] : '-';
}

/* A process with a child, which tells its number. */
static pid_t start_two(pid_t *ret_child)
{
	int pipes[2];
	pid_t pid;

	RF_REQUIRE(pipe(pipes) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		pid_t child = fork();

		if (child > 0 && write(pipes[1], &child, sizeof(child)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	RF_REQUIRE(read(pipes[0], ret_child, sizeof(*ret_child)) == sizeof(*ret_child), "no child");
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

RF_TEST(all_of_them_stop_go_on_and_die)
{
	struct rf_err err = RF_ERR_INIT;
	pid_t child = 0, pid = start_two(&child);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
	pid_t *pids = (pid_t[RF_HERD_MOST]){ 0 };
	struct rf_herd herd;

	rf_herd_init(&herd);
	RF_REQUIRE(rf_herd_open(&herd, &pidfd, getpid(), "77", true, &err) == 0, "%s", err.msg);
	RF_CHECK(pidfd == -1 && herd.init == pid, "pid %d", (int)herd.init);
	RF_CHECK(rf_herd_list(&herd, pids) == 2 && pids[0] == pid && pids[1] == child, "list");
	while (!rf_herd_stop(&herd))
		;
	RF_CHECK(state_of(pid) == 'T' && state_of(child) == 'T', "not stopped");
	rf_herd_continue(&herd);
	for (int i = 0; i < 1000 && (state_of(pid) == 'T' || state_of(child) == 'T'); i++)
		usleep(1000);
	RF_CHECK(state_of(pid) != 'T' && state_of(child) != 'T', "still stopped");
	rf_herd_kill(&herd);
	RF_CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "not killed");
	for (int i = 0; i < 1000 && state_of(child) != '-' && state_of(child) != 'Z'; i++)
		usleep(1000);
	RF_CHECK(state_of(child) == '-' || state_of(child) == 'Z', "the child lives");
	RF_CHECK(!rf_herd_is_alive(&herd), "it is alive");
	rf_herd_done(&herd);
}

RF_TEST(nobody_shows_a_process_that_is_not_his_child_or_no_first_one)
{
	struct rf_err err = RF_ERR_INIT;
	pid_t child = 0, pid = start_two(&child);
	int of_child = (int)syscall(SYS_pidfd_open, child, 0),
	    null = rf_fd_open("/dev/null", O_RDONLY);
	int of_pid = (int)syscall(SYS_pidfd_open, pid, 0),
	    of_us = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct rf_herd herd;

	rf_herd_init(&herd);
	RF_CHECK(rf_herd_open(&herd, &of_child, getpid(), "77", true, &err) == -EPERM,
		 "a grandchild");
	RF_CHECK(rf_herd_open(&herd, &of_us, getpid(), "77", true, &err) == -EPERM, "oneself");
	RF_CHECK(rf_herd_open(&herd, &of_pid, getpid(), "77", false, &err) == -EPERM,
		 "no namespace of its own");
	RF_CHECK(rf_herd_open(&herd, &of_pid, getpid() + 1, "77", true, &err) == -EPERM,
		 "another's child");
	RF_CHECK(rf_herd_open(&herd, &null, getpid(), "77", true, &err) == -ESRCH, "no pidfd");
	RF_CHECK(of_child >= 0 && of_us >= 0 && of_pid >= 0 && null >= 0, "was taken");
	kill(child, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	RF_CHECK(rf_herd_open(&herd, &of_pid, getpid(), "77", true, &err) == -ESRCH, "a dead one");
	rf_herd_done(&herd);
}
