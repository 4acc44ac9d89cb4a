/*
 * One connection of a server: see exchange.h.
 *
 * Everything happens in run(): the loop's events and deadlines lead there, and calls of the handler's only note what is to be done. It takes steps while there are any, then
 * sends what there is to send, and says what to wait for.
 */
#include "http/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/compose.h"

#define KIB         1024
#define MS          1000000ull
#define LINGER_MS   2000       /* for the client to read an answer before the connection goes */
#define FILLS       8          /* reads in a row, before others have their turn */
#define ROOMS       4          /* and times to go on sending */
#define OUT_SPARE   1048576    /* bytes beyond those at which the handler is asked to wait */
#define HEED_BYTES  (16 * KIB) /* that are read ahead of the next request */
#define CHUNK_FRAME 32         /* bytes around a chunk, and behind the last one, at most */
#define PIECE       (64 * KIB) /* of a pipe that is copied */
#define MANY        (16 * KIB) /* in a pipe: from here on copying costs more than three calls */
#define SPLICES     8          /* in a row, before others have their turn */

const struct rf_exchange_limits rf_exchange_usual = {
	.http = {
		.head = { .first_bytes = 16 * KIB, .line_bytes = 16 * KIB, .all_bytes = 64 * KIB },
		.trailer = { .first_bytes = 4 * KIB, .line_bytes = 4 * KIB, .all_bytes = 8 * KIB },
		.body = { .line_bytes = 256, .extension_bytes = 16 * KIB, .body_bytes = UINT64_MAX },
	},
	.head_ms = 10 * 1000,
	.idle_ms = 60 * 1000,
	.stall_ms = 30 * 1000,
	.out_bytes = 256 * KIB,
	.drain_bytes = 256 * KIB,
};

/* How far the request is read, and how far it is answered. */
enum asked {
	AWAITED, /* its head is not there */
	IN_BODY, /* the handler knows its head */
	RECEIVED
};
enum answered {
	NOTHING,
	BEGUN, /* its head is written */
	FINISHED
};

/* What becomes of the connection. */
enum fate {
	OPEN,
	CLOSING, /* what is pending is sent, then nothing more */
	SHUT,    /* it is sent; what still comes is dropped, so that no reset destroys the answer */
	GONE
};

struct rf_exchange {
	struct rf_exchange_host *host;
	struct rf_exchange *next, **link;
	struct rf_stream stream;
	struct rf_http1 http;
	struct rf_field fields[RF_EXCHANGE_FIELDS];
	struct rf_deadline soon, limit;
	uint64_t since_ns, head_ns,
		total_ns; /* of the last step, of a head's first byte, of the end at the latest */
	enum asked asked;
	enum answered answered;
	enum fate fate;
	void *own;
	bool is_running, is_handled; /* is_handled: on_end() is due */
	bool is_head, is_old, is_kept, is_paused, wants_continue, is_full, can_take;
	bool is_bare;      /* the answer has a body, of which nothing is there yet */
	enum rf_body body; /* of the answer */
	uint64_t left;     /* of one with a length */
	int pipe;          /* whose next bytes are a piece that has begun */
	size_t piped;      /* how many of them are left */
	uint64_t drained;
	uint64_t sent;         /* bytes, when it was last looked */
	size_t used;           /* bytes of the input that the last event was about */
	unsigned fills, rooms; /* left in this turn: reads, and times to go on sending */
};

static void run(struct rf_exchange *x);

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

static void free_exchange(struct rf_exchange *x)
{
	rf_deadline_done(&x->soon);
	rf_deadline_done(&x->limit);
	rf_stream_done(&x->stream);
	free(x);
}

int rf_exchange_new(struct rf_exchange_host *host, struct rf_transport transport,
		    struct rf_err *err)
{
	const struct rf_exchange_limits *limits = host->limits;
	struct rf_exchange *x = calloc(1, sizeof(*x));

	if (!x) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	x->host = host;
	/* The owner of a whole head's bytes is the parser; a piece more lets a body begin behind it. */
	if (rf_stream_init(&x->stream, host->loop, transport,
			   limits->http.head.all_bytes + 16 * KIB, limits->out_bytes + OUT_SPARE,
			   on_stream, x, err) < 0) {
		free(x);
		return err->code;
	}
	if (rf_deadline_init(&x->soon, host->deadlines, on_soon, x) < 0 ||
	    rf_deadline_init(&x->limit, host->deadlines, on_limit, x) < 0) {
		free_exchange(x);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	x->link = &host->first;
	x->next = host->first;
	if (x->next)
		x->next->link = &x->next;
	host->first = x;
	host->count++;
	x->since_ns = x->head_ns = rf_loop_now();
	x->total_ns = UINT64_MAX;
	rf_http1_init(&x->http, &limits->http, x->fields, RF_LEN(x->fields));
	rf_http1_begin_request(&x->http);
	rf_deadline_set(&x->soon, x->since_ns);
	return 0;
}

static void end_handler(struct rf_exchange *x, bool is_whole)
{
	const struct rf_exchange_ops *ops = x->host->ops;

	if (!x->is_handled)
		return;
	x->is_handled = false;
	if (ops->on_end)
		ops->on_end(x->own, x, is_whole);
}

/* The last that happens to a connection. */
static void leave(struct rf_exchange *x)
{
	struct rf_exchange_host *host = x->host;

	x->is_running = true;                    /* on_end() may call us: nothing is done of it */
	end_handler(x, x->answered == FINISHED); /* as a tunnel's is that was taken */
	*x->link = x->next;
	if (x->next)
		x->next->link = x->link;
	host->count--;
	free_exchange(x);
	if (host->on_closed)
		host->on_closed(host);
}

void rf_exchange_close_all(struct rf_exchange_host *host)
{
	struct rf_exchange *next;

	for (struct rf_exchange *x = host->first; x; x = next) {
		next = x->next;
		x->fate = GONE;
		leave(x);
	}
}

/* What a call of the handler's noted is done when the loop comes round. */
static void wake(struct rf_exchange *x)
{
	if (!x->is_running)
		rf_deadline_set(&x->soon, rf_loop_now());
}

/* A cut that the client can't take for the end of the answer. */
static void cut(struct rf_exchange *x)
{
	static const struct linger now = { .l_onoff = 1 };

	if (x->answered == BEGUN && x->stream.transport.fd >= 0)
		setsockopt(x->stream.transport.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	x->fate = GONE;
	wake(x);
}

/* --- the answer --- */

static enum rf_fault put_head(struct rf_exchange *x, unsigned status, struct rf_fields fields,
			      enum rf_body body, uint64_t length, struct rf_span protocol)
{
	struct rf_compose head;

	rf_compose_response(&head, rf_stream_output(&x->stream), status, rf_compose_reason(status));
	for (size_t i = 0; i < fields.count; i++) {
		if (rf_span_is_like(fields.at[i].name, RF_SPAN("connection")))
			head.fault = RF_FAULT_NAME_OWN;
		rf_compose_field(&head, fields.at[i].name, fields.at[i].value);
	}
	if (protocol.len > 0) {
		rf_compose_field(&head, RF_SPAN("Connection"), RF_SPAN("upgrade"));
		rf_compose_field(&head, RF_SPAN("Upgrade"), protocol);
	} else if (!x->is_kept && body != RF_BODY_TUNNEL) {
		rf_compose_field(&head, RF_SPAN("Connection"), RF_SPAN("close"));
	}
	if (body == RF_BODY_LENGTH)
		rf_compose_length(&head, length);
	if (body == RF_BODY_CHUNKED)
		rf_compose_chunked(&head);
	return rf_compose_end(&head);
}

enum rf_fault rf_exchange_answer(struct rf_exchange *x, unsigned status, struct rf_fields fields,
				 enum rf_body body, uint64_t length)
{
	bool has_none = status < 200 || status == 204 || status == 304;
	enum rf_body framing = body;
	enum rf_fault fault;

	if (x->fate != OPEN || x->answered != NOTHING || !x->is_handled)
		return RF_FAULT_CUT;
	if (status < 200 || body == RF_BODY_TUNNEL || (has_none && body != RF_BODY_NONE))
		return RF_FAULT_BODY_UNWANTED;
	if (body == RF_BODY_NONE && !has_none)
		framing = RF_BODY_LENGTH; /* of 0: without it the client would wait for the end */
	if (body == RF_BODY_CHUNKED && x->is_old)
		framing = RF_BODY_CLOSE; /* of a connection that is not kept anyway */
	/* A client that is not told to go on may send the body, or the next request: nobody knows. */
	if (x->wants_continue && x->asked == IN_BODY)
		x->is_kept = false;
	fault = put_head(x, status, fields, framing, body == RF_BODY_LENGTH ? length : 0,
			 RF_SPAN(""));
	if (fault)
		return fault;
	x->answered = BEGUN;
	x->body = framing;
	x->left = body == RF_BODY_LENGTH ? length : 0;
	x->is_bare = x->left > 0 && !x->is_head;
	wake(x);
	return RF_FAULT_NONE;
}

static int put_body(struct rf_exchange *x, struct rf_span bytes)
{
	struct rf_buf *out = rf_stream_output(&x->stream);
	int code;

	if (x->is_head || bytes.len == 0)
		return 0;
	if (bytes.len > out->max - out->len || out->max - out->len - bytes.len < CHUNK_FRAME)
		return -ENOBUFS;
	if (x->body != RF_BODY_CHUNKED)
		return rf_stream_write(&x->stream, bytes);
	rf_compose_chunk_begin(out, bytes.len);
	code = rf_stream_write(&x->stream, bytes);
	rf_compose_chunk_end(rf_stream_output(&x->stream));
	return out->has_failed ? -ENOMEM : code;
}

/*
 * A head whose body has a length, and is on its way, goes out with the first of it: most servers send both one right behind the other, and a client
 * that was woken for the head alone would wait once more.  It is the kernel that waits, for 200 ms at most (send(2), MSG_MORE).  What has no length, as
 * a stream of events, is passed on as it comes.
 */
static void begin_wait(struct rf_exchange *x)
{
	x->stream.transport.has_more = x->is_bare && x->fate == OPEN;
}

static void end_wait(struct rf_exchange *x)
{
	x->is_bare = x->stream.transport.has_more = false;
}

int rf_exchange_send(struct rf_exchange *x, struct rf_span bytes)
{
	int code;

	if (x->fate != OPEN)
		return -EPIPE;
	if (x->answered != BEGUN)
		return -EPROTO;
	if (x->body == RF_BODY_NONE || x->piped > 0 ||
	    (x->body == RF_BODY_LENGTH && bytes.len > x->left)) {
		cut(x);
		return -EMSGSIZE;
	}
	if (rf_stream_pending(&x->stream) == 0)
		x->since_ns = rf_loop_turn();
	end_wait(x);
	code = put_body(x, bytes);
	if (code < 0) {
		cut(x);
		return code;
	}
	if (x->body == RF_BODY_LENGTH)
		x->left -= bytes.len;
	wake(x);
	x->is_full = rf_stream_pending(&x->stream) > x->host->limits->out_bytes;
	return x->is_full;
}

/* Sends of the piece that has begun what the client takes.  False if the rest has to wait. */
static bool push_pipe(struct rf_exchange *x)
{
	for (int i = 0; i < SPLICES && x->piped > 0; i++) {
		ssize_t n = rf_stream_pending(&x->stream) > 0 ? rf_stream_flush(&x->stream) : 0;

		if (n == 0)
			n = rf_stream_splice(&x->stream, x->pipe, x->piped);
		if (n == -EAGAIN)
			break;
		if (n <= 0) { /* who owns the pipe has not kept it, or nobody is there */
			cut(x);
			return false;
		}
		x->piped -= (size_t)n;
	}
	x->stream.wants_room = x->piped > 0;
	if (x->piped > 0)
		return false;
	if (x->body == RF_BODY_CHUNKED)
		rf_compose_chunk_end(rf_stream_output(&x->stream));
	return true;
}

static ssize_t copy_pipe(struct rf_exchange *x, int pipe, size_t most, bool *ret_is_full)
{
	char bytes[PIECE];
	ssize_t n = read(pipe, bytes, most < sizeof(bytes) ? most : sizeof(bytes));
	int code;

	if (n <= 0)
		return n < 0 && errno == EINTR ? -EAGAIN : n < 0 ? -errno : 0;
	code = rf_exchange_send(x, (struct rf_span){ bytes, (size_t)n });
	*ret_is_full = code > 0;
	return code < 0 ? code : n;
}

/* How many bytes can go from the pipe as they are; 0: they are few, or have to be seen. */
static size_t many_in(const struct rf_exchange *x, int pipe, size_t most)
{
	int count = 0;

	if (!x->stream.transport.ops->splice || x->is_head || !x->stream.event ||
	    ioctl(pipe, FIONREAD, &count) < 0 || count < MANY)
		return 0;
	return (size_t)count < most ? (size_t)count : most;
}

ssize_t rf_exchange_send_pipe(struct rf_exchange *x, int pipe, size_t most, bool *ret_is_full)
{
	size_t count;

	*ret_is_full = false;
	if (x->fate != OPEN)
		return -EPIPE;
	if (x->answered != BEGUN)
		return -EPROTO;
	if (x->piped > 0 || x->is_full)
		return -EBUSY;
	if (x->body == RF_BODY_LENGTH && most > x->left)
		most = (size_t)x->left;
	count = x->body != RF_BODY_NONE ? many_in(x, pipe, most) : 0;
	if (count == 0)
		return copy_pipe(x, pipe, most, ret_is_full);
	if (x->body == RF_BODY_CHUNKED)
		rf_compose_chunk_begin(rf_stream_output(&x->stream), count);
	if (x->body == RF_BODY_LENGTH)
		x->left -= count;
	x->pipe = pipe;
	x->piped = count;
	end_wait(x);
	x->since_ns = rf_loop_turn();
	if (!push_pipe(x) && x->fate != OPEN)
		return -EPIPE;
	x->is_full = *ret_is_full = x->piped > 0;
	wake(x);
	return (ssize_t)count;
}

int rf_exchange_finish(struct rf_exchange *x, struct rf_fields trailer)
{
	if (x->fate != OPEN)
		return -EPIPE;
	if (x->answered != BEGUN)
		return -EPROTO;
	if ((x->left > 0 && !x->is_head) || x->piped > 0) {
		cut(x);
		return -EMSGSIZE;
	}
	if (x->body == RF_BODY_CHUNKED && !x->is_head &&
	    rf_compose_last_chunk(rf_stream_output(&x->stream), trailer)) {
		cut(x);
		return -EPROTO;
	}
	x->answered = FINISHED;
	wake(x);
	return 0;
}

enum rf_fault rf_exchange_reply(struct rf_exchange *x, unsigned status, struct rf_span type,
				struct rf_span body)
{
	struct rf_field field = { RF_SPAN("Content-Type"), type };
	enum rf_fault fault =
		rf_exchange_answer(x, status, (struct rf_fields){ &field, 1 },
				   body.len ? RF_BODY_LENGTH : RF_BODY_NONE, body.len);

	if (fault)
		return fault;
	if (body.len > 0)
		rf_exchange_send(x, body);
	rf_exchange_finish(x, (struct rf_fields){ 0 });
	return RF_FAULT_NONE;
}

void rf_exchange_keep(struct rf_exchange *x, void *own)
{
	x->own = own;
}

void rf_exchange_pause(struct rf_exchange *x, bool is_paused)
{
	x->is_paused = is_paused;
	x->since_ns = rf_loop_turn();
	wake(x);
}

void rf_exchange_abort(struct rf_exchange *x)
{
	cut(x);
}

/* What an event was about is dropped when it was told; by who takes the connection in the midst of it, before. */
static void drop_used(struct rf_exchange *x)
{
	rf_stream_drop(&x->stream, x->used);
	x->used = 0;
}

int rf_exchange_take(struct rf_exchange *x, struct rf_span protocol, struct rf_fields fields,
		     struct rf_stream *ret_stream, rf_event_fn *fn, void *data, struct rf_err *err)
{
	enum rf_fault fault;

	if (x->fate != OPEN || x->answered != NOTHING || !x->can_take ||
	    (protocol.len > 0) != x->http.head.framing.is_upgrade)
		return rf_fail_say(err, -EPROTO, "no other protocol was asked for");
	fault = put_head(x, protocol.len > 0 ? 101 : 200, fields, RF_BODY_TUNNEL, 0, protocol);
	if (fault)
		return rf_fail_say(err, -EPROTO, "%s", rf_fault_words(fault));
	drop_used(x);
	if (rf_stream_move(&x->stream, x->host->loop, ret_stream, fn, data, err) < 0) {
		cut(x);
		return err->code;
	}
	x->answered = FINISHED;
	x->fate = GONE;
	wake(x);
	return 0;
}

/* --- the request --- */

/* Answers what the handler will not see, or can't answer any more, and closes. */
static bool refuse(struct rf_exchange *x, unsigned status, const char *words)
{
	static const struct rf_field plain = { RF_SPAN_INIT("Content-Type"),
					       RF_SPAN_INIT("text/plain; charset=utf-8") };
	static const struct rf_field json = { RF_SPAN_INIT("Content-Type"),
					      RF_SPAN_INIT("application/json") };
	bool has_form = x->host->put_refusal;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 4 * KIB);
	if (x->answered != NOTHING) {
		cut(x);
		return false;
	}
	if (has_form)
		x->host->put_refusal(status, words, &text);
	else
		rf_buf_printf(&text, "%s\n", words);
	x->is_kept = false;
	put_head(x, status, (struct rf_fields){ has_form ? &json : &plain, 1 }, RF_BODY_LENGTH,
		 text.len, RF_SPAN(""));
	if (!x->is_head)
		rf_stream_write(&x->stream, (struct rf_span){ text.data, text.len });
	x->answered = FINISHED;
	if (!x->is_handled && x->host->on_refused)
		x->host->on_refused(x->host, status, words);
	end_handler(x, false);
	x->since_ns = rf_loop_turn();
	x->fate = CLOSING;
	return true;
}

static void begin_handler(struct rf_exchange *x)
{
	const struct rf_http1_head *head = &x->http.head;
	const struct rf_framing *framing = &head->framing;

	x->asked = IN_BODY;
	x->is_head = rf_span_is(head->start.method, RF_SPAN("HEAD"));
	x->is_old = head->start.minor == 0;
	x->is_kept = framing->is_kept;
	x->wants_continue = framing->wants_continue;
	x->can_take = framing->is_upgrade || head->start.form == RF_TARGET_AUTHORITY;
	x->total_ns = x->host->limits->total_ms ? rf_loop_now() + x->host->limits->total_ms * MS
						: UINT64_MAX;
	x->is_handled = true;
	x->own = x->host->data;
	x->host->ops->on_request(x->host->data, x, head);
}

static void give_body(struct rf_exchange *x)
{
	const struct rf_exchange_ops *ops = x->host->ops;

	x->wants_continue = false; /* it did not wait */
	if (x->answered != FINISHED) {
		if (ops->on_body)
			ops->on_body(x->own, x, x->http.data);
		return;
	}
	x->drained += x->http.data.len;
	if (x->drained > x->host->limits->drain_bytes)
		x->is_kept = false;
}

static void end_body(struct rf_exchange *x)
{
	const struct rf_exchange_ops *ops = x->host->ops;

	x->asked = RECEIVED;
	if (x->answered != FINISHED && ops->on_body_end)
		ops->on_body_end(x->own, x, x->http.trailer);
}

/* Reads more.  True if there was some. */
static bool fill(struct rf_exchange *x)
{
	bool is_first = rf_stream_input(&x->stream).len == 0;
	ssize_t n;

	if (x->fills == 0) {
		if (!x->stream.event) /* nobody will tell us */
			rf_deadline_set(&x->soon, rf_loop_now());
		return false;
	}
	x->fills--;
	if (x->wants_continue && x->asked == IN_BODY && x->answered == NOTHING) {
		x->wants_continue = false;
		rf_stream_write(&x->stream, RF_SPAN("HTTP/1.1 100 Continue\r\n\r\n"));
	}
	n = rf_stream_fill(&x->stream);
	if (n == -EAGAIN && x->stream.event)
		return false;
	if (n == 0 && x->asked == AWAITED) { /* who asks no more may still wait for answers */
		x->fate = CLOSING;
		return true;
	}
	if (n <= 0) {
		cut(x);
		return false;
	}
	x->since_ns = rf_loop_turn();
	if (is_first && x->asked == AWAITED)
		x->head_ns = x->since_ns;
	return true;
}

static bool read_request(struct rf_exchange *x)
{
	switch (rf_http1_next(&x->http, rf_stream_input(&x->stream), &x->used)) {
	case RF_HTTP1_MORE:
		drop_used(x);
		return fill(x);
	case RF_HTTP1_HEAD:
		begin_handler(x);
		break;
	case RF_HTTP1_DATA:
		give_body(x);
		break;
	case RF_HTTP1_END:
		end_body(x);
		break;
	case RF_HTTP1_BAD:
		return refuse(x, (unsigned)rf_fault_status(x->http.fault),
			      rf_fault_words(x->http.fault));
	}
	drop_used(x);
	return true;
}

/*
 * The request is received and answered: the next one, or the end.  The client has its answer before the handler hears of the end and keeps its books,
 * unless more answers follow at once, to go out together.  What goes wrong here is found by who sends the rest, flush().
 */
static bool go_on(struct rf_exchange *x)
{
	end_wait(x);
	if (rf_stream_input(&x->stream).len == 0)
		rf_stream_flush(&x->stream);
	end_handler(x, true);
	x->total_ns = UINT64_MAX;
	x->since_ns = x->head_ns = rf_loop_now();
	if (!x->is_kept) {
		x->fate = CLOSING;
		return true;
	}
	x->asked = AWAITED;
	x->answered = NOTHING;
	x->is_paused = x->is_full = x->wants_continue = x->is_head = x->can_take = false;
	x->drained = 0;
	rf_http1_begin_request(&x->http);
	return true;
}

/* Nothing more is sent.  Unread bytes would make the kernel reset the connection, and the answer be lost. */
static bool close_down(struct rf_exchange *x)
{
	ssize_t n;

	if (rf_stream_pending(&x->stream) > 0 || x->fills == 0)
		return false;
	x->fills--;
	if (x->fate == CLOSING) {
		x->stream.transport.ops->shut(&x->stream.transport);
		x->fate = SHUT;
		x->drained = 0;
	}
	rf_stream_drop(&x->stream, rf_stream_input(&x->stream).len);
	n = rf_stream_fill(&x->stream);
	if (n > 0)
		x->drained += (uint64_t)n;
	if (n == -EAGAIN && x->stream.event && x->asked != RECEIVED)
		return false;
	if (n <= 0 || x->drained > x->host->limits->drain_bytes)
		x->fate = GONE;
	return x->fate != GONE;
}

static bool is_reading(const struct rf_exchange *x)
{
	if (x->asked == IN_BODY)
		return !x->is_paused || x->answered == FINISHED;
	/* Who sends requests and takes no answers gets no more of them. */
	return x->asked == AWAITED && rf_stream_pending(&x->stream) <= x->host->limits->out_bytes;
}

/* While the handler is at work: a client that is gone is noticed, and what it sends ahead is kept, up to a point. */
static bool is_heeding(const struct rf_exchange *x)
{
	return x->host->limits->heeds_client && x->fate == OPEN && x->asked == RECEIVED &&
	       x->answered != FINISHED && rf_stream_input(&x->stream).len < HEED_BYTES;
}

/* One step.  False if there is nothing to do but wait. */
static bool step(struct rf_exchange *x)
{
	if (x->fate == GONE)
		return false;
	if (x->fate != OPEN)
		return close_down(x);
	if (x->answered == FINISHED && (x->asked == RECEIVED || !x->is_kept))
		return go_on(x);
	if (is_heeding(x))
		return fill(x);
	return is_reading(x) && read_request(x);
}

/* --- time --- */

static uint64_t after(uint64_t from_ns, uint32_t ms)
{
	return ms ? from_ns + ms * MS : UINT64_MAX;
}

/* When the client's time is up, for what it owes us. */
static uint64_t limit_of(const struct rf_exchange *x)
{
	const struct rf_exchange_limits *limits = x->host->limits;
	uint64_t at = UINT64_MAX;

	if (x->fate != OPEN)
		return after(x->since_ns, LINGER_MS);
	if (rf_stream_pending(&x->stream) > 0 || x->piped > 0 ||
	    (x->asked == IN_BODY && is_reading(x)))
		at = after(x->since_ns, limits->stall_ms);
	else if (x->asked == AWAITED)
		at = rf_stream_input(&x->stream).len > 0 ? after(x->head_ns, limits->head_ms)
							 : after(x->since_ns, limits->idle_ms);
	return at < x->total_ns ? at : x->total_ns;
}

static void on_limit(void *data)
{
	struct rf_exchange *x = data;
	bool is_idle = x->asked == AWAITED && rf_stream_input(&x->stream).len == 0;

	x->is_running = true;
	if (x->fate != OPEN || is_idle)
		x->fate = GONE;
	else if (rf_stream_pending(&x->stream) > 0 || x->piped > 0)
		cut(x);
	else if (x->asked == RECEIVED)
		refuse(x, 504, "there was no answer in time");
	else
		refuse(x, 408, "the request did not come in time");
	run(x);
}

/* --- the turn --- */

/* Sends what there is.  True if the handler was asked to wait, and may go on. */
static bool flush(struct rf_exchange *x)
{
	size_t before = rf_stream_pending(&x->stream), left;
	int code;

	begin_wait(x);
	code = before > 0 ? rf_stream_flush(&x->stream) : 0;
	if (code == 0 && x->piped > 0 && x->fate == OPEN)
		push_pipe(x);
	left = rf_stream_pending(&x->stream);

	if (x->stream.sent > x->sent) { /* here, or when it was written */
		x->sent = x->stream.sent;
		x->since_ns = rf_loop_turn();
	}
	if (code < 0 && (code != -EAGAIN || !x->stream.event))
		x->fate = GONE;
	if (x->piped > 0 && !x->stream.event)
		x->fate = GONE;
	if (!x->is_full || x->piped > 0 || left > x->host->limits->out_bytes / 2 || x->fate != OPEN)
		return false;
	if (x->rooms == 0) { /* others have their turn */
		rf_deadline_set(&x->soon, rf_loop_now());
		return false;
	}
	x->rooms--;
	x->is_full = false;
	if (x->host->ops->on_room)
		x->host->ops->on_room(x->own, x);
	return true;
}

static void run(struct rf_exchange *x)
{
	uint64_t at;

	x->is_running = true;
	x->fills = FILLS;
	x->rooms = ROOMS;
	do
		while (step(x))
			continue;
	while (x->fate != GONE && (flush(x) || (x->fate == CLOSING && step(x))));
	x->is_running = false;
	if (x->fate == GONE) {
		leave(x);
		return;
	}
	if (x->asked == AWAITED)
		rf_stream_rest(&x->stream);
	rf_stream_wait(&x->stream,
		       x->fate == OPEN ? is_reading(x) || is_heeding(x) : x->fate == SHUT);
	at = limit_of(x);
	if (at == UINT64_MAX)
		rf_deadline_cancel(&x->limit);
	else
		rf_deadline_set(&x->limit, at);
}
