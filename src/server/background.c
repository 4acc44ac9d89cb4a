/* Programs that run in the background: see background.h. */
#include "server/background.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "lib/fort.h"
#include "result/result.h"

#define KEPT_BYTES (1u << 20) /* of what one wrote */
#define MOST       1024       /* of all sandboxes, those that have ended among them */
#define MOST_OWN   256        /* of one tenant */
#define PIPE_BYTES (256 * 1024)
#define READ_BYTES (256 * 1024) /* in one answer */

/* What a piece of output costs besides its bytes, here and in an answer: who writes byte by byte has less of it kept. */
#define CHUNK_COST 64

struct chunk {
	struct chunk *next;
	uint64_t at; /* the cursor of its first byte */
	size_t len;
	int stream;
	char bytes[];
};

struct rf_background {
	struct rf_background *next;
	struct rf_front *front;
	struct rf_holder *holder;
	char box[RF_ROUTE_PART];
	uint32_t number;
	struct rf_job *job; /* NULL: it has ended */
	int input;          /* or -1 */
	struct chunk *first, **last;
	size_t chunks;
	uint64_t begins, ends;       /* cursors of what is kept */
	struct rf_api_call *starter; /* that has not been answered, or NULL */
	struct rf_api_call *waiting; /* for more; or NULL */
	struct rf_buf result;        /* once it has ended */
};

static void free_one(struct rf_background *program)
{
	while (program->first) {
		struct chunk *chunk = program->first;

		program->first = chunk->next;
		free(chunk);
	}
	rf_job_free(program->job);
	rf_fd_done(&program->input);
	rf_holder_unref(program->holder);
	rf_buf_done(&program->result);
	free(program);
}

static void unlink_one(struct rf_background *program)
{
	struct rf_background **at = &program->front->programs;

	while (*at && *at != program)
		at = &(*at)->next;
	if (*at) {
		*at = program->next;
		program->front->program_count--;
	}
}

void rf_background_free_all(struct rf_front *front)
{
	while (front->programs) {
		struct rf_background *program = front->programs;

		front->programs = program->next;
		free_one(program);
	}
	front->program_count = 0;
}

/* ------------------------------------------------------------- what it writes */

/* Who waits is called once; what it asks for then may make it wait again. */
static void wake(struct rf_background *program)
{
	struct rf_api_call *call = program->waiting;

	program->waiting = NULL;
	while (call) {
		struct rf_api_call *next = call->next_waiting;

		call->next_waiting = NULL;
		call->on_gone = NULL;
		call->go(call);
		call = next;
	}
}

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_background *program = data;
	struct chunk *chunk = malloc(sizeof(*chunk) + len);

	if (chunk) {
		*chunk = (struct chunk){ .at = program->ends, .len = len, .stream = stream };
		memcpy(chunk->bytes, bytes, len);
		*program->last = chunk;
		program->last = &chunk->next;
		program->chunks++;
	}
	program->ends += len; /* what there is no memory for is left out, as what is too old */
	while (program->first &&
	       program->ends - program->first->at + program->chunks * CHUNK_COST > KEPT_BYTES) {
		struct chunk *oldest = program->first;

		program->first = oldest->next;
		if (!program->first)
			program->last = &program->first;
		program->chunks--;
		free(oldest);
	}
	program->begins = program->first ? program->first->at : program->ends;
	wake(program);
}

static void put_chunk(const struct chunk *chunk, size_t from, size_t len, struct rf_json *json)
{
	const char *bytes = chunk->bytes + from;
	bool is_text = rf_json_is_utf8(bytes, len);

	rf_json_open_object(json, NULL);
	rf_json_string(json, "stream", chunk->stream == 1 ? "stdout" : "stderr");
	if (is_text)
		rf_json_bytes(json, "data", bytes, len);
	else
		rf_json_base64(json, "data", bytes, len);
	rf_json_string(json, "encoding", is_text ? "utf-8" : "base64");
	rf_json_close_object(json);
}

bool rf_background_read(const struct rf_background *program, uint64_t cursor, struct rf_buf *out)
{
	uint64_t from = cursor > program->begins ? cursor : program->begins, at = from;
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "events");
	for (const struct chunk *chunk = program->first; chunk && at - from < READ_BYTES;
	     chunk = chunk->next) {
		uint64_t end = chunk->at + chunk->len;

		if (end <= at)
			continue;
		put_chunk(chunk, at > chunk->at ? (size_t)(at - chunk->at) : 0,
			  (size_t)(end - (at > chunk->at ? at : chunk->at)), &json);
		at = end;
	}
	rf_json_close_array(&json);
	rf_json_int(&json, "cursor", (int64_t)at);
	rf_json_int(&json, "lost", (int64_t)(from - (cursor < from ? cursor : from)));
	rf_json_bool(&json, "ended", !program->job && at >= program->ends);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
	return at > from || !program->job;
}

static void stop_waiting(struct rf_api_call *call)
{
	for (struct rf_background *program = call->front->programs; program;
	     program = program->next)
		for (struct rf_api_call **at = &program->waiting; *at; at = &(*at)->next_waiting)
			if (*at == call) {
				*at = call->next_waiting;
				return;
			}
}

void rf_background_await(struct rf_background *program, struct rf_api_call *call,
			 void (*fn)(struct rf_api_call *call))
{
	call->go = fn;
	call->on_gone = stop_waiting;
	call->next_waiting = program->waiting;
	program->waiting = call;
}

void rf_background_describe(const struct rf_background *program, struct rf_buf *out)
{
	rf_buf_printf(out, "{\"number\": %u, \"state\": \"%s\", \"result\": ", program->number,
		      program->job ? "running" : "ended");
	if (program->job || !program->result.len)
		rf_buf_puts(out, "null");
	else
		rf_buf_add(out, program->result.data, program->result.len);
	rf_buf_puts(out, "}\n");
}

/* ------------------------------------------------------------- its life */

static void on_started(void *data)
{
	struct rf_background *program = data;
	struct rf_api_call *call = program->starter;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	program->number = rf_job_number(program->job);
	program->starter = NULL;
	if (!call)
		return; /* who asked is gone, and it goes on */
	call->on_gone = NULL;
	call->extra = NULL;
	rf_background_describe(program, &out);
	rf_api_call_answer(call, 202, &out);
}

static void on_end(void *data)
{
	struct rf_background *program = data;
	struct rf_api_call *call = program->starter;
	struct rf_job *job = program->job;

	if (call) { /* it never ran */
		struct rf_err err = rf_job_result(job)->error;

		if (err.code >= 0)
			rf_fail_say(&err, -EIO, "the program could not be started");
		call->on_gone = NULL;
		call->extra = NULL;
		unlink_one(program);
		free_one(program);
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
		return;
	}
	rf_buf_init(&program->result, 16u << 20);
	rf_result_json(rf_job_result(job), false, &program->result);
	while (program->result.len && program->result.data[program->result.len - 1] == '\n')
		program->result.len--;
	program->job = NULL;
	rf_job_free(job);
	rf_fd_done(&program->input);
	wake(program);
}

static const struct rf_job_ops ops = { .on_output = on_output,
				       .on_started = on_started,
				       .on_end = on_end };

/* Who asked goes before it was answered: the program goes on. */
static void leave_starter(struct rf_api_call *call)
{
	for (struct rf_background *program = call->front->programs; program;
	     program = program->next)
		if (program->starter == call)
			program->starter = NULL;
}

/* The oldest that has ended makes room; where all run, there is none. */
static int make_room(struct rf_front *front, const struct rf_holder *holder, struct rf_err *err)
{
	struct rf_background *oldest = NULL, *own = NULL;
	size_t owned = 0;

	for (struct rf_background *at = front->programs; at; at = at->next) {
		bool is_own = strcmp(at->holder->pass.tenant, holder->pass.tenant) == 0;

		owned += is_own;
		if (!at->job && !at->waiting) { /* new ones come first */
			oldest = at;
			own = is_own ? at : own;
		}
	}
	if (owned < MOST_OWN && front->program_count < MOST)
		return 0;
	if (owned >= MOST_OWN || own) /* a tenant's are in the way of its own first */
		oldest = own;
	if (!oldest)
		return rf_fail_say(err, -EDQUOT, "%zu programs run in the background",
				   owned >= MOST_OWN ? owned : front->program_count);
	unlink_one(oldest);
	free_one(oldest);
	return 0;
}

static int open_input(const struct rf_order *order, int pair[2], struct rf_err *err)
{
	if (pipe2(pair, O_CLOEXEC) < 0)
		return rf_fail(err, -errno, "a pipe");
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	fcntl(pair[1], F_SETPIPE_SZ, PIPE_BYTES);
	if (order->input_len &&
	    write(pair[1], order->input, order->input_len) != (ssize_t)order->input_len)
		return rf_fail_say(
			err, -E2BIG,
			"stdin: a program in the background begins with less than 256 KiB");
	return 0;
}

static int begin(struct rf_background *program, struct rf_api_call *call, struct rf_err *err)
{
	struct rf_order order = call->order;
	struct rf_job_task task = { .order = &order,
				    .box = program->box,
				    .is_background = true,
				    .output_limit = UINT64_MAX };
	int pair[2] = { -1, -1 }, code;

	code = open_input(&call->order, pair, err);
	order.input = NULL;
	order.input_len = 0;
	task.input = pair[0];
	program->input = pair[1];
	if (code == 0)
		code = rf_job_start(program->front->loop, program->holder->fort, &task, &ops,
				    program, &program->job, err);
	rf_fd_done(&pair[0]);
	return code;
}

void rf_background_start(struct rf_api_call *call)
{
	struct rf_front *front = call->front;
	struct rf_background *program = calloc(1, sizeof(*program));
	struct rf_err err = RF_ERR_INIT;

	if (!program || make_room(front, call->holder, &err) < 0) {
		free(program);
		if (!err.code)
			rf_fail(&err, -ENOMEM, "a program");
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	program->front = front;
	program->holder = rf_holder_ref(call->holder);
	program->input = -1;
	program->last = &program->first;
	memcpy(program->box, call->parts.part[0], sizeof(program->box));
	if (begin(program, call, &err) < 0) {
		free_one(program);
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	program->starter = call;
	call->on_gone = leave_starter;
	program->next = front->programs;
	front->programs = program;
	front->program_count++;
	front->figures.programs++;
}

struct rf_background *rf_background_find(struct rf_api_call *call)
{
	unsigned long long number = 0;
	struct rf_api_error error;

	if (rf_span_number(rf_span_of(call->parts.part[1]), UINT32_MAX, &number) == 0)
		for (struct rf_background *at = call->front->programs; at; at = at->next)
			if (at->number == number && number &&
			    strcmp(at->box, call->parts.part[0]) == 0 &&
			    strcmp(at->holder->pass.tenant, call->holder->pass.tenant) == 0)
				return at;
	rf_api_error_say(&error, RF_API_NOT_FOUND, "number",
			 "no program of this number was begun in the background");
	rf_api_error_hint(&error, "POST exec with `background` gives one");
	rf_api_call_fail(call, &error);
	return NULL;
}

int rf_background_write(struct rf_background *program, const void *data, size_t len, bool is_last,
			struct rf_err *err)
{
	if (program->input < 0)
		return rf_fail_say(err, -EBUSY, "its standard input has ended");
	if (len > PIPE_BUF)
		return rf_fail_say(err, -E2BIG, "more than %d bytes at a time", PIPE_BUF);
	/* A pipe takes so little as a whole, or not at all. */
	if (len > 0 && write(program->input, data, len) < 0) {
		bool is_full = errno == EAGAIN;

		rf_fail_say(err, -EBUSY,
			    is_full ? "it has not read what was written before"
				    : "it reads no more");
		return is_full ? rf_fail_hint(err, "try again later") : err->code;
	}
	if (is_last)
		rf_fd_done(&program->input);
	return 0;
}

int rf_background_signal(struct rf_background *program, int signal, struct rf_err *err)
{
	if (!program->job)
		return rf_fail_say(err, -EBUSY, "it has ended");
	return rf_job_signal(program->job, signal, err);
}
