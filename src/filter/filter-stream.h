/*
 * One answer's body, from the way it travels to what a box may read.
 *
 *   bytes as they came → decoded (coding.h) → secrets masked (sieve.h) → cut at a size, if there is one → out
 *
 * Cutting comes last: what was cut off first could leave half a secret that nothing finds.  Whoever uses it takes
 * Content-Encoding out of the head where rf_filter_stream_is_decoded() says so, and the length with it.
 */
#ifndef RF_FILTER_FILTER_STREAM_H
#define RF_FILTER_FILTER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "filter/coding.h"
#include "filter/sieve.h"

/* How long a rule may hold bytes back: then rf_filter_stream_flush() is to be called. */
#define RF_FILTER_STREAM_HOLD_MS 50

struct rf_filter_stream;

/*
 * Borrows `set`.  `limit_bytes` is how much may pass, 0 for all.  A coding that can't be read (RF_CODING_UNKNOWN) is -ENOTSUP unless
 * `may_pass_unread`, and then passes as it is: known secrets are looked for in it as it travels.
 */
int rf_filter_stream_new(const struct rf_sieve_set *set, enum rf_coding coding,
			 uint64_t limit_bytes, bool may_pass_unread,
			 struct rf_filter_stream **ret_stream, struct rf_err *err);
void rf_filter_stream_free(struct rf_filter_stream *stream);

/*
 * Takes bytes of the body and appends to `out` what may pass, at most `room` bytes or a little more.  Returns how many bytes were taken: fewer
 * than `len` when `room` is used up, and then the rest is to be given again; or a negative errno as rf_coding_decode() has them.
 * With `len` 0 it goes on with what was taken but not written: call it until nothing is appended.
 */
ssize_t rf_filter_stream_feed(struct rf_filter_stream *stream, const char *data, size_t len,
			      struct rf_buf *out, size_t room);

/* Lets go of what a rule has held back for too long. */
int rf_filter_stream_flush(struct rf_filter_stream *stream, struct rf_buf *out);

/* The body has ended: what is held back passes.  -EBADMSG if its coding has not. */
int rf_filter_stream_finish(struct rf_filter_stream *stream, struct rf_buf *out);

/* Is something held back, or did the size cut something off? */
size_t rf_filter_stream_held(const struct rf_filter_stream *stream);
bool rf_filter_stream_is_cut(const struct rf_filter_stream *stream);

/* Has the body another form than the one that came? */
bool rf_filter_stream_is_decoded(const struct rf_filter_stream *stream);

const struct rf_sieve_counts *rf_filter_stream_counted(const struct rf_filter_stream *stream);

#endif
