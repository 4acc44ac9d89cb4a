/*
 * A server that does everything a handler can do: test_http.py drives it with real clients and with odd ones.
 *
 *	http-probe tcp|unix:PATH [LIMIT=VALUE...]
 *
 * Prints the port, or the path, once it listens.  Ends when its standard input does, and says then what it has seen.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/http-server.h"

#define PIECE 65536

struct probe {
	struct rf_loop *loop;
	struct rf_http_server *server;
	struct rf_exchange_limits limits;
	size_t most;
	unsigned long long requests, whole, cut;
};

/* One exchange. */
struct visit {
	struct probe *probe;
	struct rf_exchange *exchange;
	enum {
		ANSWERED,
		ECHO,
		SINK,
		SEND,
		SLOW,
		LATER
	} kind;
	unsigned long long count; /* bytes that are still to be sent, or were received */
	struct rf_event *timer;
};

/* A connection that was taken. */
struct tunnel {
	struct rf_stream stream;
};

static const struct rf_span plain = RF_SPAN_INIT("text/plain");
static const struct rf_fields none;

/* --- tunnels: what comes goes back --- */

static void on_tunnel(void *data, int what)
{
	struct tunnel *tunnel = data;
	ssize_t n = 0;

	do {
		struct rf_span bytes = rf_stream_input(&tunnel->stream);

		rf_stream_write(&tunnel->stream, bytes);
		rf_stream_drop(&tunnel->stream, bytes.len);
		if (rf_stream_flush(&tunnel->stream) == -EAGAIN)
			break;
		n = rf_stream_fill(&tunnel->stream);
	} while (n > 0);
	if (n == 0 || (n < 0 && n != -EAGAIN)) {
		rf_stream_done(&tunnel->stream);
		free(tunnel);
		return;
	}
	rf_stream_wait(&tunnel->stream, rf_stream_pending(&tunnel->stream) == 0);
}

static void take(struct visit *visit, struct rf_span protocol)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	struct rf_err err = RF_ERR_INIT;

	if (!tunnel || rf_exchange_take(visit->exchange, protocol, none, &tunnel->stream, on_tunnel,
					tunnel, &err) < 0) {
		free(tunnel);
		rf_exchange_abort(visit->exchange);
		return;
	}
	rf_stream_flush(&tunnel->stream);
	rf_stream_wait(&tunnel->stream, true);
	on_tunnel(tunnel, 0);
}

/* --- routes --- */

static void answer(struct visit *visit, unsigned status, struct rf_span body)
{
	rf_exchange_reply(visit->exchange, status, plain, body);
}

static void send_more(struct visit *visit)
{
	static const char piece[PIECE] = "0123456789abcdef";
	int code = 0;

	while (visit->count > 0 && code == 0) {
		size_t len = visit->count < PIECE ? (size_t)visit->count : PIECE;

		code = rf_exchange_send(visit->exchange, (struct rf_span){ piece, len });
		visit->count -= len;
	}
	if (visit->count == 0 && code >= 0)
		rf_exchange_finish(visit->exchange, none);
}

static void on_late(void *data, int what)
{
	struct visit *visit = data;

	if (visit->kind == SLOW) {
		answer(visit, 200, RF_SPAN("late\n"));
		return;
	}
	visit->kind = SINK;
	visit->count = 0;
	rf_exchange_pause(visit->exchange, false);
}

static void list_fields(struct visit *visit, const struct rf_http1_head *head)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 1 << 18);
	rf_buf_printf(&text, "%.*s %.*s for %s:%u\n", RF_SPAN_ARG(head->start.method),
		      RF_SPAN_ARG(head->start.target), head->authority.host.text,
		      head->authority.port);
	for (size_t i = 0; i < head->fields.count; i++)
		rf_buf_printf(&text, "%.*s=%.*s\n", RF_SPAN_ARG(head->fields.at[i].name),
			      RF_SPAN_ARG(head->fields.at[i].value));
	answer(visit, 200, (struct rf_span){ text.data, text.len });
}

static void tell_stats(struct visit *visit)
{
	const struct probe *probe = visit->probe;
	char text[128];

	snprintf(text, sizeof(text), "requests %llu whole %llu cut %llu connections %zu\n",
		 probe->requests, probe->whole, probe->cut,
		 rf_http_server_connections(probe->server));
	answer(visit, 200, rf_span_of(text));
}

static void begin_timer(struct visit *visit)
{
	struct rf_err err = RF_ERR_INIT;

	rf_loop_timer(visit->probe->loop, rf_loop_now() + visit->count * 1000000, on_late, visit,
		      &visit->timer, &err);
}

static void begin_send(struct visit *visit, enum rf_body body)
{
	visit->kind = SEND;
	rf_exchange_answer(visit->exchange, 200, none, body, visit->count);
	send_more(visit);
}

static void route(struct visit *visit, const struct rf_http1_head *head)
{
	struct rf_span path = head->start.url.path;

	if (head->start.form == RF_TARGET_AUTHORITY) {
		take(visit, RF_SPAN(""));
	} else if (head->framing.is_upgrade) {
		take(visit, RF_SPAN("echo"));
	} else if (rf_span_is(path, RF_SPAN("/hello"))) {
		answer(visit, 200, RF_SPAN("hello\n"));
	} else if (rf_span_is(path, RF_SPAN("/fields"))) {
		list_fields(visit, head);
	} else if (rf_span_is(path, RF_SPAN("/stats"))) {
		tell_stats(visit);
	} else if (rf_span_is(path, RF_SPAN("/nothing"))) {
		rf_exchange_answer(visit->exchange, 204, none, RF_BODY_NONE, 0);
		rf_exchange_finish(visit->exchange, none);
	} else if (rf_span_is(path, RF_SPAN("/echo"))) {
		visit->kind = ECHO;
		rf_exchange_answer(visit->exchange, 200, none, RF_BODY_CHUNKED, 0);
	} else if (rf_span_is(path, RF_SPAN("/sink"))) {
		visit->kind = SINK;
	} else if (rf_span_is(path, RF_SPAN("/sized"))) {
		begin_send(visit, RF_BODY_LENGTH);
	} else if (rf_span_is(path, RF_SPAN("/stream"))) {
		begin_send(visit, RF_BODY_CHUNKED);
	} else if (rf_span_is(path, RF_SPAN("/slow"))) {
		visit->kind = SLOW;
		begin_timer(visit);
	} else if (rf_span_is(path, RF_SPAN("/later"))) { /* a sink that is blocked at first */
		visit->kind = LATER;
		rf_exchange_pause(visit->exchange, true);
		begin_timer(visit);
	} else if (rf_span_is(path, RF_SPAN("/never"))) {
		visit->kind = SLOW;
	} else if (rf_span_is(path, RF_SPAN("/short"))) { /* less than was announced */
		rf_exchange_answer(visit->exchange, 200, none, RF_BODY_LENGTH, 10);
		rf_exchange_send(visit->exchange, RF_SPAN("short"));
		rf_exchange_finish(visit->exchange, none);
	} else if (rf_span_is(path, RF_SPAN("/long"))) { /* more than was announced */
		rf_exchange_answer(visit->exchange, 200, none, RF_BODY_LENGTH, 1);
		rf_exchange_send(visit->exchange, RF_SPAN("long"));
	} else {
		answer(visit, 404, RF_SPAN("no such path\n"));
	}
}

/* --- the handler --- */

static void on_request(void *data, struct rf_exchange *exchange, const struct rf_http1_head *head)
{
	struct visit *visit = calloc(1, sizeof(*visit));
	unsigned long long number = 0;

	if (!visit)
		abort();
	rf_span_number(head->start.url.query, 1ull << 40, &number);
	visit->probe = data;
	visit->probe->requests++;
	visit->exchange = exchange;
	visit->count = number;
	rf_exchange_keep(exchange, visit);
	route(visit, head);
}

static void on_body(void *own, struct rf_exchange *exchange, struct rf_span bytes)
{
	struct visit *visit = own;

	if (visit->kind == SINK)
		visit->count += bytes.len;
	if (visit->kind == ECHO && rf_exchange_send(exchange, bytes) == 1)
		rf_exchange_pause(exchange, true);
}

static void on_body_end(void *own, struct rf_exchange *exchange, struct rf_fields trailer)
{
	struct visit *visit = own;
	char text[64];

	if (visit->kind == ECHO)
		rf_exchange_finish(exchange, trailer);
	if (visit->kind == SINK) {
		snprintf(text, sizeof(text), "%llu\n", visit->count);
		answer(visit, 200, rf_span_of(text));
	}
}

static void on_room(void *own, struct rf_exchange *exchange)
{
	struct visit *visit = own;

	if (visit->kind == SEND)
		send_more(visit);
	else
		rf_exchange_pause(exchange, false);
}

static void on_end(void *own, struct rf_exchange *exchange, bool is_whole)
{
	struct visit *visit = own;

	*(is_whole ? &visit->probe->whole : &visit->probe->cut) += 1;
	rf_event_cancel(visit->timer);
	free(visit);
}

static const struct rf_exchange_ops ops = {
	.on_request = on_request,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_room = on_room,
	.on_end = on_end,
};

/* --- the program --- */

static void die(const char *what)
{
	fprintf(stderr, "http-probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int listen_on(const char *where)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	bool is_unix = strncmp(where, "unix:", 5) == 0;
	int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		die("socket");
	if (is_unix) {
		snprintf(path.sun_path, sizeof(path.sun_path), "%s", where + 5);
		if (bind(fd, (struct sockaddr *)&path, sizeof(path)) < 0 || listen(fd, 511) < 0)
			die("listen");
		puts(path.sun_path);
	} else {
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    listen(fd, 511) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0)
			die("listen");
		printf("%u\n", ntohs(address.sin_port));
	}
	fflush(stdout);
	return fd;
}

static void set_limit(struct probe *probe, const char *word)
{
	const char *value = strchr(word, '=');
	unsigned long number = value ? strtoul(value + 1, NULL, 10) : 0;
	size_t len = value ? (size_t)(value - word) : 0;
	const struct {
		const char *name;
		uint32_t *limit;
	} limits[] = {
		{ "head_ms", &probe->limits.head_ms },     { "idle_ms", &probe->limits.idle_ms },
		{ "stall_ms", &probe->limits.stall_ms },   { "total_ms", &probe->limits.total_ms },
		{ "out_bytes", &probe->limits.out_bytes },
	};

	for (size_t i = 0; i < RF_LEN(limits); i++)
		if (strlen(limits[i].name) == len && strncmp(word, limits[i].name, len) == 0) {
			*limits[i].limit = (uint32_t)number;
			return;
		}
	if (strncmp(word, "most=", 5) == 0)
		probe->most = number;
	else if (strncmp(word, "body_bytes=", 11) == 0)
		probe->limits.http.body.body_bytes = number;
	else
		die(word);
}

static void on_stdin(void *data, int what)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) <= 0)
		rf_loop_stop(data);
}

int main(int argc, char **argv)
{
	struct probe probe = { .limits = rf_exchange_usual, .most = 10000 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_event *event;
	int fd;

	for (int i = 2; i < argc; i++)
		set_limit(&probe, argv[i]);
	fd = listen_on(argc > 1 ? argv[1] : "tcp");
	if (rf_loop_new(&probe.loop, &err) < 0 ||
	    rf_loop_watch(probe.loop, STDIN_FILENO, RF_LOOP_READ, on_stdin, probe.loop, &event,
			  &err) < 0 ||
	    rf_http_server_new(probe.loop, &probe.limits, probe.most, &ops, &probe, &probe.server,
			       &err) < 0 ||
	    rf_http_server_listen(probe.server, &fd, &err) < 0 ||
	    rf_loop_run(probe.loop, &err) < 0) {
		fprintf(stderr, "http-probe: %s\n", err.msg);
		return 1;
	}
	rf_http_server_free(probe.server);
	rf_loop_free(probe.loop);
	printf("requests %llu whole %llu cut %llu\n", probe.requests, probe.whole, probe.cut);
	return 0;
}
