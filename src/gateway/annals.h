/*
 * What one box's network did, kept for who asks later: the last events, and what all of them came to, host by host.
 *
 * Kept of boxes whose connection is sealed: there who has the box reads what a server asks on behalf of others, and no other record of it is theirs to read.
 * Bounded in number and bytes; the oldest go first, and are counted.  Pure.
 */
#ifndef RF_GATEWAY_ANNALS_H
#define RF_GATEWAY_ANNALS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/page.h"

#define RF_ANNALS_EVENTS 1024
#define RF_ANNALS_BYTES  (512 * 1024)

struct rf_annals;

/* NULL without memory. */
struct rf_annals *rf_annals_new(void);
void rf_annals_free(struct rf_annals *annals);

/* One more: `packed` are its bytes (borrows all). */
void rf_annals_hear(struct rf_annals *annals, const struct rf_gate_event *event, const void *packed,
		    size_t len);

/* The page that is wished for; `counts` are the box's. */
void rf_annals_write(const struct rf_annals *annals, const struct rf_page_wish *wish,
		     const struct rf_gate_counts *counts, struct rf_buf *out);

#endif
