/* What carries a connection's bytes: see transport.h. */
#include "http/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/fd.h"

static ssize_t plain_read(struct rf_transport *transport, void *data, size_t size)
{
	ssize_t n;

	do
		n = recv(transport->fd, data, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t plain_write(struct rf_transport *transport, const void *data, size_t len)
{
	int more = transport->has_more ? MSG_MORE : 0;
	ssize_t n;

	do
		n = send(transport->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT | more);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t plain_splice(struct rf_transport *transport, int pipe, size_t len)
{
	ssize_t n;

	do
		n = splice(pipe, NULL, transport->fd, NULL, len,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void plain_shut(struct rf_transport *transport)
{
	shutdown(transport->fd, SHUT_WR);
}

static void plain_done(struct rf_transport *transport)
{
	rf_fd_done(&transport->fd);
}

struct rf_transport rf_transport_plain(int *fd)
{
	static const struct rf_transport_ops ops = {
		.read = plain_read,
		.write = plain_write,
		.splice = plain_splice,
		.shut = plain_shut,
		.done = plain_done,
	};

	return (struct rf_transport){ .ops = &ops, .fd = rf_fd_take(fd) };
}
