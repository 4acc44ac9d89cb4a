/*
 * Bombs: tiny functions that each take all they can get of one thing.
 *
 * One program holds them all:
 *
 *     bomb NAME STAMP LIMIT CAP [WORKERS]    takes until it is refused, killed, or has taken CAP
 *     bomb neighbour [MS]                    steady work, for measuring what a bomb does to others
 *
 * A bomb knows nothing of limits: it goes on wherever nothing stops it, and the suite shows that for
 * each of them.  LIMIT is only where it notes the time.  CAP keeps the host safe where it is run
 * without a box, and in a box whose limit does not hold.
 *
 * STAMP is a file that the bomb shares with whoever watches from outside: see struct bomb_stamp.
 * Every process of the bomb holds a lock on the open file, which is free when the last one is dead.
 */
#ifndef RF_BOMB_H
#define RF_BOMB_H

#include <stdbool.h>
#include <stdint.h>

/* Times are CLOCK_MONOTONIC's nanoseconds, amounts are in the bomb's own unit. */
struct bomb_stamp {
	_Atomic uint64_t began_ns;
	_Atomic uint64_t amount;     /* taken, or being taken right now */
	_Atomic uint64_t last_ns;    /* when more was last asked for */
	_Atomic uint64_t crossed_ns; /* when LIMIT was first asked for, or 0 */
	_Atomic uint64_t refused;    /* errno of the first refusal, or 0 */
	_Atomic uint64_t refused_at; /* the amount at that time */
	_Atomic uint64_t beyond_ns;  /* when CAP was reached, or 0 */
	_Atomic uint64_t settled;    /* workers that can't take more */
	_Atomic uint64_t workers;    /* how many there were ever */
	_Atomic uint64_t lost_ns;    /* when the first of them was seen to be dead, or 0 */
};

struct bomb {
	const char *name;
	/* Takes until it is refused, and returns a negative errno.  Keeps what it got. */
	int (*run)(void);
	/* How many processes do so at once: many, where each of them has a limit of its own. */
	int workers;
};

/* The families; each ends with a row without a name. */
extern const struct bomb bomb_memory[], bomb_buffers[], bomb_objects[], bomb_files[], bomb_work[];

extern struct bomb_stamp *bomb_stamp;
extern uint64_t bomb_limit, bomb_cap;

uint64_t bomb_now(void);

/*
 * Notes that `amount` more is about to be taken; called before it is.  Where CAP is reached it does
 * not return: the process waits, with all it has, for the end.
 */
void bomb_take(uint64_t amount);

/* The negative errno of a call that has just failed. */
int bomb_refused(void);

/* Where files can be made: $TMPDIR, or /tmp. */
const char *bomb_scratch(void);

/* The folder that STAMP is in: shown to the box, and writable. */
extern const char *bomb_shown;

/* A new file in `folder` that has no name any more, or a negative errno. */
int bomb_file(const char *folder);

/* Steady work for `ms` milliseconds, told in one line an interval: see work.c. */
int bomb_neighbour(int ms);

#endif
