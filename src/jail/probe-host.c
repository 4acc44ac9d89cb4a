/*
 * The probe's checks of the machine: its kernel, Ringfort's own files, a whole box, and the host's
 * hardening, which is none of a box's walls but stands behind all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rundir.h"
#include "jail/ear.h"
#include "jail/landlock.h"
#include "jail/lesser.h"
#include "jail/probe-check.h"
#include "jail/run.h"
#include "jail/uid.h"
#include "policy/plan.h"
#include "policy/policy.h"

void rf_probe_host_kernel(struct rf_probe_trial *trial)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		rf_probe_absent(trial, "its version can't be read");
	else if (major < 5 || (major == 5 && minor < 13))
		rf_probe_partial(trial, "%s %s", name.release, name.machine);
	else
		rf_probe_present(trial, "%s %s", name.release, name.machine);
}

/* ------------------------------------------------------------- Ringfort's own */

void rf_probe_host_init(struct rf_probe_trial *trial)
{
	struct stat st;

	if (stat(trial->init_path, &st) < 0)
		rf_probe_failed(trial, -errno, "%.80s", trial->init_path);
	else if (!S_ISREG(st.st_mode) || access(trial->init_path, X_OK) < 0)
		rf_probe_absent(trial, "%.150s is not executable", trial->init_path);
	else
		rf_probe_present(trial, "%.180s", trial->init_path);
}

/* Installed where ringfort-init is. */
void rf_probe_host_gateway(struct rf_probe_trial *trial)
{
	const char *slash = strrchr(trial->init_path, '/');
	char path[4096];

	snprintf(path, sizeof(path), "%.*sringfort-gateway",
		 slash ? (int)(slash + 1 - trial->init_path) : 0, trial->init_path);
	if (access(path, X_OK) < 0)
		rf_probe_failed(trial, -errno, "%.80s", path);
	else
		rf_probe_present(trial, "%.180s", path);
}

/* A folder is Ringfort's only if nobody else can write there; see record.c. */
static bool is_private(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077);
}

/* Looks, and makes nothing: the folder comes with the first box. */
void rf_probe_host_run(struct rf_probe_trial *trial)
{
	const char *parent = trial->report->is_root ? "/run" : getenv("XDG_RUNTIME_DIR");
	struct stat st;
	char path[160];

	if (!parent || parent[0] != '/') {
		rf_probe_absent(trial, "XDG_RUNTIME_DIR is not set: no records, and no groups that "
				       "would need them");
		return;
	}
	snprintf(path, sizeof(path), "%.140s/ringfort", parent);
	if (!trial->report->is_root && (lstat(parent, &st) < 0 || !is_private(&st)))
		rf_probe_absent(trial, "%.120s is not a directory of yours with mode 0700", parent);
	else if (lstat(path, &st) == 0 && !is_private(&st)) {
		rf_probe_absent(trial, "%s is not private", path);
		rf_probe_remedy(trial, "remove %s, or give it to uid %d with mode 0700", path,
				(int)geteuid());
	} else if (access(lstat(path, &st) == 0 ? path : parent, W_OK) < 0) {
		rf_probe_failed(trial, -errno, "write to %s", path);
		rf_probe_remedy(trial, "make %s writable", parent);
	} else {
		rf_probe_present(trial, "%s", path);
	}
}

void rf_probe_host_uids(struct rf_probe_trial *trial)
{
	const uid_t last = RF_UID_FIRST + RF_UID_COUNT - 1;

	if (!trial->report->is_root)
		rf_probe_unneeded(trial, "an ordinary user's box is the user outside");
	else if (setresgid(last, last, last) < 0 || setresuid(-1, last, 0) < 0 ||
		 setresuid(-1, 0, 0) < 0 || setresuid(RF_UID_FIRST, RF_UID_FIRST, RF_UID_FIRST) < 0)
		rf_probe_failed(trial, -errno, "become uid %u to %u", RF_UID_FIRST, last);
	else
		rf_probe_present(trial, "%u to %u", RF_UID_FIRST, last);
}

/* That it can be listened to, and that there is something to hear. */
/* The pid of a watcher that stands: it holds a lock, and has written who it is.  0: none does. */
static pid_t find_watcher(void)
{
	RF_AUTO_FD int run = rf_rundir_open(false);
	RF_AUTO_FD int lock =
		run < 0 ? -1 : openat(run, "watch.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[32];

	if (lock < 0 || flock(lock, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK ||
	    rf_fd_read_text(run, "watch.lock", text, sizeof(text)) < 0)
		return 0;
	return (pid_t)strtol(text, NULL, 10);
}

/* How a watcher stands, as the kernel sees it: see watch/stance.h. */
void rf_probe_host_watch(struct rf_probe_trial *trial)
{
	pid_t pid = find_watcher();
	char path[64], oom[16] = "", groups[4096] = "", status[8192] = "";
	const char *caps;
	bool is_last, is_apart, is_less;

	if (pid <= 0) {
		rf_probe_unneeded(trial, "none stands: runs are not recorded");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	rf_fd_read_text(AT_FDCWD, path, oom, sizeof(oom));
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	rf_fd_read_text(AT_FDCWD, path, groups, sizeof(groups));
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	rf_fd_read_text(AT_FDCWD, path, status, sizeof(status));
	caps = strstr(status, "CapBnd:");
	is_last = strtol(oom, NULL, 10) <= -900;
	is_apart = strstr(groups, "/ringfort.watch") || strstr(groups, "/ringfort-watch.service");
	/* Of an ordinary user it has none in use; root's has given most of them up. */
	is_less = !trial->report->is_root ||
		  (caps && __builtin_popcountll(strtoull(caps + strlen("CapBnd:"), NULL, 16)) <= 4);
	if (is_last && is_apart && is_less)
		rf_probe_present(trial, "pid %d", (int)pid);
	else
		rf_probe_partial(trial, "pid %d; not: %s%s%s%s%s", (int)pid,
				 is_last ? "" : "killed last for memory",
				 is_last || (is_apart && is_less) ? "" : ", ",
				 is_apart ? "" : "in a group of its own",
				 is_apart || is_less ? "" : ", ",
				 is_less ? "" : "without rights that it does not use");
}

void rf_probe_host_audit(struct rf_probe_trial *trial)
{
	struct sockaddr_nl log = { .nl_family = AF_NETLINK,
				   .nl_groups = 1u << (AUDIT_NLGRP_READLOG - 1) };
	RF_AUTO_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	enum rf_ear_state state = rf_ear_ask();

	if (fd < 0) {
		rf_probe_failed(trial, -errno, "open");
	} else if (bind(fd, (struct sockaddr *)&log, sizeof(log)) < 0) {
		rf_probe_failed(trial, -errno, "listen");
	} else if (state == RF_EAR_OFF) {
		rf_probe_absent(trial, "auditing is switched off");
		rf_probe_remedy(trial, "auditctl -e 1");
		return;
	} else if (state == RF_EAR_DIRE) {
		rf_probe_absent(trial, "this machine halts when a record is lost");
		rf_probe_remedy(trial, "auditctl -f 1; no box is logged that could cause it");
		return;
	} else if (state != RF_EAR_ON) {
		rf_probe_absent(trial, "its status can't be asked for");
	} else if (rf_landlock_abi() < RF_LANDLOCK_ABI_LOG) {
		rf_probe_partial(trial, "of the filter alone");
		rf_probe_remedy(trial, "Landlock tells of its denials from Linux 6.15 on");
		return;
	} else {
		rf_probe_granted(trial);
	}
	if (trial->result->state == RF_PROBE_ABSENT && !trial->report->is_root)
		rf_probe_remedy(trial,
				"run as root; or ask `ringfort policy why` what a box may do");
}

/* ------------------------------------------------------------- a whole box */

/* Records of this box go to a /run that ends with the check. */
static int hide_run(const struct rf_probe_trial *trial)
{
	setenv("XDG_RUNTIME_DIR", "", 1);
	if (!trial->report->is_root)
		return 0;
	return mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0 ? -errno : 0;
}

static int make_plan(bool may_be_weaker, struct rf_plan **ret_plan, struct rf_err *err)
{
	char *const env[] = { NULL };
	char *const argv[] = { (char[]){ "true" }, NULL };
	const struct rf_facts facts = {
		.uid = geteuid(), .gid = getegid(), .home = "/", .env = env, .argv = argv
	};
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN);
	int code = policy ? 0 : rf_fail(err, -ENOMEM, "make a policy");

	if (code == 0 && may_be_weaker)
		code = rf_policy_set(policy, "weaker", "allow", "/", "/", err);
	if (code == 0)
		code = rf_plan_make(policy, &facts, ret_plan, err);
	rf_policy_free(policy);
	return code;
}

/* Runs a box and says what came of it.  True unless it was refused. */
static bool run_box(struct rf_probe_trial *trial, bool may_be_weaker)
{
	const struct rf_run_options options = { .init_path = trial->init_path,
						.is_captured = true,
						.warden = -1 };
	struct rf_plan *plan = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_result result;
	bool is_whole, is_up;

	if (make_plan(may_be_weaker, &plan, &err) < 0) {
		rf_probe_refused(trial, &err);
		return false;
	}
	rf_result_init(&result, plan);
	rf_run(plan, &options, &result);
	/* The proof counts; a machine without a program called `true` still has its walls. */
	is_whole = result.status == RF_STATUS_OK && result.walls.missing_count == 0;
	/* A lesser box is another matter, and another row. */
	is_up = is_whole ||
		(may_be_weaker && result.status == RF_STATUS_OK && !result.walls.is_lesser);
	if (is_up)
		memcpy(trial->report->grades, result.grades, sizeof(result.grades));
	if (is_whole)
		rf_probe_present(trial, "%d facts proven, walls up in %.1f ms",
				 __builtin_popcount(result.proven),
				 (double)result.usage.start_ns / 1e6);
	else if (is_up)
		rf_probe_partial(trial, "only with --weaker allow: it lacks %s",
				 result.walls.missing[0]);
	else if (result.walls.is_lesser)
		rf_probe_absent(trial, "only a lesser one");
	else if (result.error.code)
		rf_probe_refused(trial, &result.error);
	else
		rf_probe_absent(trial, "%s", rf_result_status(result.status));
	rf_result_done(&result);
	rf_plan_free(plan);
	return is_up;
}

void rf_probe_host_box(struct rf_probe_trial *trial)
{
	int code = hide_run(trial);
	struct rf_probe_result strict;

	if (code < 0) {
		rf_probe_failed(trial, code, "hide /run");
		return;
	}
	if (run_box(trial, false))
		return;
	/* What the first try met is the story, unless a weaker box can be had. */
	strict = *trial->result;
	if (run_box(trial, true))
		return;
	*trial->result = strict;
	if (trial->report->missing)
		rf_probe_follows(trial, "what else is missing");
}

/* What it is made of has rows of its own, but for how much of Landlock it needs. */
void rf_probe_host_lesser(struct rf_probe_trial *trial)
{
	int abi = rf_landlock_abi();

	if (abi < RF_LESSER_ABI)
		rf_probe_absent(trial, "Landlock's ABI is %d, and %d is needed", abi,
				RF_LESSER_ABI);
	else if (abi < RF_LESSER_ABI_SCOPE)
		rf_probe_partial(trial, "its signals would reach your other processes");
	else
		rf_probe_present(trial, "not needed where a whole box can be made");
}

/* ------------------------------------------------------------- the host's hardening */

void rf_probe_host_cores(struct rf_probe_trial *trial)
{
	char text[160];

	if (rf_fd_read_text(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text)) < 0) {
		rf_probe_absent(trial, "can't be read");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	/* A pipe is served even under RLIMIT_CORE 0 (core(5)); a socket is new in 6.16. */
	if (text[0] == '|' || text[0] == '@')
		rf_probe_partial(trial, "handled by %s", text + 1);
	else
		rf_probe_present(trial, "to a file");
}

/* Off is 0 in all of them. */
void rf_probe_host_sysctl(struct rf_probe_trial *trial)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/proc/sys/%s", trial->check->what);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0) {
		rf_probe_absent(trial, "this kernel does not have it");
		rf_probe_remedy(trial, "on a kernel that has it, %s", trial->check->remedy);
	} else if (atoi(text) > 0) {
		rf_probe_present(trial, "%d", atoi(text));
	} else {
		rf_probe_absent(trial, "0");
	}
}
