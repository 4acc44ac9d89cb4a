/* Something done with a workspace: see box-site.h. */
#include "server/box-site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/front.h"
#include "wire/exec.h"

#define OUTPUT_MOST (17u << 20)

static const char policy_text[] =
	"{\"version\": 1, \"limits\": {\"time\": \"10m\", \"output\": \"16M\"}}";

/* ------------------------------------------------------------- which */

bool rf_box_site_find(const struct rf_wire_message *answer, char workspace[RF_TENANCY_NAME],
		      bool *ret_is_running)
{
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_jsonread *read = NULL;
	const struct rf_jsonread_value *name = NULL;
	struct rf_err err = RF_ERR_INIT;
	size_t at = 0;
	bool is_there = box && answer->type == RF_WIRE_BOXES &&
			rf_exec_box_next(answer, &at, box, &err) > 0;

	workspace[0] = '\0';
	if (is_there && rf_jsonread_parse(box->note, strlen(box->note), &read, &err) == 0 &&
	    rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT)
		name = rf_jsonread_member(rf_jsonread_root(read), "workspace");
	if (name && name->type == RF_JSONREAD_STRING && rf_tenancy_is_name(name->text))
		snprintf(workspace, RF_TENANCY_NAME, "%s", name->text);
	*ret_is_running = is_there && box->state == RF_EXEC_RUNNING;
	rf_jsonread_free(read);
	free(box);
	return is_there;
}

/* ------------------------------------------------------------- the end */

static void answer(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	RF_AUTO_BUF struct rf_buf output = site->output;

	site->output = (struct rf_buf){ 0 };
	call->on_gone = NULL;
	if (site->error.message[0])
		rf_api_call_fail(call, &site->error);
	else
		site->deed->on_done(call, &output);
}

static void on_thawed(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;

	(void)message;
	(void)why; /* it may have ended meanwhile */
	call->asked = NULL;
	answer(call);
}

/* Everything that we have stopped goes on, and then it is answered. */
static void finish(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;

	if (!site->is_frozen) {
		answer(call);
		return;
	}
	site->is_frozen = false;
	if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_THAW, site->box, 0,
			 on_thawed, call, &call->asked, &err) < 0)
		answer(call);
}

static void ignore(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	(void)data;
	(void)message;
	(void)why;
}

/* Who asked is gone: the sandbox is not to stand still for good. */
static void on_gone(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_query *query = NULL;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_done(&site->output);
	if (site->is_frozen && rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_THAW,
					    site->box, 0, ignore, NULL, &query, &err) == 0)
		rf_query_drop(query); /* it was said, and nobody waits for the answer */
}

static void fail_with(struct rf_api_call *call, const struct rf_err *err)
{
	struct rf_box_site *site = call->extra;

	rf_api_error_of(&site->error, err, NULL);
	finish(call);
}

/* ------------------------------------------------------------- the deed */

/* clang-format off */
static const struct { int code; enum rf_api_code is; const char *what, *hint; } ends[] = {
	{ 44, RF_API_NOT_FOUND, "there is no such checkpoint",               "list the checkpoints" },
	{ 51, RF_API_CONFLICT,  "there is a checkpoint of this name already", "choose another name, or none" },
	{ 52, RF_API_TOO_MANY,  "the workspace has as many checkpoints as it may", "fork it, and go on in the fork" },
};
/* clang-format on */

static void judge(struct rf_box_site *site, const struct rf_job *job)
{
	const struct rf_result *result = rf_job_result(job);

	if (rf_job_is_refused(job) || result->error.code) {
		rf_api_error_of(&site->error, &result->error, NULL);
		return;
	}
	if (result->status == RF_STATUS_OK && result->exit_code == 0 && !result->is_truncated[0]) {
		rf_buf_add(&site->output, result->output[0].data, result->output[0].len);
		return;
	}
	for (size_t i = 0; i < RF_LEN(ends); i++)
		if (result->exit_code == ends[i].code) {
			rf_api_error_say(&site->error, ends[i].is, NULL, "%s", ends[i].what);
			rf_api_error_hint(&site->error, "%s", ends[i].hint);
			return;
		}
	if (result->is_truncated[0]) {
		rf_api_error_say(&site->error, RF_API_TOO_LARGE, NULL,
				 "it is larger than one answer may be");
		rf_api_error_hint(&site->error, "look at parts of it with a program");
		return;
	}
	rf_api_error_say(&site->error, RF_API_CONFLICT, NULL, "it could not be done: %.200s",
			 result->output[1].len ? result->output[1].data : "a limit was in the way");
	rf_api_error_hint(&site->error, "`limits.disk` and `limits.time` of the key's ceiling hold "
					"for it, and its programs must be allowed");
}

static void on_end(void *data)
{
	struct rf_api_call *call = data;
	struct rf_job *job = call->job;

	call->job = NULL;
	judge(call->extra, job);
	rf_job_free(job);
	rf_api_call_leave_place(call);
	finish(call);
}

static const struct rf_job_ops ops = { .on_end = on_end };

static int make_order(struct rf_order *order, const struct rf_box_site *site)
{
	static const char *const before[] = { "/bin/sh", "-c", NULL, "sh" };
	size_t n = 0;

	rf_order_done(order);
	*order = (struct rf_order){ .memory = rf_arena_new() };
	if (!order->memory)
		return -ENOMEM;
	order->argv = rf_arena_alloc(order->memory, (RF_LEN(before) + RF_BOX_SITE_WORDS + 1) *
							    sizeof(*order->argv));
	for (; order->argv && n < RF_LEN(before); n++)
		order->argv[n] =
			rf_arena_copy(order->memory, before[n] ? before[n] : site->deed->script);
	for (size_t i = 0; order->argv && i < RF_BOX_SITE_WORDS; i++)
		order->argv[n++] = rf_arena_copy(order->memory, site->words[i]);
	return order->memory->has_failed ? -ENOMEM : 0;
}

static void go(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_job_task task = { .order = &call->order,
				    .workspace = site->workspace,
				    .has_whole = true,
				    .keeps_output = true };
	struct rf_err err = RF_ERR_INIT;

	if (make_order(&call->order, site) < 0)
		rf_fail(&err, -ENOMEM, "a checkpoint");
	else if (rf_front_policy(call->front, policy_text, &task.policy, &site->error) == 0 &&
		 rf_job_start(call->front->loop, call->holder->fort, &task, &ops, call, &call->job,
			      &err) == 0)
		return;
	rf_api_call_leave_place(call);
	if (err.code)
		fail_with(call, &err);
	else
		finish(call);
}

static void take_place(struct rf_api_call *call)
{
	rf_api_call_take_place(call, go);
}

static void on_frozen(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_box_site *site = call->extra;

	call->asked = NULL;
	if (!message) {
		fail_with(call, why);
		return;
	}
	site->is_frozen = true;
	take_place(call);
}

static void on_seen(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_box_site *site = call->extra;
	struct rf_err err = message ? RF_ERR_INIT : *why;
	bool is_running = false;

	call->asked = NULL;
	if (message && !rf_box_site_find(message, site->workspace, &is_running)) {
		rf_fail_say(&err, -ENOENT, "there is no sandbox `%.23s`", site->box);
		rf_fail_hint(&err, "its time may be over; GET /v1/sandboxes lists them");
	} else if (message && !site->workspace[0]) {
		rf_fail_say(&err, -EBUSY, "this sandbox has no workspace");
		rf_fail_hint(&err, "make one with `\"workspace\": {}`");
	}
	if (!err.code && (!site->deed->stands_still || !is_running)) {
		take_place(call);
		return;
	}
	if (err.code || rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_FREEZE,
				     site->box, 0, on_frozen, call, &call->asked, &err) < 0)
		fail_with(call, &err);
}

struct rf_box_site *rf_box_site_new(struct rf_api_call *call, const struct rf_box_site_deed *deed)
{
	struct rf_box_site *site = calloc(1, sizeof(*site));
	const char *name = call->parts.part[0];

	if (!site) {
		rf_exchange_abort(call->x);
		return NULL;
	}
	site->deed = deed;
	rf_buf_init(&site->output, OUTPUT_MOST);
	if (strncmp(call->route->path, "/v1/sandboxes/", 14) == 0)
		snprintf(site->box, sizeof(site->box), "%.23s", name);
	else
		snprintf(site->workspace, sizeof(site->workspace), "%s", name);
	call->extra = site;
	call->on_gone = on_gone;
	return site;
}

void rf_box_site_go(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;

	if (!site->box[0])
		take_place(call);
	else if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_LIST, site->box, 0,
			      on_seen, call, &call->asked, &err) < 0)
		fail_with(call, &err);
}
