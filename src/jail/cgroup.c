/*
 * The cgroup wall: see cgroup.h.
 *
 * Takes away: memory, processes and processor time beyond the plan, from all of the box together.
 * Raised: first, so that everything after it already runs within the limits.
 * Assumes: nothing.
 * Where it can't be: the sampler watches memory, RLIMIT_NPROC holds the processes (see rlimit.c).
 * From inside: death by the kernel's OOM killer, EAGAIN on fork, slower progress.
 *
 * How a process gets in decides the cost.  Writing to `cgroup.procs` takes a lock for which the
 * kernel waits a grace period, about 11 ms on an idle machine.  A child that writes 0 to `tasks`
 * (version 1) moves only itself and pays nothing; version 2 has CLONE_INTO_CGROUP.
 */
#include "jail/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/box.h"
#include "jail/cgroup-limits.h"
#include "jail/hands.h"
#include "jail/parts.h"
#include "jail/record.h"

#define CGROUP_ROOT  "/sys/fs/cgroup"
#define CGROUP2_TYPE 0x63677270
#define CPU_PERIOD   RF_CGROUP_PERIOD
#define CPU_LEAST    1000u /* µs: the kernel takes no smaller quota */

/* clang-format off */
static const char *const controllers[RF_GROUP_COUNT] = {
	[RF_GROUP_UNIFIED] = "",
	[RF_GROUP_MEMORY]  = "memory",
	[RF_GROUP_PIDS]    = "pids",
	[RF_GROUP_CPU]     = "cpu",
	[RF_GROUP_CPUACCT] = "cpuacct",
};
/* clang-format on */

void rf_cgroup_init(struct rf_cgroup *cgroup)
{
	*cgroup = (struct rf_cgroup){ .oom = -1, .passed = RF_CGROUP_LIMITS_NONE };
	for (int i = 0; i < RF_GROUP_COUNT; i++)
		cgroup->dirs[i] = -1;
}

bool rf_cgroup_is_used(const struct rf_cgroup *cgroup)
{
	for (int i = 0; i < RF_GROUP_COUNT; i++)
		if (cgroup->paths[i][0])
			return true;
	return false;
}

/* ------------------------------------------------------------- where groups can be made */

/* True if the comma-separated `list` names `word`. */
static bool names(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	for (const char *at = list, *end = list + len; at < end;) {
		size_t n = strcspn(at, ",: \n");

		if (n == word_len && strncmp(at, word, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/*
 * The line of the hierarchy of `group`.  /proc/self/cgroup has one a hierarchy: "4:memory:/path", and
 * "0::/path" for version 2.  Gives where its path begins and its list of controllers, or NULL.
 */
static const char *find_line(const char *text, enum rf_group group, const char **ret_list,
			     size_t *ret_len)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n"), *at;
		const char *list = memchr(line, ':', (size_t)(end - line));
		size_t len;

		if (!list || !(at = memchr(list + 1, ':', (size_t)(end - list) - 1)))
			return NULL;
		list++;
		len = (size_t)(at - list);
		if (group == RF_GROUP_UNIFIED ? len > 0 : !names(list, len, controllers[group]))
			continue;
		*ret_list = list;
		*ret_len = len;
		return at + 1;
	}
	return NULL;
}

/* The caller's own group in the hierarchy of `group`, as an absolute path. */
static bool own_path(const char *text, enum rf_group group, char *path, size_t size)
{
	const char *list, *at;
	size_t len;
	int n;

	at = find_line(text, group, &list, &len);
	if (!at)
		return false;
	if (group == RF_GROUP_UNIFIED) {
		struct statfs fs;
		bool is_pure = statfs(CGROUP_ROOT, &fs) == 0 && fs.f_type == CGROUP2_TYPE;

		n = snprintf(path, size, CGROUP_ROOT "%s%.*s", is_pure ? "" : "/unified",
			     (int)strcspn(at, "\n"), at);
	} else {
		n = snprintf(path, size, CGROUP_ROOT "/%.*s%.*s", (int)len, list,
			     (int)strcspn(at, "\n"), at);
	}
	/* A group outside of the caller's cgroup namespace reads /.. and can't be reached. */
	if (n <= 0 || (size_t)n >= size || strstr(path, "/.."))
		return false;
	if (path[n - 1] == '/')
		path[n - 1] = '\0';
	return true;
}

/* True if both texts name the same group in the hierarchy of `group`, or the first has none there. */
static bool is_same_group(const char *theirs, const char *ours, enum rf_group group)
{
	const char *list, *a = find_line(theirs, group, &list, &(size_t){ 0 });
	const char *b = find_line(ours, group, &list, &(size_t){ 0 });

	return !a ||
	       (b && strcspn(a, "\n") == strcspn(b, "\n") && strncmp(a, b, strcspn(a, "\n")) == 0);
}

/*
 * Enables what a child group needs.  True if memory and pids are there for it afterwards, or, where
 * `takes_less`, any of them.
 */
static bool can_hold_boxes(const char *path, bool takes_less)
{
	static const char *const wanted[] = { "memory", "pids", "cpu" };
	RF_AUTO_FD int dir = rf_fd_open(path, O_PATH | O_DIRECTORY);
	bool is_there[RF_LEN(wanted)];
	char can[256], has[256], order[16];

	if (dir < 0 || faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return false;
	/* On a mixed machine version 1 has the controllers, and there is nothing to be enabled. */
	if (rf_fd_read_text(dir, "cgroup.controllers", can, sizeof(can)) < 0 ||
	    rf_fd_read_text(dir, "cgroup.subtree_control", has, sizeof(has)) < 0)
		return false;
	for (size_t i = 0; i < RF_LEN(wanted); i++)
		is_there[i] = names(can, strlen(can), wanted[i]);
	if (takes_less ? !is_there[0] && !is_there[1] && !is_there[2]
		       : !is_there[0] || !is_there[1])
		return false;
	/*
	 * Where processes live in the group itself, children can't have any; the true root, which has
	 * no type, excepted.  The kernel refuses only memory there.  It takes pids and cpu, and makes
	 * the group a threaded one, so that nobody can use a child of it.
	 */
	if (faccessat(dir, "cgroup.type", F_OK, 0) == 0 &&
	    rf_fd_read_text(dir, "cgroup.procs", order, sizeof(order)) != 0)
		return false;
	for (size_t i = 0; i < RF_LEN(wanted); i++) {
		if (!is_there[i] || names(has, strlen(has), wanted[i]))
			continue;
		snprintf(order, sizeof(order), "+%s", wanted[i]);
		is_there[i] = rf_fd_write_text(dir, "cgroup.subtree_control", order) == 0;
	}
	return takes_less ? is_there[0] || is_there[1] || is_there[2] : is_there[0] && is_there[1];
}

/*
 * Finds the nearest group at or above `path` whose children can have controllers, within the first `root` bytes.  A box
 * there lies outside of the groups that were passed: `passed` becomes the least that they allow.
 */
static bool find_nearest(char *path, size_t root, bool takes_less, struct rf_cgroup_limits *passed)
{
	*passed = RF_CGROUP_LIMITS_NONE;
	while (strlen(path) >= root) {
		char *slash;

		if (can_hold_boxes(path, takes_less))
			return true;
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < root)
			return false;
		rf_cgroup_limits_note(passed, path);
		*slash = '\0';
	}
	return false;
}

/* True if version 1 has every controller that we want: then version 2 has none of them. */
static bool is_all_v1(const char *text)
{
	char path[256];

	return own_path(text, RF_GROUP_MEMORY, path, sizeof(path)) &&
	       own_path(text, RF_GROUP_PIDS, path, sizeof(path)) &&
	       own_path(text, RF_GROUP_CPU, path, sizeof(path));
}

/*
 * Finds the group of version 2 beneath which boxes can be made, for who lives in the groups of `text`.
 * One that limits memory and processes is better than a nearer one that can't.  A launcher that stays
 * asks again only when it has been somewhere else in between: that there is none is worth remembering.
 */
static bool find_unified(const char *text, char *path, size_t size, struct rf_cgroup_limits *passed)
{
	static char without[256];
	size_t root = strlen(CGROUP_ROOT);
	char whole[256];

	if (is_all_v1(text) || !own_path(text, RF_GROUP_UNIFIED, path, size) ||
	    strcmp(path, without) == 0)
		return false;
	snprintf(whole, sizeof(whole), "%s", path);
	if (find_nearest(path, root, false, passed))
		return true;
	memcpy(path, whole, sizeof(whole));
	if (find_nearest(path, root, true, passed))
		return true;
	*passed = RF_CGROUP_LIMITS_NONE; /* the box stays where the caller is */
	memcpy(without, whole, sizeof(without));
	return false;
}

/* ------------------------------------------------------------- making and limiting */

static int make_group(struct rf_box *box, enum rf_group group, const char *parent)
{
	struct rf_cgroup *cgroup = &box->cgroup;
	char path[sizeof(cgroup->paths[group])];
	int code;

	if (snprintf(path, sizeof(path), "%s/ringfort-%s", parent, box->id) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	/* Known before it is there, so that a launcher killed right now leaves nothing unknown. */
	if (rf_record_cgroup(box, path) < 0)
		return -EIO;
	code = (int)RF_KERNEL_RAW(SYS_mkdirat, AT_FDCWD, (long)path, 0755);
	if (code < 0)
		return code;
	memcpy(cgroup->paths[group], path, sizeof(path));
	code = (int)RF_KERNEL_RAW(SYS_openat, AT_FDCWD, (long)path,
				  O_PATH | O_DIRECTORY | O_CLOEXEC);
	cgroup->dirs[group] = code < 0 ? -1 : code;
	return code < 0 ? code : 0;
}

static bool write_number(int dir, const char *file, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return rf_fd_write_text(dir, file, text) == 0;
}

static bool is_there(int dir, const char *file)
{
	return RF_KERNEL_RAW(SYS_faccessat, dir, (long)file, F_OK) != -ENOENT;
}

/* The same of a file that not every kernel has: true, too, where there is none. */
static bool write_if_there(int dir, const char *file, uint64_t value)
{
	return write_number(dir, file, value) || !is_there(dir, file);
}

/* Pid 1 counts as one of the group's, the plan counts the program's own. */
static uint64_t pids_with_init(const struct rf_plan *plan)
{
	return plan->limits[RF_LIMIT_PIDS] + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The plan's limits, or those of the groups that were passed where they are lower. */
static void limit_unified(struct rf_cgroup *cgroup, const struct rf_plan *plan)
{
	const struct rf_cgroup_limits *passed = &cgroup->passed;
	int dir = cgroup->dirs[RF_GROUP_UNIFIED];
	uint64_t cpu = plan->limits[RF_LIMIT_CPU];
	char quota[48];

	cgroup->has_memory =
		write_number(dir, "memory.max",
			     least(plan->limits[RF_LIMIT_MEMORY], passed->memory_bytes)) &&
		(passed->high_bytes == UINT64_MAX ||
		 write_number(dir, "memory.high", passed->high_bytes)) &&
		write_if_there(dir, "memory.swap.max", 0); /* if swap is accounted */
	rf_fd_write_text(dir, "memory.oom.group", "1");
	cgroup->has_pids = write_number(dir, "pids.max", least(pids_with_init(plan), passed->pids));
	cpu = least(cpu == RF_LIMIT_NONE ? UINT64_MAX : cpu * CPU_PERIOD / 100, passed->cpu_us);
	snprintf(quota, sizeof(quota), "%" PRIu64 " %u", cpu < CPU_LEAST ? CPU_LEAST : cpu,
		 CPU_PERIOD);
	cgroup->has_cpu = cpu == UINT64_MAX || rf_fd_write_text(dir, "cpu.max", quota) == 0;
	cgroup->has_cputime = true;
}

/* What a box is beyond that lies outside of a group of its caller's, and can't be held otherwise. */
static int fail_outside(struct rf_box *box, const char *what, struct rf_err *err)
{
	char text[96];

	snprintf(text, sizeof(text), "%s of the caller's control group", what);
	return rf_box_lacks(box, text,
			    "start it from a group without that limit, or from one that may have "
			    "child groups (delegate it)",
			    err);
}

/* Each limit that was passed on the way is one of the box's now, or is missing. */
static int check_passed(struct rf_box *box, struct rf_err *err)
{
	const struct rf_cgroup *cgroup = &box->cgroup;
	const struct rf_cgroup_limits *passed = &cgroup->passed;

	if (passed->is_unknown && fail_outside(box, "limits, which can't be read,", err) < 0)
		return err->code;
	if ((passed->memory_bytes != UINT64_MAX || passed->high_bytes != UINT64_MAX) &&
	    !cgroup->has_memory && fail_outside(box, "the memory limit", err) < 0)
		return err->code;
	if (passed->pids != UINT64_MAX && !cgroup->has_pids &&
	    fail_outside(box, "the limit of processes", err) < 0)
		return err->code;
	if (passed->cpu_us != UINT64_MAX && !cgroup->has_cpu &&
	    fail_outside(box, "the processor share", err) < 0)
		return err->code;
	return 0;
}

static void limit_v1(struct rf_cgroup *cgroup, const struct rf_plan *plan)
{
	int memory = cgroup->dirs[RF_GROUP_MEMORY], cpu = cgroup->dirs[RF_GROUP_CPU];
	uint64_t share = plan->limits[RF_LIMIT_CPU], bytes = plan->limits[RF_LIMIT_MEMORY];

	if (memory >= 0) {
		/* Version 1 counts the buffers of TCP and UDP apart: they come on top of the limit. */
		cgroup->has_memory =
			write_number(memory, "memory.limit_in_bytes", bytes) &&
			write_if_there(memory, "memory.kmem.tcp.limit_in_bytes", bytes / 8) &&
			write_if_there(memory, "memory.memsw.limit_in_bytes", bytes);
		if (!is_there(memory, "memory.memsw.limit_in_bytes"))
			rf_fd_write_text(memory, "memory.swappiness", "0");
	}
	if (cgroup->dirs[RF_GROUP_PIDS] >= 0)
		cgroup->has_pids =
			write_number(cgroup->dirs[RF_GROUP_PIDS], "pids.max", pids_with_init(plan));
	if (cpu >= 0)
		cgroup->has_cpu = share == RF_LIMIT_NONE ||
				  write_number(cpu, "cpu.cfs_quota_us", share * CPU_PERIOD / 100);
	cgroup->has_cputime = cgroup->dirs[RF_GROUP_CPUACCT] >= 0;
}

/*
 * Counting processor time in a hierarchy of its own costs a box 80 µs.  It is not needed where the
 * time on the clock and the share of the processor keep the limit by themselves.
 */
static bool needs_cputime(const struct rf_plan *plan)
{
	const uint64_t *limits = plan->limits;
	uint64_t time = limits[RF_LIMIT_TIME], share = limits[RF_LIMIT_CPU];

	if (plan->needs_hard)
		return true;
	if (limits[RF_LIMIT_CPU_TIME] == RF_LIMIT_NONE)
		return false;
	return time == RF_LIMIT_NONE || share == RF_LIMIT_NONE ||
	       limits[RF_LIMIT_CPU_TIME] < time / 100 * share;
}

/* cpu and cpuacct are one hierarchy almost everywhere, and one directory serves both. */
static bool shares_directory(const char *group, const char *parent)
{
	size_t len = strlen(parent);

	return strncmp(group, parent, len) == 0 && group[len] == '/';
}

/* The groups that the box's lie beneath, as /proc tells them; of the box that is being made. */
static char beneath[4096];

void rf_cgroup_make(struct rf_box *box)
{
	struct rf_cgroup *cgroup = &box->cgroup;
	char path[256];

	for (int i = RF_GROUP_MEMORY; i < RF_GROUP_COUNT; i++) {
		if (!own_path(beneath, (enum rf_group)i, path, sizeof(path)))
			continue;
		if (i == RF_GROUP_CPUACCT && shares_directory(cgroup->paths[RF_GROUP_CPU], path)) {
			int fd = (int)RF_KERNEL_RAW(SYS_fcntl, cgroup->dirs[RF_GROUP_CPU],
						    F_DUPFD_CLOEXEC, 3);

			cgroup->dirs[i] = fd < 0 ? -1 : fd;
		} else if (i != RF_GROUP_CPUACCT || needs_cputime(box->plan)) {
			make_group(box, (enum rf_group)i, path);
		}
	}
	limit_v1(cgroup, box->plan);
}

/* The least that a group of somebody's and all above it allow. */
static void note_way(const char *text, enum rf_group group, struct rf_cgroup_limits *limits)
{
	size_t root = strlen(CGROUP_ROOT);
	char path[256], *slash;

	limits->is_unknown |= !own_path(text, group, path, sizeof(path));
	while (!limits->is_unknown && strlen(path) > root) {
		if (group == RF_GROUP_UNIFIED)
			rf_cgroup_limits_note(limits, path);
		else
			rf_cgroup_limits_note_v1(limits, group, path);
		slash = strrchr(path, '/');
		*slash = '\0';
	}
}

/*
 * A box for a caller in other groups than ours: in a hierarchy in which it could have no group beneath the caller's it would be in ours,
 * beyond the limits that the caller has there.
 */
static int check_callers(struct rf_box *box, struct rf_err *err)
{
	static const enum rf_group limiting[] = { RF_GROUP_UNIFIED, RF_GROUP_MEMORY, RF_GROUP_PIDS,
						  RF_GROUP_CPU };
	char ours[sizeof(beneath)];

	if (!box->group_of)
		return 0;
	if (rf_fd_read_text(AT_FDCWD, "/proc/self/cgroup", ours, sizeof(ours)) < 0)
		ours[0] = '\0';
	for (size_t i = 0; i < RF_LEN(limiting); i++) {
		enum rf_group group = limiting[i];
		struct rf_cgroup_limits limits = RF_CGROUP_LIMITS_NONE;

		if (box->cgroup.paths[group][0] || is_same_group(beneath, ours, group) ||
		    (group == RF_GROUP_UNIFIED && is_all_v1(beneath)))
			continue;
		note_way(beneath, group, &limits);
		if (rf_cgroup_limits_are_set(&limits) && fail_outside(box, "limits", err) < 0)
			return err->code;
	}
	return 0;
}

int rf_cgroup_raise(struct rf_box *box, struct rf_err *err)
{
	char path[256], whose[32] = "/proc/self/cgroup";
	int code;

	/* What can't be had here is graded, and the plan decides on the grades. */
	if (box->group_of)
		snprintf(whose, sizeof(whose), "/proc/%d/cgroup", (int)box->group_of);
	code = (int)rf_fd_read_text(AT_FDCWD, whose, beneath, sizeof(beneath));
	if (code < 0 && box->group_of) /* without them the box would be in ours, beyond theirs */
		return rf_fail(err, code, "look at the groups of who asks");
	if (code < 0)
		beneath[0] = '\0';
	if (find_unified(beneath, path, sizeof(path), &box->cgroup.passed) &&
	    make_group(box, RF_GROUP_UNIFIED, path) == 0) {
		limit_unified(&box->cgroup, box->plan);
		rf_hands_make_groups(box, false);
		return check_passed(box, err) < 0 ? err->code : check_callers(box, err);
	}
	box->cgroup.passed = RF_CGROUP_LIMITS_NONE; /* it stays where the caller is */
	if (!rf_hands_make_groups(box, true))
		rf_cgroup_make(box);
	return check_callers(box, err);
}

int rf_cgroup_enter(struct rf_box *box, struct rf_err *err)
{
	struct rf_cgroup *cgroup = &box->cgroup;
	int unified = box->is_lesser ? cgroup->dirs[RF_GROUP_UNIFIED] : -1;
	int code = unified < 0 ? 0 : rf_fd_write_text(unified, "cgroup.procs", "0");

	if (code < 0)
		return rf_fail(err, code, "enter %s", cgroup->paths[RF_GROUP_UNIFIED]);
	for (int i = RF_GROUP_MEMORY; i < RF_GROUP_COUNT; i++) {

		if (cgroup->dirs[i] < 0 || cgroup->paths[i][0] == '\0')
			continue;
		code = rf_fd_write_text(cgroup->dirs[i], "tasks", "0");
		if (code < 0)
			return rf_fail(err, code, "enter %s", cgroup->paths[i]);
	}
	return 0;
}

int rf_cgroup_prove(const struct rf_box *box, struct rf_err *err)
{
	const struct rf_cgroup *cgroup = &box->cgroup;
	int proc = rf_parts_has_mold(box) ? box->parts->proc : AT_FDCWD;
	char text[4096];
	int code;

	if (!rf_cgroup_is_used(cgroup))
		return 0;
	code = (int)rf_fd_read_text(proc, proc < 0 ? "/proc/self/cgroup" : "self/cgroup", text,
				    sizeof(text));
	if (code < 0)
		return rf_fail(err, code, "read /proc/self/cgroup");
	for (int i = 0; i < RF_GROUP_COUNT; i++) {
		const char *name = strrchr(cgroup->paths[i], '/');
		char path[256];

		if (!name)
			continue;
		if (!own_path(text, (enum rf_group)i, path, sizeof(path)) || !strstr(path, name))
			return rf_fail_say(err, -EPERM, "the box is not in its group %s",
					   cgroup->paths[i]);
	}
	return 0;
}

/* ------------------------------------------------------------- reading and removing */

static uint64_t read_number(int dir, const char *file)
{
	char text[64], *end;
	uint64_t value;

	if (dir < 0 || rf_fd_read_text(dir, file, text, sizeof(text)) < 0)
		return UINT64_MAX;
	value = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : value;
}

/* The number behind "`key` " at the start of a line. */
static uint64_t read_field(int dir, const char *file, const char *key)
{
	char text[4096];
	size_t len = strlen(key);

	if (dir < 0 || rf_fd_read_text(dir, file, text, sizeof(text)) < 0)
		return UINT64_MAX;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	return UINT64_MAX;
}

uint64_t rf_cgroup_cpu_ns(const struct rf_cgroup *cgroup)
{
	uint64_t us;

	if (cgroup->dirs[RF_GROUP_UNIFIED] < 0)
		return read_number(cgroup->dirs[RF_GROUP_CPUACCT], "cpuacct.usage");
	us = read_field(cgroup->dirs[RF_GROUP_UNIFIED], "cpu.stat", "usage_usec");
	return us == UINT64_MAX ? us : us * 1000;
}

void rf_cgroup_usage(const struct rf_cgroup *cgroup, struct rf_cgroup_usage *ret_usage)
{
	int unified = cgroup->dirs[RF_GROUP_UNIFIED];
	int pids = unified >= 0 ? unified : cgroup->dirs[RF_GROUP_PIDS];
	int memory = cgroup->dirs[RF_GROUP_MEMORY];

	ret_usage->cpu_ns = rf_cgroup_cpu_ns(cgroup);
	ret_usage->memory_peak = unified >= 0 ? read_number(unified, "memory.peak")
					      : read_number(memory, "memory.max_usage_in_bytes");
	ret_usage->oom_kills = unified >= 0 ? read_field(unified, "memory.events", "oom_kill")
					    : read_field(memory, "memory.oom_control", "oom_kill");
	ret_usage->pids_peak = read_number(pids, "pids.peak");
	ret_usage->pids_refused = read_field(pids, "pids.events", "max");
}

int rf_cgroup_watch_oom(struct rf_cgroup *cgroup)
{
	int memory = cgroup->dirs[RF_GROUP_MEMORY];
	RF_AUTO_FD int event = -1, control = -1;
	char order[32];
	uint64_t kills;

	if (memory < 0 || cgroup->oom >= 0)
		return cgroup->oom;
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	control = openat(memory, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (event < 0 || control < 0)
		return -1;
	snprintf(order, sizeof(order), "%d %d", event, control);
	if (rf_fd_write_text(memory, "cgroup.event_control", order) < 0)
		return -1;
	kills = read_field(memory, "memory.oom_control", "oom_kill"); /* before we listened */
	if (kills > 0 && kills != UINT64_MAX && eventfd_write(event, 1) < 0)
		return -1;
	cgroup->oom = rf_fd_take(&event);
	return cgroup->oom;
}

/* A group whose last process is just dying is busy for a moment.  True if it is gone. */
static bool remove_soon(const char *path)
{
	for (int tries = 0; rmdir(path) < 0; tries++) {
		if (errno == ENOENT)
			return true;
		if ((errno != EBUSY && errno != EINTR) || tries == 200)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = tries < 20 ? 100000 : 5000000 }, NULL);
	}
	return true;
}

void rf_cgroup_let_die(const struct rf_cgroup *cgroup)
{
	/* clang-format off */
	static const struct { enum rf_group group; const char *file, *text; } most[] = {
		{ RF_GROUP_UNIFIED, "cpu.max",          "max" },
		{ RF_GROUP_CPU,     "cpu.cfs_quota_us", "-1"  },
	};
	/* clang-format on */
	char path[300];

	for (size_t i = 0; cgroup->has_cpu && i < RF_LEN(most); i++) {
		if (!cgroup->paths[most[i].group][0])
			continue;
		snprintf(path, sizeof(path), "%s/%s", cgroup->paths[most[i].group], most[i].file);
		rf_fd_write_text(AT_FDCWD, path, most[i].text);
	}
}

void rf_cgroup_done(struct rf_cgroup *cgroup)
{
	rf_fd_done(&cgroup->oom);
	for (int i = 0; i < RF_GROUP_COUNT; i++) {
		rf_fd_done(&cgroup->dirs[i]);
		if (cgroup->paths[i][0] && remove_soon(cgroup->paths[i]))
			cgroup->paths[i][0] = '\0';
	}
}

/* What is not there because we can't see groups at all, as in a container, may be there for others. */
static bool is_among_groups(const char *path)
{
	char above[300];
	struct statfs fs;

	snprintf(above, sizeof(above), "%s", path);
	while (statfs(above, &fs) < 0) {
		char *slash = strrchr(above, '/');

		if (!slash || slash == above)
			return false;
		*slash = '\0';
	}
	return fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC;
}

bool rf_cgroup_remove(const char *path)
{
	char file[300], pids[4096];

	if (!is_among_groups(path))
		return false;
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	if (rf_fd_read_text(AT_FDCWD, file, pids, sizeof(pids)) > 0)
		for (char *at = pids, *end; *at; at = end + (*end == '\n')) {
			long pid = strtol(at, &end, 10);

			if (end == at)
				break;
			if (pid > 1)
				kill((pid_t)pid, SIGKILL);
		}
	return remove_soon(path);
}

/* ------------------------------------------------------------- for doctor */

/* Why no group of version 2 can hold boxes; in a container its own processes are in the way. */
static void explain_unified(const char *text, char *why, size_t size)
{
	char path[256], type[300];

	if (own_path(text, RF_GROUP_UNIFIED, path, sizeof(path)) && access(path, W_OK) == 0 &&
	    snprintf(type, sizeof(type), "%s/cgroup.type", path) > 0 && access(type, F_OK) == 0)
		snprintf(why, size,
			 "%.80s has processes of its own; move them into a leaf beneath it", path);
	else
		snprintf(why, size, "no group here or above may have children with controllers");
}

void rf_cgroup_probe(struct rf_cgroup_report *ret_report)
{
	struct rf_cgroup_limits passed;
	char text[4096], path[256];

	*ret_report = (struct rf_cgroup_report){ 0 };
	if (rf_fd_read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0) {
		snprintf(ret_report->why_not, sizeof(ret_report->why_not),
			 "/proc/self/cgroup can't be read");
		return;
	}
	if (find_unified(text, path, sizeof(path), &passed)) {
		char has[256] = "", file[300];

		snprintf(file, sizeof(file), "%s/cgroup.subtree_control", path);
		rf_fd_read_text(AT_FDCWD, file, has, sizeof(has));
		ret_report->version = 2;
		ret_report->has_memory = ret_report->has_pids = true;
		ret_report->has_cpu = names(has, strlen(has), "cpu");
		ret_report->has_cputime = ret_report->has_kill = true;
		memcpy(ret_report->where, path, sizeof(ret_report->where));
		return;
	}
	for (int i = RF_GROUP_MEMORY; i < RF_GROUP_COUNT; i++) {
		bool *const has[RF_GROUP_COUNT] = {
			[RF_GROUP_MEMORY] = &ret_report->has_memory,
			[RF_GROUP_PIDS] = &ret_report->has_pids,
			[RF_GROUP_CPU] = &ret_report->has_cpu,
			[RF_GROUP_CPUACCT] = &ret_report->has_cputime,
		};

		if (!own_path(text, (enum rf_group)i, path, sizeof(path)))
			continue;
		if (access(path, W_OK) < 0) {
			if (!ret_report->why_not[0])
				snprintf(ret_report->why_not, sizeof(ret_report->why_not),
					 "%.120s is not writable", path);
			continue;
		}
		*has[i] = true;
		ret_report->version = 1;
		if (!ret_report->where[0])
			memcpy(ret_report->where, path, sizeof(ret_report->where));
	}
	if (!ret_report->version && !ret_report->why_not[0])
		explain_unified(text, ret_report->why_not, sizeof(ret_report->why_not));
}
