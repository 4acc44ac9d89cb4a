/*
 * The unit test harness: see harness.h.
 *
 * Parent and child share one page, in which the child writes how far it came: an exit code alone
 * can't tell "passed" from "the code under test called exit(0)".  The child's output goes to a
 * memfd, not a pipe, so neither a chatty test nor a forgotten grandchild can block the parent.
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_OUTPUT 65536 /* bytes of a failed test's output that are shown */

struct test {
	char *name; /* whole, as it is printed */
	rf_harness_body *body;
	const void *arg;
	unsigned timeout_s;
	struct test *next;
};

/* How far a test came; it goes from the first to one of the others, once. */
enum stage {
	STAGE_RUNNING,
	STAGE_RETURNED, /* the function came to its end */
	STAGE_ENDED,    /* RF_REQUIRE ended it */
	STAGE_SKIPPED,
};

struct outcome {
	enum stage stage;
	int failures;
	char reason[256]; /* of the skip */
};

static struct test *first, **last = &first;
static struct outcome *outcome; /* shared with the child */

/* As it is printed: underscores are blanks. */
static void speak(char *name)
{
	for (; *name; name++)
		if (*name == '_')
			*name = ' ';
}

/* "test-x: a full buffer keeps all", of ".../test-x.c" and a_full_buffer_keeps_all. */
static char *whole_name(const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	char *whole;

	if (asprintf(&whole, "%.*s: %s", (int)strcspn(base, "."), base, name) < 0)
		abort();
	speak(whole);
	return whole;
}

void rf_harness_add(const char *file, const char *name, rf_harness_body *body, const void *arg,
		    unsigned timeout_s)
{
	struct test *test = malloc(sizeof(*test));

	if (!test)
		abort();
	*test = (struct test){ whole_name(file, name), body, arg, timeout_s, NULL };
	*last = test;
	last = &test->next;
}

void rf_harness_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list args;

	outcome->failures++;
	printf("%s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(" (%s)\n", cond);
}

/* Leaves without exit handlers: a test that was cut short has leaked, and that is not news. */
static void __attribute__((noreturn)) leave(enum stage stage)
{
	outcome->stage = stage;
	fflush(NULL);
	_exit(0);
}

void rf_harness_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(outcome->reason, sizeof(outcome->reason), fmt, args);
	va_end(args);
	leave(STAGE_SKIPPED);
}

void rf_harness_end(void)
{
	leave(STAGE_ENDED);
}

/* The child's life. */
static void live(const struct test *test, int output)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	setvbuf(stdout, NULL, _IOLBF, 0); /* in order with standard error, and safe from a crash */
	alarm(test->timeout_s);
	test->body(test->arg);
	alarm(0);
	outcome->stage = STAGE_RETURNED;
	exit(0); /* with exit handlers: the leak sanitizer is one */
}

/* Copies what the child said as TAP diagnostics. */
static void print_output(int output)
{
	static char text[MAX_OUTPUT];
	ssize_t len = pread(output, text, sizeof(text), 0);
	bool is_line_start = true;

	for (ssize_t i = 0; i < len; i++) {
		if (is_line_start)
			fputs("# ", stdout);
		putchar(text[i]);
		is_line_start = text[i] == '\n';
	}
	if (!is_line_start)
		putchar('\n');
	if (len == sizeof(text))
		puts("# ... (cut here)");
}

/* Says what became of a child.  True unless it failed. */
static bool report(const struct test *test, int number, int status, int output)
{
	bool is_clean = WIFEXITED(status) && WEXITSTATUS(status) == 0 && outcome->failures == 0;
	bool is_skipped = is_clean && outcome->stage == STAGE_SKIPPED;
	bool is_ok = is_skipped || (is_clean && outcome->stage == STAGE_RETURNED);

	printf("%s %d - %s", is_ok ? "ok" : "not ok", number, test->name);
	if (is_skipped)
		printf(" # SKIP %s", outcome->reason);
	putchar('\n');
	if (is_ok)
		return true;
	print_output(output);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		printf("# ended: it took longer than %u s\n", test->timeout_s);
	else if (WIFSIGNALED(status))
		printf("# killed: %s\n", strsignal(WTERMSIG(status)));
	else if (outcome->stage == STAGE_RUNNING)
		printf("# called exit(%d) before its end\n", WEXITSTATUS(status));
	else if (WEXITSTATUS(status) != 0)
		printf("# exit code %d after its end\n", WEXITSTATUS(status));
	return false;
}

static bool run(const struct test *test, int number)
{
	int output = memfd_create("test-output", MFD_CLOEXEC);
	siginfo_t info;
	int status = 0;
	bool is_ok;
	pid_t pid;

	*outcome = (struct outcome){ 0 };
	fflush(NULL);
	pid = output < 0 ? -1 : fork();
	if (pid == 0)
		live(test, output);
	if (pid < 0) {
		printf("Bail out! no process for a test: %s\n", strerror(errno));
		exit(1);
	}
	/* The dead child keeps the group's number from being reused until it is reaped. */
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	is_ok = report(test, number, status, output);
	close(output);
	return is_ok;
}

/* True if one of the words stands in the name, or if there are none. */
static bool is_wanted(const char *name, char **words)
{
	if (!*words)
		return true;
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool is_list = argc > 1 && strcmp(argv[1], "--list") == 0;
	char **words = argv + (is_list ? 2 : argc > 0);
	int count = 0, number = 0, failed = 0;

	for (char **word = words; *word; word++)
		speak(*word);
	for (const struct test *test = first; test; test = test->next) {
		count += is_wanted(test->name, words);
		if (is_list && is_wanted(test->name, words))
			puts(test->name);
	}
	if (is_list)
		return 0;
	if (count == 0 && *words) {
		fprintf(stderr, "%s: no test has such a name; --list prints them\n", argv[0]);
		return 1;
	}
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	puts("TAP version 13");
	printf("1..%d%s\n", count, count ? "" : " # SKIP nothing to run");
	for (const struct test *test = first; test; test = test->next)
		if (is_wanted(test->name, words) && !run(test, ++number))
			failed++;
	return failed > 0;
}
