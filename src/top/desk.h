/*
 * Where the person in front of the screen is: which box is chosen, how they are sorted, what is being asked.
 *
 * Pure: keys go in, and what they ask of the watcher comes out.  Boxes come and go between two
 * looks, so the chosen one is known by its id, and so is the one that a question is about: a row that moves
 * up under the cursor is never killed in another's place.
 */
#ifndef RF_TOP_DESK_H
#define RF_TOP_DESK_H

#include <stdbool.h>
#include <stddef.h>

#include "top/board.h"
#include "top/keys.h"

enum rf_desk_mode {
	RF_DESK_LIST,    /* the table; all keys */
	RF_DESK_INSPECT, /* one box; all keys but those that choose */
	RF_DESK_HELP,    /* any key goes back */
	RF_DESK_FILTER,  /* what is typed is a part of an agent's name */
	RF_DESK_CONFIRM, /* y kills `target`, any other key does not */
};

enum rf_desk_sort {
	RF_DESK_BY_TIME, /* the youngest first */
	RF_DESK_BY_CPU,
	RF_DESK_BY_MEMORY,
	RF_DESK_BY_LIMIT, /* who is nearest to any of its limits */
	RF_DESK_BY_AGENT,
	RF_DESK_SORTS
};

enum rf_desk_wish {
	RF_DESK_NOTHING,
	RF_DESK_QUIT,
	RF_DESK_REPAINT, /* everything, as if the screen were lost */
	RF_DESK_LOOK,    /* ask the watcher now */
	RF_DESK_FREEZE,  /* `target` */
	RF_DESK_THAW,
	RF_DESK_KILL,
};

struct rf_desk {                      /* begins as { 0 } */
	enum rf_desk_mode mode, back; /* back: where a question goes back to */
	enum rf_desk_sort sort;
	char filter[64], typed[64];
	char chosen[RF_BOARD_ID]; /* "": none */
	char target[RF_BOARD_ID]; /* of a question, or of the last wish */
	size_t *rows; /* indices into the board's boxes, in the order in which they are shown */
	size_t count, room; /* of rows */
	size_t at, first;   /* the chosen row, the first that is shown */
	char said[160];     /* what came of the last wish, or "" */
	bool is_bad;        /* it went wrong */
};

void rf_desk_done(struct rf_desk *desk);

/* Sorts and filters a board anew, and finds the chosen box again.  False: memory is gone. */
bool rf_desk_arrange(struct rf_desk *desk, const struct rf_board *board);

/* Takes a key; `page` rows are shown at a time. */
enum rf_desk_wish rf_desk_key(struct rf_desk *desk, const struct rf_board *board, struct rf_key key,
			      size_t page);

/* Moves what is shown so that the chosen row is in it. */
void rf_desk_scroll(struct rf_desk *desk, size_t page);

/* The chosen box, or NULL. */
const struct rf_board_box *rf_desk_chosen(const struct rf_desk *desk, const struct rf_board *board);

/* Says what came of something, until the next key. */
void rf_desk_say(struct rf_desk *desk, bool is_bad, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

const char *rf_desk_sort_name(enum rf_desk_sort sort);

#endif
