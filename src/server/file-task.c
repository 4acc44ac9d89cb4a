/* Something done with the files of a sandbox: see file-task.h. */
#include "server/file-task.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "lib/fort.h"
#include "result/result.h"
#include "server/front.h"

int rf_file_task_path(const struct rf_api_call *call, const char *name, char path[RF_FILE_PATH],
		      struct rf_api_error *error)
{
	int got = rf_api_call_parameter(call, name, path, RF_FILE_PATH, error);

	if (got < 0)
		return -1;
	if (got > 0 && path[0] == '/')
		return 0;
	rf_api_error_say(error, RF_API_INVALID, name,
			 got ? "%s: it is not absolute" : "%s: it is missing", name);
	return rf_api_error_hint(error, "for example: ?%s=/tmp/a.txt", name);
}

/* ------------------------------------------------------------- starting one */

static int make_order(struct rf_api_call *call, const struct rf_file_task *task)
{
	static const char *const before[] = { "/bin/sh", "-c", NULL, "sh" };
	struct rf_order *order = &call->order;
	size_t n = 0;

	rf_order_done(order);
	*order = (struct rf_order){ .memory = rf_arena_new(), .timeout = task->timeout };
	order->argv = order->memory
			      ? rf_arena_alloc(order->memory, (RF_LEN(before) + RF_FILE_WORDS + 1) *
								      sizeof(*order->argv))
			      : NULL;
	if (!order->argv)
		return -ENOMEM;
	for (; n < RF_LEN(before); n++)
		order->argv[n] = rf_arena_copy(order->memory, before[n] ? before[n] : task->script);
	for (size_t i = 0; i < RF_FILE_WORDS && task->words[i]; i++)
		order->argv[n++] = rf_arena_copy(order->memory, task->words[i]);
	order->argv[n] = NULL;
	order->input = task->input.at;
	order->input_len = task->input.len;
	return order->memory->has_failed ? -ENOMEM : 0;
}

int rf_file_task_start(struct rf_api_call *call, const struct rf_file_task *task)
{
	struct rf_job_task job = {
		.order = &call->order,
		.box = call->parts.part[0],
		.keeps_output = !task->ops->on_output,
		.output_limit = task->output_limit,
		.leaves_input = task->leaves_input,
		.leaves_output = task->leaves_output,
	};
	struct rf_err err = RF_ERR_INIT;

	if (make_order(call, task) < 0)
		rf_fail(&err, -ENOMEM, "a file");
	else
		rf_job_start(call->front->loop, call->holder->fort, &job, task->ops, call,
			     &call->job, &err);
	if (!err.code)
		return 0;
	rf_api_call_fail_with(call, &err, NULL);
	return -1;
}

void rf_file_task_end(struct rf_api_call *call)
{
	rf_job_free(call->job);
	call->job = NULL;
}

/* ------------------------------------------------------------- what came of it */

void rf_file_task_complain(struct rf_api_call *call, enum rf_api_code code, const char *what,
			   const char *hint)
{
	struct rf_api_error error;

	rf_api_error_say(&error, code, "path", "path: %s", what);
	rf_api_error_hint(&error, "%s", hint);
	rf_api_call_fail(call, &error);
}

/* clang-format off */
static const struct { int code; enum rf_api_code is; const char *what, *hint; } ends[] = {
	{ RF_FILE_NONE,      RF_API_NOT_FOUND, "there is nothing there",             "list the folder above it" },
	{ RF_FILE_FOLDER,    RF_API_CONFLICT,  "it is a folder",                     "use files/list, or files/archive" },
	{ RF_FILE_NO_FOLDER, RF_API_CONFLICT,  "it is no folder",                    "use files" },
	{ RF_FILE_BEYOND,    RF_API_NO_RANGE,  "the file has no such part",          "files/stat tells its size" },
	{ RF_FILE_DENIED,    RF_API_REFUSED,   "the sandbox may not do that there",
	  "write beneath /tmp or the home, or where its policy lets it" },
};
/* clang-format on */

/* What its program said of its failure, in one line; "" for nothing that fits. */
static void quote(const struct rf_buf *said, char text[300])
{
	size_t n = 0;

	for (size_t i = 0; said->data && i < said->len && n < 299; i++) {
		unsigned char c = (unsigned char)said->data[i];

		if (c >= 0x80)
			c = '?';
		text[n++] = c < ' ' || c == 0x7f ? ' ' : (char)c;
	}
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
}

bool rf_file_task_went_well(struct rf_api_call *call, const struct rf_buf *said)
{
	const struct rf_result *result = rf_job_result(call->job);
	struct rf_err err = result->error;
	char words[300];

	if (rf_job_is_refused(call->job) || err.code) {
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
		return false;
	}
	for (size_t i = 0; i < RF_LEN(ends); i++)
		if (result->exit_code == ends[i].code) {
			rf_file_task_complain(call, ends[i].is, ends[i].what, ends[i].hint);
			return false;
		}
	quote(said ? said : &result->output[1], words);
	if (result->is_truncated[0] || result->is_truncated[1])
		rf_file_task_complain(call, RF_API_TOO_LARGE, "it is larger than one answer may be",
				      "ask for a part of it");
	else if (strstr(words, "No space left on device"))
		rf_file_task_complain(call, RF_API_TOO_LARGE,
				      "there is no room left in the sandbox",
				      "`limits.disk` is what it has");
	else if (result->status != RF_STATUS_OK || result->exit_code != 0)
		rf_file_task_complain(
			call, RF_API_CONFLICT, words[0] ? words : "it could not be done",
			"the sandbox's own programs do it: look whether they can be run there");
	else
		return true;
	return false;
}
