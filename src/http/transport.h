/*
 * What carries a connection's bytes: one small interface, so that nobody above knows whether they are encrypted on the way.
 *
 * Never waits.  A socket as it is (TCP or unix) is made here.
 */
#ifndef RF_HTTP_TRANSPORT_H
#define RF_HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct rf_transport;

struct rf_transport_ops {
	/* Bytes, 0 at the end of what the other end sends, or a negative errno: -EAGAIN if it would wait. */
	ssize_t (*read)(struct rf_transport *transport, void *data, size_t size);
	/* Bytes that were taken, or a negative errno as above. */
	ssize_t (*write)(struct rf_transport *transport, const void *data, size_t len);
	/* The same of bytes that lie in a pipe (borrows), which are then gone from there; never copied.  NULL: it has to see them. */
	ssize_t (*splice)(struct rf_transport *transport, int pipe, size_t len);
	/* Nothing more is sent; what comes can still be read. */
	void (*shut)(struct rf_transport *transport);
	/* Closes the descriptor, and frees what is behind `data`. */
	void (*done)(struct rf_transport *transport);
	/* Tells what went wrong, if it knows more than an errno; returns whether it did.  May be NULL. */
	bool (*explain)(const struct rf_transport *transport, struct rf_err *err);
};

struct rf_transport {
	const struct rf_transport_ops *ops;
	int fd; /* what to wait on, or -1 */
	void *data;
	/* It keeps bytes of its own: a read that got less than it asked for does not mean that there are no more, only -EAGAIN does. */
	bool is_deep;
	/* More is written soon: what does not fill a packet may wait for it, for a moment.  One that can't have it wait does not. */
	bool has_more;
	/* RF_LOOP_* bits to wait for until a read or a write is tried again, or 0 for the usual: an encrypted one may have to write in order to read. */
	int read_needs, write_needs;
};

/* Makes a transport of a socket that connects. */
struct rf_transport_maker {
	/* Takes `*fd`, also on failure.  `name` is whom the other end must prove to be. */
	int (*make)(const struct rf_transport_maker *maker, int *fd, const char *name,
		    struct rf_transport *ret_transport, struct rf_err *err);
};

/* A connected socket that does not block (takes `*fd`). */
struct rf_transport rf_transport_plain(int *fd);

#endif
