/* Control groups of bench/floor: see floor.h. */
#include "floor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CGROUPS  "/sys/fs/cgroup"
#define PREFIX   "bench-floor-"
#define PATIENCE 200 /* times 10 ms, for what was killed to be gone */

/* clang-format off */
static const struct limit {
	unsigned hierarchy; /* its index below */
	const char *file, *value;
	bool is_optional; /* not every kernel counts it */
} limits_v1[] = {
	{ 0, "memory.limit_in_bytes",          "536870912",     false },
	{ 0, "memory.kmem.tcp.limit_in_bytes", "67108864",      true  },
	{ 0, "memory.memsw.limit_in_bytes",    "536870912",     true  },
	{ 1, "pids.max",                       "257",           false },
	{ 2, "cpu.cfs_quota_us",               "100000",        false },
}, limits_v2[] = {
	{ 0, "memory.max",                     "536870912",     false },
	{ 0, "memory.swap.max",                "0",             true  },
	{ 0, "memory.oom.group",               "1",             false },
	{ 0, "pids.max",                       "257",           false },
	{ 0, "cpu.max",                        "100000 100000", false },
};
/* clang-format on */

#define LIMITS (sizeof(limits_v1) / sizeof(limits_v1[0]))
_Static_assert(LIMITS == sizeof(limits_v2) / sizeof(limits_v2[0]), "both are walked by one loop");

static const char *const controllers[] = { "memory", "pids", "cpu" };

#define HIERARCHIES (sizeof(controllers) / sizeof(controllers[0]))

static int parents[HIERARCHIES]; /* where the groups are made */
static size_t count;             /* of them: 3 of version 1, or 1 of version 2 */
static pid_t sweeper;

/* ------------------------------------------------------------- where they are made */

/* True if the comma-separated `list` names `word`. */
static bool names(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strncmp(list, word, len) == 0 && (list[len] == ',' || !list[len]))
			return true;
	return false;
}

/* Our own group of version 1, of a line like "4:memory:/path". */
static bool own_group(const char *controller, char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[512];
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		snprintf(path, size, CGROUPS "/%s%s", list + 1, at);
		is_found = names(list + 1, controller);
	}
	if (file)
		fclose(file);
	return is_found;
}

void floor_group_open(pid_t owner)
{
	char path[600];

	sweeper = owner;
	for (count = 0; count < HIERARCHIES; count++) {
		if (!own_group(controllers[count], path, sizeof(path)))
			break;
		parents[count] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (parents[count] < 0)
			floor_die(path);
	}
	if (count == HIERARCHIES)
		return;
	/* The root, in which children may have what is enabled there although processes live in it. */
	parents[0] = open(CGROUPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	count = 1;
	if (parents[0] < 0 || faccessat(parents[0], "cgroup.controllers", F_OK, 0) < 0)
		floor_die("neither version 1 nor version 2 of the control groups is whole here");
}

/* ------------------------------------------------------------- a box's */

static void write_in(int parent, const char *name, const char *file, const char *text,
		     bool is_optional)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", name, file);
	fd = openat(parent, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && is_optional)
		return;
	floor_must(fd, path);
	floor_must(write(fd, text, strlen(text)), path);
	close(fd);
}

void floor_group_name(char *name, size_t size, unsigned worker, unsigned number)
{
	snprintf(name, size, PREFIX "%d-%u-%u", (int)sweeper, worker, number);
}

void floor_group_make(const char *name)
{
	const struct limit *limits = count == 1 ? limits_v2 : limits_v1;

	for (size_t i = 0; i < count; i++)
		if (mkdirat(parents[i], name, 0755) < 0)
			floor_die("make a control group");
	for (size_t i = 0; i < LIMITS; i++)
		write_in(parents[limits[i].hierarchy], name, limits[i].file, limits[i].value,
			 limits[i].is_optional);
}

/* A thread that moves itself makes nobody wait for a grace period, as `cgroup.procs` does. */
void floor_group_enter(const char *name)
{
	for (size_t i = 0; i < count && count > 1; i++)
		write_in(parents[i], name, "tasks", "0", false);
}

int floor_group_unified(const char *name)
{
	int fd = count == 1 ? openat(parents[0], name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (count == 1 && fd < 0)
		floor_die(name);
	return fd;
}

void floor_group_remove(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (unlinkat(parents[i], name, AT_REMOVEDIR) < 0)
			floor_die("remove a control group");
}

/* ------------------------------------------------------------- what is left */

static void kill_all(int parent, const char *name)
{
	char path[300], line[32];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", name);
	fd = openat(parent, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "re");
	while (file && fgets(line, sizeof(line), file))
		if (atoi(line) > 0)
			kill(atoi(line), SIGKILL);
	if (file)
		fclose(file);
}

static bool is_left(const char *name)
{
	pid_t owner;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	owner = atoi(name + strlen(PREFIX));
	return owner == sweeper || (kill(owner, 0) < 0 && errno == ESRCH);
}

static void sweep(int parent)
{
	DIR *dir = fdopendir(openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!is_left(entry->d_name))
			continue;
		for (int i = 0; i < PATIENCE; i++) {
			kill_all(parent, entry->d_name);
			if (unlinkat(parent, entry->d_name, AT_REMOVEDIR) == 0 || errno != EBUSY)
				break;
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		}
	}
	if (dir)
		closedir(dir);
}

void floor_group_sweep(void)
{
	for (size_t i = 0; i < count; i++)
		sweep(parents[i]);
}
