/*
 * How much, and how fast: rates, bytes a second, and counts.
 *
 * Pure: time is passed in, in nanoseconds of a clock that does not go back.  A rate is kept by the generic cell rate algorithm: one number, no
 * window whose edges could be used twice.  Bytes come from a bucket that fills as time goes by.
 */
#ifndef RF_GATEWAY_PACE_H
#define RF_GATEWAY_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many in so long, evenly; some of them at once after a pause. */
struct rf_pace_rate {
	uint64_t step_ns;  /* between two; 0: no limit */
	uint64_t slack_ns; /* how far ahead of time one may be */
	uint64_t next_ns;  /* when the next one would be in time */
};

/* `count` in `period_ns`, `burst` of them at once; a count of 0 is no limit. */
void rf_pace_rate_init(struct rf_pace_rate *rate, uint64_t count, uint64_t period_ns,
		       uint64_t burst);

/* 0: it may begin now, and is counted; else in how many nanoseconds it may be tried again. */
uint64_t rf_pace_rate_take(struct rf_pace_rate *rate, uint64_t now_ns);

/* Bytes a second, and as many as come in a tenth of one at once. */
struct rf_pace_bytes {
	uint64_t rate;  /* bytes a second; 0: no limit */
	uint64_t most;  /* bytes in the bucket */
	int64_t level;  /* below 0: was overdrawn, by the last piece */
	uint64_t at_ns; /* of that level */
};

void rf_pace_bytes_init(struct rf_pace_bytes *bytes, uint64_t rate, uint64_t now_ns);

/* How many may pass now, at most `want`; 0: none before `*ret_wait_ns`. */
size_t rf_pace_bytes_room(struct rf_pace_bytes *bytes, size_t want, uint64_t now_ns,
			  uint64_t *ret_wait_ns);
void rf_pace_bytes_spend(struct rf_pace_bytes *bytes, size_t len);

#endif
