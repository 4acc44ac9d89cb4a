/* What a watcher must know of a box that lives: see sight.h. */
#include "audit/sight.h"

#include <errno.h>
#include <string.h>

#include "base/pack.h"

void rf_sight_pack(const struct rf_sight *sight, struct rf_buf *out)
{
	rf_pack_string(out, sight->box);
	rf_pack_bool(out, sight->is_lesser);
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		rf_pack_u64(out, sight->limits[i]);
	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		rf_pack_u64(out, sight->alarms.figures[i]);
		rf_pack_u32(out, sight->alarms.reactions[i]);
	}
	rf_pack_bool(out, sight->alarms.opens_breaker);
}

/* Hexadecimal, as rf_box_name() makes it: it becomes part of a path. */
static bool is_box(const char *text)
{
	return text[0] && text[strspn(text, "0123456789abcdef")] == '\0';
}

int rf_sight_unpack(const void *data, size_t len, struct rf_sight *ret_sight, struct rf_err *err)
{
	struct rf_pack_reader reader;
	struct rf_sight sight = { 0 };

	rf_pack_read_init(&reader, data, len);
	rf_pack_read_text(&reader, sight.box, sizeof(sight.box));
	sight.is_lesser = rf_pack_read_bool(&reader);
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		sight.limits[i] = rf_pack_read_u64(&reader);
	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		sight.alarms.figures[i] = rf_pack_read_u64(&reader);
		sight.alarms.reactions[i] =
			(enum rf_reaction)rf_pack_read_below(&reader, RF_REACTION_COUNT);
	}
	sight.alarms.opens_breaker = rf_pack_read_bool(&reader);
	if (!rf_pack_is_whole(&reader) || !is_box(sight.box))
		return rf_fail_say(err, -EBADMSG, "LIVE does not tell of a box");
	*ret_sight = sight;
	return 0;
}
