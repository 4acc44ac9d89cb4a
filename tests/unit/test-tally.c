/* What a log comes to: src/audit/tally.c, boxes.c, texts.c, window.c, report*.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/boxes.h"
#include "audit/report.h"
#include "audit/tally.h"
#include "audit/window.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "harness.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)

static struct rf_audit_event event_of(enum rf_audit_kind kind, uint64_t time_ns, const char *box,
				      const char *agent)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, kind);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
	event.time_ns = time_ns;
	event.seq = time_ns / SECOND;
	return event;
}

static void start(struct rf_tally *tally, uint64_t time_ns, const char *box, const char *agent,
		  const uint8_t *policy)
{
	struct rf_audit_event event = event_of(RF_AUDIT_RUN_STARTED, time_ns, box, agent);

	rf_audit_event_number(&event, RF_AUDIT_USER, 1);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, "prog");
	if (policy)
		rf_audit_event_digest(&event, RF_AUDIT_POLICY, policy);
	rf_tally_add(tally, &event);
}

static void end(struct rf_tally *tally, uint64_t time_ns, const char *box, const char *verdict,
		uint64_t memory)
{
	struct rf_audit_event event = event_of(RF_AUDIT_RUN_ENDED, time_ns, box, NULL);

	rf_audit_event_text(&event, RF_AUDIT_VERDICT, verdict);
	rf_audit_event_number(&event, RF_AUDIT_MEMORY, memory);
	rf_audit_event_number(&event, RF_AUDIT_CPU_US, 1500);
	rf_audit_event_text(&event, RF_AUDIT_GRADES, "hhhhhhhhhh");
	rf_tally_add(tally, &event);
}

static void begin(struct rf_tally *tally, const struct rf_pick *period)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_tally_init(tally, period, &err) == 0, "%s", err.msg);
}

static void finish(struct rf_tally *tally)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_tally_end(tally, &err) == 0, "%s", err.msg);
}

static void hash_of(const char *text, uint8_t hash[RF_AUDIT_HASH])
{
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, text, strlen(text));
	rf_sha256_end(&sha, hash);
}

static void tell_text(struct rf_tally *tally, const uint8_t *hash, const char *text, uint64_t part,
		      uint64_t count)
{
	struct rf_audit_event event = event_of(RF_AUDIT_POLICY_TEXT, SECOND, NULL, NULL);

	rf_audit_event_digest(&event, RF_AUDIT_POLICY, hash);
	rf_audit_event_text(&event, RF_AUDIT_TEXT_PART, text);
	rf_audit_event_number(&event, RF_AUDIT_PART, part);
	rf_audit_event_number(&event, RF_AUDIT_COUNT, count);
	rf_tally_add(tally, &event);
}

RF_TEST(an_end_counts_for_the_agent_and_the_policy_of_its_start)
{
	const struct rf_pick period = { .since_ns = 10 * SECOND, .until_ns = 20 * SECOND };
	const uint8_t policy[RF_AUDIT_HASH] = { 7 };
	struct rf_tally tally;

	begin(&tally, &period);
	start(&tally, 5 * SECOND, "early", "ada", policy); /* before the period, ends within */
	end(&tally, 11 * SECOND, "early", "ok", 100);
	start(&tally, 12 * SECOND, "one", "ada", policy);
	start(&tally, 12 * SECOND, "two", "bob", policy);
	start(&tally, 13 * SECOND, "none", NULL, NULL);
	end(&tally, 14 * SECOND, "one", "timeout", 300);
	end(&tally, 15 * SECOND, "none", "ok", 9);
	end(&tally, 25 * SECOND, "two", "ok", 999); /* too late */
	finish(&tally);
	RF_REQUIRE(tally.agent_count == 3, "%zu agents", tally.agent_count);
	RF_CHECK(tally.agents[0].name[0] == '\0' && strcmp(tally.agents[1].name, "ada") == 0 &&
			 strcmp(tally.agents[2].name, "bob") == 0,
		 "by name");
	RF_CHECK(tally.agents[1].started == 1 && tally.agents[1].ended == 2, "what is within");
	RF_CHECK(tally.agents[1].policies[0].limits[RF_LIMIT_MEMORY].most == 300 &&
			 tally.agents[1].policies[0].limits[RF_LIMIT_MEMORY].is_exact &&
			 tally.agents[1].policies[0].limits[RF_LIMIT_TIME].was_reached,
		 "what it used");
	RF_CHECK(tally.agents[1].used[RF_TALLY_TIMEOUTS] == 1 &&
			 tally.agents[1].most[0][RF_TALLY_CPU_MS] == 2,
		 "budgets");
	RF_CHECK(tally.agents[2].started == 1 && tally.agents[2].ended == 0, "too late is not");
	rf_tally_done(&tally);
}

RF_TEST(runs_that_have_not_ended_are_under_way)
{
	const struct rf_pick period = { 0 };
	struct rf_tally tally;
	char box[32];

	begin(&tally, &period);
	for (int i = 0; i < 5000; i++) {
		snprintf(box, sizeof(box), "box%d", i);
		start(&tally, SECOND, box, "ada", NULL);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(box, sizeof(box), "box%d", i * 7 % 5000);
		if (i * 7 % 5000 % 10 != 0)
			end(&tally, 2 * SECOND, box, "ok", 1);
	}
	finish(&tally);
	RF_CHECK(tally.agents[0].ended == 4500 && tally.agents[0].under_way == 500,
		 "%llu ended, %llu under way", (unsigned long long)tally.agents[0].ended,
		 (unsigned long long)tally.agents[0].under_way);
	rf_tally_done(&tally);
}

RF_TEST(what_was_held_back_counts_for_its_run_after_the_end)
{
	static const char *const boxes[] = { "held", "plain" };
	const struct rf_pick period = { 0 };
	const uint8_t policy[RF_AUDIT_HASH] = { 7 };
	struct rf_tally tally;

	begin(&tally, &period);
	for (size_t i = 0; i < RF_LEN(boxes); i++) {
		struct rf_audit_event use =
			event_of(RF_AUDIT_CREDENTIAL_USE, 3 * SECOND, boxes[i], NULL);
		struct rf_audit_event request =
			event_of(RF_AUDIT_NET_REQUEST, SECOND, boxes[i], NULL);

		start(&tally, SECOND, boxes[i], NULL, policy);
		rf_audit_event_text(&request, RF_AUDIT_HOST, "api.example");
		rf_audit_event_text(&request, RF_AUDIT_DECISION, i == 0 ? "hold" : "allow");
		rf_tally_add(&tally, &request);
		end(&tally, 2 * SECOND, boxes[i], "ok", 1);
		rf_audit_event_text(&use, RF_AUDIT_CREDENTIAL, boxes[i]);
		rf_audit_event_text(&use, RF_AUDIT_DECISION, "allow");
		rf_tally_add(&tally, &use);
	}
	finish(&tally);
	RF_REQUIRE(tally.agent_count == 1 && tally.agents[0].policy_count == 1, "%zu agents",
		   tally.agent_count);
	RF_CHECK(tally.agents[0].ended == 2 && tally.agents[0].under_way == 0,
		 "a run that is over is not under way");
	RF_CHECK(tally.agents[0].policies[0].credentials.count == 1 &&
			 strcmp(tally.agents[0].policies[0].credentials.rows[0].name, "held") == 0,
		 "%zu credentials", tally.agents[0].policies[0].credentials.count);
	rf_tally_done(&tally);
}

RF_TEST(a_text_is_believed_if_its_hash_is_right)
{
	static const char first[] = "version: 1\n", second[] = "limits: {time: 1m}\n";
	const struct rf_pick period = { 0 };
	uint8_t whole[RF_AUDIT_HASH], wrong[RF_AUDIT_HASH] = { 1 }, half[RF_AUDIT_HASH];
	struct rf_tally tally;

	begin(&tally, &period);
	hash_of("version: 1\nlimits: {time: 1m}\n", whole);
	hash_of("half", half);
	tell_text(&tally, whole, second, 2, 2); /* out of order: nothing */
	tell_text(&tally, whole, first, 1, 2);
	tell_text(&tally, whole, second, 2, 2);
	tell_text(&tally, whole, "more", 3, 3);
	tell_text(&tally, wrong, first, 1, 1);
	tell_text(&tally, half, "half", 1, 2);
	start(&tally, SECOND, "a", "ada", whole);
	start(&tally, SECOND, "b", "ada", wrong);
	start(&tally, SECOND, "c", "ada", half);
	finish(&tally);
	RF_REQUIRE(tally.agents[0].policy_count == 3, "three policies");
	RF_CHECK(tally.agents[0].policies[0].text &&
			 strcmp(tally.agents[0].policies[0].text,
				"version: 1\nlimits: {time: 1m}\n") == 0,
		 "put together");
	RF_CHECK(!tally.agents[0].policies[1].text && !tally.agents[0].policies[2].text,
		 "neither another one nor half of one");
	rf_tally_done(&tally);
}

/* A second, plainer model: all of the entries, each time. */
RF_TEST(the_most_in_any_hour_and_day_is_exact)
{
	struct {
		uint64_t time, amount;
	} all[2000];
	uint64_t state = 1, time = 0, most[2] = { 0, 0 };
	struct rf_window window = { 0 };

	for (size_t i = 0; i < RF_LEN(all); i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		time += (state >> 33) % (20 * 60) * SECOND;
		all[i].time = time;
		all[i].amount = (state >> 20) % 50;
		rf_window_add(&window, time, 1, all[i].amount);
		for (int span = 0; span < 2; span++) {
			uint64_t sum = 0;

			for (size_t k = 0; k <= i; k++)
				if (time - all[k].time < (span ? 24 * HOUR : HOUR))
					sum += all[k].amount;
			most[span] = sum > most[span] ? sum : most[span];
		}
	}
	RF_CHECK(window.most[0][1] == most[0] && window.most[1][1] == most[1] &&
			 window.most[0][0] == 0,
		 "%llu and %llu", (unsigned long long)window.most[0][1],
		 (unsigned long long)window.most[1][1]);
	rf_window_add(&window, 0, 1, 1); /* a clock that went back */
	rf_window_done(&window);
}

RF_TEST(what_others_can_make_many_of_is_bounded_and_counted)
{
	const struct rf_pick period = { 0 };
	struct rf_tally tally;
	char text[64];

	begin(&tally, &period);
	for (int i = 0; i < 3000; i++) {
		struct rf_audit_event event = event_of(RF_AUDIT_DENIAL, SECOND, NULL, "ada");
		uint8_t policy[RF_AUDIT_HASH] = { (uint8_t)i, (uint8_t)(i >> 8), 1 };

		snprintf(text, sizeof(text), "file /%d", i);
		rf_audit_event_text(&event, RF_AUDIT_RING, "execution");
		rf_audit_event_text(&event, RF_AUDIT_WHAT, text);
		rf_tally_add(&tally, &event);
		snprintf(text, sizeof(text), "agent%d", i);
		start(&tally, SECOND, text, i % 2 ? text : "ada", policy);
		event = event_of(RF_AUDIT_ALARM, SECOND * (uint64_t)(i + 1), NULL, "ada");
		rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, "odd");
		rf_audit_event_text(&event, RF_AUDIT_REASON, "why");
		rf_tally_add(&tally, &event);
	}
	finish(&tally);
	RF_CHECK(tally.agent_count == 1024 && tally.other_agents > 0, "%zu", tally.agent_count);
	RF_REQUIRE(strcmp(tally.agents[0].name, "ada") == 0, "%s", tally.agents[0].name);
	RF_CHECK(tally.agents[0].denials.total == 3000 && tally.agents[0].denials.count == 256 &&
			 tally.agents[0].denials.more == 3000 - 256,
		 "denials");
	RF_CHECK(tally.agents[0].policy_count == 64 && tally.agents[0].other_policies == 1500 - 64,
		 "policies");
	RF_CHECK(tally.agents[0].alarms.total == 3000 &&
			 tally.agents[0].alarms.count == RF_TALLY_NOTES &&
			 tally.agents[0].alarms.notes[0].seq == 2901 &&
			 tally.agents[0].alarms.notes[RF_TALLY_NOTES - 1].seq == 3000,
		 "the last alarms, in order");
	rf_tally_done(&tally);
}

RF_TEST(what_was_done_about_it_has_a_name)
{
	/* clang-format off */
	static const struct { enum rf_audit_kind kind; enum rf_audit_field field; } cases[] = {
		{ RF_AUDIT_KILL,         RF_AUDIT_RULE },
		{ RF_AUDIT_FREEZE,       RF_AUDIT_TO },
		{ RF_AUDIT_HOOK,         RF_AUDIT_PROGRAM },
		{ RF_AUDIT_RECOVERY,     RF_AUDIT_WHAT },
		{ RF_AUDIT_BUDGET_SPENT, RF_AUDIT_BUDGET },
	};
	/* clang-format on */
	const struct rf_pick period = { 0 };
	struct rf_tally tally;

	begin(&tally, &period);
	start(&tally, SECOND, "box", "ada", NULL);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_audit_event event = event_of(cases[i].kind, (i + 2) * SECOND, "box",
						       NULL); /* its run says whose */

		rf_audit_event_text(&event, cases[i].field, "name");
		rf_tally_add(&tally, &event);
	}
	finish(&tally);
	RF_REQUIRE(tally.agents[0].reactions.count == RF_LEN(cases), "%zu",
		   tally.agents[0].reactions.count);
	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(tally.agents[0].reactions.notes[i].kind == cases[i].kind &&
				 strcmp(tally.agents[0].reactions.notes[i].name, "name") == 0,
			 "%s", rf_audit_event_kind_name(cases[i].kind));
	rf_tally_done(&tally);
}

RF_TEST(no_name_becomes_markup_or_steers_a_terminal)
{
	static const char evil[] = "<script>alert(1)</script>\"'&\033[31m\xe2\x80\xae";
	const struct rf_pick period = { 0 };
	struct rf_report report = { .log = evil, .problem = evil };
	RF_AUTO_BUF struct rf_buf html, text, json;
	struct rf_audit_event event;
	struct rf_tally tally;

	begin(&tally, &period);
	start(&tally, SECOND, "box", evil, NULL);
	end(&tally, SECOND, "box", evil, 1);
	event = event_of(RF_AUDIT_DENIAL, SECOND, evil, evil);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, evil);
	rf_audit_event_text(&event, RF_AUDIT_RULE, evil);
	rf_audit_event_text(&event, RF_AUDIT_REMEDY, evil);
	rf_tally_add(&tally, &event);
	event = event_of(RF_AUDIT_ALARM, SECOND, evil, evil);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, evil);
	rf_audit_event_text(&event, RF_AUDIT_REASON, evil);
	rf_audit_event_text(&event, RF_AUDIT_SEVERITY, evil);
	rf_tally_add(&tally, &event);
	finish(&tally);
	report.tally = &tally;
	rf_buf_init(&html, 1 << 20);
	rf_buf_init(&text, 1 << 20);
	rf_buf_init(&json, 1 << 20);
	rf_report_html(&report, &html);
	rf_report_text(&report, RF_STYLE_NONE, &text);
	rf_report_json(&report, &json);
	RF_CHECK(!strstr(html.data, "<script") && strstr(html.data, "&lt;script&gt;alert(1)"),
		 "no markup");
	RF_CHECK(!strchr(html.data, '\033') && !strchr(text.data, '\033') &&
			 !strchr(json.data, '\033') && !strstr(text.data, "\xe2\x80\xae"),
		 "nothing that steers");
	RF_CHECK(!html.has_failed && !text.has_failed && !json.has_failed, "all of it");
	rf_tally_done(&tally);
}

static void use(struct rf_tally *tally, const char *box, const char *key, const char *what)
{
	struct rf_audit_event event = event_of(RF_AUDIT_RUN_USED, 2 * SECOND, box, "ada");

	rf_audit_event_text(&event, RF_AUDIT_SETTING, key);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_tally_add(tally, &event);
}

RF_TEST(what_a_learnt_run_used_counts_for_all_policies_of_its_agent)
{
	const struct rf_pick period = { 0 };
	const uint8_t lesson[RF_AUDIT_HASH] = { 1 }, daily[RF_AUDIT_HASH] = { 2 };
	static struct rf_trim_use seen;
	struct rf_tally tally;
	char path[64];

	begin(&tally, &period);
	start(&tally, SECOND, "one", "ada", lesson);
	start(&tally, SECOND, "two", "ada", daily);
	use(&tally, "one", "files.read", "/data/x");
	use(&tally, "one", "files.read", "/data/x");
	use(&tally, "one", "commands", "git");
	use(&tally, "one", "learn", NULL);
	end(&tally, 3 * SECOND, "one", "ok", 1);
	end(&tally, 3 * SECOND, "two", "ok", 1);
	finish(&tally);
	RF_REQUIRE(tally.agent_count == 1 && tally.agents[0].policy_count == 2, "one agent");
	RF_CHECK(tally.agents[0].policies[0].learnt == 1 && tally.agents[0].policies[1].learnt == 0,
		 "which of them was learnt from");
	rf_tally_use(&tally.agents[0], &tally.agents[0].policies[1], &seen);
	RF_CHECK(seen.learnt.is_known && seen.learnt.count == 2 &&
			 strcmp(seen.learnt.entries[0].name, "/data/x") == 0 &&
			 strcmp(seen.learnt.entries[0].method, "files.read") == 0,
		 "%zu", seen.learnt.count);
	rf_tally_done(&tally);

	begin(&tally, &period);
	start(&tally, SECOND, "one", "ada", lesson);
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "/data/%d", i);
		use(&tally, "one", "files.read", path);
	}
	use(&tally, "one", "learn", NULL);
	end(&tally, 3 * SECOND, "one", "ok", 1);
	finish(&tally);
	rf_tally_use(&tally.agents[0], &tally.agents[0].policies[0], &seen);
	RF_CHECK(!seen.learnt.is_known, "more than can be told apart says nothing of the rest");
	rf_tally_done(&tally);
}
