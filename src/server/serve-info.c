/* What is answered of the server itself. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "server/ask-clerk.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/openapi.h"

static void answer_text(struct rf_api_call *call, unsigned status, const char *text)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	rf_buf_puts(&out, text);
	rf_api_call_answer(call, status, &out);
}

/* The process answers. */
void rf_serve_health(struct rf_api_call *call)
{
	answer_text(call, 200, "{\"status\":\"ok\"}\n");
}

/* More can be begun: not while it ends. */
void rf_serve_ready(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (!call->front->is_draining) {
		answer_text(call, 200, "{\"status\":\"ready\"}\n");
		return;
	}
	rf_api_error_say(&error, RF_API_UNAVAILABLE, NULL, "the server ends");
	rf_api_error_hint(&error, "ask another");
	rf_api_call_fail(call, &error);
}

void rf_serve_version(struct rf_api_call *call)
{
	answer_text(call, 200, "{\"version\":\"" RF_VERSION "\",\"api\":\"v1\"}\n");
}

void rf_serve_openapi(struct rf_api_call *call)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_buf_add(&out, rf_openapi_text, rf_openapi_len);
	rf_api_call_answer(call, 200, &out);
}

/* ------------------------------------------------------------- figures */

static void put(struct rf_buf *out, const char *name, const char *type, const char *help,
		uint64_t value)
{
	rf_buf_printf(out,
		      "# HELP ringfort_server_%s %s\n# TYPE ringfort_server_%s "
		      "%s\nringfort_server_%s %llu\n",
		      name, help, name, type, name, (unsigned long long)value);
}

void rf_serve_put_figures(const struct rf_front *front, struct rf_buf *to)
{
	const struct rf_front_figures *f = &front->figures;
	struct rf_buf out = *to;

	rf_buf_puts(&out, "# HELP ringfort_server_requests_total Requests that were answered.\n"
			  "# TYPE ringfort_server_requests_total counter\n");
	for (int i = 2; i < RF_FRONT_STATUSES; i++)
		rf_buf_printf(&out, "ringfort_server_requests_total{status=\"%dxx\"} %llu\n", i,
			      (unsigned long long)f->requests[i]);
	put(&out, "runs_total", "counter", "Runs that were begun.", f->runs);
	put(&out, "programs_total", "counter", "Programs that were begun in sandboxes.",
	    f->programs);
	put(&out, "sandboxes_total", "counter", "Sandboxes that were made.", f->sandboxes);
	put(&out, "refused_total", "counter", "Requests that were refused for want of room.",
	    f->refused);
	put(&out, "under_way", "gauge", "Runs and programs that are under way.", f->under_way);
	put(&out, "waiting", "gauge", "Requests that wait for a place.", f->waiting);
	put(&out, "connections", "gauge", "Connections that are open.",
	    rf_http_server_connections(front->ports) + rf_http_server_connections(front->local));
	rf_buf_printf(&out,
		      "# HELP ringfort_server_run_seconds Time from request to answer of runs.\n"
		      "# TYPE ringfort_server_run_seconds summary\n"
		      "ringfort_server_run_seconds_sum %llu.%09llu\n"
		      "ringfort_server_run_seconds_count %llu\n",
		      (unsigned long long)(f->run_ns / 1000000000u),
		      (unsigned long long)(f->run_ns % 1000000000u),
		      (unsigned long long)f->runs_ended);
	*to = out;
}

/* Ours, and the watcher's behind them; without a watcher, that is a figure, too. */
static void on_figures(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	RF_AUTO_BUF struct rf_buf out;

	(void)why;
	call->petition = NULL;
	rf_buf_init(&out, 2u << 20);
	rf_serve_put_figures(call->front, &out);
	put(&out, "watched", "gauge", "Whether a watcher stands, and tells its figures.",
	    answer != NULL);
	if (answer)
		rf_buf_add(&out, answer->body, answer->len);
	rf_api_call_answer_bytes(call, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

void rf_serve_metrics(struct rf_api_call *call)
{
	rf_ask_clerk(call, RF_CLERK_FIGURES, NULL, on_figures);
}
