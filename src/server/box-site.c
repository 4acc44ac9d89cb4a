/* Something done with a workspace: see box-site.h. */
#include "server/box-site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/front.h"
#include "wire/exec.h"

#define OUTPUT_MOST (17u << 20)
#define ROOM_MS     120000
#define WAITING     32 /* for their turn with one workspace */

static const char policy_text[] =
	"{\"version\": 1, \"limits\": {\"time\": \"10m\", \"cpu_time\": \"10m\", \"output\": "
	"\"16M\"}}";

/* ------------------------------------------------------------- which */

/* That of one box: its note says so. */
static void read_workspace(const struct rf_exec_box *box, char workspace[RF_TENANCY_NAME])
{
	struct rf_jsonread *read = NULL;
	const struct rf_jsonread_value *name = NULL;
	struct rf_err err = RF_ERR_INIT;

	workspace[0] = '\0';
	if (rf_jsonread_parse(box->note, strlen(box->note), &read, &err) == 0 &&
	    rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT)
		name = rf_jsonread_member(rf_jsonread_root(read), "workspace");
	if (name && name->type == RF_JSONREAD_STRING && rf_tenancy_is_name(name->text))
		snprintf(workspace, RF_TENANCY_NAME, "%s", name->text);
	rf_jsonread_free(read);
}

bool rf_box_site_find(const struct rf_wire_message *answer, char workspace[RF_TENANCY_NAME],
		      bool *ret_is_running)
{
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_err err = RF_ERR_INIT;
	size_t at = 0;
	bool is_there = box && answer->type == RF_WIRE_BOXES &&
			rf_exec_box_next(answer, &at, box, &err) > 0;

	workspace[0] = '\0';
	if (is_there)
		read_workspace(box, workspace);
	*ret_is_running = is_there && box->state == RF_EXEC_RUNNING;
	free(box);
	return is_there;
}

/* ------------------------------------------------------------- one at a time */

static struct rf_box_site *first; /* of all that change a workspace or wait for that, by age */

static bool is_same(const struct rf_box_site *a, const struct rf_box_site *b)
{
	return strcmp(a->tenant, b->tenant) == 0 && strcmp(a->workspace, b->workspace) == 0;
}

/* Takes its turn.  False: somebody else has it, and it will be called when that is over; -EBUSY, where too many wait already. */
static int claim(struct rf_box_site *site)
{
	struct rf_box_site **at = &first;
	size_t before = 0;

	for (; *at; at = &(*at)->next)
		before += is_same(*at, site);
	if (before > WAITING)
		return -EBUSY;
	site->next = NULL;
	site->is_changing = before == 0;
	*at = site;
	return site->is_changing;
}

static void wake(struct rf_box_site *site);

/* It is over: whoever waits the longest is next. */
static void let_go(struct rf_box_site *site)
{
	struct rf_box_site **at = &first, *next;
	bool was_changing = site->is_changing;

	while (*at && *at != site)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = site->next;
	site->is_changing = false;
	for (next = first; was_changing && next && !is_same(next, site);)
		next = next->next;
	if (was_changing && next) {
		next->is_changing = true;
		wake(next);
	}
}

/* ------------------------------------------------------------- the end */

static void drop_boxes(struct rf_box_site *site)
{
	for (size_t i = 0; i < site->box_count; i++)
		rf_fd_done(&site->boxes[i].line);
	free(site->boxes);
	site->boxes = NULL;
	site->box_count = 0;
	site->frozen = 0;
}

static void answer(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	RF_AUTO_BUF struct rf_buf output = site->output;

	site->output = (struct rf_buf){ 0 };
	call->on_gone = NULL;
	let_go(site);
	drop_boxes(site);
	if (site->error.message[0] && site->deed->on_failed)
		site->deed->on_failed(call);
	if (site->error.message[0])
		rf_api_call_fail(call, &site->error);
	else
		site->deed->on_done(call, &output);
}

static void finish(struct rf_api_call *call);

static void on_thawed(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;

	(void)message;
	(void)why; /* it may have ended meanwhile */
	call->asked = NULL;
	finish(call);
}

/* Everything that we have stopped goes on, and then it is answered. */
static void finish(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;

	while (site->frozen > 0)
		if (rf_query_still(call->front->loop, call->holder->fort,
				   site->boxes[--site->frozen].id, NULL, on_thawed, call,
				   &call->asked, &err) == 0)
			return;
	answer(call);
}

static void ignore(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	(void)data;
	(void)message;
	(void)why;
}

/* Who asked is gone: no sandbox is to stand still for good. */
static void on_gone(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_done(&site->output);
	for (size_t i = 0; i < site->frozen; i++) {
		struct rf_query *query = NULL;

		if (rf_query_still(call->front->loop, call->holder->fort, site->boxes[i].id, NULL,
				   ignore, NULL, &query, &err) == 0)
			rf_query_drop(query); /* it was said, and nobody waits for the answer */
	}
	drop_boxes(site);
	if (site->deed->on_failed)
		site->deed->on_failed(call);
	let_go(site); /* and then whoever is next looks who moves */
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
	{ 45, RF_API_CONFLICT,  "what was to be applied is gone",             "something else was applied at the same time: try again" },
	{ 53, RF_API_CONFLICT,  "the workspace is no fork, or its beginning is not known", "only what POST .../fork made can be applied" },
	{ 52, RF_API_TOO_MANY,  "the workspace has as many checkpoints as it may", "delete one of them: DELETE .../checkpoints/{number}" },
	{ 54, RF_API_CONFLICT,  "the workspace has something that its own user may not read", "give its owner the right to: chmod u+r, of a folder u+rx" },
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
			/* Some say more: which it is. */
			rf_api_error_say(&site->error, ends[i].is, NULL, "%s%s%.200s", ends[i].what,
					 result->output[1].len ? ": " : "",
					 result->output[1].len ? result->output[1].data : "");
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

static void on_room(void *data, struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;

	call->petition = NULL;
	if (message) {
		go(call);
		return;
	}
	rf_api_call_leave_place(call);
	fail_with(call, why);
}

static void ask_for_room(struct rf_api_call *call)
{
	const struct rf_box_site *site = call->extra;
	struct rf_clerk_ask ask = { .question = RF_CLERK_WORKSPACE_ROOM };
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, site->workspace);
	ask.body = body.data;
	ask.len = body.len;
	if (rf_petition_ask(&call->holder->clerk, call->front->loop, &ask, NULL, 0, ROOM_MS,
			    on_room, call, &call->petition, &err) == 0)
		return;
	rf_api_call_leave_place(call);
	fail_with(call, &err);
}

static void take_place(struct rf_api_call *call)
{
	const struct rf_box_site *site = call->extra;

	rf_api_call_take_place(call, site->deed->copies ? ask_for_room : go);
}

/* ------------------------------------------------------------- who stands still */

static void freeze(struct rf_api_call *call);

static void on_frozen(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_box_site *site = call->extra;

	call->asked = NULL;
	if (!message && (site->box[0] || why->code != -ENOENT)) {
		fail_with(call, why);
		return;
	}
	if (message)
		site->frozen++;
	else /* it has ended meanwhile */
		site->boxes[site->frozen] = site->boxes[--site->box_count];
	freeze(call);
}

/* One after the other; then it begins. */
static void freeze(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;

	if (site->frozen == site->box_count)
		take_place(call);
	else if (rf_query_still(call->front->loop, call->holder->fort, site->boxes[site->frozen].id,
				&site->boxes[site->frozen].line, on_frozen, call, &call->asked,
				&err) < 0)
		fail_with(call, &err);
}

static int add_box(struct rf_box_site *site, const char *id)
{
	struct rf_box_site_box *more =
		realloc(site->boxes, (site->box_count + 1) * sizeof(*site->boxes));

	if (!more)
		return -ENOMEM;
	site->boxes = more;
	site->boxes[site->box_count].line = -1;
	snprintf(site->boxes[site->box_count++].id, RF_BOX_SITE_ID, "%s", id);
	return 0;
}

/* Its turn, or that of somebody else: then it looks again who has the workspace when it comes. */
static void begin(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;
	struct rf_err err = RF_ERR_INIT;
	int code = site->is_changing || !site->deed->changes ? 1 : claim(site);

	if (code > 0) {
		freeze(call);
	} else if (code < 0) {
		rf_fail_say(&err, -EBUSY, "too much is to be done with workspace `%s` at once",
			    site->workspace);
		rf_fail_hint(&err, "try again in a moment");
		fail_with(call, &err);
	}
}

static void wake(struct rf_box_site *site)
{
	drop_boxes(site);
	rf_box_site_go(site->call);
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
	} else if (message && site->deed->still != RF_BOX_SITE_MOVES && is_running &&
		   add_box(site, site->box) < 0) {
		rf_fail(&err, -ENOMEM, "a sandbox");
	}
	if (err.code)
		fail_with(call, &err);
	else
		begin(call);
}

/* All that have it, of whichever key of the tenant's. */
static void on_all_seen(void *data, const struct rf_wire_message *message, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_box_site *site = call->extra;
	struct rf_err err = message ? RF_ERR_INIT : *why;
	struct rf_exec_box *box = malloc(sizeof(*box));
	size_t at = 0;

	call->asked = NULL;
	if (!box || (message && message->type != RF_WIRE_BOXES))
		rf_fail(&err, box ? -EBADMSG : -ENOMEM, "the sandboxes");
	while (box && message && !err.code && rf_exec_box_next(message, &at, box, &err) > 0) {
		char workspace[RF_TENANCY_NAME];

		read_workspace(box, workspace);
		if (box->state == RF_EXEC_RUNNING && strcmp(workspace, site->workspace) == 0 &&
		    add_box(site, box->id) < 0)
			rf_fail(&err, -ENOMEM, "the sandboxes");
	}
	free(box);
	if (err.code)
		fail_with(call, &err);
	else
		begin(call);
}

/* ------------------------------------------------------------- its beginning */

struct rf_box_site *rf_box_site_new(struct rf_api_call *call, const struct rf_box_site_deed *deed)
{
	struct rf_box_site *site = calloc(1, sizeof(*site));
	const char *name = call->parts.part[0];

	if (!site) {
		rf_exchange_abort(call->x);
		return NULL;
	}
	site->deed = deed;
	site->call = call;
	site->tenant = call->holder->pass.tenant;
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
	bool wants_all = site->deed->still == RF_BOX_SITE_ALL;
	struct rf_err err = RF_ERR_INIT;

	if (!site->box[0] && !wants_all)
		begin(call);
	else if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_LIST, site->box, 0,
			      wants_all ? on_all_seen : on_seen, call, &call->asked, &err) < 0)
		fail_with(call, &err);
}

void rf_box_site_go_on(struct rf_api_call *call, const struct rf_box_site_deed *deed,
		       const char *workspace)
{
	struct rf_box_site *site = call->extra;

	site->deed = deed;
	site->box[0] = '\0';
	snprintf(site->workspace, sizeof(site->workspace), "%s", workspace);
	rf_buf_init(&site->output, OUTPUT_MOST);
	call->on_gone = on_gone;
	rf_box_site_go(call);
}
