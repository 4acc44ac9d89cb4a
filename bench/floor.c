/*
 * bench/floor: what boxes cost the kernel, with nothing of Ringfort around them.
 *
 *     bench-floor [OPTIONS] MODE PROGRAM ARGUMENT...
 *
 *     once     one box, from nothing, with our standard streams: as `ringfort run` has to; ends as its program did
 *     times    -n boxes one after the other, -p microseconds apart: until pid 1 is reaped
 *     rate     -w processes for -s seconds, each making the next box when its last one is gone
 *     hold     -n boxes at once, until standard input ends
 *
 *     -l   no box has a loopback in its network namespace, as with `loopback: off`
 *     -a   times: each box stands ready when its time begins, as a warden's do; only its program is waited for
 *
 * The program is looked for in the box, which has the current directory as its own.  Talks as bench-library does: some boxes
 * first, a line with the pids of who makes them, a line of standard input waited for, a line of JSON, and then the end of
 * standard input.
 *
 * This process makes no box (but in `once`).  It stays outside to sweep up, whatever ends those that do.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor.h"

#define MAX_WORKERS 64
#define MAX_SECONDS 3600
#define MAX_BOXES   100000
#define MAX_HELD    1000
#define WARM_UP     20

static struct {
	const char *mode;
	int boxes, pause_us, workers, seconds;
	struct floor_plan plan;
} opt = { .mode = "", .boxes = 300, .workers = 2, .seconds = 10, .plan.has_loopback = true };

/* What the workers tell: memory that they share with us. */
static struct shared {
	uint64_t began_ns;
	atomic_ulong ended[MAX_SECONDS]; /* boxes, by the second of the run */
	float ms[MAX_BOXES];
	float step_us[FLOOR_STEPS][MAX_BOXES];
} * shared;

static pid_t workers[MAX_WORKERS];
static int worker_count;
static int ready[2], go[2]; /* a byte for each worker, there and back */
static int signals;

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "bench/floor: %s\n", what);
	exit(2);
}

/* ------------------------------------------------------------- in a worker */

static unsigned number; /* of the next box */

static void check_status(int status)
{
	errno = 0;
	if (status)
		floor_die("a box's program failed");
}

static void run_box(unsigned worker)
{
	struct floor_box box;

	floor_start(&box, worker, number++);
	if (opt.plan.is_ahead)
		floor_wake(&box);
	check_status(floor_wait(&box));
	floor_done(&box);
}

static void note_steps(const struct floor_box *box, uint64_t began_ns, int i)
{
	for (unsigned step = 0; floor_step(step); step++) {
		shared->step_us[step][i] = (float)(box->at_ns[step] - began_ns) / 1e3f;
		began_ns = box->at_ns[step];
	}
}

static void times(unsigned worker)
{
	for (int i = 0; i < opt.boxes; i++) {
		struct floor_box box;
		uint64_t began_ns, woken_ns;

		if (!opt.plan.is_ahead && opt.pause_us)
			usleep((useconds_t)opt.pause_us);
		began_ns = woken_ns = floor_now_ns();
		floor_start(&box, worker, number++);
		if (opt.plan.is_ahead) {
			if (opt.pause_us)
				usleep((useconds_t)opt.pause_us);
			woken_ns = floor_now_ns();
			floor_wake(&box);
		}
		check_status(floor_wait(&box));
		shared->ms[i] = (float)(floor_now_ns() - woken_ns) / 1e6f;
		floor_done(&box);
		note_steps(&box, began_ns, i);
	}
}

static void rate(unsigned worker)
{
	for (;;) {
		uint64_t second;

		run_box(worker);
		second = (floor_now_ns() - shared->began_ns) / 1000000000u;
		if (second >= (uint64_t)opt.seconds)
			return; /* the one that ended too late does not count */
		atomic_fetch_add(&shared->ended[second], 1);
	}
}

static struct floor_box held[MAX_HELD];

static void hold(unsigned worker)
{
	for (int i = 0; i < opt.boxes; i++)
		floor_start(&held[i], worker, number++);
}

static void let_go(void)
{
	for (int i = 0; i < opt.boxes; i++)
		kill(held[i].pid, SIGKILL);
	for (int i = 0; i < opt.boxes; i++) {
		floor_wait(&held[i]);
		floor_done(&held[i]);
	}
}

/* ------------------------------------------------------------- what came of it */

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void tell_times(void)
{
	size_t n = (size_t)opt.boxes;

	qsort(shared->ms, n, sizeof(float), by_value);
	printf("{\"rounds\": %zu, \"least\": %.3f, \"median\": %.3f, \"p99\": %.3f, \"steps_us\": "
	       "{",
	       n, shared->ms[0], shared->ms[n / 2], shared->ms[n * 99 / 100]);
	for (unsigned step = 0; floor_step(step); step++) {
		qsort(shared->step_us[step], n, sizeof(float), by_value);
		printf("%s\"%s\": %.1f", step ? ", " : "", floor_step(step),
		       shared->step_us[step][n / 2]);
	}
	printf("}}\n");
}

static void tell_rate(void)
{
	unsigned long sum = 0;

	printf("{\"seconds\": %d, \"by_second\": [", opt.seconds);
	for (int i = 0; i < opt.seconds; i++) {
		printf("%s%lu", i ? ", " : "", shared->ended[i]);
		sum += shared->ended[i];
	}
	printf("], \"boxes\": %lu, \"per_second\": %.1f}\n", sum, (double)sum / opt.seconds);
}

static void tell_held(void)
{
	printf("{\"boxes\": %d}\n", opt.boxes);
}

/* clang-format off */
static const struct mode {
	const char *name;
	void (*measure)(unsigned worker);
	void (*tell)(void);
	void (*after)(void); /* in the worker, once it has been told; may be NULL */
	int most;            /* boxes */
} modes[] = {
	{ "times", times, tell_times, NULL,   MAX_BOXES },
	{ "rate",  rate,  tell_rate,  NULL,   MAX_BOXES },
	{ "hold",  hold,  tell_held,  let_go, MAX_HELD  },
};
/* clang-format on */

/* ------------------------------------------------------------- workers */

_Noreturn static void work(const struct mode *mode, unsigned worker, pid_t main_pid)
{
	static const char
		*first[2]; /* a program that ends at once, in the place of one that stays */
	const char *const *argv = opt.plan.argv;
	char byte = 0;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != main_pid)
		_exit(1);
	setpgid(0, 0); /* a terminal's signals are for who sweeps up */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(ready[0]);
	close(go[1]);
	first[0] = argv[0];
	opt.plan.argv = first;
	floor_prepare(&opt.plan);
	for (int i = 0; i < WARM_UP; i++)
		run_box(worker);
	opt.plan.argv = argv;
	if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
		_exit(0);
	mode->measure(worker);
	if (write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 0 && mode->after)
		mode->after();
	_exit(0);
}

static void start_workers(const struct mode *mode)
{
	const pid_t main_pid = getpid();
	int count = mode->measure == rate ? opt.workers : 1;

	for (; worker_count < count; worker_count++) {
		pid_t pid = fork();

		if (pid == 0)
			work(mode, (unsigned)worker_count, main_pid);
		if (pid < 0)
			fail("no process");
		workers[worker_count] = pid;
	}
	close(ready[1]);
	close(go[0]);
}

/* Waits until `fd` has something to be read; false if somebody wants us to end. */
static bool await(int fd)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return !fds[1].revents;
}

static bool await_workers(void)
{
	char byte;

	for (int i = 0; i < worker_count; i++)
		if (!await(ready[0]) || read(ready[0], &byte, 1) != 1)
			return false; /* one that has ended has said why */
	return true;
}

/* Gives what a read of standard input does: 1 for a line, 0 for its end. */
static int await_input(void)
{
	char byte;

	while (await(0)) {
		ssize_t got = read(0, &byte, 1);

		if (got <= 0)
			return 0;
		if (byte == '\n')
			return 1;
	}
	return -1;
}

static bool measure(const struct mode *mode)
{
	static const char bytes[MAX_WORKERS];
	int input;

	if (!await_workers())
		return false;
	for (int i = 0; i < worker_count; i++)
		printf("%s%d", i ? " " : "", (int)workers[i]);
	printf("\n");
	fflush(stdout);
	input = await_input();
	if (input != 1)
		return input == 0;
	shared->began_ns = floor_now_ns();
	if (write(go[1], bytes, (size_t)worker_count) != worker_count || !await_workers())
		return false;
	mode->tell();
	fflush(stdout);
	while ((input = await_input()) == 1)
		;
	return input == 0;
}

static int run_workers(const struct mode *mode)
{
	bool is_well;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(ready) < 0 || pipe(go) < 0)
		fail("no memory");
	start_workers(mode);
	is_well = measure(mode);
	close(go[1]);
	for (int i = 0; i < worker_count; i++) {
		int status = 1;

		if (!is_well)
			kill(workers[i], SIGKILL);
		waitpid(workers[i], &status, 0);
		is_well = is_well && status == 0;
	}
	floor_group_sweep();
	return is_well ? 0 : 1;
}

/* ------------------------------------------------------------- command line */

static int run_once(void)
{
	struct floor_box box;
	int status = 130;

	opt.plan.is_alone = true;
	floor_prepare(&opt.plan);
	floor_start(&box, 0, 0);
	if (!await(box.pidfd))
		kill(box.pid, SIGKILL);
	status = floor_wait(&box);
	floor_done(&box);
	return status;
}

_Noreturn static void usage(void)
{
	fail("usage: bench-floor [-l] [-a] [-n BOXES] [-p MICROSECONDS] [-w WORKERS] [-s SECONDS] "
	     "once|times|rate|hold PROGRAM ...");
}

static int value(const char *text, int most)
{
	char *end;
	long found = strtol(text, &end, 10);

	if (*end || found < 0 || found > most)
		usage();
	return (int)found;
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+lan:p:w:s:")) != -1) {
		switch (option) {
		case 'l':
			opt.plan.has_loopback = false;
			break;
		case 'a':
			opt.plan.is_ahead = true;
			break;
		case 'n':
			opt.boxes = value(optarg, MAX_BOXES);
			break;
		case 'p':
			opt.pause_us = value(optarg, 999999);
			break;
		case 'w':
			opt.workers = value(optarg, MAX_WORKERS);
			break;
		case 's':
			opt.seconds = value(optarg, MAX_SECONDS);
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 2 || opt.boxes < 1 || opt.workers < 1)
		usage();
	opt.mode = argv[optind];
	opt.plan.argv = (const char *const *)argv + optind + 1;
	opt.plan.is_ahead = opt.plan.is_ahead && strcmp(opt.mode, "times") == 0;
}

static const struct mode *find_mode(void)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, opt.mode) == 0 && opt.boxes <= modes[i].most)
			return &modes[i];
	usage();
}

int main(int argc, char **argv)
{
	const struct mode *mode = NULL;
	sigset_t set;

	read_options(argc, argv);
	if (strcmp(opt.mode, "once") != 0)
		mode = find_mode();
	if (geteuid() != 0)
		fail("an ordinary user's box is made of other steps: run it as root");
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		fail("no descriptor for signals");
	floor_group_open(getpid());
	if (!mode)
		return run_once();
	floor_group_sweep();
	return run_workers(mode);
}
