/*
 * Canaries: files that look like somebody's credentials and are nobody's.
 *
 * Each has a value of its own, made from a seed that nobody knows but who makes the plan: random, and unique to one
 * box.  Who opens one was looking for something.  Pure.
 */
#ifndef RF_POLICY_CANARY_H
#define RF_POLICY_CANARY_H

#include <stddef.h>
#include <stdint.h>

#define RF_CANARY_SEED  32
#define RF_CANARY_VALUE 41  /* bytes of a value, with its NUL */
#define RF_CANARY_TEXT  256 /* bytes of a file, with its NUL */

/* The value of the canary with this number. */
void rf_canary_value(const uint8_t seed[RF_CANARY_SEED], size_t number,
		     char value[RF_CANARY_VALUE]);

/* What stands in the file at `path`: of the kind that one would look for there. */
void rf_canary_text(const uint8_t seed[RF_CANARY_SEED], size_t number, const char *path,
		    char text[RF_CANARY_TEXT]);

#endif
