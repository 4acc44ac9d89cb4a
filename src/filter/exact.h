/*
 * Known secrets, found in bytes that pass: each value, and every form in which an answer may repeat it.
 *
 * A secret is a credential's value, so there is nothing to guess: it is searched for as it is, in base64 (both alphabets, at
 * each of the three places where it can lie in a longer text), in hexadecimal, percent-encoded, and as a string of JSON or HTML has it.
 * What repeats itself after that (base64 in base64, a line break in the middle) is not found, and the threat model says so.
 *
 * A set is built, sealed, and then only read: many streams share one.  Looking for them is one look at four bytes in every eight
 * (in every five where a short one is among them), whatever their number; see exact.c.
 */
#ifndef RF_FILTER_EXACT_H
#define RF_FILTER_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RF_EXACT_MIN 8           /* bytes; a shorter value would be found where it is not meant */
#define RF_EXACT_MAX (16 * 1024) /* bytes; a key file, not a document */
#define RF_EXACT_ALL 8192        /* forms in one set */

struct rf_exact;

/* NULL without memory.  rf_exact_free() wipes what it frees. */
struct rf_exact *rf_exact_new(void);
void rf_exact_free(struct rf_exact *set);

/*
 * Adds a value and its encodings; what is found of them has this `id`.  Returns 1, or 0 if the value is shorter than
 * RF_EXACT_MIN and so not looked for, or a negative errno.
 */
int rf_exact_add(struct rf_exact *set, const void *value, size_t len, unsigned id,
		 struct rf_err *err);

/* The same for the bytes alone, of which there must be 11 or more. */
int rf_exact_add_bytes(struct rf_exact *set, const void *bytes, size_t len, unsigned id,
		       struct rf_err *err);

/* Nothing is added after it, and nothing found before it. */
int rf_exact_seal(struct rf_exact *set, struct rf_err *err);

/* How many forms are looked for. */
size_t rf_exact_count(const struct rf_exact *set);

/* The bytes of the longest one. */
size_t rf_exact_longest(const struct rf_exact *set);

/* Is told where a form lies.  One that begins within another may be told of before it. */
typedef void rf_exact_found(void *context, size_t at, size_t len, unsigned id);

/* Tells of every form that begins at `from` or later and lies in `data` as a whole. */
void rf_exact_scan(const struct rf_exact *set, const char *data, size_t len, size_t from,
		   rf_exact_found *found, void *context);

/*
 * Where the earliest form begins, at `from` or later, that has begun and may go on behind the end; `len` where none has.
 */
size_t rf_exact_open(const struct rf_exact *set, const char *data, size_t len, size_t from);

/*
 * The same, where the first bytes of a form (a quarter of it, and RF_EXACT_LOOSE at most) do not count as one that has begun; nor do those of the
 * id `known`, which is no secret.
 */
#define RF_EXACT_LOOSE 8
size_t rf_exact_loose(const struct rf_exact *set, const char *data, size_t len, size_t from,
		      unsigned known);

#endif
