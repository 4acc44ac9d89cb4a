/*
 * What a request's JSON says, read by a table of its fields.
 *
 * Strict: a field that the table does not have, one of another type, one that is too long or that must be there and is not, is an error that names it.
 * Pure, and bounded by what was read.
 */
#ifndef RF_SERVER_FORM_H
#define RF_SERVER_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "policy/arena.h"
#include "server/api-error.h"

enum rf_form_type {
	RF_FORM_STRING,    /* const char *; NULL where it is not there */
	RF_FORM_STRINGS,   /* char **, NULL-ended; or NULL */
	RF_FORM_VARIABLES, /* an object of strings: char **, NULL-ended, "K=V"; or NULL */
	RF_FORM_NUMBER,    /* uint64_t */
	RF_FORM_TRUTH,     /* bool */
	RF_FORM_OBJECT,    /* const struct rf_jsonread_value *; or NULL */
	RF_FORM_OBJECTS,   /* the same: an array of objects */
	RF_FORM_NAMES,     /* as STRINGS, and one string alone is a list of it */
};

struct rf_form_field {
	const char *name;
	enum rf_form_type type;
	size_t offset;        /* of what it is written to */
	uint64_t least, most; /* a number; bytes of a string; how many of a list or an object */
	bool is_needed;
};

/*
 * Reads `object` by its table into `to`, whose other bytes stay; what is pointed to is borrowed from the JSON, or is the arena's.  `where` goes before the
 * names of fields ("files[2]"), or is "".  0, or -1 and the error.
 */
int rf_form_read(const struct rf_jsonread_value *object, const struct rf_form_field *fields,
		 size_t count, void *to, struct rf_arena *arena, const char *where,
		 struct rf_api_error *error);

/* A whole number that is not negative: 5 and 5.0 are one number in JSON.  0, or a negative number. */
int rf_form_number(const struct rf_jsonread_value *value, uint64_t *ret_number);

/* Writes a value as it was. */
void rf_form_copy(const struct rf_jsonread_value *value, const char *name, struct rf_json *json);

#endif
