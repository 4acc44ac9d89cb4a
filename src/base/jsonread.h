/*
 * A JSON reader: one text into a tree of values that know where they stood.
 *
 * Strict (RFC 8259): one value and nothing behind it, no trailing comma, no comment, UTF-8 only, no
 * character that is a NUL, no lone surrogate, and no object that has one name twice, since readers
 * disagree about which of them counts.  Bounded: RF_MAX_JSON_READ bytes, RF_MAX_JSON_DEPTH levels.
 * A number keeps its spelling, so that all 64 bits of it can be asked for.
 *
 * The tree never changes once it is read, and is freed as a whole.
 */
#ifndef RF_BASE_JSONREAD_H
#define RF_BASE_JSONREAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rf_jsonread_type {
	RF_JSONREAD_NULL,
	RF_JSONREAD_FALSE,
	RF_JSONREAD_TRUE,
	RF_JSONREAD_NUMBER,
	RF_JSONREAD_STRING,
	RF_JSONREAD_ARRAY,
	RF_JSONREAD_OBJECT,
};

struct rf_jsonread_value {
	enum rf_jsonread_type type;
	int line, column; /* of its first character, counted from 1 */
	const char *text; /* a string's content, or a number as it was written; else NULL */
	const char *name; /* as a member of an object, else NULL */
	int name_line;    /* where the name stands */
	int name_column;
	size_t count;                          /* of an array's elements or an object's members */
	const struct rf_jsonread_value *first; /* of these, in the order of the text */
	const struct rf_jsonread_value *next;  /* after this one in the same array or object */
};

struct rf_jsonread; /* a text and its tree */

/*
 * Reads `len` bytes of `text` (borrows).  On success gives `*ret_json`, to be freed with
 * rf_jsonread_free().  On failure err->line and err->column say where.
 */
int rf_jsonread_parse(const char *text, size_t len, struct rf_jsonread **ret_json,
		      struct rf_err *err);
void rf_jsonread_free(struct rf_jsonread *json);

/* The outermost value; borrowed, as everything beneath it. */
const struct rf_jsonread_value *rf_jsonread_root(const struct rf_jsonread *json);

/* The member of an object by its name, or NULL. */
const struct rf_jsonread_value *rf_jsonread_member(const struct rf_jsonread_value *object,
						   const char *name);

/* A whole number from 0 to 2^64-1 that is written as one: no sign, point or exponent.  0 or -EINVAL. */
int rf_jsonread_u64(const struct rf_jsonread_value *value, uint64_t *ret_number);

/* What a value is, for a message ("a number"). */
const char *rf_jsonread_kind(const struct rf_jsonread_value *value);

#endif
