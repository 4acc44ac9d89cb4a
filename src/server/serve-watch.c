/*
 * What changes in the files of a sandbox, as events: created, modified, removed, renamed.
 *
 * By looking again and again, with find(1) in the box: it works in every box and on every file system, and costs a walk through the tree each time.  What
 * comes and goes between two looks is not seen, and several changes of a file between two are one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "result/result.h"
#include "server/file-task.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/vigil.h"

#define INTERVAL_USUAL 500 /* milliseconds */
#define INTERVAL_LEAST 100
#define INTERVAL_MOST  60000
#define DEPTH_MOST     64
#define WAITING_MOST   (4u << 20) /* bytes of changes that nobody has read */
#define WATCHES        64         /* at once, of all */
#define WATCHES_OF_ONE 8          /* and of one key */

/* One word too many says that there are more files than are told. */
static const char script[] =
	"[ -e \"$1\" ] || exit 44; while :; do "
	"find \"$1\" -maxdepth \"$3\" -printf '%i\\0%y\\0%s\\0%T@\\0%P\\0' 2>/dev/null | head -z "
	"-n 50005; "
	"printf '%s\\0%s\\0%s\\0%s\\0%s\\0' - - - - - || exit 0; sleep \"$2\" || exit 0; done";

struct watch {
	struct rf_vigil *vigil;
	char path[RF_FILE_PATH];
	bool is_counted;
};

static const char *const names[] = {
	[RF_VIGIL_CREATED] = "created",
	[RF_VIGIL_MODIFIED] = "modified",
	[RF_VIGIL_REMOVED] = "removed",
	[RF_VIGIL_RENAMED] = "renamed",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == RF_VIGIL_CHANGES, "every change has a name");

static void on_gone(struct rf_api_call *call)
{
	struct watch *watch = call->extra;

	if (watch->is_counted) {
		call->front->watches--;
		call->holder->watches--;
	}
	rf_vigil_free(watch->vigil);
}

/* ------------------------------------------------------------- what is told */

static void put_path(struct rf_json *json, const char *name, const char *folder, const char *path)
{
	char whole[RF_FILE_PATH + RF_VIGIL_WORD];

	snprintf(whole, sizeof(whole), "%s%s%s", folder,
		 path[0] && folder[strlen(folder) - 1] != '/' ? "/" : "", path);
	rf_json_string(json, name, whole);
}

static void on_change(void *data, enum rf_vigil_change change, const char *path, const char *from,
		      char type)
{
	struct rf_api_call *call = data;
	const struct watch *watch = call->extra;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 256 * 1024);
	if (call->out.len - call->out_at >
	    WAITING_MOST) { /* one look at a folder can be very many */
		rf_exchange_abort(call->x);
		return;
	}
	rf_json_init(&json, &text, false);
	rf_json_open_object(&json, NULL);
	put_path(&json, "path", watch->path, path);
	if (from)
		put_path(&json, "from", watch->path, from);
	rf_json_string(&json, "type",
		       type == 'f'   ? "file"
		       : type == 'd' ? "folder"
		       : type == 'l' ? "link"
				     : "other");
	rf_json_close_object(&json);
	rf_api_call_event(call, names[change], &text);
}

/* From now on changes are seen. */
static void begin(struct rf_api_call *call)
{
	const struct watch *watch = call->extra;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 256);
	rf_api_call_begin_events(call);
	rf_buf_printf(&text, "{\"files\": %zu, \"is_cut\": %s}", rf_vigil_count(watch->vigil),
		      rf_vigil_is_cut(watch->vigil) ? "true" : "false");
	rf_api_call_event(call, "watching", &text);
	if (call->is_head) /* which asks for no events */
		rf_api_call_end(call);
}

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_api_call *call = data;
	const struct watch *watch = call->extra;
	int looks = stream == 1 ? rf_vigil_feed(watch->vigil, bytes, len) : 0;

	if (looks < 0)
		rf_exchange_abort(call->x); /* no find of ours */
	else if (looks > 0 && !call->is_stream)
		begin(call);
	if (rf_api_call_is_full(call))
		rf_job_pause(call->job, true);
}

static void on_end(void *data)
{
	struct rf_api_call *call = data;

	if (rf_file_task_went_well(call, NULL))
		rf_file_task_complain(call, RF_API_CONFLICT, "it can't be watched any more",
				      "look whether the sandbox is there");
	rf_file_task_end(call);
}

/* ------------------------------------------------------------- its start */

static int read_number(const struct rf_api_call *call, const char *name, unsigned least,
		       unsigned most, unsigned usual, unsigned *ret_number,
		       struct rf_api_error *error)
{
	char text[32];
	unsigned long long number = usual;
	int got = rf_api_call_parameter(call, name, text, sizeof(text), error);

	if (got < 0)
		return -1;
	if (got > 0 && (rf_span_number(rf_span_of(text), most, &number) < 0 || number < least)) {
		rf_api_error_say(error, RF_API_INVALID, name, "%s: it is no number from %u to %u",
				 name, least, most);
		return rf_api_error_hint(error, "leave it out for %u", usual);
	}
	*ret_number = (unsigned)number;
	return 0;
}

static bool is_room_for(struct rf_api_call *call, struct watch *watch)
{
	struct rf_api_error error;
	bool is_own = call->holder->watches >= WATCHES_OF_ONE;

	if (!is_own && call->front->watches < WATCHES) {
		watch->is_counted = true;
		call->front->watches++;
		call->holder->watches++;
		return true;
	}
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "%d folders are watched%s",
			 is_own ? WATCHES_OF_ONE : WATCHES, is_own ? " with this key" : "");
	rf_api_error_hint(&error, "end one of them, or watch a folder above");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

void rf_serve_file_watch(struct rf_api_call *call)
{
	static const struct rf_job_ops ops = { .on_output = on_output, .on_end = on_end };
	struct watch *watch = calloc(1, sizeof(*watch));
	unsigned interval = INTERVAL_USUAL, depth = DEPTH_MOST;
	char seconds[32], levels[16];
	struct rf_api_error error;
	struct rf_file_task task = { .script = script, .ops = &ops };

	if (watch)
		watch->vigil = rf_vigil_new(on_change, call);
	call->extra = watch;
	if (!watch || !watch->vigil) {
		rf_exchange_abort(call->x);
		return;
	}
	call->on_gone = on_gone;
	if (rf_file_task_path(call, "path", watch->path, &error) < 0 ||
	    read_number(call, "interval_ms", INTERVAL_LEAST, INTERVAL_MOST, INTERVAL_USUAL,
			&interval, &error) < 0 ||
	    read_number(call, "depth", 1, DEPTH_MOST, DEPTH_MOST, &depth, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	snprintf(seconds, sizeof(seconds), "%u.%03u", interval / 1000, interval % 1000);
	snprintf(levels, sizeof(levels), "%u", depth);
	task.words[0] = watch->path;
	task.words[1] = seconds;
	task.words[2] = levels;
	if (is_room_for(call, watch))
		rf_file_task_start(call, &task);
}
