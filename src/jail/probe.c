/*
 * The probe: how a row of its table is run, and how it is answered.
 *
 * A check runs in a child, because most of what it does can't be taken back (namespaces, filters,
 * ids), and because a child that hangs can be killed.  The child is made by the old clone call: a
 * machine without clone3 shall be told so, and not be left without any answer.  The report lies in
 * shared memory, so that a child can answer from behind any wall it has just raised.
 */
#include "jail/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/probe-check.h"
#include "jail/uid.h"

/* A whole box takes some milliseconds, on a loaded machine perhaps a hundred times that. */
#define ANSWER_MS 5000

/* ------------------------------------------------------------- words */

/* clang-format off */
static const char *const states[] = {
	[RF_PROBE_ABSENT]   = "absent",
	[RF_PROBE_PARTIAL]  = "partial",
	[RF_PROBE_PRESENT]  = "present",
	[RF_PROBE_UNNEEDED] = "unneeded",
};
static const char *const needs[] = {
	[RF_PROBE_WANTED]   = "wanted",
	[RF_PROBE_REQUIRED] = "required",
	[RF_PROBE_HINT]     = "hint",
};
static const char *const groups[RF_PROBE_GROUP_COUNT] = {
	[RF_PROBE_KERNEL]     = "kernel",
	[RF_PROBE_NAMESPACES] = "namespaces",
	[RF_PROBE_MOUNTS]     = "mounts",
	[RF_PROBE_WALLS]      = "walls",
	[RF_PROBE_LIMITS]     = "limits",
	[RF_PROBE_MACHINE]    = "machine",
	[RF_PROBE_HARDENING]  = "hardening",
};
/* clang-format on */

const char *rf_probe_state_name(enum rf_probe_state state)
{
	return states[state];
}

const char *rf_probe_need_name(enum rf_probe_need need)
{
	return needs[need];
}

const char *rf_probe_group_name(enum rf_probe_group group)
{
	return groups[group];
}

/* ------------------------------------------------------------- answers */

__attribute__((format(printf, 3, 0))) static void
say(struct rf_probe_trial *trial, enum rf_probe_state state, const char *fmt, va_list args)
{
	struct rf_probe_result *result = trial->result;
	const char *remedy = trial->check->remedy;
	bool is_lacking = state == RF_PROBE_ABSENT || state == RF_PROBE_PARTIAL;

	result->state = state;
	result->is_consequence = false;
	vsnprintf(result->detail, sizeof(result->detail), fmt, args);
	snprintf(result->remedy, sizeof(result->remedy), "%s", is_lacking && remedy ? remedy : "");
}

/* The four ways to say it differ in the state alone. */
#define SAY(name, state)                                                                           \
	void name(struct rf_probe_trial *trial, const char *fmt, ...)                              \
	{                                                                                          \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, fmt);                                                               \
		say(trial, state, fmt, args);                                                      \
		va_end(args);                                                                      \
	}

SAY(rf_probe_present, RF_PROBE_PRESENT)
SAY(rf_probe_partial, RF_PROBE_PARTIAL)
SAY(rf_probe_unneeded, RF_PROBE_UNNEEDED)
SAY(rf_probe_absent, RF_PROBE_ABSENT)

void rf_probe_granted(struct rf_probe_trial *trial)
{
	rf_probe_present(trial, "%s", "");
}

void rf_probe_remedy(struct rf_probe_trial *trial, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(trial->result->remedy, sizeof(trial->result->remedy), fmt, args);
	va_end(args);
}

void rf_probe_follows(struct rf_probe_trial *trial, const char *cause)
{
	trial->result->is_consequence = true;
	rf_probe_remedy(trial, "first: %s", cause);
}

void rf_probe_failed(struct rf_probe_trial *trial, int code, const char *fmt, ...)
{
	char what[96];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	rf_probe_absent(trial, "%s: %s", what, strerror(-code));
	rf_probe_cause_blame(trial, code);
}

void rf_probe_refused(struct rf_probe_trial *trial, const struct rf_err *err)
{
	rf_probe_absent(trial, "%s", err->msg);
	rf_probe_cause_blame(trial, err->code);
}

/* ------------------------------------------------------------- the stage */

void rf_probe_stage_init(struct rf_probe_stage *stage)
{
	*stage = (struct rf_probe_stage){ 0 };
	stage->plan.uid = geteuid() ? geteuid() : 1000;
	stage->plan.gid = getegid() ? getegid() : 1000;
	stage->plan.link = RF_LINK_NONE;
	stage->plan.has_loopback = true;
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		stage->plan.limits[i] = rf_limit_table[i].for_run;
	rf_box_init(&stage->box, &stage->plan);
	stage->box.shared = &stage->shared;
	stage->box.host_uid = stage->box.is_root ? RF_UID_FIRST : geteuid();
	stage->box.host_gid = stage->box.is_root ? RF_UID_FIRST : getegid();
	snprintf(stage->box.id, sizeof(stage->box.id), "doctor-%d", (int)getpid());
}

/* ------------------------------------------------------------- in the child */

/* The id inside: the caller's own, and never 0 (as the plan has it). */
static unsigned inside(unsigned id)
{
	return id ? id : 1000;
}

static int map_one(const char *file, unsigned outside_id)
{
	char map[48];

	snprintf(map, sizeof(map), "%u %u 1", inside(outside_id), outside_id);
	return rf_fd_write_text(AT_FDCWD, file, map);
}

/* Becomes what the row asks for: mapped, deaf and mute, and away from the host's mounts. */
static int settle(const struct rf_probe_check *check, bool has_userns, uid_t uid, gid_t gid)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), code;

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return -errno;
	if (has_userns) {
		code = rf_fd_write_text(AT_FDCWD, "/proc/self/setgroups", "deny");
		if (code < 0 && code != -ENOENT)
			return code;
		if ((code = map_one("/proc/self/uid_map", uid)) < 0 ||
		    (code = map_one("/proc/self/gid_map", gid)) < 0)
			return code;
	}
	if (check->spaces & CLONE_NEWNS && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return 0;
}

static _Noreturn void answer(struct rf_probe_trial *trial, bool has_userns, uid_t uid, gid_t gid)
{
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	setpgid(0, 0);
	code = settle(trial->check, has_userns, uid, gid);
	if (code < 0)
		rf_probe_failed(trial, code, "enter");
	else
		trial->check->fn(trial);
	_exit(0);
}

/* ------------------------------------------------------------- outside */

/* Waits for the end of the pipe that the child and its own children hold.  Kills who is late. */
static void await(struct rf_probe_trial *trial, pid_t pid, int life)
{
	struct pollfd end = { .fd = life };
	int n, status = 0;

	do
		n = poll(&end, 1, ANSWER_MS);
	while (n < 0 && errno == EINTR);
	if (n == 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n == 0)
		rf_probe_absent(trial, "no answer within %d s", ANSWER_MS / 1000);
	else if (WIFSIGNALED(status))
		rf_probe_absent(trial, "the check was killed by signal %d", WTERMSIG(status));
}

static int try(struct rf_probe_trial *trial)
{
	const struct rf_probe_check *check = trial->check;
	bool has_userns = check->place == RF_PROBE_OWNED ||
			  (check->place == RF_PROBE_BUILDING && !trial->report->is_root);
	unsigned long flags = check->spaces | (has_userns ? CLONE_NEWUSER : 0);
	uid_t uid = geteuid();
	gid_t gid = getegid();
	RF_AUTO_FD int life = -1, held = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	life = ends[0];
	held = ends[1];
	pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		answer(trial, has_userns, uid, gid);
	if (pid < 0 && !flags)
		return -errno;
	if (pid < 0) {
		rf_probe_failed(trial, -errno, "clone");
		return 0;
	}
	rf_fd_done(&held);
	await(trial, pid, life);
	return 0;
}

static const struct rf_probe_result *find(const struct rf_probe_report *report, const char *id)
{
	for (size_t i = 0; i < report->count; i++)
		if (strcmp(report->results[i].id, id) == 0)
			return &report->results[i];
	return NULL;
}

static uint64_t namespace_of(const char *what)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", what);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* Tries, or says why not.  Fails only where no process can be made. */
static int attempt(struct rf_probe_trial *trial)
{
	const struct rf_probe_check *check = trial->check;
	const struct rf_probe_result *cause =
		check->after ? find(trial->report, check->after) : NULL;

	rf_probe_absent(trial, "no answer");
	if (cause && cause->state == RF_PROBE_ABSENT) {
		rf_probe_absent(trial, "not tried: it stands on the %s", cause->title);
		rf_probe_follows(trial, cause->title);
		return 0;
	}
	if (check->what && !strchr(check->what, '/'))
		trial->outside = namespace_of(check->what);
	return try(trial);
}

static int run_check(struct rf_probe_report *report, const struct rf_probe_check *check,
		     const char *init_path)
{
	struct rf_probe_result *result = &report->results[report->count++];
	struct rf_probe_trial trial = { check, report, result, init_path, 0 };
	int code;

	*result = (struct rf_probe_result){
		.id = check->id,
		.title = check->title,
		.meaning = check->meaning,
		.group = check->group,
		.need = check->is_for_root && !report->is_root ? RF_PROBE_WANTED : check->need,
		.is_waivable = check->is_waivable,
	};
	code = attempt(&trial);
	if (result->need == RF_PROBE_REQUIRED && result->state == RF_PROBE_ABSENT) {
		report->missing++;
		report->waivable += result->is_waivable;
	}
	return code;
}

/* A box that ran has told; else the rules of box.c, on the groups that were seen. */
static void grade(struct rf_probe_report *report)
{
	const struct rf_probe_cgroup *cgroup = &report->cgroup;
	const struct rf_probe_result *box = find(report, "box");

	if (box && box->state != RF_PROBE_ABSENT)
		return;
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		report->grades[i] = RF_GRADE_HARD;
	if (!cgroup->has_memory)
		report->grades[RF_LIMIT_MEMORY] = RF_GRADE_SAMPLED;
	if (!cgroup->has_cpu)
		report->grades[RF_LIMIT_CPU] = RF_GRADE_NONE;
	if (!cgroup->has_pids)
		report->grades[RF_LIMIT_PIDS] = RF_GRADE_RLIMIT;
	if (!cgroup->has_cputime)
		report->grades[RF_LIMIT_CPU_TIME] = RF_GRADE_SAMPLED;
}

int rf_probe_run(const char *init_path, struct rf_probe_report *ret_report, struct rf_err *err)
{
	struct rf_probe_report *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int code = 0;

	if (shared == MAP_FAILED)
		return rf_fail(err, -errno, "shared memory");
	shared->is_root = geteuid() == 0;
	shared->uid = geteuid();
	for (size_t i = 0; i < rf_probe_check_count && code == 0; i++)
		code = run_check(shared, &rf_probe_checks[i], init_path);
	grade(shared);
	if (code == 0)
		*ret_report = *shared;
	munmap(shared, sizeof(*shared));
	return code < 0 ? rf_fail(err, code, "make a process to try things in") : 0;
}
