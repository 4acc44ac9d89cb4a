/*
 * Processes, processor time and output; and the steady work of a neighbour.  The unit is a task, a
 * nanosecond of processor time, or a byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define KIB 1024ull

static void note_refusal(void)
{
	uint64_t code = (uint64_t)errno;

	if (bomb_stamp->refused)
		return;
	bomb_stamp->refused = code;
	bomb_stamp->refused_at = bomb_stamp->amount;
}

/* ------------------------------------------------------------- tasks */

/* Every process makes processes, and tries again for ever. */
static int forks(void)
{
	while (!bomb_stamp->beyond_ns) {
		pid_t pid = fork();

		if (pid == 0)
			bomb_take(1);
		if (pid < 0)
			note_refusal();
	}
	return -EAGAIN;
}

/* Sessions of their own, whose parents are gone, and that nothing but SIGKILL ends. */
static int orphans(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid < 0) {
			note_refusal();
			usleep(1000);
		} else if (pid == 0) {
			for (int i = 1; i < 32; i++)
				signal(i, SIG_IGN);
			setsid();
			if (fork() > 0)
				_exit(0);
			bomb_take(1);
			for (;;)
				pause();
		} else {
			waitpid(pid, NULL, 0);
		}
	}
}

/* Dead children that nobody asks for. */
static int zombies(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid < 0)
			return bomb_refused();
		if (pid == 0)
			_exit(0);
		bomb_take(1);
	}
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static int make_threads(void *(*run)(void *), int count)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * KIB);
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		int code = pthread_create(&thread, &small, run, NULL);

		if (code)
			return -code;
		if (run == wait_for_ever)
			bomb_take(1);
	}
	return 0;
}

static int threads(void)
{
	return make_threads(wait_for_ever, 100000);
}

/* ------------------------------------------------------------- processor time */

static uint64_t spent(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Goes on until the deed, told of processor time in between, is stopped from outside. */
static int burn(void (*deed)(void))
{
	uint64_t before = spent(CLOCK_THREAD_CPUTIME_ID), now;

	while (!bomb_stamp->beyond_ns) {
		deed();
		now = spent(CLOCK_THREAD_CPUTIME_ID);
		if (now - before < 500000)
			continue;
		bomb_take(now - before);
		before = now;
	}
	return -EAGAIN;
}

static void count_up(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static int spin(void)
{
	return burn(count_up);
}

static void *spin_thread(void *nothing)
{
	burn(count_up);
	return nothing;
}

static int spin_threads(void)
{
	int code = make_threads(spin_thread, 64);

	if (code < 0)
		return code;
	return burn(count_up);
}

static int spin_nice(void)
{
	if (setpriority(PRIO_PROCESS, 0, -20) < 0)
		note_refusal();
	return burn(count_up);
}

static int spin_realtime(void)
{
	static const int policies[] = { SCHED_FIFO, SCHED_RR };

	for (int i = 0; i < 2; i++)
		if (sched_setscheduler(0, policies[i], &(struct sched_param){ 50 }) < 0)
			note_refusal();
	return burn(count_up);
}

static void yield(void)
{
	for (int i = 0; i < 100; i++)
		sched_yield();
}

static int spin_yield(void)
{
	return burn(yield);
}

/* Interrupts for all processors that run the same program. */
static void interrupt_others(void)
{
	for (int i = 0; i < 50; i++) {
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	}
}

static void *interrupt_thread(void *nothing)
{
	burn(interrupt_others);
	return nothing;
}

static int spin_membarrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	make_threads(interrupt_thread, 4);
	return burn(interrupt_others);
}

/* Mappings made and taken away in threads of one process: all processors must hear of each. */
static void map_and_unmap(void)
{
	for (int i = 0; i < 16; i++) {
		char *at = mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		if (at == MAP_FAILED)
			return;
		for (uint64_t page = 0; page < 64 * KIB; page += 4 * KIB)
			at[page] = 1;
		munmap(at, 64 * KIB);
	}
}

static void *map_thread(void *nothing)
{
	burn(map_and_unmap);
	return nothing;
}

static int spin_mappings(void)
{
	make_threads(map_thread, 8);
	return burn(map_and_unmap);
}

/* Processes that come and go: most of their time is the kernel's. */
static int churn(void)
{
	uint64_t before = 0;

	for (;;) {
		struct rusage all;
		uint64_t now;
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			note_refusal();
		else
			waitpid(pid, NULL, 0);
		getrusage(RUSAGE_CHILDREN, &all);
		now = spent(CLOCK_PROCESS_CPUTIME_ID) +
		      (uint64_t)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000000000u +
		      (uint64_t)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1000u;
		bomb_take(now - before);
		before = now;
	}
}

/* ------------------------------------------------------------- output */

static int flood(int first, int last)
{
	static char bytes[64 * KIB];

	memset(bytes, 'x', sizeof(bytes));
	for (;;)
		for (int fd = first; fd <= last; fd++) {
			ssize_t len = write(fd, bytes, sizeof(bytes));

			if (len < 0)
				return bomb_refused();
			bomb_take((uint64_t)len);
		}
}

static int flood_output(void)
{
	return flood(1, 1);
}

static int flood_error(void)
{
	return flood(2, 2);
}

static int flood_both(void)
{
	return flood(1, 2);
}

/* clang-format off */
const struct bomb bomb_work[] = {
	{ "forks",           forks,           1  },
	{ "orphans",         orphans,         1  },
	{ "zombies",         zombies,         1  },
	{ "threads",         threads,         1  },
	{ "spin",            spin,            32 },
	{ "spin-threads",    spin_threads,    1  },
	{ "spin-nice",       spin_nice,       32 },
	{ "spin-realtime",   spin_realtime,   32 },
	{ "spin-yield",      spin_yield,      32 },
	{ "spin-membarrier", spin_membarrier, 4  },
	{ "spin-mappings",   spin_mappings,   4  },
	{ "churn",           churn,           16 },
	{ "output",          flood_output,    1  },
	{ "errors",          flood_error,     1  },
	{ "both-outputs",    flood_both,      4  },
	{ NULL,              NULL,            0  },
};
/* clang-format on */

/* ------------------------------------------------------------- the neighbour */

/* A little of what programs do: count, take memory and give it back, ask for a file, pass bytes. */
static bool do_some_work(int pipe_in, int pipe_out)
{
	char byte = 'x';
	int fd;

	for (volatile int i = 0; i < 100000; i++)
		;
	map_and_unmap();
	for (int i = 0; i < 8; i++) {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0 || write(pipe_out, &byte, 1) != 1 || read(pipe_in, &byte, 1) != 1)
			return false;
		close(fd);
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Prints how many units a second it did, and how long the middle and the slow ones took (µs). */
int bomb_neighbour(int ms)
{
	static uint64_t took[100000];
	uint64_t began = bomb_now(), now = began, end = began + (uint64_t)ms * 1000000u;
	size_t count = 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 1;
	while (now < end && count < sizeof(took) / sizeof(took[0])) {
		uint64_t before = now;

		if (!do_some_work(ends[0], ends[1]))
			return 1;
		now = bomb_now();
		took[count++] = now - before;
	}
	qsort(took, count, sizeof(took[0]), compare);
	printf("%.1f %.1f %.1f\n", (double)count * 1e9 / (double)(now - began),
	       (double)took[count / 2] / 1e3, (double)took[count * 99 / 100] / 1e3);
	return 0;
}
