/* Files of a sandbox: listed, looked at, found, moved and removed.  Their bytes are serve-bytes.c's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "result/result.h"
#include "server/file-task.h"
#include "server/front.h"
#include "server/handlers.h"

#define LIST_MOST   (8u << 20)
#define TIME_S      30
#define FOUND_USUAL 100
#define FOUND_MOST  1000
#define TEXT_MOST   400 /* bytes of a line that was found */

static const char delete_script[] =
	"[ -e \"$1\" ] || [ -L \"$1\" ] || exit 44; rm -rf -- \"$1\" || exit 46";
static const char list_script[] =
	"[ -e \"$1\" ] || exit 44; "
	"exec find -- \"$1\" -mindepth 1 -maxdepth 1 -printf '%y\\0%s\\0%m\\0%T@\\0%f\\0'";
static const char stat_script[] =
	"[ -e \"$1\" ] || [ -L \"$1\" ] || exit 44; "
	"exec find -- \"$1\" -maxdepth 0 -printf '%y\\0%s\\0%m\\0%T@\\0%f\\0'";
static const char mkdir_script[] =
	"[ -d \"$1\" ] && exit 0; [ -e \"$1\" ] && exit 48; mkdir -p -- \"$1\" || exit 46";
/* "$2" is what it is called afterwards: a folder that is there already is not moved into. */
static const char move_script[] =
	"[ -e \"$1\" ] || [ -L \"$1\" ] || exit 44; [ -d \"$2\" ] && exit 45; "
	"mkdir -p -- \"${2%/*}/\" 2>/dev/null || exit 46; mv -T -- \"$1\" \"$2\" || exit 46";
/* One more than is told, so that it is known whether there are more; who is cut off in its words is no failure. */
static const char name_script[] =
	"[ -e \"$1\" ] || exit 44; "
	"find \"$1\" -mindepth 1 -name \"$2\" -printf '%y\\0%s\\0%m\\0%T@\\0%p\\0' 2>/dev/null | "
	"head -z -n $((5 * $3 + 5))";
static const char content_script[] =
	"[ -e \"$1\" ] || exit 44; "
	"find \"$1\" -type f -name \"$2\" -exec grep -HIFnZe \"$4\" -- {} + 2>/dev/null | "
	"cut -b 1-8000 | head -n $(($3 + 1))";

/* ------------------------------------------------------------- starting one */

static void start_with(struct rf_api_call *call, const char *script, const char *first,
		       const char *second, const struct rf_job_ops *ops)
{
	const struct rf_file_task task = {
		.script = script,
		.words = { first, second },
		.output_limit = LIST_MOST,
		.timeout = TIME_S,
		.ops = ops,
	};

	rf_file_task_start(call, &task);
}

static void start(struct rf_api_call *call, const char *script, const struct rf_job_ops *ops)
{
	struct rf_api_error error;
	char path[RF_FILE_PATH];

	if (rf_file_task_path(call, "path", path, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		start_with(call, script, path, NULL, ops);
}

static void on_done(void *data)
{
	struct rf_api_call *call = data;
	struct rf_buf none = { 0 };

	if (rf_file_task_went_well(call, NULL))
		rf_api_call_answer(call, 204, &none);
	rf_file_task_end(call);
}

static const struct rf_job_ops done = { .on_end = on_done };

/* ------------------------------------------------------------- lists */

static const char *take_word(const char **at, const char *end)
{
	const char *word = *at, *nul = word < end ? memchr(word, '\0', (size_t)(end - word)) : NULL;

	*at = nul ? nul + 1 : end;
	return nul ? word : NULL;
}

static const char *type_of(const char *letter)
{
	return *letter == 'f'   ? "file"
	       : *letter == 'd' ? "folder"
	       : *letter == 'l' ? "link"
				: "other";
}

/* One, of five words; false at the end.  A name that is no UTF-8 is written with U+FFFD. */
static bool put_file(struct rf_json *json, const char *called, const char **at, const char *end)
{
	const char *type = take_word(at, end), *size = take_word(at, end),
		   *mode = take_word(at, end);
	const char *time = take_word(at, end), *name = take_word(at, end);
	double when_ms = time ? strtod(time, NULL) * 1000 : 0;

	if (!type || !size || !mode || !time || !name)
		return false;
	rf_json_open_object(json, NULL);
	rf_json_string(json, called, name);
	rf_json_string(json, "type", type_of(type));
	rf_json_int(json, "size", strtoll(size, NULL, 10));
	rf_json_string(json, "mode", mode);
	rf_json_int(json, "modified_ms", when_ms > -9e15 && when_ms < 9e15 ? (int64_t)when_ms : 0);
	rf_json_close_object(json);
	return true;
}

static void on_listed(void *data)
{
	struct rf_api_call *call = data;
	const struct rf_buf *bytes = &rf_job_result(call->job)->output[0];
	const char *at = bytes->data, *end = at + bytes->len;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64u << 20);
	rf_json_init(&json, &out, false);
	if (rf_file_task_went_well(call, NULL)) {
		rf_json_open_object(&json, NULL);
		rf_json_open_array(&json, "files");
		while (at && put_file(&json, "name", &at, end))
			;
		rf_json_close_array(&json);
		rf_json_close_object(&json);
		rf_buf_puts(&out, "\n");
		rf_api_call_answer(call, 200, &out);
	}
	rf_file_task_end(call);
}

static void on_stat(void *data)
{
	struct rf_api_call *call = data;
	const struct rf_buf *bytes = &rf_job_result(call->job)->output[0];
	const char *at = bytes->data;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64 * 1024);
	rf_json_init(&json, &out, false);
	if (rf_file_task_went_well(call, NULL)) {
		if (!at || !put_file(&json, "name", &at, at + bytes->len))
			rf_file_task_complain(call, RF_API_NOT_FOUND, "there is nothing there",
					      "list the folder above it");
		else
			rf_api_call_answer(call, 200, &out);
	}
	rf_file_task_end(call);
}

/* ------------------------------------------------------------- what is found */

/* One, of grep's words: a path, a NUL, the line's number, a colon, the line; false at the end. */
static bool put_line(struct rf_json *json, const char **at, const char *end)
{
	const char *path = *at, *nul = path < end ? memchr(path, '\0', (size_t)(end - path)) : NULL;
	const char *stop = nul ? memchr(nul, '\n', (size_t)(end - nul)) : NULL;
	char *text = NULL;
	long long number;
	size_t len;

	if (!stop)
		return false;
	number = strtoll(nul + 1, &text, 10);
	if (text < stop && *text == ':')
		text++;
	len = text < stop ? (size_t)(stop - text) : 0;
	rf_json_open_object(json, NULL);
	rf_json_string(json, "path", path);
	rf_json_int(json, "line", number);
	rf_json_bytes(json, "text", text, len < TEXT_MOST ? len : TEXT_MOST);
	rf_json_close_object(json);
	*at = stop + 1;
	return true;
}

static void on_found(void *data)
{
	struct rf_api_call *call = data;
	const struct rf_buf *bytes = &rf_job_result(call->job)->output[0];
	const unsigned long *limit = call->extra;
	bool is_content = limit[1] != 0;
	const char *at = bytes->data, *end = at + bytes->len;
	unsigned long n = 0;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64u << 20);
	rf_json_init(&json, &out, false);
	if (rf_file_task_went_well(call, NULL)) {
		rf_json_open_object(&json, NULL);
		rf_json_open_array(&json, "found");
		while (at && n < limit[0] &&
		       (is_content ? put_line(&json, &at, end) : put_file(&json, "path", &at, end)))
			n++;
		rf_json_close_array(&json);
		rf_json_bool(&json, "is_cut", at && at < end);
		rf_json_close_object(&json);
		rf_buf_puts(&out, "\n");
		rf_api_call_answer(call, 200, &out);
	}
	rf_file_task_end(call);
}

static int read_limit(const struct rf_api_call *call, unsigned long *ret_limit,
		      struct rf_api_error *error)
{
	char text[32];
	unsigned long long number = FOUND_USUAL;
	int got = rf_api_call_parameter(call, "limit", text, sizeof(text), error);

	if (got < 0)
		return -1;
	if (got > 0 && (rf_span_number(rf_span_of(text), FOUND_MOST, &number) < 0 || number < 1))
		return rf_api_error_say(error, RF_API_INVALID, "limit",
					"limit: it is no number from 1 to %d", FOUND_MOST);
	*ret_limit = (unsigned long)number;
	return 0;
}

void rf_serve_file_search(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_found };
	char path[RF_FILE_PATH], name[260] = "*", content[1000], count[32];
	unsigned long *limit = calloc(2, sizeof(*limit));
	struct rf_file_task task = { .words = { path, name, count },
				     .output_limit = 4 * LIST_MOST,
				     .timeout = TIME_S,
				     .ops = &ops };
	struct rf_api_error error;
	int has_name, has_content;

	call->extra = limit;
	if (!limit) {
		rf_exchange_abort(call->x);
		return;
	}
	if (rf_file_task_path(call, "path", path, &error) < 0 ||
	    (has_name = rf_api_call_parameter(call, "name", name, sizeof(name), &error)) < 0 ||
	    (has_content = rf_api_call_parameter(call, "content", content, sizeof(content),
						 &error)) < 0 ||
	    read_limit(call, limit, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if ((has_name && !name[0]) || (has_content && !content[0])) {
		rf_api_error_say(&error, RF_API_INVALID, has_name && !name[0] ? "name" : "content",
				 "name, content: one of them is empty");
		rf_api_error_hint(&error,
				  "leave it out, or say for example: ?path=/tmp&name=*.txt");
		rf_api_call_fail(call, &error);
		return;
	}
	snprintf(count, sizeof(count), "%lu", limit[0]);
	limit[1] = (unsigned long)has_content;
	task.script = has_content ? content_script : name_script;
	task.words[3] = has_content ? content : NULL;
	rf_file_task_start(call, &task);
}

/* ------------------------------------------------------------- who is asked */

void rf_serve_file_delete(struct rf_api_call *call)
{
	start(call, delete_script, &done);
}

void rf_serve_file_list(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_listed };

	start(call, list_script, &ops);
}

void rf_serve_file_stat(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_stat };

	start(call, stat_script, &ops);
}

/* Both are words of JSON. */
static bool read_order(struct rf_api_call *call, enum rf_order_kind kind)
{
	struct rf_api_error error;

	if (rf_order_read(kind, call->body.data ? call->body.data : "", call->body.len, true,
			  &call->front->tools, &call->order, &error) == 0)
		return true;
	rf_api_call_fail(call, &error);
	return false;
}

/* What an order says is gone with it, and the task's words are an order of their own. */
static void start_of_order(struct rf_api_call *call, const char *script)
{
	char *first = strdup(call->order.path);
	char *second = call->order.to ? strdup(call->order.to) : NULL;

	if (first && (second || !call->order.to))
		start_with(call, script, first, second, &done);
	else
		rf_exchange_abort(call->x);
	free(first);
	free(second);
}

void rf_serve_file_mkdir(struct rf_api_call *call)
{
	if (read_order(call, RF_ORDER_FOLDER))
		start_of_order(call, mkdir_script);
}

void rf_serve_file_move(struct rf_api_call *call)
{
	if (read_order(call, RF_ORDER_MOVE))
		start_of_order(call, move_script);
}
