/*
 * What a client and the warden say to each other, on a SOCK_SEQPACKET socket.
 *
 * A message is one packet: a head, a body, and descriptors.  One table says for each type who may send
 * it, how many descriptors come with it, and how long its body is; the receiver holds every packet
 * against it, so what a handler sees has the right shape.  A body that is too long for a packet lies in a
 * memfd, which is passed as the last descriptor and copied, never mapped.  docs/protocols/warden.md
 * tells the whole conversation.
 *
 * Both ends belong to the same user and the same version of Ringfort, so numbers are in this machine's
 * order; what is received is mistrusted all the same.
 */
#ifndef RF_WIRE_WIRE_H
#define RF_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_WIRE_VERSION 3
#define RF_WIRE_PACKET  (64 * 1024)        /* bytes of a packet, head and all */
#define RF_WIRE_BODY    (24 * 1024 * 1024) /* bytes of a body: code of RF_MAX_CODE, and the rest */
#define RF_WIRE_ROOM    (RF_WIRE_BODY + RF_WIRE_PACKET) /* the maximum of a buffer to receive into */
#define RF_TERMS_BYTES  (2 * 1024 * 1024) /* of the terms of a connection: a ceiling, and the rest */
#define RF_WIRE_FDS     9                 /* descriptors of a message, a long body's among them */

enum rf_wire_side {
	RF_WIRE_CLIENT,
	RF_WIRE_WARDEN,
	RF_WIRE_TELLER, /* who has something to tell the watcher: see docs/protocols/watch.md */
	RF_WIRE_WATCHER,
	RF_WIRE_TENANT, /* who has a box behind a gateway: see docs/protocols/gateway.md */
	RF_WIRE_GATE,
	RF_WIRE_HOST,  /* who serves strangers, and has the keys: see docs/protocols/front.md */
	RF_WIRE_FRONT, /* who reads what they send */
	RF_WIRE_CLERK  /* who does for them what takes rights: see docs/protocols/clerk.md */
};

enum rf_wire_type {
	/* From the client: */
	RF_WIRE_HELLO = 1, /* who are you? */
	RF_WIRE_JOIN,      /* a socket that becomes a further connection */
	RF_WIRE_RUN, /* an errand (errand.h); its stdin to read, stdout and stderr to write; with a
			      gateway, the connection to it (client.h) */
	RF_WIRE_SIGNAL, /* u32: a signal for the program */
	RF_WIRE_END,    /* u32: kill it, for that limit; RF_LIMIT_COUNT: for none */
	/* From the warden: */
	RF_WIRE_WELCOME, /* struct rf_wire_welcome */
	RF_WIRE_STARTED, /* struct rf_wire_started: the program runs */
	RF_WIRE_ENDED,   /* a packed result: it is over, and nothing of the box runs any more */
	RF_WIRE_REFUSED, /* a packed error: there will be no run */
	/* From the client again, and from who tells a watcher: */
	RF_WIRE_PROVE, /* something that only who is in no sandbox can open: see peer.h */
	/* From who tells a watcher: */
	RF_WIRE_TELL, /* events, each a u32 of its length and its bytes (audit/event.h) */
	RF_WIRE_ASK,  /* a question: words, each ended by a NUL */
	/* From the watcher: */
	RF_WIRE_KEPT, /* u64: the number of the last of these events; all are written */
	RF_WIRE_TOLD, /* a text that answers a question */
	RF_WIRE_LOST, /* a packed error: none of these events is kept, or there is no answer */
	/* From who tells a watcher, again: */
	RF_WIRE_LIVE, /* a box that lives (audit/sight.h), and a pidfd of its pid 1 */
	/* From who has a box behind a gateway; bodies are in gate.h: */
	RF_WIRE_GATE_OPEN,    /* a box that will be there: its policy and credentials */
	RF_WIRE_GATE_LINES,   /* its sockets, in the order of enum rf_line */
	RF_WIRE_GATE_PORT,    /* u32: a port; a further listener of its, where each port has one */
	RF_WIRE_GATE_PUBLISH, /* u32: its port that the listener, which is outside, leads to */
	RF_WIRE_GATE_STOCK,   /* sockets made inside, to connect with to what it publishes */
	RF_WIRE_GATE_CHANGE,  /* a policy's text, in place of the one it has */
	RF_WIRE_GATE_CLOSE,   /* the box is over */
	RF_WIRE_GATE_SPEAK, /* a place, and a socket on which HTTP is spoken to it as if by the box */
	/* From the gateway: */
	RF_WIRE_GATE_READY, /* its certificate, where connections of TLS are ended; or empty */
	RF_WIRE_GATE_EVENT, /* what happened */
	RF_WIRE_GATE_HELD,  /* a request that was not sent */
	RF_WIRE_GATE_DONE,  /* counters: nothing of the box is left, and all events are told */
	/* From the client, of boxes that are kept; all but the first two are a struct rf_wire_ref: */
	RF_WIRE_KEEP, /* an errand whose box runs nothing yet; with a gateway, a socket as RUN has one */
	RF_WIRE_EXEC, /* a program for one (exec.h), and its three streams, or none with a terminal */
	RF_WIRE_ATTACH, /* this connection is that program's from now on */
	RF_WIRE_FREEZE,
	RF_WIRE_THAW,
	RF_WIRE_RENEW, /* its time is over `time_ms` from now */
	RF_WIRE_CLOSE, /* end it: answered by its ENDED */
	RF_WIRE_LIST,  /* all of them, or the one that is named */
	/* From the warden: */
	RF_WIRE_TERMINAL, /* the master of the terminal that a program will have */
	RF_WIRE_BOXES,    /* what there is of kept boxes (exec.h), one behind the other */
	/* From a gateway's client: a socket whose other end may look at a box's policy and change it; then from that end: */
	RF_WIRE_GATE_HAND,
	RF_WIRE_GATE_SHOW,
	RF_WIRE_GATE_POLICY, /* and the answer to that, and to a change */
	RF_WIRE_GATE_BOUND, /* as CHANGE, of a box that has no sockets yet: if it can't be, the box is over */
	/* To a gateway: */
	RF_WIRE_GATE_BOOKS, /* what its box's credentials have come to, and what is opened by hand (books.h) */
	/* From the client, of connections that are somebody else's: */
	RF_WIRE_BOUND, /* a socket that becomes a further connection, on these terms (terms.h) */
	/* From who serves strangers to who reads what they send (server/pass.h): */
	RF_WIRE_FRONT_BEGIN,    /* how to serve */
	RF_WIRE_FRONT_LISTEN,   /* a socket that listens */
	RF_WIRE_FRONT_HOLDER,   /* whose key it is, and a connection to the warden on its terms */
	RF_WIRE_FRONT_STRANGER, /* a packed error: it is nobody's key */
	RF_WIRE_FRONT_GUEST,    /* a connection of who needs no key */
	RF_WIRE_FRONT_REVOKED,  /* a key's id: it is nobody's any more */
	RF_WIRE_FRONT_DRAIN,    /* answer what was asked, and end */
	/* And back: */
	RF_WIRE_FRONT_READY, /* nothing more is given up, and requests are answered */
	RF_WIRE_FRONT_KEY,   /* somebody shows this key */
	/* From who serves strangers to who does what takes rights (server/clerk-terms.h): */
	RF_WIRE_CLERK_TERMS = 54, /* a socket on which somebody asks, and on which terms */
	/* From who reads what strangers send to it, on such a socket; and back, or REFUSED: */
	RF_WIRE_CLERK_ASK = 55,  /* a question, maybe with descriptors */
	RF_WIRE_CLERK_TOLD = 56, /* its answer, maybe with descriptors */
	/* From who serves strangers to who reads what they send: */
	RF_WIRE_FRONT_CLERK =
		57, /* a key's id, and another such socket in place of the one it has */
	/* From the client, of a kept box's network: */
	RF_WIRE_HAND = 60, /* struct rf_wire_ref: lend me a hand on it */
	/* From the warden: */
	RF_WIRE_LENT, /* a socket whose other end the gateway has, as GATE_HAND has one */
	/* From a gateway's client, of a box whose connection others will have: */
	RF_WIRE_GATE_SEAL, /* a policy's text, beyond which nothing leads that is said from now on */
	/* From who has a hand on a box: */
	RF_WIRE_GATE_LOG, /* struct rf_page_wish: what happened (page.h) */
	/* And back: */
	RF_WIRE_GATE_LOGGED,
	/* And to who reads what strangers send, again: */
	RF_WIRE_FRONT_TLS = 66, /* who the ports are, under TLS: see server/pass.h */
	/* From the client: */
	RF_WIRE_REACH, /* struct rf_wire_ref: a connection to port `number` inside */
	/* From the warden: */
	RF_WIRE_REACHED, /* a socket that connects to it */
	/* Of a warden that outlives its server: from who serves, and back */
	RF_WIRE_OWN = 71, /* struct rf_wire_own: this connection is its server's from now on */
	RF_WIRE_NEWS, /* kept boxes that began or ended (news.h); all that there are answer OWN */
	/* Of the register of a server: from who reads what strangers send, and back (server/pass.h) */
	RF_WIRE_FRONT_ASK = 73,
	RF_WIRE_FRONT_TOLD,
	/* And to who does what takes rights, again: */
	RF_WIRE_CLERK_WATCHER = 76, /* a connection to the watcher, in place of the one it has */
	/* To who tells others what happened (server/herald-word.h), and back from it, what was given up: */
	RF_WIRE_HERALD_BEGIN = 77,
	RF_WIRE_HERALD_TELL = 78, /* two u64, number and time, and an event; back: an event alone */
	RF_WIRE_HERALD_FIGURES = 79, /* as Prometheus reads them */
	RF_WIRE_HERALD_SPAN = 80,    /* a request that was answered; the front's words, passed on */
	/* Of writes that wait for approval (gateway/custody.h).  From who opens a box, before its connection is sealed: */
	RF_WIRE_GATE_CUSTODY = 88, /* a socket on whose other end writes of the box are decided */
	RF_WIRE_GATE_NAME = 89,    /* what others call the box; passed on there */
	/* On that socket, from the gateway and back: */
	RF_WIRE_GATE_ASKED = 90, /* a request that waits */
	RF_WIRE_GATE_TAKEN = 91, /* it is kept, under that name, or why it is not */
	/* From who has a hand on a box, again: */
	RF_WIRE_GATE_CHANGE_WHOLE =
		92, /* as CHANGE, and refused where it names more than bounds the hand */
	/* From who serves strangers to its warden and to who does what takes rights: */
	RF_WIRE_WITHDRAW =
		95,        /* a key's id, or nothing: connections on its terms, or on any, end */
	RF_WIRE_COUNT = 96 /* above all of them; there is room between some */
};

struct rf_wire_head {
	uint32_t length; /* bytes of the body */
	uint16_t version;
	uint16_t type;
	uint64_t id; /* chosen by the client for a run; answers carry it */
};

struct rf_wire_welcome {
	char version[32]; /* of Ringfort */
	uint32_t pid, uid;
	uint32_t is_lesser; /* boxes are lesser ones here: see docs/lesser-box.md */
};

struct rf_wire_started {
	char id[24];     /* of the box */
	uint32_t pid;    /* its pid 1, on the host */
	uint32_t number; /* of the program in a kept box; 0 for any other */
};

#define RF_WIRE_GRACE_MS (24u * 3600 * 1000) /* at most */

/* What holds for the boxes of a server. */
struct rf_wire_own {
	uint32_t
		grace_ms; /* that they outlive it, so that another one can find them; 0: they end with it */
	uint32_t disk_mib; /* mebibytes that are left of the disk of workspaces; 0: as by default */
	uint64_t reserve_bytes; /* of memory, that a box counts for at least; 0: none is counted */
	uint64_t margin_bytes;  /* that is left to the machine */
};

/* A kept box, and maybe a program in it. */
struct rf_wire_ref {
	char id[24]; /* "": all */
	uint32_t number, rest;
	uint64_t time_ms;
};

/*
 * The number in FREEZE and THAW.  Frozen for now, a box goes on when the connection that asked ends; a thaw for now is of no consequence to one that stands
 * still for good.
 */
#define RF_WIRE_FOR_NOW 1u

/* Besides a signal's number in SIGNAL, for a program in a kept box: to all of its process group. */
#define RF_WIRE_TO_GROUP 0x100u

/* A message as it was received: owns its descriptors, which are close-on-exec. */
struct rf_wire_message {
	enum rf_wire_type type;
	uint64_t id;
	const char *body; /* in the buffer that it was received into, with a NUL behind it */
	size_t len;
	int fds[RF_WIRE_FDS]; /* or -1 */
	size_t fd_count;
};

/* One that has nothing yet. */
#define RF_WIRE_NOTHING                                                                            \
	{                                                                                          \
		.fds = { [0 ... RF_WIRE_FDS - 1] = -1 }                                            \
	}

#define RF_AUTO_WIRE __attribute__((cleanup(rf_wire_done)))

/*
 * From here on this process waits at no socket for a message, also where one blocks: for who serves peers that it does not trust.  Whether a
 * socket blocks is its open file's, so a peer that kept another descriptor of that can change it at any time.
 */
void rf_wire_never_wait(void);

/*
 * Sends a message (borrows all of it).  Waits only on a blocking socket; never raises SIGPIPE.
 * Returns 0 or a negative errno.
 */
int rf_wire_send(int fd, enum rf_wire_type type, uint64_t id, const void *body, size_t len,
		 const int *fds, size_t fd_count, struct rf_err *err);

/*
 * Receives a message that `from` sent into `buf`, which is cleared first.  Returns 1 and gives `*ret_message`, to be ended with rf_wire_done(); 0 at the
 * end of the connection; or a negative errno: -EAGAIN if there is none, -EPROTO and -EBADMSG for what
 * is no message, with all descriptors closed that came along.
 */
int rf_wire_receive(int fd, enum rf_wire_side from, struct rf_buf *buf,
		    struct rf_wire_message *ret_message, struct rf_err *err);

/*
 * Closes a connection of a stranger's, and what was not received first: descriptors that are closed with their packet
 * could make us wait.
 */
void rf_wire_close(int *fd);

/* Closes what was not taken. */
void rf_wire_done(struct rf_wire_message *message);

/* What a body says.  Each fails with -EBADMSG. */
int rf_wire_welcome(const struct rf_wire_message *message, struct rf_wire_welcome *ret_welcome,
		    struct rf_err *err);
int rf_wire_started(const struct rf_wire_message *message, struct rf_wire_started *ret_started,
		    struct rf_err *err);
int rf_wire_own(const struct rf_wire_message *message, struct rf_wire_own *ret_own,
		struct rf_err *err);
int rf_wire_ref(const struct rf_wire_message *message, struct rf_wire_ref *ret_ref,
		struct rf_err *err);
uint32_t rf_wire_u32(const struct rf_wire_message *message); /* of SIGNAL, END and GATE_PORT */

/* Sends a refusal, or a watcher's LOST; rf_wire_refused() takes it apart again, into `err`, and returns its code. */
int rf_wire_refuse(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err);
int rf_wire_lose(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err);
int rf_wire_refused(const struct rf_wire_message *message, struct rf_err *err);

/* The name of a type ("RUN"), for messages. */
const char *rf_wire_name(unsigned type);

#endif
