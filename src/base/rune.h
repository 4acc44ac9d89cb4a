/*
 * Characters of UTF-8 text, one at a time.
 *
 * Refuses what UTF-8 refuses: overlong forms, surrogates, and anything above U+10FFFF.
 */
#ifndef RF_BASE_RUNE_H
#define RF_BASE_RUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads the character at `text`.  Returns its length in bytes, or 0 if it is malformed or cut off. */
size_t rf_rune_take(const char *text, size_t len, uint32_t *ret_rune);

/* The controls of ASCII and of ISO 8859-1: U+0000 to U+001F, U+007F to U+009F. */
bool rf_rune_is_control(uint32_t rune);

/*
 * True for a character that a reader does not see, or that turns the direction of what follows or ends its line for some programs: a
 * text with one means something else than what it looks like.  `before` is the character before it, or 0: joiners and
 * selectors of variants belong to the scripts and emoji that need them, behind a character beyond ASCII.
 */
bool rf_rune_is_hidden(uint32_t rune, uint32_t before);

/* Makes a message safe for a terminal: what is no visible character becomes `?`. */
void rf_rune_tidy(struct rf_err *err);

/* The same for any text, in place; it becomes no longer. */
void rf_rune_tidy_text(char *text);

#endif
