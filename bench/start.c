/*
 * bench/start: how long a program takes from its start to its end, and how many of it a second end.
 *
 *     bench-start [-q SECONDS] CONTENDER...               the time that one run takes
 *     bench-start -s SECONDS -w WORKERS CONTENDER...      runs a second, for one contender at a time
 *     CONTENDER:  ::: [rounds=N] [rest=MS] [in=PID] PROGRAM ARGUMENT...
 *
 * Every round runs each contender once, so that noise falls on all alike; one with fewer rounds than
 * the others has them spread over the whole.  Before every twentieth round it waits for a quiet
 * machine, all in all no longer than -q says.  After a contender with rest=MS it waits so long: something
 * of that one works on when the command has ended, and the next is not to pay for it.  One with in=PID
 * runs in the mount namespace of that process, because it must not see what is mounted here.  The first
 * "{n}" in a word becomes the number of the worker, for tools that want a name for each box.  Prints a
 * line of JSON for each contender, in their order.
 *
 * In C, and with posix_spawn() of a small process: the caller's own size would else be part of what
 * is measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONTENDERS 32
#define MAX_ROUNDS     5000
#define MAX_WORDS      128
#define QUIET_EVERY    20

static struct contender {
	char **argv; /* points into main()'s, ends with NULL */
	int rounds;
	int ns;      /* the mount namespace to run in, or -1 */
	int rest_ms; /* after each run */
	double ms[MAX_ROUNDS];
	int done, failed;
} contenders[MAX_CONTENDERS];

static size_t n_contenders;
static posix_spawn_file_actions_t silence;

static int our_ns = -1;
static char cwd[4096];

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "bench/start: %s\n", what);
	exit(1);
}

/* ------------------------------------------------------------------------- a quiet machine */

/* Busy and total ticks of all processors. */
static void ticks(unsigned long long *busy, unsigned long long *all)
{
	unsigned long long v[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1, v + 2, v + 3,
			 v + 4, v + 5, v + 6, v + 7) != 8)
		die("/proc/stat can't be read");
	fclose(f);
	*busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	*all = *busy + v[3] + v[4];
}

/*
 * Waits for a tenth of a second in which the processors were nearly idle, and takes what it waited
 * from `*left_ms`.  Says whether there was one.
 */
static bool wait_quiet(double *left_ms)
{
	double began = now_ms();
	bool is_quiet = false;

	while (!is_quiet && now_ms() - began < *left_ms) {
		unsigned long long b0, a0, b1, a1;

		ticks(&b0, &a0);
		usleep(100000);
		ticks(&b1, &a1);
		is_quiet = (b1 - b0) * 10 <= a1 - a0;
	}
	*left_ms -= now_ms() - began;
	return is_quiet;
}

/* ------------------------------------------------------------------------- other mounts */

static int open_ns(const char *pid)
{
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (our_ns < 0)
		our_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (ns < 0 || our_ns < 0)
		die("a mount namespace can't be opened");
	return ns;
}

static void go(int ns)
{
	if (setns(ns, CLONE_NEWNS) < 0 || chdir(cwd) < 0)
		die("no way into a mount namespace, which needs root");
}

/* -------------------------------------------------------------------------------- one run */

/* Runs it to its end; gives the milliseconds that it took, or -1 when it did not end with 0. */
static double run_once(char *const *argv)
{
	double began = now_ms();
	int status;
	pid_t pid;

	if (!argv[0] || posix_spawn(&pid, argv[0], &silence, NULL, argv, environ) != 0)
		return -1;
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return now_ms() - began;
}

/* The same words with the worker's number in the place of "{n}". */
static void number_words(char **argv, int worker, char **ret_argv)
{
	size_t i;

	for (i = 0; argv[i] && i + 1 < MAX_WORDS; i++) {
		char *at = strstr(argv[i], "{n}");

		ret_argv[i] = argv[i];
		if (at && asprintf(&ret_argv[i], "%.*s%d%s", (int)(at - argv[i]), argv[i], worker,
				   at + 3) < 0)
			die("no memory");
	}
	ret_argv[i] = NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* -------------------------------------------------------------------------------- times */

static void run_in_round(struct contender *c, int round, int rounds)
{
	double ms;

	/* Its rounds fall evenly among all. */
	if ((long)round * c->rounds / rounds == (long)(round + 1) * c->rounds / rounds)
		return;
	if (c->ns >= 0)
		go(c->ns);
	ms = run_once(c->argv);
	if (c->ns >= 0)
		go(our_ns);
	usleep((useconds_t)c->rest_ms * 1000);
	if (ms < 0)
		c->failed++;
	else
		c->ms[c->done++] = ms;
}

static void measure_times(double quiet_ms)
{
	int rounds = 0, waits = 0, quiet = 0;

	for (size_t i = 0; i < n_contenders; i++) {
		char **words = calloc(MAX_WORDS, sizeof(*words));

		if (!words)
			die("no memory");
		number_words(contenders[i].argv, 0, words);
		contenders[i].argv = words;
		if (contenders[i].rounds > rounds)
			rounds = contenders[i].rounds;
	}
	for (int r = 0; r < rounds; r++) {
		if (r % QUIET_EVERY == 0) {
			waits++;
			quiet += wait_quiet(&quiet_ms);
		}
		for (size_t i = 0; i < n_contenders; i++)
			run_in_round(&contenders[i], r, rounds);
	}
	for (size_t i = 0; i < n_contenders; i++) {
		struct contender *c = &contenders[i];
		size_t n = (size_t)c->done;

		qsort(c->ms, n, sizeof(double), by_value);
		printf("{\"rounds\": %d, \"failed\": %d, \"least\": %.3f, \"median\": %.3f, "
		       "\"p99\": %.3f, \"quiet\": %.2f}\n",
		       c->done, c->failed, n ? c->ms[0] : 0, n ? c->ms[n / 2] : 0,
		       n ? c->ms[n * 99 / 100] : 0, (double)quiet / waits);
	}
}

/* ------------------------------------------------------------------------------ runs a second */

struct tally {
	unsigned long runs, failed;
};

static void work(struct contender *c, int worker, double until, struct tally *tally)
{
	char *words[MAX_WORDS];

	number_words(c->argv, worker, words);
	while (now_ms() < until) {
		if (run_once(words) < 0)
			tally->failed++;
		else
			tally->runs++;
	}
}

static void measure_rate(struct contender *c, int workers, double seconds)
{
	struct tally *tallies = mmap(NULL, (size_t)workers * sizeof(*tallies),
				     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double began = now_ms(), until = began + seconds * 1e3, took;
	struct tally sum = { 0 };

	if (tallies == MAP_FAILED)
		die("no memory");
	for (int w = 0; w < workers; w++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid > 0)
			continue;
		if (c->ns >= 0)
			go(c->ns);
		work(c, w, until, &tallies[w]);
		_exit(0);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
	took = (now_ms() - began) / 1e3;
	for (int w = 0; w < workers; w++) {
		sum.runs += tallies[w].runs;
		sum.failed += tallies[w].failed;
	}
	printf("{\"runs\": %lu, \"failed\": %lu, \"seconds\": %.2f, \"per_second\": %.1f}\n",
	       sum.runs, sum.failed, took, (double)sum.runs / took);
	munmap(tallies, (size_t)workers * sizeof(*tallies));
}

/* ------------------------------------------------------------------------------ command line */

static void read_contenders(char **word)
{
	while (*word) {
		struct contender *c = &contenders[n_contenders++];

		if (strcmp(*word, ":::") != 0 || n_contenders > MAX_CONTENDERS)
			die("a contender begins with \":::\", and there may be 32");
		*word++ = NULL; /* ends the words of the one before */
		c->rounds = 300;
		c->ns = -1;
		for (; *word; word++) {
			if (!strncmp(*word, "rounds=", 7))
				c->rounds = atoi(*word + 7);
			else if (!strncmp(*word, "rest=", 5))
				c->rest_ms = atoi(*word + 5);
			else if (!strncmp(*word, "in=", 3))
				c->ns = open_ns(*word + 3);
			else
				break;
		}
		if (c->rounds < 1 || c->rounds > MAX_ROUNDS || c->rest_ms < 0 || c->rest_ms > 999)
			die("from 1 to 5000 rounds, and less than a second of rest");
		c->argv = word;
		while (*word && strcmp(*word, ":::") != 0)
			word++;
		if (word == c->argv || word - c->argv >= MAX_WORDS)
			die("a contender has from 1 to 127 words");
	}
}

int main(int argc, char **argv)
{
	double quiet_s = 30, seconds = 0;
	int workers = 2, option;

	while ((option = getopt(argc, argv, "+q:s:w:")) != -1) {
		if (option == 'q')
			quiet_s = atof(optarg);
		else if (option == 's')
			seconds = atof(optarg);
		else if (option == 'w')
			workers = atoi(optarg);
		else
			die("usage: bench-start [-q SECONDS] [-s SECONDS -w WORKERS] ::: PROGRAM "
			    "...");
	}
	if (!getcwd(cwd, sizeof(cwd)))
		die("there is no current directory");
	read_contenders(argv + optind);
	if (!n_contenders || workers < 1 || workers > 256)
		die("nothing to measure");
	posix_spawn_file_actions_init(&silence);
	posix_spawn_file_actions_addopen(&silence, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&silence, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&silence, 1, 2);
	if (seconds > 0) {
		for (size_t i = 0; i < n_contenders; i++)
			measure_rate(&contenders[i], workers, seconds);
		return 0;
	}
	measure_times(quiet_s * 1e3);
	return 0;
}
