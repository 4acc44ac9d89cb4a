/*
 * Errors that carry their story.
 *
 * A function that can fail returns 0 or more for success and a negative errno for failure.  What a
 * person may read goes into a `struct rf_err` on the caller's stack: it has a fixed size, so it
 * works when memory is gone and crosses a pipe in one write.  Each level that knows more adds its
 * context in front; only the program's edge prints it, once.
 */
#ifndef RF_BASE_ERR_H
#define RF_BASE_ERR_H

#include <stddef.h>

struct rf_err {
	int code;         /* negative errno, or 0 */
	int line, column; /* in the text that was read, counted from 1, or 0 */
	char msg[256];    /* what failed, outermost context first */
	char hint[240];   /* what to do about it, or "" */
};

#define RF_ERR_INIT ((struct rf_err){ 0 })

/* Records a failed call: the message, then what the errno in `code` means.  Returns `code`. */
int rf_fail(struct rf_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Records a refusal in our own words, with no errno text behind them.  Returns `code`. */
int rf_fail_say(struct rf_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Records what is wrong in a text and where.  Returns -EINVAL. */
int rf_fail_at(struct rf_err *err, int line, int column, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds context in front of the story told so far.  Returns err->code. */
int rf_fail_in(struct rf_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets what the reader can do about it.  Returns err->code. */
int rf_fail_hint(struct rf_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The symbol of an errno, negative or not ("ENOENT"), for programs to read. */
const char *rf_err_name(int code);

#endif
