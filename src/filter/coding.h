/*
 * The codings in which a body travels, undone.
 *
 * What is looked at has to be read first.  The body is passed on as it is then, without its coding: the way from the gateway to the box is
 * memory, and compressing for it again would cost more than all the rest.
 *
 * A decoder gives what is there at once (a sender that flushes, as event streams do, is not waited for), in pieces that its caller bounds.  A small
 * body that becomes a huge one is refused: past RF_CODING_FREE bytes, more than RF_CODING_RATIO bytes for one.
 */
#ifndef RF_FILTER_CODING_H
#define RF_FILTER_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RF_CODING_FREE  (8 * 1024 * 1024)
#define RF_CODING_RATIO 200
#define RF_CODING_WINDOW                                                                           \
	(8 * 1024 * 1024) /* bytes that a decoder may look back: what RFC 9659 asks for */

enum rf_coding {
	RF_CODING_IDENTITY,
	RF_CODING_GZIP,
	RF_CODING_DEFLATE,
	RF_CODING_BR,
	RF_CODING_ZSTD,
	RF_CODING_UNKNOWN, /* also several at once */
};

/* What a Content-Encoding field says; `len` 0 is no field. */
enum rf_coding rf_coding_parse(const char *value, size_t len);

/* The name in that field. */
const char *rf_coding_name(enum rf_coding coding);

struct rf_coding_decoder;

int rf_coding_decoder_new(enum rf_coding coding, struct rf_coding_decoder **ret_decoder,
			  struct rf_err *err);
void rf_coding_decoder_free(struct rf_coding_decoder *decoder);

/*
 * Reads from `*data` and writes up to `room` bytes to `out`; moves `*data` and `*len` past what was read.  Returns how many bytes
 * were written: 0 when more has to come, or a negative errno: -EBADMSG (not what the coding says), -E2BIG (a bomb), -ENOMEM.
 */
ssize_t rf_coding_decode(struct rf_coding_decoder *decoder, const char **data, size_t *len,
			 char *out, size_t room);

/* May the body end here?  It may not in the middle of what the coding has begun. */
bool rf_coding_is_whole(const struct rf_coding_decoder *decoder);

#endif
