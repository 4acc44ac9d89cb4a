/* What the watcher does with what it hears: src/watch/steward.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/quota.h"
#include "watch/steward.h"

#define BOOT   "6a1e5b1c"
#define QUOTAS "5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits"
#define TWO    "5,50,10,60000,60000,2,-,-,-,-,-,-,-,-,-,-,-,-,-,limits" /* runs in an hour */

/* What was noted, a line each: kind, and the fields that matter here. */
static char noted[4096];

static void note(void *data, const struct rf_audit_event *event)
{
	static const enum rf_audit_field fields[] = { RF_AUDIT_AGENT,  RF_AUDIT_BREAKER,
						      RF_AUDIT_FROM,   RF_AUDIT_TO,
						      RF_AUDIT_BUDGET, RF_AUDIT_BY,
						      RF_AUDIT_REASON };
	RF_AUTO_BUF struct rf_buf bytes;
	struct rf_err err = RF_ERR_INIT;
	size_t len = strlen(noted);
	char text[256];

	(void)data;
	rf_buf_init(&bytes, 1 << 20);
	RF_CHECK(rf_audit_event_encode(event, &bytes, &err) == 0, "%s", err.msg);
	len += (size_t)snprintf(noted + len, sizeof(noted) - len, "%s",
				rf_audit_event_kind_name(event->kind));
	for (size_t i = 0; i < RF_LEN(fields); i++) {
		rf_audit_event_copy(event, fields[i], text, sizeof(text));
		if (text[0])
			len += (size_t)snprintf(noted + len, sizeof(noted) - len, " [%s]", text);
	}
	if (rf_audit_event_has(event, RF_AUDIT_UNTIL_MS))
		len += (size_t)snprintf(noted + len, sizeof(noted) - len, " until %" PRIu64,
					rf_audit_event_get(event, RF_AUDIT_UNTIL_MS));
	snprintf(noted + len, sizeof(noted) - len, "\n");
}

static struct rf_steward *new_steward(void)
{
	struct rf_steward *steward =
		rf_steward_new(&(struct rf_steward_options){ .cap = 8, .runs = 4, .note = note });

	RF_REQUIRE(steward, "no memory");
	noted[0] = '\0';
	return steward;
}

static struct rf_steward_now at(uint64_t ms)
{
	return (struct rf_steward_now){ ms, 1000000 + ms };
}

/* Asks with words between blanks; "_" is an empty one.  Gives the answer, or the error in <>. */
static const char *ask(struct rf_steward *steward, uint64_t ms, const char *line)
{
	static char text[1 << 16];
	struct rf_steward_now now = at(ms);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;
	const char *words[16];
	char copy[512], *save = NULL;
	size_t count = 0;
	int code;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[count++] = strcmp(word, "_") == 0 ? "" : word;
	rf_buf_init(&out, 1 << 16);
	code = rf_steward_ask(steward, words, count, &now, &out, &err);
	if (code < 0)
		snprintf(text, sizeof(text), "<%s>", err.msg);
	else
		snprintf(text, sizeof(text), "%s", code ? out.data : "unknown");
	return text;
}

static void end_run(struct rf_steward *steward, uint64_t ms, const char *box, const char *verdict)
{
	struct rf_steward_now now = at(ms);
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RUN_STARTED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_steward_event(steward, &event, &now);
	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, verdict);
	rf_audit_event_number(&event, RF_AUDIT_CPU_US, 2000);
	rf_audit_event_number(&event, RF_AUDIT_START_US, 900);
	rf_steward_event(steward, &event, &now);
}

static void expect(const char *got, const char *want)
{
	RF_CHECK(strcmp(got, want) == 0, "got:  %s\nwant: %s", got, want);
}

RF_TEST(a_run_that_was_admitted_and_is_not_begun_counts_for_nothing)
{
	struct rf_steward *steward = new_steward();
	struct rf_steward_now now = at(60020);
	struct rf_audit_event event;
	char line[256], box[16];

	for (int i = 0; i < 5; i++) {
		snprintf(box, sizeof(box), "b%d", i);
		snprintf(line, sizeof(line), "admit %s a " QUOTAS, box);
		ask(steward, 10, line);
		end_run(steward, 10, box, "timeout");
	}
	expect(ask(steward, 60010, "admit probe a " QUOTAS), "admitted\n");
	RF_CHECK(strncmp(ask(steward, 60010, "admit more a " QUOTAS), "refused", 7) == 0,
		 "one probe");
	rf_audit_event_init(&event, RF_AUDIT_RUN_REFUSED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, "probe");
	rf_audit_event_text(&event, RF_AUDIT_REASON, "the watcher was late");
	rf_steward_event(steward, &event, &now);
	expect(ask(steward, 60030, "admit again a " QUOTAS), "admitted\n");
	rf_steward_free(steward);
}

RF_TEST(a_tenant_has_its_share_of_agents)
{
	struct rf_steward *steward = rf_steward_new(
		&(struct rf_steward_options){ .cap = 256, .runs = 256, .note = note });
	char line[256];

	RF_REQUIRE(steward, "no memory");
	noted[0] = '\0';
	for (int i = 0; i < RF_STEWARD_OF_TENANT; i++) {
		snprintf(line, sizeof(line), "admit b%d acme/a%d " QUOTAS, i, i);
		RF_CHECK(strcmp(ask(steward, 1, line), "admitted\n") == 0, "agent %d", i);
	}
	RF_CHECK(strncmp(ask(steward, 1, "admit x acme/one-more " QUOTAS), "refused 60000 ", 14) ==
			 0,
		 "one more");
	RF_CHECK(strstr(noted, "run.refused [acme/one-more]"), "%s", noted);
	RF_CHECK(strcmp(ask(steward, 1, "admit y acme/a7 " QUOTAS), "admitted\n") == 0, "known");
	RF_CHECK(strcmp(ask(steward, 1, "admit z acm/a " QUOTAS), "admitted\n") == 0, "another's");
	RF_CHECK(strcmp(ask(steward, 1, "admit w acme " QUOTAS), "admitted\n") == 0, "nobody's");
	rf_steward_free(steward);
}

RF_TEST(a_runaway_agent_is_stopped_and_all_of_it_is_noted)
{
	struct rf_steward *steward = new_steward();
	char line[256], box[16];

	for (int i = 0; i < 5; i++) {
		snprintf(box, sizeof(box), "b%d", i);
		snprintf(line, sizeof(line), "admit %s runaway " QUOTAS, box);
		expect(ask(steward, 10, line), "admitted\n");
		end_run(steward, 10, box, "timeout");
	}
	expect(ask(steward, 1010, "admit b5 runaway " QUOTAS),
	       "refused 59000 5 failures in a row\n");
	expect(ask(steward, 1010, "admit b6 other " QUOTAS), "admitted\n");
	expect(noted,
	       "breaker.change [runaway] [agent runaway] [closed] [open] [watcher] "
	       "[5 failures in a row] until 1060010\n"
	       "run.refused [runaway] [agent runaway] [5 failures in a row] until 1060010\n");

	/* The probe goes well. */
	expect(ask(steward, 60010, "admit b7 runaway " QUOTAS), "admitted\n");
	expect(ask(steward, 60010, "admit b8 runaway " QUOTAS),
	       "refused 600000 5 failures in a row\n");
	end_run(steward, 60020, "b7", "ok");
	expect(ask(steward, 60020, "admit b9 runaway " QUOTAS), "admitted\n");
	RF_CHECK(strstr(noted, "[half-open] [closed]"), "%s", noted);
	rf_steward_free(steward);
}

RF_TEST(a_budget_that_is_spent_is_noted_with_its_figures)
{
	struct rf_steward *steward = new_steward();

	expect(ask(steward, 0, "admit b1 a " TWO), "admitted\n");
	expect(ask(steward, 0, "admit b2 a " TWO), "admitted\n");
	RF_CHECK(strncmp(ask(steward, 0, "admit b3 a " TWO), "refused 37", 10) == 0, "%s",
		 ask(steward, 0, "admit b3 a " TWO));
	RF_CHECK(strstr(noted, "budget.spent [a] [runs_per_hour]\n"), "%s", noted);
	RF_CHECK(strstr(noted, "breaker.change [a] [agent a] [closed] [open] [watcher] [the budget "
			       "is spent: 2 of 2 runs in an hour]"),
		 "%s", noted);
	expect(ask(steward, 0, "breaker reset agent a"), "closed: agent a\n");
	expect(ask(steward, 0, "admit b4 a " TWO), "admitted\n");
	rf_steward_free(steward);
}

static void send_request(struct rf_steward *steward, const char *what, const char *decision)
{
	struct rf_steward_now now = at(0);
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_NET_REQUEST);
	rf_audit_event_text(&event, RF_AUDIT_BOX, "b0");
	rf_audit_event_text(&event, RF_AUDIT_AGENT, "a");
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_audit_event_text(&event, RF_AUDIT_DECISION, decision);
	rf_audit_event_number(&event, RF_AUDIT_BYTES_OUT, 10);
	rf_audit_event_number(&event, RF_AUDIT_BYTES_IN, 90);
	rf_audit_event_number(&event, RF_AUDIT_TOOK_US, 900);
	rf_steward_event(steward, &event, &now);
}

RF_TEST(what_passes_the_gateway_is_spent_and_counted)
{
	static const char *const lines[] = {
		"ringfort_network_requests_total{decision=\"allow\"} 2\n",
		"ringfort_network_requests_total{decision=\"deny\"} 1\n",
		"ringfort_network_bytes_total{direction=\"in\"} 270\n",
		"ringfort_network_bytes_total{direction=\"out\"} 30\n",
		"ringfort_network_request_seconds_bucket{le=\"0.001\"} 1\n",
	};
	static const char two[] = "5,50,10,60000,60000,-,-,-,-,-,-,-,-,2,-,-,-,-,-,limits";
	static const char bytes[] = "5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,300,-,-,limits";
	struct rf_steward *steward = new_steward();
	const char *text;
	char line[128];

	send_request(steward, "request", "allow");
	send_request(steward, "request", "deny");
	send_request(steward, "dns", "deny"); /* none */
	snprintf(line, sizeof(line), "admit b1 a %s", two);
	expect(ask(steward, 0, line), "admitted\n");
	send_request(steward, "connect", "allow");
	text = ask(steward, 0, "metrics");
	for (size_t i = 0; i < RF_LEN(lines); i++)
		RF_CHECK(strstr(text, lines[i]), "missing: %s\nin:\n%s", lines[i], text);
	snprintf(line, sizeof(line), "admit b2 a %s", two);
	RF_CHECK(strstr(ask(steward, 0, line), "refused"), "two requests");
	ask(steward, 0, "breaker reset agent a");
	for (int i = 0; i < 3; i++)
		send_request(steward, "request", "allow");
	snprintf(line, sizeof(line), "admit b3 a %s", bytes);
	RF_CHECK(strstr(ask(steward, 0, line), "refused"), "300 bytes");
	rf_steward_free(steward);
}

RF_TEST(what_credentials_cost_is_spent_counted_and_told_to_gateways)
{
	static const char half[] = "5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,500000,-,limits";
	static const char *const lines[] = {
		"ringfort_money_total{credential=\"k\"} 0.5\n",
		"ringfort_credential_uses_total{credential=\"k\",decision=\"allow\"} 2\n",
		"ringfort_credential_uses_total{credential=\"k\",decision=\"deny\"} 1\n",
	};
	struct rf_steward *steward = new_steward();
	const struct rf_steward_now now = { 0, 0 };
	struct rf_audit_event event;
	const char *text;
	char line[128];

	for (int i = 0; i < 4; i++) {
		rf_audit_event_init(&event, RF_AUDIT_CREDENTIAL_USE);
		rf_audit_event_text(&event, RF_AUDIT_AGENT, "a");
		rf_audit_event_text(&event, RF_AUDIT_CREDENTIAL, "k");
		rf_audit_event_text(&event, RF_AUDIT_DECISION, i < 2 ? "allow" : "deny");
		rf_audit_event_number(&event, RF_AUDIT_SPENT, 250000);
		if (i < 3) /* one without is a canary that was planted */
			rf_audit_event_text(&event, RF_AUDIT_HOST, "a.b");
		rf_steward_event(steward, &event, &now);
	}
	text = ask(steward, 0, "metrics");
	for (size_t i = 0; i < RF_LEN(lines); i++)
		RF_CHECK(strstr(text, lines[i]), "missing: %s\nin:\n%s", lines[i], text);
	expect(ask(steward, 0, "books 0 k"), "serial 1\ncredential k 2 2 500000 500000 0\n");
	RF_CHECK(strstr(ask(steward, 0, "books x k"), "is not the number"), "no number");
	snprintf(line, sizeof(line), "admit b1 a %s", half);
	RF_CHECK(strstr(ask(steward, 0, line), "0.5 of 0.5 of money"), "%s", ask(steward, 0, line));
	rf_steward_free(steward);
}

RF_TEST(what_is_odd_is_an_alarm)
{
	struct rf_steward *steward = new_steward();

	end_run(steward, 0, "b1", "pids");
	end_run(steward, 0, "b2", "ok");
	RF_CHECK(strcmp(noted, "alarm [a run made more processes than it may have]\n") == 0, "%s",
		 noted);
	noted[0] = '\0';
	ask(steward, 0, "breaker trip agent a - _");
	for (int i = 0; i < 100; i++) {
		noted[0] = '\0';
		ask(steward, 0, "admit b3 a " QUOTAS);
	}
	RF_CHECK(strstr(noted, "alarm [a] [an agent is refused and asks again and again]\n"), "%s",
		 noted);
	RF_CHECK(strstr(ask(steward, 0, "metrics"),
			"ringfort_alarms_total{alarm=\"hammering\"} 1\n"),
		 "not counted");
	rf_steward_free(steward);
}

RF_TEST(by_hand_a_breaker_is_opened_closed_and_listed)
{
	struct rf_steward *steward = new_steward();

	RF_CHECK(strstr(ask(steward, 0, "breaker ls text"), "no breakers yet"), "empty");
	expect(ask(steward, 0, "breaker ls json"), "[]\n");
	expect(ask(steward, 0, "breaker trip agent a - odd"), "open: agent a, until it is reset\n");
	expect(ask(steward, 0, "breaker trip host h 90000 _"), "open: host h, for 1m30s\n");
	expect(ask(steward, 0, "breaker alarm c 00ff odd"), "open: agent c\n");
	RF_CHECK(strstr(noted, "[agent c] [closed] [open] [watcher] [odd"), "not by hand: %s",
		 noted);
	ask(steward, 0, "breaker reset agent c");
	expect(ask(steward, 0, "admit b a " QUOTAS), "refused - by hand: odd\n");
	expect(ask(steward, 0, "admit b z " QUOTAS), "admitted\n");
	expect(ask(steward, 1500, "breaker ls text"),
	       "STATE      KIND        NAME                    WELL  FAILED  REFUSED  RETRY IN   "
	       "REASON\n"
	       "open       agent       a                          0       0        1  reset      "
	       "by hand: odd\n"
	       "open       host        h                          0       0        0  1m28s      "
	       "by hand\n"
	       "closed     agent       c                          0       0        0             "
	       "\n"
	       "closed     agent       z                          0       0        0             "
	       "\n");
	RF_CHECK(strstr(ask(steward, 1500, "breaker ls json"), "\"retry_ms\": 88500"), "json");
	expect(ask(steward, 0, "breaker reset agent a"), "closed: agent a\n");
	expect(ask(steward, 0, "breaker reset agent b"), "<nothing is known of agent b>");
	RF_CHECK(strstr(noted, "breaker.change [a] [agent a] [open] [closed] [hand]\n"), "%s",
		 noted);
	expect(ask(steward, 0, "admit b a " QUOTAS), "admitted\n");
	rf_steward_free(steward);
}

RF_TEST(other_words_are_refused)
{
	/* clang-format off */
	static const struct { const char *line, *want; } cases[] = {
		{ "", "unknown" },
		{ "status", "unknown" },
		{ "admit", "<`admit` with other words than it takes>" },
		{ "admit b a " QUOTAS " x", "<`admit` with other words than it takes>" },
		{ "admit _ a " QUOTAS, "<\"\" is not the id of a box>" },
		{ "admit 123456789012345678901234567890123 a " QUOTAS,
		  "<\"123456789012345678901234567890123\" is not the id of a box>" },
		{ "admit b _ " QUOTAS, "<\"\" is not the name of an agent>" },
		{ "admit b a x", "<\"x\" is not what a policy says of quotas>" },
		{ "breaker", "<`breaker` with other words than it takes>" },
		{ "breaker ls xml", "<\"xml\" is not a form>" },
		{ "breaker reset agents a", "<\"agents\" is not something that has a breaker>" },
		{ "breaker trip agent a 0 x", "<\"0\" is not a time>" },
		{ "breaker trip agent a 5s x", "<\"5s\" is not a time>" },
		{ "breaker trip agent a -5 x", "<\"-5\" is not a time>" },
		{ "breaker trip agent a 99999999999999999999 x", "<\"99999999999999999999\" is not a time>" },
		{ "breaker trip agent a 5 \x1b[2J", "<a reason is one line of at most 120 bytes>" },
		{ "breaker trip agent a 5 \xff", "<a reason is one line of at most 120 bytes>" },
		{ "metrics all", "<`metrics` with other words than it takes>" },
	};
	/* clang-format on */
	struct rf_steward *steward = new_steward();

	for (size_t i = 0; i < RF_LEN(cases); i++)
		expect(ask(steward, 0, cases[i].line), cases[i].want);
	RF_CHECK(!noted[0], "%s", noted);
	rf_steward_free(steward);
}

RF_TEST(the_figures_tell_what_happened)
{
	static const char *const lines[] = {
		"ringfort_watched 1\n",
		"ringfort_boxes 0\n",
		"ringfort_starts_total 2\n",
		"ringfort_start_seconds_bucket{le=\"0.0005\"} 0\n",
		"ringfort_start_seconds_bucket{le=\"0.001\"} 2\n",
		"ringfort_runs_total{verdict=\"ok\"} 1\n",
		"ringfort_runs_total{verdict=\"timeout\"} 1\n",
		"ringfort_cpu_seconds_total 0.004\n",
		"ringfort_refused_total{kind=\"agent\"} 1\n",
		"ringfort_breakers{kind=\"agent\",state=\"open\"} 1\n",
		"ringfort_breaker_opened_total{kind=\"agent\"} 1\n",
		"ringfort_audit_events_total{kind=\"run.ended\"} 2\n",
	};
	struct rf_steward *steward = new_steward();
	const char *text;

	end_run(steward, 0, "b1", "ok");
	end_run(steward, 0, "b2", "timeout");
	ask(steward, 0, "breaker trip agent a - _");
	ask(steward, 0, "admit b3 a " QUOTAS);
	text = ask(steward, 0, "metrics");
	for (size_t i = 0; i < RF_LEN(lines); i++)
		RF_CHECK(strstr(text, lines[i]), "missing: %s\nin:\n%s", lines[i], text);
	rf_steward_free(steward);
}

RF_TEST(runs_that_never_began_do_not_fill_the_memory)
{
	struct rf_steward *steward = new_steward();
	char line[128];

	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "admit box-%d a " QUOTAS, i);
		expect(ask(steward, 0, line), "admitted\n");
	}
	/* The last few are known, and count. */
	for (int i = 996; i < 1000; i++) {
		snprintf(line, sizeof(line), "box-%d", i);
		end_run(steward, 0, line, "timeout");
	}
	expect(ask(steward, 0, "admit x a " QUOTAS), "admitted\n");
	end_run(steward, 0, "x", "timeout");
	RF_CHECK(strncmp(ask(steward, 0, "admit y a " QUOTAS), "refused", 7) == 0, "five of them");
	rf_steward_free(steward);
}

RF_TEST(a_run_that_a_predecessor_admitted_counts_all_the_same)
{
	struct rf_steward *steward = new_steward();
	struct rf_steward_now now = at(0);
	struct rf_audit_event event;

	for (int i = 0; i < 5; i++) {
		rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
		rf_audit_event_text(&event, RF_AUDIT_BOX, "of another time");
		rf_audit_event_text(&event, RF_AUDIT_AGENT, "a");
		rf_audit_event_text(&event, RF_AUDIT_VERDICT, "timeout");
		rf_audit_event_number(&event, RF_AUDIT_CPU_US, 7000);
		rf_steward_event(steward, &event, &now);
	}
	expect(ask(steward, 0, "admit b a " QUOTAS), "refused 60000 5 failures in a row\n");
	/* One that is nobody's does nothing. */
	for (int i = 0; i < 9; i++)
		end_run(steward, 0, "nobody's", "timeout");
	expect(ask(steward, 0, "admit b c " QUOTAS), "admitted\n");
	rf_steward_free(steward);
}

RF_TEST(a_successor_knows_what_is_open_and_what_is_spent)
{
	struct rf_steward *steward = new_steward(), *next;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;

	RF_CHECK(rf_steward_news(steward) == RF_STEWARD_NOTHING, "at the start");
	expect(ask(steward, 0, "admit b1 a " TWO), "admitted\n");
	end_run(steward, 0, "b1", "ok");
	RF_CHECK(rf_steward_news(steward) == RF_STEWARD_COUNTED, "counted");
	expect(ask(steward, 0, "breaker trip agent b - _"), "open: agent b, until it is reset\n");
	RF_CHECK(rf_steward_news(steward) == RF_STEWARD_CHANGED, "changed");
	rf_buf_init(&buf, 1 << 20);
	rf_steward_pack(steward, BOOT, &buf);
	RF_CHECK(rf_steward_news(steward) == RF_STEWARD_NOTHING, "saved");
	rf_steward_free(steward);

	for (size_t len = 0; len < buf.len; len += 7) {
		next = new_steward();
		RF_CHECK(rf_steward_unpack(next, BOOT, 0, buf.data, len, &err) == -EBADMSG, "%zu",
			 len);
		rf_steward_free(next);
	}
	next = new_steward();
	RF_REQUIRE(rf_steward_unpack(next, BOOT, 0, buf.data, buf.len, &err) == 0, "%s", err.msg);
	expect(ask(next, 0, "admit b2 b " QUOTAS), "refused - by hand\n");
	expect(ask(next, 0, "admit b3 a " TWO), "admitted\n");
	RF_CHECK(strstr(ask(next, 0, "admit b4 a " TWO), "the budget is spent"), "forgotten");
	rf_steward_free(next);
}

RF_TEST(quotas_are_read_as_they_are_written)
{
	static const char too_long[] = QUOTAS ",";
	const char *const bad[] = {
		"",
		"5",
		too_long,
		"0,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		"5,101,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		"5,50,-,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		"05,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		"5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,all",
		"99999999999999999999,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		" 5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,limits",
		"5,50,10,60000,60000,-,-,-,-,-,-,-,-,-,-,-,-,-,-,",
	};
	struct rf_quotas quotas;
	char text[RF_QUOTA_TEXT];

	RF_REQUIRE(rf_quota_parse(QUOTAS, &quotas), "%s", QUOTAS);
	RF_CHECK(quotas.figures[RF_QUOTA_FAILURES] == 5 &&
			 quotas.figures[RF_QUOTA_TIMEOUTS_DAY] == RF_LIMIT_NONE &&
			 !quotas.counts_failures,
		 "the figures");
	rf_quota_format(&quotas, text);
	RF_CHECK(strcmp(text, QUOTAS) == 0, "%s", text);
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		quotas.figures[i] = rf_quota_table[i].max;
	quotas.counts_failures = true;
	rf_quota_format(&quotas, text);
	RF_CHECK(rf_quota_parse(text, &quotas) && quotas.counts_failures, "%s", text);
	for (size_t i = 0; i < RF_LEN(bad); i++)
		RF_CHECK(!rf_quota_parse(bad[i], &quotas), "%s", bad[i]);
}
