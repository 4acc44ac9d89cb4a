/*
 * One WebSocket of the API's: see wsline.h.
 *
 * As in exchange.c, everything happens in run(): calls of the owner's only note what is to be done.
 */
#include "server/wsline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/upgrade.h"

#define MS       1000000ull
#define FILLS    8
#define FULL     (256 * 1024)
#define OUT_MOST (8u << 20) /* what a job writes before it heeds a pause, and a result */
#define PING_MS  30000
#define DEAD_MS  75000 /* without a word */
#define LEAVE_MS 2000  /* for the client to say goodbye */

struct rf_wsline {
	struct rf_wsline_host *host;
	struct rf_wsline *next, **at;
	struct rf_stream stream;
	struct rf_websocket reader;
	struct rf_deadline soon, ping, leave;
	const struct rf_wsline_ops *ops; /* NULL: it has no owner any more */
	void *data;
	struct rf_buf text; /* of a message that is not whole */
	uint64_t heard_ns;
	bool is_running, is_paused, is_full, is_closing, is_shut, is_gone;
};

static const struct rf_websocket_limits limits = {
	.frame_bytes = 16u << 20,
	.message_bytes = UINT64_MAX, /* bytes of a stream; text has a bound of its own */
	.fragments = UINT32_MAX,
};

static void run(struct rf_wsline *line);

static void release(struct rf_wsline *line)
{
	*line->at = line->next;
	if (line->next)
		line->next->at = line->at;
	line->host->count--;
	rf_deadline_done(&line->soon);
	rf_deadline_done(&line->ping);
	rf_deadline_done(&line->leave);
	rf_stream_done(&line->stream);
	rf_buf_done(&line->text);
	free(line);
}

static void wake(struct rf_wsline *line)
{
	if (!line->is_running)
		rf_deadline_set(&line->soon, rf_loop_now());
}

/* ------------------------------------------------------------- out */

static void put_frame(struct rf_wsline *line, enum rf_websocket_kind kind, struct rf_span first,
		      struct rf_span rest)
{
	struct rf_buf *out = rf_stream_output(&line->stream);
	uint8_t head[RF_WEBSOCKET_HEAD];
	size_t len = rf_websocket_head(head, kind, true, first.len + rest.len, NULL);

	if (line->is_shut || line->is_gone)
		return;
	rf_buf_add(out, head, len);
	rf_buf_add(out, first.at, first.len);
	rf_buf_add(out, rest.at, rest.len);
	line->is_gone |= out->has_failed;
	line->is_full |= rf_stream_pending(&line->stream) > FULL;
	wake(line);
}

void rf_wsline_say(struct rf_wsline *line, struct rf_span text)
{
	put_frame(line, RF_WEBSOCKET_TEXT, text, RF_SPAN(""));
}

void rf_wsline_send(struct rf_wsline *line, char stream, struct rf_span bytes)
{
	put_frame(line, RF_WEBSOCKET_BINARY, (struct rf_span){ &stream, 1 }, bytes);
}

bool rf_wsline_is_full(const struct rf_wsline *line)
{
	return line->is_full;
}

void rf_wsline_pause(struct rf_wsline *line, bool is_paused)
{
	line->is_paused = is_paused;
	line->heard_ns = rf_loop_now();
	wake(line);
}

/* Says goodbye, once; nothing follows it. */
static void say_goodbye(struct rf_wsline *line, uint16_t code, const char *reason)
{
	char payload[RF_WEBSOCKET_CONTROL];
	size_t len = rf_websocket_close(payload, code, rf_span_of(reason));

	if (line->is_closing)
		return;
	put_frame(line, RF_WEBSOCKET_CLOSE, (struct rf_span){ payload, len }, RF_SPAN(""));
	line->is_closing = true;
	rf_deadline_set(&line->leave, rf_loop_now() + LEAVE_MS * MS);
}

void rf_wsline_close(struct rf_wsline *line, uint16_t code, const char *reason)
{
	if (!line)
		return;
	line->ops = NULL;
	line->is_paused = false;
	say_goodbye(line, code, reason);
	wake(line);
}

/* ------------------------------------------------------------- in */

/* The owner hears of it once. */
static void tell_end(struct rf_wsline *line)
{
	const struct rf_wsline_ops *ops = line->ops;

	line->ops = NULL;
	if (ops)
		ops->on_end(line->data);
}

static void take_text(struct rf_wsline *line, const struct rf_websocket_event *event)
{
	rf_buf_add(&line->text, event->payload.at, event->payload.len);
	if (line->text.has_failed) {
		say_goodbye(line, RF_WSLINE_LARGE, "a text may have 256 KiB");
		tell_end(line);
		return;
	}
	if (!event->is_end)
		return;
	if (line->ops)
		line->ops->on_text(
			line->data,
			(struct rf_span){ line->text.len ? line->text.data : "", line->text.len });
	rf_buf_clear(&line->text);
}

static void take_control(struct rf_wsline *line, const struct rf_websocket_event *event)
{
	if (event->kind == RF_WEBSOCKET_PING && !line->is_closing) {
		put_frame(line, RF_WEBSOCKET_PONG, event->payload, RF_SPAN(""));
	} else if (event->kind == RF_WEBSOCKET_CLOSE) {
		say_goodbye(line,
			    event->code == RF_WEBSOCKET_NO_CODE ? RF_WSLINE_DONE : event->code, "");
		line->is_shut = true; /* when it is sent */
		tell_end(line);
	}
}

static void take_fault(struct rf_wsline *line)
{
	say_goodbye(line, rf_websocket_fault_code(line->reader.fault),
		    rf_websocket_fault_words(line->reader.fault));
	line->is_shut = true;
	tell_end(line);
}

/* Reads on in what there is.  False: all of it is used. */
static bool read_some(struct rf_wsline *line)
{
	struct rf_span in = rf_stream_input(&line->stream);
	struct rf_websocket_event event;
	size_t used = 0;

	if (in.len == 0)
		return false;
	/* It is the stream's own memory, and unmasked where it stands. */
	switch (rf_websocket_next(&line->reader, &limits, (char *)(uintptr_t)in.at, in.len, &used,
				  &event)) {
	case RF_WEBSOCKET_DATA:
		if (event.kind == RF_WEBSOCKET_TEXT)
			take_text(line, &event);
		else if (line->ops && event.payload.len > 0)
			line->ops->on_bytes(line->data, event.payload);
		break;
	case RF_WEBSOCKET_CONTROL_FRAME:
		take_control(line, &event);
		break;
	case RF_WEBSOCKET_BAD:
		take_fault(line);
		break;
	case RF_WEBSOCKET_WANTS:
		break;
	}
	rf_stream_drop(&line->stream, used);
	return true;
}

static void read_all(struct rf_wsline *line)
{
	for (int i = 0; i < FILLS && !line->is_gone;) {
		ssize_t n;

		if (line->is_paused || line->is_shut)
			return;
		if (read_some(line))
			continue;
		n = rf_stream_fill(&line->stream);
		if (n == -EAGAIN && line->stream.event)
			return;
		if (n <= 0) {
			line->is_gone = true;
			return;
		}
		line->heard_ns = rf_loop_turn();
		i++;
	}
	rf_deadline_set(&line->soon, rf_loop_now()); /* others have their turn */
}

/* ------------------------------------------------------------- the turn */

static void flush(struct rf_wsline *line)
{
	int code = rf_stream_pending(&line->stream) > 0 ? rf_stream_flush(&line->stream) : 0;

	if (code < 0 && (code != -EAGAIN || !line->stream.event))
		line->is_gone = true;
	if (line->is_shut && rf_stream_pending(&line->stream) == 0) {
		line->stream.transport.ops->shut(&line->stream.transport);
		line->is_gone = true;
	}
	if (!line->is_full || line->is_gone || rf_stream_pending(&line->stream) > FULL / 2)
		return;
	line->is_full = false;
	if (line->ops)
		line->ops->on_room(line->data);
}

static void run(struct rf_wsline *line)
{
	line->is_running = true;
	if (!line->stream.event && line->is_paused)
		line->is_gone = true; /* nobody will read on, or hear of it */
	read_all(line);
	if (!line->is_gone)
		flush(line);
	if (!line->is_gone && rf_stream_pending(&line->stream) > 0)
		flush(line); /* what on_room() has sent */
	line->is_running = false;
	if (line->is_gone) {
		tell_end(line);
		release(line);
		return;
	}
	rf_stream_wait(&line->stream, !line->is_paused && !line->is_shut);
}

static void on_stream(void *data, int what)
{
	(void)what;
	run(data);
}

static void on_soon(void *data)
{
	run(data);
}

static void on_ping(void *data)
{
	struct rf_wsline *line = data;

	if (!line->is_paused && rf_loop_now() - line->heard_ns > DEAD_MS * MS)
		line->is_gone = true;
	else if (!line->is_closing)
		put_frame(line, RF_WEBSOCKET_PING, RF_SPAN(""), RF_SPAN(""));
	rf_deadline_set(&line->ping, rf_loop_now() + PING_MS * MS);
	wake(line);
}

static void on_leave(void *data)
{
	struct rf_wsline *line = data;

	line->is_gone = true;
	wake(line);
}

/* ------------------------------------------------------------- life */

static int take_over(struct rf_wsline *line, struct rf_exchange *x,
		     const struct rf_upgrade *upgrade, struct rf_err *err)
{
	struct rf_field fields[2] = { { RF_SPAN("Sec-WebSocket-Accept"), { NULL, 0 } },
				      { RF_SPAN("Sec-WebSocket-Protocol"),
					RF_SPAN(RF_UPGRADE_PROTOCOL) } };
	RF_AUTO_BUF struct rf_buf accept;

	rf_buf_init(&accept, 64);
	rf_websocket_accept(rf_span_of(upgrade->key), &accept);
	if (accept.has_failed)
		return rf_fail(err, -ENOMEM, "a WebSocket");
	fields[0].value = (struct rf_span){ accept.data, accept.len };
	return rf_exchange_take(x, RF_SPAN("websocket"),
				(struct rf_fields){ fields, upgrade->offers_ringfort ? 2u : 1u },
				&line->stream, on_stream, line, err);
}

int rf_wsline_new(struct rf_wsline_host *host, struct rf_exchange *x,
		  const struct rf_upgrade *upgrade, const struct rf_wsline_ops *ops, void *data,
		  struct rf_wsline **ret_line, struct rf_err *err)
{
	struct rf_wsline *line = calloc(1, sizeof(*line));

	if (!line)
		return rf_fail(err, -ENOMEM, "a WebSocket");
	line->host = host;
	line->ops = ops;
	line->data = data;
	line->reader.is_masked = true;
	line->heard_ns = rf_loop_now();
	rf_buf_init(&line->text, RF_WSLINE_TEXT);
	if (rf_deadline_init(&line->soon, host->deadlines, on_soon, line) < 0 ||
	    rf_deadline_init(&line->ping, host->deadlines, on_ping, line) < 0 ||
	    rf_deadline_init(&line->leave, host->deadlines, on_leave, line) < 0)
		rf_fail(err, -ENOMEM, "a WebSocket");
	if (err->code || take_over(line, x, upgrade, err) < 0) {
		rf_deadline_done(&line->soon);
		rf_deadline_done(&line->ping);
		rf_deadline_done(&line->leave);
		free(line);
		return err->code;
	}
	line->stream.out.max = OUT_MOST;
	line->at = &host->first;
	line->next = host->first;
	if (line->next)
		line->next->at = &line->next;
	host->first = line;
	host->count++;
	rf_deadline_set(&line->ping, rf_loop_now() + PING_MS * MS);
	wake(line);
	*ret_line = line;
	return 0;
}

void rf_wsline_free_all(struct rf_wsline_host *host)
{
	for (struct rf_wsline *line = host->first, *next; line; line = next) {
		next = line->next;
		release(line);
	}
}
