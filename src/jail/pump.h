/*
 * A pump: moves bytes from one descriptor to another, or into a buffer, as a loop's events allow.
 *
 * Never blocks the loop: the caller's own terminals and pipes are opened anew where that is allowed,
 * so that non-blocking is ours and not theirs; where it is not, a pump writes only what fits.
 */
#ifndef RF_JAIL_PUMP_H
#define RF_JAIL_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "jail/guard.h"

struct rf_pump {
	struct rf_loop *loop;
	int from, to;                /* borrowed; -1 when done with */
	struct rf_buf *into;         /* instead of `to`; borrowed, or NULL */
	struct rf_guard *guard;      /* that bytes pass; borrowed, or NULL */
	const struct rf_pump *other; /* that writes to the same terminal; borrowed, or NULL */
	int own_from;                /* `from` opened anew, or -1 */
	int own_to;                  /* `to` opened anew, or -1 */
	bool is_socket, is_from_socket;
	bool is_small; /* write no more than a pipe surely takes */
	bool has_source_ended, is_last_call, is_done;
	bool (*on_bytes)(void *data, struct rf_pump *pump, size_t *len); /* may cut; false: stop */
	void (*on_done)(void *data, struct rf_pump *pump); /* all moved, or nobody reads */
	void *data;
	struct rf_event *read_event, *write_event;
	uint64_t total;  /* bytes read so far */
	int write_errno; /* why bytes were lost, or 0 */
	size_t at, len;
	char buffer[65536];
};

/* Begins to move bytes; callbacks and ends are set by the caller before. */
int rf_pump_start(struct rf_pump *pump, struct rf_loop *loop, struct rf_err *err);

/* Nothing more will come: reads what is there, and then ends. */
void rf_pump_last_call(struct rf_pump *pump);

/* Reads nothing more; what was read is still written. */
void rf_pump_end_source(struct rf_pump *pump);

void rf_pump_done(struct rf_pump *pump);

#endif
