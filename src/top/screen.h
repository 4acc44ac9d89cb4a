/*
 * The terminal while it is ours: raw, on its second screen, and given back as it was.
 *
 * Whatever ends us but SIGKILL gives it back first: an orderly end by rf_screen_leave(), a fault or a
 * signal that nobody waits for by a handler, of which all that it needs was written down before.
 * Frames are compared with what is shown, and only lines that differ are written, in one go: nothing flickers.
 */
#ifndef RF_TOP_SCREEN_H
#define RF_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct rf_screen {
	int in, out;         /* borrowed */
	int columns, rows;   /* as of the last rf_screen_measure() */
	struct rf_buf shown; /* the last frame; empty: nothing is known of what is shown */
	bool is_taken;
};

void rf_screen_init(struct rf_screen *screen, int in, int out);
void rf_screen_done(struct rf_screen *screen); /* leaves it, too */

/* Asks for its size: 80 by 24 where the terminal does not know. */
void rf_screen_measure(struct rf_screen *screen);

/* Takes the terminal, or, if it is taken, sets it up anew.  Fails where it is none.  In the background, the kernel stops us until we are in front. */
int rf_screen_enter(struct rf_screen *screen, struct rf_err *err);

/* Gives it back; nothing if it is not taken. */
void rf_screen_leave(struct rf_screen *screen);

/* Shows a frame (lines, each ended by a newline; borrows).  -EIO: the terminal is gone. */
int rf_screen_draw(struct rf_screen *screen, const char *frame, size_t len);

/* Forgets what is shown, so that the next frame is drawn whole. */
void rf_screen_forget(struct rf_screen *screen);

/* What is written for `frame` where `before` is shown, on a screen with so many rows.  Pure. */
void rf_screen_compare(const char *before, size_t before_len, const char *frame, size_t len,
		       int rows, struct rf_buf *out);

#endif
