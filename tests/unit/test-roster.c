/* The boxes that live, as a table and as JSON: src/watch/roster.c. */
#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"
#include "harness.h"
#include "watch/roster.h"

RF_TEST(bytes_are_short_whatever_they_are)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1.0K" },
		{ 1536, "1.5K" },
		{ 10240, "10K" },
		{ 999 * 1024, "999K" },
		{ 1023 * 1024, "1.0M" },
		{ 1u << 30, "1.0G" },
		{ 1ull << 60, "1.0E" },
		{ UINT64_MAX - 1, "16E" },
		{ UINT64_MAX, "-" },
	};
	char text[8];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_roster_bytes(cases[i].bytes, text);
		RF_CHECK(strcmp(text, cases[i].want) == 0, "case %zu: %s", i, text);
	}
}

static struct rf_roster_box sample(const uint64_t *limits)
{
	return (struct rf_roster_box){
		.id = "77",
		.agent = "bot",
		.program = "a\033[31mb",
		.policy = "",
		.state = "running",
		.pid = 5,
		.age_ms = 1500,
		.limits = limits,
		.used = { .memory = 1 << 20, .cpu_ns = 2500000000u, .pids = 3, .disk = UINT64_MAX },
	};
}

RF_TEST(a_table_steers_no_terminal_and_says_what_is_not_known)
{
	uint64_t limits[RF_LIMIT_COUNT] = { [RF_LIMIT_MEMORY] = 64 << 20 };
	struct rf_roster_box boxes[2] = { sample(limits), sample(NULL) };
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 16);
	rf_roster_text(boxes, 2, &out);
	RF_CHECK(!strchr(out.data, '\033') && strstr(out.data, "a?[31mb"), "%s", out.data);
	RF_CHECK(strstr(out.data, "1.0M/64M"), "%s", out.data);
	RF_CHECK(strstr(out.data, "2.5s"), "%s", out.data);
	rf_buf_clear(&out);
	rf_roster_text(NULL, 0, &out);
	RF_CHECK(strcmp(out.data, "no box lives\n") == 0, "%s", out.data);
}

RF_TEST(as_json_it_can_be_read)
{
	uint64_t limits[RF_LIMIT_COUNT] = { [RF_LIMIT_MEMORY] = RF_LIMIT_NONE };
	struct rf_roster_box boxes[2] = { sample(limits), sample(NULL) };
	struct rf_roster_denial denial = { .box = "77", .what = "file /etc/shadow" };
	const struct rf_jsonread_value *list, *used;
	struct rf_jsonread *json = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 16);
	rf_roster_json(boxes, 2, &denial, 1, &out);
	RF_REQUIRE(rf_jsonread_parse(out.data, out.len, &json, &err) == 0, "%s", err.msg);
	list = rf_jsonread_member(rf_jsonread_root(json), "boxes");
	RF_REQUIRE(list, "no boxes: %s", out.data);
	used = rf_jsonread_member(rf_jsonread_root(json), "denials");
	RF_CHECK(used, "no denials: %s", out.data);
	RF_CHECK(strstr(out.data, "\"cpu_time\": 2500"), "%s", out.data);
	RF_CHECK(strstr(out.data, "\"limits\": null"), "%s", out.data);
	rf_jsonread_free(json);
}
