/*
 * Circuit breakers: src/watch/breaker.c.
 *
 * The last test is a model: the same rules written as plainly as possible, with every outcome kept,
 * and a million random steps in which engine and model must agree.  RF_SEED replays one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/breaker.h"

#define BOOT "6a1e5b1c"

static const struct rf_breaker_rule usual = { 5, 50, 10, 60000, 60000 };

static struct rf_breaker_set *new_set(size_t cap)
{
	struct rf_breaker_set *set = rf_breaker_new(&(struct rf_breaker_options){ .cap = cap });

	RF_REQUIRE(set, "no memory");
	return set;
}

static struct rf_breaker_answer ask(struct rf_breaker_set *set, const char *name, uint64_t now)
{
	struct rf_breaker_answer answer;

	rf_breaker_admit(set, RF_TABLE_AGENT, name, now, &answer);
	return answer;
}

static void tell(struct rf_breaker_set *set, const char *name, uint64_t ticket,
		 enum rf_breaker_outcome outcome, uint64_t now)
{
	rf_breaker_record(set, RF_TABLE_AGENT, name, &usual, ticket, outcome, now);
}

static enum rf_breaker_state state(struct rf_breaker_set *set, const char *name, uint64_t now)
{
	struct rf_breaker_view view;

	return rf_breaker_look(set, RF_TABLE_AGENT, name, now, &view) ? view.state
								      : RF_BREAKER_CLOSED;
}

static void fail_times(struct rf_breaker_set *set, const char *name, int times, uint64_t now)
{
	while (times-- > 0)
		tell(set, name, ask(set, name, now).ticket, RF_BREAKER_FAILED, now);
}

/* Admits one unit of work after another, and says what each came to: '+' well, '-' failed, '?' unknown. */
RF_TEST(a_breaker_opens_by_its_rule_and_not_before)
{
	/* clang-format off */
	static const struct { const char *outcomes; uint64_t step_ms; bool is_open; const char *reason; } cases[] = {
		{ "----",            1000, false, "" },
		{ "-----",           1000, true,  "5 failures in a row" },
		{ "-----",           9000000, true, "5 failures in a row" }, /* a row has no end */
		{ "----+----",       1000, false, "" },
		{ "----?-",          1000, true,  "5 failures in a row" },
		{ "-+-+-+-+-+",      1000, false, "" },                      /* a success never opens */
		{ "+-+-+-+-+-",      1000, true,  "5 of the last 10 failed within 60 s" },
		{ "+-+-+-+-+-",      6666, true,  "5 of the last 10 failed within 60 s" },
		{ "+-+-+-+-+-",      6667, false, "" },                      /* the first is too old */
		{ "+-+-+-+-+",       1000, false, "" },
		{ "++++++++++-+-+-+--", 1000, true, "5 of the last 10 failed within 60 s" },
		{ "????????????????", 1000, false, "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_breaker_set *set = new_set(4);
		struct rf_breaker_answer answer;
		uint64_t now = 5;

		for (const char *c = cases[i].outcomes; *c; c++, now += cases[i].step_ms) {
			answer = ask(set, "a", now);
			RF_CHECK(answer.is_admitted, "%s: open before its %td.", cases[i].outcomes,
				 c - cases[i].outcomes + 1);
			tell(set, "a", answer.ticket,
			     *c == '+'   ? RF_BREAKER_WELL
			     : *c == '-' ? RF_BREAKER_FAILED
					 : RF_BREAKER_UNKNOWN,
			     now);
		}
		answer = ask(set, "a", now - cases[i].step_ms);
		RF_CHECK(answer.is_admitted == !cases[i].is_open, "%s every %" PRIu64 " ms",
			 cases[i].outcomes, cases[i].step_ms);
		RF_CHECK(strcmp(answer.reason, cases[i].reason) == 0, "%s: %s", cases[i].outcomes,
			 answer.reason);
		if (cases[i].is_open)
			RF_CHECK(answer.retry_ms == 60000, "%s: %" PRIu64, cases[i].outcomes,
				 answer.retry_ms);
		rf_breaker_free(set);
	}
}

RF_TEST(a_rule_can_be_off)
{
	struct rf_breaker_rule off = { 0, 0, 10, 60000, 60000 };
	struct rf_breaker_set *set = new_set(4);

	for (uint64_t now = 0; now < 1000; now++)
		rf_breaker_record(set, RF_TABLE_AGENT, "a", &off, 0, RF_BREAKER_FAILED, now);
	RF_CHECK(ask(set, "a", 1000).is_admitted, "opened without a rule");
	rf_breaker_free(set);
}

RF_TEST(one_probe_decides)
{
	struct rf_breaker_set *set = new_set(4);
	struct rf_breaker_answer early, first, second;

	early = ask(set, "a", 0);
	fail_times(set, "a", 5, 0);
	RF_CHECK(ask(set, "a", 59999).retry_ms == 1, "a millisecond before");
	first = ask(set, "a", 60000);
	RF_CHECK(first.is_admitted && first.is_probe, "the probe");
	second = ask(set, "a", 60001);
	RF_CHECK(!second.is_admitted && second.retry_ms > 0, "a second one");
	RF_CHECK(state(set, "a", 60001) == RF_BREAKER_HALF_OPEN, "half-open");

	/* Others do not speak for it. */
	tell(set, "a", early.ticket, RF_BREAKER_WELL, 60002);
	tell(set, "a", 0, RF_BREAKER_WELL, 60002);
	tell(set, "a", 0, RF_BREAKER_FAILED, 60002);
	RF_CHECK(state(set, "a", 60002) == RF_BREAKER_HALF_OPEN, "a stranger decided");

	tell(set, "a", first.ticket, RF_BREAKER_FAILED, 60003);
	second = ask(set, "a", 60003);
	RF_CHECK(!second.is_admitted && second.retry_ms == 60000, "open again");
	RF_CHECK(strcmp(second.reason, "the probe failed, after 5 failures in a row") == 0, "%s",
		 second.reason);
	first = ask(set, "a", 120003);
	tell(set, "a", first.ticket, RF_BREAKER_FAILED, 120004);
	RF_CHECK(strcmp(ask(set, "a", 120004).reason,
			"the probe failed, after 5 failures in a row") == 0,
		 "the reason grows");

	/* One that nothing is known of is tried again, at once. */
	first = ask(set, "a", 180004);
	tell(set, "a", first.ticket, RF_BREAKER_UNKNOWN, 180005);
	second = ask(set, "a", 180005);
	RF_CHECK(second.is_probe && second.ticket != first.ticket, "no second try");
	tell(set, "a", first.ticket, RF_BREAKER_WELL, 180006);
	RF_CHECK(state(set, "a", 180006) == RF_BREAKER_HALF_OPEN, "the old probe decided");
	tell(set, "a", second.ticket, RF_BREAKER_WELL, 180007);
	RF_CHECK(state(set, "a", 180007) == RF_BREAKER_CLOSED, "not closed");

	/* A clean slate: four failures do not open it. */
	fail_times(set, "a", 4, 180008);
	RF_CHECK(ask(set, "a", 180008).is_admitted, "the old failures count");
	rf_breaker_free(set);
}

RF_TEST(a_probe_that_never_comes_back_does_not_lock_out)
{
	struct rf_breaker_set *set = new_set(4);

	fail_times(set, "a", 5, 0);
	RF_CHECK(ask(set, "a", 60000).is_probe, "the probe");
	RF_CHECK(ask(set, "a", 60001).retry_ms == 599999, "when it may be repeated");
	RF_CHECK(!ask(set, "a", 659999).is_admitted, "too early");
	RF_CHECK(ask(set, "a", 660000).is_probe, "another probe");
	rf_breaker_free(set);
}

RF_TEST(a_late_outcome_of_another_time_does_not_count)
{
	struct rf_breaker_set *set = new_set(4);
	struct rf_breaker_answer late[5], probe;

	for (int i = 0; i < 5; i++)
		late[i] = ask(set, "a", 0);
	fail_times(set, "a", 5, 0);
	probe = ask(set, "a", 60000);
	tell(set, "a", probe.ticket, RF_BREAKER_WELL, 60000);
	for (int i = 0; i < 5; i++)
		tell(set, "a", late[i].ticket, RF_BREAKER_FAILED, 60001);
	RF_CHECK(ask(set, "a", 60001).is_admitted, "opened by what was before");
	rf_breaker_free(set);
}

RF_TEST(by_hand_it_opens_until_it_is_reset)
{
	struct rf_breaker_set *set = new_set(4);
	struct rf_breaker_answer answer;

	RF_CHECK(rf_breaker_reset(set, RF_TABLE_AGENT, "a", 0) == -ENOENT, "there is none");
	RF_CHECK(rf_breaker_trip(set, RF_TABLE_AGENT, "a b", "x", 1, 0) == -EINVAL, "a bad name");
	RF_CHECK(rf_breaker_trip(set, RF_TABLE_AGENT, "a", "by hand: odd", RF_CLOCK_NEVER, 0) == 0,
		 "trip");
	answer = ask(set, "a", UINT64_C(1) << 40);
	RF_CHECK(!answer.is_admitted && answer.retry_ms == RF_CLOCK_NEVER, "open for good");
	RF_CHECK(strcmp(answer.reason, "by hand: odd") == 0, "%s", answer.reason);
	RF_CHECK(rf_breaker_trip(set, RF_TABLE_AGENT, "a", "again", 10, UINT64_C(1) << 40) == 0,
		 "again");
	RF_CHECK(ask(set, "a", UINT64_C(1) << 41).retry_ms == RF_CLOCK_NEVER, "made shorter");
	RF_CHECK(rf_breaker_reset(set, RF_TABLE_AGENT, "a", 0) == 0, "reset");
	RF_CHECK(ask(set, "a", 0).is_admitted, "still open");
	RF_CHECK(rf_breaker_trip(set, RF_TABLE_AGENT, "a", "for a while", 10, 0) == 0, "trip");
	RF_CHECK(ask(set, "a", 0).retry_ms == 10, "for a while");
	rf_breaker_free(set);
}

RF_TEST(names_that_somebody_invents_push_out_no_open_breaker)
{
	struct rf_breaker_set *set = new_set(100);
	char name[32];

	fail_times(set, "open", 5, 0);
	fail_times(set, "failing", 4, 0);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "invented-%d", i);
		RF_CHECK(ask(set, name, 1).is_admitted, "%s", name);
	}
	RF_CHECK(rf_breaker_count(set) == 100, "%zu", rf_breaker_count(set));
	RF_CHECK(state(set, "open", 2) == RF_BREAKER_OPEN, "pushed out");
	fail_times(set, "failing", 1, 2);
	RF_CHECK(state(set, "failing", 2) == RF_BREAKER_OPEN, "its failures were forgotten");
	RF_CHECK(rf_breaker_lost(set) == 0, "%" PRIu64, rf_breaker_lost(set));

	/* With failures of their own they push out each other, and it is counted. */
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "dirty-%d", i);
		fail_times(set, name, 1, 3);
	}
	RF_CHECK(state(set, "open", 4) == RF_BREAKER_OPEN, "pushed out");
	RF_CHECK(rf_breaker_lost(set) == 1000 - 98, "%" PRIu64, rf_breaker_lost(set));
	rf_breaker_free(set);
}

RF_TEST(when_all_are_open_a_new_name_is_refused)
{
	struct rf_breaker_set *set = new_set(3);
	struct rf_breaker_answer answer;
	char name[32];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "open-%d", i);
		fail_times(set, name, 5, 0);
	}
	answer = ask(set, "new", 1);
	RF_CHECK(!answer.is_admitted && answer.retry_ms == 1000, "%s", answer.reason);
	RF_CHECK(rf_breaker_trip(set, RF_TABLE_AGENT, "new", "x", 1, 1) == -ENOSPC, "trip");
	tell(set, "new", 0, RF_BREAKER_FAILED, 1); /* is lost, and hurts nobody */
	RF_CHECK(rf_breaker_count(set) == 3, "%zu", rf_breaker_count(set));
	RF_CHECK(rf_breaker_reset(set, RF_TABLE_AGENT, "open-1", 1) == 0, "reset");
	RF_CHECK(ask(set, "new", 1).is_admitted, "there is room now");
	rf_breaker_free(set);
}

RF_TEST(kinds_do_not_share_a_breaker)
{
	struct rf_breaker_set *set = new_set(8);
	struct rf_breaker_answer answer;

	fail_times(set, "same", 5, 0);
	rf_breaker_admit(set, RF_TABLE_HOST, "same", 0, &answer);
	RF_CHECK(answer.is_admitted, "a host that has an agent's name");
	rf_breaker_admit(set, RF_TABLE_HOST, "not a name", 0, &answer);
	RF_CHECK(!answer.is_admitted && answer.reason[0], "a name with blanks");
	rf_breaker_free(set);
}

RF_TEST(a_clock_that_jumps_opens_nothing_and_locks_nobody_out)
{
	struct rf_breaker_set *set = new_set(4);

	/* Back: the time that is left stays what it was, and goes on. */
	fail_times(set, "a", 5, 1000000);
	RF_CHECK(ask(set, "a", 5).retry_ms == 60000, "%" PRIu64, ask(set, "a", 5).retry_ms);
	RF_CHECK(ask(set, "a", 1005).retry_ms == 59000, "%" PRIu64, ask(set, "a", 1005).retry_ms);
	RF_CHECK(ask(set, "a", 60005).is_probe, "not due");

	/* To the end of numbers, and back: nothing wraps. */
	fail_times(set, "b", 5, 60005);
	RF_CHECK(ask(set, "b", UINT64_MAX).is_probe, "due");
	fail_times(set, "c", 5, UINT64_MAX);
	RF_CHECK(!ask(set, "c", UINT64_MAX).is_admitted, "open");
	RF_CHECK(ask(set, "c", 0).retry_ms == 60000, "back again");
	rf_breaker_free(set);
}

struct changes {
	char text[512];
};

static void note(void *arg, const struct rf_breaker_view *view, enum rf_breaker_state before)
{
	struct changes *changes = arg;
	size_t len = strlen(changes->text);

	snprintf(changes->text + len, sizeof(changes->text) - len, "%s %s>%s (%s)\n", view->name,
		 rf_breaker_state_name(before), rf_breaker_state_name(view->state), view->reason);
}

RF_TEST(each_change_is_told_once)
{
	struct changes changes = { "" };
	struct rf_breaker_set *set = rf_breaker_new(
		&(struct rf_breaker_options){ .cap = 4, .changed = note, .arg = &changes });
	struct rf_breaker_answer probe;

	RF_REQUIRE(set, "no memory");
	fail_times(set, "a", 9, 0);
	probe = ask(set, "a", 60000);
	ask(set, "a", 60000);
	tell(set, "a", probe.ticket, RF_BREAKER_WELL, 60001);
	rf_breaker_reset(set, RF_TABLE_AGENT, "a", 60002);
	RF_CHECK(strcmp(changes.text, "a closed>open (5 failures in a row)\n"
				      "a open>half-open (5 failures in a row)\n"
				      "a half-open>closed ()\n") == 0,
		 "%s", changes.text);
	rf_breaker_free(set);
}

/* ------------------------------------------------------------- for a successor */

/* A new set with the state of an old one, which is freed. */
static struct rf_breaker_set *succeed(struct rf_breaker_set *old, size_t cap, const char *boot,
				      uint64_t now)
{
	struct rf_breaker_set *set = new_set(cap);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, 64 << 20);
	rf_breaker_pack(old, BOOT, &buf);
	RF_REQUIRE(!buf.has_failed, "pack");
	RF_REQUIRE(rf_breaker_unpack(set, boot, now, buf.data, buf.len, &err) == 0, "%s", err.msg);
	rf_breaker_free(old);
	return set;
}

RF_TEST(a_successor_goes_on_where_the_old_one_ended)
{
	struct rf_breaker_set *set = new_set(8);
	struct rf_breaker_answer closed;

	fail_times(set, "open", 5, 1000);
	fail_times(set, "failing", 4, 1000);
	closed = ask(set, "failing", 1000);
	rf_breaker_trip(set, RF_TABLE_AGENT, "tripped", "by hand", RF_CLOCK_NEVER, 1000);
	fail_times(set, "probed", 5, 1000);
	ask(set, "clean", 1000);

	set = succeed(set, 8, BOOT, 31000);
	RF_CHECK(ask(set, "open", 31000).retry_ms == 30000, "%" PRIu64,
		 ask(set, "open", 31000).retry_ms);
	RF_CHECK(strcmp(ask(set, "open", 31000).reason, "5 failures in a row") == 0, "the reason");
	RF_CHECK(ask(set, "tripped", 31000).retry_ms == RF_CLOCK_NEVER, "by hand");
	tell(set, "failing", closed.ticket, RF_BREAKER_FAILED, 31000);
	RF_CHECK(state(set, "failing", 31000) == RF_BREAKER_OPEN, "an old ticket does not count");
	RF_CHECK(ask(set, "probed", 61000).is_probe, "the probe");

	/* Another boot, in which the clock began anew: what was left is left. */
	set = succeed(set, 8, "another", 5);
	RF_CHECK(ask(set, "failing", 5).retry_ms == 30000, "%" PRIu64,
		 ask(set, "failing", 5).retry_ms);
	RF_CHECK(ask(set, "probed", 6).is_probe, "nobody waits for a probe that is gone");
	rf_breaker_free(set);
}

RF_TEST(in_a_small_buffer_open_breakers_come_first)
{
	struct rf_breaker_set *set = new_set(4000), *next = new_set(4000);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;
	char name[32];

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		fail_times(set, name, i % 100 == 0 ? 5 : 1, 0);
	}
	rf_buf_init(&buf, 64 << 10);
	rf_breaker_pack(set, BOOT, &buf);
	RF_REQUIRE(!buf.has_failed, "no room");
	RF_REQUIRE(rf_breaker_unpack(next, BOOT, 0, buf.data, buf.len, &err) == 0, "%s", err.msg);
	for (int i = 0; i < 2000; i += 100) {
		snprintf(name, sizeof(name), "name-%d", i);
		RF_CHECK(state(next, name, 0) == RF_BREAKER_OPEN, "%s", name);
	}
	RF_CHECK(rf_breaker_count(next) > 100 && rf_breaker_count(next) < 2000, "%zu",
		 rf_breaker_count(next));
	rf_breaker_free(set);
	rf_breaker_free(next);
}

RF_TEST(a_damaged_state_is_refused_as_a_whole)
{
	struct rf_breaker_set *set = new_set(8);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;

	fail_times(set, "open", 5, 1000);
	fail_times(set, "failing", 4, 1000);
	rf_buf_init(&buf, 1 << 20);
	rf_breaker_pack(set, BOOT, &buf);
	for (size_t len = 0; len < buf.len; len++) {
		struct rf_breaker_set *next = new_set(8);

		RF_CHECK(rf_breaker_unpack(next, BOOT, 1000, buf.data, len, &err) == -EBADMSG,
			 "cut at %zu", len);
		RF_CHECK(rf_breaker_count(next) == 0, "cut at %zu", len);
		RF_CHECK(ask(next, "open", 1).is_admitted, "not empty");
		rf_breaker_free(next);
	}
	buf.data[0] ^= 2; /* the version */
	rf_breaker_free(set);
	set = new_set(8);
	RF_CHECK(rf_breaker_unpack(set, BOOT, 1000, buf.data, buf.len, &err) == -EBADMSG,
		 "another version");
	buf.data[0] ^= 2;
	rf_breaker_free(set);
	set = new_set(1);
	RF_CHECK(rf_breaker_unpack(set, BOOT, 1000, buf.data, buf.len, &err) == -EBADMSG,
		 "more than there is room for");
	rf_breaker_free(set);
}

/* ------------------------------------------------------------- the model */

enum {
	NAMES = 6,
	HISTORY = 4096,
	STEPS = 1000000
};

struct model {
	enum rf_breaker_state state;
	uint64_t until, ticket, probe_since;
	bool has_probe;
	struct {
		uint64_t at;
		bool has_failed;
	} history[HISTORY];
	int count;
};

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

static bool model_is_bad(const struct model *m, const struct rf_breaker_rule *rule, uint64_t now)
{
	uint32_t row = 0, failed = 0;

	for (int i = m->count - 1; i >= 0 && m->history[i].has_failed; i--)
		row++;
	for (int i = m->count - 1; i >= 0 && i >= m->count - (int)rule->of; i--)
		failed += m->history[i].has_failed;
	if (rule->failures && row >= rule->failures)
		return true;
	return rule->rate_percent && m->count >= (int)rule->of &&
	       now - m->history[m->count - (int)rule->of].at <= rule->within_ms &&
	       100 * failed >= rule->rate_percent * rule->of;
}

static void model_close(struct model *m)
{
	m->state = RF_BREAKER_CLOSED;
	m->ticket = 0; /* learned from the next admission */
	m->count = 0;
}

static void model_open(struct model *m, uint64_t until)
{
	m->state = RF_BREAKER_OPEN;
	m->until = until;
	m->has_probe = false;
	m->ticket = 0;
}

static void model_record(struct model *m, const struct rf_breaker_rule *rule, bool is_of_this_time,
			 enum rf_breaker_outcome outcome, uint64_t now)
{
	if (m->state == RF_BREAKER_CLOSED && is_of_this_time && outcome != RF_BREAKER_UNKNOWN) {
		if (m->count == HISTORY) {
			memmove(m->history, m->history + 1,
				sizeof(m->history) - sizeof(m->history[0]));
			m->count--;
		}
		m->history[m->count].at = now;
		m->history[m->count++].has_failed = outcome == RF_BREAKER_FAILED;
		if (outcome == RF_BREAKER_FAILED && model_is_bad(m, rule, now))
			model_open(m, now + rule->open_ms);
	} else if (m->state == RF_BREAKER_HALF_OPEN && m->has_probe && is_of_this_time) {
		m->has_probe = false;
		if (outcome == RF_BREAKER_FAILED)
			model_open(m, now + rule->open_ms);
		else if (outcome == RF_BREAKER_WELL)
			model_close(m);
	}
}

/* Whether work is admitted, and as a probe. */
static bool model_admit(struct model *m, uint64_t now, bool *is_probe)
{
	*is_probe = false;
	if (m->state == RF_BREAKER_OPEN && now >= m->until)
		m->state = RF_BREAKER_HALF_OPEN;
	if (m->state == RF_BREAKER_CLOSED)
		return true;
	if (m->state == RF_BREAKER_OPEN || (m->has_probe && now < m->probe_since + 600000))
		return false;
	m->has_probe = *is_probe = true;
	m->probe_since = now;
	return true;
}

RF_TEST(the_engine_and_a_plain_model_agree_for_a_million_steps)
{
	const char *seed = getenv("RF_SEED");
	struct model *models = calloc(NAMES, sizeof(*models));
	struct rf_breaker_set *set = new_set(NAMES);
	struct {
		int whose;
		uint64_t ticket;
	} pending[64];
	int pending_count = 0;
	uint64_t now = 1, opened = 0, probes = 0;
	char name[] = "agent-0";

	RF_REQUIRE(models, "no memory");
	random_state = seed ? strtoull(seed, NULL, 0) : 0x52494e47464f5254;
	for (int step = 0; step < STEPS; step++) {
		struct rf_breaker_rule rule = { (uint32_t)draw(7), (uint32_t)draw(101), 0,
						draw(20000), draw(20000) };
		enum rf_breaker_outcome outcome =
			(enum rf_breaker_outcome)(draw(16) ? draw(2) : RF_BREAKER_UNKNOWN);
		int who = (int)draw(NAMES);
		struct model *m = &models[who];
		struct rf_breaker_answer answer;
		bool is_admitted, is_probe;

		name[6] = (char)('0' + who);
		rule.of = 1 + 3 * (uint32_t)who; /* a longer one could not know what was before */
		now += draw(8) ? draw(300) : draw(64) ? draw(5000) : draw(2000000);
		switch (draw(64) ? draw(2) : 2 + draw(3)) {
		case 0:
			if (pending_count == RF_LEN(pending))
				break;
			answer = ask(set, name, now);
			is_admitted = model_admit(m, now, &is_probe);
			RF_REQUIRE(answer.is_admitted == is_admitted && answer.is_probe == is_probe,
				   "seed %s, step %d, %s: admitted %d %d, the model says %d %d",
				   seed ? seed : "(default)", step, name, answer.is_admitted,
				   answer.is_probe, is_admitted, is_probe);
			if (m->state == RF_BREAKER_OPEN)
				RF_REQUIRE(answer.retry_ms == m->until - now, "step %d", step);
			if (is_admitted) {
				m->ticket = answer.ticket;
				pending[pending_count].whose = who;
				pending[pending_count++].ticket = answer.ticket;
			}
			probes += is_probe;
			break;
		case 1:
			if (pending_count == 0)
				break;
			{
				int i = (int)draw((uint64_t)pending_count);
				enum rf_breaker_state before;

				m = &models[pending[i].whose];
				before = m->state;
				rule.of = 1 + 3 * (uint32_t)pending[i].whose;
				name[6] = (char)('0' + pending[i].whose);
				rf_breaker_record(set, RF_TABLE_AGENT, name, &rule,
						  pending[i].ticket, outcome, now);
				model_record(m, &rule, pending[i].ticket == m->ticket, outcome,
					     now);
				opened += m->state == RF_BREAKER_OPEN && before != RF_BREAKER_OPEN;
				pending[i] = pending[--pending_count];
			}
			break;
		case 2:
			rf_breaker_record(set, RF_TABLE_AGENT, name, &rule, 0, outcome, now);
			if (m->state == RF_BREAKER_CLOSED)
				model_record(m, &rule, true, outcome, now);
			break;
		case 3:
			if (rf_breaker_reset(set, RF_TABLE_AGENT, name, now) == 0)
				model_close(m);
			break;
		case 4:
			if (draw(16))
				break;
			set = succeed(set, NAMES, BOOT, now);
			for (int i = 0; i < NAMES; i++) {
				models[i].has_probe = false;
				if (models[i].state == RF_BREAKER_HALF_OPEN)
					models[i].ticket = 0;
			}
			pending_count = 0;
			break;
		}
		RF_REQUIRE(state(set, name, now) == (m->state == RF_BREAKER_OPEN && now >= m->until
							     ? RF_BREAKER_HALF_OPEN
							     : m->state),
			   "seed %s, step %d, %s: %s", seed ? seed : "(default)", step, name,
			   rf_breaker_state_name(state(set, name, now)));
	}
	RF_CHECK(opened > 1000 && probes > 1000, "%" PRIu64 " opened, %" PRIu64 " probes: too few",
		 opened, probes);
	rf_breaker_free(set);
	free(models);
}
