/*
 * A body of multipart/form-data (RFC 7578), read in pieces.
 *
 * Pure, and each byte looked at a few times at most; keeps nothing but the last part's names.  What breaks the form is refused, never repaired.
 *
 *	while ((what = rf_multipart_next(&reader, input, &used)) ...) { ...; input = input + used }
 */
#ifndef RF_SERVER_MULTIPART_H
#define RF_SERVER_MULTIPART_H

#include <stdbool.h>

#include "http/span.h"

#define RF_MULTIPART_BOUNDARY 70   /* bytes of one, at most (RFC 2046) */
#define RF_MULTIPART_HEAD     8192 /* of a part's fields */
#define RF_MULTIPART_NAME     1000 /* of a file's name, with a NUL */
#define RF_MULTIPART_PARTS    1000

enum rf_multipart_event {
	RF_MULTIPART_MORE, /* it goes on with bytes that are not there yet; at the end of the body: it was cut */
	RF_MULTIPART_PART, /* one begins: is_file and name tell of it */
	RF_MULTIPART_DATA, /* bytes of it: data */
	RF_MULTIPART_PART_END,
	RF_MULTIPART_END, /* the last boundary; what follows means nothing */
	RF_MULTIPART_BAD
};

struct rf_multipart {
	char line[RF_MULTIPART_BOUNDARY + 5]; /* CR LF - - boundary */
	size_t line_len;
	int state;
	unsigned parts;
	bool is_file;                 /* the part has a file's name */
	char name[RF_MULTIPART_NAME]; /* that name; "" of another part */
	struct rf_span data;
};

/* From the value of Content-Type; false if it is none of such a body, or its boundary is none. */
bool rf_multipart_init(struct rf_multipart *reader, struct rf_span type);

/* The next of it.  `*ret_used` bytes of the input are done with; the rest is to be there again. */
enum rf_multipart_event rf_multipart_next(struct rf_multipart *reader, struct rf_span input,
					  size_t *ret_used);

#endif
