/* The result of a run: src/result/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "result/result.h"

#define ROOM (16 * 1024 * 1024)

/* ------------------------------------------------------------- is it JSON? */

/* Each of these gives the place after what it read, or NULL if that is not JSON (RFC 8259). */
static const char *skip_value(const char *at, int depth);

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") >= 4)
			at += 4;
		else if (*at == '\0' || !strchr("\"\\/bfnrt", *at))
			return NULL;
	}
	return at + 1;
}

static const char *skip_number(const char *at)
{
	static const char digits[] = "0123456789";
	size_t whole;

	at += *at == '-';
	whole = strspn(at, digits);
	if (whole == 0 || (*at == '0' && whole > 1))
		return NULL;
	at += whole;
	if (*at == '.') {
		if (strspn(at + 1, digits) == 0)
			return NULL;
		at += 1 + strspn(at + 1, digits);
	}
	return at; /* the writer has no exponents */
}

/* An object or an array. */
static const char *skip_members(const char *at, int depth)
{
	char end = *at == '{' ? '}' : ']';
	bool is_first = true;

	for (at = skip_space(at + 1); *at != end; is_first = false) {
		if (!is_first && *at++ != ',')
			return NULL;
		at = skip_space(at);
		if (end == '}') {
			at = skip_string(at);
			if (!at || *skip_space(at) != ':')
				return NULL;
			at = skip_space(at) + 1;
		}
		at = skip_value(at, depth + 1);
		if (!at)
			return NULL;
		at = skip_space(at);
	}
	return at + 1;
}

static const char *skip_value(const char *at, int depth)
{
	static const char *const words[] = { "true", "false", "null" };

	at = skip_space(at);
	if (depth > 20)
		return NULL;
	if (*at == '{' || *at == '[')
		return skip_members(at, depth);
	if (*at == '"')
		return skip_string(at);
	for (size_t i = 0; i < RF_LEN(words); i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	return skip_number(at);
}

static bool is_json(const char *text)
{
	const char *end = skip_value(text, 0);

	return end && strcmp(end, "\n") == 0;
}

RF_TEST(the_checker_of_this_test_knows_json_when_it_sees_it)
{
	/* clang-format off */
	static const struct { const char *text; bool is_json; } cases[] = {
		{ "{}\n", true },              { "{\"a\": [1, -2.5, \"x\\n\", null]}\n", true },
		{ "[true,false]\n", true },    { "\"\\u00e4\"\n", true },
		{ "{\"a\": 1,}\n", false },    { "{\"a\" 1}\n", false },
		{ "[1 2]\n", false },          { "[01]\n", false },
		{ "{a: 1}\n", false },         { "\"\n\"\n", false },
		{ "[nan]\n", false },          { "[1.]\n", false },
		{ "{}", false },               { "{}{}\n", false },
		{ "[-]\n", false },            { "\"\\x\"\n", false },
		{ "{\"a\": {\n", false },      { "\n", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(is_json(cases[i].text) == cases[i].is_json, "%s", cases[i].text);
}

/* ------------------------------------------------------------- results */

/* Writes both forms, checks them, and keeps the compact one in `out`. */
static const char *json_of(const struct rf_result *result, struct rf_buf *out)
{
	for (int is_pretty = 1; is_pretty >= 0; is_pretty--) {
		rf_buf_clear(out);
		rf_result_json(result, is_pretty, out);
		RF_REQUIRE(!out->has_failed, "no room");
		RF_CHECK(is_json(out->data), "not JSON: %s", out->data);
		RF_CHECK(is_pretty || strchr(out->data, '\n') == out->data + out->len - 1,
			 "more than one line: %s", out->data);
	}
	return out->data;
}

static void check_has(const char *text, const char *part)
{
	RF_CHECK(strstr(text, part), "no %s in %s", part, text);
}

RF_TEST(every_status_has_a_name_of_its_own)
{
	/* clang-format off */
	static const char *const want[] = {
		[RF_STATUS_OK] = "ok", [RF_STATUS_FAILED] = "failed", [RF_STATUS_TIMEOUT] = "timeout",
		[RF_STATUS_CPU] = "cpu", [RF_STATUS_MEMORY] = "memory", [RF_STATUS_PIDS] = "pids",
		[RF_STATUS_DISK] = "disk", [RF_STATUS_OUTPUT] = "output", [RF_STATUS_KILLED] = "killed",
		[RF_STATUS_DENIED] = "denied", [RF_STATUS_ERROR] = "error",
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	_Static_assert(RF_LEN(want) == RF_STATUS_COUNT, "one is missing here");
	rf_buf_init(&out, ROOM);
	for (int i = 0; i < RF_STATUS_COUNT; i++) {
		struct rf_result result;
		char member[64];

		RF_CHECK(strcmp(rf_result_status((enum rf_status)i), want[i]) == 0, "%s", want[i]);
		rf_result_init(&result, NULL);
		result.status = (enum rf_status)i;
		snprintf(member, sizeof(member), "\"status\": \"%s\"", want[i]);
		check_has(json_of(&result, &out), member);
		rf_result_done(&result);
	}
}

RF_TEST(the_causes_of_the_limits_are_statuses)
{
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		const char *cause = rf_limit_table[i].cause;
		bool is_status = !cause;

		for (int k = 0; cause && k < RF_STATUS_COUNT; k++)
			is_status |= strcmp(cause, rf_result_status((enum rf_status)k)) == 0;
		RF_CHECK(is_status, "%s: %s", rf_limit_table[i].key, cause);
	}
}

RF_TEST(a_fresh_result_knows_nothing_and_says_null)
{
	/* clang-format off */
	static const char *const parts[] = {
		"\"id\": \"\"", "\"exit_code\": null", "\"signal\": null", "\"stdout\": \"\"",
		"\"stderr\": \"\"", "\"wall_ms\": null", "\"cpu_ms\": null", "\"memory_peak\": null",
		"\"pids_peak\": null", "\"disk\": null", "\"start_ms\": null", "\"error\": null",
		"\"limits_hit\": []", "\"warnings\": []", "\"denials\": []", "\"got\": \"none\"",
		"\"missing\": []", "\"limits\": {}", "\"proof\": {}",
		"\"truncated\": {\"stdout\": false, \"stderr\": false}",
		"\"encoding\": {\"stdout\": \"utf-8\", \"stderr\": \"utf-8\"}",
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	json_of(&result, &out);
	for (size_t i = 0; i < RF_LEN(parts); i++)
		check_has(out.data, parts[i]);
	for (size_t i = 0; rf_result_wall(false, i); i++)
		check_has(out.data, rf_result_wall(false, i));
	rf_result_done(&result);
}

RF_TEST(what_was_refused_is_listed)
{
	static const char unshare[] = "{\"kind\": \"syscall\", \"what\": \"unshare\", "
				      "\"rule\": \"seccomp\", \"remedy\": null}";
	RF_AUTO_BUF struct rf_buf out, stats;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_buf_init(&stats, ROOM);
	rf_result_init(&result, NULL);
	RF_REQUIRE(rf_result_add_denial(&result, "syscall", "unshare", "seccomp", ""), "no memory");
	result.has_seen_denials = true;
	json_of(&result, &out);
	check_has(out.data, unshare);
	check_has(out.data, "\"denials_seen\": true");
	rf_result_stats(&result, (struct rf_style){ 0 }, &stats);
	check_has(stats.data, "syscall unshare (seccomp)");
	rf_result_done(&result);
}

RF_TEST(zero_is_a_figure_and_not_the_same_as_unknown)
{
	/* clang-format off */
	static const char *const parts[] = {
		"\"exit_code\": 0", "\"wall_ms\": 0", "\"cpu_ms\": 0", "\"memory_peak\": 0",
		"\"pids_peak\": 0", "\"disk\": 0", "\"start_ms\": 0",
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	memset(&result.usage, 0, sizeof(result.usage));
	result.exit_code = 0;
	json_of(&result, &out);
	for (size_t i = 0; i < RF_LEN(parts); i++)
		check_has(out.data, parts[i]);
	rf_result_done(&result);
}

RF_TEST(output_is_text_where_it_can_be_and_base64_where_it_must)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len; const char *want, *encoding; } cases[] = {
		{ "",                 0, "\"\"",                    "utf-8" },
		{ "hi\n",             3, "\"hi\\n\"",               "utf-8" },
		{ "\x1b[1m\"\\",      6, "\"\\u001b[1m\\\"\\\\\"",  "utf-8" },
		{ "\xc3\xbc",         2, "\"\xc3\xbc\"",            "utf-8" },
		{ "\xf0\x9f\x8f\xb0", 4, "\"\xf0\x9f\x8f\xb0\"",    "utf-8" },
		{ "\xff\xfe\xfd",     3, "\"//79\"",                "base64" },
		{ "a\0b",             3, "\"YQBi\"",                "base64" },
		{ "\xc3",             1, "\"ww==\"",                "base64" },
		{ "\xed\xa0\x80",     3, "\"7aCA\"",                "base64" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, ROOM);
	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (int stream = 0; stream < 2; stream++) {
			const char *name = stream ? "stderr" : "stdout";
			struct rf_result result;
			char member[128];

			rf_result_init(&result, NULL);
			rf_buf_add(&result.output[stream], cases[i].bytes, cases[i].len);
			result.is_truncated[stream] = true;
			json_of(&result, &out);
			snprintf(member, sizeof(member), "\"%s\": %s, ", name, cases[i].want);
			check_has(out.data, member);
			snprintf(member, sizeof(member), "\"%s\": \"%s\"", name, cases[i].encoding);
			check_has(strstr(out.data, "\"encoding\""), member);
			snprintf(member, sizeof(member), "\"%s\": true", name);
			check_has(strstr(out.data, "\"truncated\""), member);
			rf_result_done(&result);
		}
}

RF_TEST(an_error_tells_its_code_its_story_its_remedy_and_its_place)
{
	/* clang-format off */
	static const struct { struct rf_err err; const char *want; } cases[] = {
		{ { -ENOENT, 0, 0, "open x: No such file or directory", "" },
		  "\"error\": {\"code\": \"ENOENT\", \"message\": \"open x: No such file or directory\", "
		  "\"remedy\": null, \"where\": null}" },
		{ { -EINVAL, 3, 7, "a \"quoted\" \x1b story", "try that" },
		  "\"error\": {\"code\": \"EINVAL\", \"message\": \"a \\\"quoted\\\" \\u001b story\", "
		  "\"remedy\": \"try that\", \"where\": {\"line\": 3, \"column\": 7}}" },
		{ { -4000, 0, 0, "odd", "" }, "\"code\": \"EOTHER\"" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, ROOM);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_result result;

		rf_result_init(&result, NULL);
		rf_result_fail(&result, RF_STATUS_DENIED, 126, &cases[i].err);
		RF_CHECK(result.code == 126 && result.status == RF_STATUS_DENIED, "case %zu", i);
		check_has(json_of(&result, &out), cases[i].want);
		check_has(out.data, "\"status\": \"denied\"");
		rf_result_done(&result);
	}
}

RF_TEST(limits_that_were_hit_are_named_by_their_keys)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;
	char all[512] = "\"limits_hit\": [";

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	for (unsigned i = 0; i < RF_LIMIT_COUNT; i++) {
		size_t len = strlen(all);
		char one[64];

		result.limits_hit = 1u << i;
		snprintf(one, sizeof(one), "\"limits_hit\": [\"%s\"]", rf_limit_table[i].key);
		check_has(json_of(&result, &out), one);
		snprintf(all + len, sizeof(all) - len, "%s\"%s\"", i ? ", " : "",
			 rf_limit_table[i].key);
	}
	result.limits_hit = (1u << RF_LIMIT_COUNT) - 1;
	check_has(json_of(&result, &out), all);
	rf_result_done(&result);
}

/* A result with everything in it, each as long as it can be. */
static void fill(struct rf_result *result)
{
	snprintf(result->id, sizeof(result->id), "0123456789abcdef");
	result->exit_code = 255;
	result->signal = 9;
	result->proven = (1u << RF_PROOF_COUNT) - 1;
	for (int i = 0; i < RF_NS_COUNT; i++)
		result->ns[i] = 4026531840u + (unsigned)i;
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		result->grades[i] = (enum rf_grade)(i % (RF_GRADE_HARD + 1));
	result->walls.landlock_abi = 6;
	result->walls.missing_count = RF_RESULT_MISSING;
	for (int i = 0; i < RF_RESULT_MISSING; i++)
		memset(result->walls.missing[i], '"', sizeof(result->walls.missing[i]) - 1);
	for (int i = 0; i < RF_RESULT_WALLS; i++)
		result->walls.wall_ns[i] = 3000;
	for (int i = 0; i < RF_RESULT_WARNINGS + 5; i++)
		rf_result_warn(result, "warning %d\t%0400d", i, 0);
	result->usage.wall_ns = 1234567890;
	result->usage.cpu_ns = 1500;
	result->usage.memory_peak = 1ull << 40;
	result->usage.pids_peak = 7;
	result->usage.disk_bytes = 4096;
	result->usage.start_ns = 2000000;
}

RF_TEST(a_full_result_is_json_with_proof_grades_and_times)
{
	/* clang-format off */
	static const char *const parts[] = {
		"\"id\": \"0123456789abcdef\"", "\"exit_code\": 255", "\"signal\": 9",
		"\"wall_ms\": 1234.568", "\"cpu_ms\": 0.002", "\"memory_peak\": 1099511627776",
		"\"pids_peak\": 7", "\"disk\": 4096", "\"start_ms\": 2.000", "\"got\": \"process\"",
		"\"namespaces\": true", "\"landlock\": true", "\"seccomp\": true", "\"session\": true",
		"\"namespace_ids\": {\"user\": 4026531840, \"mnt\": 4026531841, ",
		"\"cgroup\": 4026531846}", "\"landlock_abi\": 6",
		"\"limits\": {\"memory\": \"none\", \"cpu\": \"rlimit\", ",
		"\"cpu_time\": \"sampled\", \"time\": \"hard\", ",
		"\"walls_us\": {\"cgroup\": 3.0, ", "\"warning 0\\t000", "\"warning 15\\t000",
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	fill(&result);
	RF_CHECK(result.warning_count == RF_RESULT_WARNINGS, "%zu", result.warning_count);
	json_of(&result, &out);
	for (size_t i = 0; i < RF_LEN(parts); i++)
		check_has(out.data, parts[i]);
	RF_CHECK(!strstr(out.data, "warning 16"), "one warning too many");
	rf_result_done(&result);
}

RF_TEST(nothing_is_claimed_that_was_not_proven)
{
	static const char *const facts[] = RF_PROOF_NAMES;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	fill(&result);
	for (unsigned i = 0; i < RF_PROOF_COUNT; i++) {
		result.proven = 1u << i;
		json_of(&result, &out);
		for (unsigned k = 0; k < RF_PROOF_COUNT; k++) {
			char member[64];

			snprintf(member, sizeof(member), "\"%s\": true", facts[k]);
			RF_CHECK(!strstr(out.data, member) == (i != k), "%s with only %s", facts[k],
				 facts[i]);
		}
	}
	result.proven = 0;
	json_of(&result, &out);
	check_has(out.data, "\"got\": \"none\"");
	check_has(out.data, "\"limits\": {}");
	rf_result_done(&result);
}

RF_TEST(notes_of_the_plan_become_warnings)
{
	char first[] = "100% of the \"notes\"", second[] = "%s %n";
	char *notes[] = { first, second, NULL };
	struct rf_plan plan = { .notes = notes, .isolation = RF_ISOLATION_PROCESS };
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, &plan);
	json_of(&result, &out);
	check_has(out.data, "\"warnings\": [\"100% of the \\\"notes\\\"\", \"%s %n\"]");
	check_has(out.data, "\"asked\": \"process\"");
	rf_result_done(&result);
}

RF_TEST(stats_print_what_is_known_and_nothing_else)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	result.status = RF_STATUS_ERROR;
	rf_result_stats(&result, RF_STYLE_NONE, &out);
	RF_CHECK(strcmp(out.data, "ringfort: error\n") == 0, "%s", out.data);

	rf_buf_clear(&out);
	fill(&result);
	result.exit_code = -1;
	rf_result_stats(&result, RF_STYLE_NONE, &out);
	check_has(out.data, "ringfort: error, signal 9 (Killed)\n");
	check_has(out.data, "time     1234.6 ms (box ready after 2.0 ms)\n");
	check_has(out.data, "memory   1048576.0 MiB\n");
	check_has(out.data, "pids     7\n");
	rf_result_done(&result);
}

/* A box that pid 1 refused has a time but was never ready; one that we lost has it the other way. */
RF_TEST(stats_name_each_time_only_if_it_is_known)
{
	/* clang-format off */
	static const struct { uint64_t wall_ns, start_ns; const char *want; } cases[] = {
		{ 5000000,    UINT64_MAX, "ringfort: ok\n  time     5.0 ms\n" },
		{ 5000000,    2000000,    "ringfort: ok\n  time     5.0 ms (box ready after 2.0 ms)\n" },
		{ UINT64_MAX, UINT64_MAX, "ringfort: ok\n" },
		{ UINT64_MAX, 2000000,    "ringfort: ok\n" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, ROOM);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_result result;

		rf_buf_clear(&out);
		rf_result_init(&result, NULL);
		result.usage.wall_ns = cases[i].wall_ns;
		result.usage.start_ns = cases[i].start_ns;
		rf_result_stats(&result, RF_STYLE_NONE, &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "case %zu: %s", i, out.data);
		rf_result_done(&result);
	}
}

/* ------------------------------------------------------------- over a socket */

/* Lists of every kind, so long that they grow a few times. */
static void fill_lists(struct rf_result *result)
{
	char path[64];

	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/srv/tree/file %d\n\xff", i);
		RF_REQUIRE(rf_result_add_masked(result, path, 10, i % 2 ? "files.deny" : "") &&
				   rf_result_add_planted(result, path, "git hook", i % 3 == 0) &&
				   rf_result_add_denial(result, "file", path, "landlock", ""),
			   "no memory");
	}
	result->planted_more = 5;
	result->is_planted_partial = result->has_seen_denials = true;
	result->is_truncated[1] = true;
	result->limits_hit = (1u << RF_LIMIT_COUNT) - 1;
	result->status = RF_STATUS_ERROR;
	result->code = 125;
	rf_fail_at(&result->error, 3, 7, "a story");
	rf_fail_hint(&result->error, "a remedy");
}

RF_TEST(a_result_that_was_packed_is_the_same_afterwards)
{
	RF_AUTO_BUF struct rf_buf packed, before, after;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&packed, ROOM);
	rf_buf_init(&before, ROOM);
	rf_buf_init(&after, ROOM);
	for (int how_full = 0; how_full < 4; how_full++) {
		struct rf_result result, copy;

		rf_buf_clear(&packed);
		rf_result_init(&result, NULL);
		rf_result_init(&copy, NULL);
		if (how_full & 1)
			fill(&result);
		if (how_full & 2)
			fill_lists(&result);
		rf_result_pack(&result, &packed);
		RF_REQUIRE(!packed.has_failed, "no room");
		RF_CHECK(rf_result_unpack(&copy, packed.data, packed.len, &err) == 0, "%s",
			 err.msg);
		RF_CHECK(strcmp(json_of(&result, &before), json_of(&copy, &after)) == 0, "%s\n%s",
			 before.data, after.data);
		RF_CHECK(copy.code == result.code && copy.planted_more == result.planted_more &&
				 copy.masked_count == result.masked_count,
			 "what JSON does not tell");
		for (size_t i = 0; i < copy.masked_count; i++)
			RF_CHECK(copy.masked[i].rest == 10, "row %zu", i);
		rf_result_done(&copy);
		rf_result_done(&result);
	}
}

RF_TEST(a_packed_result_that_was_cut_or_made_longer_is_refused)
{
	RF_AUTO_BUF struct rf_buf packed;
	struct rf_result result;

	rf_buf_init(&packed, ROOM);
	rf_result_init(&result, NULL);
	fill(&result);
	fill_lists(&result);
	rf_result_pack(&result, &packed);
	rf_result_done(&result);
	rf_buf_add(&packed, "", 1);
	for (size_t len = 0; len <= packed.len; len++) {
		struct rf_err err = RF_ERR_INIT;
		bool is_right = len == packed.len - 1;

		rf_result_init(&result, NULL);
		RF_CHECK((rf_result_unpack(&result, packed.data, len, &err) == 0) == is_right,
			 "%zu of %zu bytes", len, packed.len - 1);
		RF_CHECK(is_right || err.code == -EBADMSG, "%s", err.msg);
		rf_result_done(&result);
	}
}

RF_TEST(more_hidden_files_than_a_message_holds_are_counted)
{
	static char path[5000];
	RF_AUTO_BUF struct rf_buf packed;
	struct rf_result result, copy;
	struct rf_err err = RF_ERR_INIT;

	memset(path, 'x', sizeof(path) - 1);
	rf_buf_init(&packed, 4 << 20);
	rf_result_init(&result, NULL);
	rf_result_init(&copy, NULL);
	for (int i = 0; i < 4000; i++)
		RF_REQUIRE(rf_result_add_masked(&result, path, 0, "files.deny"), "no memory");
	rf_result_pack(&result, &packed);
	RF_REQUIRE(!packed.has_failed, "no room");
	RF_REQUIRE(rf_result_unpack(&copy, packed.data, packed.len, &err) == 0, "%s", err.msg);
	RF_CHECK(copy.masked_count > 100 && copy.masked_count < 4000, "%zu", copy.masked_count);
	RF_CHECK(copy.warning_count == 1 && strstr(copy.warnings[0], "more hidden files"), "%s",
		 copy.warnings[0]);
	rf_result_done(&copy);
	rf_result_done(&result);
}
