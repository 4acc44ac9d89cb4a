/* What a launcher says of a box that lives: src/audit/sight.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/sight.h"
#include "harness.h"

static struct rf_sight sample(void)
{
	struct rf_sight sight = { .box = "0123456789abcdef", .is_lesser = true };

	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		sight.limits[i] = i % 2 ? RF_LIMIT_NONE : (uint64_t)i * 1000;
	sight.alarms = (struct rf_alarms){ { 10, RF_LIMIT_NONE },
					   { RF_REACTION_KILL, RF_REACTION_FREEZE },
					   true };
	return sight;
}

RF_TEST(what_is_packed_is_taken_as_it_was)
{
	struct rf_sight in = sample(), out;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf bytes;

	rf_buf_init(&bytes, 4096);
	rf_sight_pack(&in, &bytes);
	RF_REQUIRE(rf_sight_unpack(bytes.data, bytes.len, &out, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(in.box, out.box) == 0 && out.is_lesser, "box %s", out.box);
	RF_CHECK(memcmp(in.limits, out.limits, sizeof(in.limits)) == 0, "limits differ");
	RF_CHECK(memcmp(in.alarms.figures, out.alarms.figures, sizeof(in.alarms.figures)) == 0 &&
			 out.alarms.reactions[0] == RF_REACTION_KILL &&
			 out.alarms.reactions[1] == RF_REACTION_FREEZE && out.alarms.opens_breaker,
		 "alarms differ");
}

RF_TEST(a_part_of_it_or_more_than_it_is_refused)
{
	struct rf_sight in = sample(), out;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf bytes;

	rf_buf_init(&bytes, 4096);
	rf_sight_pack(&in, &bytes);
	for (size_t len = 0; len < bytes.len; len++)
		RF_CHECK(rf_sight_unpack(bytes.data, len, &out, &err) == -EBADMSG, "%zu", len);
	rf_buf_add(&bytes, "", 1);
	RF_CHECK(rf_sight_unpack(bytes.data, bytes.len, &out, &err) == -EBADMSG, "one more");
}

RF_TEST(an_id_is_nothing_that_could_be_a_path)
{
	static const char *const ids[] = { "", "..", "a/b", "ABCDEF", "0123456789abcdeg", " a" };
	struct rf_sight in = sample(), out;
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		RF_AUTO_BUF struct rf_buf bytes;

		rf_buf_init(&bytes, 4096);
		snprintf(in.box, sizeof(in.box), "%s", ids[i]);
		rf_sight_pack(&in, &bytes);
		RF_CHECK(rf_sight_unpack(bytes.data, bytes.len, &out, &err) == -EBADMSG, "%s",
			 ids[i]);
	}
}

RF_TEST(a_reaction_that_there_is_not_is_refused)
{
	struct rf_sight in = sample(), out;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf bytes;

	rf_buf_init(&bytes, 4096);
	in.alarms.reactions[1] = RF_REACTION_COUNT;
	rf_sight_pack(&in, &bytes);
	RF_CHECK(rf_sight_unpack(bytes.data, bytes.len, &out, &err) == -EBADMSG, "%s", err.msg);
}
