/* Attacks that learn: what is told of the host, by files, by memory, or by how long an answer takes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define TRIES 4001

/* FILE WORD */
static int search_file(char **args)
{
	FILE *file = fopen(args[0], "r");
	char line[8192];
	int code = -ENODATA;

	if (!file)
		return -errno;
	while (code < 0 && fgets(line, sizeof(line), file))
		if (strstr(line, args[1]))
			code = 0;
	fclose(file);
	return code;
}

/* The secret, spelt with each letter raised by one, so that the search does not find itself. */
static int is_secret(const char *at, const char *raised)
{
	for (; *raised; at++, raised++)
		if ((char)(*at + 1) != *raised)
			return 0;
	return 1;
}

static int search_range(int mem, off_t start, off_t end, const char *raised)
{
	static char bytes[1 << 16];
	size_t len = strlen(raised);

	for (off_t at = start; at < end; at += (off_t)(sizeof(bytes) - len)) {
		ssize_t got = pread(mem, bytes, sizeof(bytes), at);

		if (got <= 0)
			break;
		for (ssize_t i = 0; i + (ssize_t)len <= got; i++)
			if (is_secret(bytes + i, raised))
				return 0;
	}
	return -ENODATA;
}

/* RAISED: everywhere in one's own memory, where a launcher's leftovers would be */
static int search_memory(char **args)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int mem = open("/proc/self/mem", O_RDONLY), code = -ENODATA;
	unsigned long start, end;
	char line[4096];

	if (!maps || mem < 0)
		return -errno;
	while (code < 0 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && !strstr(line, "[vsyscall]") &&
		    !strstr(line, "[vvar"))
			code = search_range(mem, (off_t)start, (off_t)end, args[0]);
	return code;
}

/* RAISED: in what every process in sight was started with */
static int search_environments(char **args)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int code = -ENODATA;

	if (!proc)
		return -errno;
	while (code < 0 && (entry = readdir(proc))) {
		char path[300];
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/environ", entry->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		code = search_range(fd, 0, 1 << 20, args[0]);
		close(fd);
	}
	closedir(proc);
	return code;
}

/* The number of a page of memory, with which a hammer is aimed */
static int page_frame(char **args)
{
	static char page[8192];
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	(void)args;
	page[4096] = 1;
	if (fd < 0 ||
	    pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)&page[4096] / 4096 * 8)) < 0)
		return -errno;
	return entry & ((1ull << 55) - 1) ? 0 : -ENODATA;
}

/* A capability in any of the sets, of which the inheritable one is easily forgotten (CVE-2022-29162) */
static int hold_capability(char **args)
{
	uint32_t head[2] = { 0x20080522, 0 }, sets[6] = { 0 };

	(void)args;
	if (syscall(SYS_capget, head, sets) < 0)
		return -errno;
	for (int i = 0; i < 6; i++)
		if (sets[i])
			return 0;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			return 0;
	return -ENODATA;
}

static int by_size(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static long time_of(const char *path)
{
	struct timespec before, after;
	struct stat st;

	clock_gettime(CLOCK_MONOTONIC, &before);
	stat(path, &st);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (after.tv_sec - before.tv_sec) * 1000000000l + after.tv_nsec - before.tv_nsec;
}

/* PATH OTHER: does the kernel take longer for a deep path of the host that is there? */
static int time_path(char **args)
{
	static long there[TRIES], missing[TRIES];
	char text[64];
	long x, y;

	for (int i = 0; i < TRIES; i++) {
		there[i] = time_of(args[0]);
		missing[i] = time_of(args[1]);
	}
	qsort(there, TRIES, sizeof(there[0]), by_size);
	qsort(missing, TRIES, sizeof(missing[0]), by_size);
	x = there[TRIES / 2];
	y = missing[TRIES / 2];
	snprintf(text, sizeof(text), "%ldns,%ldns", x, y);
	attack_loot(text);
	return 2 * x > 3 * y ? 0 : -ENODATA;
}

/* PATH: how full the file system is on which it lies */
static int ask_space(char **args)
{
	struct statfs fs;

	return attack_result(statfs(args[0], &fs));
}

/* FILE VALUE: a setting of one's own that must not become better */
static int write_setting(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return fd < 0 ? -errno : attack_result(write(fd, args[1], strlen(args[1])));
}

const struct attack attack_facts[] = {
	{ "search-file", search_file },
	{ "search-memory", search_memory },
	{ "search-environments", search_environments },
	{ "page-frame", page_frame },
	{ "hold-capability", hold_capability },
	{ "time-path", time_path },
	{ "ask-space", ask_space },
	{ "write-setting", write_setting },
	{ NULL, NULL },
};
