/* Runs that are under way, and launchers that are gone: src/watch/muster.c. */
#include "watch/muster.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define SECOND 1000000000ull

static char lost[256], kept[256];

static void on_lost(void *data, const struct rf_muster_run *run)
{
	(void)data;
	strncat(lost, run->box, sizeof(lost) - strlen(lost) - 1);
	strncat(lost, " ", sizeof(lost) - strlen(lost) - 1);
}

static void on_kept(void *data, const struct rf_muster_run *run)
{
	(void)data;
	strncat(kept, run->box, sizeof(kept) - strlen(kept) - 1);
	strncat(kept, " ", sizeof(kept) - strlen(kept) - 1);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void hear(struct rf_muster *muster, enum rf_audit_kind kind, const char *box, pid_t pid,
		 uint64_t time_ns, const void *teller)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, kind);
	event.time_ns = time_ns;
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	if (kind == RF_AUDIT_RUN_ENDED)
		rf_audit_event_text(&event, RF_AUDIT_VERDICT, "ok");
	else
		rf_audit_event_number(&event, RF_AUDIT_PID, (uint64_t)pid);
	if (kind == RF_AUDIT_RECOVERY)
		rf_audit_event_text(&event, RF_AUDIT_VERDICT, RF_MUSTER_ADOPTED);
	rf_muster_hear(muster, &event, teller);
}

static struct rf_muster *new_muster(struct rf_loop **loop)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_muster *muster = NULL;

	lost[0] = kept[0] = '\0';
	RF_REQUIRE(rf_loop_new(loop, &err) == 0 &&
			   rf_muster_new(*loop, on_lost, NULL, &muster, &err) == 0,
		   "%s", err.msg);
	return muster;
}

static void done(struct rf_muster *muster, struct rf_loop *loop)
{
	rf_muster_free(muster);
	rf_loop_free(loop);
}

/* A number that no process has: one that has just been waited for. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	RF_REQUIRE(pid > 0 && waitpid(pid, NULL, 0) == pid, "%s", strerror(errno));
	return pid;
}

RF_TEST(a_run_without_an_end_is_lost_with_its_launcher_and_kept_with_one_that_lives)
{
	struct rf_loop *loop;
	struct rf_muster *muster = new_muster(&loop);

	hear(muster, RF_AUDIT_RUN_STARTED, "ended", getpid(), now(), NULL);
	hear(muster, RF_AUDIT_RUN_ENDED, "ended", 0, now(), NULL);
	hear(muster, RF_AUDIT_RUN_STARTED, "lives", getpid(), now(), NULL);
	hear(muster, RF_AUDIT_RUN_STARTED, "dead", dead_pid(), now(), NULL);
	hear(muster, RF_AUDIT_RUN_STARTED, "nobody", 0, now(), NULL);
	hear(muster, RF_AUDIT_RECOVERY, "adopted", getpid(), now(), NULL);
	rf_muster_take_over(muster, on_kept);
	RF_CHECK(strcmp(lost, "nobody dead ") == 0, "lost: %s", lost);
	RF_CHECK(strcmp(kept, "adopted lives ") == 0, "kept: %s", kept);
	done(muster, loop);
}

RF_TEST(a_process_that_began_after_the_run_has_only_its_launchers_number)
{
	struct rf_loop *loop;
	struct rf_muster *muster = new_muster(&loop);

	hear(muster, RF_AUDIT_RUN_STARTED, "old", getpid(), now() - 3600 * SECOND, NULL);
	hear(muster, RF_AUDIT_RUN_STARTED, "new", getpid(), now(), NULL);
	rf_muster_take_over(muster, on_kept);
	RF_CHECK(strcmp(lost, "old ") == 0 && strcmp(kept, "new ") == 0, "lost: %s, kept: %s", lost,
		 kept);
	done(muster, loop);
}

RF_TEST(the_last_ends_are_known_until_their_box_begins_again)
{
	struct rf_loop *loop;
	struct rf_muster *muster = new_muster(&loop);
	char box[33];

	RF_CHECK(!rf_muster_has_ended(muster, "a") && !rf_muster_has_ended(muster, ""), "nothing");
	hear(muster, RF_AUDIT_RUN_STARTED, "a", getpid(), now(), NULL);
	RF_CHECK(!rf_muster_has_ended(muster, "a"), "it has begun");
	hear(muster, RF_AUDIT_RUN_ENDED, "a", 0, now(), NULL);
	RF_CHECK(rf_muster_has_ended(muster, "a"), "told");
	hear(muster, RF_AUDIT_RUN_STARTED, "a", getpid(), now(), NULL);
	RF_CHECK(!rf_muster_has_ended(muster, "a"), "it has begun again");
	hear(muster, RF_AUDIT_RUN_STARTED, "dead", dead_pid(), now(), NULL);
	rf_muster_take_over(muster, on_kept);
	RF_CHECK(rf_muster_has_ended(muster, "dead"), "lost, which is an end");
	hear(muster, RF_AUDIT_RUN_ENDED, "a", 0, now(), NULL);
	for (int i = 0; i < RF_MUSTER_ENDS - 1; i++) {
		snprintf(box, sizeof(box), "box%d", i);
		hear(muster, RF_AUDIT_RUN_ENDED, box, 0, now(), NULL);
		hear(muster, RF_AUDIT_RUN_ENDED, box, 0, now(), NULL); /* takes no room */
	}
	RF_CHECK(rf_muster_has_ended(muster, "a") && rf_muster_has_ended(muster, "box0"), "kept");
	hear(muster, RF_AUDIT_RUN_ENDED, "one more", 0, now(), NULL);
	hear(muster, RF_AUDIT_RUN_ENDED, "another", 0, now(), NULL);
	RF_CHECK(!rf_muster_has_ended(muster, "a") && rf_muster_has_ended(muster, "another"),
		 "the oldest go");
	done(muster, loop);
}

RF_TEST(who_told_another_watcher_comes_back_and_nobody_else)
{
	struct rf_loop *loop;
	struct rf_muster *muster = new_muster(&loop);
	int ours = 0, other = 0;

	hear(muster, RF_AUDIT_RUN_STARTED, "a", getpid(), now(), NULL);
	RF_CHECK(!rf_muster_has(muster, "a", &ours, getpid()), "it is not held yet");
	rf_muster_take_over(muster, on_kept);
	RF_CHECK(!rf_muster_has(muster, "a", &other, getppid()), "another process");
	RF_CHECK(rf_muster_has(muster, "a", &ours, getpid()), "its launcher");
	RF_CHECK(!rf_muster_has(muster, "a", &other, getpid()), "and no other connection of it");
	rf_muster_leave(muster, &ours, getpid());
	RF_CHECK(lost[0] == '\0' && rf_muster_has(muster, "a", &other, getpid()), "and again");
	done(muster, loop);
}

static void on_time(void *data, int what)
{
	(void)what;
	rf_loop_stop(data);
}

RF_TEST(who_hangs_up_and_lives_is_waited_for)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_loop *loop;
	struct rf_muster *muster = new_muster(&loop);
	struct rf_event *timer;
	int ours = 0, other = 0;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	hear(muster, RF_AUDIT_RUN_STARTED, "a", pid, now(), &ours);
	hear(muster, RF_AUDIT_RUN_STARTED, "b", pid, now(), &ours);
	hear(muster, RF_AUDIT_RUN_STARTED, "c", pid, now(), &other);
	RF_CHECK(rf_muster_has(muster, "a", &ours, 0) && !rf_muster_has(muster, "a", &other, 0) &&
			 !rf_muster_has(muster, "x", &ours, 0),
		 "whose they are");
	rf_muster_leave(muster, &ours, pid);
	RF_CHECK(lost[0] == '\0', "it lives, and lost: %s", lost);
	hear(muster, RF_AUDIT_RUN_ENDED, "b", 0, now(), &other); /* told on another connection */
	kill(pid, SIGKILL);
	RF_REQUIRE(rf_loop_timer(loop, rf_loop_now() + SECOND / 5, on_time, loop, &timer, &err) ==
			   0,
		   "%s", err.msg);
	RF_REQUIRE(rf_loop_run(loop, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(lost, "a ") == 0, "lost: %s", lost);
	waitpid(pid, NULL, 0);
	done(muster, loop);
}
