/*
 * The probe's checks of limits: control groups, and what samples where there are none.
 *
 * The first check makes the groups of a box, writes a box's limits to them, sends a process in and
 * removes them; what it saw stays in the report, and the checks after it tell it one by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/cgroup.h"
#include "jail/probe-check.h"

/* ------------------------------------------------------------- one look at all of it */

static bool ended_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return status == 0;
}

/* Version 2: a process is born in the group. */
static bool can_clone_into(const struct rf_cgroup *cgroup)
{
	const struct rf_kernel_clone_args args = {
		.flags = RF_CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup->dirs[RF_GROUP_UNIFIED],
	};
	pid_t pid = (pid_t)syscall(RF_NR_CLONE3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid > 0 && ended_well(pid);
}

/* Version 1: a process walks in. */
static bool can_enter(struct rf_probe_stage *stage)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(rf_cgroup_enter(&stage->box, &stage->err) < 0 ? 1 : 0);
	return pid > 0 && ended_well(pid);
}

static void look(struct rf_probe_stage *stage, struct rf_probe_cgroup *seen)
{
	struct rf_cgroup *cgroup = &stage->box.cgroup;
	int unified = cgroup->dirs[RF_GROUP_UNIFIED], memory = cgroup->dirs[RF_GROUP_MEMORY];
	bool has_any =
		cgroup->has_memory || cgroup->has_pids || cgroup->has_cpu || cgroup->has_cputime;

	if (!has_any)
		return;
	if (unified >= 0) {
		seen->has_clone_into = can_clone_into(cgroup);
		seen->has_kill = faccessat(unified, "cgroup.kill", W_OK, AT_EACCESS) == 0;
		seen->has_swap = faccessat(unified, "memory.swap.max", F_OK, 0) == 0;
	} else {
		seen->has_swap = memory >= 0 &&
				 faccessat(memory, "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
	}
	if (unified >= 0 ? !seen->has_clone_into : !can_enter(stage)) {
		snprintf(seen->why_not, sizeof(seen->why_not), "no process can enter a new group");
		return;
	}
	seen->version = unified >= 0 ? 2 : 1;
	seen->has_memory = cgroup->has_memory;
	seen->has_pids = cgroup->has_pids;
	seen->has_cpu = cgroup->has_cpu;
	seen->has_cputime = cgroup->has_cputime;
}

/* Where the counter of processor time is a group more, only boxes that ask for hard limits get it. */
static bool can_count_cputime(void)
{
	struct rf_probe_stage stage;
	bool has_cputime;

	rf_probe_stage_init(&stage);
	stage.plan.needs_hard = true;
	rf_cgroup_raise(&stage.box, &stage.err);
	has_cputime = stage.box.cgroup.has_cputime && can_enter(&stage);
	rf_cgroup_done(&stage.box.cgroup);
	return has_cputime;
}

void rf_probe_group_any(struct rf_probe_trial *trial)
{
	struct rf_probe_cgroup *seen = &trial->report->cgroup;
	struct rf_cgroup_report report;
	struct rf_probe_stage stage;

	rf_probe_stage_init(&stage);
	rf_cgroup_probe(&report);
	memcpy(seen->where, report.where, sizeof(seen->where));
	memcpy(seen->why_not, report.why_not, sizeof(seen->why_not));
	rf_cgroup_raise(&stage.box, &stage.err);
	look(&stage, seen);
	rf_cgroup_done(&stage.box.cgroup);
	if (seen->version == 0)
		rf_probe_absent(trial, "%s", seen->why_not[0] ? seen->why_not : "none can be made");
	else
		rf_probe_present(trial, "version %d, %.160s", seen->version, seen->where);
}

/* ------------------------------------------------------------- one by one */

void rf_probe_group_controller(struct rf_probe_trial *trial)
{
	const struct rf_probe_cgroup *seen = &trial->report->cgroup;
	const struct {
		const char *name;
		bool is_there;
	} rows[] = {
		{ "memory", seen->has_memory },
		{ "pids", seen->has_pids },
		{ "cpu", seen->has_cpu },
	};

	for (size_t i = 0; i < RF_LEN(rows); i++) {
		if (strcmp(rows[i].name, trial->check->what) != 0)
			continue;
		if (rows[i].is_there)
			rf_probe_granted(trial);
		else
			rf_probe_absent(trial, "%s", seen->why_not);
	}
}

void rf_probe_group_cputime(struct rf_probe_trial *trial)
{
	const struct rf_probe_cgroup *seen = &trial->report->cgroup;

	if (seen->has_cputime) {
		rf_probe_granted(trial);
	} else if (seen->version == 1 && can_count_cputime()) {
		rf_probe_partial(trial, "sampled, unless a box requires hard limits");
		rf_probe_remedy(trial, "ringfort run --require hard ..., which costs a group more");
	} else {
		rf_probe_absent(trial, "%s", seen->why_not);
	}
}

void rf_probe_group_swap(struct rf_probe_trial *trial)
{
	char swaps[512];

	if (trial->report->cgroup.has_swap)
		rf_probe_granted(trial);
	/* A heading, and a line for each. */
	else if (rf_fd_read_text(AT_FDCWD, "/proc/swaps", swaps, sizeof(swaps)) > 0 &&
		 strchr(swaps, '\n') == strrchr(swaps, '\n'))
		rf_probe_unneeded(trial, "there is no swap");
	else
		rf_probe_absent(trial, "there is swap, and groups do not count it");
}

static bool is_version_2(struct rf_probe_trial *trial)
{
	if (trial->report->cgroup.version == 2)
		return true;
	rf_probe_unneeded(trial, "only with groups of version 2");
	return false;
}

void rf_probe_group_into(struct rf_probe_trial *trial)
{
	if (!is_version_2(trial))
		return;
	if (trial->report->cgroup.has_clone_into)
		rf_probe_granted(trial);
	else
		rf_probe_absent(trial, "the kernel refuses it");
}

void rf_probe_group_kill(struct rf_probe_trial *trial)
{
	if (!is_version_2(trial))
		return;
	if (trial->report->cgroup.has_kill)
		rf_probe_granted(trial);
	else
		rf_probe_absent(trial, "the kernel refuses it");
}

void rf_probe_group_children(struct rf_probe_trial *trial)
{
	char path[64], text[64];
	pid_t pid = fork();
	ssize_t len;

	if (pid == 0)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	len = rf_fd_read_text(AT_FDCWD, path, text, sizeof(text));
	if (len < 0)
		rf_probe_failed(trial, (int)len, "read");
	else if (len == 0)
		rf_probe_absent(trial, "it does not list a child");
	else
		rf_probe_granted(trial);
	if (pid > 0) {
		kill(pid, SIGKILL);
		ended_well(pid);
	}
}
