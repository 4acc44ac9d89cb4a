/* ringfort-herald: see herald.h. */
#include "server/herald.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/event.h"
#include "base/fd.h"
#include "server/charter.h"
#include "server/herald-mail.h"
#include "server/herald-stance.h"
#include "server/otlp.h"
#include "wire/wire.h"

#define MS          1000000ull
#define SPANS_MOST  512 /* of one message */
#define SPANS_BYTES (2u << 20)
#define FLUSH_MS    500 /* for which spans are gathered */

struct herald {
	struct rf_loop *loop;
	struct rf_http_pool *pool;
	int host;
	struct rf_event *host_event, *timer;
	struct rf_buf in;
	struct rf_herald_mail_host mail_host;
	struct rf_herald_mail *mails[RF_HERALD_TARGETS];
	size_t count;                     /* webhooks */
	struct rf_herald_mail *collector; /* or NULL */
	/* A message of spans that is being put together: */
	struct rf_buf spans;
	struct rf_json json;
	size_t span_count;
};

static const struct rf_call_limits limits = {
	.http = {
		.head = { .first_bytes = 4096, .line_bytes = 8192, .all_bytes = 32768 },
		.trailer = { .first_bytes = 1024, .line_bytes = 1024, .all_bytes = 4096 },
		.body = { .line_bytes = 256, .extension_bytes = 4096, .body_bytes = 1u << 20 },
	},
	.connect_ms = 10000,
	.answer_ms = 15000,
	.stall_ms = 15000,
	.total_ms = 30000,
	.out_bytes = 8u << 20,
};
static const struct rf_http_pool_limits pool_limits = { 16, 2, 30000 };

/* ------------------------------------------------------------- what is given up */

/* Said to who has a line to the watcher, as the event that is to be recorded. */
static void on_lost(void *data, const char *url, const char *why)
{
	const struct herald *herald = data;
	struct rf_audit_event event;
	struct rf_err ignored = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
	rf_audit_event_init(&event, RF_AUDIT_HOOK);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, url);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "failed");
	rf_audit_event_text(&event, RF_AUDIT_REASON, why);
	if (rf_audit_event_encode(&event, &out, &ignored) == 0)
		rf_wire_send(herald->host, RF_WIRE_HERALD_TELL, 0, out.data, out.len, NULL, 0,
			     &ignored);
}

/* ------------------------------------------------------------- spans */

static void flush(struct herald *herald)
{
	if (herald->span_count == 0)
		return;
	rf_otlp_end_traces(&herald->json);
	rf_herald_mail_put(herald->collector, "/v1/traces", "traces", &herald->spans);
	rf_buf_done(&herald->spans);
	herald->span_count = 0;
}

static void on_time(void *data, int what)
{
	(void)what;
	flush(data);
}

/* Where the next one goes; they are gathered for a moment. */
static struct rf_json *next_span(struct herald *herald)
{
	if (herald->span_count == SPANS_MOST)
		flush(herald);
	if (herald->span_count++ == 0) {
		rf_buf_init(&herald->spans, SPANS_BYTES);
		rf_otlp_begin_traces(&herald->json, &herald->spans);
		rf_event_again(herald->timer, rf_loop_now() + FLUSH_MS * MS);
	}
	return &herald->json;
}

static void take_span(struct herald *herald, const struct rf_wire_message *message)
{
	struct rf_herald_span span;
	struct rf_err err = RF_ERR_INIT;

	if (herald->collector &&
	    rf_herald_word_take_span(message->body, message->len, &span, &err) == 0)
		rf_otlp_put_request(next_span(herald), &span);
}

/* ------------------------------------------------------------- events */

static unsigned topic_of(enum rf_audit_kind kind)
{
	return kind == RF_AUDIT_ALARM            ? RF_CHARTER_ALARMS
	       : kind == RF_AUDIT_BREAKER_CHANGE ? RF_CHARTER_BREAKERS
	       : kind == RF_AUDIT_APPROVAL       ? RF_CHARTER_APPROVALS
						 : 0;
}

static void tell_webhooks(struct herald *herald, const struct rf_audit_event *event)
{
	unsigned topic = topic_of(event->kind);

	for (size_t i = 0; topic && i < herald->count; i++) {
		RF_AUTO_BUF struct rf_buf body;
		struct rf_json json;

		rf_buf_init(&body, 64 * 1024);
		if (!(rf_herald_mail_topics(herald->mails[i]) & topic))
			continue;
		rf_json_init(&json, &body, false);
		rf_json_open_object(&json, NULL);
		rf_audit_event_json(event, &json);
		rf_json_close_object(&json);
		rf_herald_mail_put(herald->mails[i], "", rf_audit_event_kind_name(event->kind),
				   &body);
	}
}

/* As it stands in the log, behind its number and its time. */
static void take_event(struct herald *herald, const struct rf_wire_message *message)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;
	uint64_t where[2];

	if (message->len <= sizeof(where) ||
	    rf_audit_event_decode(message->body + sizeof(where), message->len - sizeof(where),
				  &event, &err) < 0)
		return;
	memcpy(where, message->body, sizeof(where));
	event.seq = where[0];
	event.time_ns = where[1];
	tell_webhooks(herald, &event);
	if (herald->collector && event.kind == RF_AUDIT_RUN_ENDED &&
	    rf_audit_event_has(&event, RF_AUDIT_TRACE))
		rf_otlp_put_run(next_span(herald), &event);
}

static void take_figures(struct herald *herald, const struct rf_wire_message *message)
{
	RF_AUTO_BUF struct rf_buf body;
	struct timespec now = { 0 };

	rf_buf_init(&body, 4u << 20);
	if (!herald->collector)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	rf_otlp_put_figures(message->body, message->len,
			    (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, &body);
	rf_herald_mail_put(herald->collector, "/v1/metrics", "metrics", &body);
}

/* ------------------------------------------------------------- who started it */

static int take_rules(struct herald *herald, const struct rf_wire_message *message,
		      struct rf_err *err)
{
	struct rf_herald_rules rules;

	if (rf_herald_word_take_rules(message->body, message->len, &rules, err) < 0)
		return err->code;
	for (size_t i = 0; i < rules.count && !herald->mails[i]; i++)
		if (rf_herald_mail_new(&herald->mail_host, &rules.targets[i], &herald->mails[i],
				       err) < 0)
			return err->code;
	herald->count = rules.count - rules.has_collector;
	herald->collector = rules.has_collector ? herald->mails[rules.count - 1] : NULL;
	return rf_herald_stance_take(err);
}

static void on_host(void *data, int what)
{
	struct herald *herald = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(herald->host, RF_WIRE_HOST, &herald->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0 ||
	    (message.type == RF_WIRE_HERALD_BEGIN && take_rules(herald, &message, &err) < 0))
		rf_loop_stop(herald->loop);
	else if (message.type == RF_WIRE_HERALD_TELL)
		take_event(herald, &message);
	else if (message.type == RF_WIRE_HERALD_FIGURES)
		take_figures(herald, &message);
	else if (message.type == RF_WIRE_HERALD_SPAN)
		take_span(herald, &message);
}

int rf_herald_serve(int host, struct rf_err *err)
{
	struct herald herald = { .host = host };
	int code;

	rf_buf_init(&herald.in, RF_WIRE_ROOM);
	code = rf_loop_new(&herald.loop, err);
	if (code == 0)
		code = rf_http_pool_new(herald.loop, &limits, &pool_limits, &herald.pool, err);
	herald.mail_host =
		(struct rf_herald_mail_host){ herald.loop, herald.pool, on_lost, &herald };
	if (code == 0)
		code = rf_loop_timer(herald.loop, UINT64_MAX, on_time, &herald, &herald.timer, err);
	if (code == 0)
		code = rf_loop_watch(herald.loop, host, RF_LOOP_READ, on_host, &herald,
				     &herald.host_event, err);
	if (code == 0)
		code = rf_loop_run(herald.loop, err);
	return code; /* and the process ends, with all that it has */
}
