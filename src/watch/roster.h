/*
 * The boxes that live, as a table for people and as JSON for programs.  Pure.
 */
#ifndef RF_WATCH_ROSTER_H
#define RF_WATCH_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "policy/limit.h"
#include "watch/gauge.h"

/* One box; everything is borrowed. */
struct rf_roster_box {
	const char *id, *agent, *program, *policy; /* policy: its hash; "": none */
	const char *state;                         /* "starting", "running", "frozen", "ending" */
	const char *breaker, *breaker_reason;      /* its agent's, or NULL */
	uint64_t user;
	pid_t pid, launcher;             /* pid 1, outside: 0 while it is not known */
	uint64_t started_ns;             /* since 1970 */
	uint64_t age_ms;                 /* */
	const uint64_t *limits;          /* RF_LIMIT_COUNT of them, or NULL: not known */
	struct rf_gauge_figures used;    /* */
	uint64_t cpu_percent;            /* of one processor, lately */
	uint64_t begun_rate, write_rate; /* processes and bytes a second, lately */
};

/* Something that was refused to one. */
struct rf_roster_denial {
	uint64_t time_ns; /* since 1970 */
	char box[33], agent[65], what[161];
};

void rf_roster_text(const struct rf_roster_box *boxes, size_t count, struct rf_buf *out);
void rf_roster_json(const struct rf_roster_box *boxes, size_t count,
		    const struct rf_roster_denial *denials, size_t denial_count,
		    struct rf_buf *out);

/* "12.3M": at most seven bytes, with its NUL; "-" for what is not known or has no limit. */
void rf_roster_bytes(uint64_t bytes, char text[8]);

#endif
