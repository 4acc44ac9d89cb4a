/*
 * The bytes of a sandbox's files: read, whole or in part, and written; folders as archives, out and in.
 *
 * All are streams: what the client does not take waits in the box, what the box does not take waits at the client, and nothing here grows with them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "result/result.h"
#include "server/file-task.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/inlet.h"
#include "server/outflow.h"
#include "server/range.h"

#define SAID_MOST (64 * 1024) /* of what a program says on its standard error */

/*
 * The size goes ahead, on standard error, so that the head of the answer can tell it; and nothing is read before the answer to that is there: where to
 * begin.  What has no size (an archive, an empty file, one of /proc) is given as it comes.
 */
#define ASK "read -r from || exit 0; exec 2>/dev/null; "
static const char read_script[] =
	"[ -e \"$1\" ] || exit 44; [ -d \"$1\" ] && exit 45; [ -r \"$1\" ] || exit 46; "
	"stat -Lc 'size %s' -- \"$1\" >&2 || exit 1; " ASK
	"[ \"$from\" = 0 ] && exec cat -- \"$1\"; "
	"exec dd if=\"$1\" bs=262144 iflag=skip_bytes skip=\"$from\" status=none";
static const char write_script[] =
	"[ -d \"$1\" ] && exit 45; mkdir -p -- \"${1%/*}/\" 2>/dev/null || exit 46; "
	"cat >\"$1\" || { [ -w \"$1\" ] && exit 1; exit 46; }";
/* A folder is what is in it, so that it can be put elsewhere under another name; a file is itself.  That one changes meanwhile (1) is no failure. */
static const char pack_script[] = "[ -e \"$1\" ] || exit 44; [ -r \"$1\" ] || exit 46; what=.; "
				  "if [ -d \"$1\" ]; then cd -- \"$1\" || exit 46; else "
				  "cd -- \"${1%/*}/\" || exit 46; what=${1##*/}; fi; "
				  "command -v tar >/dev/null || exit 1; echo size 0 >&2; " ASK
				  "tar -cf - -- \"$what\"; [ $? -le 1 ]";
static const char unpack_script[] =
	"[ -e \"$1\" ] && [ ! -d \"$1\" ] && exit 48; mkdir -p -- \"$1\" 2>/dev/null || exit 46; "
	"[ -w \"$1\" ] || exit 46; cd -- \"$1\" || exit 46; "
	"exec tar --no-same-owner -xf -";

/* A transfer: what the call has beside its job. */
struct transfer {
	struct rf_inlet inlet;
	struct rf_outflow flow;
	struct rf_buf said; /* on standard error, ahead of the bytes */
	const char *type;   /* of what is answered */
	bool has_begun;     /* the answer */
	bool has_ended;     /* the program */
};

static void on_gone(struct rf_api_call *call)
{
	struct transfer *t = call->extra;

	rf_inlet_done(&t->inlet);
	rf_outflow_done(&t->flow);
	rf_buf_done(&t->said);
}

static struct transfer *make_transfer(struct rf_api_call *call)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t) {
		rf_exchange_abort(call->x);
		return NULL;
	}
	rf_buf_init(&t->said, SAID_MOST);
	call->extra = t;
	call->on_gone = on_gone;
	return t;
}

static bool read_path(struct rf_api_call *call, char path[RF_FILE_PATH])
{
	struct rf_api_error error;

	if (rf_file_task_path(call, "path", path, &error) == 0)
		return true;
	rf_api_call_fail(call, &error);
	return false;
}

/* What waited for the program is taken: more may come. */
static void on_taken(void *data)
{
	struct rf_api_call *call = data;

	rf_exchange_pause(call->x, false);
}

/* ------------------------------------------------------------- out of a box */

static void on_room(struct rf_api_call *call)
{
	struct transfer *t = call->extra;

	rf_outflow_go_on(&t->flow);
}

/* All that was promised is sent, or the connection is cut: a client can't take half for a whole. */
static void on_flown(struct rf_api_call *call)
{
	struct transfer *t = call->extra;
	bool is_good = !t->has_ended || !call->job || rf_job_result(call->job)->exit_code == 0;

	if (!t->has_ended && t->flow.left == UINT64_MAX)
		return; /* its end says whether this was all */
	if (is_good)
		rf_exchange_finish(call->x, (struct rf_fields){ 0 });
	else
		rf_exchange_abort(call->x);
	rf_file_task_end(call);
}

static void begin_flow(struct rf_api_call *call, uint64_t most)
{
	struct transfer *t = call->extra;
	struct rf_err err = RF_ERR_INIT;
	int fd = rf_job_take_end(call->job, 1);

	call->on_room = on_room;
	if (rf_outflow_init(&t->flow, call, &fd, most, on_flown, &err) < 0)
		rf_exchange_abort(call->x);
	else if (t->has_ended)
		rf_outflow_end(&t->flow);
}

/* The program is over: what it wrote may still be under way. */
static void on_out_end(void *data)
{
	struct rf_api_call *call = data;
	struct transfer *t = call->extra;

	t->has_ended = true;
	if (t->has_begun) {
		if (t->flow.is_over && call->job)
			on_flown(call);
		else
			rf_outflow_end(&t->flow);
		return;
	}
	if (rf_file_task_went_well(call, &t->said))
		rf_file_task_complain(call, RF_API_CONFLICT, "it could not be read",
				      "the sandbox's own programs do it: look whether they work");
	rf_file_task_end(call);
}

/* What to begin with; the script waits for it. */
static void ask_from(struct rf_api_call *call, uint64_t from)
{
	struct transfer *t = call->extra;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", from);
	rf_inlet_put(&t->inlet, rf_span_of(text));
	rf_inlet_end(&t->inlet);
}

/* Also where nothing more is wanted of it: the script ends then by itself. */
static void answer_head(struct rf_api_call *call, const char *type, uint64_t size)
{
	struct transfer *t = call->extra;
	struct rf_field fields[2] = { { RF_SPAN("Accept-Ranges"), RF_SPAN("bytes") } };
	struct rf_range range;
	bool has_range = size > 0 && rf_range_parse(call->range, &range);
	uint64_t first = 0, count = size;
	char text[80];

	t->has_begun = true;
	if (has_range && !rf_range_of(&range, size, &first, &count)) {
		rf_file_task_complain(call, RF_API_NO_RANGE, "the file has no such part",
				      "files/stat tells its size");
		rf_inlet_end(&t->inlet);
		return;
	}
	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first,
		 first + count - 1, size);
	fields[1] = (struct rf_field){ RF_SPAN("Content-Range"), rf_span_of(text) };
	rf_api_call_begin_bytes(call, has_range ? 206 : 200, type, size ? count : UINT64_MAX,
				(struct rf_fields){ fields, has_range ? 2
							    : size    ? 1
								      : 0 });
	if (call->is_head) {
		rf_exchange_finish(call->x, (struct rf_fields){ 0 });
		rf_inlet_end(&t->inlet);
		return;
	}
	ask_from(call, first);
	begin_flow(call, size ? count : UINT64_MAX);
}

/* The first line of its standard error is the size. */
static void on_said(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_api_call *call = data;
	struct transfer *t = call->extra;
	unsigned long long size;
	const char *end;

	if (stream != 2 || t->has_begun)
		return;
	rf_buf_add(&t->said, bytes, len);
	end = t->said.data ? memchr(t->said.data, '\n', t->said.len) : NULL;
	if (end && end - t->said.data > 5 && strncmp(t->said.data, "size ", 5) == 0 &&
	    rf_span_number((struct rf_span){ t->said.data + 5, (size_t)(end - t->said.data) - 5 },
			   INT64_MAX, &size) == 0)
		answer_head(call, t->type, size);
}

static void start_out(struct rf_api_call *call, const char *script, const char *type)
{
	static const struct rf_job_ops ops = { .on_output = on_said, .on_end = on_out_end };
	char path[RF_FILE_PATH];
	const struct rf_file_task task = { .script = script,
					   .words = { path },
					   .leaves_input = true,
					   .leaves_output = true,
					   .ops = &ops };
	struct rf_err err = RF_ERR_INIT;
	struct transfer *t;
	int fd;

	if (!read_path(call, path) || !(t = make_transfer(call)))
		return;
	t->type = type;
	if (rf_file_task_start(call, &task) < 0)
		return;
	fd = rf_job_take_end(call->job, 0);
	if (rf_inlet_init(&t->inlet, call->front->loop, &fd, on_taken, call, &err) < 0)
		rf_api_call_fail_with(call, &err, NULL);
}

void rf_serve_file_read(struct rf_api_call *call)
{
	start_out(call, read_script, "application/octet-stream");
}

void rf_serve_file_pack(struct rf_api_call *call)
{
	start_out(call, pack_script, "application/x-tar");
}

/* ------------------------------------------------------------- into a box */

/* The program runs, so the box is there: now the body is worth sending. */
static void on_in_started(void *data)
{
	struct rf_api_call *call = data;

	rf_exchange_pause(call->x, false);
}

static void on_in_end(void *data)
{
	struct rf_api_call *call = data;
	struct transfer *t = call->extra;
	struct rf_buf none = { 0 };

	if (rf_file_task_went_well(call, NULL)) {
		if (call->has_body_ended || t->inlet.is_broken)
			rf_api_call_answer(call, 204, &none);
		else
			rf_file_task_complain(call, RF_API_CONFLICT, "it was not read to its end",
					      "look what becomes of it in the sandbox");
	}
	rf_file_task_end(call);
}

static void on_bytes(struct rf_api_call *call, struct rf_span bytes)
{
	struct transfer *t = call->extra;

	if (!rf_inlet_put(&t->inlet, bytes))
		rf_exchange_pause(call->x, true);
}

static void on_bytes_end(struct rf_api_call *call)
{
	struct transfer *t = call->extra;

	rf_inlet_end(&t->inlet);
}

static void start_in(struct rf_api_call *call, const char *script)
{
	static const struct rf_job_ops ops = { .on_started = on_in_started, .on_end = on_in_end };
	char path[RF_FILE_PATH];
	const struct rf_file_task task = { .script = script,
					   .words = { path },
					   .output_limit = SAID_MOST,
					   .leaves_input = true,
					   .ops = &ops };
	struct rf_err err = RF_ERR_INIT;
	struct transfer *t;
	int fd;

	if (!read_path(call, path) || !(t = make_transfer(call)) ||
	    rf_file_task_start(call, &task) < 0)
		return;
	call->on_bytes = on_bytes;
	call->on_bytes_end = on_bytes_end;
	fd = rf_job_take_end(call->job, 0);
	if (rf_inlet_init(&t->inlet, call->front->loop, &fd, on_taken, call, &err) < 0)
		rf_api_call_fail_with(call, &err, NULL);
}

void rf_serve_file_write(struct rf_api_call *call)
{
	start_in(call, write_script);
}

void rf_serve_file_unpack(struct rf_api_call *call)
{
	struct rf_api_error error;
	size_t end = strcspn(call->type, "; ");

	if (end == strlen("application/x-tar") &&
	    strncasecmp(call->type, "application/x-tar", end) == 0) {
		start_in(call, unpack_script);
		return;
	}
	rf_api_error_say(&error, RF_API_NO_TYPE, "Content-Type", "the body must be a tar archive");
	rf_api_error_hint(&error, "send `Content-Type: application/x-tar`");
	rf_api_call_fail(call, &error);
}
