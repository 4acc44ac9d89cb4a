/* What is done once, however often it is asked for: see once.h. */
#include "server/once.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "server/api-call-inside.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/wicket.h"

int rf_once_read(struct rf_api_call *call, const struct rf_http1_head *head,
		 struct rf_api_error *error)
{
	struct rf_span name = rf_api_call_value(head, RF_SPAN("Idempotency-Key"));

	if (!name.at ||
	    (call->route->serve != rf_serve_run && call->route->serve != rf_serve_box_create))
		return 0;
	for (size_t i = 0; i < name.len; i++)
		if (name.at[i] <= ' ' || name.at[i] > '~')
			name.len = 0;
	if (name.len == 0 || name.len >= sizeof(call->once)) {
		rf_api_error_say(error, RF_API_MALFORMED, "Idempotency-Key",
				 "Idempotency-Key: it has no 1 to %zu visible characters",
				 sizeof(call->once) - 1);
		return rf_api_error_hint(error, "a random UUID is a good one");
	}
	if (call->wants_stream || call->wants_raw) {
		rf_api_error_say(error, RF_API_INVALID, "Idempotency-Key",
				 "Idempotency-Key: a stream can't be given again");
		return rf_api_error_hint(error, "ask for JSON: leave `Accept` out");
	}
	memcpy(call->once, name.at, name.len);
	return 0;
}

/* What was asked for: the route and the body, byte for byte. */
static void hash_request(const struct rf_api_call *call, char hex[2 * RF_SHA256_BYTES + 1])
{
	uint8_t hash[RF_SHA256_BYTES];
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, call->route->path, strlen(call->route->path) + 1);
	rf_sha256_add(&sha, call->body.data, call->body.len);
	rf_sha256_end(&sha, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

/* Nothing was begun (0), or nobody knows what became of it (1). */
static void give_up(struct rf_api_call *call, uint32_t status)
{
	struct rf_pass_question question = { .asked = RF_PASS_STORE,
					     .name = call->once,
					     .status = status };

	call->once_state = RF_ONCE_NONE;
	rf_wicket_say(call, &question);
}

/* Whoever answers may have more to do with the call. */
static void on_free(void *data, int what)
{
	(void)what;
	rf_api_call_free(data);
}

/* It is over, without an answer to keep.  True if there is nobody to be answered either. */
static bool end(struct rf_api_call *call, uint32_t status)
{
	struct rf_err err = RF_ERR_INIT;

	give_up(call, status);
	if (call->x)
		return false;
	call->once_state = RF_ONCE_OVER;
	rf_loop_timer(call->front->loop, rf_loop_now(), on_free, call, &call->free_timer, &err);
	return true;
}

static const struct {
	enum rf_api_code code;
	const char *message, *hint;
	unsigned retry_s; /* 0: it will be the same */
} refusals[RF_PASS_VERDICTS] = {
	[RF_PASS_BUSY] = { RF_API_UNDER_WAY, "a request with this Idempotency-Key is under way",
			   "ask again when it has been answered", 1 },
	[RF_PASS_OTHER] = { RF_API_CONFLICT, "this Idempotency-Key was used for another request",
			    "take a new key for each request" },
	[RF_PASS_UNSURE] = { RF_API_CONFLICT,
			     "this request was begun and cut off: nobody knows what became of it",
			     "look what there is, and take a new key to have it done again" },
	[RF_PASS_LONG] = { RF_API_CONFLICT,
			   "this request was answered, with more than is kept of an answer",
			   "limit its output, or leave the key out" },
	[RF_PASS_FULL] = { RF_API_TOO_MANY, "this tenant has used too many Idempotency-Keys today",
			   "leave the key out, or try again tomorrow", 3600 },
	[RF_PASS_FAILED] = { RF_API_UNAVAILABLE, "the server can't keep answers at the moment",
			     "leave the Idempotency-Key out, or try again later", 5 },
};

static void refuse(struct rf_api_call *call, enum rf_pass_verdict verdict)
{
	struct rf_api_error error;

	rf_api_error_say(&error, refusals[verdict].code, "Idempotency-Key", "%s",
			 refusals[verdict].message);
	rf_api_error_hint(&error, "%s", refusals[verdict].hint);
	error.retry_s = refusals[verdict].retry_s;
	rf_api_call_fail(call, &error);
}

static const struct rf_field replayed = { RF_SPAN_INIT("Idempotency-Replayed"),
					  RF_SPAN_INIT("true") };

static void on_verdict(struct rf_api_call *call, const struct rf_pass_told *told)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_PASS_TEXT + 1);
	call->once_state = told->verdict == RF_PASS_GO ? RF_ONCE_UNDER_WAY : RF_ONCE_NONE;
	if (!call->x) { /* who asked went before it was begun */
		if (call->once_state == RF_ONCE_UNDER_WAY)
			give_up(call, 0);
		rf_api_call_free(call);
	} else if (told->verdict == RF_PASS_GO) {
		call->go_once(call);
	} else if (told->verdict == RF_PASS_AGAIN) {
		rf_buf_puts(&text, told->text);
		call->more = replayed;
		rf_api_call_answer(call, told->status, &text);
	} else if (told->verdict == RF_PASS_MADE) {
		call->more = replayed;
		rf_serve_box_show(call, told->text);
	} else {
		refuse(call, told->verdict);
	}
}

void rf_once_begin(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	char hex[2 * RF_SHA256_BYTES + 1];
	struct rf_pass_question question = { .asked = RF_PASS_ONCE,
					     .name = call->once,
					     .hash = hex };

	if (!call->once[0]) {
		go(call);
		return;
	}
	hash_request(call, hex);
	call->go_once = go;
	call->once_state = RF_ONCE_ASKED;
	if (rf_wicket_ask(call, &question, on_verdict))
		return;
	call->once_state = RF_ONCE_NONE;
	refuse(call, RF_PASS_FAILED);
}

/* The client may be told now; or, if it is gone, nobody. */
static void on_stored(struct rf_api_call *call, const struct rf_pass_told *told)
{
	struct rf_buf bytes = call->kept;
	unsigned status = call->kept_status;

	(void)told; /* what can't be kept was done all the same: another with its key is not */
	call->kept = (struct rf_buf){ 0 };
	call->once_state = RF_ONCE_NONE;
	if (call->x)
		rf_api_call_answer(call, status, &bytes);
	rf_buf_done(&bytes);
	if (!call->x)
		rf_api_call_free(call);
}

bool rf_once_keep(struct rf_api_call *call, unsigned status, struct rf_buf *bytes,
		  const struct rf_api_error *error)
{
	struct rf_pass_question question = { .asked = RF_PASS_STORE,
					     .name = call->once,
					     .status = status };

	if (call->once_state != RF_ONCE_UNDER_WAY)
		return false;
	if (error) /* of what failed after it was begun nobody knows how far it went */
		return end(call, error->code >= RF_API_INTERNAL && !call->is_unbegun);
	question.text = bytes->data && bytes->len <= RF_PASS_TEXT ? bytes->data : "";
	call->once_state = RF_ONCE_STORING;
	if (!rf_wicket_ask(call, &question, on_stored))
		return end(call, 1);
	call->kept = *bytes;
	call->kept_status = status;
	*bytes = (struct rf_buf){ 0 };
	return true;
}

bool rf_once_outlives(struct rf_api_call *call)
{
	if (call->once_state == RF_ONCE_UNDER_WAY && call->state == RF_API_LINE) {
		give_up(call, 0);
		return false;
	}
	return call->once_state != RF_ONCE_NONE;
}
