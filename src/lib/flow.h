/*
 * A flow: bytes on their way to or from a box, from a descriptor or from memory to a descriptor or to a
 * function, without ever waiting.
 *
 * One end is a pipe of ours, the other is the caller's: it may be a terminal, a file, a socket, may block
 * or not, and must neither be changed nor waited for.  What a flow waits for is in an epoll descriptor
 * that it shares with others.  Writing to who has gone raises no SIGPIPE.
 */
#ifndef RF_LIB_FLOW_H
#define RF_LIB_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rf_flow;

/* Takes what was read; may shorten it.  False: this was the last. */
typedef bool rf_flow_fn(void *data, struct rf_flow *flow, const char *bytes, size_t *len);

struct rf_flow {
	int from, to; /* owned, or -1 */
	rf_flow_fn *on_bytes;
	void *data;
	const char *bytes; /* from memory instead: borrowed */
	size_t left;
	int poll;             /* borrowed */
	char *buffer;         /* what is to be written, while it waits; or NULL */
	size_t at, len;       /* of it */
	uint64_t total;       /* bytes that were read */
	int write_errno;      /* why it ended, or 0 */
	uint32_t watched[2];  /* EPOLL* of each end that the descriptor waits for */
	bool is_blocking[2];  /* that end is the caller's, and has to be asked first */
	bool is_unwatched[2]; /* a file, which is always ready */
	bool is_last;         /* when nothing more is to be read, it is over */
	bool is_over;
};

/* Begins as { .from, .to, ... }; `poll` is an epoll descriptor whose events carry the flow's address. */
int rf_flow_start(struct rf_flow *flow, int poll, struct rf_err *err);

/* Moves what can be moved. */
void rf_flow_step(struct rf_flow *flow);

/* Closes both ends. */
void rf_flow_done(struct rf_flow *flow);

#endif
