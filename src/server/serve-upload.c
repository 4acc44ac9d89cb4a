/*
 * Several files in one request: multipart/form-data, as forms of pages and most libraries send it.
 *
 * Each part that has a file's name is written by a program of the box as it comes, one after the other, so that what lies here is never more than
 * what the client has sent ahead.  Where it goes: to `path` if that is a file or nothing yet, beneath it if it is a folder or ends in a slash; and without
 * `path`, where its own name says, from the box's home.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "result/result.h"
#include "server/file-task.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/inlet.h"
#include "server/multipart.h"

#define SAID_MOST (64 * 1024)
#define TOLD_MOST (4u << 20)

/* Says where it has written to, and how much. */
static const char script[] =
	"p=$1; case \"$2\" in /*) n=${2##*/};; *) n=$2;; esac; "
	"if [ -z \"$p\" ]; then p=$2; case \"$p\" in /*) ;; *) p=${HOME:-/tmp}/$p;; esac; "
	"elif [ -d \"$p\" ] || [ \"${p%/}\" != \"$p\" ]; then p=${p%/}/$n; fi; "
	"[ -d \"$p\" ] && exit 45; mkdir -p -- \"${p%/*}/\" 2>/dev/null || exit 46; "
	"cat >\"$p\" || { [ -w \"$p\" ] && exit 1; exit 46; }; printf '%s' \"$p\"";

struct upload {
	struct rf_multipart reader;
	struct rf_inlet inlet;
	struct rf_buf told; /* of the files that are written: JSON */
	struct rf_json json;
	char path[RF_FILE_PATH];    /* "": none was said */
	char last[RF_FILE_PATH];    /* where the last one went */
	uint64_t size;              /* of the part, so far */
	bool is_writing, has_ended; /* a part is under way; the last boundary was there */
	unsigned count;
};

static void go_on(struct rf_api_call *call);

static void on_gone(struct rf_api_call *call)
{
	struct upload *u = call->extra;

	rf_inlet_done(&u->inlet);
	rf_buf_done(&u->told);
}

static void refuse(struct rf_api_call *call, enum rf_api_code code, const char *where,
		   const char *what, const char *hint)
{
	struct rf_api_error error;

	rf_api_error_say(&error, code, where, "%s: %s", where, what);
	rf_api_error_hint(&error, "%s", hint);
	rf_api_call_fail(call, &error);
}

/* ------------------------------------------------------------- one file */

/* What was before it is written; the client may send more. */
static void on_taken(void *data)
{
	struct rf_api_call *call = data;

	rf_exchange_pause(call->x, false);
	go_on(call);
}

static void on_written(void *data)
{
	struct rf_api_call *call = data;
	struct upload *u = call->extra;
	const struct rf_buf *said = &rf_job_result(call->job)->output[0];
	bool is_good = rf_file_task_went_well(call, NULL);

	/* A program of the sandbox says it, and may be any. */
	if (is_good &&
	    (said->len == 0 || said->len >= sizeof(u->last) ||
	     memchr(said->data, '\0', said->len) || !memchr(said->data, '/', said->len))) {
		refuse(call, RF_API_CONFLICT, "path",
		       "the sandbox does not say where it was written",
		       "its own programs do it: look whether they work");
		is_good = false;
	}
	if (is_good) {
		if (u->count > 0 && strcmp(said->data, u->last) == 0) {
			refuse(call, RF_API_INVALID, "path", "two files would be one",
			       "let it end in a slash, and files go beneath it");
			is_good = false;
		} else {
			memcpy(u->last, said->data, said->len + 1);
			rf_json_open_object(&u->json, NULL);
			rf_json_string(&u->json, "path", u->last);
			rf_json_string(&u->json, "name", strrchr(u->last, '/') + 1);
			rf_json_string(&u->json, "type", "file");
			rf_json_int(&u->json, "size", (int64_t)u->size);
			rf_json_close_object(&u->json);
			u->count++;
		}
	}
	rf_inlet_done(&u->inlet);
	rf_file_task_end(call);
	u->is_writing = false;
	if (!is_good)
		return;
	rf_exchange_pause(call->x, false);
	go_on(call);
}

/* A name from elsewhere names a file, and not a way around. */
static bool is_name(const char *name)
{
	const char *at = name;

	while (*at) {
		size_t len = strcspn(at, "/");

		if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += len + (at[len] == '/');
	}
	return name[0] && name[strlen(name) - 1] != '/' && strlen(name) < RF_MULTIPART_NAME &&
	       rf_json_is_utf8(name, strlen(name));
}

static bool begin_file(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_end = on_written };
	struct upload *u = call->extra;
	const struct rf_file_task task = { .script = script,
					   .words = { u->path, u->reader.name },
					   .output_limit = SAID_MOST,
					   .leaves_input = true,
					   .ops = &ops };
	struct rf_err err = RF_ERR_INIT;
	int fd;

	if (!is_name(u->reader.name)) {
		refuse(call, RF_API_INVALID, "filename", "it is no name of a file",
		       "without `.` and `..`, in UTF-8");
		return false;
	}
	u->size = 0;
	if (rf_file_task_start(call, &task) < 0)
		return false;
	u->is_writing = true;
	fd = rf_job_take_end(call->job, 0);
	if (rf_inlet_init(&u->inlet, call->front->loop, &fd, on_taken, call, &err) == 0)
		return true;
	rf_api_call_fail_with(call, &err, NULL);
	return false;
}

/* ------------------------------------------------------------- the body */

static void answer(struct rf_api_call *call)
{
	struct upload *u = call->extra;

	if (u->count == 0) {
		refuse(call, RF_API_INVALID, "body", "there is no file in it",
		       "a part with a `filename` is one");
		return;
	}
	rf_json_close_array(&u->json);
	rf_json_close_object(&u->json);
	rf_buf_puts(&u->told, "\n");
	rf_api_call_answer(call, 200, &u->told);
}

/* One event of the body.  False if it has to wait, or is over. */
static bool take(struct rf_api_call *call, enum rf_multipart_event event)
{
	struct upload *u = call->extra;

	switch (event) {
	case RF_MULTIPART_PART:
		return !u->reader.is_file || begin_file(call);
	case RF_MULTIPART_DATA:
		if (!u->is_writing)
			return true; /* a field of a form: nothing here asks for one */
		u->size += u->reader.data.len;
		return rf_inlet_put(&u->inlet, u->reader.data);
	case RF_MULTIPART_PART_END:
		if (u->is_writing)
			rf_inlet_end(&u->inlet);
		return !u->is_writing; /* else on_written() goes on */
	case RF_MULTIPART_END:
		u->has_ended = true;
		return true;
	case RF_MULTIPART_BAD:
		refuse(call, RF_API_MALFORMED, "body", "it is no multipart/form-data",
		       "let a library write it");
		return false;
	default:
		return false;
	}
}

/* Reads on in what has come, until there is no more of it or something has to be waited for. */
static void go_on(struct rf_api_call *call)
{
	struct upload *u = call->extra;
	enum rf_multipart_event event = RF_MULTIPART_MORE;
	size_t at = 0, used;
	bool goes_on = true;

	while (goes_on && call->state == RF_API_WORK) {
		event = rf_multipart_next(
			&u->reader, (struct rf_span){ call->body.data + at, call->body.len - at },
			&used);
		at += used;
		goes_on = take(call, event);
	}
	if (at > 0 && at < call->body.len)
		memmove(call->body.data, call->body.data + at, call->body.len - at);
	call->body.len -= at;
	if (call->state != RF_API_WORK)
		return;
	if (event != RF_MULTIPART_MORE)
		rf_exchange_pause(call->x, true); /* for a program of the box */
	else if (call->has_body_ended && u->has_ended)
		answer(call);
	else if (call->has_body_ended)
		refuse(call, RF_API_MALFORMED, "body", "its last boundary is missing",
		       "let a library write it");
}

static void on_bytes(struct rf_api_call *call, struct rf_span bytes)
{
	rf_buf_add(&call->body, bytes.at, bytes.len);
	if (call->body.has_failed)
		rf_exchange_abort(call->x); /* it sends though it was asked to wait */
	else
		go_on(call);
}

static void on_bytes_end(struct rf_api_call *call)
{
	go_on(call);
}

void rf_serve_file_upload(struct rf_api_call *call)
{
	struct upload *u = calloc(1, sizeof(*u));
	struct rf_api_error error;
	int got;

	if (!u) {
		rf_exchange_abort(call->x);
		return;
	}
	call->extra = u;
	call->on_gone = on_gone;
	rf_buf_init(&u->told, TOLD_MOST);
	rf_json_init(&u->json, &u->told, false);
	rf_json_open_object(&u->json, NULL);
	rf_json_open_array(&u->json, "files");
	if (!rf_multipart_init(&u->reader, rf_span_of(call->type))) {
		refuse(call, RF_API_NO_TYPE, "Content-Type", "it is no form with files",
		       "send `multipart/form-data` with a boundary");
		return;
	}
	got = rf_api_call_parameter(call, "path", u->path, sizeof(u->path), &error);
	if (got > 0 && u->path[0] != '/') {
		rf_api_error_say(&error, RF_API_INVALID, "path", "path: it is not absolute");
		rf_api_error_hint(&error, "leave it out, or say for example: ?path=/tmp/");
		got = -1;
	}
	if (got < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	call->on_bytes = on_bytes;
	call->on_bytes_end = on_bytes_end;
	rf_exchange_pause(call->x, false);
}
