/* The line to who decides about a box's writes: see custody.h. */
#include "gateway/custody.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/forward-inside.h"
#include "gateway/hold.h"
#include "gateway/outlet.h"

#define TURN 4
#define PENDING                                                                                    \
	64 /* requests of a box that were told, and of which it is not known whether they were taken */

struct rf_custody {
	struct rf_outlet *outlet;
	int fd; /* or -1: who was there is gone, and nothing is taken any more */
	struct rf_event *event;
	struct rf_buf buf;
	uint64_t last_id;
	size_t pending;
	bool is_named;
};

void rf_custody_free(struct rf_outlet *outlet)
{
	struct rf_custody *custody = outlet->custody;

	outlet->custody = NULL;
	if (!custody)
		return;
	rf_event_cancel(custody->event);
	rf_wire_close(&custody->fd);
	rf_buf_done(&custody->buf);
	free(custody);
}

/* Who waits for this answer; or NULL: the program has gone. */
static struct rf_forward *find(const struct rf_custody *custody, uint64_t id)
{
	struct rf_forward *f = custody->outlet->forwards;

	while (f && f->asked_id != id)
		f = f->next;
	return f;
}

static void on_taken(struct rf_custody *custody, uint64_t id, const struct rf_gate_taken *taken)
{
	struct rf_forward *f = find(custody, id);

	custody->pending -= custody->pending > 0;
	if (!f)
		return;
	f->asked_id = 0;
	rf_hold_answer_asked(f, taken);
}

/* Nobody decides any more: what was not taken is refused. */
static void hang_up(struct rf_custody *custody)
{
	static const struct rf_gate_taken gone = { "", "who decides about it is gone" };
	struct rf_forward *next;

	rf_event_cancel(custody->event);
	custody->event = NULL;
	rf_wire_close(&custody->fd);
	for (struct rf_forward *f = custody->outlet->forwards; f; f = next) {
		next = f->next;
		if (f->asked_id > 0) {
			f->asked_id = 0;
			rf_hold_answer_asked(f, &gone);
		}
	}
}

/* What was approved is spoken on the other end of its socket. */
static bool speak(const struct rf_custody *custody, struct rf_wire_message *message)
{
	struct rf_forward_place place = { 0 };
	struct rf_gate_place to;
	struct rf_err err;
	int flags = fcntl(message->fds[0], F_GETFL);

	if (rf_gate_read_place(message->body, message->len, &to, &err) < 0 || to.port == 0 ||
	    rf_host_parse(rf_span_of(to.host), &place.host) || flags < 0 ||
	    fcntl(message->fds[0], F_SETFL, flags | O_NONBLOCK) < 0)
		return false;
	place.port = to.port;
	place.is_tls = to.is_tls;
	rf_forward_serve_approved(custody->outlet, rf_transport_plain(&message->fds[0]), &place,
				  &err);
	return true;
}

static bool serve(struct rf_custody *custody, struct rf_wire_message *message)
{
	struct rf_gate_taken taken;
	struct rf_err err;

	if (message->type == RF_WIRE_GATE_SPEAK)
		return speak(custody, message);
	if (message->type != RF_WIRE_GATE_TAKEN ||
	    rf_gate_read_taken(message->body, message->len, &taken, &err) < 0)
		return false;
	on_taken(custody, message->id, &taken);
	return true;
}

static void on_event(void *data, int what)
{
	struct rf_custody *custody = data;

	(void)what;
	for (int i = 0; i < TURN; i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err;
		int code =
			rf_wire_receive(custody->fd, RF_WIRE_TENANT, &custody->buf, &message, &err);

		if (code == -EAGAIN)
			return;
		if (code <= 0 || !serve(custody, &message)) {
			hang_up(custody);
			return;
		}
	}
}

int rf_custody_new(struct rf_outlet *outlet, int *fd, struct rf_err *err)
{
	struct rf_custody *custody;

	if (outlet->most || outlet->custody) {
		rf_fd_done(fd);
		return rf_fail_say(err, -EPERM, "who decides about this box's writes is settled");
	}
	custody = calloc(1, sizeof(*custody));
	if (!custody || fcntl(*fd, F_SETFL, O_NONBLOCK) < 0) {
		free(custody);
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "who decides about a box's writes");
	}
	custody->outlet = outlet;
	custody->fd = rf_fd_take(fd);
	rf_buf_init(&custody->buf, RF_WIRE_ROOM);
	outlet->custody = custody;
	if (rf_loop_watch(outlet->gateway->loop, custody->fd, RF_LOOP_READ, on_event, custody,
			  &custody->event, err) < 0) {
		rf_custody_free(outlet);
		return err->code;
	}
	return 0;
}

void rf_custody_name(struct rf_outlet *outlet, const char *name)
{
	struct rf_custody *custody = outlet->custody;
	struct rf_err ignored;

	if (!custody || custody->is_named || custody->fd < 0)
		return;
	custody->is_named = rf_gate_name(custody->fd, 0, name, &ignored) == 0;
}

bool rf_custody_ask(struct rf_forward *f, const struct rf_gate_held *held)
{
	struct rf_custody *custody = f->outlet->custody;
	struct rf_gate_asked asked = {
		.wait_ms = f->outlet->net->limits[RF_NET_APPROVAL_TIME],
		.held = *held,
	};
	struct rf_err err;

	if (!custody || custody->fd < 0 || custody->pending >= PENDING)
		return false;
	if (rf_gate_send_asked(custody->fd, ++custody->last_id, &asked, &err) < 0)
		return false;
	f->asked_id = custody->last_id;
	custody->pending++;
	return true;
}
