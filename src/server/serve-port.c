/*
 * Ports of sandboxes: a request is passed on to a program that listens inside, and its answer back; a WebSocket, too.
 *
 * The front has no socket of its own: pid 1 of the sandbox connects one, and the warden, which knows whose sandbox it is, hands it over.  Each request has a connection of its
 * own: nothing of one tenant's is left in it for another.  What passes of the heads is transit.c's matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/call.h"
#include "lib/fort.h"
#include "server/cors.h"
#include "server/duplex.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/transit.h"

#define MOST     4096 /* connections to ports */
#define MOST_OWN 512  /* of one tenant */

/* A request on its way, from the question for a connection to the end of both sides. */
struct rf_ported {
	struct rf_api_call *call; /* until its end */
	struct rf_call *line;     /* until its end */
	struct rf_transit *transit;
	struct rf_front *front;
	struct rf_holder *holder;
	bool is_answered;
};

/* How long an answer takes is between the two. */
static const struct rf_call_limits limits = {
	.http = {
		.head = { .first_bytes = 16 * 1024, .line_bytes = 16 * 1024, .all_bytes = 64 * 1024 },
		.trailer = { .first_bytes = 4 * 1024, .line_bytes = 4 * 1024, .all_bytes = 8 * 1024 },
		.body = { .line_bytes = 256, .extension_bytes = 16 * 1024, .body_bytes = UINT64_MAX },
	},
	.connect_ms = 10000,
	.out_bytes = 256 * 1024,
};

static void release(struct rf_ported *p)
{
	if (p->call || p->line)
		return;
	rf_transit_free(p->transit);
	p->front->port_count--;
	p->holder->port_count--;
	rf_holder_unref(p->holder);
	free(p);
}

static bool on_idle(struct rf_call_host *host, struct rf_call *line)
{
	(void)host;
	(void)line;
	return false; /* each has its own */
}

static void on_line_gone(struct rf_call_host *host, struct rf_call *line)
{
	(void)host;
	(void)line;
}

static struct rf_call_host *host_of(struct rf_front *front)
{
	struct rf_call_host *host = front->port_host ? front->port_host : calloc(1, sizeof(*host));

	if (host)
		*host = (struct rf_call_host){ .loop = front->loop,
					       .deadlines = front->lines.deadlines,
					       .limits = &limits,
					       .on_idle = on_idle,
					       .on_gone = on_line_gone };
	front->port_host = host;
	return host;
}

/* ------------------------------------------------------------- the client's side */

static void fail(struct rf_ported *p, const struct rf_err *why)
{
	struct rf_api_error error;

	p->call->on_room = NULL; /* the answer is the call's own now */
	rf_api_error_say(&error, RF_API_NO_ANSWER, "port", "port %u: %s", p->transit->port,
			 why->msg);
	rf_api_error_hint(&error, "a program in the sandbox must listen there, and speak HTTP/1.1");
	rf_api_call_fail(p->call, &error);
}

static void on_request_bytes(struct rf_api_call *call, struct rf_span bytes)
{
	struct rf_ported *p = call->ported;

	if (p && p->line && rf_call_send(p->line, bytes) > 0)
		rf_exchange_pause(call->x, true);
}

static void on_request_end(struct rf_api_call *call)
{
	struct rf_ported *p = call->ported;

	if (p && p->line && p->transit->body != RF_BODY_NONE)
		rf_call_finish(p->line, (struct rf_fields){ 0 });
}

static void on_client_room(struct rf_api_call *call)
{
	struct rf_ported *p = call->ported;

	if (p && p->line)
		rf_call_pause(p->line, false);
}

/* Who asked is gone, or has all of the answer. */
static void on_client_gone(struct rf_api_call *call)
{
	struct rf_ported *p = call->ported;

	p->call = NULL;
	call->ported = NULL;
	if (p->line)
		rf_call_abort(p->line); /* on_line_end() comes */
	else
		release(p);
}

/* ------------------------------------------------------------- the sandbox's side */

static void on_socket_over(void *data)
{
	struct rf_holder *holder = data;

	holder->port_count--;
	rf_holder_unref(holder);
}

/* What both connections become: bytes, until one ends. */
static void go_on_as_socket(struct rf_ported *p, const struct rf_http1_head *head)
{
	struct rf_front *front = p->front;
	struct rf_field fields[RF_TRANSIT_FIELDS];
	int count = rf_transit_answer(p->transit, head, fields);
	struct rf_duplex *duplex = NULL;
	struct rf_err err = RF_ERR_INIT;

	if (count < 0)
		rf_fail(&err, count, "its answer");
	if (p->holder->is_withdrawn)
		rf_fail_say(&err, -EACCES, "the key was removed");
	if (err.code ||
	    rf_duplex_new(&front->duplexes, front->lines.deadlines, p->holder, &duplex, &err) < 0 ||
	    rf_call_take(p->line, rf_duplex_stream(duplex, 1), rf_duplex_on_event, duplex, &err) <
		    0) {
		rf_duplex_free(duplex);
		rf_call_abort(p->line);
		return;
	}
	/* Behind the last field is the page's sandbox: this is no page. */
	if (rf_exchange_take(p->call->x, RF_SPAN("websocket"),
			     (struct rf_fields){ fields, (size_t)count - 1 },
			     rf_duplex_stream(duplex, 0), rf_duplex_on_event, duplex, &err) < 0) {
		rf_duplex_free(duplex);
		rf_exchange_abort(p->call->x);
		return;
	}
	p->is_answered = true;
	front->figures.requests[1]++;
	p->holder->port_count++;
	rf_duplex_begin(duplex, on_socket_over, rf_holder_ref(p->holder));
}

static void on_answer(void *own, struct rf_call *line, const struct rf_http1_head *head)
{
	struct rf_ported *p = own;
	struct rf_field fields[RF_TRANSIT_FIELDS + 1 + RF_CORS_FIELDS];
	enum rf_body body = head->framing.body;
	int count;

	if (!p->call)
		return;
	if (body == RF_BODY_TUNNEL) {
		go_on_as_socket(p, head);
		return;
	}
	count = rf_transit_answer(p->transit, head, fields);
	if (count >= 0) {
		fields[count++] = (struct rf_field){ RF_SPAN("X-Request-Id"),
						     rf_span_of(p->call->request_id) };
		count += (int)rf_cors_put(p->call, fields + count);
	}
	if (body == RF_BODY_CLOSE)
		body = RF_BODY_CHUNKED;
	if (p->call->is_head && head->framing.length > 0)
		body = RF_BODY_LENGTH;
	if (count < 0 || rf_exchange_answer(p->call->x, head->start.status,
					    (struct rf_fields){ fields, (size_t)count }, body,
					    head->framing.length) != RF_FAULT_NONE) {
		rf_call_abort(line);
		return;
	}
	p->is_answered = true;
	p->front->figures.requests[head->start.status / 100]++;
}

static void on_answer_bytes(void *own, struct rf_call *line, struct rf_span bytes)
{
	struct rf_ported *p = own;

	if (p->call && rf_exchange_send(p->call->x, bytes) > 0)
		rf_call_pause(line, true);
}

static void on_answer_end(void *own, struct rf_call *line, struct rf_fields trailer)
{
	struct rf_ported *p = own;

	(void)line;
	(void)trailer;
	if (p->call && p->is_answered)
		rf_exchange_finish(p->call->x, (struct rf_fields){ 0 });
}

static void on_line_room(void *own, struct rf_call *line)
{
	struct rf_ported *p = own;

	(void)line;
	if (p->call)
		rf_exchange_pause(p->call->x, false);
}

static void on_line_end(void *own, struct rf_call *line, const struct rf_err *why)
{
	struct rf_ported *p = own;

	(void)line;
	p->line = NULL;
	if (p->call && !p->is_answered) {
		struct rf_err none = RF_ERR_INIT;

		rf_fail_say(&none, -EPROTO, "it can't be passed on");
		fail(p, why ? why : &none);
	} else if (p->call && why) {
		rf_exchange_abort(p->call->x); /* it is cut, and the client sees it */
	} else if (p->call) {
		rf_exchange_pause(p->call->x, false); /* what it still sends is passed over */
	}
	release(p);
}

static const struct rf_call_ops ops = {
	.on_answer = on_answer,
	.on_body = on_answer_bytes,
	.on_body_end = on_answer_end,
	.on_room = on_line_room,
	.on_end = on_line_end,
};

/* ------------------------------------------------------------- the way there */

static int begin(struct rf_ported *p, int *fd, struct rf_err *err)
{
	const struct rf_call_origin origin = { .maker = NULL };
	struct rf_authority authority = {
		.host = { .kind = RF_HOST_NAME, .len = 9, .text = "localhost" },
		.port = p->transit->port
	};
	const struct rf_call_request request = {
		.method = p->transit->method,
		.target = p->transit->target,
		.authority = &authority,
		.fields = { p->transit->fields, p->transit->count },
		.body = p->transit->body,
		.length = p->transit->length,
		.upgrade = p->transit->is_websocket ? RF_SPAN("websocket")
						    : (struct rf_span){ NULL, 0 },
	};
	const int on = 1;
	struct rf_call_host *host = host_of(p->front);
	struct rf_call *line;

	if (!host)
		return rf_fail(err, -ENOMEM, "a connection");
	setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rf_call_new_on(host, &origin, rf_transport_plain(fd), &line, err) < 0)
		return err->code;
	if (rf_call_begin(line, &request, &ops, p, err) < 0) {
		rf_call_close(line);
		return err->code;
	}
	p->line = line;
	return 0;
}

static void on_reached(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_ported *p = call->ported;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int fd = -1;

	call->asked = NULL;
	if (!answer && (why->code == -ECONNREFUSED || why->code == -EHOSTUNREACH)) {
		fail(p, why);
		return;
	}
	if (!answer) {
		rf_api_call_fail_with(call, why, why->code == -ENOENT ? "id" : NULL);
		return;
	}
	if (answer->type != RF_WIRE_REACHED ||
	    (fd = fcntl(answer->fds[0], F_DUPFD_CLOEXEC, 3)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		rf_fail_say(&err, -EPROTO, "it was not reached");
	if (err.code || begin(p, &fd, &err) < 0) {
		fail(p, &err);
		return;
	}
	rf_exchange_pause(call->x, false);
}

static bool is_room(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (call->front->port_count + call->front->duplexes.count < MOST &&
	    call->holder->port_count < MOST_OWN)
		return true;
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "%zu connections of this key lead to ports",
			 call->holder->port_count);
	rf_api_error_hint(&error, "try again when some of them have ended");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

void rf_serve_port(struct rf_api_call *call)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_ported *p;

	if (!is_room(call))
		return;
	p = calloc(1, sizeof(*p));
	if (!p) {
		rf_fail(&err, -ENOMEM, "a connection");
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	*p = (struct rf_ported){ .call = call,
				 .transit = call->transit,
				 .front = call->front,
				 .holder = rf_holder_ref(call->holder) };
	call->transit = NULL;
	call->ported = p;
	call->front->port_count++;
	call->holder->port_count++;
	call->on_gone = on_client_gone;
	call->on_bytes = on_request_bytes;
	call->on_bytes_end = on_request_end;
	call->on_room = on_client_room;
	if (rf_query_reach(call->front->loop, call->holder->fort, call->parts.part[0],
			   p->transit->port, on_reached, call, &call->asked, &err) < 0)
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
}
