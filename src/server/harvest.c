/* A run whose files are wanted: see harvest.h. */
#include "server/harvest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/file-task.h"
#include "server/front.h"
#include "server/request-ceiling.h"

#define NOTE       "{\"run\": true}"
#define TEXT_MOST  (64u << 20)
#define FIND_BYTES (16u << 20)
#define FIND_S     60

/*
 * "$1" has a pattern a line, "$2" is the folder or empty.  Of each file: its name, a NUL, its size, a line, its bytes as base64, a line; which stays readable
 * whatever becomes of the file meanwhile.  $3 and $4: bytes of one file, and of all; 64 files.
 */
static const char find_script[] =
	"cd -- \"${2:-$HOME}\" || exit 0; one=$3 left=$4 n=0; set -f; IFS='\n'; set -- $1; set +f; "
	"IFS=\n"
	"for p do for f in $p; do\n"
	"[ -f \"$f\" ] && [ -r \"$f\" ] || continue; n=$((n+1)); [ $n -gt 64 ] && exit 0\n"
	"s=$(stat -Lc %s -- \"$f\") || continue; l=$((left < one ? left : one)); l=$((s < l ? s : "
	"l))\n"
	"printf '%s\\0%s\\n' \"$f\" \"$s\"; head -c $l -- \"$f\" | base64 -w0; echo; left=$((left "
	"- l))\n"
	"done; done; exit 0";

struct harvest {
	char box[RF_ROUTE_PART]; /* its id; "" before it stands, and when it is ending */
	char *patterns, *folder;
	uint64_t output_limit;
	struct rf_buf text; /* the answer, so far */
};

bool rf_harvest_is_own(const char *note)
{
	return strcmp(note, NOTE) == 0;
}

/* ------------------------------------------------------------- its end */

static void on_nothing(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	(void)data;
	(void)answer;
	(void)why;
}

/* Who asked is gone, or it went wrong: nobody waits for the box's end, but it ends. */
static void end_box(struct rf_api_call *call)
{
	struct harvest *h = call->extra;
	struct rf_query *query;
	struct rf_err ignored = RF_ERR_INIT;

	if (h->box[0])
		rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_CLOSE, h->box, 0,
			     on_nothing, NULL, &query, &ignored);
	h->box[0] = '\0';
}

static void on_gone(struct rf_api_call *call)
{
	struct harvest *h = call->extra;

	end_box(call);
	free(h->patterns);
	free(h->folder);
	rf_buf_done(&h->text);
}

static void fail(struct rf_api_call *call, const struct rf_err *why)
{
	struct rf_err err = *why;

	if (err.code >= 0)
		rf_fail_say(&err, -EIO, "the box ended before it stood");
	rf_job_free(call->job);
	call->job = NULL;
	end_box(call);
	rf_api_call_fail_with(call, &err, NULL);
	rf_api_call_leave_place(call);
}

/* Nothing of it runs any more. */
static void on_closed(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct harvest *h = call->extra;

	(void)answer; /* a box that has ended by itself is as good */
	(void)why;
	call->asked = NULL;
	rf_api_call_answer(call, 200, &h->text);
	rf_api_call_leave_place(call);
}

static void close_and_answer(struct rf_api_call *call)
{
	struct harvest *h = call->extra;
	struct rf_err err = RF_ERR_INIT;
	char box[RF_ROUTE_PART];

	memcpy(box, h->box, sizeof(box));
	h->box[0] = '\0';
	call->front->figures.run_ns += rf_loop_now() - call->since_ns;
	call->front->figures.runs_ended++;
	if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_CLOSE, box, 0, on_closed,
			 call, &call->asked, &err) < 0)
		on_closed(call, NULL, &err);
}

/* ------------------------------------------------------------- its files */

static void put_file(struct rf_json *json, const char *path, uint64_t size, const char *data,
		     size_t len)
{
	bool is_text = rf_json_is_utf8(data, len);

	rf_json_open_object(json, NULL);
	rf_json_string(json, "path", path);
	rf_json_int(json, "size", (int64_t)size);
	if (is_text)
		rf_json_bytes(json, "content", data, len);
	else
		rf_json_base64(json, "content_base64", data, len);
	rf_json_bool(json, "truncated", len < size);
	rf_json_close_object(json);
}

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* What the script says; written by a program of the box's, so believed in nothing but its form. */
static void put_files(const struct rf_buf *said, struct rf_json *json)
{
	const char *names[RF_HARVEST_FILES];
	const char *at = said->data, *end = at ? at + said->len : NULL;
	char *bytes = at ? malloc(said->len + 4) : NULL;
	size_t count = 0;

	while (bytes && at < end && count < RF_HARVEST_FILES) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));
		const char *line = nul ? memchr(nul, '\n', (size_t)(end - nul)) : NULL;
		const char *stop = line ? memchr(line + 1, '\n', (size_t)(end - line - 1)) : NULL;
		unsigned long long size;
		ssize_t len;

		if (!stop || rf_span_number((struct rf_span){ nul + 1, (size_t)(line - nul - 1) },
					    INT64_MAX, &size) < 0)
			break;
		len = (stop - line - 1) % 4
			      ? -1
			      : rf_base64_decode(line + 1, (size_t)(stop - line - 1), bytes);
		if (len >= 0 && !is_among(names, count, at)) {
			put_file(json, at, size, bytes, (size_t)len);
			names[count++] = at;
		}
		at = stop + 1;
	}
	free(bytes);
}

/* Where the result's object ends: the files go before that. */
static size_t last_brace(const struct rf_buf *text)
{
	size_t at = text->len;

	while (at > 0 && text->data[at - 1] != '}')
		at--;
	return at > 0 ? at - 1 : 0;
}

static void on_found(void *data)
{
	struct rf_api_call *call = data;
	struct harvest *h = call->extra;
	const struct rf_result *result = rf_job_result(call->job);
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf files;

	rf_buf_init(&files, TEXT_MOST);
	rf_json_init(&json, &files, false);
	rf_json_open_array(&json, NULL);
	if (!rf_job_is_refused(call->job))
		put_files(&result->output[0], &json);
	rf_json_close_array(&json);
	h->text.len = last_brace(&h->text);
	rf_buf_puts(&h->text, ", \"files\": ");
	rf_buf_add(&h->text, files.data ? files.data : "[]", files.data ? files.len : 2);
	rf_buf_puts(&h->text, "}\n");
	rf_file_task_end(call);
	close_and_answer(call);
}

/* ------------------------------------------------------------- its program */

static void on_ran(void *data)
{
	static const struct rf_job_ops finding = { .on_end = on_found };
	struct rf_api_call *call = data;
	struct harvest *h = call->extra;
	char one[16], all[16];
	const struct rf_file_task task = { .script = find_script,
					   .words = { h->patterns, h->folder, one, all },
					   .output_limit = FIND_BYTES,
					   .timeout = FIND_S,
					   .ops = &finding };

	if (rf_job_is_refused(call->job)) {
		fail(call, &rf_job_result(call->job)->error);
		return;
	}
	rf_result_json(rf_job_result(call->job), false, &h->text);
	rf_request_ceiling_tell(&call->order, &h->text);
	rf_job_free(call->job);
	call->job = NULL;
	snprintf(one, sizeof(one), "%u", RF_HARVEST_ONE);
	snprintf(all, sizeof(all), "%u", RF_HARVEST_ALL);
	if (rf_file_task_start(call, &task) < 0) {
		end_box(call);
		rf_api_call_leave_place(call);
	}
}

/* The box stands: the program runs in it. */
static void on_made(void *data)
{
	static const struct rf_job_ops running = { .on_end = on_ran };
	struct rf_api_call *call = data;
	struct harvest *h = call->extra;
	struct rf_job_task task = { .order = &call->order,
				    .box = h->box,
				    .keeps_output = true,
				    .output_limit = h->output_limit };
	struct rf_err err = RF_ERR_INIT;

	snprintf(h->box, sizeof(h->box), "%s", rf_job_id(call->job));
	memcpy(call->parts.part[0], h->box, sizeof(h->box));
	rf_job_free(call->job); /* the box stays */
	call->job = NULL;
	if (rf_job_start(call->front->loop, call->holder->fort, &task, &running, call, &call->job,
			 &err) < 0)
		fail(call, &err);
}

static void on_not_made(void *data)
{
	struct rf_api_call *call = data;

	fail(call, &rf_job_result(call->job)->error);
}

/* Patterns as lines: none has one. */
static char *join(char *const *patterns)
{
	size_t len = 1;
	char *text, *at;

	for (char *const *one = patterns; *one; one++)
		len += strlen(*one) + 1;
	text = at = calloc(1, len);
	for (char *const *one = patterns; text && *one; one++) {
		at = stpcpy(at, *one);
		*at++ = '\n';
	}
	return text;
}

void rf_harvest_start(struct rf_api_call *call, const struct rf_job_task *run)
{
	static const struct rf_job_ops making = { .on_started = on_made, .on_end = on_not_made };
	struct rf_job_task task = *run;
	struct harvest *h = calloc(1, sizeof(*h));
	struct rf_err err = RF_ERR_INIT;

	call->extra = h;
	if (!h) {
		rf_exchange_abort(call->x);
		return;
	}
	call->on_gone = on_gone;
	rf_buf_init(&h->text, TEXT_MOST);
	h->patterns = join(call->order.outputs);
	h->folder = strdup(call->order.cwd ? call->order.cwd : "");
	h->output_limit = run->policy->output_limit;
	task.order = &call->order;
	task.keeps_output = true;
	task.note = NOTE;
	if (!h->patterns || !h->folder)
		rf_fail(&err, -ENOMEM, "a run");
	else
		rf_job_start(call->front->loop, call->holder->fort, &task, &making, call,
			     &call->job, &err);
	if (err.code)
		fail(call, &err);
}
