/*
 * One connection that a box has made: see crossing.h.
 *
 *   FIRST     to the proxy: its first byte tells what it speaks
 *   GREETING  SOCKS5, until it was greeted
 *   ASKING    SOCKS5, until it has said where it wants to go
 *   LOOKING   its first bytes are looked at, or waited for
 *   LEAVING   a way to the server is being made
 *   RELAYED   both are joined
 */
#include "gateway/crossing.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "gateway/judge.h"
#include "gateway/sniff.h"
#include "gateway/socks.h"
#include "gateway/way.h"

#define MS       1000000ull
#define FIRST_MS 30000 /* for a client that speaks first, to do so */
#define QUIET_MS                                                                                   \
	1000 /* after which it is the server that does, where it may be something else than HTTP */
#define MUTE_MS                                                                                    \
	10000 /* after which it is refused, where it may not, on ports that are not the web's */

enum state {
	FIRST,
	GREETING,
	ASKING,
	LOOKING,
	LEAVING,
	RELAYED
};

struct rf_crossing {
	struct rf_outlet *outlet;
	struct rf_crossing *next, **link;
	enum state state;
	int fd;
	struct rf_event *event;
	struct rf_deadline limit;
	struct rf_forward_place place;
	struct rf_judge judge;
	struct rf_buf
		early; /* bytes that came with a CONNECT, or a ClientHello that is sent on alone */
	size_t seen;   /* bytes that were there when it was last looked */
	uint64_t held_ns; /* since when they say too little, behind a server's greeting */
	const char *cut;  /* why what they say there does not pass, or NULL */
	struct rf_way *way;
	struct rf_relay *relay;
	bool is_quiet; /* the server speaks first */
	bool is_hello; /* what was seen is the beginning of a ClientHello */
	size_t hello; /* bytes of a ClientHello, all that the server gets before it has answered in TLS; or 0: no matter */
	bool has_answered;
	bool is_raw; /* neither HTTP nor TLS, to a name: a rule must say so */
	uint64_t began_ns;
	char address[RF_ADDRESS_TEXT];
};

/* ------------------------------------------------------------- life */

static void free_crossing(struct rf_crossing *c)
{
	rf_event_cancel(c->event);
	rf_fd_done(&c->fd);
	rf_deadline_done(&c->limit);
	rf_buf_done(&c->early);
	rf_way_close(c->way);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	rf_outlet_count(c->outlet, -1);
	free(c);
}

static void tell(struct rf_crossing *c, enum rf_gate_kind kind, const char *reason,
		 const struct rf_relay_counts *counts)
{
	struct rf_gate_counts *all = rf_note_counts(c->outlet->note);
	struct rf_gate_event event = {
		.kind = kind,
		.verdict = rf_judge_verdict(&c->judge),
		.host = c->place.host.text,
		.address = c->address,
		.port = c->place.port,
		.method = c->is_raw ? "TCP" : "",
		.up_bytes = counts ? counts->up : 0,
		.down_bytes = counts ? counts->down : 0,
		.duration_us = (rf_loop_now() - c->began_ns) / 1000,
		.rule = c->judge.rule,
		.reason = reason ? reason : c->judge.reason,
		.remedy = c->judge.remedy,
	};

	all->up_bytes += event.up_bytes;
	all->down_bytes += event.down_bytes;
	(c->state == RELAYED ? rf_note_tell_sent : rf_note_tell)(c->outlet->note, &event);
}

static void make_reset(int fd)
{
	static const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Ends it so that the program sees a reset, and says why. */
static void reset(struct rf_crossing *c, const char *reason)
{
	tell(c, RF_GATE_CONNECT, reason, NULL);
	make_reset(c->fd);
	free_crossing(c);
}

static void deny(struct rf_crossing *c, const char *reason)
{
	c->judge.is_allowed = false;
	reset(c, reason);
}

/* Judges what is neither HTTP nor TLS.  False: a rule for the host is not enough for that. */
static bool may_be_raw(struct rf_crossing *c)
{
	c->is_raw = c->place.host.kind == RF_HOST_NAME;
	rf_judge_raw(c->outlet, &c->place.host, c->place.port, &c->judge);
	return c->judge.is_allowed;
}

/*
 * Refuses what is neither HTTP nor TLS.  What is like a request is answered as one, for whoever sent it to read: what came is
 * taken in first, because a connection that is closed with bytes in it is reset, and the answer is lost.
 */
static void refuse_raw(struct rf_crossing *c, struct rf_span first)
{
	struct rf_refusal refusal;
	RF_AUTO_BUF struct rf_buf body, head;
	char gone[4096];
	size_t most = RF_SNIFF_MOST;

	rf_buf_init(&body, 4096);
	rf_buf_init(&head, 8192);
	c->judge.is_allowed = false;
	if (!rf_sniff_is_like_http(first)) {
		reset(c, NULL);
		return;
	}
	rf_judge_refuse(&c->judge, &c->place.host, c->place.port, &refusal);
	rf_refusal_format(&refusal, &body);
	rf_buf_printf(&head,
		      "HTTP/1.1 %u Forbidden\r\nContent-Type: application/json\r\n"
		      "X-Ringfort: %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
		      refusal.status, refusal.code, body.len);
	rf_buf_add(&head, body.data, body.len);
	while (most > 0 && recv(c->fd, gone, sizeof(gone), MSG_DONTWAIT) > 0)
		most -= most < sizeof(gone) ? most : sizeof(gone);
	if (!head.has_failed)
		send(c->fd, head.data, head.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(c->fd, SHUT_WR);
	tell(c, RF_GATE_CONNECT, NULL, NULL);
	free_crossing(c);
}

/* ------------------------------------------------------------- relays */

static void on_relay_end(void *data, enum rf_relay_end end, const struct rf_relay_counts *counts)
{
	static const char *const reasons[] = {
		[RF_RELAY_IDLE] = "idle for longer than network.idle_time",
		[RF_RELAY_TOTAL] = "longer than network.total_time",
		[RF_RELAY_FAILED] = "descriptors or memory of the gateway are used up",
		[RF_RELAY_RESET] = NULL,
	};
	struct rf_crossing *c = data;

	c->relay = NULL;
	if (c->cut)
		c->judge.is_allowed = false;
	tell(c, RF_GATE_CONNECT,
	     end == RF_RELAY_WHOLE ? NULL
	     : c->cut              ? c->cut
				   : reasons[end],
	     counts);
	free_crossing(c);
}

/* What TLS asks for must be whom the program dialled. */
static bool is_for(const struct rf_crossing *c, const struct rf_sniff *sniff)
{
	return !sniff->has_name || rf_host_is_same(&sniff->name, &c->place.host);
}

static int cut(struct rf_crossing *c, const char *reason)
{
	c->cut = reason;
	return -EPERM;
}

/* The first that the program says behind the server's greeting. */
static int may_pass(void *data, int inner)
{
	struct rf_crossing *c = data;
	char first[RF_SNIFF_MOST];
	ssize_t n = recv(inner, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
	struct rf_sniff sniff;

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	rf_sniff_look((struct rf_span){ first, (size_t)n }, &sniff);
	switch (sniff.kind) {
	case RF_SNIFF_MORE: /* who dribbles waits */
		if (c->held_ns == 0)
			c->held_ns = rf_loop_now();
		return rf_loop_now() - c->held_ns < FIRST_MS * MS
			       ? 0
			       : cut(c, "what it says first does not come in time");
	case RF_SNIFF_TLS:
		return is_for(c, &sniff) ? 1 : cut(c, "TLS asks for another name than was dialled");
	case RF_SNIFF_OTHER:
		return 1;
	default:
		return cut(c, "HTTP that came too late to be looked into");
	}
}

/*
 * TLS, where nothing else may pass.  A ClientHello has room for bytes of the program's own, and so has what it sends behind it: a
 * server that speaks plain HTTP may find a request in there that nobody has judged.  So nothing follows the ClientHello before the
 * server has proved to speak TLS, and nothing that is not TLS comes back.
 */
static int may_follow(void *data, int inner)
{
	const struct rf_crossing *c = data;

	return c->has_answered ? 1 : -EAGAIN;
}

static int may_answer(void *data, int outer)
{
	struct rf_crossing *c = data;
	uint8_t first[2];
	ssize_t n = recv(outer, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if ((n > 0 && first[0] != RF_SNIFF_HANDSHAKE && first[0] != RF_SNIFF_ALERT) ||
	    (n > 1 && first[1] != 3))
		return cut(c, "the server does not speak TLS");
	c->has_answered = n > 1;
	return n > 1;
}

/* Takes the ClientHello out of the socket, to the bytes that are there already. */
static bool take_hello(struct rf_crossing *c)
{
	char *place;
	ssize_t n;

	if (c->early.len >= c->hello)
		return true;
	n = (ssize_t)(c->hello - c->early.len);
	place = rf_buf_reserve(&c->early, (size_t)n);
	if (!place || recv(c->fd, place, (size_t)n, MSG_DONTWAIT) != n)
		return false;
	rf_buf_grew(&c->early, (size_t)n);
	return true;
}

static void on_way(void *data, struct rf_way *way, const struct rf_refusal *refusal)
{
	struct rf_crossing *c = data;
	struct rf_outlet *outlet = c->outlet;
	struct rf_relay_options options = {
		.loop = outlet->gateway->loop,
		.deadlines = outlet->gateway->deadlines,
		.pipes = outlet->gateway->pipes,
		.up = outlet->up.rate ? &outlet->up : NULL,
		.down = outlet->down.rate ? &outlet->down : NULL,
		.idle_ms = outlet->call_limits.stall_ms,
		.total_ms = outlet->call_limits.total_ms,
		.may_pass = c->is_quiet ? may_pass
			    : c->hello  ? may_follow
					: NULL,
		.may_answer = c->hello ? may_answer : NULL,
		.greeting = c->hello,
		.fn = on_relay_end,
		.data = c,
	};
	struct rf_err err;
	int fd;

	snprintf(c->address, sizeof(c->address), "%s", rf_way_address(way));
	if (refusal) {
		struct rf_refusal copy = *refusal;

		c->judge.is_allowed = copy.status != 403 && copy.status != 429;
		if (copy.remedy[0])
			snprintf(c->judge.remedy, sizeof(c->judge.remedy), "%.319s", copy.remedy);
		reset(c, copy.message);
		return;
	}
	rf_way_record(way, RF_BREAKER_WELL);
	if (!take_hello(c)) {
		reset(c, "the gateway is out of memory");
		return;
	}
	rf_event_cancel(c->event);
	c->event = NULL;
	c->state = RELAYED;
	fd = rf_way_take(way);
	if (rf_relay_new(&options, &c->fd, &fd, (struct rf_span){ c->early.data, c->early.len },
			 &c->relay, &err) < 0) {
		tell(c, RF_GATE_CONNECT, err.msg, NULL);
		free_crossing(c);
	}
}

static void leave(struct rf_crossing *c)
{
	uint64_t wait = rf_pace_rate_take(&c->outlet->rate, rf_loop_now());
	struct rf_err err;

	if (!rf_note_has_room(c->outlet->note)) {
		deny(c, "more than can be recorded");
		return;
	}
	if (wait > 0) {
		snprintf(c->judge.remedy, sizeof(c->judge.remedy), "raise network.rate");
		deny(c, "more connections than network.rate allows");
		return;
	}
	c->state = LEAVING;
	rf_deadline_cancel(&c->limit);
	rf_event_want(c->event, 0);
	if (rf_way_new(c->outlet, &c->place, on_way, c, &c->way, &err) < 0)
		reset(c, err.msg);
}

/* ------------------------------------------------------------- first bytes */

/* HTTP: read and judged request by request. */
static void forward(struct rf_crossing *c)
{
	struct rf_outlet *outlet = c->outlet;
	struct rf_forward_place place = c->place;
	struct rf_err err;
	int fd;

	if (c->early.len > 0) {
		deny(c, "HTTP behind a CONNECT that was not waited for");
		return;
	}
	rf_event_cancel(c->event);
	c->event = NULL;
	fd = rf_fd_take(&c->fd);
	free_crossing(c);
	rf_forward_serve(outlet, rf_transport_plain(&fd), &place, &err);
}

/* TLS that is to be ended here. */
static void end_tls(struct rf_crossing *c)
{
	struct rf_outlet *outlet = c->outlet;
	struct rf_forward_place place = c->place;
	RF_AUTO_BUF struct rf_buf early = c->early;
	struct rf_err err;
	int fd;

	rf_buf_init(&c->early, 0);
	if (!outlet->accept) {
		deny(c, "its rules speak of requests, and TLS can't be ended for this box");
		return;
	}
	place.is_tls = true;
	rf_event_cancel(c->event);
	c->event = NULL;
	fd = rf_fd_take(&c->fd);
	free_crossing(c);
	outlet->accept(outlet, &fd, (struct rf_span){ early.data, early.len }, &place, &err);
}

/* No more is told until there is more than these bytes, which stay where they are. */
static void await_more(struct rf_crossing *c, size_t n)
{
	int least = (int)n + 1;

	setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

/* TLS that is passed on: all of it where anything may pass, and else nothing but TLS. */
static void leave_with_hello(struct rf_crossing *c, const struct rf_sniff *sniff,
			     struct rf_span first)
{
	if (!rf_net_judge_raw(c->outlet->net, &c->place.host, c->place.port).is_allowed) {
		if (memmem(first.at, sniff->bytes, "HTTP/", 5)) {
			deny(c, "a ClientHello with a request in it");
			return;
		}
		c->hello = sniff->bytes;
	}
	leave(c);
}

static void decide(struct rf_crossing *c, const struct rf_sniff *sniff, struct rf_span first)
{
	bool looks_inside = rf_net_looks_inside(c->outlet->net, &c->place.host, c->place.port);

	await_more(c, 0);
	if (sniff->kind == RF_SNIFF_HTTP)
		forward(c); /* which says no as well */
	else if (!c->judge.is_allowed)
		reset(c, NULL);
	else if (sniff->kind == RF_SNIFF_TLS && !is_for(c, sniff))
		deny(c, "TLS asks for another name than was dialled");
	else if (sniff->kind == RF_SNIFF_TLS && looks_inside)
		end_tls(c);
	else if (sniff->kind == RF_SNIFF_HTTP2)
		deny(c, "HTTP/2 without TLS is not looked into");
	else if (sniff->kind == RF_SNIFF_BAD)
		deny(c, "malformed TLS");
	else if (sniff->kind == RF_SNIFF_TLS)
		leave_with_hello(c, sniff, first);
	else if (looks_inside) {
		snprintf(c->judge.reason, sizeof(c->judge.reason),
			 "its rules speak of requests, and this is no HTTP");
		refuse_raw(c, first);
	} else if (may_be_raw(c))
		leave(c);
	else
		refuse_raw(c, first);
}

/* Urgent data: what is looked at ends before it, and what is sent on would, too. */
static bool is_urgent(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_OOB | MSG_PEEK | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

static bool is_web(const struct rf_crossing *c)
{
	return c->place.port == 80 || c->place.port == 443;
}

/* Looks at what is there, and leaves it.  More of it is told by the kernel when there is more. */
static void look(struct rf_crossing *c)
{
	char first[RF_SNIFF_MOST];
	size_t early = c->early.len, have;
	struct rf_sniff sniff;
	ssize_t n;

	if (early > sizeof(first)) {
		deny(c, "more behind a CONNECT than is looked at");
		return;
	}
	if (early > 0)
		memcpy(first, c->early.data, early);
	n = recv(c->fd, first + early, sizeof(first) - early, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		n = 0;
	else if (n < 0 || (n == 0 && early == 0)) {
		free_crossing(c); /* said nothing, and is gone */
		return;
	}
	have = early + (size_t)n;
	rf_sniff_look((struct rf_span){ first, have }, &sniff);
	if (sniff.kind == RF_SNIFF_MORE && have > c->seen) {
		c->seen = have;
		c->is_hello = first[0] == RF_SNIFF_HANDSHAKE;
		await_more(c, (size_t)n);
		return;
	}
	if (sniff.kind == RF_SNIFF_MORE && is_urgent(c->fd)) {
		deny(c, "urgent data among the first bytes");
		return;
	}
	if (sniff.kind == RF_SNIFF_MORE) /* it sends no more */
		sniff.kind = RF_SNIFF_OTHER;
	decide(c, &sniff, (struct rf_span){ first, have });
}

/* Whether the server may speak first: what it speaks is not HTTP then. */
static bool may_be_quiet(const struct rf_crossing *c)
{
	const struct rf_net *net = c->outlet->net;
	struct rf_net_verdict raw = rf_net_judge_raw(net, &c->place.host, c->place.port);
	bool is_said = raw.rule && raw.rule->is_tcp;

	return c->judge.is_allowed && raw.is_allowed && (is_said || !is_web(c)) &&
	       !rf_net_looks_inside(net, &c->place.host, c->place.port);
}

/* Whether a rule, and not the mode alone, lets pass what may be HTTP that comes too slowly to be judged. */
static bool is_raw_by_rule(const struct rf_crossing *c)
{
	return !c->is_hello && may_be_quiet(c) &&
	       rf_net_judge_raw(c->outlet->net, &c->place.host, c->place.port).rule;
}

static void begin_look(struct rf_crossing *c)
{
	uint64_t limit_ms = may_be_quiet(c) ? QUIET_MS : is_web(c) ? FIRST_MS : MUTE_MS;

	c->state = LOOKING;
	c->seen = 0;
	await_more(c, 0);
	rf_note_counts(c->outlet->note)->connections++;
	rf_event_want(c->event, RF_LOOP_READ);
	rf_deadline_set(&c->limit, rf_loop_now() + limit_ms * MS);
	if (c->early.len > 0)
		look(c);
}

/* ------------------------------------------------------------- SOCKS5 */

static void answer_socks(struct rf_crossing *c, enum rf_socks_reply reply)
{
	char room[10];
	struct rf_span answer = rf_socks_answer(reply, room);

	send(c->fd, answer.at, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_greeting(struct rf_crossing *c, struct rf_span bytes)
{
	char answer[2] = { RF_SOCKS_VERSION, 0 };
	char used_bytes[RF_SOCKS_MOST];
	size_t used;
	bool is_open;
	int code = rf_socks_greeting(bytes, &used, &is_open);

	if (code < 0 || (code > 0 && !is_open)) {
		answer[1] = (char)0xff;
		send(c->fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
		free_crossing(c);
		return;
	}
	if (code == 0)
		return;
	recv(c->fd, used_bytes, used, MSG_DONTWAIT);
	send(c->fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	c->state = ASKING;
	c->seen = 0;
	await_more(c, 0);
}

static void take_wish(struct rf_crossing *c, struct rf_span bytes)
{
	char used_bytes[RF_SOCKS_MOST];
	enum rf_socks_reply reply;
	size_t used;
	int code = rf_socks_request(bytes, &used, &c->place.host, &c->place.port, &reply);

	if (code == 0)
		return;
	if (code < 0) {
		answer_socks(c, reply);
		free_crossing(c);
		return;
	}
	recv(c->fd, used_bytes, used, MSG_DONTWAIT);
	rf_judge_host(c->outlet, &c->place.host, c->place.port, &c->judge);
	answer_socks(c, c->judge.is_allowed ? RF_SOCKS_WELL : RF_SOCKS_DENIED);
	if (c->judge.is_allowed) {
		begin_look(c);
		return;
	}
	tell(c, RF_GATE_CONNECT, NULL, NULL);
	free_crossing(c);
}

static void take_proxy(struct rf_crossing *c)
{
	char bytes[RF_SOCKS_MOST];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		free_crossing(c);
		return;
	}
	if (c->state == FIRST && bytes[0] != RF_SOCKS_VERSION) {
		forward(c); /* to a place that each request names */
		return;
	}
	if ((size_t)n <= c->seen) { /* half a word, and no more comes */
		free_crossing(c);
		return;
	}
	c->seen = (size_t)n;
	await_more(c, (size_t)n);
	if (c->state == FIRST)
		c->state = GREETING;
	if (c->state == GREETING)
		take_greeting(c, (struct rf_span){ bytes, (size_t)n });
	else
		take_wish(c, (struct rf_span){ bytes, (size_t)n });
}

/* ------------------------------------------------------------- events */

static void on_event(void *data, int what)
{
	struct rf_crossing *c = data;

	if (c->state == LEAVING) { /* told although nothing was wanted: it is gone */
		if (what & RF_LOOP_HANGUP)
			free_crossing(c);
	} else if (c->state == LOOKING) {
		look(c);
	} else {
		take_proxy(c);
	}
}

static void on_limit(void *data)
{
	struct rf_crossing *c = data;

	if (c->state == LOOKING && c->seen == 0 && may_be_quiet(c) && may_be_raw(c)) {
		c->is_quiet = true;
		leave(c);
	} else if (c->state == LOOKING && c->seen == 0 && c->judge.is_allowed && !is_web(c)) {
		may_be_raw(c); /* which says what would let the server speak first */
		deny(c, "nothing was said, and the server may not speak first");
	} else if (c->state == LOOKING && c->seen > 0 && is_raw_by_rule(c) && may_be_raw(c)) {
		leave(c); /* a word without an end, to which a server may answer */
	} else if (c->state == LOOKING && c->seen > 0) {
		deny(c, "its first bytes do not say what it is");
	} else {
		make_reset(c->fd);
		free_crossing(c);
	}
}

static struct rf_crossing *new_crossing(struct rf_outlet *outlet, int *fd, struct rf_err *err)
{
	struct rf_crossing *c = calloc(1, sizeof(*c));
	const int on = 1;

	if (!c) {
		rf_fd_done(fd);
		rf_fail(err, -ENOMEM, "connection");
		return NULL;
	}
	c->outlet = outlet;
	rf_buf_init(&c->early, RF_SNIFF_MOST + 1);
	c->fd = rf_fd_take(fd);
	c->began_ns = rf_loop_now();
	c->link = &outlet->crossings;
	c->next = outlet->crossings;
	if (c->next)
		c->next->link = &c->next;
	outlet->crossings = c;
	rf_outlet_count(outlet, 1);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rf_deadline_init(&c->limit, outlet->gateway->deadlines, on_limit, c) < 0) {
		rf_fail(err, -ENOMEM, "connection");
		free_crossing(c);
		return NULL;
	}
	rf_deadline_set(&c->limit, c->began_ns + FIRST_MS * MS);
	if (rf_loop_watch(outlet->gateway->loop, c->fd, RF_LOOP_READ, on_event, c, &c->event, err) <
	    0) {
		free_crossing(c);
		return NULL;
	}
	return c;
}

int rf_crossing_new(struct rf_outlet *outlet, int *fd, const struct rf_forward_place *place,
		    struct rf_err *err)
{
	struct rf_crossing *c = new_crossing(outlet, fd, err);

	if (!c)
		return err->code;
	c->place = *place;
	rf_judge_host(outlet, &place->host, place->port, &c->judge);
	begin_look(c);
	return 0;
}

int rf_crossing_new_proxy(struct rf_outlet *outlet, int *fd, struct rf_err *err)
{
	return new_crossing(outlet, fd, err) ? 0 : err->code;
}

static void on_nothing(void *data, int what)
{
}

int rf_crossing_adopt(struct rf_outlet *outlet, struct rf_exchange *exchange,
		      const struct rf_forward_place *place, struct rf_err *err)
{
	struct rf_stream stream;
	struct rf_crossing *c = NULL;
	struct rf_span early;

	if (rf_exchange_take(exchange, RF_SPAN(""), (struct rf_fields){ 0 }, &stream, on_nothing,
			     NULL, err) < 0)
		return err->code;
	early = rf_stream_input(&stream);
	/* A head of some fifty bytes goes out at once, or nothing does. */
	if (rf_stream_flush(&stream) == 0) {
		rf_event_cancel(stream.event);
		stream.event = NULL;
		c = new_crossing(outlet, &stream.transport.fd, err);
	}
	if (c) {
		c->place = *place;
		rf_judge_host(outlet, &place->host, place->port, &c->judge);
		rf_buf_init(&c->early, early.len + RF_SNIFF_MOST + 1);
		rf_buf_add(&c->early, early.at, early.len);
	}
	rf_stream_done(&stream);
	if (c)
		begin_look(c);
	return 0;
}

void rf_crossing_review(struct rf_outlet *outlet)
{
	struct rf_crossing *next;

	for (struct rf_crossing *c = outlet->crossings; c; c = next) {
		struct rf_relay_counts counts = { 0 };

		next = c->next;
		if (c->state < LOOKING)
			continue;
		/* TLS that nobody looked at further, because anything could pass, needs the rule for that. */
		if (c->is_raw || (c->state >= LEAVING && c->hello == 0))
			rf_judge_raw(outlet, &c->place.host, c->place.port, &c->judge);
		else
			rf_judge_host(outlet, &c->place.host, c->place.port, &c->judge);
		if (c->judge.is_allowed)
			rf_judge_standing(outlet, &c->place.host, c->place.port, c->address,
					  &c->judge);
		/* What is on its way was looked at by the rules before these. */
		if (c->judge.is_allowed &&
		    !(c->state >= LEAVING &&
		      rf_net_looks_inside(outlet->net, &c->place.host, c->place.port)))
			continue;
		if (c->relay)
			counts = rf_relay_cut(c->relay);
		else
			make_reset(c->fd);
		c->relay = NULL;
		c->judge.is_allowed = false;
		tell(c, RF_GATE_CONNECT, "the policy has changed", &counts);
		free_crossing(c);
	}
}

void rf_crossing_close(struct rf_outlet *outlet)
{
	struct rf_crossing *next;

	for (struct rf_crossing *c = outlet->crossings; c; c = next) {
		struct rf_relay_counts counts = { 0 };

		next = c->next;
		if (c->relay)
			counts = rf_relay_cut(c->relay);
		else if (c->fd >= 0)
			make_reset(c->fd);
		if (c->state >= LEAVING)
			tell(c, RF_GATE_CONNECT, "the box is over", &counts);
		free_crossing(c);
	}
}
