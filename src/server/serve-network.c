/* The network of a sandbox: the policy that holds, its change, what happened, and what that came to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "policy/beyond-ceiling.h"
#include "policy/key.h"
#include "policy/net-change.h"
#include "server/form.h"
#include "server/front.h"
#include "server/handlers.h"
#include "wire/page.h"

#define TEXT_MOST (4u << 20)

/* What is asked of the gateway once there is a hand on the box; freed with free(). */
struct errand {
	enum rf_wire_type type;
	rf_query_fn *fn;
	const char *body; /* or NULL: */
	struct rf_page_wish wish;
};

static void fail(struct rf_api_call *call, const struct rf_err *why)
{
	struct rf_err own = *why;

	if (own.code == -EOPNOTSUPP) /* it is this sandbox's network that can't be that */
		own.code = -EINVAL;
	rf_api_call_fail_with(call, &own, own.code == -ENOENT ? "id" : NULL);
}

/* ------------------------------------------------------------- a hand on it */

static void on_lent(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	const struct errand *errand = call->extra;
	const char *body = errand->body ? errand->body : (const char *)&errand->wish;
	size_t len = errand->body                       ? strlen(errand->body)
		     : errand->type == RF_WIRE_GATE_LOG ? sizeof(errand->wish)
							: 0;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int hand = -1;

	call->asked = NULL;
	if (!answer || answer->type != RF_WIRE_LENT) {
		fail(call, why);
		return;
	}
	hand = fcntl(answer->fds[0], F_DUPFD_CLOEXEC, 3); /* the answer's own goes with it */
	if (hand < 0) {
		rf_fail(&err, -errno, "a hand on the network");
		fail(call, &err);
	} else if (rf_query_ask_gateway(call->front->loop, &hand, errand->type, body, len,
					errand->fn, call, &call->asked, &err) < 0) {
		fail(call, &err);
	}
}

static void begin(struct rf_api_call *call, const struct errand *what)
{
	struct errand *errand = malloc(sizeof(*errand));
	struct rf_err err = RF_ERR_INIT;

	if (!errand) {
		rf_exchange_abort(call->x);
		return;
	}
	*errand = *what;
	call->extra = errand;
	if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_HAND, call->parts.part[0],
			 0, on_lent, call, &call->asked, &err) < 0)
		fail(call, &err);
}

/* ------------------------------------------------------------- the policy */

/* What was asked for, and is not in what holds now: so much lay beyond the ceiling of the key, or the policy of the agent. */
static int put_beyond(const struct rf_policy *asked, const struct rf_policy *holds,
		      struct rf_json *json, struct rf_err *err)
{
	struct rf_beyond_ceiling *beyond = NULL;
	const struct rf_beyond_ceiling_item *item;

	if (rf_beyond_ceiling_new(holds, asked, &beyond, err) < 0)
		return err->code;
	rf_json_open_array(json, "beyond_ceiling");
	for (size_t i = 0; (item = rf_beyond_ceiling_item(beyond, i)); i++) {
		RF_AUTO_BUF struct rf_buf words;

		rf_buf_init(&words, TEXT_MOST);
		rf_buf_printf(&words, "%s: %s", item->key, item->asked);
		rf_json_string(json, NULL, words.data);
	}
	rf_json_close_array(json);
	rf_beyond_ceiling_free(beyond);
	return 0;
}

/* The keys that can change, so that what is answered can be asked for. */
static int put_network(const struct rf_policy *policy, struct rf_json *json, struct rf_err *err)
{
	struct rf_policy *part = NULL;
	struct rf_jsonread *read = NULL;
	const struct rf_jsonread_value *network = NULL;
	struct rf_json whole;
	RF_AUTO_BUF struct rf_buf text, out;

	rf_buf_init(&text, TEXT_MOST);
	rf_buf_init(&out, TEXT_MOST);
	rf_buf_puts(&text, "");
	rf_net_change_format(policy, &text);
	if (text.has_failed)
		return rf_fail(err, -ENOMEM, "a policy");
	if (rf_policy_parse(text.data, text.len, "/", "/", &part, err) < 0)
		return err->code;
	part->set |= RF_KEY_BIT(RF_KEY_NET_ALLOW); /* also where there is none */
	rf_json_init(&whole, &out, false);
	rf_policy_json(part, NULL, &whole);
	rf_policy_free(part);
	if (out.has_failed || rf_jsonread_parse(out.data, out.len, &read, err) < 0)
		return rf_fail(err, -ENOMEM, "a policy");
	network = rf_jsonread_member(rf_jsonread_root(read), "network");
	if (network)
		rf_form_copy(network, "network", json);
	rf_jsonread_free(read);
	return 0;
}

static int put_policy(const struct rf_policy *policy, const struct rf_policy *asked,
		      struct rf_buf *out, struct rf_err *err)
{
	const struct rf_list *grants = &policy->values[RF_KEY_GRANTS].list;
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	if (put_network(policy, &json, err) < 0)
		return err->code;
	rf_json_open_array(&json, "credentials");
	for (size_t i = 0; i < grants->count; i++)
		rf_json_string(&json, NULL, grants->items[i].name);
	rf_json_close_array(&json);
	if (asked && put_beyond(asked, policy, &json, err) < 0)
		return err->code;
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
	return 0;
}

static void answer_policy(struct rf_api_call *call, const struct rf_wire_message *answer,
			  const struct rf_err *why)
{
	struct rf_policy *policy = NULL, *asked = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, TEXT_MOST);
	call->asked = NULL;
	if (!answer) {
		fail(call, why);
		return;
	}
	if (rf_policy_parse(answer->body, answer->len, "/", "/", &policy, &err) < 0 ||
	    (call->order.policy && rf_policy_parse(call->order.policy, strlen(call->order.policy),
						   "/", "/", &asked, &err) < 0) ||
	    put_policy(policy, asked, &out, &err) < 0) {
		fail(call, &err);
	} else {
		rf_api_call_answer(call, 200, &out);
	}
	rf_policy_free(policy);
	rf_policy_free(asked);
}

static void on_policy(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	answer_policy(data, answer, why);
}

/* A change that names more than the ceiling is told with its field. */
static void on_change(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_api_error error;
	char field[64] = "";

	if (answer || why->code != -EPERM) {
		answer_policy(call, answer, why);
		return;
	}
	call->asked = NULL;
	if (sscanf(why->msg, "%63[a-z._]:", field) != 1)
		snprintf(field, sizeof(field), "network");
	rf_api_error_of(&error, why, field);
	rf_api_error_hint(&error, "leave it out, or ask for no more than that; with `\"beyond\": "
				  "\"drop\"` it is narrowed and listed");
	rf_api_call_fail(call, &error);
}

void rf_serve_network_get(struct rf_api_call *call)
{
	const struct errand errand = { .type = RF_WIRE_GATE_SHOW, .fn = on_policy };

	begin(call, &errand);
}

/* What is no policy is found here, before anybody else reads it. */
static int check_policy(const char *text, struct rf_api_error *error)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	if (rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0) {
		rf_policy_free(policy);
		return 0;
	}
	err.code = -EINVAL;
	return rf_api_error_of(error, &err, "network");
}

void rf_serve_network_put(struct rf_api_call *call)
{
	struct errand errand = { .type = RF_WIRE_GATE_CHANGE_WHOLE, .fn = on_change };
	struct rf_api_error error;

	if (rf_order_read(RF_ORDER_NETWORK, call->body.len ? call->body.data : "{}",
			  call->body.len ? call->body.len : 2, false, &call->front->tools,
			  &call->order, &error) < 0 ||
	    check_policy(call->order.policy, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	errand.body = call->order.policy;
	if (call->order.drops_beyond)
		errand.type = RF_WIRE_GATE_CHANGE;
	begin(call, &errand);
}

/* ------------------------------------------------------------- what happened */

static void put_time(struct rf_json *json, uint64_t time_ms)
{
	time_t at = (time_t)(time_ms / 1000);
	char text[40], day[32];
	struct tm tm;

	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &tm));
	snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(time_ms % 1000));
	rf_json_string(json, "time", text);
}

static void put_words(struct rf_json *json, const char *name, const char *words)
{
	rf_json_string(json, name, words && words[0] ? words : NULL);
}

static void put_event(struct rf_json *json, const struct rf_gate_event *event)
{
	rf_json_open_object(json, NULL);
	put_time(json, event->time_ms);
	rf_json_string(json, "kind", rf_gate_kind_name(event->kind));
	rf_json_string(json, "verdict", rf_gate_verdict_name(event->verdict));
	put_words(json, "host", event->host);
	rf_json_int(json, "port", event->port);
	put_words(json, "address", event->address);
	put_words(json, "method", event->method);
	put_words(json, "path", event->path);
	if (event->status)
		rf_json_int(json, "status", event->status);
	else
		rf_json_null(json, "status");
	rf_json_int(json, "bytes_up", (int64_t)event->up_bytes);
	rf_json_int(json, "bytes_down", (int64_t)event->down_bytes);
	rf_json_int(json, "duration_us", (int64_t)event->duration_us);
	put_words(json, "credential", event->credential);
	put_words(json, "rule", event->rule);
	put_words(json, "reason", event->reason);
	put_words(json, "remedy", event->remedy);
	rf_json_close_object(json);
}

static void put_log(const struct rf_page *page, struct rf_buf *out)
{
	struct rf_gate_event event;
	struct rf_err err = RF_ERR_INIT;
	struct rf_json json;
	size_t at = 0;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "events");
	while (rf_page_event(page, &at, &event, &err) > 0)
		put_event(&json, &event);
	rf_json_close_array(&json);
	rf_json_int(&json, "cursor", (int64_t)page->next);
	rf_json_int(&json, "lost", (int64_t)page->missed);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static void put_sums(const struct rf_page *page, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "connections", (int64_t)page->counts.connections);
	rf_json_int(&json, "requests", (int64_t)page->counts.requests);
	rf_json_int(&json, "names", (int64_t)page->counts.names);
	rf_json_int(&json, "denied", (int64_t)page->counts.denied);
	rf_json_int(&json, "bytes_up", (int64_t)page->counts.up_bytes);
	rf_json_int(&json, "bytes_down", (int64_t)page->counts.down_bytes);
	rf_json_open_array(&json, "hosts");
	for (size_t i = 0; i < page->host_count; i++) {
		const struct rf_page_host *host = &page->hosts[i];

		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "host", host->host);
		rf_json_int(&json, "connections", (int64_t)host->connections);
		rf_json_int(&json, "requests", (int64_t)host->requests);
		rf_json_int(&json, "denied", (int64_t)host->denied);
		rf_json_int(&json, "bytes_up", (int64_t)host->up_bytes);
		rf_json_int(&json, "bytes_down", (int64_t)host->down_bytes);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_json_int(&json, "unlisted", (int64_t)page->unlisted);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static void answer_page(struct rf_api_call *call, const struct rf_wire_message *answer,
			const struct rf_err *why, bool is_summary)
{
	struct rf_page *page = malloc(sizeof(*page));
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, TEXT_MOST);
	call->asked = NULL;
	if (!answer || !page) {
		fail(call, why);
	} else if (answer->type != RF_WIRE_GATE_LOGGED ||
		   rf_page_read(answer->body, answer->len, page, &err) < 0) {
		fail(call, &err);
	} else {
		if (is_summary)
			put_sums(page, &out);
		else
			put_log(page, &out);
		rf_api_call_answer(call, 200, &out);
	}
	free(page);
}

static void on_log(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	answer_page(data, answer, why, false);
}

static void on_summary(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	answer_page(data, answer, why, true);
}

void rf_serve_network_log(struct rf_api_call *call)
{
	struct errand errand = { .type = RF_WIRE_GATE_LOG, .fn = on_log };
	unsigned long long cursor = 0;
	struct rf_api_error error;
	char text[32];
	int got = rf_api_call_parameter(call, "cursor", text, sizeof(text), &error);

	if (got > 0 && rf_span_number(rf_span_of(text), INT64_MAX, &cursor) < 0)
		got = rf_api_error_say(&error, RF_API_INVALID, "cursor",
				       "cursor: it is no number that an answer gave");
	if (got < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	errand.wish.cursor = cursor;
	begin(call, &errand);
}

void rf_serve_network_summary(struct rf_api_call *call)
{
	const struct errand errand = { .type = RF_WIRE_GATE_LOG,
				       .fn = on_summary,
				       .wish.is_summary = 1 };

	begin(call, &errand);
}
