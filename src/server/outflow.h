/*
 * What a program writes, as the body of an answer: byte for byte, as it comes, and as fast as the client reads.
 *
 * Nothing is kept here: what the client does not take stays in the pipe, and the program waits.  On a plain connection the bytes go from the pipe
 * to the socket without being copied (http/exchange.h).
 */
#ifndef RF_SERVER_OUTFLOW_H
#define RF_SERVER_OUTFLOW_H

#include "server/api-call.h"

struct rf_outflow {
	struct rf_api_call *call;
	int fd;                 /* -1: closed */
	struct rf_event *event; /* NULL: its other end is closed, and all that comes is there */
	uint64_t left;          /* that may be sent */
	bool is_counted;        /* toward what the job may write */
	bool is_last;           /* the program has ended: what is there is all */
	bool is_full;           /* the client has to take something first */
	bool is_over;
	bool is_large; /* its pipe */
	/* All is sent that there is, or that may be: once, and never from within rf_outflow_init(). */
	void (*on_end)(struct rf_api_call *call);
};

/*
 * Takes `*fd`, the end of a pipe that does not block, also on failure.  The answer has begun.
 * `most` bytes are sent; UINT64_MAX: all.  One that failed is as rf_outflow_done() leaves it.
 */
int rf_outflow_init(struct rf_outflow *flow, struct rf_api_call *call, int *fd, uint64_t most,
		    void (*on_end)(struct rf_api_call *call), struct rf_err *err);

/* Closes it.  Accepts one that is all zero. */
void rf_outflow_done(struct rf_outflow *flow);

/* The client takes more; and the program has ended. */
void rf_outflow_go_on(struct rf_outflow *flow);
void rf_outflow_end(struct rf_outflow *flow);

#endif
