/* A question to the warden: see query.h. */
#include "server/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "lib/fort.h"

#define ANSWER_NS 10000000000ull

struct rf_query {
	int fd;
	enum rf_wire_side from;
	struct rf_event *event, *timer;
	struct rf_buf in;
	int *kept; /* where the connection goes when it was answered, or NULL */
	rf_query_fn *fn;
	void *data;
};

void rf_query_drop(struct rf_query *query)
{
	if (!query)
		return;
	rf_event_cancel(query->event);
	rf_event_cancel(query->timer);
	rf_fd_done(&query->fd);
	rf_buf_done(&query->in);
	free(query);
}

static void tell(struct rf_query *query, const struct rf_wire_message *answer,
		 const struct rf_err *why)
{
	if (answer && query->kept) {
		rf_event_cancel(query->event);
		query->event = NULL;
		*query->kept = rf_fd_take(&query->fd);
	}
	query->fn(query->data, answer, why);
	rf_query_drop(query);
}

static void on_late(void *data, int what)
{
	const struct rf_query *query = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	rf_fail_say(&err, -ETIMEDOUT, "the %s has not answered in time",
		    query->from == RF_WIRE_GATE ? "gateway" : "warden");
	rf_fail_hint(&err, "it may be busy: try again");
	tell(data, NULL, &err);
}

static void on_answer(void *data, int what)
{
	struct rf_query *query = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(query->fd, query->from, &query->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got == 0)
		rf_fail_say(&err, -ECONNRESET,
			    query->from == RF_WIRE_GATE
				    ? "the gateway has ended, and the network with it"
				    : "the warden has ended, and its boxes with it");
	else if (got > 0 && message.type == RF_WIRE_REFUSED)
		rf_wire_refused(&message, &err);
	tell(query, err.code ? NULL : &message, &err);
}

static struct rf_query *make(enum rf_wire_side from, rf_query_fn *fn, void *data)
{
	struct rf_query *query = calloc(1, sizeof(*query));

	if (!query)
		return NULL;
	query->fd = -1;
	query->from = from;
	query->fn = fn;
	query->data = data;
	rf_buf_init(&query->in, RF_WIRE_ROOM);
	return query;
}

static int await(struct rf_query *query, struct rf_loop *loop, struct rf_query **ret_query,
		 struct rf_err *err)
{
	if (rf_loop_watch(loop, query->fd, RF_LOOP_READ, on_answer, query, &query->event, err) <
		    0 ||
	    rf_loop_timer(loop, rf_loop_now() + ANSWER_NS, on_late, query, &query->timer, err) < 0)
		return err->code;
	*ret_query = query;
	return 0;
}

static int ask(struct rf_loop *loop, struct ringfort *fort, enum rf_wire_type type, const char *id,
	       struct rf_wire_ref ref, rf_query_fn *fn, void *data, struct rf_query **ret_query,
	       struct rf_err *err)
{
	struct rf_query *query;

	if (strlen(id) >= sizeof(ref.id))
		return rf_fail_say(err, -ENOENT, "no box %.40s is kept", id);
	memcpy(ref.id, id, strlen(id));
	query = make(RF_WIRE_WARDEN, fn, data);
	if (!query)
		return rf_fail(err, -ENOMEM, "a question");
	if (rf_fort_connect(fort, &query->fd, err) < 0 ||
	    rf_wire_send(query->fd, type, 1, &ref, sizeof(ref), NULL, 0, err) < 0 ||
	    await(query, loop, ret_query, err) < 0) {
		rf_query_drop(query);
		return err->code;
	}
	return 0;
}

int rf_query_ask_gateway(struct rf_loop *loop, int *fd, enum rf_wire_type type, const void *body,
			 size_t len, rf_query_fn *fn, void *data, struct rf_query **ret_query,
			 struct rf_err *err)
{
	struct rf_query *query = make(RF_WIRE_GATE, fn, data);

	if (!query)
		return rf_fail(err, -ENOMEM, "a question");
	query->fd = rf_fd_take(fd);
	if (rf_wire_send(query->fd, type, 1, body, len, NULL, 0, err) < 0 ||
	    await(query, loop, ret_query, err) < 0) {
		rf_query_drop(query);
		return err->code;
	}
	return 0;
}

int rf_query_ask(struct rf_loop *loop, struct ringfort *fort, enum rf_wire_type type,
		 const char *id, uint64_t time_ms, rf_query_fn *fn, void *data,
		 struct rf_query **ret_query, struct rf_err *err)
{
	return ask(loop, fort, type, id, (struct rf_wire_ref){ .time_ms = time_ms }, fn, data,
		   ret_query, err);
}

int rf_query_reach(struct rf_loop *loop, struct ringfort *fort, const char *id, uint16_t port,
		   rf_query_fn *fn, void *data, struct rf_query **ret_query, struct rf_err *err)
{
	return ask(loop, fort, RF_WIRE_REACH, id, (struct rf_wire_ref){ .number = port }, fn, data,
		   ret_query, err);
}

int rf_query_still(struct rf_loop *loop, struct ringfort *fort, const char *id, int *ret_fd,
		   rf_query_fn *fn, void *data, struct rf_query **ret_query, struct rf_err *err)
{
	const struct rf_wire_ref ref = { .number = RF_WIRE_FOR_NOW };

	if (ask(loop, fort, ret_fd ? RF_WIRE_FREEZE : RF_WIRE_THAW, id, ref, fn, data, ret_query,
		err) < 0)
		return err->code;
	(*ret_query)->kept = ret_fd;
	return 0;
}
