/*
 * Files of a sandbox: read, written, listed and removed by programs of the box's own.
 *
 * What a path means is found within the box and with the box's rights: a link that was laid there leads nowhere that its programs could not go by themselves.
 * The cost is a program for each request (a shell, and cat, find or rm), and that the box's policy lets these be run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/front.h"
#include "server/handlers.h"

#define READ_MOST (16u << 20)
#define LIST_MOST (8u << 20)
#define PATH_MOST 4000
#define TIME_S    30

/* What the scripts end with. */
enum {
	NONE_THERE = 44,
	IS_FOLDER = 45,
	NOT_ALLOWED = 46
};

/* "$1" is the path; it is never part of the script. */
static const char read_script[] = "[ -e \"$1\" ] || exit 44; [ -d \"$1\" ] && exit 45; [ -r \"$1\" "
				  "] || exit 46; exec cat -- \"$1\"";
static const char write_script[] =
	"[ -d \"$1\" ] && exit 45; mkdir -p -- \"${1%/*}/\" 2>/dev/null || exit 46; "
	"cat >\"$1\" || { [ -w \"$1\" ] && exit 1; exit 46; }";
static const char delete_script[] =
	"[ -e \"$1\" ] || [ -L \"$1\" ] || exit 44; rm -rf -- \"$1\" || exit 46";
static const char list_script[] =
	"[ -e \"$1\" ] || exit 44; "
	"exec find -- \"$1\" -mindepth 1 -maxdepth 1 -printf '%y\\0%s\\0%m\\0%T@\\0%f\\0'";
static const char stat_script[] =
	"[ -e \"$1\" ] || [ -L \"$1\" ] || exit 44; "
	"exec find -- \"$1\" -maxdepth 0 -printf '%y\\0%s\\0%m\\0%T@\\0%f\\0'";

/* ------------------------------------------------------------- starting one */

static int read_path(const struct rf_api_call *call, char *path, struct rf_api_error *error)
{
	int got = rf_api_call_parameter(call, "path", path, PATH_MOST, error);

	if (got < 0)
		return -1;
	if (got == 0 || path[0] != '/') {
		rf_api_error_say(error, RF_API_INVALID, "path",
				 got ? "path: it is not absolute" : "path: it is missing");
		return rf_api_error_hint(error, "for example: ?path=/tmp/a.txt");
	}
	return 0;
}

static int make_order(struct rf_api_call *call, const char *script, const char *path)
{
	struct rf_order *order = &call->order;
	const char *const words[] = { "/bin/sh", "-c", script, "sh", path };

	*order = (struct rf_order){ .memory = rf_arena_new(), .timeout = TIME_S };
	order->argv =
		order->memory ? rf_arena_alloc(order->memory, 6 * sizeof(*order->argv)) : NULL;
	for (size_t i = 0; order->argv && i < 5; i++)
		order->argv[i] = rf_arena_copy(order->memory, words[i]);
	order->input = call->body.data;
	order->input_len = call->body.len;
	return order->argv && !order->memory->has_failed ? 0 : -ENOMEM;
}

static void start(struct rf_api_call *call, const char *script, const struct rf_job_ops *ops,
		  uint64_t limit)
{
	struct rf_job_task task = {
		.order = &call->order,
		.box = call->parts.part[0],
		.keeps_output = true,
		.output_limit = limit,
	};
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;
	char path[PATH_MOST];

	if (read_path(call, path, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (make_order(call, script, path) < 0)
		rf_fail(&err, -ENOMEM, "a file");
	else
		rf_job_start(call->front->loop, call->holder->fort, &task, ops, call, &call->job,
			     &err);
	if (err.code)
		rf_api_call_fail_with(call, &err, NULL);
}

/* ------------------------------------------------------------- what came of it */

static void complain(struct rf_api_call *call, enum rf_api_code code, const char *what,
		     const char *hint)
{
	struct rf_api_error error;

	rf_api_error_say(&error, code, "path", "path: %s", what);
	rf_api_error_hint(&error, "%s", hint);
	rf_api_call_fail(call, &error);
}

/* True if it went well; else that is answered. */
static bool went_well(struct rf_api_call *call, const struct rf_job *job)
{
	const struct rf_result *result = rf_job_result(job);
	struct rf_err err = result->error;

	if (rf_job_is_refused(job) || err.code) {
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
		return false;
	}
	if (result->is_truncated[0] || result->is_truncated[1])
		complain(call, RF_API_TOO_LARGE, "it is larger than one answer may be",
			 "read it with a program, in parts");
	else if (result->exit_code == NONE_THERE)
		complain(call, RF_API_NOT_FOUND, "there is nothing there",
			 "list the folder above it");
	else if (result->exit_code == IS_FOLDER)
		complain(call, RF_API_CONFLICT, "it is a folder", "use files/list");
	else if (result->exit_code == NOT_ALLOWED)
		complain(call, RF_API_REFUSED, "the sandbox may not do that there",
			 "write beneath /tmp or the home, or where its policy lets it");
	else if (result->status != RF_STATUS_OK || result->exit_code != 0)
		complain(call, RF_API_CONFLICT,
			 result->output[1].len && result->output[1].len < 300
				 ? result->output[1].data
				 : "it could not be done",
			 "the sandbox's own programs do it: look whether they can be run there");
	else
		return true;
	return false;
}

static void finish(struct rf_api_call *call)
{
	rf_job_free(call->job);
	call->job = NULL;
}

static void on_read(void *data)
{
	struct rf_api_call *call = data;
	const struct rf_buf *bytes;
	RF_AUTO_BUF struct rf_buf copy;

	rf_buf_init(&copy, READ_MOST);
	if (went_well(call, call->job)) {
		bytes = &rf_job_result(call->job)->output[0];
		if (bytes->len)
			rf_buf_add(&copy, bytes->data, bytes->len);
		rf_api_call_answer_bytes(call, 200, "application/octet-stream", &copy);
	}
	finish(call);
}

static void on_done(void *data)
{
	struct rf_api_call *call = data;
	struct rf_buf none = { 0 };

	if (went_well(call, call->job))
		rf_api_call_answer(call, 204, &none);
	finish(call);
}

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
static bool put_file(struct rf_json *json, const char **at, const char *end)
{
	const char *type = take_word(at, end), *size = take_word(at, end),
		   *mode = take_word(at, end);
	const char *time = take_word(at, end), *name = take_word(at, end);

	if (!type || !size || !mode || !time || !name)
		return false;
	rf_json_open_object(json, NULL);
	rf_json_string(json, "name", name);
	rf_json_string(json, "type", type_of(type));
	rf_json_int(json, "size", strtoll(size, NULL, 10));
	rf_json_string(json, "mode", mode);
	rf_json_int(json, "modified_ms", (int64_t)(strtod(time, NULL) * 1000));
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
	if (went_well(call, call->job)) {
		rf_json_open_object(&json, NULL);
		rf_json_open_array(&json, "files");
		while (at && put_file(&json, &at, end))
			;
		rf_json_close_array(&json);
		rf_json_close_object(&json);
		rf_buf_puts(&out, "\n");
		rf_api_call_answer(call, 200, &out);
	}
	finish(call);
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
	if (went_well(call, call->job)) {
		if (!at || !put_file(&json, &at, at + bytes->len))
			complain(call, RF_API_NOT_FOUND, "there is nothing there",
				 "list the folder above it");
		else
			rf_api_call_answer(call, 200, &out);
	}
	finish(call);
}

void rf_serve_file_read(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_read };

	start(call, read_script, &ops, READ_MOST);
}

void rf_serve_file_write(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_done };

	start(call, write_script, &ops, LIST_MOST);
}

void rf_serve_file_delete(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_done };

	start(call, delete_script, &ops, LIST_MOST);
}

void rf_serve_file_list(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_listed };

	start(call, list_script, &ops, LIST_MOST);
}

void rf_serve_file_stat(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_stat };

	start(call, stat_script, &ops, LIST_MOST);
}
