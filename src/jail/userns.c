/*
 * The namespaces of a box.
 *
 * Takes away: the sight of the host's processes, mounts, network, IPC, names and groups, and any
 * privilege over them.
 * Raised: with the child itself (clone3), right after its cgroup.
 * From inside: a small machine of its own.
 *
 * Two user namespaces, or as root one.  Whoever builds a box needs privilege over its mounts and
 * network: root has it, an ordinary user gets it in a first user namespace made with the child.  At
 * the end the program enters a last one, with a single id mapped and nothing owned by it: whatever
 * capability a bug might bring back there, it counts over no mount, no network and no process
 * outside the namespace (read-only mounts that a box could remount were CVE-2026-46695).
 */
#include "jail/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/hands.h"

uint64_t rf_userns_flags(const struct rf_box *box)
{
	uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	return box->is_root ? flags : flags | CLONE_NEWUSER;
}

static int write_map(int proc, const char *file, unsigned inside, unsigned outside,
		     struct rf_err *err)
{
	char map[48];
	int code;

	snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	code = rf_fd_write_text(proc, file, map);
	return code < 0 ? rf_fail(err, code, "write %s", file) : 0;
}

/* An ordinary user may map only the own ids, and only after giving up setgroups(). */
static int map_self(unsigned uid, unsigned gid, unsigned host_uid, unsigned host_gid,
		    struct rf_err *err)
{
	int code = rf_fd_write_text(AT_FDCWD, "/proc/self/setgroups", "deny");

	if (code < 0 && code != -ENOENT)
		return rf_fail(err, code, "write /proc/self/setgroups");
	if (write_map(AT_FDCWD, "/proc/self/uid_map", uid, host_uid, err) < 0)
		return err->code;
	return write_map(AT_FDCWD, "/proc/self/gid_map", gid, host_gid, err);
}

int rf_userns_enter(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;

	/* Later it can't be seen: in a cgroup namespace everyone is at the top. */
	if (box->facts & 1u << RF_PROOF_CGROUP && rf_cgroup_prove(box, err) < 0)
		return rf_fail_in(err, "the proof failed: cgroup");

	if (!box->is_root && map_self(plan->uid, plan->gid, box->host_uid, box->host_gid, err) < 0)
		return err->code;
	rf_hands_go_on(box);
	/* Only now: the namespace's root is the group that the box has just entered. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return rf_fail(err, -errno, "a cgroup namespace");
	if (sethostname(plan->hostname, strlen(plan->hostname)) < 0 ||
	    setdomainname("(none)", strlen("(none)")) < 0)
		return rf_fail(err, -errno, "set the host name");
	return 0;
}

/* Lives in the new namespace until the launcher has taken hold of it, or is gone itself. */
static int hold_namespace(void *launcher)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != *(const pid_t *)launcher)
		return 0;
	for (;;)
		pause();
	return 0;
}

/*
 * A namespace needs a process to be born, and only its parent may map ids that are not the child's
 * own.  The child shares our memory and touches only its own stack, so nothing is copied for it.
 */
int rf_userns_make(int proc, unsigned inside_uid, unsigned inside_gid, struct rf_box *box,
		   int *ret_ns, struct rf_err *err)
{
	static char stacks[RF_BOX_HOLDERS][8192] __attribute__((aligned(16)));
	static pid_t launcher;
	char uid_map[32], gid_map[32], ns[32];
	int code = 0;
	pid_t pid;

	if (box->holder_count == RF_BOX_HOLDERS)
		return rf_fail_say(err, -E2BIG, "more than %d namespaces for one box",
				   RF_BOX_HOLDERS);
	launcher = getpid();
	pid = rf_hands_holder(box);
	if (pid == 0)
		pid = clone(hold_namespace, stacks[box->holder_count] + sizeof(stacks[0]),
			    CLONE_NEWUSER | CLONE_VM | CLONE_FILES | SIGCHLD, &launcher);
	if (pid < 0) {
		rf_fail(err, -errno, "a user namespace");
		return rf_fail_hint(err,
				    "see `ringfort doctor`: user.max_user_namespaces may be 0");
	}
	snprintf(uid_map, sizeof(uid_map), "%d/uid_map", pid);
	snprintf(gid_map, sizeof(gid_map), "%d/gid_map", pid);
	snprintf(ns, sizeof(ns), "%d/ns/user", pid);
	if (write_map(proc, uid_map, inside_uid, box->host_uid, err) < 0 ||
	    write_map(proc, gid_map, inside_gid, box->host_gid, err) < 0)
		code = err->code;
	if (code == 0) {
		*ret_ns = openat(proc, ns, O_RDONLY | O_CLOEXEC);
		if (*ret_ns < 0)
			code = rf_fail(err, -errno, "open %s", ns);
	}
	kill(pid, SIGKILL); /* reaped later, when it is dead for sure and costs no waiting */
	box->holders[box->holder_count++] = pid;
	return code;
}

void rf_userns_reap(struct rf_box *box)
{
	while (box->holder_count > 0) {
		pid_t pid = box->holders[--box->holder_count];
		/* Again: one that still lived would be waited for in vain. */
		int how = kill(pid, SIGKILL) < 0 ? WNOHANG : 0;

		while (waitpid(pid, NULL, how) < 0 && errno == EINTR)
			;
	}
}

/*
 * As root, the last namespace is made by the launcher and belongs to root.  Made by the child, it
 * would belong to the box's uid, and whoever else has that uid (the owner of a tree that can't be
 * mapped) would have every right over the child, which still shares the launcher's memory.
 */
int rf_userns_prepare(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int proc = -1;

	if (!box->is_root)
		return 0;
	proc = rf_fd_open("/proc", O_PATH | O_DIRECTORY);
	if (proc < 0)
		return rf_fail(err, -errno, "open /proc");
	return rf_userns_make(proc, box->plan->uid, box->plan->gid, box, &box->seal, err);
}

int rf_userns_seal(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;

	if (box->is_root) {
		if (setns(box->seal, CLONE_NEWUSER) < 0)
			return rf_fail(err, -errno, "enter the last user namespace");
		if (setresgid(plan->gid, plan->gid, plan->gid) < 0 ||
		    setresuid(plan->uid, plan->uid, plan->uid) < 0)
			return rf_fail(err, -errno, "become uid %u", box->host_uid);
		return 0;
	}
	/* To the kernel, whoever has the old root above its own is in a chroot, and may not. */
	if (rf_hands_await_root(box, err) < 0)
		return err->code;
	if (unshare(CLONE_NEWUSER) < 0) {
		rf_fail(err, -errno, "a user namespace");
		return rf_fail_hint(err,
				    "see `ringfort doctor`: user.max_user_namespaces may be 0");
	}
	return map_self(plan->uid, plan->gid, plan->uid, plan->gid, err);
}
