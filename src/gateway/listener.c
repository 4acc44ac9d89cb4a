/* The sockets that a box was given: see listener.h. */
#include "gateway/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "gateway/crossing.h"
#include "gateway/dns-line.h"
#include "gateway/publish.h"

#define TURN     16 /* connections that are accepted in a row */
#define PAUSE_NS 100000000ull

struct rf_listener {
	struct rf_outlet *outlet;
	struct rf_listener *next;
	enum rf_listener_kind kind;
	uint16_t port;
	int fd;
	struct rf_event *event;
	struct rf_deadline again;
	bool is_full;
};

/* The name that an address stands for, or the address itself. */
static bool find_host(struct rf_outlet *outlet, const struct rf_address *addr,
		      struct rf_host *ret_host)
{
	char text[RF_ADDRESS_TEXT + 2];
	const char *name = NULL;
	uint32_t number;

	if (rf_address_is_v4(addr)) {
		memcpy(&number, addr->octets + 12, sizeof(number));
		name = rf_names_find(outlet->names, ntohl(number));
	}
	if (name)
		return !rf_host_parse(rf_span_of(name), ret_host);
	rf_address_format(addr, text + 1);
	text[0] = '[';
	if (!rf_address_is_v4(addr))
		strncat(text, "]", 2);
	return !rf_host_parse(rf_span_of(rf_address_is_v4(addr) ? text + 1 : text), ret_host);
}

static void take_tcp(struct rf_outlet *outlet, int *fd)
{
	struct rf_forward_place place = { 0 };
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);
	struct rf_address addr;
	struct rf_err err;

	if (getsockname(*fd, (struct sockaddr *)&to, &len) < 0 ||
	    !rf_address_from((struct sockaddr *)&to, &addr, &place.port) ||
	    !find_host(outlet, &addr, &place.host)) {
		rf_fd_done(fd);
		return;
	}
	rf_crossing_new(outlet, fd, &place, &err);
}

static void take(struct rf_listener *listener, int *fd)
{
	struct rf_err err;

	switch (listener->kind) {
	case RF_LISTENER_TCP:
		take_tcp(listener->outlet, fd);
		break;
	case RF_LISTENER_PROXY:
		rf_crossing_new_proxy(listener->outlet, fd, &err);
		break;
	case RF_LISTENER_DNS_TCP:
		rf_dns_line_accept(listener->outlet, fd);
		break;
	default:
		rf_publish_accept(listener->outlet, listener->port, fd);
	}
	rf_fd_done(fd);
}

static void rest(struct rf_listener *listener, bool is_full)
{
	listener->is_full = is_full;
	rf_event_want(listener->event, 0);
	if (!is_full)
		rf_deadline_set(&listener->again, rf_loop_now() + PAUSE_NS);
}

static void on_event(void *data, int what)
{
	struct rf_listener *listener = data;

	if (listener->kind == RF_LISTENER_DNS_UDP) {
		rf_dns_line_datagrams(listener->outlet, listener->fd);
		return;
	}
	for (int i = 0; i < TURN; i++) {
		int fd;

		if (!rf_outlet_has_room(listener->outlet)) {
			rest(listener, true);
			return;
		}
		/* cppcheck-suppress nullPointer */
		fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			take(listener, &fd);
		else if (errno == EAGAIN)
			return;
		else if (errno != ECONNABORTED && errno != EINTR) {
			rest(listener, false); /* descriptors or memory are used up: later */
			return;
		}
	}
}

static void on_again(void *data)
{
	struct rf_listener *listener = data;

	if (!listener->is_full)
		rf_event_want(listener->event, RF_LOOP_READ);
}

void rf_listener_resume(struct rf_outlet *outlet)
{
	for (struct rf_listener *listener = outlet->listeners; listener; listener = listener->next)
		if (listener->is_full) {
			listener->is_full = false;
			rf_event_want(listener->event, RF_LOOP_READ);
		}
}

static void free_listener(struct rf_listener *listener)
{
	rf_event_cancel(listener->event);
	rf_deadline_done(&listener->again);
	rf_fd_done(&listener->fd);
	free(listener);
}

int rf_listener_new(struct rf_outlet *outlet, enum rf_listener_kind kind, uint16_t port, int *fd,
		    struct rf_err *err)
{
	struct rf_listener *listener = calloc(1, sizeof(*listener));
	int flags = fcntl(*fd, F_GETFL);

	if (!listener) {
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "listener");
	}
	listener->outlet = outlet;
	listener->kind = kind;
	listener->port = port;
	listener->fd = rf_fd_take(fd);
	if (flags < 0 || fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		rf_fail(err, -errno, "a box's socket");
		free_listener(listener);
		return err->code;
	}
	if (rf_deadline_init(&listener->again, outlet->gateway->deadlines, on_again, listener) <
	    0) {
		free_listener(listener);
		return rf_fail(err, -ENOMEM, "listener");
	}
	if (rf_loop_watch(outlet->gateway->loop, listener->fd, RF_LOOP_READ, on_event, listener,
			  &listener->event, err) < 0) {
		free_listener(listener);
		return err->code;
	}
	listener->next = outlet->listeners;
	outlet->listeners = listener;
	return 0;
}

void rf_listener_close(struct rf_outlet *outlet)
{
	while (outlet->listeners) {
		struct rf_listener *listener = outlet->listeners;

		outlet->listeners = listener->next;
		free_listener(listener);
	}
}
