/* What is known of living boxes outside of them: see record.h. */
#include "jail/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "base/rundir.h"
#include "base/statedir.h"
#include "jail/scratch.h"

/* Opens $RUN, or a folder in it, making it if need be.  Returns a descriptor or a negative errno. */
static int open_run(const char *folder)
{
	RF_AUTO_FD int run = rf_rundir_open(true);
	int dir;

	if (run < 0)
		return run;
	if (!folder)
		return rf_fd_take(&run);
	dir = openat(run, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Another launcher may have been as far: then it is there as well. */
	if (dir < 0 && errno == ENOENT && (mkdirat(run, folder, 0700) == 0 || errno == EEXIST))
		dir = openat(run, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

static int fail_run(struct rf_err *err, int code)
{
	rf_fail(err, code, "open %s",
		geteuid() == 0 ? RF_RUNDIR_OF_ROOT : "$XDG_RUNTIME_DIR/ringfort");
	return rf_fail_hint(err, "it must be a directory of yours with mode 0700");
}

int rf_record_open_run(struct rf_err *err)
{
	int run = open_run(NULL);

	return run < 0 ? fail_run(err, run) : run;
}

int rf_record_open_uids(struct rf_err *err)
{
	RF_AUTO_FD int run = open_run(NULL);
	int fd;

	if (run < 0)
		return fail_run(err, run);
	fd = openat(run, "uids", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? fail_run(err, -errno) : fd;
}

static int add_line(const struct rf_box *box, const char *what, const char *path)
{
	char line[300];
	int len = snprintf(line, sizeof(line), "%s %s\n", what, path);

	if (box->record < 0)
		return 0;
	/* Leaves errno alone: see rf_cgroup_make(). */
	return RF_KERNEL_RAW(SYS_write, box->record, (long)line, len) == len ? 0 : -EIO;
}

int rf_record_cgroup(const struct rf_box *box, const char *path)
{
	return add_line(box, "cgroup", path);
}

int rf_record_scratch(const struct rf_box *box, const char *path)
{
	return add_line(box, "scratch", path);
}

/* ------------------------------------------------------------- other boxes */

/* What a record says.  While it is looked at its lock is held, if nobody else has it. */
struct entry {
	int fd;
	char text[4096];
	bool is_dead; /* its launcher is gone */
};

static bool open_entry(int boxes, const char *name, struct entry *entry)
{
	ssize_t len;

	entry->fd = openat(boxes, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (entry->fd < 0)
		return false;
	entry->is_dead = flock(entry->fd, LOCK_EX | LOCK_NB) == 0;
	len = rf_fd_read(entry->fd, entry->text, sizeof(entry->text) - 1);
	entry->text[len < 0 ? 0 : len] = '\0';
	return true;
}

/* Calls `fn` for each record in `boxes` (takes) but `own`, until it returns false. */
static void each_entry(int boxes, const char *own,
		       bool (*fn)(int, const char *, struct entry *, void *), void *data)
{
	DIR *dir = boxes < 0 ? NULL : fdopendir(boxes);
	bool goes_on = true;
	struct dirent *found;
	struct entry entry;

	if (!dir) {
		rf_fd_done(&boxes);
		return;
	}
	while (goes_on && (found = readdir(dir))) {
		if (found->d_name[0] == '.' || strcmp(found->d_name, own) == 0 ||
		    !open_entry(boxes, found->d_name, &entry))
			continue;
		goes_on = fn(boxes, found->d_name, &entry, data);
		rf_fd_done(&entry.fd);
	}
	closedir(dir);
}

static bool count_neighbour(int boxes, const char *name, struct entry *entry, void *data)
{
	struct rf_box *box = data;

	(void)boxes;
	(void)name;
	box->has_neighbours |= !entry->is_dead;
	box->has_dead_neighbours |= entry->is_dead;
	return true;
}

/* Makes the box's file and locks it.  Returns a descriptor or a negative errno. */
static int make_locked(int boxes, const char *name)
{
	for (;;) {
		RF_AUTO_FD int fd =
			openat(boxes, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		struct stat st;

		/* Whoever sweeps may have come first, and taken it for a dead launcher's. */
		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (st.st_nlink > 0)
			return rf_fd_take(&fd);
	}
}

int rf_record_make(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int boxes = open_run("boxes");

	if (boxes == -ENOENT)
		return 0;
	if (boxes < 0)
		return fail_run(err, boxes);
	box->record = make_locked(boxes, box->id);
	if (box->record < 0) {
		rf_fail(err, box->record, "record the box");
		box->record = -1;
		return err->code;
	}
	if (!box->is_ahead) /* else see kin.h */
		each_entry(rf_fd_take(&boxes), box->id, count_neighbour, box);
	return 0;
}

struct conflict {
	pid_t pid; /* of the new box */
	const uint64_t *ns;
	char box[17];
};

/*
 * True if the process that a record names is in namespace `ns` right now.  The number alone is not
 * enough: the kernel gives a dead namespace's to a new one, while the dead box's launcher is still
 * cleaning up.
 */
bool rf_record_is_inside(long pid, int kind, uint64_t ns)
{
	static const char *const names[] = RF_NS_NAMES;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%ld/ns/%s", pid, names[kind]);
	return stat(path, &st) == 0 && st.st_ino == ns;
}

static bool has_other_namespaces(int boxes, const char *name, struct entry *entry, void *data)
{
	struct conflict *conflict = data;
	const char *at = strstr(entry->text, "ns "), *pid_at = strstr(entry->text, "pid ");
	long pid = pid_at ? strtol(pid_at + strlen("pid "), NULL, 10) : 0;

	(void)boxes;
	if (entry->is_dead || !at || pid <= 0 || pid == conflict->pid)
		return true;
	at += strlen("ns ");
	for (int i = 0; i < RF_NS_COUNT; i++) {
		char *end;
		uint64_t ns = strtoull(at, &end, 10);

		if (end == at)
			return true;
		at = end;
		if (ns != 0 && ns == conflict->ns[i] && rf_record_is_inside(pid, i, ns)) {
			snprintf(conflict->box, sizeof(conflict->box), "%s", name);
			return false;
		}
	}
	return true;
}

int rf_record_check(struct rf_box *box, const uint64_t *ns, struct rf_err *err)
{
	struct conflict conflict = { .pid = box->pid, .ns = ns };

	each_entry(open_run("boxes"), box->id, has_other_namespaces, &conflict);
	if (conflict.box[0])
		return rf_fail_say(err, -EPERM, "box %s has one of the new namespaces",
				   conflict.box);
	return 0;
}

void rf_record_started(const struct rf_box *box, const uint64_t *ns)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "pid %d\nns", box->pid);

	if (box->record < 0)
		return;
	for (int i = 0; i < RF_NS_COUNT; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %" PRIu64, ns[i]);
	len += snprintf(text + len, sizeof(text) - (size_t)len, "\n");
	rf_fd_write(box->record, text, (size_t)len);
}

void rf_record_done(struct rf_box *box)
{
	RF_AUTO_FD int boxes = -1;

	if (box->record < 0)
		return;
	boxes = open_run("boxes");
	/* A group or a folder that could not be removed is for the next start to find. */
	if (boxes >= 0 && !rf_cgroup_is_used(&box->cgroup) && !box->scratch[0])
		unlinkat(boxes, box->id, 0);
	rf_fd_done(&box->record);
}

/* What this process has swept, and nobody has asked for yet. */
static struct {
	struct rf_record_swept list[RF_RECORD_SWEPT];
	size_t count;
} swept;

static void note_swept(const struct rf_record_swept *one)
{
	for (size_t i = 0; i < swept.count; i++)
		if (strcmp(swept.list[i].box, one->box) == 0)
			return; /* one that can't be removed is found each time */
	if (swept.count < RF_RECORD_SWEPT)
		swept.list[swept.count++] = *one;
}

const char *rf_record_describe(const struct rf_record_swept *one, char *text, size_t size)
{
	snprintf(text, size, "what a killed launcher left: a record, %u cgroups, %u folders",
		 one->groups, one->folders);
	return text;
}

size_t rf_record_take_swept(struct rf_record_swept *list)
{
	size_t count = swept.count;

	memcpy(list, swept.list, count * sizeof(*list));
	swept.count = 0;
	return count;
}

static bool sweep_entry(int boxes, const char *name, struct entry *entry, void *data)
{
	struct rf_record_swept found = { 0 };
	bool is_clean = true;

	(void)data;
	if (!entry->is_dead)
		return true;
	snprintf(found.box, sizeof(found.box), "%s", name);
	for (char *line = entry->text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "cgroup /", 8) == 0) {
			found.groups++;
			is_clean &= rf_cgroup_remove(line + 7);
		}
		if (strncmp(line, "scratch /", 9) == 0) {
			found.folders++;
			is_clean &= rf_scratch_remove(line + 8);
		}
	}
	found.is_clean = is_clean;
	/* Of two that sweep at once, the one that removes it has done it. */
	if (!is_clean || unlinkat(boxes, name, 0) == 0)
		note_swept(&found);
	return true;
}

void rf_record_sweep_all(void)
{
	each_entry(open_run("boxes"), "", sweep_entry, NULL);
}

void rf_record_sweep(const struct rf_box *box)
{
	if (box->has_dead_neighbours)
		rf_record_sweep_all();
}

static bool count_living(int boxes, const char *name, struct entry *entry, void *data)
{
	(void)boxes;
	(void)name;
	*(size_t *)data += !entry->is_dead;
	return true;
}

size_t rf_record_count(void)
{
	size_t count = 0;

	each_entry(open_run("boxes"), "", count_living, &count);
	return count;
}

bool rf_record_is_ours(int fd)
{
	char link[48], path[4096], run[4096], state[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return true;
	path[len] = '\0';
	if (!rf_statedir_path(state, sizeof(state)))
		state[0] = '\0';
	if (!rf_rundir_path(run, sizeof(run)))
		run[0] = '\0';
	for (const char *const *ours =
		     (const char *const[]){ RF_RUNDIR_OF_ROOT, RF_STATEDIR_OF_ROOT, run, state,
					    NULL };
	     *ours; ours++)
		if (**ours && access(*ours, F_OK) == 0 &&
		    (rf_path_is_beneath(path, *ours) || rf_path_is_beneath(*ours, path)))
			return true;
	return false;
}
