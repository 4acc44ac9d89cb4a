/* What a client and the warden say to each other: see wire.h. */
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pack.h"

#define SHORT        (RF_WIRE_PACKET - sizeof(struct rf_wire_head)) /* bytes that fit into a packet */
#define RESULT_MAX   (4 * 1024 * 1024)
#define HELLO_MAX    256
#define ERROR_MAX    1024
#define QUESTION_MAX (2 * 1024 * 1024) /* a policy, and what is to be done with it */
#define SIGHT_MAX    1024
#define PEM_MAX      (64 * 1024)
#define EXEC_MAX     (128 * 1024)
#define CLERK_MAX    (5 * 1024 * 1024) /* a question with a request's body of JSON */
#define ANSWER_MAX   (17 * 1024 * 1024)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

#define FROM(side) (1u << RF_WIRE_##side)
#define REF        sizeof(struct rf_wire_ref)

/* clang-format off */
static const struct shape {
	const char *name;
	unsigned from;      /* sides that may send it */
	size_t fds;         /* at least */
	size_t least, most; /* bytes of the body */
	size_t more_fds;    /* that may come besides */
} shapes[RF_WIRE_COUNT] = {
	[RF_WIRE_HELLO]   = { "HELLO",   FROM(CLIENT), 0, 0, HELLO_MAX },
	[RF_WIRE_JOIN]    = { "JOIN",    FROM(CLIENT), 1, 0, 0 },
	[RF_WIRE_RUN]     = { "RUN",     FROM(CLIENT), 3, 1, RF_WIRE_BODY, 1 },
	[RF_WIRE_SIGNAL]  = { "SIGNAL",  FROM(CLIENT), 0, sizeof(uint32_t), sizeof(uint32_t) },
	[RF_WIRE_END]     = { "END",     FROM(CLIENT), 0, sizeof(uint32_t), sizeof(uint32_t) },
	[RF_WIRE_WELCOME] = { "WELCOME", FROM(WARDEN), 0,
			      sizeof(struct rf_wire_welcome), sizeof(struct rf_wire_welcome) },
	[RF_WIRE_STARTED] = { "STARTED", FROM(WARDEN), 0,
			      sizeof(struct rf_wire_started), sizeof(struct rf_wire_started) },
	[RF_WIRE_ENDED]   = { "ENDED",   FROM(WARDEN), 0, 1, RESULT_MAX },
	[RF_WIRE_REFUSED] = { "REFUSED", FROM(WARDEN) | FROM(GATE) | FROM(CLERK), 0, 1, ERROR_MAX },
	[RF_WIRE_TELL]    = { "TELL",    FROM(TELLER), 0, 1, SHORT },
	[RF_WIRE_ASK]     = { "ASK",     FROM(TELLER), 0, 1, QUESTION_MAX },
	[RF_WIRE_KEPT]    = { "KEPT",    FROM(WATCHER), 0, sizeof(uint64_t), sizeof(uint64_t) },
	[RF_WIRE_TOLD]    = { "TOLD",    FROM(WATCHER), 0, 0, RESULT_MAX },
	[RF_WIRE_LOST]    = { "LOST",    FROM(WATCHER), 0, 1, ERROR_MAX },
	[RF_WIRE_LIVE]    = { "LIVE",    FROM(TELLER), 1, 1, SIGHT_MAX, 1 },
	[RF_WIRE_PROVE]   = { "PROVE",   FROM(CLIENT) | FROM(TELLER), 1, 0, 0 },
	[RF_WIRE_GATE_OPEN]    = { "OPEN",    FROM(TENANT), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_LINES]   = { "LINES",   FROM(TENANT), 4, 0, 0 },
	[RF_WIRE_GATE_PORT]    = { "PORT",    FROM(TENANT), 1, sizeof(uint32_t), sizeof(uint32_t) },
	[RF_WIRE_GATE_PUBLISH] = { "PUBLISH", FROM(TENANT), 1, sizeof(uint32_t), sizeof(uint32_t) },
	[RF_WIRE_GATE_STOCK]   = { "STOCK",   FROM(TENANT), 8, 0, 0 },
	[RF_WIRE_GATE_CHANGE]  = { "CHANGE",  FROM(TENANT), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_CLOSE]   = { "CLOSE",   FROM(TENANT), 0, 0, 0 },
	[RF_WIRE_GATE_SPEAK]   = { "SPEAK",   FROM(TENANT), 1, 1, SHORT },
	[RF_WIRE_GATE_READY]   = { "READY",   FROM(GATE), 0, 1, PEM_MAX },
	[RF_WIRE_GATE_EVENT]   = { "EVENT",   FROM(GATE), 0, 1, SHORT },
	[RF_WIRE_GATE_HELD]    = { "HELD",    FROM(GATE), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_DONE]    = { "DONE",    FROM(GATE), 0, 1, ERROR_MAX },
	[RF_WIRE_KEEP]     = { "KEEP",     FROM(CLIENT), 0, 1, RF_WIRE_BODY, 1 },
	[RF_WIRE_EXEC]     = { "EXEC",     FROM(CLIENT), 0, 1, EXEC_MAX, 3 },
	[RF_WIRE_ATTACH]   = { "ATTACH",   FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_FREEZE]   = { "FREEZE",   FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_THAW]     = { "THAW",     FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_RENEW]    = { "RENEW",    FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_CLOSE]    = { "CLOSE",    FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_LIST]     = { "LIST",     FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_TERMINAL] = { "TERMINAL", FROM(WARDEN), 1, 0, 0 },
	[RF_WIRE_BOXES]    = { "BOXES",    FROM(WARDEN), 0, 0, RESULT_MAX },
	[RF_WIRE_GATE_HAND]    = { "HAND",    FROM(TENANT), 1, sizeof(uint32_t), sizeof(uint32_t) },
	[RF_WIRE_GATE_SHOW]    = { "SHOW",    FROM(TENANT), 0, 0, 0 },
	[RF_WIRE_GATE_BOUND]   = { "BOUND",   FROM(TENANT), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_POLICY]  = { "POLICY",  FROM(GATE), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_BOOKS] = { "BOOKS",  FROM(TENANT), 0, 1, SHORT },
	[RF_WIRE_BOUND]    = { "BOUND",    FROM(CLIENT), 1, 1, RF_TERMS_BYTES },
	[RF_WIRE_FRONT_BEGIN]    = { "BEGIN",    FROM(HOST), 0, 1, SHORT },
	[RF_WIRE_FRONT_LISTEN]   = { "LISTEN",   FROM(HOST), 1, 0, 0 },
	[RF_WIRE_FRONT_HOLDER]   = { "HOLDER",   FROM(HOST), 1, 1, RF_TERMS_BYTES, 1 },
	[RF_WIRE_FRONT_STRANGER] = { "STRANGER", FROM(HOST), 0, 1, ERROR_MAX },
	[RF_WIRE_FRONT_GUEST]    = { "GUEST",    FROM(HOST), 1, 0, 0 },
	[RF_WIRE_FRONT_REVOKED]  = { "REVOKED",  FROM(HOST), 0, 1, ERROR_MAX },
	[RF_WIRE_FRONT_DRAIN]    = { "DRAIN",    FROM(HOST), 0, 0, 0 },
	[RF_WIRE_FRONT_READY]    = { "READY",    FROM(FRONT), 0, 0, 0 },
	[RF_WIRE_FRONT_KEY]      = { "KEY",      FROM(FRONT), 0, 1, HELLO_MAX },
	[RF_WIRE_CLERK_TERMS]    = { "TERMS",    FROM(HOST), 1, 1, RF_TERMS_BYTES },
	[RF_WIRE_CLERK_WATCHER]  = { "WATCHER",  FROM(HOST), 1, 0, 0 },
	[RF_WIRE_HERALD_BEGIN]   = { "HERALD",   FROM(HOST), 0, 1, RF_TERMS_BYTES },
	[RF_WIRE_HERALD_TELL]    = { "TELL",     FROM(HOST) | FROM(FRONT), 0, 1, SHORT },
	[RF_WIRE_HERALD_FIGURES] = { "FIGURES",  FROM(HOST), 0, 1, RESULT_MAX },
	[RF_WIRE_HERALD_SPAN]    = { "SPAN",     FROM(HOST) | FROM(FRONT), 0, 1, ERROR_MAX },
	[RF_WIRE_CLERK_ASK]      = { "ASK",      FROM(FRONT), 0, sizeof(uint32_t), CLERK_MAX, 4 },
	[RF_WIRE_CLERK_TOLD]     = { "TOLD",     FROM(CLERK), 0, 0, ANSWER_MAX, 4 },
	[RF_WIRE_FRONT_CLERK]    = { "CLERK",    FROM(HOST), 1, 1, ERROR_MAX },
	[RF_WIRE_HAND]           = { "HAND",     FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_LENT]           = { "LENT",     FROM(WARDEN), 1, 0, 0 },
	[RF_WIRE_GATE_SEAL]      = { "SEAL",     FROM(TENANT), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_LOG]       = { "LOG",      FROM(TENANT), 0, 2 * sizeof(uint64_t), 2 * sizeof(uint64_t) },
	[RF_WIRE_GATE_CUSTODY]   = { "CUSTODY",  FROM(TENANT), 1, 0, 0 },
	[RF_WIRE_GATE_NAME]      = { "NAME",     FROM(TENANT) | FROM(GATE), 0, 1, HELLO_MAX },
	[RF_WIRE_GATE_ASKED]     = { "ASKED",    FROM(GATE), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_TAKEN]     = { "TAKEN",    FROM(TENANT), 0, 1, ERROR_MAX },
	[RF_WIRE_GATE_CHANGE_WHOLE] = { "CHANGE_WHOLE", FROM(TENANT), 0, 1, RESULT_MAX },
	[RF_WIRE_GATE_LOGGED]    = { "LOGGED",   FROM(GATE), 0, 1, SHORT },
	[RF_WIRE_FRONT_TLS]      = { "TLS",      FROM(HOST), 0, 1, RESULT_MAX },
	[RF_WIRE_REACH]          = { "REACH",    FROM(CLIENT), 0, REF, REF },
	[RF_WIRE_REACHED]        = { "REACHED",  FROM(WARDEN), 1, 0, 0 },
	[RF_WIRE_OWN]  = { "OWN",  FROM(CLIENT), 0, sizeof(struct rf_wire_own), sizeof(struct rf_wire_own) },
	[RF_WIRE_FRONT_ASK]  = { "ASK",  FROM(FRONT), 0, 1, 2 * RESULT_MAX },
	[RF_WIRE_FRONT_TOLD] = { "TOLD", FROM(HOST), 0, 1, 2 * RESULT_MAX },
	[RF_WIRE_NEWS] = { "NEWS", FROM(WARDEN), 0, 1, RF_WIRE_BODY },
	[RF_WIRE_WITHDRAW] = { "WITHDRAW", FROM(CLIENT) | FROM(HOST), 0, 0, HELLO_MAX },
};
/* clang-format on */

static const char *const sides[] = { "client",  "warden", "client", "watcher", "client",
				     "gateway", "server", "front",  "clerk" };

#define UNREAD_MAX 4096 /* packets; a socket holds fewer */

/* The kernel fills it from its start: aligned as its first part demands. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(RF_WIRE_FDS * sizeof(int))];
};

static const struct shape *shape_of(unsigned type)
{
	return type < RF_WIRE_COUNT && shapes[type].name ? &shapes[type] : NULL;
}

const char *rf_wire_name(unsigned type)
{
	const struct shape *shape = shape_of(type);

	return shape ? shape->name : "?";
}

static bool has_fds(const struct shape *shape, size_t count)
{
	return count >= shape->fds && count <= shape->fds + shape->more_fds;
}

/* ------------------------------------------------------------- sending */

/* A body that no packet holds, in memory that can be passed on. */
static int put_aside(const void *body, size_t len, int *ret_fd, struct rf_err *err)
{
	RF_AUTO_FD int fd = memfd_create("ringfort", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	int code;

	if (fd < 0 && errno == EINVAL) /* before 6.3 */
		fd = memfd_create("ringfort", MFD_CLOEXEC);
	if (fd < 0)
		return rf_fail(err, -errno, "memory for a message");
	code = rf_fd_write(fd, body, len);
	if (code < 0)
		return rf_fail(err, code, "memory for a message");
	*ret_fd = rf_fd_take(&fd);
	return 0;
}

static void add_fds(struct msghdr *packet, union control *control, const int *fds, size_t count)
{
	if (count == 0)
		return;
	packet->msg_control = control;
	packet->msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
	control->head.cmsg_level = SOL_SOCKET;
	control->head.cmsg_type = SCM_RIGHTS;
	control->head.cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control->head), fds, count * sizeof(int));
}

/* MSG_DONTWAIT, in a process that never waits. */
static int patience;

void rf_wire_never_wait(void)
{
	patience = MSG_DONTWAIT;
}

int rf_wire_send(int fd, enum rf_wire_type type, uint64_t id, const void *body, size_t len,
		 const int *fds, size_t fd_count, struct rf_err *err)
{
	const struct shape *shape = shape_of(type);
	struct rf_wire_head head = { (uint32_t)len, RF_WIRE_VERSION, (uint16_t)type, id };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)(uintptr_t)body, len } };
	struct msghdr packet = { .msg_iov = parts, .msg_iovlen = len > 0 ? 2 : 1 };
	union control control = { 0 };
	int all[RF_WIRE_FDS];
	RF_AUTO_FD int aside = -1;
	ssize_t n;

	if (!shape || !has_fds(shape, fd_count) || len < shape->least || len > shape->most) {
		rf_fail_say(err, -EMSGSIZE, "a message %s of %zu bytes with %zu descriptors",
			    rf_wire_name(type), len, fd_count);
		return rf_fail_hint(err, "bring less code along, or show it as a file");
	}
	memcpy(all, fds ? fds : all, fd_count * sizeof(int));
	if (len > SHORT) {
		if (put_aside(body, len, &aside, err) < 0)
			return err->code;
		all[fd_count++] = aside;
		packet.msg_iovlen = 1;
	}
	add_fds(&packet, &control, all, fd_count);
	do
		n = rf_fd_sendmsg(fd, &packet, MSG_NOSIGNAL | patience);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return rf_fail(err, -errno, "send %s", shape->name);
	return 0;
}

static int send_err(int fd, enum rf_wire_type type, uint64_t id, const struct rf_err *why,
		    struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, ERROR_MAX);
	rf_pack_err(&body, why);
	return rf_wire_send(fd, type, id, body.data, body.len, NULL, 0, err);
}

int rf_wire_refuse(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err)
{
	return send_err(fd, RF_WIRE_REFUSED, id, why, err);
}

int rf_wire_lose(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err)
{
	return send_err(fd, RF_WIRE_LOST, id, why, err);
}

/* ------------------------------------------------------------- receiving */

void rf_wire_done(struct rf_wire_message *message)
{
	for (size_t i = 0; i < RF_WIRE_FDS; i++)
		rf_fd_done(&message->fds[i]);
	message->fd_count = 0;
}

/* Owns every descriptor that came along, whatever else is wrong. */
static void take_fds(struct msghdr *packet, struct rf_wire_message *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(packet);

	for (; part; part = CMSG_NXTHDR(packet, part)) {
		size_t bytes = part->cmsg_len - CMSG_LEN(0);
		int fd;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(fd) <= bytes; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
			/* A socket that lingers would keep us waiting when we close it. */
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 0 },
				   sizeof(struct linger));
			if (message->fd_count < RF_WIRE_FDS)
				message->fds[message->fd_count++] = fd;
			else
				close(fd);
		}
	}
}

void rf_wire_close(int *fd)
{
	union control control;

	if (*fd < 0)
		return;
	shutdown(*fd, SHUT_RD); /* nobody can send more */
	for (int i = 0; i < UNREAD_MAX; i++) {
		struct rf_wire_message message = RF_WIRE_NOTHING;
		struct msghdr packet = { .msg_control = &control,
					 .msg_controllen = sizeof(control) };

		/* Without room for its bytes every packet is cut, and nothing is at the end. */
		if (recvmsg(*fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0 ||
		    !(packet.msg_flags & MSG_TRUNC))
			break;
		take_fds(&packet, &message);
		rf_wire_done(&message);
	}
	rf_fd_done(fd);
}

/* Copies a long body out of its memfd.  Nothing else is read: another file could make us wait. */
static int fetch(int fd, size_t len, struct rf_buf *buf, struct rf_err *err)
{
	char *body = rf_buf_reserve(buf, len);
	size_t got = 0;
	off_t size;

	if (!body)
		return rf_fail(err, -ENOMEM, "a body of %zu bytes", len);
	/* Only such memory has seals.  Its length is asked for by a call that a confined process has: with glibc, fstat() is one that takes names. */
	if (fcntl(fd, F_GET_SEALS) < 0)
		return rf_fail_say(err, -EBADMSG, "its body is in no memfd");
	size = lseek(fd, 0, SEEK_END);
	if (size < 0 || (uint64_t)size != len)
		return rf_fail_say(err, -EBADMSG, "its body is not as long as it says");
	while (got < len) {
		ssize_t n = pread(fd, body + got, len - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rf_fail_say(err, -EBADMSG, "its body was cut while it was read");
		got += (size_t)n;
	}
	rf_buf_grew(buf, len);
	return 0;
}

/* Holds a packet in `buf` against the table, and sees to it that its body is there, too. */
static int check(enum rf_wire_side from, struct rf_buf *buf, struct rf_wire_message *message,
		 struct rf_err *err)
{
	const struct shape *shape;
	struct rf_wire_head head;
	size_t rest, fds;

	if (buf->len < sizeof(head))
		return rf_fail_say(err, -EBADMSG, "a message of %zu bytes has no head", buf->len);
	memcpy(&head, buf->data, sizeof(head));
	rest = buf->len - sizeof(head);
	if (head.version != RF_WIRE_VERSION) {
		rf_fail_say(err, -EPROTO, "a message of version %u, and not of %u", head.version,
			    RF_WIRE_VERSION);
		return rf_fail_hint(err, "the warden and its client must be of one version: "
					 "restart what is older");
	}
	shape = shape_of(head.type);
	if (!shape || !(shape->from & 1u << from))
		return rf_fail_say(err, -EBADMSG, "a message of type %u (%s) from the %s",
				   head.type, rf_wire_name(head.type), sides[from]);
	if (head.length < shape->least || head.length > shape->most)
		return rf_fail_say(err, -EBADMSG, "%s of %u bytes", shape->name, head.length);
	fds = message->fd_count - (head.length > SHORT); /* none is a number too large for any */
	if (!has_fds(shape, fds) || fds >= RF_WIRE_FDS)
		return rf_fail_say(err, -EBADMSG, "%s with %zu descriptors, and not %zu",
				   shape->name, message->fd_count,
				   shape->fds + (head.length > SHORT));
	if (rest != (head.length > SHORT ? 0 : head.length))
		return rf_fail_say(err, -EBADMSG, "%s says %u bytes and has %zu", shape->name,
				   head.length, rest);
	if (head.length > SHORT) {
		int *last = &message->fds[fds];

		if (fetch(*last, head.length, buf, err) < 0)
			return rf_fail_in(err, "%s", shape->name);
		rf_fd_done(last);
		message->fd_count--;
	}
	message->type = (enum rf_wire_type)head.type;
	message->id = head.id;
	message->body = buf->data + sizeof(head);
	message->len = head.length;
	return 0;
}

int rf_wire_receive(int fd, enum rf_wire_side from, struct rf_buf *buf,
		    struct rf_wire_message *ret_message, struct rf_err *err)
{
	union control control;
	struct iovec part = { NULL, RF_WIRE_PACKET };
	struct msghdr how = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct rf_wire_message message = RF_WIRE_NOTHING;
	ssize_t n;
	int code;

	rf_buf_clear(buf);
	part.iov_base = rf_buf_reserve(buf, RF_WIRE_PACKET);
	if (!part.iov_base)
		return rf_fail(err, -ENOMEM, "receive a message");
	do
		n = recvmsg(fd, &how, MSG_CMSG_CLOEXEC | patience);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : rf_fail(err, -errno, "receive a message");
	take_fds(&how, &message);
	rf_buf_grew(buf, (size_t)n);
	if (how.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		code = rf_fail_say(err, -EBADMSG, "a message with too many %s",
				   how.msg_flags & MSG_TRUNC ? "bytes" : "descriptors");
	else
		code = n == 0 ? 0 : check(from, buf, &message, err);
	if (code < 0 || n == 0) {
		rf_wire_done(&message);
		return code;
	}
	*ret_message = message;
	return 1;
}

/* ------------------------------------------------------------- what bodies say */

int rf_wire_welcome(const struct rf_wire_message *message, struct rf_wire_welcome *ret_welcome,
		    struct rf_err *err)
{
	struct rf_wire_welcome welcome;

	if (message->type != RF_WIRE_WELCOME || message->len != sizeof(welcome))
		return rf_fail_say(err, -EBADMSG, "%s, and no WELCOME",
				   rf_wire_name(message->type));
	memcpy(&welcome, message->body, sizeof(welcome));
	if (!memchr(welcome.version, '\0', sizeof(welcome.version)) || welcome.is_lesser > 1)
		return rf_fail_say(err, -EBADMSG, "a malformed WELCOME");
	*ret_welcome = welcome;
	return 0;
}

int rf_wire_started(const struct rf_wire_message *message, struct rf_wire_started *ret_started,
		    struct rf_err *err)
{
	struct rf_wire_started started;

	if (message->type != RF_WIRE_STARTED || message->len != sizeof(started))
		return rf_fail_say(err, -EBADMSG, "%s, and no STARTED",
				   rf_wire_name(message->type));
	memcpy(&started, message->body, sizeof(started));
	if (!memchr(started.id, '\0', sizeof(started.id)))
		return rf_fail_say(err, -EBADMSG, "a malformed STARTED");
	*ret_started = started;
	return 0;
}

int rf_wire_own(const struct rf_wire_message *message, struct rf_wire_own *ret_own,
		struct rf_err *err)
{
	struct rf_wire_own own;

	if (message->len != sizeof(own))
		return rf_fail_say(err, -EBADMSG, "a malformed %s", rf_wire_name(message->type));
	memcpy(&own, message->body, sizeof(own));
	if (own.grace_ms > RF_WIRE_GRACE_MS)
		return rf_fail_say(err, -EBADMSG, "a malformed %s", rf_wire_name(message->type));
	*ret_own = own;
	return 0;
}

int rf_wire_ref(const struct rf_wire_message *message, struct rf_wire_ref *ret_ref,
		struct rf_err *err)
{
	struct rf_wire_ref ref;

	if (message->len != sizeof(ref))
		return rf_fail_say(err, -EBADMSG, "a malformed %s", rf_wire_name(message->type));
	memcpy(&ref, message->body, sizeof(ref));
	if (!memchr(ref.id, '\0', sizeof(ref.id)) || ref.rest)
		return rf_fail_say(err, -EBADMSG, "a malformed %s", rf_wire_name(message->type));
	*ret_ref = ref;
	return 0;
}

uint32_t rf_wire_u32(const struct rf_wire_message *message)
{
	uint32_t value = 0;

	if (message->len == sizeof(value))
		memcpy(&value, message->body, sizeof(value));
	return value;
}

int rf_wire_refused(const struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_pack_reader in;

	rf_pack_read_init(&in, message->body, message->len);
	rf_pack_read_err(&in, err);
	if (!rf_pack_is_whole(&in) || err->code >= 0 ||
	    (message->type != RF_WIRE_REFUSED && message->type != RF_WIRE_LOST))
		return rf_fail_say(err, -EBADMSG, "a malformed refusal");
	return err->code;
}
