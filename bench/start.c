/*
 * bench/start: what a box costs over running the program bare, beside its peers.
 *
 * Every round runs each contender once, so that noise falls on all alike; what counts is the median
 * over all rounds and the ratio within one run.  A round waits for the machine to be quiet first.
 * The box is asked for its proof before anything is measured: a missing wall ends the benchmark.
 *
 *     bench/start [-n ROUNDS] RINGFORT
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 5000
#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static char ringfort[4096];

/* clang-format off */
static const char *const bare[] = { "/bin/true", NULL };
static const char *const box[] = { ringfort, "run", "--", "/bin/true", NULL };
static const char *const bwrap[] = {
	"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session",
	"--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
	"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
	"--ro-bind-try", "/etc/ssl/certs", "/etc/ssl/certs",
	"--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
	"--ro-bind-try", "/etc/nsswitch.conf", "/etc/nsswitch.conf",
	"--ro-bind-try", "/etc/fonts", "/etc/fonts", "--ro-bind-try", "/etc/mime.types", "/etc/mime.types",
	"--ro-bind", ".", "/work", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
	"--tmpfs", "/home", "--tmpfs", "/run", "--chdir", "/work", "/bin/true", NULL,
};
static const char *const bwrap_least[] = {
	"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session",
	"--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
	"/bin/true", NULL,
};

static struct contender {
	const char *name;
	const char *const *argv;
	double ms[MAX_ROUNDS];
	bool is_absent;
} contenders[] = {
	{ "bare exec",                          bare },
	{ "ringfort run, every wall",           box },
	{ "bwrap --unshare-all, comparable",    bwrap },
	{ "bwrap --unshare-all, fewest mounts", bwrap_least },
};
/* clang-format on */

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

/* Waits, at most `seconds`, for a tenth of a second in which the processors were nearly idle. */
static void wait_quiet(double seconds)
{
	double until = now_ms() + seconds * 1e3;

	while (now_ms() < until) {
		unsigned long long b0, a0, b1, a1;

		ticks(&b0, &a0);
		usleep(100000);
		ticks(&b1, &a1);
		if ((b1 - b0) * 10 <= a1 - a0)
			return;
	}
}

/* posix_spawn() wants pointers to char and changes nothing. */
static char *const *unqualified(const char *const *words)
{
	return (char *const *)(uintptr_t)words;
}

static double run_once(const char *const *argv)
{
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
					   NULL };
	double began = now_ms();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, unqualified(argv), unqualified(env)) != 0)
		return -1;
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return now_ms() - began;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ------------------------------------------------------------- what the box says of itself */

/* Runs the box with --json and gives its text. */
static const char *ask_box(void)
{
	static char text[65536];
	char command[8192];
	size_t len;
	FILE *f;

	snprintf(command, sizeof(command), "'%s' run --json -- /bin/true", ringfort);
	f = popen(command, "re");
	len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[len] = '\0';
	if (!f || pclose(f) != 0)
		die("ringfort run --json failed");
	return text;
}

static const char *const facts[] = { "descriptors",  "directory",  "identity", "capabilities",
				     "no_new_privs", "namespaces", "landlock", "seccomp",
				     "session",      "limits" };
static const char *const walls[] = { "cgroup", "namespaces", "mounts",   "network",
				     "limits", "identity",   "landlock", "seccomp" };

static void demand_every_wall(const char *text)
{
	if (!strstr(text, "\"missing\": []"))
		die("the box lacks a wall; `ringfort doctor` tells which");
	for (size_t i = 0; i < LEN(facts); i++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), "\"%s\": true", facts[i]);
		if (!strstr(text, wanted)) {
			fprintf(stderr, "bench/start: %s is not proven\n", facts[i]);
			exit(1);
		}
	}
}

static void print_shares(int rounds)
{
	static double us[LEN(walls)][MAX_ROUNDS];
	double sum = 0;

	for (int r = 0; r < rounds; r++) {
		const char *at = strstr(ask_box(), "\"walls_us\"");

		for (size_t i = 0; at && i < LEN(walls); i++) {
			char wanted[64];
			const char *value;

			snprintf(wanted, sizeof(wanted), "\"%s\": ", walls[i]);
			value = strstr(at, wanted);
			us[i][r] = value ? strtod(value + strlen(wanted), NULL) : 0;
			if (us[i][r] <= 0)
				die("a wall took no time: it was not raised");
		}
	}
	printf("\neach wall's share (median of %d, microseconds):\n", rounds);
	for (size_t i = 0; i < LEN(walls); i++) {
		qsort(us[i], (size_t)rounds, sizeof(double), by_value);
		printf("  %-12s %8.0f\n", walls[i], us[i][rounds / 2]);
		sum += us[i][rounds / 2];
	}
	printf("  %-12s %8.0f\n", "together", sum);
}

int main(int argc, char **argv)
{
	int rounds = 300, option;
	double base;

	while ((option = getopt(argc, argv, "n:")) != -1)
		rounds = option == 'n' ? atoi(optarg) : 0;
	if (optind + 1 != argc || rounds < 3 || rounds > MAX_ROUNDS)
		die("usage: bench/start [-n ROUNDS] RINGFORT");
	if (!realpath(argv[optind], ringfort))
		die("there is no such program");
	demand_every_wall(ask_box());

	for (size_t i = 0; i < LEN(contenders); i++)
		contenders[i].is_absent = run_once(contenders[i].argv) < 0;
	for (int r = 0; r < rounds; r++) {
		if (r % 20 == 0)
			wait_quiet(3);
		for (size_t i = 0; i < LEN(contenders); i++)
			if (!contenders[i].is_absent)
				contenders[i].ms[r] = run_once(contenders[i].argv);
	}
	printf("%-38s %8s %8s %8s %10s\n", "/bin/true, milliseconds", "least", "median", "p99",
	       "over bare");
	for (size_t i = 0; i < LEN(contenders); i++) {
		double *ms = contenders[i].ms;

		if (contenders[i].is_absent) {
			printf("%-38s not on this machine\n", contenders[i].name);
			continue;
		}
		qsort(ms, (size_t)rounds, sizeof(double), by_value);
		base = contenders[0].ms[rounds / 2];
		printf("%-38s %8.2f %8.2f %8.2f %10.2f\n", contenders[i].name, ms[0],
		       ms[rounds / 2], ms[rounds * 99 / 100], ms[rounds / 2] - base);
	}
	print_shares(rounds < 100 ? rounds : 100);
	return 0;
}
