/* The ledger of a workspace: see ledger.h. */
#include "workspace/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"

#define FORMAT      2
#define COMMAND_MAX 200

bool rf_ledger_is_name(const char *text)
{
	static const char begins[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = strlen(text);

	if (len == 0 || len >= RF_LEDGER_NAME || !strchr(begins, text[0]))
		return false;
	for (const char *c = text; *c; c++)
		if (!strchr(begins, *c) && !strchr("-_.", *c))
			return false;
	return true;
}

/* ------------------------------------------------------------- writing */

static void format_point(struct rf_json *json, const struct rf_point *point)
{
	rf_json_open_object(json, NULL);
	rf_json_int(json, "id", point->id);
	rf_json_int(json, "parent", point->parent);
	rf_json_int(json, "began", point->began);
	rf_json_string(json, "layer", point->layer);
	rf_json_string(json, "name", point->name);
	rf_json_int(json, "time", point->time);
	rf_json_string(json, "command", point->command);
	rf_json_string(json, "agent", point->agent ? point->agent : "");
	rf_json_string(json, "status", point->status);
	rf_json_int(json, "changes", (int64_t)point->changes);
	rf_json_int(json, "bytes", (int64_t)point->bytes);
	rf_json_close_object(json);
}

static void format_apply(struct rf_json *json, const struct rf_apply_note *apply)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "inverse", apply->inverse);
	rf_json_int(json, "point", apply->point);
	rf_json_int(json, "since", apply->since);
	rf_json_int(json, "own", apply->is_own);
	rf_json_close_object(json);
}

void rf_ledger_format(const struct rf_ledger *ledger, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "format", FORMAT);
	rf_json_string(&json, "name", ledger->name);
	rf_json_string(&json, "base", ledger->base);
	rf_json_int(&json, "dev", (int64_t)ledger->dev);
	rf_json_int(&json, "ino", (int64_t)ledger->ino);
	rf_json_int(&json, "time", ledger->time);
	rf_json_int(&json, "head", ledger->head);
	rf_json_int(&json, "next", ledger->next);
	rf_json_int(&json, "applying", ledger->is_applying);
	rf_json_int(&json, "shadow", ledger->is_shadow);
	rf_json_open_array(&json, "applies");
	for (size_t i = 0; i < ledger->apply_count; i++)
		format_apply(&json, &ledger->applies[i]);
	rf_json_close_array(&json);
	rf_json_open_array(&json, "points");
	for (size_t i = 0; i < ledger->count; i++)
		format_point(&json, &ledger->points[i]);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* ------------------------------------------------------------- reading */

/* A reader that fails once and stays failed. */
struct reader {
	const struct rf_jsonread_value *object;
	struct rf_err *err;
};

static const struct rf_jsonread_value *member(struct reader *r, const char *name,
					      enum rf_jsonread_type type)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(r->object, name);

	if (value && value->type == type)
		return value;
	if (!r->err->code) {
		rf_fail_say(r->err, -EINVAL, value ? "%s is %s" : "%s is missing", name,
			    value ? rf_jsonread_kind(value) : "");
		r->err->line = value ? value->line : r->object->line;
		r->err->column = value ? value->column : r->object->column;
	}
	return NULL;
}

static uint64_t read_number(struct reader *r, const char *name, uint64_t max)
{
	const struct rf_jsonread_value *value = member(r, name, RF_JSONREAD_NUMBER);
	uint64_t number = 0;

	if (value && (rf_jsonread_u64(value, &number) < 0 || number > max) && !r->err->code)
		rf_fail_say(r->err, -EINVAL, "%s is out of bounds", name);
	return number;
}

/* Copies a string of at most `size` - 1 bytes. */
static void read_text(struct reader *r, const char *name, char *text, size_t size)
{
	const struct rf_jsonread_value *value = member(r, name, RF_JSONREAD_STRING);

	if (value && snprintf(text, size, "%s", value->text) >= (int)size && !r->err->code)
		rf_fail_say(r->err, -EINVAL, "%s is too long", name);
}

static char *read_string(struct reader *r, const char *name)
{
	const struct rf_jsonread_value *value = member(r, name, RF_JSONREAD_STRING);
	char *copy = value ? strdup(value->text) : NULL;

	if (value && !copy)
		rf_fail(r->err, -ENOMEM, "read %s", name);
	return copy;
}

/* Checks what the numbers and names of a point mean; `before` are those that came before it. */
static int check_point(const struct rf_ledger *ledger, const struct rf_point *point,
		       struct rf_err *err)
{
	uint32_t last = ledger->count ? ledger->points[ledger->count - 1].id : 0;

	if (point->id <= last || point->id >= ledger->next)
		return rf_fail_say(err, -EINVAL, "a point's id is %u", point->id);
	if (point->parent != 0 && !rf_ledger_point(ledger, point->parent))
		return rf_fail_say(err, -EINVAL, "point %u comes before its parent", point->id);
	if (point->began <= point->parent || point->began > point->id)
		return rf_fail_say(err, -EINVAL, "point %u began elsewhere", point->id);
	if (!rf_pool_is_id(point->layer))
		return rf_fail_say(err, -EINVAL, "point %u has no layer", point->id);
	if (point->name[0] && !rf_ledger_is_name(point->name))
		return rf_fail_say(err, -EINVAL, "point %u has a name that is none", point->id);
	return 0;
}

static int read_point(struct rf_ledger *ledger, const struct rf_jsonread_value *value,
		      struct rf_err *err)
{
	struct rf_point *point = &ledger->points[ledger->count];
	struct reader r = { value, err };

	if (value->type != RF_JSONREAD_OBJECT)
		return rf_fail_say(err, -EINVAL, "a point is %s", rf_jsonread_kind(value));
	*point = (struct rf_point){
		.id = (uint32_t)read_number(&r, "id", UINT32_MAX),
		.parent = (uint32_t)read_number(&r, "parent", UINT32_MAX),
		.began = (uint32_t)read_number(&r, "began", UINT32_MAX),
		.time = (int64_t)read_number(&r, "time", INT64_MAX),
		.changes = read_number(&r, "changes", INT64_MAX),
		.bytes = read_number(&r, "bytes", INT64_MAX),
	};
	read_text(&r, "layer", point->layer, sizeof(point->layer));
	read_text(&r, "name", point->name, sizeof(point->name));
	read_text(&r, "status", point->status, sizeof(point->status));
	if (err->code == 0)
		check_point(ledger, point, err);
	point->command = read_string(&r, "command");
	point->agent = read_string(&r, "agent");
	ledger->count++; /* so that it is freed in any case */
	return err->code;
}

static int read_points(struct reader *r, struct rf_ledger *ledger)
{
	const struct rf_jsonread_value *points = member(r, "points", RF_JSONREAD_ARRAY);

	if (!points)
		return r->err->code;
	if (points->count > RF_LEDGER_POINTS)
		return rf_fail_say(r->err, -E2BIG, "more than %d points", RF_LEDGER_POINTS);
	ledger->points = calloc(points->count + 1, sizeof(*ledger->points));
	if (!ledger->points)
		return rf_fail(r->err, -ENOMEM, "read the points");
	for (const struct rf_jsonread_value *p = points->first; p; p = p->next)
		if (read_point(ledger, p, r->err) < 0)
			return r->err->code;
	return 0;
}

static int read_apply(struct rf_ledger *ledger, const struct rf_jsonread_value *value,
		      struct rf_err *err)
{
	struct rf_apply_note *apply = &ledger->applies[ledger->apply_count];
	const struct rf_apply_note *before = ledger->apply_count ? apply - 1 : NULL;
	struct reader r = { value, err };

	if (value->type != RF_JSONREAD_OBJECT)
		return rf_fail_say(err, -EINVAL, "an apply is %s", rf_jsonread_kind(value));
	*apply = (struct rf_apply_note){
		.point = (uint32_t)read_number(&r, "point", UINT32_MAX),
		.since = (uint32_t)read_number(&r, "since", ledger->next),
		.is_own = read_number(&r, "own", 1),
	};
	read_text(&r, "inverse", apply->inverse, sizeof(apply->inverse));
	if (err->code)
		return err->code;
	if (!rf_pool_is_id(apply->inverse))
		return rf_fail_say(err, -EINVAL, "the inverse of an apply is no layer");
	if (before && before->since > apply->since)
		return rf_fail_say(err, -EINVAL, "an apply comes before an earlier one");
	ledger->apply_count++;
	return 0;
}

static int read_applies(struct reader *r, struct rf_ledger *ledger)
{
	const struct rf_jsonread_value *applies = member(r, "applies", RF_JSONREAD_ARRAY);

	if (!applies)
		return r->err->code;
	if (applies->count > RF_LEDGER_APPLIES)
		return rf_fail_say(r->err, -E2BIG, "more than %d applies", RF_LEDGER_APPLIES);
	ledger->applies = calloc(applies->count + 1, sizeof(*ledger->applies));
	if (!ledger->applies)
		return rf_fail(r->err, -ENOMEM, "read the applies");
	for (const struct rf_jsonread_value *a = applies->first; a; a = a->next)
		if (read_apply(ledger, a, r->err) < 0)
			return r->err->code;
	if (ledger->is_applying && !rf_ledger_last_apply(ledger))
		return rf_fail_say(r->err, -EINVAL, "an apply is under way, and there is none");
	return 0;
}

static int read_all(const struct rf_jsonread_value *root, struct rf_ledger *ledger,
		    struct rf_err *err)
{
	struct reader r = { root, err };

	if (root->type != RF_JSONREAD_OBJECT)
		return rf_fail_say(err, -EINVAL, "it is %s", rf_jsonread_kind(root));
	if (read_number(&r, "format", UINT32_MAX) != FORMAT && !err->code)
		return rf_fail_say(err, -EINVAL, "a format that this version does not know");
	read_text(&r, "name", ledger->name, sizeof(ledger->name));
	ledger->base = read_string(&r, "base");
	ledger->dev = read_number(&r, "dev", INT64_MAX);
	ledger->ino = read_number(&r, "ino", INT64_MAX);
	ledger->time = (int64_t)read_number(&r, "time", INT64_MAX);
	ledger->head = (uint32_t)read_number(&r, "head", UINT32_MAX);
	ledger->next = (uint32_t)read_number(&r, "next", UINT32_MAX);
	ledger->is_applying = read_number(&r, "applying", 1);
	if (rf_jsonread_member(root, "shadow")) /* older ones have none */
		ledger->is_shadow = read_number(&r, "shadow", 1);
	if (err->code)
		return err->code;
	if (!rf_ledger_is_name(ledger->name) || ledger->base[0] != '/')
		return rf_fail_say(err, -EINVAL, "its name or its base is none");
	if (read_applies(&r, ledger) < 0 || read_points(&r, ledger) < 0)
		return err->code;
	if (ledger->head != 0 && !rf_ledger_point(ledger, ledger->head))
		return rf_fail_say(err, -EINVAL, "its head is a point that it does not have");
	return 0;
}

int rf_ledger_parse(const char *text, size_t len, struct rf_ledger *ret_ledger, struct rf_err *err)
{
	struct rf_jsonread *json;
	int code;

	*ret_ledger = (struct rf_ledger){ 0 };
	*err = RF_ERR_INIT;
	if (rf_jsonread_parse(text, len, &json, err) < 0)
		return err->code;
	code = read_all(rf_jsonread_root(json), ret_ledger, err);
	rf_jsonread_free(json);
	return code;
}

/* ------------------------------------------------------------- points */

static void point_done(struct rf_point *point)
{
	free(point->command);
	free(point->agent);
}

void rf_ledger_done(struct rf_ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++)
		point_done(&ledger->points[i]);
	free(ledger->points);
	free(ledger->applies);
	free(ledger->base);
	*ledger = (struct rf_ledger){ 0 };
}

struct rf_point *rf_ledger_point(const struct rf_ledger *ledger, uint32_t id)
{
	size_t low = 0, high = ledger->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ledger->points[middle].id == id)
			return &ledger->points[middle];
		if (ledger->points[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct rf_point *rf_ledger_add(struct rf_ledger *ledger, const char *layer, const char *command)
{
	struct rf_point *points, *point;

	if (ledger->count == RF_LEDGER_POINTS || ledger->next == UINT32_MAX)
		return NULL;
	points = realloc(ledger->points, (ledger->count + 1) * sizeof(*points));
	if (!points)
		return NULL;
	ledger->points = points;
	point = &points[ledger->count];
	*point = (struct rf_point){ .id = ledger->next,
				    .parent = ledger->head,
				    .began = ledger->next,
				    .time = time(NULL) };
	snprintf(point->layer, sizeof(point->layer), "%s", layer);
	point->command = strndup(command, COMMAND_MAX);
	point->agent = strdup("");
	if (!point->command || !point->agent) {
		point_done(point);
		return NULL;
	}
	ledger->count++;
	ledger->head = ledger->next++;
	return point;
}

int rf_ledger_set_agent(struct rf_point *point, const char *agent)
{
	char *copy = strdup(agent);

	if (!copy)
		return -ENOMEM;
	free(point->agent);
	point->agent = copy;
	return 0;
}

uint32_t rf_ledger_root(const struct rf_ledger *ledger, uint32_t id)
{
	const struct rf_point *point = rf_ledger_point(ledger, id);

	while (point && point->parent)
		point = rf_ledger_point(ledger, point->parent);
	return point ? point->began : 0;
}

const char **rf_ledger_layers(const struct rf_ledger *ledger, uint32_t id, size_t *ret_runs)
{
	const char **layers = calloc(ledger->count + ledger->apply_count + 1, sizeof(*layers));
	uint32_t root = rf_ledger_root(ledger, id);
	size_t count = 0;

	if (!layers)
		return NULL;
	for (const struct rf_point *p = rf_ledger_point(ledger, id); p;
	     p = rf_ledger_point(ledger, p->parent))
		layers[count++] = p->layer;
	*ret_runs = count;
	for (size_t i = 0; root && i < ledger->apply_count; i++)
		if (ledger->applies[i].since > root)
			layers[count++] = ledger->applies[i].inverse;
	return layers;
}

/* ------------------------------------------------------------- applies */

struct rf_apply_note *rf_ledger_last_apply(const struct rf_ledger *ledger)
{
	struct rf_apply_note *last =
		ledger->apply_count ? &ledger->applies[ledger->apply_count - 1] : NULL;

	return last && last->is_own ? last : NULL;
}

struct rf_apply_note *rf_ledger_add_apply(struct rf_ledger *ledger, const char *inverse)
{
	struct rf_apply_note *applies;

	if (ledger->apply_count == RF_LEDGER_APPLIES)
		return NULL;
	applies = realloc(ledger->applies, (ledger->apply_count + 1) * sizeof(*applies));
	if (!applies)
		return NULL;
	ledger->applies = applies;
	applies += ledger->apply_count++;
	*applies = (struct rf_apply_note){ .point = ledger->head,
					   .since = ledger->next,
					   .is_own = true };
	snprintf(applies->inverse, sizeof(applies->inverse), "%s", inverse);
	return applies;
}

void rf_ledger_drop_apply(struct rf_ledger *ledger)
{
	ledger->apply_count -= ledger->apply_count > 0;
}

/* ------------------------------------------------------------- fewer points */

bool rf_ledger_is_spent(const struct rf_ledger *ledger)
{
	return ledger->is_shadow && !ledger->is_applying && ledger->apply_count == 0 &&
	       (ledger->count == 0 || (ledger->count == 1 && !ledger->points[0].name[0]));
}

void rf_ledger_prune(struct rf_ledger *ledger, const bool *keeps)
{
	size_t kept = 0;

	for (size_t i = 0; i < ledger->count; i++) {
		if (keeps[i])
			ledger->points[kept++] = ledger->points[i];
		else
			point_done(&ledger->points[i]);
	}
	ledger->count = kept;
}

int rf_ledger_find_point(const struct rf_ledger *ledger, const char *word, uint32_t *ret_id,
			 struct rf_err *err)
{
	char *end;
	unsigned long id;

	for (size_t i = ledger->count; i-- > 0;)
		if (strcmp(ledger->points[i].name, word) == 0) {
			*ret_id = ledger->points[i].id;
			return 0;
		}
	id = strtoul(word + 1, &end, 10);
	if (word[0] == '@' && word[1] && !*end &&
	    (id == 0 || rf_ledger_point(ledger, (uint32_t)id))) {
		*ret_id = (uint32_t)id;
		return 0;
	}
	rf_fail_say(err, -ENOENT, "workspace `%s` has no point `%.60s`", ledger->name, word);
	return rf_fail_hint(err, "`ringfort log -w %s` lists them: a checkpoint's name, or @ID",
			    ledger->name);
}
