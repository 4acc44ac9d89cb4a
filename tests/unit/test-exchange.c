/* When a client has its answer, and when the handler hears of the end: src/http/exchange.c.  All else of it is in test_http.py. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "harness.h"
#include "http/exchange.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define ANSWER  "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nword"

struct visit {
	struct rf_loop *loop;
	int client;
	unsigned wanted; /* requests */
	unsigned ended;
	ssize_t had[2]; /* bytes that the client could read at the end of each */
};

static void on_request(void *data, struct rf_exchange *exchange, const struct rf_http1_head *head)
{
	RF_CHECK(rf_exchange_reply(exchange, 200, RF_SPAN("text/plain"), RF_SPAN("word")) ==
			 RF_FAULT_NONE,
		 "no answer");
}

static void on_end(void *data, struct rf_exchange *exchange, bool is_whole)
{
	struct visit *visit = data;
	char bytes[1024];

	RF_CHECK(is_whole, "cut");
	visit->had[visit->ended++] =
		recv(visit->client, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (visit->ended == visit->wanted)
		rf_loop_stop(visit->loop);
}

/* Sends `text` to a server that answers at once, and notes what is there at the end of each request. */
static void be_served(struct visit *visit, struct rf_span text)
{
	static const struct rf_exchange_ops ops = { .on_request = on_request, .on_end = on_end };
	struct rf_exchange_host host = { .limits = &rf_exchange_usual, .ops = &ops, .data = visit };
	struct rf_err err = RF_ERR_INIT;
	int pair[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	RF_REQUIRE(rf_loop_new(&visit->loop, &err) == 0 &&
			   rf_deadlines_new(visit->loop, &host.deadlines, &err) == 0,
		   "%s", err.msg);
	host.loop = visit->loop;
	visit->client = pair[1];
	RF_REQUIRE(send(pair[1], text.at, text.len, 0) == (ssize_t)text.len, "send");
	RF_REQUIRE(rf_exchange_new(&host, rf_transport_plain(&pair[0]), &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_loop_run(visit->loop, &err) == 0, "%s", err.msg);
	rf_exchange_close_all(&host);
	rf_deadlines_free(host.deadlines);
	rf_loop_free(visit->loop);
	rf_fd_done(&pair[1]);
}

RF_TEST(a_client_has_its_answer_before_the_handler_hears_of_the_end)
{
	struct visit visit = { .wanted = 1 };

	be_served(&visit, RF_SPAN(REQUEST));
	RF_CHECK(visit.had[0] == sizeof(ANSWER) - 1, "%zd bytes", visit.had[0]);
}

RF_TEST(answers_to_requests_that_came_together_go_out_together)
{
	struct visit visit = { .wanted = 2 };

	be_served(&visit, RF_SPAN(REQUEST REQUEST));
	RF_CHECK(visit.had[0] < 0, "%zd bytes", visit.had[0]);
	RF_CHECK(visit.had[1] == 2 * (sizeof(ANSWER) - 1), "%zd bytes", visit.had[1]);
}

/* ------------------------------------------------------------- heads */

#define MS 1000000ull

struct late {
	struct rf_loop *loop;
	struct rf_deadline look, body;
	struct rf_exchange *exchange;
	enum rf_body framing;
	int client;
	ssize_t early; /* bytes that the client could read of the head, before there was a body */
};

static void on_late_request(void *data, struct rf_exchange *exchange,
			    const struct rf_http1_head *head)
{
	struct late *late = data;

	late->exchange = exchange;
	RF_CHECK(rf_exchange_answer(exchange, 200, (struct rf_fields){ 0 }, late->framing, 4) ==
			 RF_FAULT_NONE,
		 "no answer");
	rf_deadline_set(&late->look, rf_loop_now() + 10 * MS);
	rf_deadline_set(&late->body, rf_loop_now() + 20 * MS);
}

static void on_look(void *data)
{
	struct late *late = data;
	char bytes[1024];

	late->early = recv(late->client, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
}

static void on_body_due(void *data)
{
	struct late *late = data;

	RF_CHECK(rf_exchange_send(late->exchange, RF_SPAN("word")) >= 0, "send");
	RF_CHECK(rf_exchange_finish(late->exchange, (struct rf_fields){ 0 }) == 0, "finish");
}

static void on_late_end(void *data, struct rf_exchange *exchange, bool is_whole)
{
	const struct late *late = data;

	rf_loop_stop(late->loop);
}

/* Two ends of a connection by TCP. */
static void join(int ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	RF_AUTO_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	RF_REQUIRE(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
			   getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
			   connect(ends[1], (struct sockaddr *)&at, len) == 0,
		   "connect");
	ends[0] = accept4(listener, (struct sockaddr *)&at, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	RF_REQUIRE(ends[0] >= 0, "accept");
}

static ssize_t see_head_early(enum rf_body framing)
{
	static const struct rf_exchange_ops ops = { .on_request = on_late_request,
						    .on_end = on_late_end };
	struct late late = { .framing = framing };
	struct rf_exchange_host host = { .limits = &rf_exchange_usual, .ops = &ops, .data = &late };
	struct rf_err err = RF_ERR_INIT;
	char bytes[1024];
	int ends[2];

	join(ends);
	late.client = ends[1];
	RF_REQUIRE(rf_loop_new(&late.loop, &err) == 0 &&
			   rf_deadlines_new(late.loop, &host.deadlines, &err) == 0 &&
			   rf_deadline_init(&late.look, host.deadlines, on_look, &late) == 0 &&
			   rf_deadline_init(&late.body, host.deadlines, on_body_due, &late) == 0,
		   "%s", err.msg);
	host.loop = late.loop;
	RF_REQUIRE(send(ends[1], REQUEST, sizeof(REQUEST) - 1, 0) > 0, "send");
	RF_REQUIRE(rf_exchange_new(&host, rf_transport_plain(&ends[0]), &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_loop_run(late.loop, &err) == 0, "%s", err.msg);
	RF_CHECK(recv(ends[1], bytes, sizeof(bytes), 0) > (late.early > 0 ? late.early : 40),
		 "the body is missing, or came alone");
	rf_exchange_close_all(&host);
	rf_deadline_done(&late.look);
	rf_deadline_done(&late.body);
	rf_deadlines_free(host.deadlines);
	rf_loop_free(late.loop);
	rf_fd_done(&ends[1]);
	return late.early;
}

RF_TEST(a_head_goes_out_with_the_body_that_has_a_length)
{
	ssize_t early = see_head_early(RF_BODY_LENGTH);

	RF_CHECK(early < 0, "%zd bytes", early);
}

RF_TEST(the_head_of_a_stream_goes_out_at_once)
{
	ssize_t early = see_head_early(RF_BODY_CHUNKED);

	RF_CHECK(early > 0, "%zd bytes", early);
}
