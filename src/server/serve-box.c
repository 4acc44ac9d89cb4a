/* Sandboxes: boxes that are kept, made, listed, paused and ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/agent-use.h"
#include "server/ask-clerk.h"
#include "server/box-site.h"
#include "server/form.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/harvest.h"
#include "server/list-page.h"
#include "server/once.h"
#include "server/outing.h"
#include "server/request-ceiling.h"
#include "wire/errand.h"
#include "wire/exec.h"

#define TEXT_MOST (16u << 20)

/* ------------------------------------------------------------- how one looks */

static const char *const states[] = { "running", "paused", "ending" };

_Static_assert(sizeof(states) / sizeof(states[0]) == RF_EXEC_STATES, "every state has a name");

static void put_figure(struct rf_json *json, const char *name, uint64_t figure)
{
	if (figure == UINT64_MAX)
		rf_json_null(json, name);
	else
		rf_json_int(json, name, (int64_t)figure);
}

/* What was noted when it was made: when, and its labels. */
static void put_note(struct rf_json *json, const char *note)
{
	struct rf_jsonread *read = NULL;
	struct rf_err ignored;
	const struct rf_jsonread_value *created = NULL, *labels = NULL, *workspace = NULL,
				       *agent = NULL;

	if (rf_jsonread_parse(note, strlen(note), &read, &ignored) == 0 &&
	    rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT) {
		created = rf_jsonread_member(rf_jsonread_root(read), "created");
		labels = rf_jsonread_member(rf_jsonread_root(read), "labels");
		workspace = rf_jsonread_member(rf_jsonread_root(read), "workspace");
		agent = rf_jsonread_member(rf_jsonread_root(read), "agent");
	}
	if (created)
		rf_form_copy(created, "created", json);
	else
		rf_json_null(json, "created");
	if (workspace)
		rf_form_copy(workspace, "workspace", json);
	else
		rf_json_null(json, "workspace");
	if (agent)
		rf_form_copy(agent, "agent", json);
	else
		rf_json_null(json, "agent");
	if (labels) {
		rf_form_copy(labels, "labels", json);
	} else {
		rf_json_open_object(json, "labels");
		rf_json_close_object(json);
	}
	rf_jsonread_free(read);
}

static void put_box(struct rf_json *json, const struct rf_exec_box *box)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "id", box->id);
	rf_json_string(json, "state", states[box->state]);
	put_note(json, box->note);
	put_figure(json, "age_ms", box->age_ms);
	put_figure(json, "expires_in_ms", box->left_ms);
	put_figure(json, "idle_timeout", box->idle_ms ? box->idle_ms / 1000 : UINT64_MAX);
	rf_json_open_object(json, "usage");
	put_figure(json, "cpu_ms", box->cpu_ns == UINT64_MAX ? UINT64_MAX : box->cpu_ns / 1000000);
	put_figure(json, "memory", box->memory_bytes);
	put_figure(json, "memory_peak", box->memory_peak);
	put_figure(json, "pids", box->pids);
	rf_json_close_object(json);
	rf_json_open_array(json, "programs");
	for (uint32_t i = 0; i < box->program_count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_int(json, "number", box->programs[i].number);
		rf_json_string(json, "name", box->programs[i].name);
		rf_json_bool(json, "background", box->programs[i].is_background);
		rf_json_bool(json, "ended", box->programs[i].has_ended);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_close_object(json);
}

/* Which box a call is about: the one in its path, or the one that it made. */
static const char *id_of(const struct rf_api_call *call)
{
	return call->extra ? call->extra : call->parts.part[0];
}

static void fail_not_found(struct rf_api_call *call)
{
	struct rf_api_error error;

	rf_api_error_say(&error, RF_API_NOT_FOUND, "id", "there is no sandbox `%.24s`",
			 id_of(call));
	rf_api_error_hint(&error, "its time may be over; GET /v1/sandboxes lists them");
	rf_api_call_fail(call, &error);
}

static void fail(struct rf_api_call *call, const struct rf_err *why)
{
	struct rf_err own = *why;

	if (own.code == -ENOENT) {
		fail_not_found(call);
		return;
	}
	if (own.code == -EINVAL) /* what was asked is well-formed: it is this sandbox that can't */
		own.code = -EBUSY;
	rf_api_call_fail_with(call, &own, NULL);
}

/* The one that it was about, with the status that fits. */
static void on_one(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_err err = RF_ERR_INIT;
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_json json;
	size_t at = 0;
	RF_AUTO_BUF struct rf_buf out;

	call->asked = NULL;
	rf_buf_init(&out, TEXT_MOST);
	rf_json_init(&json, &out, false);
	if (!answer) {
		fail(call, why);
	} else if (!box || answer->type != RF_WIRE_BOXES ||
		   rf_exec_box_next(answer, &at, box, &err) <= 0) {
		fail_not_found(call);
	} else {
		put_box(&json, box);
		rf_buf_puts(&out, "\n");
		rf_request_ceiling_tell(&call->order, &out);
		rf_api_call_answer(call, call->extra ? 201 : 200, &out);
	}
	free(box);
}

static void ask(struct rf_api_call *call, enum rf_wire_type type, const char *id, uint64_t time_ms,
		rf_query_fn *fn)
{
	struct rf_err err = RF_ERR_INIT;

	if (rf_query_ask(call->front->loop, call->holder->fort, type, id, time_ms, fn, call,
			 &call->asked, &err) < 0)
		fail(call, &err);
}

/* ------------------------------------------------------------- making one */

/* `once`: by which who asked again finds it, or "". */
static int put_labels(const struct rf_order *order, const char *once, struct rf_buf *out)
{
	struct rf_json json;
	char now[32];
	time_t at = time(NULL);
	struct tm tm;

	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "created", now);
	if (order->workspace)
		rf_json_string(&json, "workspace", order->workspace);
	if (order->agent)
		rf_json_string(&json, "agent", order->agent);
	if (order->labels)
		rf_form_copy(order->labels, "labels", &json);
	if (once[0])
		rf_json_string(&json, "once", once);
	rf_json_close_object(&json);
	return out->has_failed ? -1 : 0;
}

/* It stands: what is answered is what a list would say of it. */
static void on_made(void *data)
{
	struct rf_api_call *call = data;
	struct rf_job *job = call->job;

	call->extra = strdup(rf_job_id(job));
	call->job = NULL;
	rf_job_free(job); /* the box stays */
	rf_api_call_leave_place(call);
	call->front->figures.sandboxes++;
	rf_serve_box_show(call, call->extra);
}

void rf_serve_box_show(struct rf_api_call *call, const char *id)
{
	struct rf_err err = RF_ERR_INIT;

	if (id && !call->extra)
		call->extra = strdup(id);
	if (call->extra)
		ask(call, RF_WIRE_LIST, call->extra, 0, on_one);
	else
		fail(call, (rf_fail(&err, -ENOMEM, "a sandbox"), &err));
}

static void on_not_made(void *data)
{
	struct rf_api_call *call = data;
	struct rf_err err = rf_job_result(call->job)->error;

	if (err.code >= 0)
		rf_fail_say(&err, -EIO, "the box ended before it stood");
	call->is_unbegun = rf_job_is_refused(call->job);
	rf_job_free(call->job);
	call->job = NULL;
	rf_api_call_fail_with(call, &err, NULL);
	rf_api_call_leave_place(call);
}

static const struct rf_job_ops making = { .on_started = on_made, .on_end = on_not_made };

static void go_create(struct rf_api_call *call)
{
	struct rf_job_task task = { .order = &call->order,
				    .keeps_output = true,
				    .request = call->request_id,
				    .trace = call->part };
	struct rf_err err = RF_ERR_INIT;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf note;

	rf_buf_init(&note, RF_ERRAND_NOTE - 1);
	if (put_labels(&call->order, call->once, &note) < 0) {
		rf_api_error_say(&error, RF_API_INVALID, "labels", "labels: they are too long");
		rf_api_error_hint(&error, "all of them together have room for %d bytes of JSON",
				  RF_ERRAND_NOTE - 64);
		rf_api_call_fail(call, &error);
	} else if (rf_front_policy(call->front, call->order.policy, &task.policy, &error) < 0) {
		rf_api_call_fail(call, &error);
	} else if (rf_outing_waits(call, task.policy, go_create)) {
		return;
	} else {
		task.note = note.data;
		if (call->outing)
			task.gateway = &call->outing->gateway;
		task.workspace = call->order.workspace;
		if (rf_job_start(call->front->loop, call->holder->fort, &task, &making, call,
				 &call->job, &err) == 0)
			return;
		rf_api_call_fail_with(call, &err, NULL);
	}
	rf_api_call_leave_place(call);
}

static void on_workspace(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_jsonread *read = NULL;
	const struct rf_jsonread_value *name = NULL;
	struct rf_err err = answer ? RF_ERR_INIT : *why;

	call->petition = NULL;
	if (answer && rf_jsonread_parse(answer->body, answer->len, &read, &err) == 0)
		name = rf_jsonread_member(rf_jsonread_root(read), "name");
	if (name)
		call->order.workspace = rf_arena_copy(call->order.memory, name->text);
	rf_jsonread_free(read);
	if (err.code || !call->order.workspace)
		rf_api_call_fail_with(call, &err, "workspace");
	else
		rf_api_call_take_place(call, go_create);
}

/* One that goes with the sandbox; of one that never stands, too. */
static void make_own_workspace(struct rf_api_call *call)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, "");
	rf_pack_string(&body, "");
	rf_pack_u32(&body, 0);
	rf_ask_clerk(call, RF_CLERK_WORKSPACE_MAKE, &body, on_workspace);
}

static void line_up(struct rf_api_call *call)
{
	if (call->order.workspace && !call->order.workspace[0])
		make_own_workspace(call);
	else
		rf_api_call_take_place(call, go_create);
}

static void queue_create(struct rf_api_call *call)
{
	rf_agent_use(call, line_up);
}

void rf_serve_box_create(struct rf_api_call *call)
{
	const char *text = call->body.len ? call->body.data : "{}";
	struct rf_api_error error;

	if (rf_order_read(RF_ORDER_SANDBOX, text, strlen(text), true, &call->front->tools,
			  &call->order, &error) < 0 ||
	    rf_request_ceiling_check(call, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		rf_once_begin(call, queue_create);
}

/* ------------------------------------------------------------- looking, pausing, ending */

void rf_serve_box_get(struct rf_api_call *call)
{
	ask(call, RF_WIRE_LIST, id_of(call), 0, on_one);
}

void rf_serve_box_pause(struct rf_api_call *call)
{
	ask(call, RF_WIRE_FREEZE, id_of(call), 0, on_one);
}

void rf_serve_box_resume(struct rf_api_call *call)
{
	ask(call, RF_WIRE_THAW, id_of(call), 0, on_one);
}

void rf_serve_box_renew(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (rf_order_read(RF_ORDER_RENEW, call->body.len ? call->body.data : "{}",
			  call->body.len ? call->body.len : 2, true, &call->front->tools,
			  &call->order, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		ask(call, RF_WIRE_RENEW, id_of(call), call->order.timeout * 1000, on_one);
}

/* Where another sandbox has it, or nobody could be asked, the clerk takes it away later. */
static void on_removed(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_buf none = { 0 };

	(void)answer;
	(void)why;
	call->petition = NULL;
	rf_api_call_answer(call, 204, &none);
}

/* The box's own end is the answer: nothing of it runs any more. */
static void on_closed(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_buf none = { 0 };

	call->asked = NULL;
	if (!answer) {
		fail(call, why);
	} else if (call->workspace[0]) {
		RF_AUTO_BUF struct rf_buf body;

		rf_buf_init(&body, 256);
		rf_pack_string(&body, call->workspace);
		rf_ask_clerk(call, RF_CLERK_WORKSPACE_REMOVE, &body, on_removed);
	} else {
		rf_api_call_answer(call, 204, &none);
	}
}

/* What is its own goes with it. */
static void on_found(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	bool is_running;

	call->asked = NULL;
	if (!answer) {
		fail(call, why);
		return;
	}
	if (!rf_box_site_find(answer, call->workspace, &is_running)) {
		fail_not_found(call);
		return;
	}
	if (strncmp(call->workspace, RF_TENANCY_OWN, strlen(RF_TENANCY_OWN)) != 0)
		call->workspace[0] = '\0';
	ask(call, RF_WIRE_CLOSE, id_of(call), 0, on_closed);
}

void rf_serve_box_delete(struct rf_api_call *call)
{
	ask(call, RF_WIRE_LIST, id_of(call), 0, on_found);
}

/* ------------------------------------------------------------- lists */

static bool has_label(const struct rf_exec_box *box, const struct rf_list_page *page)
{
	struct rf_jsonread *read = NULL;
	struct rf_err ignored;
	const struct rf_jsonread_value *labels = NULL, *one = NULL;

	if (!page->label[0])
		return true;
	if (rf_jsonread_parse(box->note, strlen(box->note), &read, &ignored) == 0 &&
	    rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT)
		labels = rf_jsonread_member(rf_jsonread_root(read), "labels");
	if (labels && labels->type == RF_JSONREAD_OBJECT)
		one = rf_jsonread_member(labels, page->label);
	if (one && (one->type != RF_JSONREAD_STRING || strcmp(one->text, page->value) != 0))
		one = NULL;
	rf_jsonread_free(read);
	return one != NULL;
}

struct row {
	char id[24];
	size_t at; /* in the answer */
};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->id, ((const struct row *)b)->id);
}

/* By their ids, which never change: so a page begins where the last one ended, whatever has come and gone meanwhile. */
static size_t pick(const struct rf_wire_message *answer, const struct rf_list_page *page,
		   struct row **rows)
{
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_err err = RF_ERR_INIT;
	size_t at = 0, before = 0, count = 0, room = 0;

	*rows = NULL;
	while (box && rf_exec_box_next(answer, &at, box, &err) > 0) {
		if (strcmp(box->id, page->cursor) > 0 && has_label(box, page) &&
		    !rf_harvest_is_own(box->note)) {
			if (count == room) {
				struct row *more = realloc(*rows, (room + 256) * sizeof(*more));

				if (!more)
					break;
				*rows = more;
				room += 256;
			}
			memcpy((*rows)[count].id, box->id, sizeof(box->id));
			(*rows)[count++].at = before;
		}
		before = at;
	}
	free(box);
	if (count > 0)
		qsort(*rows, count, sizeof(**rows), by_id);
	return count;
}

static void put_page(const struct rf_wire_message *answer, const struct rf_list_page *page,
		     struct rf_buf *out)
{
	struct rf_exec_box *box = malloc(sizeof(*box));
	struct rf_err err = RF_ERR_INIT;
	struct rf_json json;
	struct row *rows;
	size_t count = pick(answer, page, &rows), shown = count < page->limit ? count : page->limit;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "sandboxes");
	for (size_t i = 0; box && i < shown; i++) {
		size_t at = rows[i].at;

		if (rf_exec_box_next(answer, &at, box, &err) > 0)
			put_box(&json, box);
	}
	rf_json_close_array(&json);
	rf_json_string(&json, "next_cursor", shown < count ? rows[shown - 1].id : NULL);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
	free(rows);
	free(box);
}

static void on_list(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	RF_AUTO_BUF struct rf_buf out;

	call->asked = NULL;
	rf_buf_init(&out, TEXT_MOST);
	if (!answer || answer->type != RF_WIRE_BOXES) {
		fail(call, why);
		return;
	}
	put_page(answer, call->extra, &out);
	rf_api_call_answer(call, 200, &out);
}

void rf_serve_box_list(struct rf_api_call *call)
{
	struct rf_list_page *page = calloc(1, sizeof(*page));
	struct rf_api_error error;

	call->extra = page;
	if (!page)
		rf_exchange_abort(call->x);
	else if (rf_list_page_read(call, page, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		ask(call, RF_WIRE_LIST, "", 0, on_list);
}
