/*
 * A frame: what is on the screen for a board and a desk.
 *
 * Pure: the same board, desk and look give the same lines, so a test can hold them.
 */
#ifndef RF_TOP_PANEL_H
#define RF_TOP_PANEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/style.h"
#include "top/board.h"
#include "top/desk.h"

#define RF_PANEL_COLUMNS 40 /* the least that is worth drawing in */
#define RF_PANEL_ROWS    8

struct rf_panel {
	int columns, rows; /* rows 0: as many as it takes, and nothing about keys */
	struct rf_style style;
	bool is_utf8;
	const char *clock; /* the time of day */
	const char *
		trouble; /* what is wrong with the watcher, or NULL; where there is no board, that is all */
	const char *hint; /* and what to do about it, or NULL */
};

/* How many boxes are seen at a time. */
size_t rf_panel_page(const struct rf_panel *panel);

/* Writes the frame: exactly `rows` lines, each ended by a newline and at most `columns` - 1 wide.  `board` may be NULL. */
void rf_panel_draw(const struct rf_panel *panel, const struct rf_board *board,
		   const struct rf_desk *desk, struct rf_buf *out);

/* "1m02s", "12.3M", "-": at most seven bytes and a NUL. */
#define RF_PANEL_AMOUNT 24
void rf_panel_amount(enum rf_board_what what, uint64_t value, char text[RF_PANEL_AMOUNT]);

#endif
