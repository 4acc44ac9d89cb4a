/*
 * Rules of the policy's own: regular expressions, matched by vectorscan.
 *
 * vectorscan and not a backtracking engine: its time is linear in the bytes whatever the expression, and what it can't do so it
 * refuses when it is compiled.  An expression must have an end: the longest text that it matches is known (`{1,200}` and not `+`) and at most
 * RF_OWN_WIDE, because that is how much of a line has to be held back.  It is matched within one line, so that
 * events pass as they come; `^` and `$` are a line's.
 *
 * The library is loaded when the first rule is compiled, and not before: a policy without such rules pays nothing.
 */
#ifndef RF_FILTER_OWN_H
#define RF_FILTER_OWN_H

#include <stddef.h>

#include "base/err.h"

#define RF_OWN_MAX  64   /* rules */
#define RF_OWN_WIDE 1024 /* bytes that one match spans, at most */

/*
 * What all rules of this process may come to: compiled ones are large, and who serves many boxes would have one set for each.  Sets of the same expressions are
 * one.
 */
#define RF_OWN_SETS  32
#define RF_OWN_BYTES (64u << 20)

struct rf_own;
struct rf_own_stream;

/*
 * Loads the library; for a process that can't do so any more when it compiles the first rule, having given up files.  -ENOSYS: it is not on
 * this machine.
 */
int rf_own_load(struct rf_err *err);

/*
 * Compiles `count` expressions (borrows), or finds them compiled.  On success gives `*ret_own`, which many streams share; on failure err says which
 * expression it was and why.  -ENOSYS: the library is not on this machine; -EDQUOT: there are as many sets as may be.  Of one thread.
 */
int rf_own_new(const char *const *expressions, unsigned count, struct rf_own **ret_own,
	       struct rf_err *err);
void rf_own_free(struct rf_own *own);

/* Is told of a match, as bytes since the stream began; a match that can end in several places is told each time. */
typedef void rf_own_found(void *context, unsigned long long at, unsigned long long end,
			  unsigned rule);

/* One answer (borrows `own`). */
int rf_own_stream_new(const struct rf_own *own, struct rf_own_stream **ret_stream,
		      struct rf_err *err);
void rf_own_stream_free(struct rf_own_stream *stream);

/* Looks at what comes next.  Returns 0 or a negative errno. */
int rf_own_stream_feed(struct rf_own_stream *stream, const char *data, size_t len,
		       rf_own_found *found, void *context);

/* Nothing more comes; `$` may tell of a match. */
int rf_own_stream_end(struct rf_own_stream *stream, rf_own_found *found, void *context);

/* The byte, since the stream began, from which on a match may yet be told. */
unsigned long long rf_own_stream_open(const struct rf_own_stream *stream);

#endif
