/* Files of a sandbox for MCP: see mcp-file.h. */
#include "server/mcp-file.h"

#include <stdlib.h>

#include "server/file-task.h"
#include "server/mcp-visit.h"

#define READ_MOST (4u << 20) /* of one file: a message has no room for more */
#define TIME_S    60

/* The size goes to standard error, so that it is known how much of the file is told. */
static const char read_script[] =
	"[ -e \"$1\" ] || exit 44; [ -d \"$1\" ] && exit 45; [ -r \"$1\" ] || exit 46; "
	"stat -Lc %s -- \"$1\" >&2; exec head -c 4194304 -- \"$1\"";
static const char write_script[] =
	"[ -d \"$1\" ] && exit 45; mkdir -p -- \"${1%/*}/\" 2>/dev/null || exit 46; "
	"cat >\"$1\" || { [ -w \"$1\" ] && exit 1; exit 46; }";

static void on_read(void *data)
{
	struct rf_api_call *call = data;
	RF_AUTO_BUF struct rf_buf copy;

	rf_buf_init(&copy, READ_MOST);
	if (rf_file_task_went_well(call, NULL)) {
		const struct rf_buf *output = rf_job_result(call->job)->output;

		if (output[0].len)
			rf_buf_add(&copy, output[0].data, output[0].len);
		if (output[1].len)
			call->visit->size = strtoull(output[1].data, NULL, 10);
		rf_api_call_answer_bytes(call, 200, "application/octet-stream", &copy);
	}
	rf_file_task_end(call);
}

static void on_written(void *data)
{
	struct rf_api_call *call = data;
	struct rf_buf none = { 0 };

	if (rf_file_task_went_well(call, NULL))
		rf_api_call_answer(call, 204, &none);
	rf_file_task_end(call);
}

static void start(struct rf_api_call *call, const char *script, const struct rf_job_ops *ops)
{
	char path[RF_FILE_PATH];
	const struct rf_file_task task = { .script = script,
					   .words = { path },
					   .output_limit = READ_MOST + 4096,
					   .timeout = TIME_S,
					   .input = { call->body.data, call->body.len },
					   .ops = ops };
	struct rf_api_error error;

	if (rf_file_task_path(call, "path", path, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		rf_file_task_start(call, &task);
}

void rf_mcp_file_read(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_read };

	start(call, read_script, &ops);
}

void rf_mcp_file_write(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_written };

	start(call, write_script, &ops);
}
