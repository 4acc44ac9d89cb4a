/* Parts of a frame that take the table's place: one box in full, and what the keys do.  Pure, as panel.h. */
#ifndef RF_TOP_DETAIL_H
#define RF_TOP_DETAIL_H

#include <stddef.h>

#include "top/board.h"
#include "top/pen.h"

/* Exactly `rows` lines about the box with this id. */
void rf_detail_box(struct rf_pen *pen, const struct rf_board *board, const char *id, size_t rows);

/* Exactly `rows` lines about keys. */
void rf_detail_help(struct rf_pen *pen, size_t rows);

/* One line. */
void rf_detail_denial(struct rf_pen *pen, const struct rf_board_denial *denial);

#endif
