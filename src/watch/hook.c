/* A program that is told of alarms: see hook.h. */
#include "watch/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define MS       1000000ull
#define JSON_MAX 32768 /* less than a pipe holds: writing it never waits */

/* One event that the program is told, or is to be. */
struct call {
	struct rf_hook *hook;
	struct call *next;
	struct rf_buf json;
	char box[33], alarm[65];
	pid_t pid; /* 0: it waits */
	int pidfd;
	uint64_t began_ns;
	struct rf_event *event, *timer;
	bool is_late;
};

struct rf_hook {
	const char *program;
	struct rf_loop *loop;
	void (*note)(void *data, const struct rf_audit_event *event);
	void *data;
	struct call *calls; /* in order; the first ones run */
	size_t running, count;
};

/* ------------------------------------------------------------- what may be one */

static bool is_safe(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int rf_hook_check(const char *program, struct rf_err *err)
{
	struct stat st;

	if (program[0] != '/') {
		rf_fail_say(err, -EINVAL, "--hook %.80s: a program by its whole path", program);
		return rf_fail_hint(err, "it gets no arguments; write a script for more");
	}
	if (stat(program, &st) < 0)
		return rf_fail(err, -errno, "--hook %.80s", program);
	if (!S_ISREG(st.st_mode) || access(program, X_OK) < 0)
		return rf_fail_say(err, -EACCES, "--hook %.80s can't be executed", program);
	if (!is_safe(&st)) {
		rf_fail_say(err, -EPERM, "--hook %.80s could be changed by others", program);
		return rf_fail_hint(err, "it must be yours or root's, and writable by nobody else");
	}
	return 0;
}

/* ------------------------------------------------------------- calls */

static void note(const struct call *call, const char *verdict, int status, const char *reason)
{
	const struct rf_hook *hook = call->hook;
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_HOOK);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, hook->program);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, verdict);
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	rf_audit_event_text(&event, RF_AUDIT_BOX, call->box);
	if (call->pid > 0 && WIFEXITED(status))
		rf_audit_event_number(&event, RF_AUDIT_EXIT_CODE, (uint64_t)WEXITSTATUS(status));
	if (call->pid > 0)
		rf_audit_event_number(&event, RF_AUDIT_TOOK_US,
				      (rf_loop_now() - call->began_ns) / 1000);
	hook->note(hook->data, &event);
}

static void release(struct call *call)
{
	rf_event_cancel(call->event);
	rf_event_cancel(call->timer);
	rf_fd_done(&call->pidfd);
	rf_buf_done(&call->json);
	free(call);
}

static void forget(struct call *call)
{
	struct call **at = &call->hook->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	call->hook->count--;
	release(call);
}

static void start_next(struct rf_hook *hook);

/* Its group goes with it, whatever it left there. */
static void on_exit_of_call(void *data, int what)
{
	struct call *call = data;
	struct rf_hook *hook = call->hook;
	int status = 0;

	(void)what;
	if (waitid(P_PID, (id_t)call->pid, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) < 0 &&
	    errno == EINTR)
		return;
	kill(-call->pid, SIGKILL); /* while its number is still taken */
	if (waitpid(call->pid, &status, WNOHANG) == 0)
		return;
	note(call,
	     call->is_late                                   ? "timeout"
	     : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "ok"
							     : "failed",
	     status, call->alarm);
	hook->running--;
	forget(call);
	start_next(hook);
}

static void on_late(void *data, int what)
{
	struct call *call = data;

	(void)what;
	call->is_late = true;
	kill(-call->pid, SIGKILL);
}

/* ------------------------------------------------------------- starting */

/* In the child: nothing of the watcher's but the event. */
static void become(const char *program, int input)
{
	char *const argv[] = { (char *)(uintptr_t)program, NULL }, *const env[] = { NULL };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	rf_fd_write_text(AT_FDCWD, "/proc/self/oom_score_adj", "0");
	if (nothing >= 0 && dup2(input, 0) == 0 && dup2(nothing, 1) == 1 && dup2(nothing, 2) == 2 &&
	    syscall(SYS_close_range, 3, ~0u, 0) == 0)
		execve(program, argv, env);
	_exit(127);
}

static int start(struct call *call, struct rf_err *err)
{
	struct rf_hook *hook = call->hook;
	RF_AUTO_FD int input = -1, output = -1;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return rf_fail(err, -errno, "a pipe to the hook");
	input = pipes[0];
	output = pipes[1];
	fcntl(output, F_SETFL, O_NONBLOCK);
	if (rf_fd_write(output, call->json.data, call->json.len) < 0)
		return rf_fail_say(err, -EMSGSIZE, "an event that is too long");
	call->began_ns = rf_loop_now();
	call->pid = fork();
	if (call->pid == 0)
		become(hook->program, input);
	if (call->pid < 0) {
		call->pid = 0;
		return rf_fail(err, -errno, "start the hook");
	}
	setpgid(call->pid, call->pid); /* whichever of us is first */
	hook->running++;
	call->pidfd = (int)syscall(SYS_pidfd_open, call->pid, 0);
	if (call->pidfd < 0 ||
	    rf_loop_watch(hook->loop, call->pidfd, RF_LOOP_READ, on_exit_of_call, call,
			  &call->event, err) < 0 ||
	    rf_loop_timer(hook->loop, call->began_ns + RF_HOOK_MS * MS, on_late, call, &call->timer,
			  err) < 0) {
		kill(-call->pid, SIGKILL); /* nobody would see its end */
		waitpid(call->pid, NULL, 0);
		hook->running--;
		return rf_fail(err, -ENOMEM, "wait for the hook");
	}
	return 0;
}

static void start_next(struct rf_hook *hook)
{
	for (struct call *call = hook->calls, *next; call && hook->running < RF_HOOK_MOST;
	     call = next) {
		struct rf_err err = RF_ERR_INIT;

		next = call->next;
		if (call->pid > 0 || start(call, &err) == 0)
			continue;
		call->pid = 0;
		note(call, "failed", 0, err.msg);
		forget(call);
	}
}

void rf_hook_tell(struct rf_hook *hook, const struct rf_audit_event *event)
{
	struct call *call = calloc(1, sizeof(*call)), **at = &hook->calls;
	struct rf_json json;

	if (!call)
		return;
	*call = (struct call){ .hook = hook, .pidfd = -1 };
	rf_buf_init(&call->json, JSON_MAX);
	rf_audit_event_copy(event, RF_AUDIT_BOX, call->box, sizeof(call->box));
	rf_audit_event_copy(event, RF_AUDIT_ALARM_NAME, call->alarm, sizeof(call->alarm));
	if (hook->count >= RF_HOOK_QUEUE) {
		note(call, "dropped", 0, "too many wait");
		rf_buf_done(&call->json);
		free(call);
		return;
	}
	rf_json_init(&json, &call->json, false);
	rf_json_open_object(&json, NULL);
	rf_audit_event_json(event, &json);
	rf_json_close_object(&json);
	rf_buf_puts(&call->json, "\n");
	while (*at)
		at = &(*at)->next;
	*at = call;
	hook->count++;
	start_next(hook);
}

int rf_hook_new(const char *program, struct rf_loop *loop,
		void (*on_note)(void *data, const struct rf_audit_event *event), void *data,
		struct rf_hook **ret_hook, struct rf_err *err)
{
	struct rf_hook *hook = calloc(1, sizeof(*hook));

	if (!hook)
		return rf_fail(err, -ENOMEM, "a hook");
	*hook = (struct rf_hook){ .program = program, .loop = loop, .note = on_note, .data = data };
	*ret_hook = hook;
	return 0;
}

void rf_hook_free(struct rf_hook *hook)
{
	for (struct call *call = hook ? hook->calls : NULL, *next; call; call = next) {
		next = call->next;
		if (call->pid > 0) {
			kill(-call->pid, SIGKILL);
			waitpid(call->pid, NULL, 0);
		}
		release(call);
	}
	free(hook);
}
