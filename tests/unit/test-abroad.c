/* Breakers of gateways: src/watch/abroad.c and listing.c. */
#include "watch/abroad.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/listing.h"

static struct rf_abroad abroad;

static bool change(const char *box, const char *breaker, const char *to, uint64_t until_ms)
{
	enum rf_table_kind kind = RF_TABLE_KINDS;
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_BREAKER_CHANGE);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_BREAKER, breaker);
	rf_audit_event_text(&event, RF_AUDIT_FROM, "closed");
	rf_audit_event_text(&event, RF_AUDIT_TO, to);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "it failed");
	if (until_ms)
		rf_audit_event_number(&event, RF_AUDIT_UNTIL_MS, until_ms);
	return rf_abroad_hear(&abroad, &event, &kind);
}

RF_TEST(what_opens_is_known_until_it_closes_or_its_box_is_over)
{
	/* clang-format off */
	static const struct { const char *box, *breaker, *to; bool has_opened; size_t count; } steps[] = {
		{ "b1", "host a.b:443",  "open",      true,  1 },
		{ "b2", "host a.b:443",  "open",      true,  2 },
		{ "b1", "host a.b:443",  "half-open", false, 2 },
		{ "b1", "host a.b:443",  "closed",    false, 1 },
		{ "b1", "credential k",  "open",      true,  2 },
		{ NULL, "host c.d:443",  "open",      false, 2 }, /* the watcher's own */
		{ "b1", "agent x",       "open",      false, 2 },
		{ "b1", "tool x",        "open",      false, 2 },
		{ "b1", "host",          "open",      false, 2 },
		{ "b1", "host a.b:1",    "odd",       false, 2 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(steps); i++) {
		RF_CHECK(change(steps[i].box, steps[i].breaker, steps[i].to, 0) ==
				 steps[i].has_opened,
			 "step %zu", i);
		RF_CHECK(abroad.count == steps[i].count, "step %zu: %zu", i, abroad.count);
	}
	RF_CHECK(rf_abroad_has(&abroad, RF_TABLE_HOST, "a.b") &&
			 rf_abroad_has(&abroad, RF_TABLE_HOST, "a.b:443") &&
			 !rf_abroad_has(&abroad, RF_TABLE_HOST, "a.b:44") &&
			 !rf_abroad_has(&abroad, RF_TABLE_HOST, "a") &&
			 rf_abroad_has(&abroad, RF_TABLE_CREDENTIAL, "k") &&
			 !rf_abroad_has(&abroad, RF_TABLE_CREDENTIAL, "a.b:443"),
		 "by name");
	rf_abroad_leave(&abroad, "b2");
	RF_CHECK(abroad.count == 1 && !rf_abroad_has(&abroad, RF_TABLE_HOST, "a.b"), "left");
}

RF_TEST(however_many_there_are_the_newest_are_kept)
{
	char name[32], box[32];

	change("other", "host first", "open", 0);
	for (int i = 0; i < 2 * RF_ABROAD_MOST; i++) {
		snprintf(name, sizeof(name), "host h%d", i);
		change("b", name, "open", 0);
	}
	RF_CHECK(abroad.count == RF_ABROAD_EACH + 1, "%zu", abroad.count);
	RF_CHECK(!rf_abroad_has(&abroad, RF_TABLE_HOST, "h0") &&
			 rf_abroad_has(&abroad, RF_TABLE_HOST, name + 5) &&
			 rf_abroad_has(&abroad, RF_TABLE_HOST, "first"),
		 "the newest of one, and another's");
	rf_abroad_leave(&abroad, "b");
	for (int i = 0; i < 2 * RF_ABROAD_MOST; i++) {
		snprintf(box, sizeof(box), "b%d", i);
		change(box, "host h", "open", 0);
	}
	RF_CHECK(abroad.count == RF_ABROAD_MOST, "%zu", abroad.count);
	RF_CHECK(!rf_abroad_has(&abroad, RF_TABLE_HOST, "first"), "the newest of all");
}

RF_TEST(they_are_listed_with_their_box)
{
	struct rf_breaker_set *breakers = rf_breaker_new(&(struct rf_breaker_options){ .cap = 16 });
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf text, json;

	rf_buf_init(&text, 1 << 16);
	rf_buf_init(&json, 1 << 16);
	RF_REQUIRE(breakers, "no memory");
	rf_breaker_trip(breakers, RF_TABLE_AGENT, "bot", "by hand", RF_CLOCK_NEVER, 0);
	change("b1", "host a.b:443", "open", 71000);
	RF_CHECK(rf_listing_write(breakers, &abroad, 0, 11000, false, &text, &err) == 1 &&
			 strstr(text.data, "it failed, in box b1\n") && strstr(text.data, " 1m ") &&
			 strstr(text.data, "bot"),
		 "%s", text.data);
	RF_CHECK(rf_listing_write(breakers, &abroad, 0, 11000, true, &json, &err) == 1 &&
			 strstr(json.data, "\"box\": \"b1\"") &&
			 strstr(json.data, "\"retry_ms\": 60000") &&
			 strstr(json.data, "\"box\": null") && strstr(json.data, "\"well\": null"),
		 "%s", json.data);
	rf_breaker_free(breakers);
}
