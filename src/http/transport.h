/*
 * What carries a connection's bytes: one small interface, so that nobody above knows whether they are encrypted on the way.
 *
 * Never waits.  A socket as it is (TCP or unix) is made here.
 */
#ifndef RF_HTTP_TRANSPORT_H
#define RF_HTTP_TRANSPORT_H

#include <stddef.h>
#include <sys/types.h>

struct rf_transport;

struct rf_transport_ops {
	/* Bytes, 0 at the end of what the other end sends, or a negative errno: -EAGAIN if it would wait. */
	ssize_t (*read)(struct rf_transport *transport, void *data, size_t size);
	/* Bytes that were taken, or a negative errno as above. */
	ssize_t (*write)(struct rf_transport *transport, const void *data, size_t len);
	/* Nothing more is sent; what comes can still be read. */
	void (*shut)(struct rf_transport *transport);
	/* Closes the descriptor, and frees what is behind `data`. */
	void (*done)(struct rf_transport *transport);
};

struct rf_transport {
	const struct rf_transport_ops *ops;
	int fd; /* what to wait on, or -1 */
	void *data;
};

/* A connected socket that does not block (takes `*fd`). */
struct rf_transport rf_transport_plain(int *fd);

#endif
