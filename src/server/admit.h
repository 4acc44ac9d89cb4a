/*
 * Who may begin something now: so many at once, and so many a minute.
 *
 * Pure, with time passed in.  Who may not waits in a line of bounded length (the front's), or is told when to come again.
 */
#ifndef RF_SERVER_ADMIT_H
#define RF_SERVER_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rf_admit {
	uint32_t most, now; /* at once */
	uint64_t every_ns;  /* between two, on average; 0: as often as they like */
	uint64_t next_ns;   /* when the next would come if they came evenly (GCRA) */
	uint64_t burst_ns;  /* how far that may lie ahead */
};

/* `rate` a minute, or 0: as many as they like. */
void rf_admit_init(struct rf_admit *admit, uint32_t most, uint32_t rate);

/* True if one more may begin, which is counted then. */
bool rf_admit_enter(struct rf_admit *admit);
void rf_admit_leave(struct rf_admit *admit);

/* 0 if the rate allows one more, which is counted then; else seconds until it does. */
uint32_t rf_admit_pace(struct rf_admit *admit, uint64_t now_ns);

#endif
