/*
 * The probe's checks of namespaces.
 *
 * The child of such a check was born in its namespace; the check looks whether it really is another
 * one than the launcher's, and does in it what a box's walls do there.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/capture.h"
#include "jail/identity.h"
#include "jail/mount.h"
#include "jail/probe-check.h"
#include "jail/userns.h"

/* True, and nothing said, if /proc/self/ns/`name` is not the launcher's. */
static bool is_elsewhere(struct rf_probe_trial *trial, const char *name)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &st) < 0) {
		rf_probe_failed(trial, -errno, "look at %s", path);
		return false;
	}
	if (st.st_ino == trial->outside)
		rf_probe_absent(trial, "the kernel agreed, and gave none");
	return st.st_ino != trial->outside;
}

void rf_probe_space_entered(struct rf_probe_trial *trial)
{
	if (is_elsewhere(trial, trial->check->what))
		rf_probe_granted(trial);
}

void rf_probe_space_cgroup(struct rf_probe_trial *trial)
{
	if (unshare(CLONE_NEWCGROUP) < 0)
		rf_probe_failed(trial, -errno, "unshare");
	else
		rf_probe_space_entered(trial);
}

void rf_probe_space_time(struct rf_probe_trial *trial)
{
	/* The caller stays; only its children enter (time_namespaces(7)). */
	if (unshare(CLONE_NEWTIME) < 0)
		rf_probe_failed(trial, -errno, "unshare");
	else if (is_elsewhere(trial, "time_for_children"))
		rf_probe_granted(trial);
}

void rf_probe_space_net(struct rf_probe_trial *trial)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	RF_AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (!is_elsewhere(trial, trial->check->what))
		return;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		rf_probe_failed(trial, -errno, "switch the loopback interface on");
	else
		rf_probe_present(trial, "with a loopback interface");
}

void rf_probe_space_capture(struct rf_probe_trial *trial)
{
	const struct rf_capture_wish wish = { .ports = { 443, 80 }, .port_count = 2 };
	struct rf_capture capture;
	long code;

	if (!is_elsewhere(trial, trial->check->what))
		return;
	code = rf_capture_make(&wish, &capture);
	if (code < 0)
		rf_probe_failed(trial, (int)code, "%s", capture.what);
	else if (!capture.has_nftables)
		rf_probe_partial(trial, "only ports that a policy names: no nftables with tproxy");
	else
		rf_probe_present(trial, "every port, by nftables");
	rf_capture_done(&capture);
}

void rf_probe_space_uts(struct rf_probe_trial *trial)
{
	static const char name[] = "ringfort";

	if (!is_elsewhere(trial, trial->check->what))
		return;
	if (sethostname(name, strlen(name)) < 0)
		rf_probe_failed(trial, -errno, "set the host name");
	else
		rf_probe_granted(trial);
}

/* The whole identity wall, but for the limit, which needs a /proc of its own. */
void rf_probe_space_last(struct rf_probe_trial *trial)
{
	struct rf_probe_stage stage;

	rf_probe_stage_init(&stage);
	stage.plan.may_be_weaker = true;
	if (rf_userns_prepare(&stage.box, &stage.err) < 0 ||
	    rf_identity_drop(&stage.box, &stage.err) < 0)
		rf_probe_refused(trial, &stage.err);
	else if (is_elsewhere(trial, trial->check->what))
		rf_probe_present(trial, "no groups, no capabilities");
}

void rf_probe_space_limit(struct rf_probe_trial *trial)
{
	static const char *const options[] = { "hidepid", "2", NULL };
	struct rf_probe_stage stage;
	RF_AUTO_FD int proc = rf_mount_new("proc", options, RF_MOUNT_ATTR_NOSUID);

	rf_probe_stage_init(&stage);
	if (proc < 0) {
		rf_probe_failed(trial, proc, "mount /proc");
		return;
	}
	stage.box.proc_sys = openat(proc, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (stage.box.proc_sys < 0)
		rf_probe_failed(trial, -errno, "open /proc/sys");
	else if ((stage.box.is_root &&
		  rf_userns_make(proc, stage.plan.uid, stage.plan.gid, &stage.box, &stage.box.seal,
				 &stage.err) < 0) ||
		 rf_identity_drop(&stage.box, &stage.err) < 0)
		rf_probe_refused(trial, &stage.err);
	else if (unshare(CLONE_NEWUSER) == 0)
		rf_probe_absent(trial, "a limit of 0 does not hold");
	else
		rf_probe_granted(trial);
}
