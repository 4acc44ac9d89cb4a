/* What the front asks who has the keys about its register: see wicket.h. */
#include "server/wicket.h"

#include "server/front.h"
#include "wire/wire.h"

static bool send(const struct rf_api_call *call, uint64_t id, struct rf_pass_question *question)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 2 * RF_PASS_TEXT);
	question->key = call->holder->pass.key;
	rf_pass_put_question(question, &body);
	return !body.has_failed && rf_wire_send(call->front->host, RF_WIRE_FRONT_ASK, id, body.data,
						body.len, NULL, 0, &err) == 0;
}

bool rf_wicket_ask(struct rf_api_call *call, struct rf_pass_question *question, rf_wicket_fn *fn)
{
	if (!send(call, call->id, question))
		return false;
	call->on_told = fn;
	call->next_told = call->front->to_be_told;
	call->front->to_be_told = call;
	return true;
}

void rf_wicket_say(const struct rf_api_call *call, struct rf_pass_question *question)
{
	send(call, 0, question);
}

void rf_wicket_forget(struct rf_api_call *call)
{
	struct rf_api_call **at = &call->front->to_be_told;

	while (*at && *at != call)
		at = &(*at)->next_told;
	if (*at)
		*at = call->next_told;
	call->on_told = NULL;
}

void rf_wicket_hear(struct rf_front *front, const struct rf_wire_message *message)
{
	struct rf_api_call *call = front->to_be_told;
	struct rf_err err = RF_ERR_INIT;
	struct rf_pass_told told;
	rf_wicket_fn *fn;

	while (call && call->id != message->id)
		call = call->next_told;
	if (!call || message->id == 0)
		return;
	fn = call->on_told;
	rf_wicket_forget(call);
	if (rf_pass_take_told(message->body, message->len, &told, &err) < 0)
		told = (struct rf_pass_told){ .verdict = RF_PASS_FAILED, .text = "" };
	fn(call, &told);
}
