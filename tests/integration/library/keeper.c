/*
 * A program that keeps boxes by libringfort in all the ways that test_kept.py asks about.  Each mode prints what it
 * saw and ends with 0 if all that it checks by itself holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <ringfort/ringfort.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct ringfort_error error = RINGFORT_ERROR_INIT;
static struct ringfort *fort;
static char id[RINGFORT_ID_SIZE];

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s (%s; %s)\n", what, error.message, error.remedy);
	exit(1);
}

static struct ringfort_policy *policy_of(const char *text)
{
	struct ringfort_policy *policy = NULL;

	require(ringfort_policy_parse(text, strlen(text), "/", &policy, &error) == 0,
		"a policy is read");
	return policy;
}

static void keep(const char *text)
{
	struct ringfort_policy *policy = policy_of(text);

	if (!fort)
		require(ringfort_open(NULL, &fort, &error) == 0, "a fort opens");
	require(ringfort_keep(fort, policy, NULL, id, &error) == 0, "a box is kept");
	ringfort_policy_free(policy);
}

static struct ringfort_box *begin(const char *code, const char *input,
				  const struct ringfort_exec *how)
{
	const char *argv[] = { "sh", "-c", code, NULL };
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box = NULL;

	run.argv = argv;
	run.input = input;
	run.input_len = input ? strlen(input) : 0;
	require(ringfort_exec(fort, id, &run, how, &box, &error) == 0, "a program starts");
	return box;
}

static struct ringfort_result end(struct ringfort_box *box)
{
	struct ringfort_result result = RINGFORT_RESULT_INIT;

	require(ringfort_wait(box, 60000, &error) == 1, "it ends");
	require(ringfort_result(box, &result) == 0, "there is a result");
	return result;
}

/* Runs it to its end, and holds its output against what is expected. */
static struct ringfort_result say(const char *code, const char *input, const char *expected)
{
	struct ringfort_box *box = begin(code, input, NULL);
	struct ringfort_result result = end(box);

	if (expected && strcmp(result.output[0], expected) != 0) {
		fprintf(stderr, "%s: <%s> and not <%s> (%s; stderr %s)\n", code, result.output[0],
			expected, result.message, result.output[1]);
		exit(1);
	}
	result.message = result.remedy = result.id = "";
	ringfort_free(box);
	return result;
}

static void await_start(struct ringfort_box *box)
{
	for (int i = 0; i < 3000 && ringfort_number(box) == 0; i++)
		require(ringfort_wait(box, 20, &error) == 0, "it goes on");
	require(ringfort_number(box) > 0, "it was started");
}

struct seen {
	int count;
	struct ringfort_kept kept;
};

static void see(void *data, const struct ringfort_kept *kept)
{
	struct seen *seen = data;

	seen->count++;
	seen->kept = *kept;
}

static struct ringfort_kept look(void)
{
	struct seen seen = { 0 };

	require(ringfort_list(fort, id, see, &seen, &error) == 1 && seen.count == 1,
		"the box is listed");
	require(strcmp(seen.kept.id, id) == 0, "as itself");
	return seen.kept;
}

static void gone(void)
{
	struct seen seen = { 0 };

	for (int i = 0; i < 500 && ringfort_list(fort, NULL, see, &seen, &error) > 0; i++) {
		struct timespec moment = { 0, 10000000 };

		nanosleep(&moment, NULL);
	}
	require(ringfort_list(fort, NULL, see, &seen, &error) == 0, "the box is gone");
	require(ringfort_list(fort, id, see, &seen, &error) == -ENOENT, "and not known");
}

/* ------------------------------------------------------------- modes */

/* One program after another in one box, which remembers; then the end of it. */
static void programs(void)
{
	struct ringfort_result result;

	keep("limits: {time: 60s}");
	say("echo one > /tmp/x; echo $$ >&2", NULL, "");
	say("cat /tmp/x", NULL, "one\n");
	say("cat; echo end", "from stdin\n", "from stdin\nend\n");
	result = say("exit 7", NULL, "");
	require(result.status == RINGFORT_FAILED && result.exit_code == 7, "its own exit code");
	require(result.cpu_ns != RINGFORT_UNKNOWN && result.wall_ns > 0, "and what it used");
	result = say("kill -9 $$", NULL, "");
	require(result.signal == SIGKILL, "its own signal");
	for (int i = 0; i < 100; i++)
		say("echo $((1 + 1))", NULL, "2\n");
	require(look().program_count == 0, "none is left");
	require(ringfort_remove(fort, id, &error) == 0, "it is removed");
	gone();
}

/* Nothing of one program's reaches another: descriptors, directory, variables. */
static void apart(void)
{
	const char *argv[] = { "sh", "-c", "pwd; echo $X; ls /proc/self/fd | wc -l", NULL };
	const char *env[] = { "X=mine", "HOME=/tmp", NULL };
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box, *other;
	struct ringfort_result result;

	keep("limits: {time: 60s}");
	other = begin("echo go; cat; sleep 60", NULL, NULL);
	await_start(other);
	run.argv = argv;
	run.env = env;
	run.cwd = "/tmp";
	require(ringfort_exec(fort, id, &run, NULL, &box, &error) == 0, "a program starts");
	result = end(box);
	/* ls itself has 0, 1, 2 and the folder. */
	require(strcmp(result.output[0], "/tmp\nmine\n4\n") == 0, result.output[0]);
	ringfort_free(box);
	run.cwd = "/nowhere";
	require(ringfort_exec(fort, id, &run, NULL, &box, &error) == 0, "a program starts");
	result = end(box);
	require(result.status == RINGFORT_ERROR && strstr(result.message, "directory"),
		result.message);
	ringfort_free(box);
	argv[0] = "no-such-program";
	run.cwd = NULL;
	require(ringfort_exec(fort, id, &run, NULL, &box, &error) == 0, "a program starts");
	result = end(box);
	require(result.shell_code == 127 && strstr(result.message, "no-such-program"),
		result.message);
	ringfort_free(box);
	say("echo $X", NULL, "\n");
	ringfort_free(other);
	say("while pgrep -x sleep >/dev/null; do :; done; echo over", NULL, "over\n");
}

/* Two at once, signals to one of them, and time that is over. */
static void together(void)
{
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_box *first, *second, *late;
	struct ringfort_result result;

	keep("limits: {time: 60s}");
	first = begin("trap 'echo caught; exit 3' USR1; echo ready; while :; do sleep 0.05; done",
		      NULL, NULL);
	second = begin("read x; echo $x", "second\n", NULL);
	await_start(first);
	result = end(second);
	require(strcmp(result.output[0], "second\n") == 0, "the second ends by itself");
	say("while ! grep -q SigCgt:.*2 /proc/[0-9]*/status; do :; done", NULL, "");
	for (int i = 0; i < 3000 && ringfort_wait(first, 20, &error) == 0; i++)
		require(ringfort_signal(first, SIGUSR1, &error) == 0, "a signal is sent");
	result = end(first);
	require(result.exit_code == 3 && strstr(result.output[0], "caught"), "and heard");
	how.time_ms = 100;
	late = begin("sleep 60 & sleep 60", NULL, &how);
	result = end(late);
	require(result.status == RINGFORT_TIMEOUT, "a program's own time");
	say("while pgrep -x sleep >/dev/null; do :; done; echo over", NULL, "over\n");
	ringfort_free(first);
	ringfort_free(second);
	ringfort_free(late);
}

struct words {
	char text[4096];
	size_t len;
};

static void gather(void *data, int stream, const char *bytes, size_t len)
{
	struct words *words = data;

	require(stream == 1 && words->len + len < sizeof(words->text), "some words");
	memcpy(words->text + words->len, bytes, len);
	words->len += len;
	words->text[words->len] = '\0';
}

static void await(struct ringfort_box *box, const struct words *words, const char *text)
{
	for (int i = 0; i < 1500 && !strstr(words->text, text); i++)
		if (ringfort_wait(box, 20, &error) != 0)
			break;
	require(strstr(words->text, text) != NULL, words->text);
}

/* A terminal of its own, its size, and what ctrl-C does there. */
static void terminal(void)
{
	const char *argv[] = { "sh", "-c",
			       "tty; test -t 0 && stty size; trap 'stty size; echo sized' WINCH; "
			       "echo ready; while :; do if read x; then echo got $x; fi; done",
			       NULL };
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct words words = { 0 };
	struct ringfort_box *box;
	int pair[2];

	keep("limits: {time: 60s}");
	require(pipe(pair) == 0, "a pipe");
	run.argv = argv;
	run.input_fd = pair[0];
	run.on_output = gather;
	run.data = &words;
	how.has_terminal = 1;
	how.rows = 31;
	how.columns = 77;
	require(ringfort_exec(fort, id, &run, &how, &box, &error) == 0, "a program starts");
	await(box, &words, "ready");
	require(strstr(words.text, "/dev/pts/") && strstr(words.text, "31 77"), words.text);
	require(ringfort_resize(box, 40, 100, &error) == 0, "it is resized");
	require(write(pair[1], "abc\n", 4) == 4, "something is typed");
	await(box, &words, "got abc");
	await(box, &words, "40 100");
	require(write(pair[1], "\3", 1) == 1, "ctrl-C");
	require(ringfort_wait(box, 60000, &error) == 1, "ends it");
	ringfort_free(box);
	say("test -t 0 || echo none", NULL, "none\n");
}

/* What runs in the background goes on, and its end is there for who attaches. */
static void background(void)
{
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_box *box, *again;
	struct ringfort_result result;
	int number;

	keep("limits: {time: 60s}");
	how.is_background = 1;
	box = begin("while ! test -e /tmp/go; do sleep 0.01; done; exit 9", NULL, &how);
	await_start(box);
	number = ringfort_number(box);
	ringfort_free(box);
	require(look().program_count == 1 && look().programs[0] == number, "it is listed");
	require(ringfort_attach(fort, id, number, &box, &error) == 0, "it is attached to");
	await_start(box);
	require(ringfort_attach(fort, id, number, &again, &error) == 0, "a second");
	result = end(again);
	require(result.status == RINGFORT_ERROR && strstr(result.message, "has a connection"),
		"is refused");
	ringfort_free(again);
	ringfort_free(box);
	say("touch /tmp/go", NULL, "");
	for (int i = 0; i < 500 && !look().has_ended[0]; i++)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	require(ringfort_attach(fort, id, number, &box, &error) == 0, "it is attached to again");
	result = end(box);
	require(result.exit_code == 9, "and its end was kept");
	ringfort_free(box);
	require(look().program_count == 0, "once");
	require(ringfort_attach(fort, id, number, &box, &error) == 0, "a question");
	require(end(box).status == RINGFORT_ERROR, "it is not there any more");
	ringfort_free(box);
}

static unsigned long counted(void)
{
	struct ringfort_box *box = begin("cat /tmp/count 2>/dev/null; echo", NULL, NULL);
	unsigned long number = strtoul(end(box).output[0], NULL, 10);

	ringfort_free(box);
	return number;
}

/* Nothing runs while it is frozen, and nothing is started; then it goes on. */
static void frozen(void)
{
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_box *box, *refused;
	struct ringfort_result result;
	uint64_t before, after;

	keep("limits: {time: 60s}");
	how.is_background = 1;
	box = begin("i=0; while :; do i=$((i+1)); echo $i > /tmp/count; done", NULL, &how);
	await_start(box);
	while (counted() < 3)
		;
	require(ringfort_freeze(fort, id, &error) == 0, "it is frozen");
	require(look().state == RINGFORT_FROZEN, "and says so");
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL); /* who is about to stop has stopped */
	before = look().cpu_ns;
	nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
	after = look().cpu_ns;
	require(after - before < 20000000, "nothing runs in it");
	refused = begin("echo no", NULL, NULL);
	result = end(refused);
	require(result.status == RINGFORT_ERROR && strstr(result.message, "frozen"),
		result.message);
	ringfort_free(refused);
	require(ringfort_thaw(fort, id, &error) == 0, "it is thawed");
	before = counted();
	while (counted() <= before)
		;
	require(ringfort_freeze(fort, id, &error) == 0 && ringfort_remove(fort, id, &error) == 0,
		"a frozen one can be removed");
	ringfort_free(box);
	gone();
}

/* Who stops all others, the process that is to become the next program among them, does not keep pid 1 from its work. */
static void stopped(void)
{
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_box *box, *others[8];
	struct timespec began, ended;

	keep("limits: {time: 60s}");
	how.time_ms = 1000;
	box = begin("while :; do kill -s STOP -- -1; done", NULL, &how);
	await_start(box);
	for (int i = 0; i < 8; i++)
		others[i] = begin("echo", NULL, NULL);
	clock_gettime(CLOCK_MONOTONIC, &began);
	require(end(box).status == RINGFORT_TIMEOUT, "its own time is kept");
	clock_gettime(CLOCK_MONOTONIC, &ended);
	require(ended.tv_sec - began.tv_sec < 30, "long before that of the box");
	for (int i = 0; i < 8; i++)
		ringfort_free(others[i]);
	ringfort_free(box);
	say("echo again", NULL, "again\n");
	require(ringfort_remove(fort, id, &error) == 0, "it is removed");
}

/* Its time is over; or is renewed, up to what its policy gives. */
static void time_of_it(void)
{
	struct ringfort_kept kept;
	struct ringfort_box *box;
	struct ringfort_result result;

	keep("limits: {time: 400ms}");
	box = begin("sleep 60", NULL, NULL);
	result = end(box);
	require(result.status == RINGFORT_TIMEOUT, "the end of the box is the program's");
	ringfort_free(box);
	gone();
	keep("limits: {time: 10s}");
	require(ringfort_renew(fort, id, 20000, &error) == -EINVAL, "more than the policy gives");
	require(ringfort_renew(fort, id, 9000, &error) == 0, "less");
	kept = look();
	require(kept.left_ms <= 9000 && kept.left_ms > 7000, "is what is left");
	require(ringfort_renew(fort, id, 100, &error) == 0, "still less");
	gone();
}

/* Limits are the box's: for all programs in it together. */
static void limits(void)
{
	struct ringfort_box *first, *second;

	keep("limits: {time: 60s, pids: 12}");
	first = begin("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; echo; wait", NULL, NULL);
	await_start(first);
	say("while test $(pgrep -xc sleep) -lt 8; do :; done", NULL, "");
	second = begin("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", NULL, NULL);
	require(end(second).status != RINGFORT_OK, "there is no room for as many again");
	ringfort_free(first);
	ringfort_free(second);
	require(ringfort_remove(fort, id, &error) == 0, "it is removed");
	keep("limits: {time: 60s, disk: 1MiB}");
	say("head -c 900000 /dev/zero > /tmp/a", NULL, "");
	require(say("head -c 900000 /dev/zero > /tmp/b", NULL, "").status != RINGFORT_OK,
		"the disk of all is one");
}

/* The ceiling bounds what is asked for; what the policy itself names beyond it is refused. */
static void ceiling(void)
{
	struct ringfort_policy *policy = policy_of("limits: {pids: 100}");
	struct ringfort_policy *longer = policy_of("limits: {time: 60s, pids: 100}");
	struct ringfort_keep options = RINGFORT_KEEP_INIT;
	int code;

	require(ringfort_open(NULL, &fort, &error) == 0, "a fort opens");
	options.ceiling = "limits: {time: 5s}";
	require(ringfort_keep(fort, policy, &options, id, &error) == 0, "it is kept");
	require(look().left_ms <= 5000, "with the time of the ceiling");
	require(ringfort_renew(fort, id, 6000, &error) == -EINVAL, "and never more");
	require(ringfort_keep(fort, longer, &options, id, &error) == -EPERM &&
			strstr(error.message, "limits.time: 1m is beyond"),
		"more than the ceiling is told");
	options.ceiling = "limits: {time: ";
	code = ringfort_keep(fort, policy, &options, id, &error);
	require(code < 0 && strstr(error.message, "ceiling"), "a ceiling that can't be read");
	puts(error.message);
}

/* Started by another process, which is killed: the box is there, what it ran in the foreground is not. */
static void survivor(int argc, char **argv)
{
	struct ringfort_open options = RINGFORT_OPEN_INIT;
	struct ringfort_kept kept;

	options.kind = RINGFORT_STANDING;
	require(ringfort_open(&options, &fort, &error) == 0, "there is a warden");
	if (argc == 0) {
		keep("limits: {time: 60s}");
		await_start(begin("sleep 61", NULL, NULL));
		printf("%s\n", id);
		fflush(stdout);
		raise(SIGKILL);
	}
	require(strlen(argv[0]) < sizeof(id), "an id");
	strcpy(id, argv[0]);
	kept = look();
	require(kept.state == RINGFORT_RUNNING, "it stands");
	say("while pgrep -x sleep >/dev/null; do :; done; echo over", NULL, "over\n");
	require(ringfort_remove(fort, id, &error) == 0, "it is removed");
	gone();
}

/* Prints the pid of a box's first process, and stays: for who kills the warden. */
static void stay(void)
{
	struct ringfort_box *box;

	keep("limits: {time: 60s}");
	box = begin("sleep 62", NULL, NULL);
	await_start(box);
	printf("%d %d\n", ringfort_warden_pid(fort), look().pid);
	fflush(stdout);
	require(end(box).status == RINGFORT_ERROR, "the warden is gone");
	puts("gone");
}

/* Runs a line in a box beside another program, and prints what it said. */
static void attack(int argc, char **argv)
{
	struct ringfort_box *other, *box;
	struct ringfort_result result;

	require(argc == 1, "a line");
	keep("limits: {time: 60s}");
	other = begin("sleep 63", NULL, NULL);
	await_start(other);
	box = begin(argv[0], NULL, NULL);
	result = end(box);
	fputs(result.output[0], stdout);
	fputs(result.output[1], stderr);
	ringfort_free(box);
	say("echo alive", NULL, "alive\n");
	ringfort_free(other);
	require(ringfort_remove(fort, id, &error) == 0, "it is removed");
}

/* A hidden file is replaced on the host while its box is kept: the next program is not started. */
static void masks(int argc, char **argv)
{
	char text[1024], command[1024];
	struct ringfort_result result;
	struct ringfort_box *box;

	require(argc == 2, "a folder, and what replaces the file in it");
	snprintf(text, sizeof(text), "files: {read: [%s]}\nlimits: {time: 60s}", argv[0]);
	snprintf(command, sizeof(command), "cat %s/.env 2> /dev/null; echo over", argv[0]);
	keep(text);
	say(command, NULL, "over\n");
	require(system(argv[1]) == 0, "it is replaced");
	box = begin(command, NULL, NULL);
	result = end(box);
	printf("%s|%d|%s|%s\n", result.output[0], result.exit_code, result.message, result.remedy);
	ringfort_free(box);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How long it takes from asking to the end of a program that does nothing: medians, in microseconds. */
static void pace(void)
{
	static double took[500];
	const char *argv[] = { "/bin/true", NULL };
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct timespec from, to;

	keep("limits: {time: 60s}");
	run.argv = argv;
	for (int i = 0; i < 500; i++) {
		struct ringfort_box *box;

		clock_gettime(CLOCK_MONOTONIC, &from);
		require(ringfort_exec(fort, id, &run, NULL, &box, &error) == 0, "it starts");
		end(box);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ringfort_free(box);
		took[i] = (double)(to.tv_sec - from.tv_sec) * 1e6 +
			  (double)(to.tv_nsec - from.tv_nsec) / 1e3;
	}
	qsort(took, 500, sizeof(took[0]), by_size);
	printf("median %.0f us, p99 %.0f us\n", took[250], took[495]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void (*run_with)(int, char **);
	} modes[] = {
		{ "programs", programs, NULL },     { "apart", apart, NULL },
		{ "together", together, NULL },     { "terminal", terminal, NULL },
		{ "background", background, NULL }, { "frozen", frozen, NULL },
		{ "stopped", stopped, NULL },       { "time", time_of_it, NULL },
		{ "limits", limits, NULL },         { "ceiling", ceiling, NULL },
		{ "survivor", NULL, survivor },     { "stay", stay, NULL },
		{ "attack", NULL, attack },         { "pace", pace, NULL },
		{ "masks", NULL, masks },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			if (modes[i].run)
				modes[i].run();
			else
				modes[i].run_with(argc - 2, argv + 2);
			ringfort_close(fort);
			puts("done");
			return 0;
		}
	return 2;
}
