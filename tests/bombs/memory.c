/* Memory that a program can touch, in every way to come by it.  The unit is a byte. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define KIB  1024ull
#define MIB  (1024 * KIB)
#define PAGE (4 * KIB)

/* Asked for page by page where it counts, so that the amount is never far from the truth. */
static void touch(char *at, uint64_t len)
{
	for (uint64_t done = 0; done < len; done += 64 * KIB) {
		bomb_take(64 * KIB);
		for (uint64_t page = 0; page < 64 * KIB; page += PAGE)
			at[done + page] = 1;
	}
}

static int map_and_touch(int flags)
{
	for (;;) {
		char *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return bomb_refused();
		touch(at, MIB);
	}
}

static int anonymous(void)
{
	return map_and_touch(MAP_PRIVATE);
}

static int shared_anonymous(void)
{
	return map_and_touch(MAP_SHARED);
}

/* As fast as memory can be had: two megabytes a fault. */
static int huge(void)
{
	for (;;) {
		uint64_t len = 64 * MIB;
		char *at = mmap(NULL, len + 2 * MIB, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return bomb_refused();
		at += 2 * MIB - (uintptr_t)at % (2 * MIB);
		madvise(at, len, MADV_HUGEPAGE);
		for (uint64_t done = 0; done < len; done += 2 * MIB) {
			bomb_take(2 * MIB);
			for (uint64_t page = 0; page < 2 * MIB; page += PAGE)
				at[done + page] = 1;
		}
	}
}

static int heap(void)
{
	for (;;) {
		char *at = sbrk((intptr_t)MIB);

		if (at == (char *)-1)
			return bomb_refused();
		touch(at, MIB);
	}
}

/* Pages of a file become the process's own when it writes to them. */
static int private_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint64_t len;

	if (fd < 0 || fstat(fd, &st) < 0)
		return bomb_refused();
	len = (uint64_t)st.st_size / (64 * KIB) * (64 * KIB);
	for (;;) {
		char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			return bomb_refused();
		touch(at, len);
	}
}

/* What the parent wrote is copied in each child that writes to it. */
static int copied(void)
{
	static char *mine;
	uint64_t len = bomb_limit / 4 / MIB * MIB;

	mine = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mine == MAP_FAILED)
		return bomb_refused();
	touch(mine, len);
	for (;;) {
		pid_t pid = fork();

		if (pid < 0)
			return bomb_refused();
		if (pid > 0)
			pause();
		touch(mine, len);
	}
}

/* Memory that stays though no process has it mapped: all but one page is unmapped again. */
static int shared_unmapped(void)
{
	for (;;) {
		char *at =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return bomb_refused();
		touch(at, MIB);
		if (munmap(at + PAGE, MIB - PAGE) < 0)
			return bomb_refused();
	}
}

/* ------------------------------------------------------------- files that live in memory */

static int fill(int fd)
{
	static char bytes[64 * KIB];

	memset(bytes, 'x', sizeof(bytes));
	for (;;) {
		bomb_take(sizeof(bytes));
		if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			return errno ? bomb_refused() : -ENOSPC;
	}
}

static int fill_in(const char *folder)
{
	int fd = bomb_file(folder);

	return fd < 0 ? fd : fill(fd);
}

static int file_in_tmp(void)
{
	return fill_in(bomb_scratch());
}

static int file_in_shm(void)
{
	return fill_in("/dev/shm");
}

static int memfd(void)
{
	int fd = memfd_create("bomb", MFD_CLOEXEC);

	return fd < 0 ? bomb_refused() : fill(fd);
}

/* Space that is claimed, and never written. */
static int allocated(void)
{
	int fd = bomb_file("/dev/shm");

	if (fd < 0)
		return fd;
	for (uint64_t at = 0;; at += MIB) {
		bomb_take(MIB);
		if (fallocate(fd, 0, (off_t)at, (off_t)MIB) < 0)
			return bomb_refused();
	}
}

/* ------------------------------------------------------------- System V */

/* Without a box, the suite runs it in an IPC namespace of its own: segments go with that. */
static int segments(bool stays_attached)
{
	for (;;) {
		int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
		char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (at == (char *)-1)
			return bomb_refused();
		touch(at, MIB);
		if (!stays_attached)
			shmdt(at);
	}
}

static int segments_attached(void)
{
	return segments(true);
}

static int segments_detached(void)
{
	return segments(false);
}

/* Lets the next process go on in its place, for a while: who looks for it finds one that is gone. */
static void hop(int milliseconds)
{
	struct timespec begin, now;
	pid_t next;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		next = fork();
		if (next > 0)
			_exit(0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (next == 0 &&
		 (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
			 milliseconds);
}

/* What is left of it belongs to a parent that sleeps for good, and takes what it can when nobody may be looking. */
static int hopping(void)
{
	pid_t child;

	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	child = fork();
	while (child > 0)
		pause();
	hop(1500);
	usleep(300000); /* as all others of the box do */
	return anonymous();
}

/* clang-format off */
const struct bomb bomb_memory[] = {
	{ "anonymous",        anonymous,        1 },
	{ "anonymous-many",   anonymous,        8 },
	{ "hopping",          hopping,          1 },
	{ "huge-pages",       huge,             1 },
	{ "huge-pages-many",  huge,             8 },
	{ "heap",             heap,             1 },
	{ "private-file",     private_file,     1 },
	{ "copy-on-write",    copied,           1 },
	{ "shared",           shared_anonymous, 1 },
	{ "shared-unmapped",  shared_unmapped,  1 },
	{ "tmp-file",         file_in_tmp,      1 },
	{ "shm-file",         file_in_shm,      1 },
	{ "shm-allocated",    allocated,        1 },
	{ "memfd",            memfd,            1 },
	{ "sysv-attached",    segments_attached, 1 },
	{ "sysv-detached",    segments_detached, 1 },
	{ NULL,               NULL,             0 },
};
/* clang-format on */
