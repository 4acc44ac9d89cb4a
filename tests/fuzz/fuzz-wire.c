/*
 * A packet on the warden's socket, the watcher's or the gateway's: the first byte says how many descriptors come with it, and from whom.  Whatever it is,
 * no descriptor stays open that nobody owns, and what is taken for a message has its type's shape.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay.h"
#include "wire/wire.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The lowest descriptor that is free: the same before and after, if none stayed open. */
static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO), number = fd;

	require(fd >= 0);
	close(fd);
	return number;
}

static void send_packet(int fd, const uint8_t *data, size_t size, size_t count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(7 * sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	const int fds[7] = { 2, 2, 2, 2, 2, 2, 2 };
	struct cmsghdr *head;

	if (count > 0) {
		packet.msg_control = control;
		packet.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
		head = CMSG_FIRSTHDR(&packet);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	require(sendmsg(fd, &packet, MSG_NOSIGNAL) == (ssize_t)size);
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf buf = { 0 };
	struct rf_wire_message message;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], before, code;

	if (size < 2 || size > 100000)
		return 0;
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	rf_buf_init(&buf, RF_WIRE_ROOM);
	before = lowest_free();
	send_packet(pair[0], data + 1, size - 1, data[0] & 7);
	code = rf_wire_receive(pair[1], (enum rf_wire_side)((data[0] >> 3 & 7) % 6), &buf, &message,
			       &err);
	if (code == 1) {
		require(message.type > 0 && message.type < RF_WIRE_COUNT);
		require(message.len < size && message.fd_count == (data[0] & 7u));
		require(rf_wire_name(message.type)[0] != '?');
		rf_wire_done(&message);
	} else {
		require(code < 0 && code != -EAGAIN && err.msg[0]);
	}
	require(lowest_free() == before);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
