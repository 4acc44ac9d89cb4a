/* How a watcher stands: see stance.h. */
#include "watch/stance.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define OOM_SCORE   "-900" /* the last of ours that a machine without memory may kill */
#define CGROUP_ROOT "/sys/fs/cgroup"
#define GROUP_NAME                                                                                 \
	"ringfort.watch" /* beneath the group that it was started in, and within its limits */
#define GROUPS_MOST  8
#define CAP_LAST_MAX 63

#define CAP(name) (1ull << CAP_##name)
#define NEEDED    (CAP(KILL) | CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH))

struct rf_stance {
	char before[GROUPS_MOST][512]; /* groups that it was in */
	size_t count;
};

/* ------------------------------------------------------------- control groups */

/* True if no other process is in the group. */
static bool is_alone_in(int group)
{
	char text[64];
	ssize_t len = rf_fd_read_text(group, "cgroup.procs", text, sizeof(text));
	char *end = NULL;

	return len > 0 && strtol(text, &end, 10) == getpid() && strcmp(end, "\n") == 0;
}

/* Moves all of this process. */
static bool enter(const char *path)
{
	RF_AUTO_FD int group = rf_fd_open(path, O_PATH | O_DIRECTORY);

	return group >= 0 && rf_fd_write_text(group, "cgroup.procs", "0") == 0;
}

static void take_group(struct rf_stance *stance, const char *path)
{
	RF_AUTO_FD int group = rf_fd_open(path, O_PATH | O_DIRECTORY);
	char own[600];

	if (group < 0 || stance->count >= GROUPS_MOST || is_alone_in(group))
		return;
	snprintf(own, sizeof(own), "%s/" GROUP_NAME, path);
	if (mkdirat(group, GROUP_NAME, 0755) < 0 && errno != EEXIST)
		return;
	if (!enter(own)) {
		rmdir(own);
		return;
	}
	snprintf(stance->before[stance->count++], sizeof(stance->before[0]), "%s", path);
}

/*
 * In each hierarchy that limits or stops processes: "4:memory:/path", or "0::/path" for version 2.  One that
 * is mounted elsewhere is not looked for.
 */
static void take_groups(struct rf_stance *stance)
{
	static const char *const wanted[] = { "memory", "pids", "cpu", "cpu,cpuacct", "freezer" };
	char text[4096], path[512];
	struct statfs fs;
	bool is_pure = statfs(CGROUP_ROOT, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;

	if (rf_fd_read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
		return;
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
		size_t end;

		if (!at || strstr(at, "/.."))
			continue;
		*at++ = '\0';
		end = strlen(at);
		if (end > 0 && at[end - 1] == '/')
			at[end - 1] = '\0';
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && !is_pure; i++)
			if (strcmp(list + 1, wanted[i]) == 0) {
				snprintf(path, sizeof(path), CGROUP_ROOT "/%s%s", list + 1, at);
				take_group(stance, path);
			}
		if (is_pure && list[1] == '\0') {
			snprintf(path, sizeof(path), CGROUP_ROOT "%s", at);
			take_group(stance, path);
		}
	}
}

/* ------------------------------------------------------------- capabilities */

static bool read_caps(struct __user_cap_data_struct sets[2])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, sets) == 0;
}

/*
 * Root's clients open its memory to prove themselves (wire/peer.h), which takes CAP_SYS_PTRACE of a process that is not
 * dumpable.  They have what we have: where that lacks, as in many containers, we stay as root's processes are.
 */
static bool has_ptrace(void)
{
	struct __user_cap_data_struct sets[2] = { 0 };

	return read_caps(sets) && sets[0].effective & 1u << CAP_SYS_PTRACE;
}

void rf_stance_cut(bool writes_for_others)
{
	const uint64_t kept = NEEDED | (writes_for_others ? CAP(DAC_OVERRIDE) : 0);
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	if (geteuid() != 0 || !has_ptrace() || !read_caps(sets))
		return;
	for (unsigned long cap = 0; cap <= CAP_LAST_MAX; cap++)
		if (!(kept >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(kept >> 32 * i);
		sets[i].effective &= (uint32_t)(kept >> 32 * i);
		sets[i].inheritable = 0;
	}
	syscall(SYS_capset, &head, sets);
}

/* ------------------------------------------------------------- the whole */

int rf_stance_take(struct rf_stance **ret_stance, struct rf_err *err)
{
	struct rf_stance *stance = calloc(1, sizeof(*stance));

	if (!stance)
		return rf_fail(err, -ENOMEM, "a place to stand");
	*ret_stance = stance;
	rf_fd_write_text(AT_FDCWD, "/proc/self/oom_score_adj", OOM_SCORE); /* root's right alone */
	if (geteuid() == 0) /* an ordinary user's clients and boxes may be in the same one */
		take_groups(stance);
	if ((geteuid() != 0 || has_ptrace()) && prctl(PR_SET_DUMPABLE, 0) < 0)
		return rf_fail(err, -errno, "keep others out of its memory");
	return 0;
}

void rf_stance_leave(struct rf_stance *stance)
{
	char own[600];

	if (!stance)
		return;
	for (size_t i = 0; i < stance->count; i++) {
		snprintf(own, sizeof(own), "%s/" GROUP_NAME, stance->before[i]);
		if (enter(stance->before[i]))
			rmdir(own); /* unless another watcher of root's is in it */
	}
	free(stance);
}
