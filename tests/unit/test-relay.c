/* Bytes between two connections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/relay.h"
#include "harness.h"

#define MS 1000000ull

struct scene {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_relay_pipes *pipes;
	struct rf_relay *relay;
	struct rf_relay_options options;
	int client, server; /* ours; the relay has their other ends */
	bool is_over;
	enum rf_relay_end end;
	struct rf_relay_counts counts;
	int answer, asked; /* of may_pass */
	struct rf_event *timer;
};

static void on_end(void *data, enum rf_relay_end end, const struct rf_relay_counts *counts)
{
	struct scene *scene = data;

	scene->is_over = true;
	scene->end = end;
	scene->counts = *counts;
	rf_loop_stop(scene->loop);
}

static void on_time(void *data, int what)
{
	struct scene *scene = data;

	rf_loop_stop(scene->loop);
}

static void begin(struct scene *scene, struct rf_span early)
{
	struct rf_err err = RF_ERR_INIT;
	int inner[2], outer[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, inner) == 0 &&
			   socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				      outer) == 0,
		   "sockets");
	scene->client = inner[0];
	scene->server = outer[0];
	RF_REQUIRE(rf_loop_new(&scene->loop, &err) == 0 &&
			   rf_deadlines_new(scene->loop, &scene->deadlines, &err) == 0 &&
			   rf_loop_timer(scene->loop, UINT64_MAX, on_time, scene, &scene->timer,
					 &err) == 0,
		   "%s", err.msg);
	scene->pipes = rf_relay_pipes_new();
	scene->options.loop = scene->loop;
	scene->options.deadlines = scene->deadlines;
	scene->options.pipes = scene->pipes;
	scene->options.fn = on_end;
	scene->options.data = scene;
	RF_REQUIRE(rf_relay_new(&scene->options, &inner[1], &outer[1], early, &scene->relay,
				&err) == 0,
		   "%s", err.msg);
}

/* Lets it go on for a while, or until it is over. */
static void go_on(struct scene *scene, unsigned ms)
{
	struct rf_err err = RF_ERR_INIT;

	if (scene->is_over)
		return;
	rf_event_again(scene->timer, rf_loop_now() + ms * MS);
	RF_REQUIRE(rf_loop_run(scene->loop, &err) == 0, "%s", err.msg);
}

static void finish(struct scene *scene)
{
	if (!scene->is_over)
		rf_relay_cut(scene->relay);
	rf_fd_done(&scene->client);
	rf_fd_done(&scene->server);
	rf_event_cancel(scene->timer);
	rf_relay_pipes_free(scene->pipes);
	rf_deadlines_free(scene->deadlines);
	rf_loop_free(scene->loop);
}

static void check(int fd, const char *expected)
{
	char text[64] = "";
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	RF_CHECK(n == (ssize_t)strlen(expected) && strcmp(text, expected) == 0,
		 "\"%s\", not \"%s\"", text, expected);
}

RF_TEST(bytes_pass_both_ways_and_what_was_read_before_goes_first)
{
	struct scene scene = { 0 };

	begin(&scene, RF_SPAN("early "));
	RF_REQUIRE(write(scene.client, "up", 2) == 2 && write(scene.server, "down", 4) == 4,
		   "write");
	go_on(&scene, 20);
	check(scene.server, "early up");
	check(scene.client, "down");
	finish(&scene);
}

RF_TEST(an_end_is_passed_on_and_the_other_way_goes_on)
{
	struct scene scene = { 0 };

	begin(&scene, RF_SPAN(""));
	RF_REQUIRE(write(scene.client, "all", 3) == 3 && shutdown(scene.client, SHUT_WR) == 0,
		   "ask");
	go_on(&scene, 20);
	check(scene.server, "all");
	check(scene.server, "");
	RF_REQUIRE(write(scene.server, "answer", 6) == 6, "answer");
	go_on(&scene, 20);
	check(scene.client, "answer");
	RF_CHECK(!scene.is_over, "not over");
	shutdown(scene.server, SHUT_WR);
	go_on(&scene, 1000);
	RF_CHECK(scene.is_over && scene.end == RF_RELAY_WHOLE, "end %d", scene.end);
	RF_CHECK(scene.counts.up == 3 && scene.counts.down == 6, "counts");
	finish(&scene);
}

RF_TEST(who_does_not_take_slows_who_sends)
{
	struct scene scene = { 0 };
	static char piece[65536];
	size_t sent = 0, got = 0;
	ssize_t n;

	begin(&scene, RF_SPAN(""));
	for (int i = 0; i < 200; i++) {
		while ((n = write(scene.client, piece, sizeof(piece))) > 0)
			sent += (size_t)n;
		go_on(&scene, 1);
	}
	RF_CHECK(sent < 8u << 20, "%zu bytes are kept somewhere", sent);
	for (int i = 0; got < sent && i < 2000; i++) {
		while ((n = read(scene.server, piece, sizeof(piece))) > 0)
			got += (size_t)n;
		go_on(&scene, 1);
	}
	RF_CHECK(got == sent, "%zu of %zu", got, sent);
	finish(&scene);
}

RF_TEST(silence_ends_it_after_a_while)
{
	struct scene scene = { .options.idle_ms = 50 };
	uint64_t began = rf_loop_now();

	begin(&scene, RF_SPAN(""));
	go_on(&scene, 5000);
	RF_CHECK(scene.is_over && scene.end == RF_RELAY_IDLE, "end %d", scene.end);
	RF_CHECK(rf_loop_now() - began >= 50 * MS, "not before");
	finish(&scene);
}

RF_TEST(however_busy_it_does_not_outlast_its_time)
{
	struct scene scene = { .options.total_ms = 60 };

	begin(&scene, RF_SPAN(""));
	for (int i = 0; i < 100 && !scene.is_over; i++) {
		(void)!write(scene.client, "x", 1);
		go_on(&scene, 5);
	}
	RF_CHECK(scene.is_over && scene.end == RF_RELAY_TOTAL, "end %d", scene.end);
	finish(&scene);
}

static int may_pass(void *data, int inner)
{
	struct scene *scene = data;

	scene->asked++;
	return scene->answer;
}

RF_TEST(what_is_held_passes_only_when_it_may)
{
	struct scene scene = { .options.may_pass = may_pass };

	begin(&scene, RF_SPAN(""));
	RF_REQUIRE(write(scene.server, "hello", 5) == 5, "greet");
	go_on(&scene, 20);
	check(scene.client, "hello");
	RF_CHECK(scene.asked == 0, "nothing has come");
	RF_REQUIRE(write(scene.client, "me", 2) == 2, "answer");
	go_on(&scene, 30);
	RF_CHECK(scene.asked > 0 && scene.asked < 20, "asked %d times", scene.asked);
	RF_CHECK(recv(scene.server, &(char){ 0 }, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "held");
	scene.answer = 1;
	go_on(&scene, 30);
	check(scene.server, "me");
	finish(&scene);
}

RF_TEST(what_may_not_pass_cuts_it)
{
	struct scene scene = { .options.may_pass = may_pass, .answer = -EPERM };

	begin(&scene, RF_SPAN(""));
	RF_REQUIRE(write(scene.client, "me", 2) == 2, "say");
	go_on(&scene, 1000);
	RF_CHECK(scene.is_over && scene.end == RF_RELAY_RESET && scene.counts.up == 0, "cut");
	finish(&scene);
}
