/* Bytes that the kernel keeps for a program, on their way from one descriptor to another. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bomb.h"

#define KIB 1024

static char bytes[32 * KIB];

/* Writes until the buffer is full. */
static void stuff(int fd)
{
	for (ssize_t len;;) {
		len = write(fd, bytes, sizeof(bytes));
		if (len <= 0)
			return;
		bomb_take((uint64_t)len);
	}
}

static int pipes(void)
{
	for (;;) {
		int ends[2];

		if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
			return bomb_refused();
		fcntl(ends[1], F_SETPIPE_SZ, 1024 * KIB);
		stuff(ends[1]);
	}
}

static void widen(int fd)
{
	int size = 4 * 1024 * KIB;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int unix_pairs(int type)
{
	for (;;) {
		int ends[2];

		if (socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
			return bomb_refused();
		for (int i = 0; i < 2; i++) {
			widen(ends[i]);
			stuff(ends[i]);
		}
	}
}

static int unix_streams(void)
{
	return unix_pairs(SOCK_STREAM);
}

static int unix_packets(void)
{
	return unix_pairs(SOCK_SEQPACKET);
}

/* Messages of one byte, which cost the kernel some hundred each. */
static int unix_crumbs(void)
{
	for (;;) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
			return bomb_refused();
		for (int i = 0; i < 2; i++) {
			widen(ends[i]);
			while (send(ends[i], bytes, 1, 0) == 1)
				bomb_take(768);
		}
	}
}

static int loopback(int type, struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)at, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)at, &len) < 0)
		return bomb_refused();
	return fd;
}

static int tcp(void)
{
	struct sockaddr_in at;
	int listener = loopback(SOCK_STREAM, &at);

	if (listener < 0)
		return listener;
	if (listen(listener, 16) < 0)
		return bomb_refused();
	for (;;) {
		int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), other;
		struct sockaddr_in from;
		socklen_t len = sizeof(from);

		if (one < 0)
			return bomb_refused();
		widen(one);
		if (connect(one, (struct sockaddr *)&at, sizeof(at)) < 0)
			return bomb_refused();
		other = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
		if (other < 0)
			return bomb_refused();
		widen(other);
		fcntl(one, F_SETFL, O_NONBLOCK);
		fcntl(other, F_SETFL, O_NONBLOCK);
		stuff(one);
		stuff(other);
	}
}

/* What does not fit into the receiver's queue is dropped, so the queue itself is asked. */
static int udp(void)
{
	for (;;) {
		struct sockaddr_in at;
		int fd = loopback(SOCK_DGRAM, &at);
		unsigned before = 0, memory[9] = { 0 };

		if (fd < 0)
			return fd;
		widen(fd);
		for (;; before = memory[0]) {
			socklen_t len = sizeof(memory);

			sendto(fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&at,
			       sizeof(at));
			if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &len) < 0)
				return bomb_refused();
			if (memory[0] == before)
				break;
			bomb_take(memory[0] - before);
		}
	}
}

/* System V: each queue holds 16 KiB, and there are thousands. */
static int messages(void)
{
	struct {
		long type;
		char text[8000];
	} message = { 1, "" };

	for (;;) {
		int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);

		if (id < 0)
			return bomb_refused();
		while (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) == 0)
			bomb_take(sizeof(message.text));
	}
}

/* clang-format off */
const struct bomb bomb_buffers[] = {
	{ "pipes",         pipes,        24 },
	{ "unix-streams",  unix_streams, 8  },
	{ "unix-packets",  unix_packets, 8  },
	{ "unix-crumbs",   unix_crumbs,  8  },
	{ "tcp",           tcp,          8  },
	{ "udp",           udp,          8  },
	{ "sysv-messages", messages,     1  },
	{ NULL,            NULL,         0  },
};
/* clang-format on */
