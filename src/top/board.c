/* What is shown: see board.h. */
#include "top/board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"

/* As the limits are called in policies, and by the watcher. */
const char *const rf_board_names[RF_BOARD_WHATS] = {
	[RF_BOARD_TIME] = "time", [RF_BOARD_CPU_TIME] = "cpu_time", [RF_BOARD_MEMORY] = "memory",
	[RF_BOARD_PIDS] = "pids", [RF_BOARD_DISK] = "disk",
};

unsigned rf_board_percent(const struct rf_board_use *use)
{
	if (use->used == RF_BOARD_UNKNOWN || use->limit == RF_BOARD_UNKNOWN || use->limit == 0)
		return 0;
	if (use->used >= use->limit)
		return 100;
	return (unsigned)((double)use->used * 100 / (double)use->limit);
}

const struct rf_board_box *rf_board_find(const struct rf_board *board, const char *id)
{
	for (size_t i = 0; i < board->box_count; i++)
		if (strcmp(board->boxes[i].id, id) == 0)
			return &board->boxes[i];
	return NULL;
}

/* ------------------------------------------------------------- members of an object */

/* Something that is not as it should be; the rest is not looked at then. */
struct reading {
	struct rf_err *err;
	int code;
};

static void reject(struct reading *reading, const char *name, const char *want)
{
	if (reading->code == 0)
		reading->code = rf_fail_say(reading->err, -EBADMSG,
					    "the watcher's answer: `%s` is not %s", name, want);
}

/* A text; "" for null. */
static const char *text_of(struct reading *reading, const struct rf_jsonread_value *object,
			   const char *name)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(object, name);

	if (value && value->type == RF_JSONREAD_STRING)
		return value->text;
	if (!value || value->type != RF_JSONREAD_NULL)
		reject(reading, name, "a text");
	return "";
}

/* A number; unknown for null. */
static uint64_t number_of(struct reading *reading, const struct rf_jsonread_value *object,
			  const char *name)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(object, name);
	uint64_t number = RF_BOARD_UNKNOWN;

	if (!value || (value->type != RF_JSONREAD_NULL && rf_jsonread_u64(value, &number) < 0))
		reject(reading, name, "a number");
	return number;
}

/* An object, or NULL for null. */
static const struct rf_jsonread_value *
object_of(struct reading *reading, const struct rf_jsonread_value *object, const char *name)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(object, name);

	if (value && value->type == RF_JSONREAD_OBJECT)
		return value;
	if (!value || value->type != RF_JSONREAD_NULL)
		reject(reading, name, "an object");
	return NULL;
}

/* ------------------------------------------------------------- rows */

static void read_box(struct reading *reading, const struct rf_jsonread_value *value, void *row)
{
	const struct rf_jsonread_value *limits = object_of(reading, value, "limits");
	const struct rf_jsonread_value *used = object_of(reading, value, "used");
	const struct rf_jsonread_value *breaker = object_of(reading, value, "breaker");
	struct rf_board_box *box = row;

	*box = (struct rf_board_box){
		.id = text_of(reading, value, "id"),
		.agent = text_of(reading, value, "agent"),
		.program = text_of(reading, value, "program"),
		.policy = text_of(reading, value, "policy"),
		.started = text_of(reading, value, "started"),
		.state = text_of(reading, value, "state"),
		.breaker = breaker ? text_of(reading, breaker, "state") : "",
		.breaker_reason = breaker ? text_of(reading, breaker, "reason") : "",
		.cpu_percent = used ? number_of(reading, used, "cpu") : RF_BOARD_UNKNOWN,
		.pid = number_of(reading, value, "pid"),
		.launcher = number_of(reading, value, "launcher"),
	};
	for (size_t i = 0; i < RF_BOARD_WHATS; i++)
		box->uses[i] = (struct rf_board_use){
			used ? number_of(reading, used, rf_board_names[i]) : RF_BOARD_UNKNOWN,
			limits ? number_of(reading, limits, rf_board_names[i]) : RF_BOARD_UNKNOWN,
		};
	if (!box->id[0] || strlen(box->id) >= RF_BOARD_ID)
		reject(reading, "id", "the id of a box");
}

static void read_breaker(struct reading *reading, const struct rf_jsonread_value *value, void *row)
{
	*(struct rf_board_breaker *)row = (struct rf_board_breaker){
		.kind = text_of(reading, value, "kind"),
		.name = text_of(reading, value, "name"),
		.state = text_of(reading, value, "state"),
		.reason = text_of(reading, value, "reason"),
		.failed = number_of(reading, value, "failed"),
		.refused = number_of(reading, value, "refused"),
		.retry_ms = number_of(reading, value, "retry_ms"),
	};
}

static void read_denial(struct reading *reading, const struct rf_jsonread_value *value, void *row)
{
	*(struct rf_board_denial *)row = (struct rf_board_denial){
		.time = text_of(reading, value, "time"),
		.agent = text_of(reading, value, "agent"),
		.box = text_of(reading, value, "box"),
		.what = text_of(reading, value, "what"),
	};
}

typedef void read_fn(struct reading *reading, const struct rf_jsonread_value *value, void *row);

/* An array of objects into rows of `size` bytes each; gives how many. */
static size_t read_rows(struct reading *reading, const struct rf_jsonread_value *array,
			const char *name, size_t size, read_fn *read, void *ret_rows)
{
	char *rows;
	size_t count = 0;

	if (!array || array->type != RF_JSONREAD_ARRAY) {
		reject(reading, name, "a list");
		return 0;
	}
	rows = calloc(array->count + 1, size);
	if (!rows) {
		reading->code = rf_fail(reading->err, -ENOMEM, "what is shown");
		return 0;
	}
	memcpy(ret_rows, &rows, sizeof(rows));
	for (const struct rf_jsonread_value *value = array->first; value; value = value->next) {
		if (value->type != RF_JSONREAD_OBJECT)
			reject(reading, name, "a list of objects");
		if (reading->code < 0)
			return count;
		read(reading, value, rows + size * count++);
	}
	return count;
}

static int fill(struct rf_board *board, struct rf_err *err)
{
	const struct rf_jsonread_value *root = rf_jsonread_root(board->texts[0]);
	struct reading reading = { err, 0 };
	bool is_object = root->type == RF_JSONREAD_OBJECT;

	board->box_count = read_rows(&reading, is_object ? rf_jsonread_member(root, "boxes") : NULL,
				     "boxes", sizeof(*board->boxes), read_box, &board->boxes);
	board->denial_count =
		read_rows(&reading, is_object ? rf_jsonread_member(root, "denials") : NULL,
			  "denials", sizeof(*board->denials), read_denial, &board->denials);
	board->breaker_count = read_rows(&reading, rf_jsonread_root(board->texts[1]), "breakers",
					 sizeof(*board->breakers), read_breaker, &board->breakers);
	return reading.code;
}

int rf_board_read(const char *boxes, size_t boxes_len, const char *breakers, size_t breakers_len,
		  struct rf_board **ret_board, struct rf_err *err)
{
	struct rf_board *board = calloc(1, sizeof(*board));
	int code;

	if (!board)
		return rf_fail(err, -ENOMEM, "what is shown");
	code = rf_jsonread_parse(boxes, boxes_len, &board->texts[0], err);
	if (code == 0)
		code = rf_jsonread_parse(breakers, breakers_len, &board->texts[1], err);
	if (code < 0)
		rf_fail_in(err, "the watcher's answer");
	else
		code = fill(board, err);
	if (code < 0) {
		rf_board_free(board);
		return code;
	}
	*ret_board = board;
	return 0;
}

void rf_board_free(struct rf_board *board)
{
	if (!board)
		return;
	for (size_t i = 0; i < RF_LEN(board->texts); i++)
		rf_jsonread_free(board->texts[i]);
	free(board->boxes);
	free(board->breakers);
	free(board->denials);
	free(board);
}
