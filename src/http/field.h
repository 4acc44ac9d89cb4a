/*
 * A header field: one line of a head or a trailer, taken apart.
 *
 * Read strictly: the name is a token, the colon follows it at once, the value is without the white space around it, and
 * no line continues another.
 */
#ifndef RF_HTTP_FIELD_H
#define RF_HTTP_FIELD_H

#include "http/fault.h"
#include "http/span.h"

struct rf_field {
	struct rf_span name, value;
};

/* Fields in the order in which they came (borrows). */
struct rf_fields {
	const struct rf_field *at;
	size_t count;
};

/* Takes a line, which holds no control character but the tab, apart. */
enum rf_fault rf_field_parse(struct rf_span line, struct rf_field *ret_field);

/*
 * Whether a name is `own`, which is in small letters and with hyphens, in any case and with underscores for any of these: programs behind CGI
 * and its heirs see every hyphen as an underscore, and can't tell the one from the other.
 */
bool rf_field_is_seen_as(struct rf_span name, struct rf_span own);

/* True for a name that is like one of those that decide where a message ends, but for an underscore. */
bool rf_field_is_alike(struct rf_span name);

/* The first field of that name, in any case; NULL if there is none. */
const struct rf_field *rf_field_find(struct rf_fields fields, struct rf_span name);

/*
 * Takes the next element off a list of tokens ("close, upgrade").  Returns 1 and gives it, 0 at the end, and -EINVAL for
 * what is no such list.  Empty elements are passed over, as RFC 9110, 5.6.1 wants.
 */
int rf_field_next_token(struct rf_span *list, struct rf_span *ret_token);

#endif
