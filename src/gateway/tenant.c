/* One client of the gateway: see tenant.h. */
#include "gateway/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/custody.h"
#include "gateway/hand.h"
#include "gateway/listener.h"
#include "gateway/outlet.h"
#include "gateway/publish.h"

#define BOXES   4096
#define REAP_NS 1000000ull
#define TURN    16

struct box {
	struct rf_tenant *tenant;
	struct box *next;
	uint64_t id;
	struct rf_outlet *outlet;
	struct rf_deadline reap;
	bool is_closed, is_finished;
};

struct rf_tenant {
	struct rf_gateway *gateway;
	int fd;
	struct rf_event *event;
	struct rf_buf buf;
	struct box *boxes;
	size_t count;
	bool is_gone;
	bool is_sealed; /* its boxes are those that it has */
	void (*on_gone)(void *data);
	void *data;
};

/* ------------------------------------------------------------- boxes */

static struct box *find(const struct rf_tenant *tenant, uint64_t id)
{
	struct box *box = tenant->boxes;

	while (box && (box->id != id || box->is_closed))
		box = box->next;
	return box;
}

static void free_tenant(struct rf_tenant *tenant)
{
	void (*on_gone)(void *data) = tenant->on_gone;
	void *data = tenant->data;

	rf_event_cancel(tenant->event);
	rf_fd_done(&tenant->fd);
	rf_buf_done(&tenant->buf);
	free(tenant);
	if (on_gone)
		on_gone(data);
}

static void free_box(struct box *box)
{
	struct rf_tenant *tenant = box->tenant;
	struct box **at = &tenant->boxes;

	while (*at != box)
		at = &(*at)->next;
	*at = box->next;
	tenant->count--;
	rf_deadline_done(&box->reap);
	rf_outlet_free(box->outlet);
	free(box);
	if (tenant->is_gone && !tenant->boxes)
		free_tenant(tenant);
}

/* Some of what was closed tells its end in the next turns; then the box is done. */
static void on_reap(void *data)
{
	struct box *box = data;

	rf_outlet_close(box->outlet);
	if (rf_outlet_is_quiet(box->outlet) && !box->is_finished) {
		box->is_finished = true;
		rf_note_finish(box->outlet->note);
	}
	if (box->is_finished && (box->tenant->is_gone || rf_note_flush(box->outlet->note)))
		free_box(box);
	else
		rf_deadline_set(&box->reap, rf_loop_now() + REAP_NS);
}

static void close_box(struct box *box)
{
	box->is_closed = true;
	rf_outlet_close(box->outlet);
	rf_deadline_set(&box->reap, rf_loop_now());
}

static void leave(struct rf_tenant *tenant)
{
	if (tenant->is_gone)
		return;
	tenant->is_gone = true;
	rf_event_cancel(tenant->event);
	tenant->event = NULL;
	for (struct box *box = tenant->boxes; box; box = box->next)
		if (!box->is_closed)
			close_box(box);
	if (!tenant->boxes)
		free_tenant(tenant);
}

/* ------------------------------------------------------------- messages */

static int on_open(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_gate_open open;
	struct box *box;
	int code;

	if (tenant->is_sealed)
		return rf_fail_say(err, -EPERM, "the connection is sealed: it has no other box");
	if (find(tenant, message->id) || tenant->count >= BOXES)
		return rf_fail_say(err, -EBUSY,
				   "there is such a box already, or there are too many");
	if (rf_gate_read_open(message->body, message->len, &open, err) < 0)
		return err->code;
	box = calloc(1, sizeof(*box));
	if (!box || rf_deadline_init(&box->reap, tenant->gateway->deadlines, on_reap, box) < 0) {
		free(box);
		rf_gate_open_done(&open);
		return rf_fail(err, -ENOMEM, "a box");
	}
	code = rf_outlet_new(tenant->gateway, tenant->fd, message->id, &open, &box->outlet, err);
	rf_gate_open_done(&open);
	if (code < 0) {
		rf_deadline_done(&box->reap);
		free(box);
		return code;
	}
	box->tenant = tenant;
	box->id = message->id;
	box->next = tenant->boxes;
	tenant->boxes = box;
	tenant->count++;
	return rf_gate_send_ready(tenant->fd, box->id,
				  box->outlet->pem.len ? box->outlet->pem.data : "", err);
}

static int on_lines(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	static const enum rf_listener_kind kinds[RF_LINE_COUNT] = {
		[RF_LINE_TCP] = RF_LISTENER_TCP,
		[RF_LINE_DNS_UDP] = RF_LISTENER_DNS_UDP,
		[RF_LINE_DNS_TCP] = RF_LISTENER_DNS_TCP,
		[RF_LINE_PROXY] = RF_LISTENER_PROXY,
	};
	struct box *box = find(tenant, message->id);

	if (!box)
		return -ENOENT; /* it is over already */
	for (size_t i = 0; i < RF_LINE_COUNT; i++)
		if (rf_listener_new(box->outlet, kinds[i], 0, &message->fds[i], err) < 0)
			return err->code;
	return 0;
}

static int on_port(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);
	uint32_t port = rf_wire_u32(message);

	if (!box || port == 0 || port > UINT16_MAX)
		return -ENOENT;
	return rf_listener_new(box->outlet,
			       message->type == RF_WIRE_GATE_PORT ? RF_LISTENER_TCP
								  : RF_LISTENER_PUBLISH,
			       (uint16_t)port, &message->fds[0], err);
}

static int on_stock(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	for (size_t i = 0; box && i < RF_GATE_STOCK; i++)
		rf_publish_stock(box->outlet, &message->fds[i]);
	return 0;
}

static int on_change(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	return box ? rf_outlet_change_within(box->outlet, message->body, message->len, err)
		   : -ENOENT;
}

/* A box that can't be bounded has no network at all. */
static int on_bound(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	if (!box)
		return -ENOENT;
	if (rf_outlet_bound(box->outlet, message->body, message->len, err) < 0) {
		close_box(box);
		return err->code;
	}
	return 0;
}

/* Whatever becomes of it: who has the connection from now on opens no box. */
static int on_seal(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	tenant->is_sealed = true;
	if (!box)
		return -ENOENT;
	if (rf_outlet_seal(box->outlet, message->body, message->len, err) < 0) {
		close_box(box);
		return err->code;
	}
	return 0;
}

static int on_hand(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	return box ? rf_hand_new(box->outlet, rf_wire_u32(message) != 0, &message->fds[0], err)
		   : -ENOENT;
}

static int on_custody(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	return box ? rf_custody_new(box->outlet, &message->fds[0], err) : -ENOENT;
}

static int on_name(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);
	const char *name;

	if (!box || rf_gate_read_name(message->body, message->len, &name, err) < 0)
		return -ENOENT;
	rf_custody_name(box->outlet, name);
	return 0;
}

static int on_close(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	if (!box)
		return 0;
	close_box(box);
	if (rf_outlet_is_quiet(
		    box->outlet)) /* as nearly always, and who closes it waits for the word */
		on_reap(box);
	return 0;
}

static int on_books(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);

	return box ? rf_outlet_take_books(box->outlet, message->body, message->len, err) : -ENOENT;
}

/* Who has the box speaks in its place. */
static int on_speak(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err)
{
	struct box *box = find(tenant, message->id);
	struct rf_forward_place place = { 0 };
	struct rf_gate_place to;
	int flags = fcntl(message->fds[0], F_GETFL);

	if (!box || box->is_closed || rf_gate_read_place(message->body, message->len, &to, err) < 0)
		return -ENOENT;
	if (to.port == 0 || rf_host_parse(rf_span_of(to.host), &place.host) || flags < 0 ||
	    fcntl(message->fds[0], F_SETFL, flags | O_NONBLOCK) < 0)
		return -EINVAL;
	place.port = to.port;
	place.is_tls = to.is_tls;
	return rf_forward_serve(box->outlet, rf_transport_plain(&message->fds[0]), &place, err);
}

/* clang-format off */
static const struct {
	enum rf_wire_type type;
	int (*fn)(struct rf_tenant *tenant, struct rf_wire_message *message, struct rf_err *err);
	bool is_answered; /* what fails is told as REFUSED */
} requests[] = {
	{ RF_WIRE_GATE_OPEN,    on_open,   true  },
	{ RF_WIRE_GATE_LINES,   on_lines,  false },
	{ RF_WIRE_GATE_PORT,    on_port,   false },
	{ RF_WIRE_GATE_PUBLISH, on_port,   false },
	{ RF_WIRE_GATE_STOCK,   on_stock,  false },
	{ RF_WIRE_GATE_CHANGE,  on_change, true  },
	{ RF_WIRE_GATE_BOUND,   on_bound,  true  },
	{ RF_WIRE_GATE_SEAL,    on_seal,   true  },
	{ RF_WIRE_GATE_HAND,    on_hand,   false },
	{ RF_WIRE_GATE_CUSTODY, on_custody, false },
	{ RF_WIRE_GATE_NAME,    on_name,   false },
	{ RF_WIRE_GATE_CLOSE,   on_close,  false },
	{ RF_WIRE_GATE_SPEAK,   on_speak,  false },
	{ RF_WIRE_GATE_BOOKS,   on_books,  false },
};
/* clang-format on */

static void answer(struct rf_tenant *tenant, struct rf_wire_message *message)
{
	struct rf_err err = RF_ERR_INIT, ignored;

	for (size_t i = 0; i < RF_LEN(requests); i++) {
		if (requests[i].type != message->type)
			continue;
		if (requests[i].fn(tenant, message, &err) < 0 && requests[i].is_answered)
			rf_wire_refuse(tenant->fd, message->id, &err, &ignored);
	}
	/* Credentials were in it. */
	if (message->type == RF_WIRE_GATE_OPEN && tenant->buf.data) {
		explicit_bzero(tenant->buf.data, tenant->buf.room);
		rf_buf_clear(&tenant->buf);
	}
}

static void on_event(void *data, int what)
{
	struct rf_tenant *tenant = data;

	for (int i = 0; i < TURN; i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err;
		int code =
			rf_wire_receive(tenant->fd, RF_WIRE_TENANT, &tenant->buf, &message, &err);

		if (code == -EAGAIN)
			return;
		if (code <= 0) {
			leave(tenant);
			return;
		}
		answer(tenant, &message);
	}
}

int rf_tenant_new(struct rf_gateway *gateway, int *fd, void (*on_gone)(void *data), void *data,
		  struct rf_tenant **ret_tenant, struct rf_err *err)
{
	struct rf_tenant *tenant = calloc(1, sizeof(*tenant));
	int flags = fcntl(*fd, F_GETFL);

	if (!tenant || flags < 0 || fcntl(*fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		free(tenant);
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "a client");
	}
	tenant->gateway = gateway;
	tenant->fd = rf_fd_take(fd);
	tenant->on_gone = on_gone;
	tenant->data = data;
	rf_buf_init(&tenant->buf, RF_WIRE_ROOM);
	if (rf_loop_watch(gateway->loop, tenant->fd, RF_LOOP_READ, on_event, tenant, &tenant->event,
			  err) < 0) {
		tenant->on_gone = NULL;
		free_tenant(tenant);
		return err->code;
	}
	*ret_tenant = tenant;
	return 0;
}

void rf_tenant_close(struct rf_tenant *tenant)
{
	leave(tenant);
}
