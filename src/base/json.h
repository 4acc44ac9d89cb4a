/*
 * A JSON writer.
 *
 * Writes one value into a buffer, compact or indented, with commas and escapes where they belong.
 * A member's name is NULL inside an array and at the top.  Strings must be UTF-8; a byte that is
 * not becomes U+FFFD (rf_json_is_utf8() tells beforehand, for those who must keep every byte).
 */
#ifndef RF_BASE_JSON_H
#define RF_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rf_json {
	struct rf_buf *out; /* borrowed */
	int depth;
	bool is_pretty;
	bool needs_comma;
};

void rf_json_init(struct rf_json *json, struct rf_buf *out, bool is_pretty);

void rf_json_open_object(struct rf_json *json, const char *name);
void rf_json_close_object(struct rf_json *json);
void rf_json_open_array(struct rf_json *json, const char *name);
void rf_json_close_array(struct rf_json *json);

void rf_json_string(struct rf_json *json, const char *name, const char *text); /* NULL: null */
void rf_json_bytes(struct rf_json *json, const char *name, const char *data, size_t len);
void rf_json_base64(struct rf_json *json, const char *name, const char *data, size_t len);
void rf_json_int(struct rf_json *json, const char *name, int64_t value);
void rf_json_double(struct rf_json *json, const char *name, double value, int decimals);
void rf_json_bool(struct rf_json *json, const char *name, bool value);
void rf_json_null(struct rf_json *json, const char *name);

/* True if all `len` bytes are well-formed UTF-8 without NUL. */
bool rf_json_is_utf8(const char *data, size_t len);

#endif
