/* One loop drives a process: src/base/loop.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "harness.h"

#define MS 1000000ull /* nanoseconds */

/* What a callback does and what it saw. */
struct seen {
	struct rf_loop *loop;
	struct rf_event *event;
	struct seen *victim; /* its event is cancelled */
	int *clock;          /* counts calls of all */
	uint64_t again_ns;   /* a timer sets itself anew after this long */
	uint64_t at_ns;      /* of the last call */
	int calls, stop_after;
	int what; /* all that was told */
	int order;
	int fd; /* read from, one byte a call */
	bool cancels_itself, pauses;
};

static bool has_clock; /* of loops that are made */

static struct rf_loop *make_loop(void)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_loop *loop = NULL;

	RF_REQUIRE(rf_loop_new(&loop, &err) == 0, "%s", err.msg);
	RF_REQUIRE(!has_clock || rf_loop_keep_clock(loop, &err) == 0, "%s", err.msg);
	return loop;
}

static void run(struct rf_loop *loop)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_loop_run(loop, &err) == 0, "%s", err.msg);
}

static void on_event(void *data, int what)
{
	struct seen *seen = data;
	char byte;

	seen->calls++;
	seen->at_ns = rf_loop_now();
	seen->what |= what;
	if (seen->clock)
		seen->order = ++*seen->clock;
	if (seen->fd > 0 && what & RF_LOOP_READ)
		(void)!read(seen->fd, &byte, 1);
	if (seen->again_ns)
		rf_event_again(seen->event, rf_loop_now() + seen->again_ns);
	if (seen->pauses)
		rf_event_want(seen->event, 0);
	if (seen->cancels_itself) {
		rf_event_cancel(seen->event);
		seen->event = NULL;
	}
	if (seen->victim) {
		rf_event_cancel(seen->victim->event);
		seen->victim->event = NULL;
	}
	if (seen->stop_after && seen->calls >= seen->stop_after)
		rf_loop_stop(seen->loop);
}

static void watch(struct rf_loop *loop, int fd, int want, struct seen *seen)
{
	struct rf_err err = RF_ERR_INIT;

	seen->loop = loop;
	RF_REQUIRE(rf_loop_watch(loop, fd, want, on_event, seen, &seen->event, &err) == 0, "%s",
		   err.msg);
}

static void set_timer(struct rf_loop *loop, uint64_t after_ns, struct seen *seen)
{
	struct rf_err err = RF_ERR_INIT;

	seen->loop = loop;
	RF_REQUIRE(rf_loop_timer(loop, rf_loop_now() + after_ns, on_event, seen, &seen->event,
				 &err) == 0,
		   "%s", err.msg);
}

/* Runs for a while: until everything that can happen has happened. */
static void run_for(struct rf_loop *loop, uint64_t ns)
{
	struct seen end = { .stop_after = 1 };

	set_timer(loop, ns, &end);
	run(loop);
	rf_event_cancel(end.event);
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

RF_TEST(readable_writable_and_hung_up_are_told_apart)
{
	/* clang-format off */
	static const struct { const char *name; int side, want; bool is_full, is_closed; int told; } cases[] = {
		{ "an empty pipe to read",         0, RF_LOOP_READ,  false, false, 0 },
		{ "a full pipe to read",           0, RF_LOOP_READ,  true,  false, RF_LOOP_READ },
		{ "a closed pipe to read",         0, RF_LOOP_READ,  false, true,  RF_LOOP_HANGUP },
		{ "a full and closed pipe",        0, RF_LOOP_READ,  true,  true,  RF_LOOP_READ | RF_LOOP_HANGUP },
		{ "a closed pipe and no wish",     0, 0,             false, true,  RF_LOOP_HANGUP },
		{ "a full pipe and no wish",       0, 0,             true,  false, 0 },
		{ "an empty pipe to write",        1, RF_LOOP_WRITE, false, false, RF_LOOP_WRITE },
		{ "a full pipe to write",          1, RF_LOOP_WRITE, true,  false, 0 },
		{ "a full pipe nobody reads",      1, RF_LOOP_WRITE, true,  true,  RF_LOOP_HANGUP },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_loop *loop = make_loop();
		struct seen seen = { .pauses = true };
		static char bytes[65536];
		int ends[2];

		RF_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");
		while (cases[i].is_full && write(ends[1], bytes, sizeof(bytes)) > 0)
			;
		if (cases[i].is_closed)
			rf_fd_done(&ends[!cases[i].side]);
		seen.cancels_itself = true;
		watch(loop, ends[cases[i].side], cases[i].want, &seen);
		run_for(loop, 3 * MS);
		/* Linux may call a pipe without readers writable, too. */
		RF_CHECK((seen.what & ~(cases[i].is_closed ? RF_LOOP_WRITE : 0)) == cases[i].told,
			 "%s: %d", cases[i].name, seen.what);
		RF_CHECK(seen.calls == (cases[i].told != 0), "%s: told %d times", cases[i].name,
			 seen.calls);
		rf_loop_free(loop);
		rf_fd_done(&ends[0]);
		rf_fd_done(&ends[1]);
	}
}

RF_TEST(an_event_is_told_again_until_it_is_dealt_with)
{
	struct rf_loop *loop = make_loop();
	struct seen seen = { .stop_after = 5 };
	int ends[2];

	RF_REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "x", 1) == 1, "pipe");
	watch(loop, ends[0], RF_LOOP_READ, &seen);
	run(loop);
	RF_CHECK(seen.calls == 5 && seen.what == RF_LOOP_READ, "%d calls", seen.calls);
	rf_loop_free(loop);
	RF_CHECK(fcntl(ends[0], F_GETFD) >= 0, "the loop closed what it borrowed");
}

RF_TEST(wishes_can_change_and_a_paused_event_costs_nothing)
{
	struct rf_loop *loop = make_loop();
	struct seen seen = { 0 };
	int ends[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
	RF_REQUIRE(write(ends[1], "x", 1) == 1, "write");
	watch(loop, ends[0], 0, &seen);
	run_for(loop, 20 * MS);
	RF_CHECK(seen.calls == 0, "told %d times", seen.calls);
	rf_event_want(seen.event, RF_LOOP_WRITE);
	seen.stop_after = 1;
	run(loop);
	RF_CHECK(seen.what == RF_LOOP_WRITE, "%d", seen.what);
	rf_event_want(seen.event, RF_LOOP_READ);
	seen.what = 0;
	run(loop);
	RF_CHECK(seen.what == RF_LOOP_READ, "%d", seen.what);
	rf_event_want(seen.event, RF_LOOP_READ | RF_LOOP_WRITE);
	seen.what = 0;
	run(loop);
	RF_CHECK(seen.what == (RF_LOOP_READ | RF_LOOP_WRITE), "%d", seen.what);
	rf_event_want(NULL, 0);
	rf_loop_free(loop);
}

RF_TEST(what_comes_while_an_event_is_paused_is_told_when_it_is_not)
{
	struct rf_loop *loop = make_loop();
	struct seen seen = { 0 };
	uint64_t before;
	int ends[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
	watch(loop, ends[0], RF_LOOP_READ | RF_LOOP_WRITE, &seen);
	for (int i = 0; i < 3; i++) {
		seen.calls = 0;
		seen.stop_after = 0;
		rf_event_want(seen.event, 0);
		RF_REQUIRE(write(ends[1], "x", 1) == 1, "write");
		before = cpu_ns();
		run_for(loop, 50 * MS);
		RF_CHECK(seen.calls == 0, "told %d times", seen.calls);
		RF_CHECK(cpu_ns() - before < 25 * MS, "it waits, and does not turn");
		rf_event_want(seen.event, RF_LOOP_READ);
		seen.stop_after = 1;
		run(loop);
		RF_CHECK(seen.what == RF_LOOP_READ, "%d", seen.what);
		rf_event_want(seen.event, RF_LOOP_READ | RF_LOOP_WRITE);
	}
	/* Who hangs up is told of in any case. */
	rf_event_want(seen.event, 0);
	close(ends[1]);
	seen.calls = seen.what = 0;
	run(loop);
	RF_CHECK(seen.calls == 1 && seen.what == RF_LOOP_HANGUP, "%d", seen.what);
	rf_loop_free(loop);
}

RF_TEST(a_regular_file_is_always_ready_unless_paused)
{
	struct rf_loop *loop = make_loop();
	struct seen seen = { .stop_after = 7 };
	RF_AUTO_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t began;

	RF_REQUIRE(fd >= 0, "open");
	watch(loop, fd, RF_LOOP_READ, &seen);
	run(loop);
	RF_CHECK(seen.calls == 7 && seen.what == RF_LOOP_READ, "%d calls", seen.calls);
	rf_event_want(seen.event, 0);
	began = cpu_ns();
	run_for(loop, 50 * MS);
	RF_CHECK(seen.calls == 7, "%d calls", seen.calls);
	RF_CHECK(cpu_ns() - began < 40 * MS, "it span");
	rf_event_want(seen.event, RF_LOOP_READ);
	seen.stop_after = 8;
	run(loop);
	rf_event_cancel(seen.event);
	run_for(loop, MS);
	RF_CHECK(seen.calls == 8, "%d calls", seen.calls);
	rf_loop_free(loop);
}

static void check_times(void)
{
	static const unsigned after_ms[] = { 30, 10, 20, 0, 40 };
	struct rf_loop *loop = make_loop();
	struct seen seen[RF_LEN(after_ms)] = { 0 };
	uint64_t began = rf_loop_now();

	for (size_t i = 0; i < RF_LEN(after_ms); i++)
		set_timer(loop, after_ms[i] * MS, &seen[i]);
	run_for(loop, 60 * MS);
	for (size_t i = 0; i < RF_LEN(after_ms); i++) {
		RF_CHECK(seen[i].calls == 1 && seen[i].what == 0, "%u ms: %d calls", after_ms[i],
			 seen[i].calls);
		RF_CHECK(seen[i].at_ns - began >= after_ms[i] * MS, "%u ms: too early",
			 after_ms[i]);
	}
	RF_CHECK(rf_loop_now() - began >= 60 * MS, "too early");
	rf_loop_free(loop);
}

RF_TEST(timers_fire_once_each_and_not_before_their_times)
{
	check_times();
}

/* After a stall many are due at once, and the first reason to end a box is the one that counts. */
RF_TEST(timers_that_are_due_together_fire_in_the_order_of_their_times)
{
	static const unsigned ago_ms[] = { 20, 40, 30, 50, 10 };
	static const int order[] = { 4, 2, 3, 1, 5 };
	struct rf_loop *loop = make_loop();
	struct seen seen[RF_LEN(ago_ms)] = { 0 };
	uint64_t now = rf_loop_now();
	int clock = 0;

	for (size_t i = 0; i < RF_LEN(ago_ms); i++) {
		struct rf_err err = RF_ERR_INIT;

		seen[i].clock = &clock;
		RF_REQUIRE(rf_loop_timer(loop, now - ago_ms[i] * MS, on_event, &seen[i],
					 &seen[i].event, &err) == 0,
			   "%s", err.msg);
	}
	run_for(loop, 5 * MS);
	for (size_t i = 0; i < RF_LEN(ago_ms); i++)
		RF_CHECK(seen[i].calls == 1 && seen[i].order == order[i],
			 "%u ms ago: %d calls, as number %d", ago_ms[i], seen[i].calls,
			 seen[i].order);
	rf_loop_free(loop);
}

static uint64_t last_ns;
static int fired, wrong;

static void on_ordered(void *data, int what)
{
	const uint64_t *at_ns = data;

	(void)what;
	wrong += *at_ns < last_ns;
	last_ns = *at_ns;
	fired++;
}

/* Set, set anew and cancelled at random, from a number that is the same each time. */
RF_TEST(many_timers_keep_their_order_whatever_becomes_of_the_others)
{
	enum {
		MANY = 3000
	};
	static struct rf_event *timers[MANY];
	static uint64_t at_ns[MANY];
	struct rf_loop *loop = make_loop();
	const uint64_t began = 1; /* with the machine: long past, however young that is */
	unsigned seed = 1;
	int cancelled = 0;

	for (int i = 0; i < MANY; i++) {
		struct rf_err err = RF_ERR_INIT;

		at_ns[i] = began + (seed = seed * 1103515245 + 12345) % 100000;
		RF_REQUIRE(rf_loop_timer(loop, i % 5 ? at_ns[i] : UINT64_MAX, on_ordered, &at_ns[i],
					 &timers[i], &err) == 0,
			   "%s", err.msg);
	}
	for (int i = 0; i < MANY; i++) {
		seed = seed * 1103515245 + 12345;
		if (seed % 7 == 0) {
			rf_event_cancel(timers[i]);
			cancelled++;
		} else if (i % 5 == 0 || seed % 3 == 0) {
			at_ns[i] = began + (seed >> 4) % 100000;
			rf_event_again(timers[i], at_ns[i]);
		}
	}
	last_ns = 0;
	fired = wrong = 0;
	run_for(loop, 5 * MS);
	RF_CHECK(fired == MANY - cancelled && wrong == 0, "%d fired of %d, %d too late", fired,
		 MANY - cancelled, wrong);
	rf_loop_free(loop);
}

static void check_ticking(void)
{
	struct rf_loop *loop = make_loop();
	struct seen ticking = { .again_ns = 2 * MS, .stop_after = 10 }, never = { 0 };
	uint64_t began = rf_loop_now();
	struct rf_err err = RF_ERR_INIT;

	never.loop = loop;
	RF_REQUIRE(rf_loop_timer(loop, UINT64_MAX, on_event, &never, &never.event, &err) == 0, "%s",
		   err.msg);
	set_timer(loop, 2 * MS, &ticking);
	run(loop);
	RF_CHECK(ticking.calls == 10, "%d calls", ticking.calls);
	RF_CHECK(rf_loop_now() - began >= 20 * MS, "too early");
	RF_CHECK(never.calls == 0, "it fired");
	rf_event_again(never.event, rf_loop_now());
	never.stop_after = 1;
	run(loop);
	RF_CHECK(never.calls == 1, "%d calls", never.calls);
	rf_loop_free(loop);
}

RF_TEST(a_timer_sets_itself_anew_and_one_at_the_end_of_time_never_fires)
{
	check_ticking();
}

static void on_late(void *data, int what)
{
	struct seen *seen = data;

	(void)what;
	seen->calls++;
	rf_event_again(seen->event, 1);
	if (seen->victim)
		rf_event_again(seen->victim->event, 1);
	if (seen->calls == 1000000)
		rf_loop_stop(seen->loop);
}

RF_TEST(timers_that_are_always_late_leave_room_for_others)
{
	struct rf_loop *loop = make_loop();
	struct seen late[2] = { { .loop = loop }, { .loop = loop } }, timer = { .loop = loop },
		    input = { .loop = loop, .stop_after = 1 };
	struct rf_err err = RF_ERR_INIT;
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	for (int i = 0; i < 2; i++) {
		late[i].victim = &late[1 - i];
		RF_REQUIRE(rf_loop_timer(loop, 1, on_late, &late[i], &late[i].event, &err) == 0,
			   "%s", err.msg);
	}
	set_timer(loop, MS, &timer);
	timer.stop_after = 1;
	run(loop);
	RF_CHECK(timer.calls == 1, "the timer that was in time fired %d times", timer.calls);
	watch(loop, fd, RF_LOOP_READ, &input);
	run(loop);
	RF_CHECK(input.calls == 1, "the input was told %d times", input.calls);
	rf_loop_free(loop);
	close(fd);
}

static void check_far_away(void)
{
	static const uint64_t after_ns[] = { 3600 * 1000 * MS, INT32_MAX * MS, UINT32_MAX * MS,
					     UINT64_MAX / 4 };

	for (size_t i = 0; i < RF_LEN(after_ns); i++) {
		struct rf_loop *loop = make_loop();
		struct seen far = { 0 }, end = { .stop_after = 1 };
		RF_AUTO_FD int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		const struct itimerspec after = { .it_value.tv_nsec = 30 * MS };
		uint64_t began = cpu_ns();

		/* The end comes from outside: a second timer would be the next one. */
		RF_REQUIRE(timerfd_settime(fd, 0, &after, NULL) == 0, "timerfd");
		watch(loop, fd, RF_LOOP_READ, &end);
		set_timer(loop, after_ns[i], &far);
		run(loop);
		RF_CHECK(far.calls == 0, "case %zu fired", i);
		RF_CHECK(cpu_ns() - began < 25 * MS, "case %zu: the loop span", i);
		rf_loop_free(loop);
	}
}

RF_TEST(a_timer_far_away_does_not_overflow_into_now)
{
	check_far_away();
}

RF_TEST(timers_are_the_same_with_a_clock_that_is_kept)
{
	has_clock = true;
	check_times();
	check_ticking();
	check_far_away();
}

/* It rings for a timer that is no more, and is set anew for the next one; without one it stays silent. */
RF_TEST(a_clock_that_rings_too_early_is_set_anew)
{
	struct seen first = { 0 }, last = { .stop_after = 1 }, outside = { .stop_after = 1 };
	RF_AUTO_FD int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	const struct itimerspec after = { .it_value.tv_nsec = 30 * MS };
	uint64_t began = rf_loop_now(), used = cpu_ns();
	struct rf_loop *loop;

	has_clock = true;
	loop = make_loop();
	set_timer(loop, 80 * MS, &first);
	set_timer(loop, 5 * MS, &last); /* so that the clock is set before the first one changes */
	run(loop);
	rf_event_again(first.event, began + 140 * MS);
	rf_event_again(last.event, began + 180 * MS);
	last.stop_after = 2;
	run(loop);
	RF_CHECK(first.calls == 1 && first.at_ns - began >= 140 * MS, "%d calls", first.calls);
	RF_CHECK(last.calls == 2 && last.at_ns - began >= 180 * MS, "%d calls", last.calls);
	set_timer(loop, 5 * MS, &first);
	rf_event_cancel(first.event);
	RF_REQUIRE(timerfd_settime(fd, 0, &after, NULL) == 0, "timerfd");
	watch(loop, fd, RF_LOOP_READ, &outside);
	run(loop);
	RF_CHECK(cpu_ns() - used < 25 * MS, "the loop span");
	rf_loop_free(loop);
}

RF_TEST(a_callback_may_cancel_its_own_event)
{
	struct rf_loop *loop = make_loop();
	struct seen reading = { .cancels_itself = true }, ticking = { .cancels_itself = true };
	struct seen file = { .cancels_itself = true };
	RF_AUTO_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int ends[2];

	RF_REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "x", 1) == 1, "pipe");
	watch(loop, ends[0], RF_LOOP_READ, &reading);
	watch(loop, fd, RF_LOOP_READ, &file);
	set_timer(loop, 0, &ticking);
	run_for(loop, 5 * MS);
	RF_CHECK(reading.calls == 1 && ticking.calls == 1 && file.calls == 1, "%d, %d, %d",
		 reading.calls, ticking.calls, file.calls);
	/* The same descriptor can be watched anew. */
	reading.stop_after = 2;
	watch(loop, ends[0], RF_LOOP_READ, &reading);
	run(loop);
	RF_CHECK(reading.calls == 2, "%d calls", reading.calls);
	rf_event_cancel(NULL);
	rf_loop_free(loop);
}

/* Whichever comes first in a round cancels the other, so exactly one of the two is called. */
RF_TEST(a_callback_may_cancel_another_that_is_due_in_the_same_round)
{
	for (int kind = 0; kind < 3; kind++) {
		struct rf_loop *loop = make_loop();
		struct seen pair[2] = { { .fd = 0 }, { .fd = 0 } };
		int fds[2];

		for (int i = 0; i < 2; i++) {
			fds[i] = kind == 1 ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
					   : eventfd(1, EFD_CLOEXEC);
			RF_REQUIRE(fds[i] >= 0, "no descriptor");
			pair[i].victim = &pair[!i];
			if (kind == 2)
				set_timer(loop, 0, &pair[i]);
			else
				watch(loop, fds[i], RF_LOOP_READ, &pair[i]);
			pair[i].pauses = kind != 2;
		}
		run_for(loop, 5 * MS);
		RF_CHECK(pair[0].calls + pair[1].calls == 1, "kind %d: %d and %d", kind,
			 pair[0].calls, pair[1].calls);
		rf_loop_free(loop);
		close(fds[0]);
		close(fds[1]);
	}
}

static void add_more(void *data, int what)
{
	struct seen *more = data;

	(void)what;
	for (int i = 0; i < 20; i++) {
		more[i].stop_after = i == 19;
		set_timer(more[0].loop, (unsigned)i * MS, &more[i]);
	}
}

RF_TEST(a_callback_may_add_events)
{
	struct rf_loop *loop = make_loop();
	struct seen more[20] = { { .loop = loop } };
	struct rf_err err = RF_ERR_INIT;
	struct rf_event *event;

	RF_REQUIRE(rf_loop_timer(loop, 0, add_more, more, &event, &err) == 0, "%s", err.msg);
	run(loop);
	for (int i = 0; i < 20; i++)
		RF_CHECK(more[i].calls == 1, "timer %d: %d calls", i, more[i].calls);
	rf_loop_free(loop);
}

static int signals_seen[16], signal_count;

static void on_signal(void *data, int what)
{
	if (signal_count < (int)RF_LEN(signals_seen))
		signals_seen[signal_count++] = what;
	if (what == SIGTERM)
		rf_loop_stop(data);
}

RF_TEST(signals_are_delivered_by_number)
{
	static const int want[] = { SIGUSR1, SIGUSR2, SIGWINCH, SIGTERM };
	struct rf_loop *loop = make_loop();
	struct rf_err err = RF_ERR_INIT;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < RF_LEN(want); i++)
		sigaddset(&set, want[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1); /* before the loop knows of it: pending, not lost */
	RF_REQUIRE(rf_loop_signals(loop, &set, on_signal, loop, &err) == 0, "%s", err.msg);
	for (size_t i = 1; i < RF_LEN(want); i++)
		kill(getpid(), want[i]);
	run(loop);
	RF_CHECK(signal_count == (int)RF_LEN(want), "%d signals", signal_count);
	for (size_t i = 0; i < RF_LEN(want); i++) {
		bool is_there = false;

		for (int k = 0; k < signal_count; k++)
			is_there |= signals_seen[k] == want[i];
		RF_CHECK(is_there, "signal %d did not come", want[i]);
	}
	rf_loop_free(loop);
}

RF_TEST(more_events_than_one_round_can_hold_are_all_told)
{
	enum {
		MANY = 300
	};
	struct rf_loop *loop = make_loop();
	static struct seen seen[MANY];
	static int fds[MANY];

	for (int i = 0; i < MANY; i++) {
		fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
		RF_REQUIRE(fds[i] >= 0, "descriptor %d: %s", i, strerror(errno));
		seen[i].cancels_itself = true;
		watch(loop, fds[i], RF_LOOP_READ, &seen[i]);
	}
	run_for(loop, 50 * MS);
	for (int i = 0; i < MANY; i++) {
		RF_CHECK(seen[i].calls == 1, "event %d: %d calls", i, seen[i].calls);
		close(fds[i]);
	}
	rf_loop_free(loop);
}

RF_TEST(what_cant_be_watched_is_an_error_and_the_loop_goes_on)
{
	struct rf_loop *loop = make_loop();
	struct rf_err err = RF_ERR_INIT;
	struct seen seen = { 0 };
	RF_AUTO_FD int fd = eventfd(0, EFD_CLOEXEC);

	RF_CHECK(rf_loop_watch(loop, -1, RF_LOOP_READ, on_event, &seen, &seen.event, &err) ==
			 -EBADF,
		 "%s", err.msg);
	RF_CHECK(!seen.event && err.msg[0], "'%s'", err.msg);
	watch(loop, fd, RF_LOOP_READ, &seen);
	RF_CHECK(rf_loop_watch(loop, fd, RF_LOOP_READ, on_event, &seen,
			       &(struct rf_event *){ NULL }, &err) == -EEXIST,
		 "%s", err.msg);
	run_for(loop, MS);
	RF_CHECK(seen.calls == 0, "%d calls", seen.calls);
	rf_loop_free(loop);
	rf_loop_free(NULL);
}

static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

RF_TEST(free_releases_the_descriptors_and_memory_of_a_full_loop)
{
	int before = count_open();

	for (int round = 0; round < 3; round++) {
		struct rf_loop *loop = make_loop();
		struct rf_err err = RF_ERR_INIT;
		struct seen seen[3] = { 0 };
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		RF_REQUIRE(rf_loop_signals(loop, &set, on_signal, loop, &err) == 0, "%s", err.msg);
		set_timer(loop, MS, &seen[0]);
		set_timer(loop, MS, &seen[1]);
		rf_event_cancel(seen[1].event);
		rf_loop_free(loop);
	}
	RF_CHECK(count_open() == before, "%d descriptors are left", count_open() - before);
}
