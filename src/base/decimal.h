/*
 * Whole numbers in decimal digits, read from bytes that a stranger wrote.
 *
 * One reader with its bound checked once, for every parser: a digit loop written by hand
 * compares with `(most - digit) / 10` sooner or later, which is a huge number where a digit is
 * larger than the bound.
 */
#ifndef RF_BASE_DECIMAL_H
#define RF_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads all `len` characters of `text` (borrows) as digits; zeros in front are allowed.  0 and
 * `*ret_number`, which is at most `most`.  -EINVAL if there is none, or anything but digits;
 * -ERANGE if the number is larger, or has more digits than any number of 64 bits.
 */
int rf_decimal_parse(const char *text, size_t len, uint64_t most, uint64_t *ret_number);

#endif
