/*
 * A program that uses libringfort in all the ways that test_library.py asks about.  Each mode prints
 * what it saw and ends with 0 if all that it checks by itself holds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <ringfort/ringfort.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct ringfort_error error = RINGFORT_ERROR_INIT;
static struct ringfort *fort;

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s (%s; %s)\n", what, error.message, error.remedy);
	exit(1);
}

static void open_fort(void)
{
	require(ringfort_open(NULL, &fort, &error) == 0, "a fort opens");
}

static struct ringfort_box *start(const struct ringfort_policy *policy, struct ringfort_run *run,
				  const char *code)
{
	static const char *argv[4];
	struct ringfort_box *box = NULL;

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = code;
	run->argv = argv;
	require(ringfort_start(fort, policy, run, &box, &error) == 0, "a box starts");
	return box;
}

static struct ringfort_result end(struct ringfort_box *box)
{
	struct ringfort_result result = RINGFORT_RESULT_INIT;

	require(ringfort_wait(box, 60000, &error) == 1, "it ends");
	require(ringfort_result(box, &result) == 0, "there is a result");
	return result;
}

static struct ringfort_policy *policy_of(const char *text)
{
	struct ringfort_policy *policy = NULL;

	require(ringfort_policy_parse(text, strlen(text), "/", &policy, &error) == 0,
		"a policy is read");
	return policy;
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* What a box has written so far; it is waited for as long as a busy machine takes. */
struct words {
	char text[256];
	size_t len;
};

static void gather(void *data, int stream, const char *bytes, size_t len)
{
	struct words *words = data;

	require(stream == 1 && words->len + len < sizeof(words->text), "a few words");
	memcpy(words->text + words->len, bytes, len);
	words->len += len;
}

static void await(struct ringfort_box *box, const struct words *words, const char *text)
{
	for (int i = 0; i < 3000 && strcmp(words->text, text) != 0; i++)
		require(ringfort_wait(box, 20, &error) == 0, "it goes on");
	require(strcmp(words->text, text) == 0, text);
}

/* ------------------------------------------------------------- modes */

/* Prints the document of a command under a policy, for comparison with `ringfort run --json`. */
static void json(int argc, char **argv)
{
	struct ringfort_policy *policy = policy_of(argc > 0 ? *argv++ : "");
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box;
	size_t len = 0;
	const char *text;

	open_fort();
	run.argv = (const char *const *)argv;
	run.wants_denials = 1;
	require(ringfort_start(fort, policy, &run, &box, &error) == 0, "a box starts");
	ringfort_policy_free(policy);
	require(ringfort_json(box, NULL) == NULL, "no document before the end");
	end(box);
	text = ringfort_json(box, &len);
	require(text && strlen(text) == len, "a document");
	fwrite(text, 1, len, stdout);
	ringfort_free(box);
	ringfort_close(fort);
}

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
	(void)signal;
	signals++;
}

/* Leaves nothing and changes nothing: descriptors, children, signals, mask, umask, directory. */
static void traceless(int argc, char **argv)
{
	int rounds = argc > 0 ? atoi(argv[0]) : 20, before;
	struct sigaction told = { .sa_handler = on_signal }, now, then[32];
	sigset_t mask;

	sigaction(SIGCHLD, &told, NULL);
	sigaction(SIGPIPE, &told, NULL);
	for (int i = 1; i < 32; i++)
		sigaction(i, NULL, &then[i]);
	before = count_fds();
	open_fort();
	for (int i = 0; i < rounds; i++) {
		struct ringfort_run run = RINGFORT_RUN_INIT;
		struct ringfort_result result;
		struct ringfort_box *box;

		run.input = "text";
		run.input_len = 4;
		box = start(NULL, &run, "echo out; echo err >&2; cat");
		result = end(box);
		require(strcmp(result.output[0], "out\ntext") == 0, "its output");
		puts(result.id);
		require(count_fds() > before, "it has descriptors");
		ringfort_free(box);
	}
	ringfort_close(fort);
	require(count_fds() == before, "no descriptor is left");
	require(signals == 0, "no signal came");
	require(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD, "no child is left");
	for (int i = 1; i < 32; i++)
		require(sigaction(i, NULL, &now) == 0 && now.sa_handler == then[i].sa_handler,
			"handlers are as they were");
	sigprocmask(SIG_BLOCK, NULL, &mask);
	require(!sigismember(&mask, SIGPIPE) && !sigismember(&mask, SIGCHLD),
		"the mask is as it was");
}

/* The limit on output: cut to the byte, over both streams together. */
static void limit(int argc, char **argv)
{
	struct ringfort_policy *policy = policy_of("limits: {output: 100000, time: 30s}");
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result;
	struct ringfort_box *box;

	(void)argc;
	(void)argv;
	open_fort();
	box = start(policy, &run, "echo first; echo second >&2; while :; do echo more; done");
	result = end(box);
	require(result.status == RINGFORT_OUTPUT, "the limit is the cause");
	require(result.output_len[0] + result.output_len[1] == 100000, "cut to the byte");
	require(result.is_truncated[0], "and it says so");
	puts(ringfort_json(box, NULL));
	ringfort_free(box);

	box = start(policy, &run, "head -c 99990 /dev/zero; printf 0123456789 >&2");
	result = end(box);
	require(result.status == RINGFORT_OK && result.output_len[0] == 99990 &&
			result.output_len[1] == 10 && !result.is_truncated[0],
		"exactly the limit is allowed");
	ringfort_free(box);
	ringfort_policy_free(policy);
	ringfort_close(fort);
}

static void note(void *data, int stream, const char *bytes, size_t len)
{
	size_t *counts = data;

	(void)bytes;
	counts[stream] += len;
}

/* Every way in and out. */
static void streams(int argc, char **argv)
{
	static char big[4 << 20];
	char text[64];
	size_t counts[3] = { 0 };
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_policy *policy = policy_of("limits: {output: 64M}");
	struct ringfort_box *box;
	FILE *file = tmpfile();
	int pair[2];

	(void)argc;
	(void)argv;
	memset(big, 'x', sizeof(big));
	open_fort();

	box = start(NULL, &run, "cat; echo $?"); /* no input is an end at once */
	require(strcmp(end(box).output[0], "0\n") == 0, "no input");
	ringfort_free(box);

	run.input = big; /* more than any pipe holds */
	run.input_len = sizeof(big);
	run.on_output = note;
	run.data = counts;
	box = start(policy, &run, "cat; cat /etc/hostname >&2");
	end(box);
	require(counts[1] == sizeof(big) && counts[2] > 0, "all of a big input comes back");
	ringfort_free(box);

	box = start(policy, &run, "exit 0"); /* who does not read it raises no signal */
	require(end(box).status == RINGFORT_OK, "input that nobody reads");
	ringfort_free(box);

	run = (struct ringfort_run)RINGFORT_RUN_INIT; /* from a file to a file, for both outputs */
	fputs("from a file\n", file);
	fflush(file);
	rewind(file);
	run.input_fd = fileno(file);
	run.output_fd[0] = run.output_fd[1] = fileno(file);
	box = start(NULL, &run, "cat; echo to the same >&2");
	require(end(box).output_len[0] == 0, "nothing is kept of it");
	ringfort_free(box);
	rewind(file);
	require(fgets(text, sizeof(text), file) && fgets(text, sizeof(text), file) &&
			strcmp(text, "from a file\n") == 0 && fgets(text, sizeof(text), file) &&
			strcmp(text, "to the same\n") == 0,
		"files");
	fclose(file);

	run = (struct ringfort_run)
		RINGFORT_RUN_INIT; /* through a pipe that the caller reads slowly */
	require(pipe(pair) == 0, "a pipe");
	run.output_fd[0] = pair[1];
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	box = start(policy, &run, "head -c 1000000 /dev/zero");
	close(pair[1]); /* the box has a copy */
	for (size_t got = 0; got < 1000000;) {
		ssize_t n;

		ringfort_wait(box, 5, NULL);
		n = read(pair[0], big, 20000);
		require(n > 0 || (n < 0 && errno == EAGAIN), "bytes come through the pipe");
		got += n > 0 ? (size_t)n : 0;
	}
	require(end(box).status == RINGFORT_OK, "a slow reader");
	ringfort_free(box);
	require(read(pair[0], big, 1) == 0, "and its end");
	close(pair[0]);

	require(pipe(pair) == 0, "a pipe"); /* a reader that goes away */
	run.output_fd[0] = pair[1];
	close(pair[0]);
	box = start(policy, &run, "while echo x; do :; done 2>/dev/null; exit 3");
	require(end(box).status != RINGFORT_OK, "the program learns that nobody reads");
	ringfort_free(box);
	close(pair[1]);

	require(pipe(pair) == 0, "a pipe"); /* input that comes little by little */
	run = (struct ringfort_run)RINGFORT_RUN_INIT;
	run.input_fd = pair[0];
	box = start(NULL, &run, "read a; echo $a; read b; echo $b; cat");
	for (int i = 0; i < 3; i++) {
		require(ringfort_wait(box, 50, NULL) == 0, "it waits for more");
		require(write(pair[1], "word\n", 5) == 5, "a word");
	}
	close(pair[1]);
	require(strcmp(end(box).output[0], "word\nword\nword\n") == 0, "words");
	ringfort_free(box);
	close(pair[0]);

	run.input_fd = open("/dev/null", O_RDONLY);
	box = start(NULL, &run, "cat; echo end");
	require(strcmp(end(box).output[0], "end\n") == 0, "/dev/null");
	ringfort_free(box);
	close(run.input_fd);
	ringfort_policy_free(policy);
	ringfort_close(fort);
	puts("all streams");
}

/* Time-outs, signals, kills, and boxes that are let go. */
static void ends(int argc, char **argv)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct ringfort_box *box;
	struct timespec began, now;
	struct words words = { 0 };
	char folder[4096];
	const char *env[] = { "WORD=a word", NULL };

	(void)argc;
	(void)argv;
	open_fort();
	box = start(NULL, &run, "sleep 100");
	clock_gettime(CLOCK_MONOTONIC, &began);
	require(ringfort_wait(box, 0, NULL) == 0, "no wait");
	require(ringfort_wait(box, 300, NULL) == 0, "a time-out");
	clock_gettime(CLOCK_MONOTONIC, &now);
	require((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 >= 299,
		"after the time");
	require(ringfort_result(box, &result) == -EBUSY, "no result before the end");
	require(ringfort_signal(box, 0, &error) == -EINVAL, "no such signal");
	require(ringfort_kill(box, &error) == 0 && ringfort_kill(box, &error) == 0, "killed twice");
	result = end(box);
	require(result.status == RINGFORT_KILLED && result.signal == SIGKILL &&
			result.shell_code == 137,
		"killed");
	require(ringfort_wait(box, 0, NULL) == 1 && ringfort_kill(box, NULL) == 0, "afterwards");
	ringfort_free(box);

	require(mkdir("here", 0755) == 0 || errno == EEXIST, "a folder");
	run.cwd = realpath("here", folder);
	box = start(NULL, &run, "pwd");
	require(strncmp(end(box).output[0], folder, strlen(folder)) == 0, "the working directory");
	ringfort_free(box);
	run.cwd = NULL;

	run.env = env;
	run.on_output = gather;
	run.data = &words;
	box = start(NULL, &run, "trap 'exit 9' USR1; echo $WORD; while :; do sleep 0.05; done");
	await(box, &words, "a word\n");
	require(ringfort_signal(box, SIGUSR1, &error) == 0, "a signal");
	require(end(box).exit_code == 9, "it was heard");
	ringfort_free(box);
	run.env = NULL;

	memset(&words, 0, sizeof(words));
	box = start(NULL, &run, "echo soon; exec sleep 1000.25");
	await(box, &words, "soon\n");
	ringfort_free(box); /* and is killed: the test looks for it */
	run.on_output = NULL;

	box = start(NULL, &run, "sleep 0.3; echo still there");
	ringfort_close(fort);
	require(strcmp(end(box).output[0], "still there\n") == 0, "a box outlives its fort");
	ringfort_free(box);
	puts("all ends");
}

/* What is wrong is said at once. */
static void mistakes(int argc, char **argv)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_open options = RINGFORT_OPEN_INIT;
	struct ringfort_policy *policy = NULL;
	struct ringfort_box *box = NULL;
	const char *none[] = { NULL }, *command[] = { "true", NULL }, *bad[] = { "no value", NULL };
	const char **many = calloc(5001, sizeof(*many));
	char folder[4096], path[4200];
	FILE *file;
	struct {
		const char *text, *message;
		int line;
	} texts[] = {
		{ "limits: {memory: lots}", "memory", 1 },
		{ "files:\n  reed: [/srv]\n", "reed", 2 },
		{ "extends: [nowhere]\n", "nowhere", 1 },
		{ "extends: [./file.yaml]\n", "file.yaml", 1 },
		{ "a: [", "", 1 },
	};

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		require(ringfort_policy_parse(texts[i].text, strlen(texts[i].text), NULL, &policy,
					      &error) < 0,
			texts[i].text);
		require(strstr(error.message, texts[i].message) && error.line == texts[i].line &&
				error.code < 0,
			texts[i].text);
	}
	require(ringfort_policy_parse("", 0, "relative", &policy, &error) == -EINVAL, "a folder");
	require(ringfort_policy_parse("", 0, NULL, &policy, NULL) == 0 &&
			strstr(ringfort_policy_text(policy), "limits"),
		"an empty policy is the default");
	options.warden = "/nowhere/warden";
	require(ringfort_open(&options, &fort, &error) == -ENOENT && error.remedy[0], "no warden");
	options.warden = "/bin/true";
	require(ringfort_open(&options, &fort, &error) < 0, "no warden at all");
	file = fopen("mute", "w");
	fputs("#!/bin/sh\nsleep 1\n", file);
	fclose(file);
	require(chmod("mute", 0755) == 0, "a warden that says nothing");
	options.warden = "./mute";
	require(ringfort_open(&options, &fort, &error) < 0, "a path must be absolute");
	options.warden = path;
	snprintf(path, sizeof(path), "%s/mute", getcwd(folder, sizeof(folder)));
	options.timeout_ms = 200;
	require(ringfort_open(&options, &fort, &error) == -ETIMEDOUT, "nobody answers");
	options.size = 4;
	require(ringfort_open(&options, &fort, &error) == -EINVAL, "a struct that is too small");
	open_fort();
	run.argv = none;
	require(ringfort_start(fort, policy, &run, &box, &error) == -EINVAL, "no program");
	run.argv = command;
	run.env = bad;
	require(ringfort_start(fort, policy, &run, &box, &error) == -EINVAL, "no variable");
	run.env = NULL;
	run.input_fd = 999;
	require(ringfort_start(fort, policy, &run, &box, &error) == -EBADF, "no descriptor");
	run.input = "both";
	require(ringfort_start(fort, policy, &run, &box, &error) == -EINVAL, "two inputs");
	run = (struct ringfort_run)RINGFORT_RUN_INIT;
	for (int i = 0; i < 5000; i++)
		many[i] = "x";
	run.argv = many;
	require(ringfort_start(fort, policy, &run, &box, &error) == -E2BIG, "too many arguments");
	run.size = 8;
	require(ringfort_start(fort, policy, &run, &box, &error) == -EINVAL, "a small struct");
	require(ringfort_start(fort, policy, NULL, &box, &error) == -EINVAL, "no struct");
	free(many);
	ringfort_policy_free(policy);
	ringfort_policy_free(NULL);
	ringfort_free(NULL);
	ringfort_close(fort);
	ringfort_close(NULL);
	puts("all mistakes");
}

/* Where descriptors run out, whatever was begun is undone. */
static void scarce(int argc, char **argv)
{
	struct rlimit before, few;
	int count, failed = 0, started = 0;

	(void)argc;
	(void)argv;
	open_fort();
	getrlimit(RLIMIT_NOFILE, &before);
	count = count_fds();
	for (int more = 0; more < 16; more++) {
		const char *command[] = { "true", NULL };
		struct ringfort_run run = RINGFORT_RUN_INIT;
		struct ringfort_box *box = NULL;
		int code;

		few = before;
		few.rlim_cur =
			(rlim_t)count - 3 + (rlim_t)more; /* not ".", ".." and the folder's own */
		run.argv = command;
		run.input_fd = 0;
		run.output_fd[0] = 1;
		setrlimit(RLIMIT_NOFILE, &few);
		code = ringfort_start(fort, NULL, &run, &box, &error);
		setrlimit(RLIMIT_NOFILE, &before);
		if (code == 0) {
			started++;
			require(end(box).status == RINGFORT_OK, "it runs");
			ringfort_free(box);
		} else {
			failed++;
			require(code == -EMFILE && error.message[0], "it says why");
		}
		require(count_fds() == count, "no descriptor is left");
	}
	ringfort_close(fort);
	require(failed > 5 && started > 2, "both ways");
	puts("both");
}

/* A warden that is killed takes its boxes along, and says so. */
static void murder(int argc, char **argv)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box, *other = NULL;
	struct ringfort_result result;
	struct words words = { 0 };
	int code;

	(void)argc;
	(void)argv;
	open_fort();
	run.on_output = gather;
	run.data = &words;
	box = start(NULL, &run, "echo before; exec sleep 1000.75");
	await(box, &words, "before\n");
	require(kill(ringfort_warden_pid(fort), SIGKILL) == 0, "the warden is killed");
	result = end(box);
	require(result.status == RINGFORT_ERROR && strstr(result.message, "warden has ended"),
		"it is told");
	require(strstr(ringfort_json(box, NULL), "\"status\": \"error\"") != NULL, "a document");
	/* Who dies lets go of one connection after the other: a box may still be asked for, in vain. */
	while ((code = ringfort_start(fort, NULL, &run, &other, &error)) == 0) {
		require(end(other).status == RINGFORT_ERROR, "no further box");
		ringfort_free(other);
	}
	require(code == -ECONNRESET && error.remedy[0], "no further box is asked for");
	ringfort_free(box);
	ringfort_close(fort);
	puts("told");
}

/* A child that is forked has its copies, and ends without any effect. */
static void forked(int argc, char **argv)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *box;
	int status;

	(void)argc;
	(void)argv;
	open_fort();
	box = start(NULL, &run, "sleep 0.5; echo whole");
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0) {
			if (i == 0)
				_exit(0);
			ringfort_free(box);
			ringfort_close(fort);
			_exit(0);
		}
		require(waitpid(child, &status, 0) == child && status == 0, "a child");
	}
	require(strcmp(end(box).output[0], "whole\n") == 0, "the parent's box is whole");
	ringfort_free(box);
	box = start(NULL, &run, "echo again");
	require(strcmp(end(box).output[0], "again\n") == 0, "and its fort");
	ringfort_free(box);
	ringfort_close(fort);
	puts("whole");
}

/* Threads that start, wait and kill at once, with stacks as small as they may be. */
static void *hurry(void *data)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	const char *argv[] = { "sh", "-c", data ? "echo $((6 * 7))" : "sleep 100", NULL };
	intptr_t good = 0;

	for (int i = 0; i < 4; i++) {
		struct ringfort_error own = RINGFORT_ERROR_INIT;
		struct ringfort_result result = RINGFORT_RESULT_INIT;
		struct ringfort_box *box;
		int is_good = 0;

		run.argv = argv;
		if (ringfort_start(fort, NULL, &run, &box, &own) < 0) {
			fprintf(stderr, "no start: %s\n", own.message);
			break;
		}
		if (!data) {
			ringfort_wait(box, 20, NULL);
			ringfort_kill(box, NULL);
		}
		if (ringfort_wait(box, 60000, &own) == 1 && ringfort_result(box, &result) == 0)
			is_good = data ? strcmp(result.output[0], "42\n") == 0
				       : result.status == RINGFORT_KILLED;
		if (!is_good)
			fprintf(stderr, "%s: %s; %s\n", ringfort_status_name(result.status),
				result.message, own.message);
		good += is_good;
		ringfort_free(box);
	}
	return (void *)good;
}

static void threads(int argc, char **argv)
{
	enum {
		COUNT = 16
	};
	pthread_t all[COUNT];
	pthread_attr_t small;
	intptr_t good = 0;

	(void)argc;
	(void)argv;
	open_fort();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (size_t i = 0; i < COUNT; i++)
		require(pthread_create(&all[i], &small, hurry, (void *)(i % 2)) == 0, "a thread");
	for (size_t i = 0; i < COUNT; i++) {
		void *done;

		pthread_join(all[i], &done);
		good += (intptr_t)done;
	}
	ringfort_close(fort);
	require(good == COUNT * 4, "all of them are right");
	puts("64 boxes");
}

/* The user's standing warden. */
static void standing(int argc, char **argv)
{
	struct ringfort_open options = RINGFORT_OPEN_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_box *boxes[4];

	(void)argv;
	options.kind = RINGFORT_STANDING;
	if (argc > 0) {
		require(ringfort_open(&options, &fort, &error) < 0, "there is none");
		printf("%s; %s\n", error.message, error.remedy);
		return;
	}
	require(ringfort_open(&options, &fort, &error) == 0, "there is one");
	for (int i = 0; i < 4; i++)
		boxes[i] = start(NULL, &run, "sleep 0.2; id -u");
	for (int i = 0; i < 4; i++) {
		require(end(boxes[i]).status == RINGFORT_OK, "it runs");
		ringfort_free(boxes[i]);
	}
	printf("served by %d\n", ringfort_warden_pid(fort));
	ringfort_close(fort);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int, char **);
	} modes[] = {
		{ "json", json },       { "traceless", traceless }, { "limit", limit },
		{ "streams", streams }, { "ends", ends },           { "mistakes", mistakes },
		{ "scarce", scarce },   { "murder", murder },       { "forked", forked },
		{ "threads", threads }, { "standing", standing },
	};

	setbuf(stdout, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run(argc - 2, argv + 2);
			return 0;
		}
	return 2;
}
