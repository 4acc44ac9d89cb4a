/* All processes of a box: see herd.h. */
#include "watch/herd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define CGROUP_ROOT  "/sys/fs/cgroup"
#define CGROUP2_TYPE 0x63677270
#define DEPTH        256        /* generations between a process and pid 1 */
#define PATIENCE     5000000ull /* nanoseconds that stopping may take at one time */

static const char *const controllers[RF_HERD_GROUPS] = {
	[RF_HERD_UNIFIED] = "",
	[RF_HERD_MEMORY] = "memory",
	[RF_HERD_PIDS] = "pids",
	[RF_HERD_CPUACCT] = "cpuacct",
};

void rf_herd_init(struct rf_herd *herd)
{
	*herd = (struct rf_herd){ .pidfd = -1 };
	for (int i = 0; i < RF_HERD_GROUPS; i++)
		herd->groups[i] = -1;
}

void rf_herd_done(struct rf_herd *herd)
{
	rf_fd_done(&herd->pidfd);
	for (int i = 0; i < RF_HERD_GROUPS; i++)
		rf_fd_done(&herd->groups[i]);
}

/* ------------------------------------------------------------- one process */

/* The state and the parent of a process; false if it is gone. */
static bool look(pid_t pid, char *ret_state, pid_t *ret_parent)
{
	char path[32], text[512];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	return at && sscanf(at + 1, " %c %d", ret_state, ret_parent) == 2;
}

/* Calls fn with the path of every thread's folder in /proc. */
static void for_threads(pid_t pid, void (*fn)(int dir, const char *name, void *data), void *data)
{
	char path[32];
	const struct dirent *task;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (task = readdir(dir)))
		if (task->d_name[0] != '.')
			fn(dirfd(dir), task->d_name, data);
	if (dir)
		closedir(dir);
}

static void see_thread(int dir, const char *name, void *data)
{
	char file[272], text[512];
	const char *at;
	bool *runs = data;

	snprintf(file, sizeof(file), "%s/stat", name);
	if (rf_fd_read_text(dir, file, text, sizeof(text)) <= 0)
		return;
	at = strrchr(text, ')');
	*runs |= at && at[1] && !strchr("TtZXD", at[2]);
}

/*
 * True if a process may do anything.  One whose first thread has ended is a zombie to look at, and its other threads
 * go on.  Who waits for the kernel, as the parent of a vfork() does, meets its signals before anything of its own.
 */
static bool is_running(pid_t pid)
{
	char state;
	pid_t parent;
	bool runs = false;

	if (!look(pid, &state, &parent))
		return false;
	if (state != 'Z')
		return !strchr("TtXD", state);
	for_threads(pid, see_thread, &runs);
	return runs;
}

static void add_turns(int dir, const char *name, void *data)
{
	static const char *const keys[] = { "\nvoluntary_ctxt_switches:",
					    "\nnonvoluntary_ctxt_switches:" };
	char file[272], text[4096];
	uint64_t *turns = data;

	snprintf(file, sizeof(file), "%s/status", name);
	if (rf_fd_read_text(dir, file, text, sizeof(text)) <= 0)
		return;
	for (size_t i = 0; i < RF_LEN(keys); i++) {
		const char *at = strstr(text, keys[i]);

		*turns += at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
	}
}

static uint64_t space_of(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/*
 * True if a process is in the box: in its namespace, or, where it shows none, a descendant of its pid 1: the box may
 * have none of its own, and a process whose first thread has ended shows none.
 */
static bool is_inside(const struct rf_herd *herd, pid_t pid)
{
	uint64_t space = herd->space ? space_of(pid) : 0;
	char state;

	if (space)
		return space == herd->space;
	for (int i = 0; i < DEPTH && pid > 1; i++) {
		if (pid == herd->init)
			return true;
		if (!look(pid, &state, &pid))
			return false;
	}
	return false;
}

static int send_signal(int pidfd, int number)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

/* Whoever has the number must be in the box while the pidfd is still its own. */
static void signal_one(const struct rf_herd *herd, pid_t pid, int number)
{
	RF_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0 && is_inside(herd, pid))
		send_signal(pidfd, number);
}

/* ------------------------------------------------------------- groups */

/* True if the comma-separated list names `word`. */
static bool names(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	for (const char *at = list, *end = list + len; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);

		if (n == word_len && memcmp(at, word, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* "4:memory:/a/ringfort-ID" is a line of a hierarchy, "0::/a/ringfort-ID" that of version 2. */
void rf_herd_path(const char *text, const char *controller, const char *box, bool is_pure,
		  char *path, size_t size)
{
	char own[64];
	int own_len = snprintf(own, sizeof(own), "/ringfort-%s", box);

	path[0] = '\0';
	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		const char *list, *at;
		size_t len, at_len;
		int n;

		end = line + strcspn(line, "\n");
		list = memchr(line, ':', (size_t)(end - line));
		at = list ? memchr(list + 1, ':', (size_t)(end - list) - 1) : NULL;
		if (!at)
			continue;
		len = (size_t)(at - ++list);
		at_len = (size_t)(end - ++at);
		if (controller[0] ? !names(list, len, controller) : len > 0)
			continue;
		/* A group that others are in, too, tells nothing of the box. */
		if (at_len < (size_t)own_len || memcmp(end - own_len, own, (size_t)own_len) != 0 ||
		    memmem(at, at_len, "/..", 3))
			return;
		n = snprintf(path, size, CGROUP_ROOT "%s%.*s%.*s",
			     controller[0] ? "/"
			     : is_pure     ? ""
					   : "/unified",
			     (int)len, list, (int)at_len, at);
		if (n < 0 || (size_t)n >= size)
			path[0] = '\0';
		return;
	}
}

static void open_groups(struct rf_herd *herd, const char *box)
{
	char name[32], text[4096], path[512];
	struct statfs fs;
	bool is_pure = statfs(CGROUP_ROOT, &fs) == 0 && fs.f_type == CGROUP2_TYPE;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)herd->init);
	if (rf_fd_read_text(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return;
	for (int i = 0; i < RF_HERD_GROUPS; i++) {
		rf_herd_path(text, controllers[i], box, is_pure, path, sizeof(path));
		if (path[0])
			herd->groups[i] = rf_fd_open(path, O_PATH | O_DIRECTORY);
	}
}

/* ------------------------------------------------------------- who it is */

/* The number behind a pidfd, in our namespace; 0 if it has none, -1 if it is dead. */
static pid_t number_of(int pidfd)
{
	char path[64], text[512];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nPid:");
	return at ? (pid_t)strtol(at + strlen("\nPid:"), NULL, 10) : 0;
}

/* True if the process is the first of a namespace other than ours. */
static bool is_first(pid_t pid, uint64_t space)
{
	char path[32], text[4096];
	const char *at, *last;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!space || space == space_of(getpid()) ||
	    rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nNSpid:");
	if (!at)
		return false;
	at++;
	last = memrchr(at, '\t', strcspn(at, "\n"));
	return last && strtol(last + 1, NULL, 10) == 1;
}

int rf_herd_open(struct rf_herd *herd, int *pidfd, pid_t parent, const char *box, bool is_lesser,
		 struct rf_err *err)
{
	pid_t pid = number_of(*pidfd);
	uint64_t space = pid > 1 ? space_of(pid) : 0;
	pid_t parent_is = 0;
	char state;

	if (pid <= 1)
		return rf_fail_say(err, -ESRCH, "LIVE: that is no process that lives");
	if (!look(pid, &state, &parent_is) || parent_is != parent ||
	    (is_lesser ? space != space_of(getpid()) : !is_first(pid, space)))
		return rf_fail_say(err, -EPERM, "LIVE: that is no box of who tells of it");
	herd->init = pid;
	open_groups(herd, box);
	if (send_signal(*pidfd, 0) < 0) /* what was looked at may have been another by then */
		return rf_fail_say(err, -ESRCH, "LIVE: the box has ended");
	herd->space = is_lesser ? 0 : space;
	herd->pidfd = rf_fd_take(pidfd);
	return 0;
}

bool rf_herd_is_alive(const struct rf_herd *herd)
{
	return herd->pidfd >= 0 && send_signal(herd->pidfd, 0) == 0;
}

bool rf_herd_is_child(const struct rf_herd *herd, pid_t parent)
{
	pid_t is;
	char state;

	return look(herd->init, &state, &is) && is == parent && rf_herd_is_alive(herd);
}

/* ------------------------------------------------------------- all of them */

/* Numbers in a text, one after the other, however long it is. */
static void add_listed(int dir, const char *file, pid_t *pids, size_t *count)
{
	RF_AUTO_FD int list = openat(dir, file, O_RDONLY | O_CLOEXEC);
	char text[4096];
	pid_t pid = 0;
	ssize_t len;

	while (list >= 0 && (len = read(list, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < len; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 0 && *count < RF_HERD_MOST)
				pids[(*count)++] = pid;
			pid = 0;
		}
}

struct listing {
	pid_t *pids;
	size_t *count;
};

static void add_children(int dir, const char *name, void *data)
{
	const struct listing *listing = data;
	char file[272];

	snprintf(file, sizeof(file), "%s/children", name);
	add_listed(dir, file, listing->pids, listing->count);
}

/* A group of the box's own has them all in one list; else they are looked for, generation by generation. */
size_t rf_herd_list(const struct rf_herd *herd, pid_t *pids)
{
	size_t count = 0;

	for (int i = 0; i < RF_HERD_GROUPS && count == 0; i++)
		if (herd->groups[i] >= 0)
			add_listed(herd->groups[i], "cgroup.procs", pids, &count);
	if (count > 0)
		return count;
	pids[count++] = herd->init;
	for (size_t next = 0; next < count; next++)
		for_threads(pids[next], add_children, &(struct listing){ pids, &count });
	return count;
}

/* ------------------------------------------------------------- signals */

/* One round: gives how many ran.  Who waits for the kernel is told, too. */
static size_t stop_round(const struct rf_herd *herd, pid_t *pids)
{
	size_t count = rf_herd_list(herd, pids), running = 0;

	for (size_t i = 0; i < count; i++) {
		char state;
		pid_t parent;
		bool runs = is_running(pids[i]);

		if (runs || (look(pids[i], &state, &parent) && state == 'D'))
			signal_one(herd, pids[i], SIGSTOP);
		running += runs;
	}
	return running;
}

static bool freeze_group(const struct rf_herd *herd, bool is_frozen)
{
	int group = herd->groups[RF_HERD_UNIFIED];

	return group >= 0 && rf_fd_write_text(group, "cgroup.freeze", is_frozen ? "1" : "0") == 0;
}

static bool is_group_frozen(const struct rf_herd *herd)
{
	char text[256];

	return rf_fd_read_text(herd->groups[RF_HERD_UNIFIED], "cgroup.events", text, sizeof(text)) >
		       0 &&
	       strstr(text, "frozen 1");
}

bool rf_herd_stop(const struct rf_herd *herd)
{
	uint64_t until = rf_loop_now() + PATIENCE;
	pid_t *pids;
	size_t running;

	if (freeze_group(herd, true))
		return is_group_frozen(herd);
	pids = calloc(RF_HERD_MOST, sizeof(*pids));
	if (!pids)
		return false;
	do
		running = stop_round(herd, pids);
	while (running > 0 && rf_loop_now() < until);
	free(pids);
	return running == 0;
}

bool rf_herd_is_stopped(const struct rf_herd *herd)
{
	pid_t *pids;
	size_t count, stopped = 0;

	if (herd->groups[RF_HERD_UNIFIED] >= 0 && is_group_frozen(herd))
		return true;
	pids = calloc(RF_HERD_MOST, sizeof(*pids));
	count = pids ? rf_herd_list(herd, pids) : 0;
	for (size_t i = 0; i < count; i++)
		stopped += !is_running(pids[i]);
	free(pids);
	return count > 0 && stopped == count;
}

uint64_t rf_herd_turns(const struct rf_herd *herd)
{
	uint64_t turns = 0;
	pid_t *pids;
	size_t count;

	if (herd->groups[RF_HERD_UNIFIED] >= 0 && is_group_frozen(herd))
		return 0;
	pids = calloc(RF_HERD_MOST, sizeof(*pids));
	count = pids ? rf_herd_list(herd, pids) : 0;
	for (size_t i = 0; i < count; i++)
		for_threads(pids[i], add_turns, &turns);
	free(pids);
	return turns;
}

static void signal_all(const struct rf_herd *herd, int number)
{
	pid_t *pids = calloc(RF_HERD_MOST, sizeof(*pids));
	size_t count = pids ? rf_herd_list(herd, pids) : 0;

	/* Pid 1 is the first of a list or close to it, and goes last. */
	while (count > 0)
		signal_one(herd, pids[--count], number);
	free(pids);
}

void rf_herd_continue(const struct rf_herd *herd)
{
	if (!freeze_group(herd, false))
		signal_all(herd, SIGCONT);
}

/* Pid 1 has to run once more to die: nobody may have put it behind all others. */
static void let_run(const struct rf_herd *herd)
{
	const struct sched_param usual = { 0 };

	if (!rf_herd_is_alive(herd))
		return;
	sched_setscheduler(herd->init, SCHED_OTHER, &usual);
	setpriority(PRIO_PROCESS, (id_t)herd->init, 0);
}

void rf_herd_kill(const struct rf_herd *herd)
{
	int group = herd->groups[RF_HERD_UNIFIED];

	if (group >= 0 && rf_fd_write_text(group, "cgroup.kill", "1") == 0)
		return;
	/* Where no namespace dies with pid 1, nobody may run while the others are killed. */
	if (!herd->space) {
		rf_herd_stop(herd);
		signal_all(herd, SIGKILL);
	}
	if (herd->pidfd >= 0)
		send_signal(herd->pidfd, SIGKILL);
	let_run(herd);
}
