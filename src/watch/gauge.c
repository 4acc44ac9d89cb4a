/* What a box uses: see gauge.h. */
#include "watch/gauge.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define NONE RF_GAUGE_UNKNOWN

struct rf_gauge_seen {
	pid_t pid;
	uint64_t start; /* when it began: tells it from another with its number */
};

void rf_gauge_done(struct rf_gauge *gauge)
{
	free(gauge->seen);
	*gauge = (struct rf_gauge){ 0 };
}

/* ------------------------------------------------------------- groups */

static uint64_t read_number(int dir, const char *file)
{
	char text[64], *end = NULL;
	uint64_t number;

	if (dir < 0 || rf_fd_read_text(dir, file, text, sizeof(text)) <= 0)
		return NONE;
	number = strtoull(text, &end, 10);
	return end == text ? NONE : number;
}

/* The number behind a word at the begin of a line. */
static uint64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : NONE;
}

static void look_at_groups(const struct rf_herd *herd, struct rf_gauge_figures *out)
{
	const int *groups = herd->groups;
	char text[1024];
	uint64_t us;

	out->memory = read_number(groups[RF_HERD_MEMORY], "memory.usage_in_bytes");
	out->pids = read_number(groups[RF_HERD_PIDS], "pids.current");
	out->cpu_ns = read_number(groups[RF_HERD_CPUACCT], "cpuacct.usage");
	if (groups[RF_HERD_UNIFIED] >= 0) {
		int dir = groups[RF_HERD_UNIFIED];

		if (out->memory == NONE)
			out->memory = read_number(dir, "memory.current");
		if (out->pids == NONE)
			out->pids = read_number(dir, "pids.current");
		if (out->cpu_ns == NONE &&
		    rf_fd_read_text(dir, "cpu.stat", text, sizeof(text)) > 0) {
			us = number_after(text, "usage_usec ");
			out->cpu_ns = us == NONE ? NONE : us * 1000;
		}
	}
	for (int i = 0; i < RF_HERD_GROUPS; i++)
		if ((i == RF_HERD_UNIFIED || i == RF_HERD_PIDS) && groups[i] >= 0 &&
		    rf_fd_read_text(groups[i], "pids.events", text, sizeof(text)) > 0)
			out->refused = number_after(text, "max ");
	if (out->refused == NONE)
		out->refused = 0;
	if (out->pids != NONE && out->pids > 0)
		out->pids--;
}

/* ------------------------------------------------------------- processes */

struct process {
	struct rf_gauge_seen seen;
	uint64_t cpu_ns, memory, threads, inner, written;
};

/* What /proc says of one; false if it is gone. */
static bool look_at(pid_t pid, bool wants_all, struct process *ret)
{
	static long tick, page;
	char path[32], text[4096];
	RF_AUTO_FD int dir = -1;
	unsigned long long time[4], threads, start;
	const char *at, *end;
	long resident;

	if (!tick) {
		tick = 1000000000L / sysconf(_SC_CLK_TCK);
		page = sysconf(_SC_PAGESIZE);
	}
	*ret = (struct process){ .seen.pid = pid };
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = rf_fd_open(path, O_PATH | O_DIRECTORY);
	if (dir < 0 || rf_fd_read_text(dir, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d "
			  "%*d %llu %*d %llu %*u %ld",
			  &time[0], &time[1], &time[2], &time[3], &threads, &start, &resident) != 7)
		return false;
	ret->seen.start = start;
	ret->threads = threads;
	ret->cpu_ns = (time[0] + time[1] + time[2] + time[3]) * (uint64_t)tick;
	if (wants_all && rf_fd_read_text(dir, "statm", text, sizeof(text)) > 0) {
		unsigned long long all = 0, shared = 0;

		if (sscanf(text, "%*u %llu %llu", &all, &shared) == 2 && all > shared)
			ret->memory = (all - shared) * (uint64_t)page;
	}
	if (rf_fd_read_text(dir, "io", text, sizeof(text)) > 0)
		ret->written = number_after(text, "wchar: ");
	if (rf_fd_read_text(dir, "status", text, sizeof(text)) > 0 &&
	    (at = strstr(text, "\nNSpid:"))) {
		at++;
		end = at + strcspn(at, "\n");
		at = memrchr(at, '\t', (size_t)(end - at));
		ret->inner = at ? strtoull(at + 1, NULL, 10) : 0;
	}
	return true;
}

static int by_pid(const void *left, const void *right)
{
	const struct rf_gauge_seen *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid > b->pid ? 1 : -1;
	return (a->start > b->start) - (a->start < b->start);
}

/* Counts who was not there before, where the kernel does not. */
static void count_new(struct rf_gauge *gauge, struct rf_gauge_seen *seen, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (gauge->seen_count == 0 ||
		    !bsearch(&seen[i], gauge->seen, gauge->seen_count, sizeof(*seen), by_pid))
			gauge->begun++;
	qsort(seen, count, sizeof(*seen), by_pid);
	free(gauge->seen);
	gauge->seen = seen;
	gauge->seen_count = count;
}

struct sum {
	uint64_t memory, cpu_ns, pids, written, highest;
};

static void add(struct sum *sum, const struct process *process)
{
	sum->memory += process->memory;
	sum->cpu_ns += process->cpu_ns;
	sum->pids += process->threads;
	sum->written += process->written == NONE ? 0 : process->written;
	if (process->inner > sum->highest)
		sum->highest = process->inner;
}

static void look_at_processes(struct rf_gauge *gauge, const struct rf_herd *herd,
			      struct rf_gauge_figures *out)
{
	bool needs_memory = out->memory == NONE;
	pid_t *pids = calloc(RF_HERD_MOST, sizeof(*pids));
	struct rf_gauge_seen *seen = calloc(RF_HERD_MOST, sizeof(*seen));
	size_t count = pids && seen ? rf_herd_list(herd, pids) : 0, kept = 0;
	struct sum sum = { 0 };
	struct process process;

	for (size_t i = 0; i < count; i++)
		if (look_at(pids[i], needs_memory, &process)) {
			add(&sum, &process);
			if (process.seen.pid != herd->init)
				seen[kept++] = process.seen;
		}
	free(pids);
	if (!herd->space && seen)
		count_new(gauge, seen, kept); /* which keeps them */
	else
		free(seen);
	if (herd->space && sum.highest > gauge->begun + 1)
		gauge->begun = sum.highest - 1;
	if (sum.written > gauge->written)
		gauge->written = sum.written;
	if (needs_memory) /* files in its memory are its memory */
		out->memory = sum.memory + (out->disk == NONE ? 0 : out->disk);
	if (out->cpu_ns == NONE)
		out->cpu_ns = sum.cpu_ns;
	if (out->pids == NONE)
		out->pids = sum.pids > 0 ? sum.pids - 1 : 0;
}

/* ------------------------------------------------------------- its file system */

/* Whether the box's /tmp is a file system of ours: who serves another may never answer. */
static bool has_own_disk(const struct rf_herd *herd)
{
	char path[48], line[1024], point[256];
	bool is_ours = false;
	FILE *mounts;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)herd->init);
	mounts = herd->space ? fopen(path, "re") : NULL;
	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *type = strstr(line, " - ");

		if (type && sscanf(line, "%*s %*s %*s %*s %255s", point) == 1 &&
		    strcmp(point, "/tmp") == 0)
			is_ours = strncmp(type, " - tmpfs ", 9) == 0;
	}
	if (mounts)
		fclose(mounts);
	return is_ours;
}

static uint64_t look_at_disk(struct rf_gauge *gauge, const struct rf_herd *herd)
{
	RF_AUTO_FD int fd = -1;
	char path[48];
	struct statfs fs;

	if (gauge->disk == RF_GAUGE_ASK)
		gauge->disk = has_own_disk(herd) ? RF_GAUGE_OWN : RF_GAUGE_OTHER;
	if (gauge->disk != RF_GAUGE_OWN)
		return NONE;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)herd->init);
	fd = rf_fd_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return NONE;
	return (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

void rf_gauge_look(struct rf_gauge *gauge, const struct rf_herd *herd)
{
	struct rf_gauge_figures out = { .disk = look_at_disk(gauge, herd) };

	look_at_groups(herd, &out);
	look_at_processes(gauge, herd, &out);
	out.begun = gauge->begun;
	out.written = gauge->written;
	gauge->last = out;
}
