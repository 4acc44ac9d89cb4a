/* Which request of a key may begin something, and which waits until it may: see api-call.h. */
#include "server/api-call-inside.h"
#include "server/front.h"

#define LINE_MOST 1024          /* calls of one key that wait for a place */
#define AGAIN_NS  100000000ull  /* after which the warden is asked again */
#define ROOM_NS   5000000000ull /* that a call waits for it to have room */

void rf_api_call_leave_line(struct rf_api_call *call)
{
	struct rf_holder *holder = call->holder;
	struct rf_api_call **at = &holder->first;

	while (*at && *at != call)
		at = &(*at)->next_waiting;
	if (!*at)
		return;
	*at = call->next_waiting;
	if (holder->last == &call->next_waiting)
		holder->last = at;
	call->next_waiting = NULL;
	holder->waiting--;
	call->front->figures.waiting--;
}

bool rf_api_call_is_paced(struct rf_api_call *call)
{
	struct rf_api_error error;
	uint32_t wait_s = rf_admit_pace(&call->holder->admit, rf_loop_now());

	if (wait_s == 0)
		return true;
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "this key may begin %u things a minute",
			 call->holder->pass.rate);
	rf_api_error_hint(&error, "try again in %u seconds", wait_s);
	error.retry_s = wait_s;
	rf_api_call_fail(call, &error);
	return false;
}

void rf_api_call_take_place(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	struct rf_holder *holder = call->holder;
	struct rf_api_error error;

	if (!rf_api_call_is_paced(call))
		return;
	if (!holder->first && rf_admit_enter(&holder->admit)) {
		call->is_counted = true;
		call->state = RF_API_WORK;
		call->front->figures.under_way++;
		go(call);
		return;
	}
	if (holder->waiting >= LINE_MOST) {
		rf_api_error_say(&error, RF_API_TOO_MANY, NULL,
				 "%u boxes of this key run, and %u requests wait",
				 holder->admit.now, holder->waiting);
		rf_api_error_hint(&error, "try again when some of them have ended");
		error.retry_s = 1;
		rf_api_call_fail(call, &error);
		return;
	}
	call->state = RF_API_LINE;
	call->go = go;
	*holder->last = call;
	holder->last = &call->next_waiting;
	holder->waiting++;
	call->front->figures.waiting++;
}

/* Its key was removed while they waited. */
static void refuse_line(struct rf_holder *holder)
{
	struct rf_api_error error;
	struct rf_api_call *call;

	rf_api_error_say(&error, RF_API_NO_KEY, "Authorization", "the key was removed");
	while ((call = holder->first)) {
		rf_api_call_leave_line(call);
		call->state = RF_API_WORK;
		rf_api_call_fail(call, &error);
	}
}

void rf_api_call_leave_place(struct rf_api_call *call)
{
	struct rf_holder *holder = call->holder;
	struct rf_api_call *next;

	if (!call->is_counted || !holder)
		return;
	next = holder->first;
	call->is_counted = false;
	call->front->figures.under_way--;
	rf_admit_leave(&holder->admit);
	if (holder->is_withdrawn) {
		refuse_line(holder);
		return;
	}
	if (!next || !rf_admit_enter(&holder->admit))
		return;
	rf_api_call_leave_line(next);
	next->is_counted = true;
	next->state = RF_API_WORK;
	next->front->figures.under_way++;
	next->go(next);
}

static void on_again(void *data, int what)
{
	struct rf_api_call *call = data;

	(void)what;
	rf_event_cancel(call->timer);
	call->timer = NULL;
	call->go(call);
}

/* It keeps its place meanwhile, so who came after it waits behind it, and the line is as long as it may be. */
bool rf_api_call_wait_for_room(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	uint64_t now = rf_loop_now();
	struct rf_err err = RF_ERR_INIT;

	if (!call->room_until_ns)
		call->room_until_ns = now + ROOM_NS;
	if (now >= call->room_until_ns || call->timer || call->front->is_draining)
		return false;
	call->go = go;
	return rf_loop_timer(call->front->loop, now + AGAIN_NS, on_again, call, &call->timer,
			     &err) == 0;
}
