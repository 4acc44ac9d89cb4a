/*
 * What is shown: the boxes that live, the breakers, what was denied last.
 *
 * Read from what the watcher answers (`ps json`, `breaker ls json`), and never changed afterwards.  All texts are as they
 * came, so they are hostile: whoever draws them puts them through base/glyph.
 */
#ifndef RF_TOP_BOARD_H
#define RF_TOP_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RF_BOARD_ID      33         /* bytes of a box's id that are kept in mind, with the NUL */
#define RF_BOARD_UNKNOWN UINT64_MAX /* a figure that is not known; a limit that there is not */

enum rf_board_what {
	RF_BOARD_TIME,     /* milliseconds on the clock */
	RF_BOARD_CPU_TIME, /* milliseconds */
	RF_BOARD_MEMORY,   /* bytes */
	RF_BOARD_PIDS,
	RF_BOARD_DISK, /* bytes */
	RF_BOARD_WHATS
};

struct rf_board_use {
	uint64_t used, limit;
};

struct rf_board_box {
	const char *id, *agent, *program, *policy, *started; /* "": none */
	const char *state;                                   /* running, frozen ... */
	const char *breaker, *breaker_reason;                /* of its agent */
	struct rf_board_use uses[RF_BOARD_WHATS];
	uint64_t cpu_percent; /* of one processor, lately */
	uint64_t pid, launcher;
};

struct rf_board_breaker {
	const char *kind, *name, *state, *reason;
	uint64_t failed, refused, retry_ms; /* unknown: when it is reset */
};

struct rf_board_denial {
	const char *time, *agent, *box, *what;
};

struct rf_board {
	struct rf_board_box *boxes;
	struct rf_board_breaker *breakers; /* as the watcher sorts them: open ones first */
	struct rf_board_denial *denials;   /* the last one first */
	size_t box_count, breaker_count, denial_count;
	struct rf_jsonread *texts[2]; /* which all of it points into */
};

extern const char *const rf_board_names[RF_BOARD_WHATS];

/* How much of a limit is used, in percent; 0 where one of the two is not known. */
unsigned rf_board_percent(const struct rf_board_use *use);

/* The box with this id, or NULL. */
const struct rf_board_box *rf_board_find(const struct rf_board *board, const char *id);

/*
 * Reads two answers (borrows).  On success gives `*ret_board`, to be freed with rf_board_free().  Members that are not
 * known are passed over, so a watcher may say more; one that is missing or of another kind is a failure.
 */
int rf_board_read(const char *boxes, size_t boxes_len, const char *breakers, size_t breakers_len,
		  struct rf_board **ret_board, struct rf_err *err);
void rf_board_free(struct rf_board *board);

#endif
