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
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define MAX_PROCESSES 4096
#define STATUS_ROOM   2048

/* Bytes a nanosecond that one processor can fill, at the most: it clears huge pages at some ten. */
#define FASTEST 16u

/* The same to a disk's cache, which it must copy as well: for those who do not say what they wrote. */
#define WRITES_A_NS 8u
/* Nanoseconds: in which who has ended is waited for as a rule, and of its parent's, who had no time for it. */
#define WAIT_NS    1000000000ull
#define STARVED_NS 10000000ull

/* What the kernel needs for one, by measurement: an empty file in a tmpfs, an idle socket or eventfd. */
#define INODE_BYTES      1024u
#define DESCRIPTOR_BYTES 1024u

struct walk {
	pid_t pids[MAX_PROCESSES]; /* found so far; those before `next` are done */
	size_t count, next;
	struct rf_sample *sample;
	struct rf_sample_memo memo; /* of this walk */
	uint64_t resident;
};

/*
 * A process's own time to the nanosecond, with that of its threads, or 0: its clock can be read by anyone.  The clock's number is
 * put together as clock_getcpuclockid(3) does, which would ask the kernel first whether there is one.
 */
static uint64_t own_time(pid_t pid)
{
	const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec time;

	if (clock_gettime(clock, &time) < 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Before anything else of a process is looked at: what it does meanwhile, the next look sees. */
static void remember(struct rf_sample_memo *memo, pid_t pid)
{
	uint64_t own_ns = own_time(pid);

	if (memo->count == RF_SAMPLE_KNOWN || own_ns == 0) {
		memo->is_whole = false;
		return;
	}
	memo->known[memo->count].pid = pid;
	memo->known[memo->count++].own_ns = own_ns;
}

/* Whether all of them sleep since then.  One that has ended does not. */
static bool is_asleep(const struct rf_sample_memo *memo)
{
	if (!memo->is_trusted)
		return false;
	for (size_t i = 0; i < memo->count; i++)
		if (own_time(memo->known[i].pid) != memo->known[i].own_ns)
			return false;
	return true;
}

static bool is_same(const struct rf_sample_memo *memo, const struct rf_sample_memo *last)
{
	if (!memo->is_whole || !last->is_whole || memo->count != last->count)
		return false;
	for (size_t i = 0; i < memo->count; i++)
		if (memo->known[i].pid != last->known[i].pid ||
		    memo->known[i].own_ns != last->known[i].own_ns)
			return false;
	return true;
}

static int open_process(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A line of status in kilobytes, as bytes; 0 without it. */
static uint64_t line_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

/* Where status was cut: who is in hundreds of groups has its memory told of behind all of them. */
static bool read_statm(int task, char *text, size_t size)
{
	unsigned long long resident = 0;

	if (rf_fd_read_text(task, "statm", text, size) <= 0 ||
	    sscanf(text, "%*u %llu", &resident) != 1)
		return false;
	snprintf(text, size, "\nVmRSS: %llu kB\n",
		 resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
	return resident > 0;
}

/* Reads what a thread says of itself.  False once it has no memory any more. */
static bool read_status(int task, char *text, size_t size)
{
	ssize_t len = rf_fd_read_text(task, "status", text, size);

	if (len > 0 && strstr(text, "\nVmRSS:"))
		return true;
	return len == (ssize_t)size - 1 && read_statm(task, text, size);
}

/*
 * The same of a process, from a thread that still has its memory: the process's own files tell of none once its first
 * thread has ended, while the others live on.  Gives that thread in `*ret_living`, or -1 if it is the first.
 */
static bool read_living(int process, char *text, size_t size, int *ret_living)
{
	RF_AUTO_FD int tasks = -1;
	struct dirent *task;
	int found = -1, copy;
	DIR *dir;

	*ret_living = -1;
	if (read_status(process, text, size))
		return true;
	tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy = tasks < 0 ? -1 : fcntl(tasks, F_DUPFD_CLOEXEC, 3);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		rf_fd_done(&copy);
	while (dir && found < 0 && (task = readdir(dir))) {
		if (task->d_name[0] != '.')
			found = openat(tasks, task->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (found >= 0 && !read_status(found, text, size))
			rf_fd_done(&found);
	}
	if (dir)
		closedir(dir);
	*ret_living = found;
	return found >= 0;
}

/* The children of one thread, however many: the list is longer than any room that it is read into. */
static void add_listed(struct walk *walk, int tasks, const char *file)
{
	RF_AUTO_FD int list = openat(tasks, file, O_RDONLY | O_CLOEXEC);
	char text[4096];
	pid_t pid = 0;
	ssize_t len;

	while (list >= 0 && (len = read(list, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < len; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 0 && walk->count < MAX_PROCESSES)
				walk->pids[walk->count++] = pid;
			pid = 0;
		}
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
		char file[288];

		if (task->d_name[0] == '.')
			continue;
		walk->sample->pids++;
		snprintf(file, sizeof(file), "%s/children", task->d_name);
		add_listed(walk, tasks, file);
	}
	closedir(dir);
}

/*
 * Fields 14 to 17 of stat: utime, stime, and those of the children that were waited for.  They are cut
 * off at ticks of 10 ms, which many processes add up to much: a process's own time is asked for apart.
 */
static uint64_t cpu_of(pid_t pid, int process)
{
	static long ticks;
	char text[1024], *at;
	unsigned long long part[4] = { 0 };
	uint64_t own = own_time(pid), tick;

	if (!ticks)
		ticks = sysconf(_SC_CLK_TCK);
	tick = 1000000000ull / (unsigned long)ticks;
	if (rf_fd_read_text(process, "stat", text, sizeof(text)) <= 0)
		return own;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at ||
	    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &part[0], &part[1], &part[2], &part[3]) != 4)
		return own;
	return (own ? own : (part[0] + part[1]) * tick) + (part[2] + part[3]) * tick;
}

/* A process can forbid to be looked at so closely (PR_SET_DUMPABLE): all of it counts then. */
static uint64_t exact_of(int process, uint64_t resident)
{
	static const char *const keys[] = { "\nPss_Anon:", "\nPss_Shmem:" };
	char text[2048];
	uint64_t bytes = 0;

	if (rf_fd_read_text(process, "smaps_rollup", text, sizeof(text)) <= 0)
		return resident;
	for (size_t i = 0; i < RF_LEN(keys); i++) {
		const char *at = strstr(text, keys[i]);

		if (at)
			bytes += strtoull(at + strlen(keys[i]), NULL, 10) * 1024;
	}
	return bytes;
}

/* What is in files, and what the kernel keeps of each: its inode and its name. */
static uint64_t scratch_of(int process)
{
	RF_AUTO_FD int scratch = openat(process, "root/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (scratch < 0 || fstatfs(scratch, &fs) < 0)
		return 0;
	return (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
	       (fs.f_files - fs.f_ffree) * INODE_BYTES;
}

/*
 * Pages that it made dirty on a disk, less those that were thrown away before they got there.  Gives -EACCES where it does not let
 * itself be looked at; who is gone has written nothing that is not somebody else's by now.
 */
static int written_by(int process, uint64_t *ret_bytes)
{
	char text[512];
	const char *written, *cancelled;
	uint64_t out, back;
	ssize_t len = rf_fd_read_text(process, "io", text, sizeof(text));

	*ret_bytes = 0;
	if (len <= 0)
		return len == 0 || len == -ENOENT || len == -ESRCH ? 0 : -EACCES;
	written = strstr(text, "\nwrite_bytes:");
	cancelled = strstr(text, "\ncancelled_write_bytes:");
	if (!written || !cancelled)
		return -EACCES;
	out = strtoull(written + strlen("\nwrite_bytes:"), NULL, 10);
	back = strtoull(cancelled + strlen("\ncancelled_write_bytes:"), NULL, 10);
	*ret_bytes = out > back ? out - back : 0;
	return 0;
}

/* Its state, and whose child it is; or 0 if it is gone. */
static char state_of(int process, pid_t *ret_parent)
{
	char text[1024], state = 0, *at;

	if (rf_fd_read_text(process, "stat", text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	return at && sscanf(at + 1, " %c %d", &state, ret_parent) == 2 ? state : 0;
}

/* True if it wants a processor and has had none to speak of since its clock said `then_ns`. */
static bool is_starved(pid_t pid, uint64_t then_ns)
{
	RF_AUTO_FD int process = open_process(pid);
	pid_t parent;

	return process >= 0 && state_of(process, &parent) == 'R' &&
	       own_time(pid) - then_ns < STARVED_NS;
}

/*
 * True if one that has ended should have been waited for long ago, by a parent that had the time for it.  Who is
 * still about to end is not counted: the kernel is at it.
 */
static bool is_left(struct rf_sample_ended *ended, pid_t pid, int process)
{
	size_t unused = RF_SAMPLE_ENDED;
	uint64_t now = rf_loop_now();
	pid_t parent;

	if (state_of(process, &parent) != 'Z')
		return false;
	for (size_t i = 0; i < RF_SAMPLE_ENDED; i++) {
		if (ended->items[i].pid == pid) {
			ended->items[i].is_seen = true;
			return now - ended->items[i].since_ns > WAIT_NS &&
			       !is_starved(parent, ended->items[i].parent_ns);
		}
		if (ended->items[i].pid == 0)
			unused = i;
	}
	if (unused == RF_SAMPLE_ENDED)
		return true;
	ended->items[unused].pid = pid;
	ended->items[unused].since_ns = now;
	ended->items[unused].parent_ns = own_time(parent);
	ended->items[unused].is_seen = true;
	return false;
}

static void forget_waited_for(struct rf_sample_ended *ended)
{
	for (size_t i = 0; i < RF_SAMPLE_ENDED; i++) {
		if (!ended->items[i].is_seen)
			ended->items[i].pid = 0;
		ended->items[i].is_seen = false;
	}
}

/* True if it still has memory: asked once it was closed to us, because one that ends in between is closed as well. */
static bool is_living(int process)
{
	RF_AUTO_FD int living = -1;
	char status[STATUS_ROOM];

	return read_living(process, status, sizeof(status), &living);
}

/* What one process wrote.  Pid 1 of a user's box is closed to us, and reports what it waited for itself. */
static void count_written(struct rf_sample *sample, const struct rf_sample_look *look, pid_t pid,
			  int process)
{
	uint64_t bytes;

	if (written_by(process, &bytes) == 0)
		sample->written_bytes += bytes;
	else if (pid == look->init)
		sample->is_init_closed = true;
	else if (is_living(process) || is_left(look->ended, pid, process))
		sample->written_bytes += cpu_of(pid, process) * WRITES_A_NS;
}

/* Something of the kernel's is behind each descriptor; how many there are, Linux says from 6.2 on. */
static uint64_t descriptors_of(int process)
{
	struct stat st;

	return fstatat(process, "fd", &st, 0) < 0 ? 0 : (uint64_t)st.st_size * DESCRIPTOR_BYTES;
}

/* One process: what it says of itself, and who came of it. */
static void look_at(struct walk *walk, pid_t pid, const struct rf_sample_look *look)
{
	RF_AUTO_FD int process = open_process(pid);
	RF_AUTO_FD int living = -1;
	struct rf_sample *sample = walk->sample;
	char status[STATUS_ROOM];

	if (process < 0) {
		walk->memo.is_whole = false;
		return;
	}
	remember(&walk->memo, pid);
	add_children(walk, process);
	sample->cpu_ns += cpu_of(pid, process);
	if (read_living(process, status, sizeof(status), &living)) {
		walk->resident += line_of(status, "\nVmRSS:");
		sample->memory_bytes += line_of(status, "\nVmPTE:");
	} else {
		walk->memo.is_whole = false; /* it is about to be gone */
	}
	sample->memory_bytes += descriptors_of(process);
	if (look->ended)
		count_written(sample, look, pid, process);
	if (pid == look->init && look->has_scratch) {
		sample->disk_bytes = scratch_of(process);
		sample->memory_bytes += sample->disk_bytes;
	}
}

/* What the processes would give back: their own pages, and their share of those that they share. */
static uint64_t sum_exactly(const struct walk *walk)
{
	uint64_t exact = 0;

	for (size_t i = 0; i < walk->count; i++) {
		RF_AUTO_FD int process = open_process(walk->pids[i]);
		RF_AUTO_FD int living = -1;
		char status[STATUS_ROOM];

		if (process >= 0 && read_living(process, status, sizeof(status), &living))
			exact += exact_of(living >= 0 ? living : process,
					  line_of(status, "\nVmRSS:"));
	}
	return exact;
}

void rf_sample_take(const struct rf_sample_look *look, struct rf_sample *ret_sample)
{
	struct rf_sample_memo *memo = look->memo;
	struct walk *walk;
	uint64_t exact = 0;

	if (memo && is_asleep(memo)) {
		*ret_sample = memo->sample;
		return;
	}
	*ret_sample = (struct rf_sample){ 0 };
	walk = malloc(sizeof(*walk));
	if (!walk) {
		if (memo)
			*memo = (struct rf_sample_memo){ 0 };
		return;
	}
	walk->count = walk->next = 0;
	walk->resident = 0;
	walk->memo = (struct rf_sample_memo){ .is_whole = true };
	walk->sample = ret_sample;
	walk->pids[walk->count++] = look->init;
	for (; walk->next < walk->count; walk->next++)
		look_at(walk, walk->pids[walk->next], look);
	if (look->ended)
		forget_waited_for(look->ended);
	if (ret_sample->pids > 0)
		ret_sample->pids--;
	if (walk->resident + ret_sample->memory_bytes > look->exact_above)
		exact = sum_exactly(walk);
	ret_sample->memory_bytes += exact ? exact : walk->resident;
	if (memo) {
		walk->memo.is_trusted = is_same(&walk->memo, memo);
		walk->memo.sample = *ret_sample;
		*memo = walk->memo;
	}
	free(walk);
}

size_t rf_sample_list(pid_t init, pid_t **ret_pids)
{
	struct rf_sample unused = { 0 };
	struct walk *walk = malloc(sizeof(*walk));
	size_t count;

	*ret_pids = NULL;
	if (!walk)
		return 0;
	walk->sample = &unused;
	walk->pids[0] = init;
	walk->count = 1;
	for (walk->next = 0; walk->next < walk->count; walk->next++) {
		RF_AUTO_FD int process = open_process(walk->pids[walk->next]);

		if (process >= 0)
			add_children(walk, process);
	}
	count = walk->count < MAX_PROCESSES ? walk->count : 0;
	*ret_pids = count ? malloc(count * sizeof(pid_t)) : NULL;
	if (*ret_pids)
		memcpy(*ret_pids, walk->pids, count * sizeof(pid_t));
	free(walk);
	return *ret_pids ? count : 0;
}

uint64_t rf_sample_pause(uint64_t left_bytes, uint64_t age_ns, unsigned processors)
{
	uint64_t by_room = left_bytes / ((uint64_t)FASTEST * (processors ? processors : 1));
	uint64_t pause = age_ns / 16 < by_room ? age_ns / 16 : by_room;

	if (pause > RF_SAMPLE_SELDOM)
		return RF_SAMPLE_SELDOM;
	return pause > RF_SAMPLE_EVERY ? pause : RF_SAMPLE_EVERY;
}
