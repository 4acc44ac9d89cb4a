/* How much a tenant's workspaces take together: see clerk-quota.h. */
#include "server/clerk-quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/pack.h"
#include "base/path.h"
#include "base/statedir.h"
#include "server/clerk-desk.h"

#define FOLDER     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define HELD_MOST  64          /* folders above the one that is read that stay open */
#define FILES_MOST (16u << 20) /* that are counted: more is too many whoever asks */
#define LINKS_MOST                                                                                 \
	(1u << 20) /* files with several names that are known again; others count each time */
#define FRESH_S  3 /* a sum that is no older is good for a new workspace */
#define PAUSE_NS 2000000000ull /* between two rounds, at least */
#define SHARE    10            /* and so many times what the last one took */

/* ------------------------------------------------------------- counting */

/* Files with several names that were counted: by inode, open addressing, 0 for none. */
struct links {
	uint64_t *inodes;
	size_t room, count;
};

/* One between the top and what is looked at. */
struct folder {
	DIR *dir;        /* NULL: it was closed, and is found again from the one in it */
	uint64_t device; /* which it must be then */
	uint64_t inode;
	off_t at;            /* where it is read on */
	mode_t shut, opened; /* what it had as its mode, and has while it is counted; or 0, 0 */
};

struct walk {
	struct rf_tenancy_usage usage;
	struct links links;
	struct folder *folders;
	size_t depth, room;
	int code; /* the first that went wrong */
};

static size_t place_of(const struct links *links, uint64_t inode)
{
	size_t at = (size_t)(inode * 0x9e3779b97f4a7c15u) & (links->room - 1);

	while (links->inodes[at] && links->inodes[at] != inode)
		at = (at + 1) & (links->room - 1);
	return at;
}

static bool grow(struct links *links)
{
	struct links more = { .room = links->room ? 2 * links->room : 1024 };

	if (links->count >= LINKS_MOST)
		return false;
	more.inodes = calloc(more.room, sizeof(*more.inodes));
	if (!more.inodes)
		return false;
	for (size_t i = 0; i < links->room; i++)
		if (links->inodes[i])
			more.inodes[place_of(&more, links->inodes[i])] = links->inodes[i];
	more.count = links->count;
	free(links->inodes);
	*links = more;
	return true;
}

/* True if its bytes were counted under another name.  Where that can't be known they are counted again: too much, never too little. */
static bool is_known(struct links *links, uint64_t inode)
{
	size_t at;

	if (2 * links->count >= links->room && !grow(links))
		return false;
	at = place_of(links, inode);
	if (links->inodes[at])
		return true;
	links->inodes[at] = inode;
	links->count++;
	return false;
}

static void note(struct walk *w, int code)
{
	/* Another is there by now, or none. */
	if (code != -ENOENT && code != -ENOTDIR && code != -ELOOP && w->code == 0)
		w->code = code;
}

static bool has_room(struct walk *w)
{
	size_t room = w->room ? 2 * w->room : 64;
	struct folder *more;

	if (w->depth < w->room)
		return true;
	more = reallocarray(w->folders, room, sizeof(*more));
	if (!more)
		return false;
	w->folders = more;
	w->room = room;
	return true;
}

/* What is in `fd` (takes) is looked at next.  Those above it stay open as long as there are few: how deep a box nests folders is not bounded, descriptors are. */
static void enter(struct walk *w, int fd, mode_t shut, mode_t opened)
{
	struct stat st;
	DIR *dir = fstat(fd, &st) == 0 && has_room(w) ? fdopendir(fd) : NULL;

	if (!dir) {
		note(w, -ENOMEM);
		close(fd);
		return;
	}
	if (w->depth > HELD_MOST) {
		closedir(w->folders[w->depth - 1].dir);
		w->folders[w->depth - 1].dir = NULL;
	}
	w->folders[w->depth++] = (struct folder){
		.dir = dir, .device = st.st_dev, .inode = st.st_ino, .shut = shut, .opened = opened
	};
}

/* The folder above that was closed, if this one still lies in it: else it was moved meanwhile, and what is left to look at above it waits for the next count. */
static DIR *find_above(const struct folder *above, int fd)
{
	int found = openat(fd, "..", FOLDER);
	struct stat st;
	DIR *dir = NULL;

	if (found >= 0 && fstat(found, &st) == 0 && st.st_dev == above->device &&
	    st.st_ino == above->inode && lseek(found, above->at, SEEK_SET) >= 0)
		dir = fdopendir(found);
	if (!dir)
		rf_fd_done(&found);
	return dir;
}

static void leave(struct walk *w)
{
	struct folder *folder = &w->folders[--w->depth];
	struct folder *above = w->depth > 0 ? folder - 1 : NULL;
	int fd = dirfd(folder->dir);
	struct stat now;

	if (above && !above->dir)
		above->dir = find_above(above, fd);
	if (folder->opened && fstat(fd, &now) == 0 && (now.st_mode & 07777) == folder->opened)
		fchmod(fd, folder->shut);
	closedir(folder->dir);
	while (w->depth > 0 && !w->folders[w->depth - 1].dir)
		w->depth--;
}

/* A folder may deny its owner to look into it, so that nobody would count what is there: while it is counted it does not. */
static void enter_shut(struct walk *w, int dir, const char *name)
{
	RF_AUTO_FD int there = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	mode_t shut, opened;
	char link[32];
	int fd;

	if (there < 0 || fstat(there, &st) < 0) {
		note(w, -errno);
		return;
	}
	/* By its descriptor: the name could become a link between the two. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", there);
	shut = st.st_mode & 07777;
	opened = shut | S_IRUSR | S_IXUSR;
	fd = chmod(link, opened) < 0 ? -1 : openat(there, ".", FOLDER);
	if (fd >= 0) {
		enter(w, fd, shut, opened);
		return;
	}
	note(w, -errno);
	chmod(link, shut);
}

static void look_at(struct walk *w, int dir, const char *name)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		note(w, -errno);
		return;
	}
	w->usage.files++;
	if (S_ISDIR(st.st_mode) || st.st_nlink < 2 || !is_known(&w->links, st.st_ino))
		w->usage.bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return;
	/* One that may be listed and not looked into is of no use, either. */
	fd = geteuid() == 0 || (st.st_mode & S_IXUSR) ? openat(dir, name, FOLDER) : -1;
	if (fd >= 0)
		enter(w, fd, 0, 0);
	else if (errno == EACCES || !(st.st_mode & S_IXUSR))
		enter_shut(w, dir, name);
	else
		note(w, -errno);
}

int rf_clerk_quota_count(int dir, struct rf_tenancy_usage *ret_usage)
{
	struct walk w = { 0 };
	int fd = openat(dir, ".", FOLDER);

	if (fd < 0)
		return -errno;
	enter(&w, fd, 0, 0);
	while (w.depth > 0) {
		struct folder *folder = &w.folders[w.depth - 1];
		const struct dirent *entry =
			w.usage.files < FILES_MOST ? readdir(folder->dir) : NULL;

		if (!entry) {
			leave(&w);
			continue;
		}
		folder->at = entry->d_off;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			look_at(&w, dirfd(folder->dir), entry->d_name);
	}
	free(w.folders);
	free(w.links.inodes);
	*ret_usage = w.usage;
	return w.code;
}

/* ------------------------------------------------------------- judging */

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* True if a box has a workspace of the tenant's.  Asked, and not taken: who has it never waits for us. */
static bool is_at_work(int used)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return used >= 0 && (fcntl(used, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK);
}

/* True if something was to be counted at this time, or later. */
static bool is_after(int used, const struct timespec *since)
{
	struct stat last;

	return used >= 0 &&
	       (fstat(used, &last) < 0 || last.st_mtim.tv_sec > since->tv_sec ||
		(last.st_mtim.tv_sec == since->tv_sec && last.st_mtim.tv_nsec >= since->tv_nsec));
}

/*
 * Counts all of a tenant's, and leaves the sum for the warden: as of the moment before.
 *
 * A box at work can move what was not yet counted to where nothing is counted any more.  So less than before holds when two counts have found it, one after the other, or when nobody
 * was there to move anything.
 */
static int count_all(int all, struct rf_tenancy_usage *ret_usage)
{
	RF_AUTO_FD int used = rf_tenancy_open_used(all);
	struct rf_tenancy_usage found = { 0 };
	struct rf_tenancy_sum sum = { 0 };
	struct timespec since;
	bool is_sure = !is_at_work(used);
	int code;

	clock_gettime(CLOCK_REALTIME, &since);
	code = rf_clerk_quota_count(all, &found);
	if (code < 0)
		return code;
	is_sure = is_sure && !is_at_work(used) && !is_after(used, &since);
	if (is_sure || rf_tenancy_read_usage(all, &sum) < 0)
		sum.counted = found;
	sum.held.bytes = greater(found.bytes, sum.counted.bytes);
	sum.held.files = greater(found.files, sum.counted.files);
	sum.counted = found;
	*ret_usage = sum.held;
	rf_tenancy_write_usage(all, &sum, &since);
	return 0;
}

static int judge(const struct rf_clerk_asker *who, const struct rf_tenancy_usage *usage, int code,
		 struct rf_err *err)
{
	uint64_t bytes = who->sums.storage ? who->sums.storage : RF_TENANCY_STORAGE;
	uint64_t files = who->sums.files ? who->sums.files : RF_TENANCY_FILES;

	if (code < 0)
		return rf_fail(err, code, "count what the workspaces take");
	if (usage->bytes <= bytes && usage->files <= files)
		return 0;
	rf_fail_say(err, -EDQUOT,
		    "the tenant's workspaces would take %" PRIu64 " bytes in %" PRIu64
		    " files, and may take %" PRIu64 " in %" PRIu64,
		    usage->bytes, usage->files, bytes, files);
	return rf_fail_hint(err, "delete a workspace, or files in one; a key has more with "
				 "`--storage` and `--files`");
}

int rf_clerk_quota_check(const struct rf_clerk_asker *who, int all, struct rf_err *err)
{
	struct rf_tenancy_usage usage = { 0 };
	struct rf_tenancy_sum sum;
	struct stat st;
	int code = 0;

	if (fstatat(all, RF_TENANCY_USAGE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    llabs((long long)time(NULL) - (long long)st.st_mtime) > FRESH_S ||
	    rf_tenancy_read_usage(all, &sum) < 0)
		code = count_all(all, &usage);
	else
		usage = sum.held;
	usage.files++; /* it is one more, at least */
	return judge(who, &usage, code, err);
}

/* Whether there is room for all files of a workspace once more: a checkpoint of it, or a fork. */
int rf_clerk_quota_room(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			struct rf_err *err)
{
	struct rf_tenancy_usage usage = { 0 }, more = { 0 };
	char name[RF_TENANCY_NAME];
	RF_AUTO_FD int folder = -1;
	RF_AUTO_FD int files = -1;
	RF_AUTO_FD int all = -1;
	struct rf_pack_reader in;
	int code;

	rf_pack_read_init(&in, matter->body, matter->len);
	rf_pack_read_text(&in, name, sizeof(name));
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EINVAL, "it is no name of a workspace");
	folder = rf_tenancy_open(who->tenant, name, err);
	if (folder < 0)
		return err->code;
	all = rf_tenancy_open_all(who->tenant, false);
	code = all < 0 ? all : count_all(all, &usage);
	files = rf_path_open_beneath(folder, "tree/files", O_RDONLY | O_DIRECTORY);
	if (code == 0)
		code = files < 0 ? files : rf_clerk_quota_count(files, &more);
	usage.bytes += more.bytes;
	usage.files += more.files;
	return judge(who, &usage, code, err);
}

/* ------------------------------------------------------------- again and again */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The next count finds that much less whoever is at work: so it need not be found twice. */
void rf_clerk_quota_again(int all, const struct rf_tenancy_usage *freed)
{
	RF_AUTO_FD int used = rf_tenancy_open_used(all);
	struct rf_tenancy_sum sum;
	struct stat st;

	if (freed && fstatat(all, RF_TENANCY_USAGE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    rf_tenancy_read_usage(all, &sum) == 0) {
		sum.held.bytes = less(sum.held.bytes, freed->bytes);
		sum.held.files = less(sum.held.files, freed->files);
		sum.counted.bytes = less(sum.counted.bytes, freed->bytes);
		sum.counted.files = less(sum.counted.files, freed->files);
		rf_tenancy_write_usage(all, &sum, &st.st_mtim);
	}
	rf_tenancy_touch_used(used);
}

/* True if a box has a workspace of the tenant's, or had one since it was counted. */
static bool is_due(int all, bool is_first)
{
	RF_AUTO_FD int used = openat(all, RF_TENANCY_USED, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat counted;

	if (used < 0)
		return false;
	return is_first || is_at_work(used) ||
	       fstatat(all, RF_TENANCY_USAGE, &counted, AT_SYMLINK_NOFOLLOW) < 0 ||
	       is_after(used, &counted.st_mtim);
}

static void go_round(bool is_first)
{
	RF_AUTO_FD int tenants = rf_statedir_open_in("tenants", false);
	int fd = tenants < 0 ? -1 : openat(tenants, ".", FOLDER);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		RF_AUTO_FD int all = strncmp(entry->d_name, "t-", 2) == 0
					     ? openat(tenants, entry->d_name, FOLDER)
					     : -1;
		struct rf_tenancy_usage usage;

		if (all >= 0 && is_due(all, is_first))
			count_all(all, &usage);
	}
	if (dir)
		closedir(dir);
}

static void *watch_over(void *data)
{
	(void)data;
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10); /* of this thread alone */
	for (bool is_first = true;; is_first = false) {
		uint64_t since = rf_loop_now(), pause;
		struct timespec rest;

		go_round(is_first);
		pause = SHARE * (rf_loop_now() - since);
		pause = pause < PAUSE_NS ? PAUSE_NS : pause;
		rest = (struct timespec){ (time_t)(pause / 1000000000u),
					  (long)(pause % 1000000000u) };
		nanosleep(&rest, NULL);
	}
	return NULL;
}

void rf_clerk_quota_begin(void)
{
	struct rlimit files;
	pthread_t thread;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* each who counts has some open */
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (pthread_create(&thread, NULL, watch_over, NULL) == 0)
		pthread_detach(thread);
}
