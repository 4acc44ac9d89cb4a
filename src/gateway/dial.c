/* A connection to one of several addresses: see dial.h. */
#include "gateway/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"

#define MS      1000000ull
#define NEXT_MS 250 /* after which the next one is tried beside the last */

struct rf_dial {
	struct rf_loop *loop;
	rf_dial_fn *fn;
	void *data;
	struct rf_deadline next, limit;
	uint16_t port;
	int code; /* why the last one failed */
	size_t count, begun, failed;
	struct
	try {
		struct rf_dial *dial;
		struct rf_address addr;
		struct rf_event *event;
		int fd; /* -1: not begun, or failed */
	}
	tries[RF_DIAL_MOST];
};

static void free_dial(struct rf_dial *dial)
{
	for (size_t i = 0; i < dial->begun; i++) {
		rf_event_cancel(dial->tries[i].event);
		rf_fd_done(&dial->tries[i].fd);
	}
	rf_deadline_done(&dial->next);
	rf_deadline_done(&dial->limit);
	free(dial);
}

static void finish(struct rf_dial *dial, int fd, const struct rf_address *addr)
{
	rf_dial_fn *fn = dial->fn;
	void *data = dial->data;
	struct rf_address to = *addr;

	free_dial(dial);
	fn(data, fd, &to);
}

static void on_try(void *data, int what);

/* Begins with the next address.  -EINPROGRESS, or why that failed. */
static int begin(struct rf_dial *dial)
{
	struct try *try = &dial->tries[dial->begun++];
	struct sockaddr_storage to;
	socklen_t len = rf_address_to(&try->addr, dial->port, &to);
	const int on = 1;
	struct rf_err err;

	try->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (try->fd < 0)
		return -errno;
	setsockopt(try->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(try->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	/* One that stands at once (loopback) is told by the loop as well. */
	if (connect(try->fd, (const struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
		return -errno;
	if (rf_loop_watch(dial->loop, try->fd, RF_LOOP_WRITE, on_try, try, &try->event, &err) < 0)
		return err.code;
	return -EINPROGRESS;
}

static void fail_try(struct rf_dial *dial, struct try *try, int code)
{
	rf_event_cancel(try->event);
	try->event = NULL;
	rf_fd_done(&try->fd);
	dial->code = code;
	dial->failed++;
}

static void on_next(void *data)
{
	struct rf_dial *dial = data;

	while (dial->begun < dial->count) {
		int code = begin(dial);

		if (code == -EINPROGRESS) {
			if (dial->begun < dial->count)
				rf_deadline_set(&dial->next, rf_loop_now() + NEXT_MS * MS);
			return;
		}
		fail_try(dial, &dial->tries[dial->begun - 1], code);
	}
	if (dial->failed == dial->count)
		finish(dial, dial->code, &dial->tries[dial->count - 1].addr);
}

static void on_try(void *data, int what)
{
	struct try *try = data;
	struct rf_dial *dial = try->dial;
	socklen_t len = sizeof(int);
	int code = 0;

	if (getsockopt(try->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		code = errno;
	if (code == 0) {
		rf_event_cancel(try->event);
		try->event = NULL;
		finish(dial, rf_fd_take(&try->fd), &try->addr);
		return;
	}
	fail_try(dial, try, -code);
	on_next(dial);
}

static void on_limit(void *data)
{
	struct rf_dial *dial = data;

	finish(dial, -ETIMEDOUT, &dial->tries[dial->begun ? dial->begun - 1 : 0].addr);
}

int rf_dial_new(struct rf_loop *loop, struct rf_deadlines *deadlines, const struct rf_address *list,
		size_t count, uint16_t port, uint64_t timeout_ms, rf_dial_fn *fn, void *data,
		struct rf_dial **ret_dial, struct rf_err *err)
{
	struct rf_dial *dial = calloc(1, sizeof(*dial));

	if (!dial)
		return rf_fail(err, -ENOMEM, "dial");
	dial->loop = loop;
	dial->fn = fn;
	dial->data = data;
	dial->port = port;
	dial->code = -EADDRNOTAVAIL;
	dial->count = count < RF_DIAL_MOST ? count : RF_DIAL_MOST;
	for (size_t i = 0; i < dial->count; i++)
		dial->tries[i] = (struct try){ .dial = dial, .addr = list[i], .fd = -1 };
	if (rf_deadline_init(&dial->next, deadlines, on_next, dial) < 0 ||
	    rf_deadline_init(&dial->limit, deadlines, on_limit, dial) < 0) {
		free_dial(dial);
		return rf_fail(err, -ENOMEM, "dial");
	}
	rf_deadline_set(&dial->next, rf_loop_now());
	rf_deadline_set(&dial->limit, rf_loop_now() + timeout_ms * MS);
	*ret_dial = dial;
	return 0;
}

void rf_dial_cancel(struct rf_dial *dial)
{
	if (dial)
		free_dial(dial);
}
