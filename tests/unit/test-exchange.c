/* When a client has its answer, and when the handler hears of the end: src/http/exchange.c.  All else of it is in test_http.py. */
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
