/*
 * What a client sends, on its way into a program's standard input, as fast as that reads.
 *
 * What the pipe has no room for waits here, and the client is to wait with it: no more than what it had sent already is ever kept.
 */
#ifndef RF_SERVER_INLET_H
#define RF_SERVER_INLET_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "http/span.h"

struct rf_inlet {
	int fd; /* -1: closed */
	struct rf_event *event;
	struct rf_buf waiting;
	size_t at; /* of it, what is written */
	bool is_last, is_broken;
	void (*on_room)(void *data);
	void *data;
};

/* Takes `*fd`, a pipe's end that does not block, also on failure.  `on_room` is told that what waited is written. */
int rf_inlet_init(struct rf_inlet *inlet, struct rf_loop *loop, int *fd,
		  void (*on_room)(void *data), void *data, struct rf_err *err);

/* Closes it.  Accepts one that is all zero. */
void rf_inlet_done(struct rf_inlet *inlet);

/* Writes, or keeps to write: true if nothing waits, else on_room() will come.  Where nobody reads any more it is as if it were written. */
bool rf_inlet_put(struct rf_inlet *inlet, struct rf_span bytes);

/* Nothing more comes: it is closed when what waits is written. */
void rf_inlet_end(struct rf_inlet *inlet);

#endif
