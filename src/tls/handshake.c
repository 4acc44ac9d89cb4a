/* A handshake by itself: see handshake.h. */
#include "tls/handshake.h"

#include <errno.h>
#include <stdlib.h>

#include "tls/tls.h"

#define MS 1000000ull

struct rf_handshake {
	struct rf_transport transport;
	struct rf_event *event;
	struct rf_deadline soon, limit;
	rf_handshake_fn *fn;
	void *data;
};

/* Tells how it ended.  The transport is its owner's, or gone, before that. */
static void end(struct rf_handshake *shake, int code, struct rf_err *err)
{
	struct rf_transport transport = shake->transport;
	rf_handshake_fn *fn = shake->fn;
	void *data = shake->data;

	shake->transport = (struct rf_transport){ .fd = -1 };
	rf_handshake_free(shake);
	if (code < 0)
		transport.ops->done(&transport);
	fn(data, code, code < 0 ? NULL : &transport, err);
}

static void go_on(struct rf_handshake *shake)
{
	struct rf_err err = RF_ERR_INIT;
	int code = rf_tls_handshake(&shake->transport);

	if (code == -EAGAIN && shake->event) {
		rf_event_want(shake->event, shake->transport.read_needs);
		return;
	}
	if (code < 0 && !shake->transport.ops->explain(&shake->transport, &err))
		rf_fail(&err, code, "TLS");
	end(shake, code, &err);
}

/* One that has hung up is not watched any more; what it sent before is there. */
static void on_event(void *data, int what)
{
	struct rf_handshake *shake = data;

	if (what & RF_LOOP_HANGUP) {
		rf_event_cancel(shake->event);
		shake->event = NULL;
	}
	go_on(shake);
}

static void on_soon(void *data)
{
	go_on(data);
}

static void on_limit(void *data)
{
	struct rf_err err = RF_ERR_INIT;

	rf_fail(&err, -ETIMEDOUT, "TLS");
	end(data, -ETIMEDOUT, &err);
}

int rf_handshake_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		     struct rf_transport transport, uint32_t timeout_ms, rf_handshake_fn *fn,
		     void *data, struct rf_handshake **ret_handshake, struct rf_err *err)
{
	struct rf_handshake *shake = calloc(1, sizeof(*shake));

	if (!shake) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	*shake = (struct rf_handshake){ .transport = transport, .fn = fn, .data = data };
	if (rf_deadline_init(&shake->soon, deadlines, on_soon, shake) < 0 ||
	    rf_deadline_init(&shake->limit, deadlines, on_limit, shake) < 0) {
		rf_handshake_free(shake);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	if (rf_loop_watch(loop, transport.fd, 0, on_event, shake, &shake->event, err) < 0) {
		rf_handshake_free(shake);
		return err->code;
	}
	rf_deadline_set(&shake->soon, rf_loop_now()); /* bytes may be there already */
	rf_deadline_set(&shake->limit, rf_loop_now() + timeout_ms * MS);
	*ret_handshake = shake;
	return 0;
}

void rf_handshake_free(struct rf_handshake *handshake)
{
	if (!handshake)
		return;
	rf_event_cancel(handshake->event);
	rf_deadline_done(&handshake->soon);
	rf_deadline_done(&handshake->limit);
	if (handshake->transport.ops)
		handshake->transport.ops->done(&handshake->transport);
	free(handshake);
}
