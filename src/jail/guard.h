/*
 * A guard: lets through of a box's output what a terminal may see of it.
 *
 * To a terminal, bytes are orders.  Some draw: colours, cursor, clearing.  Others make it answer, as
 * if the caller had typed, or act beyond the screen: clipboard, printer, window, files.  A guard is
 * a state machine between the two.  It lets whole characters pass, and whole sequences that stand in
 * its tables; nothing else, so that a terminal behind it is never left in the middle of a sequence.
 * It remembers what was switched on, and gives the orders that switch it off again.
 *
 * Pure: bytes in, bytes out, however they are cut.  docs/terminal.md says what passes.
 */
#ifndef RF_JAIL_GUARD_H
#define RF_JAIL_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rf_guard_mode {
	RF_GUARD_SCREEN, /* what draws; a terminal that nobody reads answers from */
	RF_GUARD_DIALOG, /* and questions whose answers go back into the box, and keyboard modes */
	RF_GUARD_TEXT,   /* characters, newlines and tabs only */
};

#define RF_GUARD_HELD  512                  /* the longest sequence that can pass */
#define RF_GUARD_SLACK (RF_GUARD_HELD + 16) /* how much longer an output can be than its input */
#define RF_GUARD_END   512                  /* the longest that rf_guard_end() writes */

struct rf_guard {
	enum rf_guard_mode mode;
	bool is_8bit; /* the terminal is not one for UTF-8: bytes are characters */
	uint8_t state;
	bool is_doomed;     /* the sequence in the making will not pass */
	bool has_asked;     /* a question passed since this was last cleared, by whoever reads it */
	bool was_talkative; /* at the end, the terminal was to send what nobody typed (mouse, focus) */
	uint8_t missing;    /* bytes of a character still to come */
	uint8_t low, high;   /* between which the next of them lies */
	uint8_t last;        /* byte of a string */
	uint64_t changed;    /* what is not as it was at the start: bits of guard.c */
	uint64_t kept;       /* the same, along with a cursor that can be brought back */
	uint8_t title_count; /* that the box keeps in the terminal */
	size_t held_len;
	char held[RF_GUARD_HELD];
};

void rf_guard_init(struct rf_guard *guard, enum rf_guard_mode mode, bool is_8bit);

/*
 * Filters `len` bytes of `in` into `out`, which has room for `len` + RF_GUARD_SLACK; it may be the
 * same memory if it begins at least RF_GUARD_SLACK before `in`.  Returns how many were written.
 */
size_t rf_guard_pass(struct rf_guard *guard, const char *in, size_t len, char *out);

/*
 * Ends the stream: writes at most RF_GUARD_END bytes, which put the terminal back as it was, and
 * returns how many.  None, if nothing was changed.
 */
size_t rf_guard_end(struct rf_guard *guard, char *out);

/* Whether the caller's locale (the first set of LC_ALL, LC_CTYPE, LANG; or NULL) is not for UTF-8. */
bool rf_guard_is_8bit(const char *locale);

#endif
