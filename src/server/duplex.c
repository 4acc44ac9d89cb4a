/* Bytes between two connections: see duplex.h. */
#include "server/duplex.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS 8            /* of both ways, before others have their turn */
#define FULL   (256 * 1024) /* bytes that wait for one side, before the other is not read any more */

struct rf_duplex {
	struct rf_duplex_host *host;
	struct rf_duplex *next, **at;
	struct rf_stream sides[2];
	struct rf_deadline soon;
	bool has_ended[2]; /* nothing more comes from that side */
	bool was_shut[2];  /* and that was passed on to that side */
	bool is_begun;
	void *tag;
	void (*fn)(void *data);
	void *data;
};

void rf_duplex_free(struct rf_duplex *duplex)
{
	if (!duplex)
		return;
	*duplex->at = duplex->next;
	if (duplex->next)
		duplex->next->at = duplex->at;
	duplex->host->count--;
	rf_deadline_done(&duplex->soon);
	rf_stream_done(&duplex->sides[0]);
	rf_stream_done(&duplex->sides[1]);
	free(duplex);
}

static void finish(struct rf_duplex *duplex)
{
	void (*fn)(void *data) = duplex->fn;
	void *data = duplex->data;

	rf_duplex_free(duplex);
	if (fn)
		fn(data);
}

/* One way.  1: something was moved; 0: nothing can be; or a negative errno: it is broken. */
static int move(struct rf_duplex *duplex, int from)
{
	struct rf_stream *in = &duplex->sides[from], *out = &duplex->sides[!from];
	struct rf_span bytes;
	ssize_t n = 0;
	int code;

	if (!duplex->has_ended[from] && rf_stream_input(in).len == 0 &&
	    rf_stream_pending(out) < FULL) {
		n = rf_stream_fill(in);
		duplex->has_ended[from] = n == 0 || (n < 0 && (n != -EAGAIN || !in->event));
	}
	bytes = rf_stream_input(in);
	if (bytes.len > 0 && rf_stream_pending(out) < FULL) {
		code = rf_stream_write(out, bytes);
		if (code < 0)
			return code;
		rf_stream_drop(in, bytes.len);
		n = 1;
	}
	code = rf_stream_pending(out) > 0 ? rf_stream_flush(out) : 0;
	if (code < 0 && (code != -EAGAIN || !out->event))
		return code == -EAGAIN ? -EPIPE : code;
	if (duplex->has_ended[from] && rf_stream_pending(out) == 0 && !duplex->was_shut[!from]) {
		out->transport.ops->shut(&out->transport);
		duplex->was_shut[!from] = true;
	}
	if (duplex->was_shut[!from] && !in->event)
		return -EPIPE; /* who has hung up takes nothing any more, either */
	return n > 0;
}

static void run(struct rf_duplex *duplex)
{
	bool is_moving = true;

	for (int i = 0; i < ROUNDS && is_moving; i++) {
		int up = move(duplex, 0), down = up < 0 ? up : move(duplex, 1);

		if (up < 0 || down < 0 || (duplex->was_shut[0] && duplex->was_shut[1])) {
			finish(duplex);
			return;
		}
		is_moving = up > 0 || down > 0;
	}
	if (is_moving)
		rf_deadline_set(&duplex->soon, rf_loop_now());
	for (int i = 0; i < 2; i++)
		rf_stream_wait(&duplex->sides[i],
			       !duplex->has_ended[i] &&
				       rf_stream_pending(&duplex->sides[!i]) < FULL);
}

static void on_soon(void *data)
{
	run(data);
}

void rf_duplex_on_event(void *duplex, int what)
{
	struct rf_duplex *own = duplex;

	(void)what;
	if (own->is_begun)
		rf_deadline_set(&own->soon, rf_loop_now());
}

int rf_duplex_new(struct rf_duplex_host *host, struct rf_deadlines *deadlines, void *tag,
		  struct rf_duplex **ret_duplex, struct rf_err *err)
{
	struct rf_duplex *duplex = calloc(1, sizeof(*duplex));

	if (!duplex || rf_deadline_init(&duplex->soon, deadlines, on_soon, duplex) < 0) {
		free(duplex);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	duplex->host = host;
	duplex->tag = tag;
	duplex->at = &host->first;
	duplex->next = host->first;
	if (duplex->next)
		duplex->next->at = &duplex->next;
	host->first = duplex;
	host->count++;
	*ret_duplex = duplex;
	return 0;
}

struct rf_stream *rf_duplex_stream(struct rf_duplex *duplex, int side)
{
	return &duplex->sides[side];
}

void rf_duplex_begin(struct rf_duplex *duplex, void (*fn)(void *data), void *data)
{
	duplex->fn = fn;
	duplex->data = data;
	duplex->is_begun = true;
	rf_deadline_set(&duplex->soon, rf_loop_now());
}

void rf_duplex_end(struct rf_duplex_host *host, const void *tag)
{
	struct rf_duplex *next;

	for (struct rf_duplex *at = host->first; at; at = next) {
		next = at->next;
		if (!tag || at->tag == tag)
			finish(at);
	}
}
