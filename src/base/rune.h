/*
 * Characters of UTF-8 text, one at a time.
 *
 * Refuses what UTF-8 refuses: overlong forms, surrogates, and anything above U+10FFFF.
 */
#ifndef RF_BASE_RUNE_H
#define RF_BASE_RUNE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads the character at `text`.  Returns its length in bytes, or 0 if it is malformed or cut off. */
size_t rf_rune_take(const char *text, size_t len, uint32_t *ret_rune);

/* Makes a message safe for a terminal: what is no printable character becomes `?`. */
void rf_rune_tidy(struct rf_err *err);

#endif
