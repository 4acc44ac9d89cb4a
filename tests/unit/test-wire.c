/* What a client and the warden say to each other: src/wire/wire.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "wire/wire.h"

#define SHORT (RF_WIRE_PACKET - sizeof(struct rf_wire_head))

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	RF_REQUIRE(dir, "no /proc");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void open_pair(int pair[2])
{
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0,
		   "%s", strerror(errno));
}

/* Sends a packet as it stands, with any descriptors. */
static void send_raw(int fd, const void *data, size_t len, const int *fds, size_t count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)data, len };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
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
	RF_REQUIRE(sendmsg(fd, &packet, 0) == (ssize_t)len, "%s", strerror(errno));
}

RF_TEST(a_message_arrives_as_it_was_sent)
{
	/* clang-format off */
	static const struct { enum rf_wire_type type; enum rf_wire_side from; size_t len, fds; } cases[] = {
		{ RF_WIRE_HELLO,   RF_WIRE_CLIENT, 0, 0 },
		{ RF_WIRE_HELLO,   RF_WIRE_CLIENT, 256, 0 },
		{ RF_WIRE_JOIN,    RF_WIRE_CLIENT, 0, 1 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, 1, 3 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, SHORT, 3 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, 1, 4 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, SHORT + 1, 4 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, SHORT + 1, 3 },
		{ RF_WIRE_RUN,     RF_WIRE_CLIENT, RF_WIRE_BODY, 3 },
		{ RF_WIRE_SIGNAL,  RF_WIRE_CLIENT, 4, 0 },
		{ RF_WIRE_END,     RF_WIRE_CLIENT, 4, 0 },
		{ RF_WIRE_WELCOME, RF_WIRE_WARDEN, sizeof(struct rf_wire_welcome), 0 },
		{ RF_WIRE_PROVE,   RF_WIRE_CLIENT, 0, 1 },
		{ RF_WIRE_OWN,     RF_WIRE_CLIENT, sizeof(struct rf_wire_own), 0 },
		{ RF_WIRE_NEWS,    RF_WIRE_WARDEN, 1, 0 },
		{ RF_WIRE_NEWS,    RF_WIRE_WARDEN, RF_WIRE_BODY, 0 },
		{ RF_WIRE_PROVE,   RF_WIRE_TELLER, 0, 1 },
		{ RF_WIRE_TELL,    RF_WIRE_TELLER, 1, 0 },
		{ RF_WIRE_TELL,    RF_WIRE_TELLER, SHORT, 0 },
		{ RF_WIRE_ASK,     RF_WIRE_TELLER, 7, 0 },
		{ RF_WIRE_KEPT,    RF_WIRE_WATCHER, 8, 0 },
		{ RF_WIRE_TOLD,    RF_WIRE_WATCHER, 0, 0 },
		{ RF_WIRE_TOLD,    RF_WIRE_WATCHER, SHORT + 1, 0 },
		{ RF_WIRE_LOST,    RF_WIRE_WATCHER, 1, 0 },
		{ RF_WIRE_STARTED, RF_WIRE_WARDEN, sizeof(struct rf_wire_started), 0 },
		{ RF_WIRE_ENDED,   RF_WIRE_WARDEN, 4 << 20, 0 },
		{ RF_WIRE_REFUSED, RF_WIRE_WARDEN, 1, 0 },
		{ RF_WIRE_REFUSED, RF_WIRE_GATE, 1, 0 },
		{ RF_WIRE_GATE_OPEN,    RF_WIRE_TENANT, 1, 0 },
		{ RF_WIRE_GATE_OPEN,    RF_WIRE_TENANT, 4 << 20, 0 },
		{ RF_WIRE_GATE_LINES,   RF_WIRE_TENANT, 0, 4 },
		{ RF_WIRE_GATE_PORT,    RF_WIRE_TENANT, 4, 1 },
		{ RF_WIRE_GATE_PUBLISH, RF_WIRE_TENANT, 4, 1 },
		{ RF_WIRE_GATE_STOCK,   RF_WIRE_TENANT, 0, 8 },
		{ RF_WIRE_GATE_CHANGE,  RF_WIRE_TENANT, SHORT + 1, 0 },
		{ RF_WIRE_GATE_CHANGE_WHOLE, RF_WIRE_TENANT, SHORT + 1, 0 },
		{ RF_WIRE_GATE_CLOSE,   RF_WIRE_TENANT, 0, 0 },
		{ RF_WIRE_GATE_SPEAK,   RF_WIRE_TENANT, 1, 1 },
		{ RF_WIRE_GATE_READY,   RF_WIRE_GATE, 64 << 10, 0 },
		{ RF_WIRE_GATE_EVENT,   RF_WIRE_GATE, SHORT, 0 },
		{ RF_WIRE_GATE_HELD,    RF_WIRE_GATE, SHORT + 1, 0 },
		{ RF_WIRE_GATE_DONE,    RF_WIRE_GATE, 1, 0 },
		{ RF_WIRE_KEEP,     RF_WIRE_CLIENT, 1, 0 },
		{ RF_WIRE_KEEP,     RF_WIRE_CLIENT, SHORT + 1, 1 },
		{ RF_WIRE_EXEC,     RF_WIRE_CLIENT, 1, 0 },
		{ RF_WIRE_EXEC,     RF_WIRE_CLIENT, 128 << 10, 3 },
		{ RF_WIRE_ATTACH,   RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_FREEZE,   RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_THAW,     RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_RENEW,    RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_CLOSE,    RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_LIST,     RF_WIRE_CLIENT, sizeof(struct rf_wire_ref), 0 },
		{ RF_WIRE_TERMINAL, RF_WIRE_WARDEN, 0, 1 },
		{ RF_WIRE_BOXES,    RF_WIRE_WARDEN, 0, 0 },
		{ RF_WIRE_BOXES,    RF_WIRE_WARDEN, SHORT + 1, 0 },
	};
	/* clang-format on */
	char *body = malloc(RF_WIRE_BODY);
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], before, sent[RF_WIRE_FDS];

	RF_REQUIRE(body, "no memory");
	for (size_t i = 0; i < RF_WIRE_BODY; i++)
		body[i] = (char)(i * 7);
	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	for (size_t i = 0; i < RF_LEN(sent); i++)
		sent[i] = memfd_create("sent", MFD_CLOEXEC);
	before = count_fds();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_wire_message message = { 0 };
		struct stat a, b;

		RF_REQUIRE(rf_wire_send(pair[0], cases[i].type, 77 + i, body, cases[i].len, sent,
					cases[i].fds, &err) == 0,
			   "%s", err.msg);
		RF_REQUIRE(rf_wire_receive(pair[1], cases[i].from, &buf, &message, &err) == 1, "%s",
			   err.msg);
		RF_CHECK(message.type == cases[i].type && message.id == 77 + i &&
				 message.len == cases[i].len && message.fd_count == cases[i].fds,
			 "case %zu", i);
		RF_CHECK(memcmp(message.body, body, message.len) == 0 && !message.body[message.len],
			 "case %zu: body", i);
		for (size_t k = 0; k < message.fd_count; k++)
			RF_CHECK(fstat(message.fds[k], &a) == 0 && fstat(sent[k], &b) == 0 &&
					 a.st_ino == b.st_ino &&
					 fcntl(message.fds[k], F_GETFD) == FD_CLOEXEC,
				 "case %zu: descriptor %zu", i, k);
		rf_wire_done(&message);
		RF_CHECK(count_fds() == before, "case %zu: %d descriptors left", i,
			 count_fds() - before);
	}
	free(body);
}

RF_TEST(what_has_not_the_shape_of_its_type_is_not_sent)
{
	/* clang-format off */
	static const struct { unsigned type; size_t len, fds; } cases[] = {
		{ 0, 0, 0 }, { RF_WIRE_COUNT, 0, 0 }, { 9999, 0, 0 },
		{ RF_WIRE_HELLO, 257, 0 }, { RF_WIRE_HELLO, 0, 1 },
		{ RF_WIRE_JOIN, 0, 0 },    { RF_WIRE_JOIN, 0, 2 },
		{ RF_WIRE_RUN, 0, 3 },     { RF_WIRE_RUN, 1, 2 }, { RF_WIRE_RUN, 1, 5 },
		{ RF_WIRE_SIGNAL, 3, 0 },  { RF_WIRE_END, 5, 0 },
		{ RF_WIRE_GATE_LINES, 0, 3 }, { RF_WIRE_GATE_LINES, 0, 0 },
		{ RF_WIRE_GATE_STOCK, 0, 7 }, { RF_WIRE_GATE_PORT, 4, 0 },
		{ RF_WIRE_GATE_OPEN, 0, 0 },  { RF_WIRE_GATE_EVENT, SHORT + 1, 0 },
	};
	/* clang-format on */
	static const char body[SHORT + 1];
	int pair[2], fds[8] = { 0, 1, 2, 0, 1, 2, 0, 1 };

	open_pair(pair);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_wire_send(pair[0], (enum rf_wire_type)cases[i].type, 0, body,
				      cases[i].len, fds, cases[i].fds, &err) == -EMSGSIZE,
			 "case %zu", i);
	}
}

RF_TEST(a_packet_of_another_shape_is_refused_and_its_descriptors_are_closed)
{
	/* clang-format off */
	static const struct { const char *what; struct rf_wire_head head; size_t rest, fds; int code; } cases[] = {
		{ "another version",      { 0, RF_WIRE_VERSION + 1, RF_WIRE_HELLO, 0 },       0, 0, -EPROTO },
		{ "no type",              { 0, RF_WIRE_VERSION, 0, 0 },                   0, 0, -EBADMSG },
		{ "no such type",         { 0, RF_WIRE_VERSION, RF_WIRE_COUNT, 0 },       0, 0, -EBADMSG },
		{ "the other side's",     { sizeof(struct rf_wire_welcome), RF_WIRE_VERSION, RF_WIRE_WELCOME, 0 },
		  sizeof(struct rf_wire_welcome), 0, -EBADMSG },
		{ "body too long",        { 300, RF_WIRE_VERSION, RF_WIRE_HELLO, 0 },   300, 0, -EBADMSG },
		{ "body too short",       { 3, RF_WIRE_VERSION, RF_WIRE_SIGNAL, 0 },      3, 0, -EBADMSG },
		{ "body shorter than told", { 4, RF_WIRE_VERSION, RF_WIRE_SIGNAL, 0 },    3, 0, -EBADMSG },
		{ "body longer than told", { 4, RF_WIRE_VERSION, RF_WIRE_SIGNAL, 0 },     5, 0, -EBADMSG },
		{ "a descriptor too many", { 0, RF_WIRE_VERSION, RF_WIRE_HELLO, 0 },      0, 1, -EBADMSG },
		{ "a descriptor too few", { 0, RF_WIRE_VERSION, RF_WIRE_JOIN, 0 },        0, 0, -EBADMSG },
		{ "five for three or four", { 1, RF_WIRE_VERSION, RF_WIRE_RUN, 0 },       1, 5, -EBADMSG },
		{ "five for four",        { 0, RF_WIRE_VERSION, RF_WIRE_GATE_LINES, 0 },  0, 5, -EBADMSG },
		{ "nine for one",         { 0, RF_WIRE_VERSION, RF_WIRE_JOIN, 0 },        0, 9, -EBADMSG },
		{ "nine for none",        { 4, RF_WIRE_VERSION, RF_WIRE_SIGNAL, 0 },      4, 9, -EBADMSG },
		{ "ten for one",          { 0, RF_WIRE_VERSION, RF_WIRE_JOIN, 0 },        0, 10, -EBADMSG },
		{ "a tenant's",           { 0, RF_WIRE_VERSION, RF_WIRE_GATE_CLOSE, 0 },  0, 0, -EBADMSG },
		{ "longer than any",      { UINT32_MAX, RF_WIRE_VERSION, RF_WIRE_RUN, 0 }, 0, 4, -EBADMSG },
		{ "a long body without memory", { 70000, RF_WIRE_VERSION, RF_WIRE_RUN, 0 }, 0, 3, -EBADMSG },
		{ "a long body elsewhere", { 70000, RF_WIRE_VERSION, RF_WIRE_RUN, 0 },    0, 4, -EBADMSG },
		{ "a long body in both",  { 70000, RF_WIRE_VERSION, RF_WIRE_RUN, 0 },     9, 4, -EBADMSG },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf buf;
	char packet[1024] = { 0 };
	int pair[2], pipe_fds[2], fds[10], before;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	RF_REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0, "pipe");
	for (size_t i = 0; i < RF_LEN(fds); i++)
		fds[i] = pipe_fds[0];
	before = count_fds();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_wire_message message = { 0 };
		struct rf_err err = RF_ERR_INIT;
		int code;

		memcpy(packet, &cases[i].head, sizeof(cases[i].head));
		send_raw(pair[0], packet, sizeof(cases[i].head) + cases[i].rest, fds, cases[i].fds);
		code = rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err);
		RF_CHECK(code == cases[i].code && err.code == code && err.msg[0], "%s: %d, %s",
			 cases[i].what, code, err.msg);
		RF_CHECK(count_fds() == before, "%s: %d descriptors left", cases[i].what,
			 count_fds() - before);
	}
}

RF_TEST(a_cut_head_an_empty_packet_and_one_that_is_too_long_are_no_messages)
{
	static char packet[RF_WIRE_PACKET + 1];
	struct rf_wire_head head = { 0, RF_WIRE_VERSION, RF_WIRE_HELLO, 0 };
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_wire_message message;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], one = 1, before;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	before = count_fds();
	memcpy(packet, &head, sizeof(head));
	send_raw(pair[0], packet, sizeof(head) - 1, &one, 1);
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == -EBADMSG, "cut");
	send_raw(pair[0], packet, sizeof(packet), &one, 1);
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == -EBADMSG,
		 "too long");
	send_raw(pair[0], packet, 0, &one, 1);
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == 0, "empty");
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == -EAGAIN, "none");
	close(pair[0]);
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == 0, "the end");
	RF_CHECK(rf_wire_send(pair[1], RF_WIRE_HELLO, 0, NULL, 0, NULL, 0, &err) == -EPIPE,
		 "to nobody");
	RF_CHECK(count_fds() == before - 1, "descriptors are left");
}

RF_TEST(a_long_body_must_be_in_memory_and_as_long_as_it_says)
{
	struct rf_wire_head head = { 70000, RF_WIRE_VERSION, RF_WIRE_RUN, 5 };
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_wire_message message;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], fds[4] = { 0, 1, 2, -1 };

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	fds[3] = memfd_create("body", MFD_CLOEXEC);
	for (int size = 69999; size <= 70001; size++) {
		RF_REQUIRE(ftruncate(fds[3], size) == 0, "ftruncate");
		send_raw(pair[0], &head, sizeof(head), fds, 4);
		RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) ==
				 (size == 70000 ? 1 : -EBADMSG),
			 "%d bytes: %s", size, err.msg);
		if (size == 70000) {
			RF_CHECK(message.len == 70000 && message.fd_count == 3, "%zu", message.len);
			rf_wire_done(&message);
		}
	}
	fds[3] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	send_raw(pair[0], &head, sizeof(head), fds, 4);
	RF_CHECK(rf_wire_receive(pair[1], RF_WIRE_CLIENT, &buf, &message, &err) == -EBADMSG &&
			 strstr(err.msg, "memfd"),
		 "%s", err.msg);
}

RF_TEST(bodies_of_fixed_form_are_looked_at)
{
	struct rf_wire_welcome welcome = { .version = "0.1.0", .pid = 7, .uid = 1000 }, got;
	struct rf_wire_started started = { .id = "0123456789abcdef", .pid = 9 }, begun;
	struct rf_wire_message message = { .type = RF_WIRE_WELCOME,
					   .body = (const char *)&welcome,
					   .len = sizeof(welcome) };
	struct rf_err err = RF_ERR_INIT;
	uint32_t number = 15;

	RF_CHECK(rf_wire_welcome(&message, &got, &err) == 0 && got.pid == 7 && got.uid == 1000,
		 "%s", err.msg);
	RF_CHECK(rf_wire_started(&message, &begun, &err) == -EBADMSG, "another type");
	memset(welcome.version, 'x', sizeof(welcome.version));
	RF_CHECK(rf_wire_welcome(&message, &got, &err) == -EBADMSG, "a version without an end");

	message = (struct rf_wire_message){ .type = RF_WIRE_STARTED,
					    .body = (const char *)&started,
					    .len = sizeof(started) };
	RF_CHECK(rf_wire_started(&message, &begun, &err) == 0 && begun.pid == 9 &&
			 strcmp(begun.id, "0123456789abcdef") == 0,
		 "%s", err.msg);
	memset(started.id, 'x', sizeof(started.id));
	RF_CHECK(rf_wire_started(&message, &begun, &err) == -EBADMSG, "an id without an end");

	message = (struct rf_wire_message){ .type = RF_WIRE_SIGNAL,
					    .body = (const char *)&number,
					    .len = sizeof(number) };
	RF_CHECK(rf_wire_u32(&message) == 15, "%u", rf_wire_u32(&message));
}

RF_TEST(a_refusal_brings_the_whole_story)
{
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_wire_message message;
	struct rf_err why = RF_ERR_INIT, err = RF_ERR_INIT;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	rf_fail_at(&why, 3, 7, "%0500d", 1); /* as long as it can be */
	rf_fail_hint(&why, "%0500d", 2);
	RF_REQUIRE(rf_wire_refuse(pair[0], 4, &why, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_WARDEN, &buf, &message, &err) == 1, "%s",
		   err.msg);
	RF_CHECK(rf_wire_refused(&message, &err) == -EINVAL && err.line == 3 && err.column == 7 &&
			 strcmp(err.msg, why.msg) == 0 && strcmp(err.hint, why.hint) == 0,
		 "%s", err.msg);
	message.len--;
	RF_CHECK(rf_wire_refused(&message, &err) == -EBADMSG, "cut");
}
