/* Ports of a box that the host reaches: see publish.h. */
#include "gateway/publish.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"

#define CONNECT_NS (5ull * 1000000000)

struct rf_publish {
	struct rf_outlet *outlet;
	struct rf_publish *next, **link;
	int outside, inside; /* until they are joined */
	int kept;            /* the one inside once more: it can be used again */
	uint16_t port;
	uint64_t began_ns;
	struct rf_event *event;
	struct rf_deadline limit;
	struct rf_relay *relay;
};

/* Whoever has forgotten its peer belongs to the box's network as before, and can be connected anew. */
static void give_back(struct rf_publish *p)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	if (p->kept >= 0 && connect(p->kept, &nowhere, sizeof(nowhere)) == 0)
		rf_publish_stock(p->outlet, &p->kept);
	rf_fd_done(&p->kept);
}

static void free_publish(struct rf_publish *p)
{
	rf_event_cancel(p->event);
	rf_deadline_done(&p->limit);
	rf_fd_done(&p->outside);
	rf_fd_done(&p->inside);
	give_back(p);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	rf_outlet_count(p->outlet, -1);
	free(p);
}

static void finish(struct rf_publish *p, const char *reason, const struct rf_relay_counts *counts)
{
	struct rf_gate_event event = {
		.kind = RF_GATE_PUBLISHED,
		.verdict = RF_GATE_ALLOWED,
		.port = p->port,
		.up_bytes = counts->up,
		.down_bytes = counts->down,
		.duration_us = (rf_loop_now() - p->began_ns) / 1000,
		.reason = reason,
	};

	rf_note_tell(p->outlet->note, &event);
	free_publish(p);
}

static void on_relay_end(void *data, enum rf_relay_end end, const struct rf_relay_counts *counts)
{
	struct rf_publish *p = data;

	p->relay = NULL;
	finish(p, "", counts);
}

static void on_connected(void *data, int what)
{
	struct rf_publish *p = data;
	struct rf_gateway *gateway = p->outlet->gateway;
	const struct rf_relay_options options = {
		.loop = gateway->loop,
		.deadlines = gateway->deadlines,
		.pipes = gateway->pipes,
		.idle_ms = p->outlet->call_limits.stall_ms,
		.fn = on_relay_end,
		.data = p,
	};
	const struct rf_relay_counts none = { 0 };
	socklen_t len = sizeof(int);
	struct rf_err err;
	int code = 0;

	getsockopt(p->inside, SOL_SOCKET, SO_ERROR, &code, &len);
	rf_event_cancel(p->event);
	p->event = NULL;
	rf_deadline_cancel(&p->limit);
	if (code != 0)
		finish(p, "nobody listens on that port of the box", &none);
	else if (rf_relay_new(&options, &p->outside, &p->inside, RF_SPAN(""), &p->relay, &err) < 0)
		finish(p, err.msg, &none);
}

static void on_limit(void *data)
{
	const struct rf_relay_counts none = { 0 };

	finish(data, "the box does not answer", &none);
}

static int dial_inside(struct rf_publish *p)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(p->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int flags = fcntl(p->inside, F_GETFL);
	const int on = 1;
	struct rf_err err;

	if (flags < 0 || fcntl(p->inside, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	setsockopt(p->inside, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(p->inside, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return -errno;
	return rf_loop_watch(p->outlet->gateway->loop, p->inside, RF_LOOP_WRITE, on_connected, p,
			     &p->event, &err);
}

void rf_publish_accept(struct rf_outlet *outlet, uint16_t port, int *fd)
{
	struct rf_publish *p = outlet->stock_count > 0 ? calloc(1, sizeof(*p)) : NULL;
	const struct rf_relay_counts none = { 0 };

	if (!p) {
		rf_fd_done(fd);
		return;
	}
	p->outlet = outlet;
	p->outside = rf_fd_take(fd);
	p->inside = outlet->stock[--outlet->stock_count];
	p->kept = rf_fd_copy(p->inside, 3);
	p->port = port;
	p->began_ns = rf_loop_now();
	p->link = &outlet->published;
	p->next = outlet->published;
	if (p->next)
		p->next->link = &p->next;
	outlet->published = p;
	rf_outlet_count(outlet, 1);
	if (rf_deadline_init(&p->limit, outlet->gateway->deadlines, on_limit, p) < 0) {
		free_publish(p);
		return;
	}
	rf_deadline_set(&p->limit, p->began_ns + CONNECT_NS);
	if (dial_inside(p) < 0)
		finish(p, "nobody listens on that port of the box", &none);
}

void rf_publish_stock(struct rf_outlet *outlet, int *fd)
{
	if (outlet->stock_count < RF_PUBLISH_STOCK)
		outlet->stock[outlet->stock_count++] = rf_fd_take(fd);
	rf_fd_done(fd);
}

void rf_publish_close(struct rf_outlet *outlet)
{
	struct rf_publish *next;

	for (struct rf_publish *p = outlet->published; p; p = next) {
		next = p->next;
		if (p->relay)
			rf_relay_cut(p->relay);
		p->relay = NULL;
		free_publish(p);
	}
	while (outlet->stock_count > 0)
		rf_fd_done(&outlet->stock[--outlet->stock_count]);
}
