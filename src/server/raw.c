/* What a program writes as the body of an answer: see raw.h. */
#include "server/raw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "result/result.h"
#include "server/front.h"
#include "server/outflow.h"

#define SAID_MOST 1500 /* bytes of standard error that are kept: a trailer is no place for more */

struct raw {
	struct rf_outflow flow;
	char said[SAID_MOST];
	size_t said_len;
	bool has_begun, has_ended;
	bool is_cut; /* its connection: nothing more is sent, and the call ends by itself */
};

static void on_gone(struct rf_api_call *call)
{
	struct raw *raw = call->extra;

	rf_outflow_done(&raw->flow);
}

bool rf_raw_begin(struct rf_api_call *call)
{
	call->extra = calloc(1, sizeof(struct raw));
	if (!call->extra) {
		rf_exchange_abort(call->x);
		return false;
	}
	call->on_gone = on_gone;
	return true;
}

/* ------------------------------------------------------------- its end */

static size_t put_result(const struct rf_result *result, const struct raw *raw,
			 struct rf_field *fields, char code[16], struct rf_buf *said)
{
	size_t n = 0;

	fields[n++] = (struct rf_field){ RF_SPAN("X-Ringfort-Status"),
					 rf_span_of(rf_result_status(result->status)) };
	if (result->signal || result->exit_code >= 0) {
		snprintf(code, 16, "%d", result->signal ? result->signal : result->exit_code);
		fields[n++] = (struct rf_field){ result->signal ? RF_SPAN("X-Ringfort-Signal")
								: RF_SPAN("X-Ringfort-Exit-Code"),
						 rf_span_of(code) };
	}
	if (result->is_truncated[0])
		fields[n++] = (struct rf_field){ RF_SPAN("X-Ringfort-Truncated"), RF_SPAN("true") };
	rf_base64_encode(raw->said, raw->said_len, said);
	if (said->len && !said->has_failed)
		fields[n++] = (struct rf_field){ RF_SPAN("X-Ringfort-Stderr"),
						 (struct rf_span){ said->data, said->len } };
	return n;
}

/* All is sent, and it is known what it came to. */
static void finish(struct rf_api_call *call)
{
	struct rf_field fields[4];
	char code[16];
	RF_AUTO_BUF struct rf_buf said;
	size_t n;

	rf_buf_init(&said, 4096);
	n = put_result(rf_job_result(call->job), call->extra, fields, code, &said);
	rf_exchange_finish(call->x, (struct rf_fields){ fields, n });
	rf_job_free(call->job);
	call->job = NULL;
	rf_api_call_leave_place(call);
}

static void on_flown(struct rf_api_call *call)
{
	const struct raw *raw = call->extra;

	if (raw->has_ended && call->job)
		finish(call);
}

static void on_room(struct rf_api_call *call)
{
	struct raw *raw = call->extra;

	if (!raw->is_cut)
		rf_outflow_go_on(&raw->flow);
}

/* ------------------------------------------------------------- what is heard of it */

static void on_started(void *data)
{
	static const struct rf_field fields[] = {
		{ RF_SPAN_INIT("Trailer"),
		  RF_SPAN_INIT("X-Ringfort-Status, X-Ringfort-Exit-Code, X-Ringfort-Signal, "
			       "X-Ringfort-Truncated, X-Ringfort-Stderr") },
	};
	struct rf_api_call *call = data;
	struct raw *raw = call->extra;
	struct rf_err err = RF_ERR_INIT;
	int fd;

	if (raw->has_begun)
		return;
	raw->has_begun = true;
	call->on_room = on_room;
	rf_api_call_begin_bytes(call, 200, "application/octet-stream", UINT64_MAX,
				(struct rf_fields){ fields, 1 });
	fd = rf_job_take_end(call->job, 1);
	if (rf_outflow_init(&raw->flow, call, &fd, UINT64_MAX, on_flown, &err) < 0) {
		raw->is_cut = true;
		rf_exchange_abort(call->x);
		return;
	}
	raw->flow.is_counted = true;
}

/* The end of it is what tells why a program failed. */
static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_api_call *call = data;
	struct raw *raw = call->extra;
	size_t keep = len < SAID_MOST ? SAID_MOST - len : 0;

	if (stream != 2)
		return;
	if (len > SAID_MOST) {
		bytes += len - SAID_MOST;
		len = SAID_MOST;
	}
	if (raw->said_len > keep) {
		memmove(raw->said, raw->said + raw->said_len - keep, keep);
		raw->said_len = keep;
	}
	memcpy(raw->said + raw->said_len, bytes, len);
	raw->said_len += len;
}

static void on_end(void *data)
{
	struct rf_api_call *call = data;
	const struct rf_result *result = rf_job_result(call->job);
	struct raw *raw = call->extra;

	call->front->figures.run_ns += rf_loop_now() - call->since_ns;
	call->front->figures.runs_ended++;
	if (rf_job_is_refused(call->job)) {
		rf_api_call_fail_with(call, &result->error,
				      result->error.code == -ENOENT ? "id" : NULL);
		rf_job_free(call->job);
		call->job = NULL;
		rf_api_call_leave_place(call);
		return;
	}
	on_started(call);
	if (raw->is_cut)
		return;
	raw->has_ended = true;
	if (raw->flow.is_over)
		finish(call);
	else
		rf_outflow_end(&raw->flow);
}

const struct rf_job_ops rf_raw_ops = {
	.on_output = on_output,
	.on_started = on_started,
	.on_end = on_end,
};
