/* Messages to a process that may have stopped reading: src/server/outbox.c. */
#include "server/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

#define MESSAGES 5000

static void make_pair(int pair[2])
{
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0,
		   "a pair");
}

static int send_key(struct rf_outbox *box, uint64_t id, struct rf_err *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)id);
	return rf_outbox_send(box, RF_WIRE_FRONT_REVOKED, id, text, strlen(text), NULL, 0, err);
}

/* True if the next message is number `id`; a descriptor that came along is a pipe's end, into which something is written. */
static bool receive(int fd, struct rf_buf *in, uint64_t id, int pipe_end)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	char byte;

	if (rf_wire_receive(fd, RF_WIRE_HOST, in, &message, &err) != 1 || message.id != id)
		return false;
	if (message.fd_count == 0)
		return pipe_end < 0 && (uint64_t)strtoull(message.body, NULL, 10) == id;
	return write(message.fds[0], "x", 1) == 1 && read(pipe_end, &byte, 1) == 1;
}

RF_TEST(what_is_not_taken_is_kept_in_order_with_its_descriptors)
{
	struct rf_outbox box;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf in;
	int pair[2], ends[2];
	uint64_t got = 1;

	make_pair(pair);
	RF_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
	rf_buf_init(&in, RF_WIRE_ROOM);
	rf_outbox_init(&box, pair[0]);
	for (uint64_t i = 1; i <= MESSAGES; i++)
		RF_REQUIRE(send_key(&box, i, &err) == 0, "message %llu: %s", (unsigned long long)i,
			   err.msg);
	RF_CHECK(box.count > 0 && box.count < MESSAGES && box.stuck_ns, "%zu are kept", box.count);
	RF_CHECK(rf_outbox_send(&box, RF_WIRE_FRONT_GUEST, MESSAGES + 1, NULL, 0, &ends[1], 1,
				&err) == 0,
		 "%s", err.msg);
	rf_fd_done(&ends[1]); /* it has a copy */
	RF_CHECK(!rf_outbox_flush(&box), "nobody has read");
	while (got <= MESSAGES) {
		while (got <= MESSAGES && receive(pair[1], &in, got, -1))
			got++;
		if (box.count == 0 && got <= MESSAGES)
			break;
		rf_outbox_flush(&box);
	}
	RF_CHECK(got == MESSAGES + 1, "%llu came, in order", (unsigned long long)got - 1);
	rf_outbox_flush(&box);
	RF_CHECK(receive(pair[1], &in, MESSAGES + 1, ends[0]), "the descriptor came, too");
	RF_CHECK(box.count == 0 && box.bytes == 0 && box.stuck_ns == 0, "nothing is left");
	rf_outbox_done(&box);
}

RF_TEST(there_is_a_most_of_it_and_who_is_beyond_it_is_known)
{
	static char large[1 << 20];
	struct rf_outbox box;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], code = 0;
	size_t sent = 0;

	make_pair(pair);
	rf_outbox_init(&box, pair[0]);
	while (code == 0 && box.count == 0)
		code = send_key(&box, 1, &err);
	memset(large, 'x', sizeof(large));
	for (; code == 0 && sent < 1000; sent++)
		code = rf_outbox_send(&box, RF_WIRE_FRONT_TOLD, 1, large, sizeof(large), NULL, 0,
				      &err);
	RF_CHECK(code == -ENOBUFS && box.is_full && box.bytes <= RF_OUTBOX_BYTES,
		 "%zu messages, then %s", sent, err.msg);
	rf_outbox_done(&box);
	RF_CHECK(rf_outbox_send(&box, RF_WIRE_FRONT_DRAIN, 0, NULL, 0, NULL, 0, &err) == -ENOTCONN,
		 "nobody is there");
}
