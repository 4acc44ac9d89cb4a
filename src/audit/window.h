/* The most of something in any hour, and in any day, wherever these begin. */
#ifndef RF_AUDIT_WINDOW_H
#define RF_AUDIT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_WINDOW_WHAT 7 /* things that are counted */

struct rf_window_entry {
	uint64_t time_ns, amount;
	unsigned what;
};

/* Zeros are one in which nothing was counted. */
struct rf_window {
	struct rf_window_entry *entries; /* of the last day */
	size_t room, begin[2], end;      /* those of the last hour begin at begin[0] */
	uint64_t now[2][RF_WINDOW_WHAT], most[2][RF_WINDOW_WHAT];
	bool has_failed;
};

/* Counts; time that goes back stands still. */
void rf_window_add(struct rf_window *window, uint64_t time_ns, unsigned what, uint64_t amount);
void rf_window_done(struct rf_window *window);

#endif
