/* A WebSocket that is looked into: see frames.h. */
#include "gateway/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/forward-inside.h"
#include "http/websocket.h"

#define PIECE (256u * 1024) /* bytes that filters may make of one piece */

struct rf_frames {
	struct rf_forward *f;
	struct rf_websocket up, down;
	struct rf_buf scratch;   /* what came, unmasked */
	struct rf_buf sent;      /* of it, what is of messages of the box's */
	struct rf_buf pieces[2]; /* of an answer, on its way through filters */
	bool is_begun;           /* a first frame of the server's message was written */
};

bool rf_frames_is_websocket(struct rf_span protocol)
{
	return rf_span_is_like(rf_span_trim(protocol), RF_SPAN("websocket"));
}

bool rf_frames_is_proved(const struct rf_forward *f)
{
	const struct rf_field *key = rf_forward_find(&f->request, RF_SPAN("Sec-WebSocket-Key"));
	const struct rf_field *got = rf_forward_find(&f->answer, RF_SPAN("Sec-WebSocket-Accept"));
	RF_AUTO_BUF struct rf_buf proof;

	rf_buf_init(&proof, 64);
	if (!key || !got)
		return false;
	rf_websocket_accept(rf_span_trim(key->value), &proof);
	return !proof.has_failed &&
	       rf_span_is(rf_span_trim(got->value), (struct rf_span){ proof.data, proof.len });
}

static bool has_filter(const struct rf_outlet *outlet)
{
	for (size_t i = 0; i < outlet->filter_count; i++)
		if (outlet->filters[i]->on_sent || outlet->filters[i]->on_heard)
			return true;
	return false;
}

bool rf_frames_prepare(struct rf_forward *f)
{
	if (!rf_frames_is_websocket(f->upgrade) || !has_filter(f->outlet))
		return false;
	rf_forward_remove(&f->request, RF_SPAN("Sec-WebSocket-Extensions"));
	return true;
}

bool rf_frames_may_open(const struct rf_forward *f)
{
	return !rf_forward_find(&f->answer, RF_SPAN("Sec-WebSocket-Extensions"));
}

struct rf_frames *rf_frames_new(struct rf_forward *f)
{
	struct rf_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->f = f;
	frames->up.is_masked = true;
	rf_buf_init(&frames->scratch, PIECE);
	rf_buf_init(&frames->sent, PIECE);
	rf_buf_init(&frames->pieces[0], PIECE);
	rf_buf_init(&frames->pieces[1], PIECE);
	return frames;
}

void rf_frames_free(struct rf_frames *frames)
{
	if (!frames)
		return;
	rf_buf_done(&frames->scratch);
	rf_buf_done(&frames->sent);
	rf_buf_done(&frames->pieces[0]);
	rf_buf_done(&frames->pieces[1]);
	free(frames);
}

/* It is cut, and the event says why. */
static int fail(const struct rf_frames *frames, int code, const char *whose, const char *why)
{
	struct rf_forward *f = frames->f;

	snprintf(f->failure, sizeof(f->failure), "the WebSocket was cut: %s %s", whose, why);
	f->reason = f->failure;
	return code;
}

/* ------------------------------------------------------------- what the box sends */

static int look_at(struct rf_frames *frames, struct rf_span payload, bool is_control)
{
	struct rf_forward *f = frames->f;
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < f->outlet->filter_count; i++) {
		const struct rf_forward_filter *filter = f->outlet->filters[i];

		if (filter->on_sent &&
		    filter->on_sent(f->outlet->filter_data[i], is_control ? NULL : &f->own[i],
				    &f->request, payload, &err) < 0) {
			f->judge.is_allowed = false;
			return fail(frames, err.code, "the program sent", err.msg);
		}
	}
	return 0;
}

/* Messages are looked at as they follow each other, however they were cut: a flood of small frames costs no more than a large one. */
static int pass_up(struct rf_frames *frames, struct rf_span bytes, struct rf_buf *out)
{
	struct rf_websocket_event event;
	size_t at = 0, used;

	rf_buf_clear(&frames->sent);
	rf_buf_clear(&frames->scratch);
	rf_buf_add(&frames->scratch, bytes.at, bytes.len);
	if (frames->scratch.has_failed)
		return -ENOMEM;
	while (at < bytes.len) {
		int code = 0;

		switch (rf_websocket_next(&frames->up, &rf_websocket_usual,
					  frames->scratch.data + at, bytes.len - at, &used,
					  &event)) {
		case RF_WEBSOCKET_DATA:
			rf_buf_add(&frames->sent, event.payload.at, event.payload.len);
			break;
		case RF_WEBSOCKET_CONTROL_FRAME:
			code = look_at(frames, event.payload, true);
			break;
		case RF_WEBSOCKET_BAD:
			return fail(frames, -EPROTO, "the program's frame:",
				    rf_websocket_fault_words(frames->up.fault));
		case RF_WEBSOCKET_WANTS:
			break;
		}
		if (code < 0)
			return code;
		at += used;
		if (used == 0) /* behind a close nothing passes */
			break;
	}
	if (frames->sent.has_failed ||
	    (frames->sent.len > 0 &&
	     look_at(frames, (struct rf_span){ frames->sent.data, frames->sent.len }, false) < 0))
		return -EPERM;
	rf_buf_add(out, bytes.at, at);
	return out->has_failed ? -ENOMEM : 0;
}

/* ------------------------------------------------------------- what the server sends */

static void put_frame(enum rf_websocket_kind kind, bool is_last, struct rf_span payload,
		      struct rf_buf *out)
{
	uint8_t head[RF_WEBSOCKET_HEAD];
	size_t len = rf_websocket_head(head, kind, is_last, payload.len, NULL);

	rf_buf_add(out, head, len);
	rf_buf_add(out, payload.at, payload.len);
}

/* Leads a piece through the filters, last to first. */
static int lead_through(struct rf_frames *frames, struct rf_span *bytes, bool is_end,
			bool is_control)
{
	struct rf_forward *f = frames->f;
	struct rf_err err = RF_ERR_INIT;
	int turn = 0;

	for (size_t i = f->outlet->filter_count; i-- > 0;) {
		const struct rf_forward_filter *filter = f->outlet->filters[i];
		struct rf_buf *piece = &frames->pieces[turn & 1];

		if (!filter->on_heard)
			continue;
		rf_buf_clear(piece);
		if (filter->on_heard(f->outlet->filter_data[i], is_control ? NULL : &f->own[i],
				     *bytes, is_end, piece, &err) < 0 ||
		    piece->has_failed)
			return fail(frames, -EPROTO, "the answer", "could not be looked through");
		*bytes = (struct rf_span){ piece->data, piece->len };
		turn++;
	}
	return 0;
}

/* Writes what comes out of a piece of a message, now or later. */
static int mask(struct rf_frames *frames, const struct rf_websocket_event *event,
		struct rf_buf *out)
{
	struct rf_span bytes = event->payload;
	int code = lead_through(frames, &bytes, event->is_end, false);

	if (code < 0)
		return code;
	if (bytes.len > 0 || event->is_end)
		put_frame(frames->is_begun ? RF_WEBSOCKET_MORE_OF_IT : event->kind, event->is_end,
			  bytes, out);
	frames->is_begun = !event->is_end && (frames->is_begun || bytes.len > 0);
	return out->has_failed ? -ENOMEM : 0;
}

/* A control frame may come in the midst of a message, and is looked at by itself. */
static int pass_control(struct rf_frames *frames, const struct rf_websocket_event *event,
			struct rf_buf *out)
{
	struct rf_span bytes = event->payload;
	char payload[RF_WEBSOCKET_CONTROL];
	int code = lead_through(frames, &bytes, true, true);

	if (code < 0)
		return code;
	if (event->kind == RF_WEBSOCKET_CLOSE) {
		size_t len = event->code == RF_WEBSOCKET_NO_CODE
				     ? 0
				     : rf_websocket_close(payload, event->code, bytes);

		bytes = (struct rf_span){ payload, len };
	}
	put_frame(event->kind, true, bytes, out);
	return out->has_failed ? -ENOMEM : 0;
}

static int pass_down(struct rf_frames *frames, struct rf_span bytes, struct rf_buf *out)
{
	struct rf_websocket_event event;
	size_t at = 0, used;
	int code = 0;

	rf_buf_clear(&frames->scratch);
	rf_buf_add(&frames->scratch, bytes.at, bytes.len);
	if (frames->scratch.has_failed)
		return -ENOMEM;
	while (at < bytes.len && code == 0) {
		switch (rf_websocket_next(&frames->down, &rf_websocket_usual,
					  frames->scratch.data + at, bytes.len - at, &used,
					  &event)) {
		case RF_WEBSOCKET_DATA:
			code = mask(frames, &event, out);
			break;
		case RF_WEBSOCKET_CONTROL_FRAME:
			code = pass_control(frames, &event, out);
			break;
		case RF_WEBSOCKET_BAD:
			return fail(frames, -EPROTO, "the server's frame:",
				    rf_websocket_fault_words(frames->down.fault));
		case RF_WEBSOCKET_WANTS:
			break;
		}
		at += used;
		if (used == 0)
			break;
	}
	return code;
}

int rf_frames_pass(void *frames, bool is_up, struct rf_span bytes, struct rf_buf *out)
{
	return is_up ? pass_up(frames, bytes, out) : pass_down(frames, bytes, out);
}
