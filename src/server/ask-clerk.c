/* A question to the clerk, for a call: see ask-clerk.h. */
#include "server/ask-clerk.h"

#include "server/front.h"
#include "server/request-ceiling.h"

#define ANSWER_MS   60000
#define ANSWER_MOST (17u << 20)

void rf_ask_clerk(struct rf_api_call *call, enum rf_clerk_question question,
		  const struct rf_buf *body, rf_petition_fn *fn)
{
	const struct rf_clerk_ask ask = { question, body ? body->data : NULL,
					  body ? body->len : 0 };
	struct rf_err err = RF_ERR_INIT;

	if (rf_petition_ask(&call->holder->clerk, call->front->loop, &ask, NULL, 0, ANSWER_MS, fn,
			    call, &call->petition, &err) < 0)
		rf_api_call_fail_with(call, &err, NULL);
}

static void pass_on(struct rf_api_call *call, const struct rf_wire_message *answer,
		    const struct rf_err *why, unsigned status)
{
	RF_AUTO_BUF struct rf_buf out;

	call->petition = NULL;
	rf_buf_init(&out, ANSWER_MOST);
	if (!answer) {
		rf_api_call_fail_with(call, why, NULL);
		return;
	}
	rf_buf_add(&out, answer->body, answer->len);
	rf_request_ceiling_tell(&call->order, &out);
	rf_api_call_answer(call, answer->len ? status : 204, &out);
}

static void on_told(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	pass_on(data, answer, why, 200);
}

static void on_made(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	pass_on(data, answer, why, 201);
}

void rf_ask_clerk_json(struct rf_api_call *call, enum rf_clerk_question question,
		       const struct rf_buf *body, bool is_new)
{
	rf_ask_clerk(call, question, body, is_new ? on_made : on_told);
}
