/* Which events are wanted, and how they are written: src/audit/pick.c, render.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/pick.h"
#include "audit/render.h"
#include "base/fd.h"
#include "harness.h"

#define NOW    1700000000000000000ull /* 2023-11-14T22:13:20Z */
#define SECOND 1000000000ull

RF_TEST(moments_are_read_in_every_form)
{
	/* clang-format off */
	static const struct { const char *text; uint64_t ns; } cases[] = {
		{ "90s",                      NOW - 90 * SECOND },
		{ "10m",                      NOW - 600 * SECOND },
		{ "2h",                       NOW - 7200 * SECOND },
		{ "1w",                       NOW - 604800 * SECOND },
		{ "2023-11-14",               NOW - (22 * 3600 + 13 * 60 + 20) * SECOND },
		{ "2023-11-14T22:13",         NOW - 20 * SECOND },
		{ "2023-11-14 22:13:20",      NOW },
		{ "2023-11-14T22:13:20Z",     NOW },
		{ "2023-11-14T22:13:20.5Z",   NOW + SECOND / 2 },
		{ "2023-11-14T22:13:20.000000001", NOW + 1 },
	};
	static const char *const bad[] = { "", "x", "10", "m", "-1h", "1y", "2023-13-01", "2023-11-14T25:00",
					   "2023-11-14x", "99999999999999999999s", "1960-01-01" };
	/* clang-format on */
	struct rf_err err = RF_ERR_INIT;
	uint64_t ns;

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		ns = 0;
		RF_CHECK(rf_pick_time(cases[i].text, NOW, &ns, &err) == 0 && ns == cases[i].ns,
			 "%s: %llu", cases[i].text, (unsigned long long)ns);
	}
	for (size_t i = 0; i < RF_LEN(bad); i++)
		RF_CHECK(rf_pick_time(bad[i], NOW, &ns, &err) == -EINVAL && err.hint[0], "%s",
			 bad[i]);
}

static void make(struct rf_audit_event *event)
{
	rf_audit_event_init(event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(event, RF_AUDIT_BOX, "b");
	rf_audit_event_text(event, RF_AUDIT_VERDICT, "ok");
	rf_audit_event_text(event, RF_AUDIT_REASON, "=1+1 \"x\"\n\033[31m");
	event->time_ns = NOW;
	event->seq = 3;
}

RF_TEST(what_is_wanted_is_taken)
{
	struct rf_pick pick = { 0 };
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	make(&event);
	RF_CHECK(rf_pick_takes(&pick, &event), "everything");
	RF_CHECK(rf_pick_add_kind(&pick, "run", &err) == 0 && rf_pick_takes(&pick, &event), "run");
	RF_CHECK(rf_pick_add_kind(&pick, "ru", &err) == -EINVAL, "half a word");
	pick.kinds = 0;
	RF_CHECK(rf_pick_add_kind(&pick, "watch", &err) == 0 && !rf_pick_takes(&pick, &event),
		 "watch");
	pick = (struct rf_pick){ .since_ns = NOW };
	RF_CHECK(rf_pick_takes(&pick, &event), "since counts from then");
	pick = (struct rf_pick){ .until_ns = NOW };
	RF_CHECK(!rf_pick_takes(&pick, &event), "until ends before");
	pick = (struct rf_pick){ .box = "b", .verdict = "ok" };
	RF_CHECK(rf_pick_takes(&pick, &event), "box and verdict");
	pick.box = "bb";
	RF_CHECK(!rf_pick_takes(&pick, &event), "another box");
	pick = (struct rf_pick){ .agent = "x" };
	RF_CHECK(!rf_pick_takes(&pick, &event), "it has none");
}

RF_TEST(a_cell_is_no_formula_and_a_row_has_no_escape)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_audit_event event;

	make(&event);
	rf_buf_init(&out, 1 << 16);
	rf_render_csv(&event, &out);
	RF_CHECK(strstr(out.data, "\"'=1+1 \"\"x\"\""), "%s", out.data);
	rf_buf_clear(&out);
	rf_render_row(RF_STYLE_NONE, &event, &out);
	RF_CHECK(!strchr(out.data, '\033') && strchr(out.data, '\n') == out.data + out.len - 1,
		 "%s", out.data);
}
