/*
 * bench/library: what boxes cost a program that uses libringfort.
 *
 *     bench-library [OPTIONS] MODE PROGRAM ARGUMENT...
 *
 *     show     one box, and its result as JSON: whoever measures looks at its proof first
 *     times    -n boxes one after the other, -p microseconds apart: from request to result
 *     rate     -w threads for -s seconds, each asking for the next box when its last one is over
 *     hold     -n boxes at once, until standard input ends
 *
 *     -d PROGRAM  the warden's      -y POLICY  as YAML or JSON; without: the defaults
 *     -t          the user's standing warden, in the place of a private one
 *     -o          rate: one warden for all threads; else each thread has one of its own
 *
 * Some boxes are run before anything is measured, so that each warden knows what is wanted of it.  Then a
 * line with the wardens' pids comes, and a line on standard input is waited for: time to look at what
 * they hold.  After the last line it waits for the end of standard input, for the same reason.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ringfort/ringfort.h>

#define MAX_WORKERS 64
#define MAX_SECONDS 3600
#define MAX_BOXES   1000000
#define MAX_HELD    1000
#define WARM_UP     20

static struct {
	const char *warden, *policy, *mode;
	const char *const *argv;
	enum ringfort_kind kind;
	bool is_one_warden;
	int boxes, pause_us, workers, seconds;
} opt = { .mode = "", .boxes = 300, .workers = 2, .seconds = 10 };

/* One thread's: a way to a warden, and what it is asked for. */
struct seat {
	struct ringfort *fort;
	struct ringfort_policy *policy;
	pthread_t thread;
};

static struct seat seats[MAX_WORKERS];
static atomic_ulong ended[MAX_SECONDS]; /* boxes, by the second of the run */
static double began_ms;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

_Noreturn static void die(const char *what, const struct ringfort_error *error)
{
	fprintf(stderr, "bench/library: %s%s%s\n", what, error ? ": " : "",
		error ? error->message : "");
	exit(1);
}

/* ------------------------------------------------------------- seats */

static void seat_open(struct seat *seat)
{
	struct ringfort_open how = RINGFORT_OPEN_INIT;
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	bool is_joining = opt.is_one_warden && seat != seats;

	how.kind = opt.kind;
	how.warden = opt.warden;
	if (is_joining)
		seat->fort = seats[0].fort; /* which any number of threads can use */
	else if (ringfort_open(&how, &seat->fort, &error) < 0)
		die("no warden", &error);
	if (opt.policy &&
	    ringfort_policy_parse(opt.policy, strlen(opt.policy), NULL, &seat->policy, &error) < 0)
		die("policy", &error);
	if (ringfort_is_lesser(seat->fort))
		die("boxes are lesser ones here: not worth measuring", NULL);
}

static void seat_close(struct seat *seat)
{
	if (seat == seats || !opt.is_one_warden)
		ringfort_close(seat->fort);
	ringfort_policy_free(seat->policy);
}

static struct ringfort_box *start_box(const struct seat *seat, const char *const *argv)
{
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box = NULL;

	run.argv = argv;
	if (ringfort_start(seat->fort, seat->policy, &run, &box, &error) < 0)
		die("start", &error);
	return box;
}

/* Waits for its end and looks at what became of it: anything but success ends the measurement. */
static void see_end(struct ringfort_box *box)
{
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct ringfort_error error = RINGFORT_ERROR_INIT;

	if (ringfort_wait(box, 60000, &error) != 1)
		die("wait", &error);
	if (ringfort_result(box, &result) < 0 || result.status != RINGFORT_OK || result.is_lesser) {
		fprintf(stderr, "bench/library: a box ended as %s: %s\n",
			ringfort_status_name(result.status), result.message);
		exit(1);
	}
}

/* One box, from the request until nothing of it is left; gives milliseconds. */
static double run_box(const struct seat *seat, const char *const *argv)
{
	double began = now_ms();
	struct ringfort_box *box = start_box(seat, argv);
	double took;

	see_end(box);
	took = now_ms() - began;
	ringfort_free(box);
	return took;
}

/* ------------------------------------------------------------- what is measured */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void show(void)
{
	struct ringfort_box *box = start_box(&seats[0], opt.argv);
	const char *json;
	size_t len;

	see_end(box);
	json = ringfort_json(box, &len);
	if (!json)
		die("no result", NULL);
	for (size_t i = 0; i < len; i++) /* in one line, like the others' */
		putchar(json[i] == '\n' ? ' ' : json[i]);
	putchar('\n');
	ringfort_free(box);
}

static void times(void)
{
	double *ms = calloc((size_t)opt.boxes, sizeof(*ms));
	size_t n = (size_t)opt.boxes;

	if (!ms)
		die("no memory", NULL);
	for (size_t i = 0; i < n; i++) {
		if (opt.pause_us)
			usleep((useconds_t)opt.pause_us);
		ms[i] = run_box(&seats[0], opt.argv);
	}
	qsort(ms, n, sizeof(*ms), by_value);
	printf("{\"rounds\": %zu, \"least\": %.3f, \"median\": %.3f, \"p99\": %.3f}\n", n, ms[0],
	       ms[n / 2], ms[n * 99 / 100]);
	free(ms);
}

static void *work(void *data)
{
	const struct seat *seat = data;

	for (;;) {
		double second;

		run_box(seat, opt.argv);
		second = (now_ms() - began_ms) / 1e3;
		if (second >= opt.seconds)
			return NULL; /* the one that ended too late does not count */
		atomic_fetch_add(&ended[(size_t)second], 1);
	}
}

static void rate(void)
{
	unsigned long sum = 0;

	began_ms = now_ms();
	for (int i = 0; i < opt.workers; i++)
		if (pthread_create(&seats[i].thread, NULL, work, &seats[i]) != 0)
			die("no thread", NULL);
	for (int i = 0; i < opt.workers; i++)
		pthread_join(seats[i].thread, NULL);
	printf("{\"seconds\": %d, \"by_second\": [", opt.seconds);
	for (int i = 0; i < opt.seconds; i++) {
		printf("%s%lu", i ? ", " : "", ended[i]);
		sum += ended[i];
	}
	printf("], \"boxes\": %lu, \"per_second\": %.1f}\n", sum, (double)sum / opt.seconds);
}

/* The boxes stay until our caller has looked at them: it ends standard input. */
static void hold(void)
{
	static struct ringfort_box *boxes[MAX_HELD];

	if (opt.boxes > MAX_HELD)
		die("at most 1000 boxes can be held", NULL);
	for (int i = 0; i < opt.boxes; i++)
		boxes[i] = start_box(&seats[0], opt.argv);
	printf("{\"boxes\": %d}\n", opt.boxes);
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = 0; i < opt.boxes; i++)
		ringfort_free(boxes[i]);
}

/* ------------------------------------------------------------- command line */

static const struct {
	const char *name;
	void (*measure)(void);
} modes[] = { { "show", show }, { "times", times }, { "rate", rate }, { "hold", hold } };

_Noreturn static void usage(void)
{
	die("usage: bench-library [-d WARDEN] [-y POLICY] [-t] [-o] [-n BOXES] [-p MICROSECONDS] "
	    "[-w WORKERS] [-s SECONDS] show|times|rate|hold PROGRAM ...",
	    NULL);
}

static int number(const char *text, int most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 0 || value > most)
		usage();
	return (int)value;
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+d:y:ton:p:w:s:")) != -1) {
		switch (option) {
		case 'd':
			opt.warden = optarg;
			break;
		case 'y':
			opt.policy = optarg;
			break;
		case 't':
			opt.kind = RINGFORT_STANDING;
			break;
		case 'o':
			opt.is_one_warden = true;
			break;
		case 'n':
			opt.boxes = number(optarg, MAX_BOXES);
			break;
		case 'p':
			opt.pause_us = number(optarg, 999999);
			break;
		case 'w':
			opt.workers = number(optarg, MAX_WORKERS);
			break;
		case 's':
			opt.seconds = number(optarg, MAX_SECONDS);
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 2 || opt.boxes < 1 || opt.workers < 1)
		usage();
	opt.mode = argv[optind];
	opt.argv = (const char *const *)argv + optind + 1;
}

int main(int argc, char **argv)
{
	void (*measure)(void) = NULL;
	int count;

	read_options(argc, argv);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, opt.mode) == 0)
			measure = modes[i].measure;
	if (!measure)
		usage();
	count = measure == rate ? opt.workers : 1;
	for (int i = 0; i < count; i++) {
		const char *const first[] = { opt.argv[0], NULL }; /* which ends at once */

		seat_open(&seats[i]);
		for (int n = 0; n < WARM_UP; n++)
			run_box(&seats[i], first);
	}
	for (int i = 0; i < (opt.is_one_warden ? 1 : count); i++)
		printf("%s%d", i ? " " : "", ringfort_warden_pid(seats[i].fort));
	printf("\n");
	fflush(stdout);
	if (getchar() == EOF)
		return 0;
	measure();
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = count; i-- > 0;)
		seat_close(&seats[i]);
	return 0;
}
