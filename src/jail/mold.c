/* A mold: see mold.h. */
#include "jail/mold.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/mount.h"

/*
 * In the child: casts it, says what came of it, and holds it until it is taken hold of.  A launcher that is killed before the child has asked to
 * die with it is not waited for: it would hold, with all else, the launcher's lock, and no other could stand.
 */
static _Noreturn void cast(const struct rf_plan *plan, pid_t launcher, int channel)
{
	struct rf_err err = RF_ERR_INIT;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != launcher)
		_exit(0);
	if (unshare(CLONE_NEWNS) < 0)
		rf_fail(&err, -errno, "a mount namespace");
	else
		rf_mount_cast(plan, &err);
	if (send(channel, &err, sizeof(err), MSG_NOSIGNAL) == (ssize_t)sizeof(err))
		for (;;)
			pause();
	_exit(0);
}

static int take(int channel, pid_t pid, struct rf_err *err)
{
	char path[32];
	int ns;

	if (recv(channel, err, sizeof(*err), 0) != (ssize_t)sizeof(*err))
		return rf_fail_say(err, -EIO, "who made the mold is gone");
	if (err->code < 0)
		return err->code;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	ns = rf_fd_open(path, O_RDONLY);
	return ns < 0 ? rf_fail(err, -errno, "take hold of the mold") : ns;
}

int rf_mold_make(const struct rf_plan *plan, struct rf_err *err)
{
	const pid_t launcher = getpid();
	int channel[2], ns;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return rf_fail(err, -errno, "make a socket pair");
	pid = fork();
	if (pid == 0)
		cast(plan, launcher, channel[1]);
	close(channel[1]);
	ns = pid < 0 ? rf_fail(err, -errno, "make a process") : take(channel[0], pid, err);
	close(channel[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return ns;
}
