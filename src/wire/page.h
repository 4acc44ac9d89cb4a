/*
 * A page of what a box's network did, as who has a hand on the box asks for it (GATE_LOG, GATE_LOGGED): events from a cursor on, as far as they
 * fit into one message, or what all of it came to, host by host.
 *
 * A cursor is a number of events: those before it were read.  The gateway keeps the last of them; what is gone is counted.
 */
#ifndef RF_WIRE_PAGE_H
#define RF_WIRE_PAGE_H

#include "wire/gate.h"

#define RF_PAGE_HOSTS 64           /* that a summary has room for */
#define RF_PAGE_BYTES (48u * 1024) /* of events in one page */

/* The body of GATE_LOG, as it is. */
struct rf_page_wish {
	uint64_t cursor;
	uint64_t is_summary; /* hosts, and no events */
};

struct rf_page_host {
	const char *host;
	uint64_t connections, requests, denied, up_bytes, down_bytes;
};

struct rf_page {
	struct rf_gate_counts counts; /* of the box until now */
	uint64_t next;                /* the cursor behind the last of the events */
	uint64_t missed;   /* events between the cursor and the first, which are kept no more */
	uint64_t unlisted; /* hosts that a summary had no room for */
	struct rf_page_host hosts[RF_PAGE_HOSTS];
	size_t host_count;
	const char *events; /* packed, one behind the other: see rf_page_event() */
	size_t events_len;
};

/* Writes a page; its texts are borrowed. */
void rf_page_pack(const struct rf_page *page, struct rf_buf *out);

/* Reads one (borrows: texts and events stay there).  -EBADMSG for what is none. */
int rf_page_read(const void *data, size_t len, struct rf_page *ret_page, struct rf_err *err);

/* The event at `*at` of a page's, which moves on: 1, 0 behind the last, or -EBADMSG. */
int rf_page_event(const struct rf_page *page, size_t *at, struct rf_gate_event *ret_event,
		  struct rf_err *err);

#endif
