/* The sampler: see sample.h. */
#include "jail/sample.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define MAX_PROCESSES 4096
#define MAX_MEMFDS    256

struct walk {
	pid_t pids[MAX_PROCESSES]; /* found so far; those before `next` are done */
	size_t count, next;
	ino_t memfds[MAX_MEMFDS];
	size_t memfd_count;
	struct rf_sample *sample;
	uint64_t resident;
};

static int open_process(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The children of every thread; orphans belong to pid 1, so none is missed. */
static void add_children(struct walk *walk, int process)
{
	RF_AUTO_FD int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int copy = tasks < 0 ? -1 : fcntl(tasks, F_DUPFD_CLOEXEC, 3);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *task;

	if (!dir) {
		rf_fd_done(&copy);
		return;
	}
	while ((task = readdir(dir))) {
		char file[288], text[8192], *at = text, *end;

		if (task->d_name[0] == '.')
			continue;
		walk->sample->pids++;
		snprintf(file, sizeof(file), "%s/children", task->d_name);
		if (rf_fd_read_text(tasks, file, text, sizeof(text)) <= 0)
			continue;
		for (long pid; (pid = strtol(at, &end, 10)) > 0; at = end)
			if (walk->count < MAX_PROCESSES)
				walk->pids[walk->count++] = (pid_t)pid;
	}
	closedir(dir);
}

/* utime, stime and those of the children that were waited for: fields 14 to 17 of stat. */
static uint64_t cpu_of(int process)
{
	static long ticks;
	char text[1024], *at;
	unsigned long long part[4] = { 0 };

	if (!ticks)
		ticks = sysconf(_SC_CLK_TCK);
	if (rf_fd_read_text(process, "stat", text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at ||
	    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &part[0], &part[1], &part[2], &part[3]) != 4)
		return 0;
	return (part[0] + part[1] + part[2] + part[3]) * (1000000000ull / (unsigned long)ticks);
}

static uint64_t resident_of(int process)
{
	char text[128];
	unsigned long long resident = 0, shared = 0;

	if (rf_fd_read_text(process, "statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
		return 0;
	return resident * (unsigned long)sysconf(_SC_PAGESIZE);
}

static uint64_t exact_of(int process)
{
	static const char *const keys[] = { "\nPss_Anon:", "\nPss_Shmem:" };
	char text[2048];
	uint64_t bytes = 0;

	if (rf_fd_read_text(process, "smaps_rollup", text, sizeof(text)) <= 0)
		return 0;
	for (size_t i = 0; i < RF_LEN(keys); i++) {
		const char *at = strstr(text, keys[i]);

		if (at)
			bytes += strtoull(at + strlen(keys[i]), NULL, 10) * 1024;
	}
	return bytes;
}

static bool is_new_memfd(struct walk *walk, ino_t ino)
{
	for (size_t i = 0; i < walk->memfd_count; i++)
		if (walk->memfds[i] == ino)
			return false;
	if (walk->memfd_count < MAX_MEMFDS)
		walk->memfds[walk->memfd_count++] = ino;
	return true;
}

static uint64_t memfds_of(struct walk *walk, int process)
{
	RF_AUTO_FD int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int copy = fds < 0 ? -1 : fcntl(fds, F_DUPFD_CLOEXEC, 3);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *fd;
	uint64_t bytes = 0;

	if (!dir) {
		rf_fd_done(&copy);
		return 0;
	}
	while ((fd = readdir(dir))) {
		char target[64];
		struct stat st;
		ssize_t len = readlinkat(fds, fd->d_name, target, sizeof(target));

		if (len >= 7 && strncmp(target, "/memfd:", 7) == 0 &&
		    fstatat(fds, fd->d_name, &st, 0) == 0 && is_new_memfd(walk, st.st_ino))
			bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(dir);
	return bytes;
}

static uint64_t scratch_of(int process)
{
	RF_AUTO_FD int scratch = openat(process, "root/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (scratch < 0 || fstatfs(scratch, &fs) < 0)
		return 0;
	return (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

void rf_sample_take(pid_t init, uint64_t exact_above, struct rf_sample *ret_sample)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	uint64_t exact = 0;

	*ret_sample = (struct rf_sample){ 0 };
	if (!walk)
		return;
	walk->sample = ret_sample;
	walk->pids[walk->count++] = init;
	for (; walk->next < walk->count; walk->next++) {
		RF_AUTO_FD int process = open_process(walk->pids[walk->next]);

		if (process < 0)
			continue;
		add_children(walk, process);
		ret_sample->cpu_ns += cpu_of(process);
		walk->resident += resident_of(process);
		ret_sample->memory_bytes += memfds_of(walk, process);
		if (walk->next == 0)
			ret_sample->memory_bytes += scratch_of(process);
	}
	if (ret_sample->pids > 0)
		ret_sample->pids--;
	for (size_t i = 0;
	     walk->resident + ret_sample->memory_bytes > exact_above && i < walk->count; i++) {
		RF_AUTO_FD int process = open_process(walk->pids[i]);

		if (process >= 0)
			exact += exact_of(process);
	}
	ret_sample->memory_bytes += exact ? exact : walk->resident;
	free(walk);
}
