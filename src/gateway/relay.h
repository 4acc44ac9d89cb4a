/*
 * Bytes between two connections, untouched: both ways, by splice(2), so that none of them is ever in this process.
 *
 * Slow takers slow senders down: what can't be sent waits in a pipe, and then in the kernel of who sent it.  An end that sends no more is passed
 * on as such, and the other way goes on.  A reset is passed on as a reset.  Pipes are borrowed for as long as something is in them, so a
 * connection that says nothing holds two descriptors.
 */
#ifndef RF_GATEWAY_RELAY_H
#define RF_GATEWAY_RELAY_H

#include "gateway/pace.h"
#include "http/deadline.h"
#include "http/span.h"

struct rf_relay;
struct rf_relay_pipes;

/* Pipes that nobody uses, for all relays of a process. */
struct rf_relay_pipes *rf_relay_pipes_new(void);
void rf_relay_pipes_free(struct rf_relay_pipes *pipes);

enum rf_relay_end {
	RF_RELAY_WHOLE,  /* both have ended */
	RF_RELAY_RESET,  /* one of them broke off */
	RF_RELAY_IDLE,   /* no byte for too long */
	RF_RELAY_TOTAL,  /* it took too long */
	RF_RELAY_FAILED, /* of ours: descriptors or memory are used up */
};

struct rf_relay_counts {
	uint64_t up, down; /* bytes */
};

/* Behind this the relay is gone, and both connections are closed. */
typedef void rf_relay_fn(void *data, enum rf_relay_end end, const struct rf_relay_counts *counts);

struct rf_relay_options {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_relay_pipes *pipes;
	struct rf_pace_bytes *up, *down; /* shared with others, or NULL */
	uint64_t idle_ms, total_ms;      /* 0: no limit */
	/*
	 * If given, nothing is taken from the inner one before this was asked, when something has come (which may be looked at, and is to be
	 * left): 1: it passes from now on; 0: not yet; -EAGAIN: not before the outer one has answered; or another negative errno: the
	 * relay is cut.
	 */
	int (*may_pass)(void *data, int inner);
	size_t greeting; /* bytes of `early` that are sent before that is asked */
	/* The same of the outer one, before the first that it says is passed on.  There is no -EAGAIN. */
	int (*may_answer)(void *data, int outer);
	rf_relay_fn *fn;
	void *data;
};

/*
 * Joins `*inner` (who asked) and `*outer` (the server), and takes both, also on failure.  `early` are bytes of the inner one that were
 * read already (copies).  What `fn` is told comes from the loop.
 */
int rf_relay_new(const struct rf_relay_options *options, int *inner, int *outer,
		 struct rf_span early, struct rf_relay **ret_relay, struct rf_err *err);

/* Ends it with a reset on both sides; `fn` is not called.  Gives what passed. */
struct rf_relay_counts rf_relay_cut(struct rf_relay *relay);
struct rf_relay_counts rf_relay_count(const struct rf_relay *relay);

#endif
