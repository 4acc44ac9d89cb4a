/* What a sandbox uses: now, or again and again as events, of which a client makes its own series. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "lib/fort.h"
#include "server/front.h"
#include "server/handlers.h"
#include "wire/exec.h"

#define INTERVAL_USUAL 1000 /* milliseconds */
#define INTERVAL_LEAST 100
#define INTERVAL_MOST  60000
#define MS             1000000ull

static void look(void *data, int what);

static void put_figure(struct rf_json *json, const char *name, uint64_t figure)
{
	if (figure == UINT64_MAX)
		rf_json_null(json, name);
	else
		rf_json_int(json, name, (int64_t)figure);
}

static void put_metrics(const struct rf_exec_box *box, struct rf_buf *out)
{
	struct rf_json json;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "id", box->id);
	rf_json_int(&json, "at_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	put_figure(&json, "uptime_ms", box->age_ms);
	put_figure(&json, "expires_in_ms", box->left_ms);
	put_figure(&json, "cpu_ms", box->cpu_ns == UINT64_MAX ? UINT64_MAX : box->cpu_ns / MS);
	put_figure(&json, "memory", box->memory_bytes);
	put_figure(&json, "memory_peak", box->memory_peak);
	put_figure(&json, "pids", box->pids);
	put_figure(&json, "disk", box->disk_bytes);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* The next is looked for when its time has come; a client that does not read misses some. */
static void tell(struct rf_api_call *call, const struct rf_buf *text)
{
	const uint64_t *interval_ms = call->extra;

	if (!call->is_stream)
		rf_api_call_begin_events(call);
	if (!rf_api_call_is_full(call))
		rf_api_call_event(call, "metrics", text);
	rf_event_again(call->timer, rf_loop_now() + *interval_ms * MS);
}

static void on_answer(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_err err = RF_ERR_INIT;
	struct rf_api_error error;
	size_t at = 0;
	RF_AUTO_BUF struct rf_buf out;

	call->asked = NULL;
	rf_buf_init(&out, 4096);
	if (!answer && why->code != -ENOENT) {
		rf_api_call_fail_with(call, why, NULL);
	} else if (!box || !answer || answer->type != RF_WIRE_BOXES ||
		   rf_exec_box_next(answer, &at, box, &err) <= 0) {
		rf_api_error_say(&error, RF_API_NOT_FOUND, "id", "there is no sandbox `%.24s`",
				 call->parts.part[0]);
		rf_api_error_hint(&error, "its time may be over; GET /v1/sandboxes lists them");
		rf_api_call_fail(call, &error);
	} else {
		put_metrics(box, &out);
		if (call->wants_stream && !call->is_head)
			tell(call, &out);
		else
			rf_api_call_answer(call, 200, &out);
	}
	free(box);
}

static void look(void *data, int what)
{
	struct rf_api_call *call = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_LIST, call->parts.part[0],
			 0, on_answer, call, &call->asked, &err) < 0)
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
}

static int read_interval(const struct rf_api_call *call, uint64_t *ret_ms,
			 struct rf_api_error *error)
{
	char text[32];
	unsigned long long number = INTERVAL_USUAL;
	int got = rf_api_call_parameter(call, "interval_ms", text, sizeof(text), error);

	if (got < 0)
		return -1;
	if (got > 0 && (rf_span_number(rf_span_of(text), INTERVAL_MOST, &number) < 0 ||
			number < INTERVAL_LEAST)) {
		rf_api_error_say(error, RF_API_INVALID, "interval_ms",
				 "interval_ms: it is no number from %d to %d", INTERVAL_LEAST,
				 INTERVAL_MOST);
		return rf_api_error_hint(error, "leave it out for %d", INTERVAL_USUAL);
	}
	*ret_ms = number;
	return 0;
}

void rf_serve_box_metrics(struct rf_api_call *call)
{
	uint64_t *interval_ms = calloc(1, sizeof(*interval_ms));
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;

	call->extra = interval_ms;
	if (!interval_ms) {
		rf_exchange_abort(call->x);
	} else if (read_interval(call, interval_ms, &error) < 0) {
		rf_api_call_fail(call, &error);
	} else if (call->wants_stream && rf_loop_timer(call->front->loop, UINT64_MAX / 2, look,
						       call, &call->timer, &err) < 0) {
		rf_api_call_fail_with(call, &err, NULL);
	} else {
		look(call, 0);
	}
}
