/*
 * JSON from strangers: what is read has positions that only go forward, strings that are UTF-8, and
 * names that stand once; what is not read is refused with its place.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "base/limits.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_before(int line, int column, const struct rf_jsonread_value *value)
{
	return line < value->line || (line == value->line && column < value->column);
}

static void walk(const struct rf_jsonread_value *value, int depth)
{
	size_t count = 0;
	uint64_t number;

	require(depth <= RF_MAX_JSON_DEPTH && value->line > 0 && value->column > 0);
	require((value->type == RF_JSONREAD_STRING || value->type == RF_JSONREAD_NUMBER) ==
		(value->text != NULL));
	if (value->text)
		require(rf_json_is_utf8(value->text, strlen(value->text)));
	if (value->text && rf_jsonread_u64(value, &number) == 0)
		require(value->type == RF_JSONREAD_NUMBER &&
			strspn(value->text, "0123456789") == strlen(value->text));
	for (const struct rf_jsonread_value *v = value->first; v; v = v->next) {
		require((v->name != NULL) == (value->type == RF_JSONREAD_OBJECT));
		require(is_before(value->line, value->column, v));
		if (v->next)
			require(is_before(v->line, v->column, v->next));
		/* Only few, since each look goes through all of them. */
		if (v->name && value->count < 64)
			require(rf_jsonread_member(value, v->name) == v);
		walk(v, depth + 1);
		count++;
	}
	require(count == value->count);
}

RF_FUZZ(data, size)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_jsonread *json = NULL;

	if (rf_jsonread_parse((const char *)data, size, &json, &err) < 0) {
		require(err.code < 0 && err.msg[0] && !json);
		require(err.line > 0 && err.column > 0);
		return 0;
	}
	walk(rf_jsonread_root(json), 0);
	rf_jsonread_free(json);
	return 0;
}
