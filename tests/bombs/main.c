/* The program that sets off bombs: see bomb.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define HOLD_NS 150000000ull /* how long what was taken is kept, for those who look */

struct bomb_stamp *bomb_stamp;
uint64_t bomb_limit, bomb_cap;
const char *bomb_shown;

uint64_t bomb_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&time, NULL);
}

void bomb_take(uint64_t amount)
{
	uint64_t sum = bomb_stamp->amount += amount, now = bomb_now(), none = 0;

	bomb_stamp->last_ns = now;
	if (sum >= bomb_limit && !bomb_stamp->crossed_ns)
		__atomic_compare_exchange_n(&bomb_stamp->crossed_ns, &none, now, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (sum < bomb_cap)
		return;
	if (!bomb_stamp->beyond_ns)
		bomb_stamp->beyond_ns = now;
	for (;;)
		pause();
}

int bomb_refused(void)
{
	return -errno;
}

const char *bomb_scratch(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

int bomb_file(const char *folder)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/bomb-%d", folder, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return bomb_refused();
	unlink(path);
	return fd;
}

/* One worker: takes what it can, and keeps it. */
static void work(const struct bomb *bomb)
{
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* for runs without a box */
	code = bomb->run();
	if (!bomb_stamp->refused) {
		bomb_stamp->refused = (uint64_t)-code;
		bomb_stamp->refused_at = bomb_stamp->amount;
	}
	bomb_stamp->settled++;
	for (;;)
		pause();
}

static pid_t start_worker(const struct bomb *bomb)
{
	pid_t pid = fork();

	if (pid == 0)
		work(bomb);
	if (pid > 0)
		bomb_stamp->workers++;
	return pid;
}

/*
 * Sets it off and stays: a worker that the kernel picked out is replaced, as a bomb would.  Over
 * when CAP was reached, or when all workers were refused; whatever was taken is held for a moment.
 */
static int set_off(const struct bomb *bomb, int workers)
{
	int living = 0, status;

	for (int i = 0; i < workers; i++)
		living += start_worker(bomb) > 0;
	if (living == 0)
		return 2;
	while (!bomb_stamp->beyond_ns && bomb_stamp->settled < (uint64_t)living) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0) {
			sleep_ns(500000);
			continue;
		}
		if (!bomb_stamp->lost_ns)
			bomb_stamp->lost_ns = bomb_now();
		living -= start_worker(bomb) < 0;
		if (living == 0)
			return 2;
	}
	sleep_ns(HOLD_NS);
	if (bomb_stamp->beyond_ns) {
		printf("beyond %llu\n", (unsigned long long)bomb_stamp->amount);
		return 0;
	}
	printf("refused %s at %llu\n", strerrorname_np((int)bomb_stamp->refused),
	       (unsigned long long)bomb_stamp->refused_at);
	return 1;
}

static const struct bomb *find(const char *name)
{
	static const struct bomb *const families[] = { bomb_memory, bomb_buffers, bomb_objects,
						       bomb_files, bomb_work };

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (const struct bomb *bomb = families[i]; bomb->name; bomb++)
			if (strcmp(bomb->name, name) == 0)
				return bomb;
	return NULL;
}

/* The file that is watched from outside, and the lock that tells of the last death. */
static bool open_stamp(const char *path)
{
	int fd = open(path, O_RDWR);

	if (fd < 0 || flock(fd, LOCK_SH) < 0)
		return false;
	bomb_stamp = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return bomb_stamp != MAP_FAILED; /* and fd stays open, in every child */
}

int main(int argc, char **argv)
{
	const struct bomb *bomb;

	if (argc > 1 && strcmp(argv[1], "neighbour") == 0)
		return bomb_neighbour(argc > 2 ? atoi(argv[2]) : 0);
	bomb = argc > 4 ? find(argv[1]) : NULL;
	if (!bomb) {
		fprintf(stderr, "usage: bomb NAME STAMP LIMIT CAP [WORKERS]\n");
		return 2;
	}
	if (!open_stamp(argv[2])) {
		perror(argv[2]);
		return 2;
	}
	bomb_shown = dirname(strdup(argv[2]));
	bomb_limit = strtoull(argv[3], NULL, 10);
	bomb_cap = strtoull(argv[4], NULL, 10);
	bomb_stamp->began_ns = bomb_now();
	return set_off(bomb, argc > 5 ? atoi(argv[5]) : bomb->workers);
}
