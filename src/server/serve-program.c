/* Programs in the background of a sandbox: what they are, what they write, and what is sent to them. */
#include <errno.h>
#include <stdlib.h>

#include "server/background.h"
#include "server/handlers.h"

#define WAIT_MOST 30000 /* milliseconds */
#define ANSWER    (4u << 20)

void rf_serve_program_get(struct rf_api_call *call)
{
	const struct rf_background *program = rf_background_find(call);
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 32u << 20);
	if (!program)
		return;
	rf_background_describe(program, &out);
	rf_api_call_answer(call, 200, &out);
}

/* ------------------------------------------------------------- what it writes */

static int read_number(const struct rf_api_call *call, const char *name, unsigned long long most,
		       unsigned long long *ret_number, struct rf_api_error *error)
{
	char text[32];
	int got = rf_api_call_parameter(call, name, text, sizeof(text), error);

	*ret_number = 0;
	if (got <= 0)
		return got;
	if (rf_span_number(rf_span_of(text), most, ret_number) == 0)
		return 0;
	return rf_api_error_say(error, RF_API_INVALID, name, "%s: it is no number from 0 to %llu",
				name, most);
}

/* What there is, or nothing when the time is over. */
static void answer_log(struct rf_api_call *call)
{
	const struct rf_background *program = rf_background_find(call);
	unsigned long long cursor;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, ANSWER);
	if (!program || read_number(call, "cursor", INT64_MAX, &cursor, &error) < 0)
		return; /* it was read before */
	rf_event_cancel(call->timer);
	call->timer = NULL;
	rf_background_read(program, cursor, &out);
	rf_api_call_answer(call, 200, &out);
}

static void on_late(void *data, int what)
{
	struct rf_api_call *call = data;

	(void)what;
	if (call->on_gone)
		call->on_gone(call);
	call->on_gone = NULL;
	answer_log(call);
}

void rf_serve_program_log(struct rf_api_call *call)
{
	struct rf_background *program = rf_background_find(call);
	unsigned long long cursor, wait_ms;
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, ANSWER);
	if (!program)
		return;
	if (read_number(call, "cursor", INT64_MAX, &cursor, &error) < 0 ||
	    read_number(call, "wait_ms", WAIT_MOST, &wait_ms, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (rf_background_read(program, cursor, &out) || wait_ms == 0) {
		rf_api_call_answer(call, 200, &out);
		return;
	}
	if (rf_loop_timer(call->front->loop, rf_loop_now() + wait_ms * 1000000u, on_late, call,
			  &call->timer, &err) < 0)
		rf_api_call_fail_with(call, &err, NULL);
	else
		rf_background_await(program, call, answer_log);
}

/* ------------------------------------------------------------- what is sent to it */

static bool read_order(struct rf_api_call *call, enum rf_order_kind kind)
{
	struct rf_api_error error;

	if (rf_order_read(kind, call->body.data ? call->body.data : "", call->body.len, true,
			  &call->front->tools, &call->order, &error) == 0)
		return true;
	rf_api_call_fail(call, &error);
	return false;
}

static void answer(struct rf_api_call *call, const struct rf_err *err)
{
	struct rf_buf none = { 0 };

	if (err->code)
		rf_api_call_fail_with(call, err, NULL);
	else
		rf_api_call_answer(call, 204, &none);
}

void rf_serve_program_stdin(struct rf_api_call *call)
{
	struct rf_background *program = rf_background_find(call);
	struct rf_err err = RF_ERR_INIT;

	if (!program || !read_order(call, RF_ORDER_WRITE))
		return;
	rf_background_write(program, call->order.input, call->order.input_len, call->order.is_last,
			    &err);
	answer(call, &err);
}

void rf_serve_program_signal(struct rf_api_call *call)
{
	struct rf_background *program = rf_background_find(call);
	struct rf_err err = RF_ERR_INIT;

	if (!program || !read_order(call, RF_ORDER_SIGNAL))
		return;
	rf_background_signal(program, call->order.signal, &err);
	answer(call, &err);
}
