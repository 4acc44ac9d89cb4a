/*
 * Connections to ports inside a kept box, for who is outside.
 *
 * Pid 1 makes the socket, since it is inside already: nobody enters the box's network, and nobody waits.  What it hands over is looked at before it is passed on: a
 * connection of TCP, and nothing else.
 */
#ifndef RF_WARDEN_REACH_H
#define RF_WARDEN_REACH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rf_reach;
struct rf_report;

/* Where it is told: a connection, the id that the answer carries, and who holds the question there (set to NULL when it is over). */
struct rf_reach_line {
	int fd; /* borrowed */
	uint64_t id;
	struct rf_reach **holder;
};

/* Questions that are under way in one box.  All zero at its beginning. */
struct rf_reach_list {
	struct rf_reach *first;
	size_t count;
};

/* Asks pid 1 on its channel for port `port`; `number` was never used before. */
int rf_reach_ask(struct rf_reach_list *list, int channel, uint32_t number, uint32_t port,
		 const struct rf_reach_line *line, struct rf_err *err);

/* What pid 1 answers; `*fd` came along, or is -1, and is the caller's still. */
void rf_reach_hear(struct rf_reach_list *list, const struct rf_report *report, int *fd);

/* Who asked is gone. */
void rf_reach_drop(struct rf_reach *reach);

/* The box is over: all are refused. */
void rf_reach_done(struct rf_reach_list *list);

#endif
