/*
 * What is said between who has a box (the launcher, a library) and the egress gateway through which that box reaches
 * the world: the bodies of the GATE_* messages, and the client's side of the conversation.
 *
 *     client                                  gateway
 *     GATE_OPEN  policy, credentials    →
 *                                       ←     GATE_READY certificate        or REFUSED
 *     GATE_LINES the box's sockets      →
 *                                       ←     GATE_EVENT, GATE_EVENT …      while the box lives
 *     GATE_CHANGE policy                →                                   (REFUSED: the old one stays)
 *     GATE_CLOSE                        →
 *                                       ←     GATE_EVENT …, GATE_DONE       nothing of the box is left
 *
 * A message's id says which box is meant.  When the connection ends, all boxes on it are over: the gateway closes what
 * it has of them.  When the gateway ends, they have no network.  docs/protocols/gateway.md tells the whole of it.
 */
#ifndef RF_WIRE_GATE_H
#define RF_WIRE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/peer.h"
#include "wire/wire.h"

#define RF_GATE_CREDENTIALS 64
#define RF_GATE_CANARIES    64
#define RF_GATE_SECRET_MAX  (16 * 1024) /* bytes of a credential's value, and of a placeholder */
#define RF_GATE_NAME        256         /* bytes of a box's id, an agent's or a credential's name */
#define RF_GATE_HOST        256
#define RF_GATE_PATH        2048
#define RF_GATE_WORDS       512 /* of a rule, a reason, a remedy */
#define RF_GATE_PEM         (48 * 1024)
#define RF_GATE_ROOTS       (1024 * 1024)
#define RF_GATE_STOCK       8 /* sockets in a GATE_STOCK */
#define RF_GATE_METHOD      32
#define RF_GATE_HELD_BODY   (1024 * 1024)                    /* bytes of a body that can be held */
#define RF_GATE_HELD_MAX    (RF_GATE_HELD_BODY + 128 * 1024) /* and of the whole message */
#define RF_GATE_HELD_COUNT  256                              /* requests of one box */
#define RF_GATE_HELD_BYTES  (16 * 1024 * 1024)               /* and what these may come to */

/* A box's sockets, all made in its network namespace, none of which the box has. */
enum rf_line {
	RF_LINE_TCP,     /* listens, dual-stack and transparent: getsockname() of what is accepted
			    is where the program wanted to go */
	RF_LINE_DNS_UDP, /* takes what goes to port 53 of any address; IPV6_PKTINFO says which, and
			    answers go out with that as their source */
	RF_LINE_DNS_TCP, /* listens, the same */
	RF_LINE_PROXY,   /* listens on loopback inside, for programs that know of a proxy */
	RF_LINE_COUNT
};

struct rf_gate_credential {
	const char *name, *value, *placeholder;
};

/* A planted credential: nobody has a reason to send it anywhere. */
struct rf_gate_canary {
	const char *name, *value; /* its path inside; and what stands there */
};

struct rf_gate_open {
	const char *box;   /* its id */
	const char *agent; /* or "" */
	const char *
		policy; /* the text of its keys `network` and `credentials`, as rf_policy_format() writes them */
	const char *
		roots; /* what servers may prove themselves with besides the system's: PEM, or "" */
	const struct rf_gate_credential *credentials;
	size_t credential_count;
	const struct rf_gate_canary *canaries;
	size_t canary_count;
	bool holds_writes; /* a shadow run: what does more than read is held back, and told as GATE_HELD */
	bool looks_everywhere; /* every request is seen, whatever the rules are; implied by the former */
};

enum rf_gate_kind {
	RF_GATE_CONNECT,    /* a connection: told at its end, or when it was refused */
	RF_GATE_REQUEST,    /* one of HTTP */
	RF_GATE_DNS,        /* a name that was asked for */
	RF_GATE_LIMIT,      /* a rate, a size, a number of connections */
	RF_GATE_BREAKER,    /* of a host: opened, or stood in the way */
	RF_GATE_CREDENTIAL, /* put into a request, or held back */
	RF_GATE_SECRET,     /* found in an answer, and taken out */
	RF_GATE_PUBLISHED,  /* a connection from outside to a port of the box */
	RF_GATE_CANARY, /* a planted credential on its way out: refused, and the run is to end */
	RF_GATE_KIND_COUNT
};

enum rf_gate_verdict {
	RF_GATE_ALLOWED,
	RF_GATE_DENIED,
	RF_GATE_REPORTED, /* it would have been denied; network.mode is `report` or `open` */
	RF_GATE_HELD,     /* kept back until `apply` */
	RF_GATE_VERDICT_COUNT
};

/* Texts are "" where there is none. */
struct rf_gate_event {
	uint64_t time_ms; /* CLOCK_REALTIME */
	enum rf_gate_kind kind;
	enum rf_gate_verdict verdict;
	const char *host;    /* as the program named it, or the address that it dialled */
	const char *address; /* that was dialled upstream */
	uint32_t port;
	const char *method;
	const char *path; /* without the query */
	uint32_t status;  /* of the answer, or 0 */
	uint64_t up_bytes, down_bytes, duration_us;
	uint64_t cost;          /* of a credential's use, in millionths */
	const char *credential; /* its name; a canary's path */
	const char *rule;       /* that decided: its text, or "default" */
	const char *reason;
	const char *remedy; /* what to add to the policy */
};

/* Where a request goes. */
struct rf_gate_place {
	const char *host; /* canonical */
	uint16_t port;
	bool is_tls;
};

/*
 * A request that a trial run made, and that was answered in the server's place: all of it, as it is to be written on a
 * socket for GATE_SPEAK.  It has the placeholders that the box knows, and no credential.
 */
struct rf_gate_held {
	struct rf_gate_place place;
	const char *method;
	const char *path;    /* without the query */
	const char *message; /* of `len` bytes */
	size_t len;
};

/* The same of a box whose writes wait for approval; and what is answered to it. */
struct rf_gate_asked {
	uint64_t wait_ms; /* that it waits at most */
	struct rf_gate_held held;
};

struct rf_gate_taken {
	const char *id;     /* what it is called from now on; or "": it is not kept */
	const char *reason; /* why; or "" */
};

struct rf_gate_counts {
	uint64_t connections, requests, names;
	uint64_t denied, held;
	uint64_t up_bytes, down_bytes;
	uint64_t lost_events; /* that could not be told */
};

/* "connect", "request" …; "allowed", "denied" …: as logs have them. */
const char *rf_gate_kind_name(enum rf_gate_kind kind);
const char *rf_gate_verdict_name(enum rf_gate_verdict verdict);

/* ------------------------------------------------------------- bodies */

/*
 * Reads a body (borrows: strings stay there).  -EBADMSG for what is none.  What is given by
 * rf_gate_read_open() is to be ended with rf_gate_open_done(), which frees the lists and no secrets: these lie in the
 * message, and whoever received it wipes it.
 */
int rf_gate_read_open(const void *data, size_t len, struct rf_gate_open *ret_open,
		      struct rf_err *err);
void rf_gate_open_done(struct rf_gate_open *open);
int rf_gate_read_event(const void *data, size_t len, struct rf_gate_event *ret_event,
		       size_t *ret_used, struct rf_err *err); /* the first of some */
int rf_gate_read_counts(const void *data, size_t len, struct rf_gate_counts *ret_counts,
			struct rf_err *err);
int rf_gate_read_place(const void *data, size_t len, struct rf_gate_place *ret_place,
		       struct rf_err *err);
int rf_gate_read_held(const void *data, size_t len, struct rf_gate_held *ret_held,
		      struct rf_err *err);
int rf_gate_read_asked(const void *data, size_t len, struct rf_gate_asked *ret_asked,
		       struct rf_err *err);
int rf_gate_read_taken(const void *data, size_t len, struct rf_gate_taken *ret_taken,
		       struct rf_err *err);
int rf_gate_read_name(const void *data, size_t len, const char **ret_name, struct rf_err *err);

/* Writes one.  Texts that are too long are cut in events, and nowhere else. */
void rf_gate_pack_open(const struct rf_gate_open *open, struct rf_buf *out);
void rf_gate_pack_event(const struct rf_gate_event *event, struct rf_buf *out);
void rf_gate_pack_counts(const struct rf_gate_counts *counts, struct rf_buf *out);
void rf_gate_pack_place(const struct rf_gate_place *place, struct rf_buf *out);
void rf_gate_pack_held(const struct rf_gate_held *held, struct rf_buf *out);
void rf_gate_pack_asked(const struct rf_gate_asked *asked, struct rf_buf *out);
void rf_gate_pack_taken(const struct rf_gate_taken *taken, struct rf_buf *out);

/* ------------------------------------------------------------- the gateway's side */

/* Each sends one message; -EAGAIN where the socket does not wait and is full. */
int rf_gate_send_ready(int fd, uint64_t box, const char *pem, struct rf_err *err);
int rf_gate_send_event(int fd, uint64_t box, const struct rf_gate_event *event, struct rf_err *err);
int rf_gate_send_done(int fd, uint64_t box, const struct rf_gate_counts *counts,
		      struct rf_err *err);
int rf_gate_send_held(int fd, uint64_t box, const struct rf_gate_held *held, struct rf_err *err);
int rf_gate_send_asked(int fd, uint64_t id, const struct rf_gate_asked *asked, struct rf_err *err);

/* ------------------------------------------------------------- the client's side */

/*
 * Starts `program` (ringfort-gateway) for this process alone; it ends with the connection, which is given.  `has_masks`: a policy will have
 * `network.mask`, whose engine it can load only when it starts.
 */
int rf_gate_start(const char *program, bool has_masks, int *ret_fd, struct rf_err *err);

/*
 * Connects to the user's standing gateway.  -ENOENT, -ECONNREFUSED: there is none; -EXDEV: it is not what we are, or of another
 * version.  `self` says what we are, or NULL, for who has looked already; it is asked while the gateway looks at us.  NULL: it is looked
 * at here.  Gives the connection.
 */
#define RF_GATE_SOCKET "gateway.sock" /* in $RUN */
#define RF_GATE_NOTE   "gateway.self" /* what it is: see peer.h */
int rf_gate_connect(rf_peer_self_fn *self, int *ret_fd, struct rf_err *err);

/* Asks for a box's way out.  The secrets are not kept. */
int rf_gate_ask(int fd, uint64_t box, const struct rf_gate_open *open, struct rf_err *err);

/*
 * Waits for the answer, at most `timeout_ms`.  `*ret_pem` lies in `buf`: "" where no connection of TLS is ended.
 * Fails with what the gateway says, with -ETIMEDOUT, or with -ECONNRESET if it has ended.
 */
int rf_gate_await(int fd, uint64_t box, int timeout_ms, struct rf_buf *buf, const char **ret_pem,
		  struct rf_err *err);

/* Hands over the box's sockets (borrows; the caller's copies are to be closed). */
int rf_gate_give_lines(int fd, uint64_t box, const int lines[RF_LINE_COUNT], struct rf_err *err);
int rf_gate_give_port(int fd, uint64_t box, uint16_t port, int listener, struct rf_err *err);

/* A listener outside that leads to a port of the box, and sockets made inside to connect to it with. */
int rf_gate_publish(int fd, uint64_t box, uint16_t port, int listener, struct rf_err *err);
int rf_gate_give_stock(int fd, uint64_t box, const int stock[RF_GATE_STOCK], struct rf_err *err);

/*
 * One end of a SEQPACKET pair (borrows): who has the other end can have the box's policy shown (GATE_SHOW) and changed (GATE_CHANGE), each answered
 * by GATE_POLICY or REFUSED with the id of the question.  `is_bounded`: never to more than the box began with.  A box has one such hand;
 * another takes its place.
 */
int rf_gate_give_hand(int fd, uint64_t box, int hand, bool is_bounded, struct rf_err *err);

/* Before the box has its sockets: this policy, or none.  Whoever asked for the box may have asked for more. */
int rf_gate_bound(int fd, uint64_t box, const char *policy, struct rf_err *err);

/*
 * Before others have the connection: one end of a SEQPACKET pair (borrows), whose other end is asked about each write of a box with `network.writes: hold`
 * (GATE_ASKED, answered by GATE_TAKEN), and has it sent later (GATE_SPEAK).
 */
int rf_gate_give_custody(int fd, uint64_t box, int custody, struct rf_err *err);
int rf_gate_take(int fd, uint64_t id, const struct rf_gate_taken *taken, struct rf_err *err);

/* Before the box has its sockets: what others call it.  Only the first counts. */
int rf_gate_name(int fd, uint64_t box, const char *name, struct rf_err *err);

/* Before others have the connection: nothing that is said on it leads beyond this policy, and it has no further box. */
int rf_gate_seal(int fd, uint64_t box, const char *policy, struct rf_err *err);

int rf_gate_change(int fd, uint64_t box, const char *policy, struct rf_err *err);
int rf_gate_close(int fd, uint64_t box, struct rf_err *err);

/* Says what the watcher's books have of its credentials and hosts: `text` is of books.h. */
int rf_gate_tell_books(int fd, uint64_t box, const struct rf_buf *text, struct rf_err *err);

/* Speaks HTTP to a place as the box would, on the other end of `socket` (borrows): judged, with credentials, and told. */
int rf_gate_speak(int fd, uint64_t box, const struct rf_gate_place *place, int socket,
		  struct rf_err *err);

/* What the gateway said. */
struct rf_gate_news {
	uint64_t box;
	bool is_done;               /* `counts` is set, and nothing follows for this box */
	bool is_refused;            /* a GATE_CHANGE was: `why` is set */
	bool is_held;               /* `held` is set */
	struct rf_gate_event event; /* else; its texts lie in the buffer */
	struct rf_gate_counts counts;
	struct rf_gate_held held; /* its texts lie in the buffer as well */
	struct rf_err why;
	const char *more; /* events behind `event`: see rf_gate_more() */
	size_t more_len;
};

/* Receives the next of them into `buf`: 1, 0 at the end of the connection, -EAGAIN if there is none, or an error. */
int rf_gate_next(int fd, struct rf_buf *buf, struct rf_gate_news *ret_news, struct rf_err *err);

/* One message tells some events: puts the next of them into news->event.  1, 0 if there is none, or -EBADMSG. */
int rf_gate_more(struct rf_gate_news *news, struct rf_err *err);

#endif
