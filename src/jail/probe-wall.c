/*
 * The probe's checks of single calls and of the walls made of one call each.
 *
 * A wall counts as present only when something that worked before it no longer works behind it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/filter.h"
#include "jail/landlock.h"
#include "jail/probe-check.h"

#define LANDLOCK_READ_DIR (1ull << 3)

/* ------------------------------------------------------------- calls */

void rf_probe_wall_clone3(struct rf_probe_trial *trial)
{
	int pidfd = -1;
	const struct rf_kernel_clone_args args = {
		.flags = RF_CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t pid = (pid_t)syscall(RF_NR_CLONE3, &args, sizeof(args));

	if (pid == 0)
		for (;;)
			pause();
	if (pid < 0) {
		rf_probe_failed(trial, -errno, "clone3");
		return;
	}
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0) {
		rf_probe_failed(trial, -errno, "pidfd_send_signal");
		kill(pid, SIGKILL);
	} else {
		rf_probe_granted(trial);
	}
	waitpid(pid, NULL, 0);
	close(pidfd);
}

void rf_probe_wall_close_range(struct rf_probe_trial *trial)
{
	RF_AUTO_FD int fd = open("/dev/null", O_RDONLY);

	if (rf_kernel_close_range((unsigned)fd, (unsigned)fd, RF_CLOSE_RANGE_CLOEXEC) < 0)
		rf_probe_failed(trial, -errno, "close_range");
	else if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		rf_probe_absent(trial, "it does nothing");
	else
		rf_probe_granted(trial);
}

void rf_probe_wall_openat2(struct rf_probe_trial *trial)
{
	const struct rf_kernel_open_how how = { .flags = O_PATH | O_CLOEXEC,
						.resolve = RF_RESOLVE_BENEATH };
	RF_AUTO_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	RF_AUTO_FD int usr = rf_kernel_openat2(root, "usr", &how);
	RF_AUTO_FD int out = -1;

	if (usr < 0) {
		rf_probe_failed(trial, -errno, "openat2");
		return;
	}
	out = rf_kernel_openat2(usr, "..", &how);
	if (out >= 0)
		rf_probe_absent(trial, "it does not stay beneath a directory");
	else
		rf_probe_granted(trial);
}

/* ------------------------------------------------------------- Landlock */

/* What each ABI brought, for the detail. */
/* clang-format off */
static const struct {
	int abi;
	const char *what;
} landlock_parts[] = {
	{ 1, "files" }, { 3, "truncation" }, { 4, "TCP" }, { 5, "ioctl" }, { 6, "scopes" },
};
/* clang-format on */

static void tell_landlock(struct rf_probe_trial *trial, int abi)
{
	char lists[2][96] = { "", "" }; /* what is lacking, and what is there */

	for (size_t i = 0; i < RF_LEN(landlock_parts); i++) {
		char *list = lists[landlock_parts[i].abi <= abi];
		size_t len = strlen(list);

		snprintf(list + len, sizeof(lists[0]) - len, "%s%s", len ? ", " : "",
			 landlock_parts[i].what);
	}
	if (!lists[0][0]) {
		rf_probe_present(trial, "ABI %d: %s", abi, lists[1]);
		return;
	}
	rf_probe_partial(trial, "ABI %d: %s; not %s", abi, lists[1], lists[0]);
	rf_probe_remedy(trial, "use Linux 6.12 or newer; until then boxes with `--net host` need "
			       "`--weaker allow`");
}

void rf_probe_wall_landlock(struct rf_probe_trial *trial)
{
	const uint64_t handled = LANDLOCK_READ_DIR;
	int abi = rf_landlock_abi();
	RF_AUTO_FD int ruleset = (int)syscall(RF_NR_LANDLOCK_NEW, &handled, sizeof(handled), 0);
	RF_AUTO_FD int dir = -1;

	if (abi == 0 || ruleset < 0) {
		int code = ruleset < 0 ? -errno : -EINVAL;

		rf_probe_failed(trial, code, "make a ruleset");
		if (code == -EOPNOTSUPP)
			rf_probe_remedy(trial, "the kernel has it switched off: put landlock first "
					       "in lsm=... on the kernel command line");
		return;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(RF_NR_LANDLOCK_SELF, ruleset, 0) < 0) {
		rf_probe_failed(trial, -errno, "enforce a ruleset");
		return;
	}
	dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 || errno != EACCES)
		rf_probe_absent(trial, "a ruleset was taken, and does not hold");
	else
		tell_landlock(trial, abi);
}

/* ------------------------------------------------------------- the others */

/* A default box's own filter, with its proof. */
void rf_probe_wall_seccomp(struct rf_probe_trial *trial)
{
	const struct rf_call_options options = { .syscalls = RF_SYSCALLS_DEFAULT,
						 .has_inet = true };
	struct rf_err err = RF_ERR_INIT;
	struct rf_filter filter;
	struct sock_fprog program;

	if (rf_filter_build(&options, NULL, 0, &filter, &err) < 0) {
		rf_probe_refused(trial, &err);
		return;
	}
	program = (struct sock_fprog){ .len = (unsigned short)filter.len, .filter = filter.code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		rf_probe_failed(trial, -errno, "load a filter");
	else if (syscall(RF_FILTER_PROOF_NR) != -1 || errno != RF_FILTER_PROOF_ERRNO)
		rf_probe_absent(trial, "a filter was taken, and does not hold");
	else
		rf_probe_present(trial, "%zu instructions", filter.len);
}

void rf_probe_wall_privileges(struct rf_probe_trial *trial)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		rf_probe_failed(trial, -errno, "prctl");
	else if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		rf_probe_absent(trial, "it was taken, and is not set");
	else
		rf_probe_granted(trial);
}

void rf_probe_wall_keyring(struct rf_probe_trial *trial)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		rf_probe_granted(trial);
	else if (errno == ENOSYS)
		rf_probe_unneeded(trial, "this kernel has no keys");
	else
		rf_probe_failed(trial, -errno, "keyctl");
}
