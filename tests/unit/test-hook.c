/* A program that is told of alarms: src/watch/hook.c. */
#include "watch/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

static char folder[64], script[96], out[128];
static char noted[4096];
static size_t notes, wanted;
static struct rf_loop *loop;

/* Writes down how each call ended, and stops the loop after so many as are wanted. */
static void on_note(void *data, const struct rf_audit_event *event)
{
	char verdict[33], reason[65];
	size_t len = strlen(noted);

	(void)data;
	rf_audit_event_copy(event, RF_AUDIT_VERDICT, verdict, sizeof(verdict));
	rf_audit_event_copy(event, RF_AUDIT_REASON, reason, sizeof(reason));
	snprintf(noted + len, sizeof(noted) - len, "[%s %s %d] ", verdict, reason,
		 rf_audit_event_has(event, RF_AUDIT_EXIT_CODE)
			 ? (int)rf_audit_event_get(event, RF_AUDIT_EXIT_CODE)
			 : -1);
	if (++notes >= wanted)
		rf_loop_stop(loop);
}

static struct rf_hook *make(const char *text)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_hook *hook = NULL;
	FILE *file;

	noted[0] = '\0';
	notes = 0;
	snprintf(folder, sizeof(folder), "/tmp/rf-test-hook-XXXXXX");
	RF_REQUIRE(mkdtemp(folder) != NULL, "a folder");
	snprintf(script, sizeof(script), "%s/hook", folder);
	snprintf(out, sizeof(out), "%s.out", script);
	file = fopen(script, "w");
	RF_REQUIRE(file != NULL, "a script");
	fputs(text, file);
	fclose(file);
	chmod(script, 0700);
	RF_REQUIRE(rf_loop_new(&loop, &err) == 0 &&
			   rf_hook_new(script, loop, on_note, NULL, &hook, &err) == 0,
		   "%s", err.msg);
	return hook;
}

static void done(struct rf_hook *hook)
{
	rf_hook_free(hook);
	rf_loop_free(loop);
	unlink(script);
	unlink(out);
	RF_CHECK(rmdir(folder) == 0, "something else is in %s", folder);
	RF_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

static void tell(struct rf_hook *hook, const char *alarm)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_ALARM);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, alarm);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "odd");
	rf_hook_tell(hook, &event);
}

static void until(size_t count)
{
	struct rf_err err = RF_ERR_INIT;

	wanted = count;
	if (notes < wanted)
		RF_REQUIRE(rf_loop_run(loop, &err) == 0, "%s", err.msg);
}

RF_TEST(it_gets_the_event_and_nothing_else)
{
	struct rf_hook *hook = make("#!/bin/sh\n(cat; echo \"$# $HOME\") >$0.out\n");
	char text[1024] = "";

	setenv("HOME", "/secret", 1);
	tell(hook, "canary");
	until(1);
	RF_CHECK(strcmp(noted, "[ok canary 0] ") == 0, "%s", noted);
	RF_CHECK(rf_fd_read_text(AT_FDCWD, out, text, sizeof(text)) > 0 &&
			 strstr(text, "\"alarm\": \"canary\"") && strstr(text, "}\n0 \n"),
		 "%s", text);
	done(hook);
}

RF_TEST(how_it_ended_is_told)
{
	struct rf_hook *hook = make("#!/bin/sh\nexit 3\n");

	tell(hook, "one");
	until(1);
	RF_CHECK(strcmp(noted, "[failed one 3] ") == 0, "%s", noted);
	unlink(script);
	tell(hook, "two");
	until(2);
	RF_CHECK(strcmp(noted, "[failed one 3] [failed two 127] ") == 0, "%s", noted);
	done(hook);
}

RF_TEST(what_it_leaves_in_its_group_ends_with_it)
{
	struct rf_hook *hook = make("#!/bin/sh\nsleep 1000 & echo $! >$0.out\n");
	char text[32] = "";
	pid_t pid;

	tell(hook, "canary");
	until(1);
	RF_REQUIRE(rf_fd_read_text(AT_FDCWD, out, text, sizeof(text)) > 0, "no pid");
	pid = (pid_t)strtol(text, NULL, 10);
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
		usleep(10000); /* somebody has to reap it */
	RF_CHECK(kill(pid, 0) < 0, "it lives");
	done(hook);
}

RF_TEST(a_few_run_some_wait_and_what_is_too_much_is_dropped)
{
	struct rf_hook *hook = make("#!/bin/sh\nexec sleep 1000\n");

	for (int i = 0; i < RF_HOOK_QUEUE + 3; i++)
		tell(hook, "flood");
	RF_CHECK(strcmp(noted, "[dropped too many wait -1] [dropped too many wait -1] "
			       "[dropped too many wait -1] ") == 0,
		 "%s", noted);
	done(hook); /* which ends those that run */
}

RF_TEST(what_others_could_change_is_none)
{
	struct rf_hook *hook = make("#!/bin/sh\n");
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(rf_hook_check(script, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_hook_check("hook", &err) == -EINVAL && err.hint[0], "a relative path");
	RF_CHECK(rf_hook_check("/no/such/hook", &err) == -ENOENT, "none");
	RF_CHECK(rf_hook_check(folder, &err) == -EACCES, "a folder");
	chmod(script, 0720);
	RF_CHECK(rf_hook_check(script, &err) == -EPERM && err.hint[0], "a group's");
	chmod(script, 0702);
	RF_CHECK(rf_hook_check(script, &err) == -EPERM, "everybody's");
	chmod(script, 0600);
	RF_CHECK(rf_hook_check(script, &err) == -EACCES, "not to be executed");
	done(hook);
}
