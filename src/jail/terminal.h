/*
 * The caller's terminal, while a box has one of its own.
 *
 * Keys go to the box as they are, ctrl-C and ctrl-Z too, so the caller's terminal is raw meanwhile.
 * It is given back as it was on every way out, and before every stop of ours.  Nothing here is the
 * box's: it never holds a descriptor of this terminal.
 */
#ifndef RF_JAIL_TERMINAL_H
#define RF_JAIL_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct rf_terminal {
	bool is_there; /* standard input is a terminal, and `saved` its settings */
	bool is_raw;
	struct termios saved;
};

/* Looks whether there is one.  Changes nothing. */
void rf_terminal_init(struct rf_terminal *terminal);

/* Takes it over; does nothing where it is not ours to take: none, or we are in the background. */
void rf_terminal_enter(struct rf_terminal *terminal);

/* Gives it back.  `is_noisy`: answers may be under way, which are waited for and thrown away. */
void rf_terminal_leave(struct rf_terminal *terminal, bool is_noisy);

/* Gives a new pty (its master) the caller's special characters, and a size. */
void rf_terminal_dress(const struct rf_terminal *terminal, int master);

/* Gives a pty the size of the caller's terminal, where there is one. */
void rf_terminal_copy_size(int master);

/*
 * Ends the input of whoever reads from a pty next; `is_line_open`: the last byte was no newline.  To
 * be called again and again, as the end of a file is told to whoever reads on: a program that changes
 * its terminal's mode throws an end away that it has not read yet.
 */
void rf_terminal_end_input(const int pty[2], bool is_line_open);

#endif
