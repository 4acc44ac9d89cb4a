/*
 * One connection of a client: see call.h.
 *
 * As in exchange.c, everything happens in run(), and calls of the caller's only note what is to be done.
 */
#include "http/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/compose.h"

#define KIB     1024
#define MS      1000000ull
#define FILLS   8  /* reads in a row, before others have their turn */
#define ROOMS   4  /* and times to go on sending */
#define INTERIM 16 /* answers of 1xx before the real one */
#define OUT_SPARE                                                                                  \
	1048576 /* bytes beyond those at which the caller is asked to wait, a head among them */
#define CHUNK_FRAME 32 /* bytes around a chunk, and behind the last one, at most */

const struct rf_call_limits rf_call_usual = {
	.http = {
		.head = { .first_bytes = 16 * KIB, .line_bytes = 16 * KIB, .all_bytes = 64 * KIB },
		.trailer = { .first_bytes = 4 * KIB, .line_bytes = 4 * KIB, .all_bytes = 8 * KIB },
		.body = { .line_bytes = 256, .extension_bytes = 16 * KIB, .body_bytes = UINT64_MAX },
	},
	.connect_ms = 10 * 1000,
	.answer_ms = 60 * 1000,
	.stall_ms = 30 * 1000,
	.out_bytes = 256 * KIB,
};

/* How far the request is sent, and the answer read. */
enum sent {
	IDLE, /* there is none */
	SENDING,
	FINISHED /* all is written, or nothing more can be */
};
enum got {
	AWAITED, /* its head is not there */
	IN_BODY,
	RECEIVED
};

struct rf_call {
	struct rf_call_host *host;
	struct rf_call *next;
	struct rf_call_origin origin;
	const struct rf_call_ops *ops;
	void *own;
	struct rf_stream stream;
	struct rf_http1 http;
	struct rf_field fields[RF_CALL_FIELDS];
	struct rf_framing_asked asked;
	struct rf_deadline soon, limit;
	uint64_t since_ns, total_ns, idle_ns;
	enum sent sent;
	enum got got;
	bool is_connected, is_used, is_running, is_paused, is_full, is_gone, is_interim, is_taken;
	bool cannot_send;  /* the server takes no more, but may answer */
	enum rf_body body; /* of the request */
	uint64_t left;
	uint64_t bytes_sent;   /* when it was last looked */
	size_t used;           /* bytes of the input that the last event was about */
	unsigned interim;      /* answers of 1xx */
	unsigned fills, rooms; /* left in this turn */
	struct rf_err err;     /* why it failed */
};

static void run(struct rf_call *c);

/* --- life --- */

static void on_stream(void *data, int what)
{
	run(data);
}

static void on_soon(void *data)
{
	run(data);
}

static void on_limit(void *data);

static void free_call(struct rf_call *c)
{
	rf_deadline_done(&c->soon);
	rf_deadline_done(&c->limit);
	rf_stream_done(&c->stream);
	free(c);
}

/* A socket on its way to the other end. */
static int dial(const struct rf_call_origin *origin, struct rf_transport *ret_transport,
		struct rf_err *err)
{
	const int on = 1;
	RF_AUTO_FD int fd =
		socket(origin->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return rf_fail(err, -errno, "make a socket");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* a unix socket has none */
	if (connect(fd, (const struct sockaddr *)&origin->address, origin->len) < 0 &&
	    errno != EINPROGRESS)
		return rf_fail(err, -errno, "connect");
	if (origin->maker)
		return origin->maker->make(origin->maker, &fd, origin->name, ret_transport, err);
	*ret_transport = rf_transport_plain(&fd);
	return 0;
}

int rf_call_new_on(struct rf_call_host *host, const struct rf_call_origin *origin,
		   struct rf_transport transport, struct rf_call **ret_call, struct rf_err *err)
{
	const struct rf_call_limits *limits = host->limits;
	struct rf_call *c = calloc(1, sizeof(*c));

	if (!c) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	c->host = host;
	c->origin = *origin;
	if (rf_stream_init(&c->stream, host->loop, transport,
			   limits->http.head.all_bytes + 16 * KIB, limits->out_bytes + OUT_SPARE,
			   on_stream, c, err) < 0) {
		free(c);
		return err->code;
	}
	if (rf_deadline_init(&c->soon, host->deadlines, on_soon, c) < 0 ||
	    rf_deadline_init(&c->limit, host->deadlines, on_limit, c) < 0) {
		free_call(c);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	c->idle_ns = c->total_ns = UINT64_MAX;
	rf_http1_init(&c->http, &limits->http, c->fields, RF_LEN(c->fields));
	*ret_call = c;
	return 0;
}

int rf_call_new(struct rf_call_host *host, const struct rf_call_origin *origin,
		struct rf_call **ret_call, struct rf_err *err)
{
	struct rf_transport transport;

	if (dial(origin, &transport, err) < 0)
		return err->code;
	return rf_call_new_on(host, origin, transport, ret_call, err);
}

void rf_call_close(struct rf_call *c)
{
	if (c)
		free_call(c);
}

const struct rf_call_origin *rf_call_origin(const struct rf_call *c)
{
	return &c->origin;
}

struct rf_call **rf_call_next(struct rf_call *c)
{
	return &c->next;
}

bool rf_call_is_stale(const struct rf_call *c)
{
	return c->is_used && c->got == AWAITED && rf_stream_input(&c->stream).len == 0;
}

static void wake(struct rf_call *c)
{
	if (!c->is_running)
		rf_deadline_set(&c->soon, rf_loop_now());
}

/* It has failed, and `c->err` says why. */
static void fail(struct rf_call *c)
{
	c->is_gone = true;
	wake(c);
}

/* --- the request --- */

static enum rf_fault put_head(struct rf_call *c, const struct rf_call_request *request)
{
	struct rf_compose head;

	rf_compose_request(&head, rf_stream_output(&c->stream), request->method, request->target,
			   request->authority);
	for (size_t i = 0; i < request->fields.count; i++) {
		const struct rf_field *field = &request->fields.at[i];

		if (rf_span_is_like(field->name, RF_SPAN("connection")) ||
		    rf_span_is_like(field->name, RF_SPAN("upgrade")))
			head.fault = RF_FAULT_NAME_OWN;
		rf_compose_field(&head, field->name, field->value);
	}
	if (request->wants_trailers && request->upgrade.len == 0) {
		rf_compose_field(&head, RF_SPAN("Connection"), RF_SPAN("te"));
		rf_compose_field(&head, RF_SPAN("TE"), RF_SPAN("trailers"));
	}
	if (request->upgrade.len > 0) {
		rf_compose_field(&head, RF_SPAN("Connection"), RF_SPAN("upgrade"));
		rf_compose_field(&head, RF_SPAN("Upgrade"), request->upgrade);
	}
	if (request->body == RF_BODY_LENGTH)
		rf_compose_length(&head, request->length);
	if (request->body == RF_BODY_CHUNKED)
		rf_compose_chunked(&head);
	return rf_compose_end(&head);
}

int rf_call_begin(struct rf_call *c, const struct rf_call_request *request,
		  const struct rf_call_ops *ops, void *own, struct rf_err *err)
{
	const struct rf_call_limits *limits = c->host->limits;
	enum rf_fault fault = RF_FAULT_BODY_UNWANTED;

	if (request->body <= RF_BODY_CHUNKED &&
	    (request->upgrade.len == 0 || request->body == RF_BODY_NONE))
		fault = put_head(c, request);
	if (fault)
		return rf_fail_say(err, -EINVAL, "%s", rf_fault_words(fault));
	c->ops = ops;
	c->own = own;
	c->body = request->body;
	c->left = request->body == RF_BODY_LENGTH ? request->length : 0;
	c->sent = request->body == RF_BODY_NONE ? FINISHED : SENDING;
	c->got = AWAITED;
	c->interim = 0;
	c->is_paused = c->is_full = false;
	c->asked = (struct rf_framing_asked){
		.is_head = rf_span_is(request->method, RF_SPAN("HEAD")),
		.is_connect = rf_span_is(request->method, RF_SPAN("CONNECT")),
		.is_upgrade = request->upgrade.len > 0,
	};
	c->err = RF_ERR_INIT;
	c->idle_ns = UINT64_MAX;
	c->since_ns = rf_loop_turn();
	c->total_ns = limits->total_ms ? c->since_ns + limits->total_ms * MS : UINT64_MAX;
	rf_http1_begin_response(&c->http, &c->asked);
	wake(c);
	return 0;
}

static int put_body(struct rf_call *c, struct rf_span bytes)
{
	struct rf_buf *out = rf_stream_output(&c->stream);
	int code;

	if (bytes.len == 0)
		return 0;
	if (bytes.len > out->max - out->len || out->max - out->len - bytes.len < CHUNK_FRAME)
		return -ENOBUFS;
	if (c->body != RF_BODY_CHUNKED)
		return rf_stream_write(&c->stream, bytes);
	rf_compose_chunk_begin(out, bytes.len);
	code = rf_stream_write(&c->stream, bytes);
	rf_compose_chunk_end(rf_stream_output(&c->stream));
	return out->has_failed ? -ENOMEM : code;
}

int rf_call_send(struct rf_call *c, struct rf_span bytes)
{
	int code;

	if (c->is_gone)
		return -EPIPE;
	if (c->sent != SENDING)
		return c->sent == FINISHED && c->body != RF_BODY_NONE ? -EPIPE : -EPROTO;
	if (rf_stream_pending(&c->stream) == 0)
		c->since_ns = rf_loop_turn();
	code = c->body == RF_BODY_LENGTH && bytes.len > c->left ? -EMSGSIZE : put_body(c, bytes);
	if (code < 0) {
		rf_fail(&c->err, code, "send the request's body");
		fail(c);
		return code;
	}
	if (c->body == RF_BODY_LENGTH)
		c->left -= bytes.len;
	wake(c);
	c->is_full = rf_stream_pending(&c->stream) > c->host->limits->out_bytes;
	return c->is_full;
}

int rf_call_finish(struct rf_call *c, struct rf_fields trailer)
{
	int code = 0;

	if (c->is_gone)
		return -EPIPE;
	if (c->sent != SENDING)
		return c->sent == FINISHED && c->body != RF_BODY_NONE ? -EPIPE : -EPROTO;
	if (c->left > 0)
		code = -EMSGSIZE;
	else if (c->body == RF_BODY_CHUNKED &&
		 rf_compose_last_chunk(rf_stream_output(&c->stream), trailer))
		code = -EPROTO;
	if (code < 0) {
		rf_fail(&c->err, code, "end the request's body");
		fail(c);
		return code;
	}
	c->sent = FINISHED;
	c->since_ns = rf_loop_turn();
	wake(c);
	return 0;
}

void rf_call_pause(struct rf_call *c, bool is_paused)
{
	c->is_paused = is_paused;
	c->since_ns = rf_loop_turn();
	wake(c);
}

void rf_call_abort(struct rf_call *c)
{
	rf_fail_say(&c->err, -ECANCELED, "given up");
	fail(c);
}

/* What an event was about is dropped when it was told; by who takes the connection in the midst of it, before. */
static void drop_used(struct rf_call *c)
{
	rf_stream_drop(&c->stream, c->used);
	c->used = 0;
}

int rf_call_take(struct rf_call *c, struct rf_stream *ret_stream, rf_event_fn *fn, void *data,
		 struct rf_err *err)
{
	if (c->is_gone || c->got != IN_BODY || c->http.head.framing.body != RF_BODY_TUNNEL)
		return rf_fail_say(err, -EPROTO, "the answer opens no tunnel");
	drop_used(c);
	if (rf_stream_move(&c->stream, c->host->loop, ret_stream, fn, data, err) < 0) {
		c->err = *err;
		fail(c);
		return err->code;
	}
	c->is_taken = c->is_gone = true;
	return 0;
}

/* --- the answer --- */

static bool fail_with(struct rf_call *c, int code, const char *what)
{
	rf_fail(&c->err, code, "%s", what);
	c->is_gone = true;
	return false;
}

/* Why the connection failed, as the kernel knows it best. */
static int cause(struct rf_call *c, int code)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(c->stream.transport.fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error)
		return -error;
	return code;
}

/* The connection failed: whoever knows best tells why. */
static bool fail_to(struct rf_call *c, int code, const char *what)
{
	const struct rf_transport *transport = &c->stream.transport;

	if (!transport->ops->explain || !transport->ops->explain(transport, &c->err))
		return fail_with(c, cause(c, code), what);
	rf_fail_in(&c->err, "%s", what);
	c->is_gone = true;
	return false;
}

static bool take_head(struct rf_call *c)
{
	const struct rf_http1_head *head = &c->http.head;

	c->is_interim = head->start.status < 200 && head->framing.body != RF_BODY_TUNNEL;
	if (c->is_interim && ++c->interim > INTERIM)
		return fail_with(c, -EPROTO, "too many interim answers");
	if (c->is_interim)
		return true;
	c->got = IN_BODY;
	if (c->ops->on_answer)
		c->ops->on_answer(c->own, c, head);
	return true;
}

static void receive_all(struct rf_call *c)
{
	c->got = RECEIVED;
	if (c->ops->on_body_end)
		c->ops->on_body_end(c->own, c, c->http.trailer);
}

static void take_end(struct rf_call *c)
{
	if (c->is_interim)
		rf_http1_begin_response(&c->http, &c->asked);
	else
		receive_all(c);
}

/* The other end sends no more. */
static bool end_input(struct rf_call *c)
{
	if (rf_http1_finish(&c->http, rf_stream_input(&c->stream).len > 0) != RF_HTTP1_END)
		return fail_with(c, -ECONNRESET,
				 "the server ended the connection before its answer");
	receive_all(c);
	return true;
}

static bool fill(struct rf_call *c)
{
	ssize_t n;

	if (!c->is_connected)
		return false;
	if (c->fills == 0) {
		if (!c->stream.event) /* nobody will tell us */
			rf_deadline_set(&c->soon, rf_loop_now());
		return false;
	}
	c->fills--;
	n = rf_stream_fill(&c->stream);
	if (n == -EAGAIN && c->stream.event)
		return false;
	if (n == 0)
		return end_input(c);
	if (n < 0)
		return fail_to(c, (int)n, "read the answer");
	c->since_ns = rf_loop_turn();
	return true;
}

static bool read_answer(struct rf_call *c)
{
	bool goes_on = true;

	switch (rf_http1_next(&c->http, rf_stream_input(&c->stream), &c->used)) {
	case RF_HTTP1_MORE:
		drop_used(c);
		return fill(c);
	case RF_HTTP1_HEAD:
		goes_on = take_head(c);
		break;
	case RF_HTTP1_DATA:
		if (c->ops->on_body)
			c->ops->on_body(c->own, c, c->http.data);
		break;
	case RF_HTTP1_END:
		take_end(c);
		break;
	case RF_HTTP1_BAD:
		rf_http1_explain(&c->http, &c->err);
		rf_fail_in(&c->err, "the answer is no HTTP");
		c->is_gone = true;
		return false;
	}
	drop_used(c);
	return goes_on;
}

/* --- the end --- */

/*
 * The answer is whole.  What is left of the request is not sent, and then the connection can't be used again.  The host is told first, so that a
 * caller who begins the next call at once finds it.
 */
static bool complete(struct rf_call *c)
{
	bool is_kept = c->http.head.framing.is_kept && c->sent == FINISHED && !c->cannot_send &&
		       c->stream.event && rf_stream_pending(&c->stream) == 0 &&
		       rf_stream_input(&c->stream).len == 0;

	c->sent = IDLE;
	c->is_used = true;
	c->total_ns = UINT64_MAX;
	c->is_gone = !is_kept || !c->host->on_idle(c->host, c);
	c->ops->on_end(c->own, c, NULL);
	return false;
}

/* The last that happens to a connection. */
static void leave(struct rf_call *c)
{
	struct rf_call_host *host = c->host;

	c->is_running = true; /* on_end() may call us: nothing is done of it */
	if (c->sent != IDLE)
		c->ops->on_end(c->own, c, c->is_taken ? NULL : &c->err);
	if (host->on_gone)
		host->on_gone(host, c);
	free_call(c);
}

static bool step(struct rf_call *c)
{
	if (c->is_gone)
		return false;
	if (c->sent == IDLE) { /* a server that speaks unasked, or ends it */
		c->is_gone = rf_stream_fill(&c->stream) != -EAGAIN || !c->stream.event;
		return false;
	}
	if (c->got == RECEIVED)
		return complete(c);
	return !c->is_paused && read_answer(c);
}

/* --- time --- */

void rf_call_idle_until(struct rf_call *c, uint64_t at_ns)
{
	c->idle_ns = at_ns;
	rf_deadline_set(&c->limit, at_ns);
}

static uint64_t after(uint64_t from_ns, uint32_t ms)
{
	return ms ? from_ns + ms * MS : UINT64_MAX;
}

/* When the server's time is up, for what it owes us; and what that is. */
static uint64_t limit_of(const struct rf_call *c, const char **ret_what)
{
	const struct rf_call_limits *limits = c->host->limits;
	uint64_t at = UINT64_MAX;

	*ret_what = "the server stalls";
	if (c->sent == IDLE)
		return c->idle_ns;
	if (!c->is_connected) {
		*ret_what = "connect";
		at = after(c->since_ns, limits->connect_ms);
	} else if (rf_stream_pending(&c->stream) > 0 || (c->got == IN_BODY && !c->is_paused)) {
		at = after(c->since_ns, limits->stall_ms);
	} else if (c->got == AWAITED && c->sent == FINISHED) {
		*ret_what = "wait for the answer";
		at = after(c->since_ns, limits->answer_ms);
	}
	if (c->total_ns < at)
		*ret_what = "finish in time";
	return at < c->total_ns ? at : c->total_ns;
}

static void on_limit(void *data)
{
	struct rf_call *c = data;
	const char *what;

	limit_of(c, &what);
	fail_with(c, -ETIMEDOUT, what);
	run(c);
}

/* --- the turn --- */

/* Sends what there is.  True if there may be more to do at once. */
static bool flush(struct rf_call *c)
{
	int code = rf_stream_pending(&c->stream) > 0 ? rf_stream_flush(&c->stream) : 0;
	bool has_sent = false;
	size_t left;

	left = rf_stream_pending(&c->stream);
	if (c->stream.sent > c->bytes_sent) { /* here, or when it was written */
		c->bytes_sent = c->stream.sent;
		c->since_ns = rf_loop_turn();
		c->is_connected = has_sent = true;
	}
	if (code < 0 && (code != -EAGAIN || !c->stream.event)) {
		if (!c->is_connected)
			return fail_to(c, code, "connect");
		/* A server that refuses a body may have answered, and read no more. */
		rf_buf_clear(&c->stream.out);
		c->stream.out_at = 0;
		c->sent = FINISHED;
		c->cannot_send = true;
		return true;
	}
	if (!c->is_full || left > c->host->limits->out_bytes / 2 || c->sent != SENDING)
		return has_sent;
	if (c->rooms == 0) { /* others have their turn */
		rf_deadline_set(&c->soon, rf_loop_now());
		return false;
	}
	c->rooms--;
	c->is_full = false;
	if (c->ops->on_room)
		c->ops->on_room(c->own, c);
	return true;
}

static void wait(struct rf_call *c)
{
	const char *what;
	uint64_t at = limit_of(c, &what);

	rf_stream_wait(&c->stream, c->is_connected && (c->sent == IDLE || !c->is_paused));
	if (at == UINT64_MAX)
		rf_deadline_cancel(&c->limit);
	else
		rf_deadline_set(&c->limit, at);
}

static void run(struct rf_call *c)
{
	c->is_running = true;
	c->fills = FILLS;
	c->rooms = ROOMS;
	do
		while (step(c))
			continue;
	while (!c->is_gone && c->sent != IDLE && flush(c));
	c->is_running = false;
	if (c->is_gone) {
		leave(c);
		return;
	}
	if (c->sent == IDLE)
		rf_stream_rest(&c->stream);
	wait(c);
}
