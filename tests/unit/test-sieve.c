/* Secrets masked in bytes that pass, however they are cut. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter/exact.h"
#include "filter/own.h"
#include "filter/sieve.h"
#include "harness.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define MAX        (64 * 1024 * 1024)

/* Parts, so that nobody who searches this file finds a token. */
#define GITHUB                                                                                     \
	"gh"                                                                                       \
	"p_"                                                                                       \
	"16C7e42F292c6912E7710c838347Ae178B4a"
#define VALUE "s3cr3t/V4lue+with=\"all\" of it & m\xc3\xb6re"
#define KEY                                                                                        \
	"-----BEGIN "                                                                              \
	"PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n"               \
	"-----END "                                                                                \
	"PRIVATE KEY-----\n"

/* The sanitizer looks for C++'s exceptions when the process starts, and vectorscan brings them later. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

static void need_vectorscan(void)
{
#ifdef HAS_ASAN
	RF_SKIP("vectorscan does not run under this sanitizer");
#endif
}

struct kit {
	struct rf_sieve_set *set;
	struct rf_sieve *sieve;
	struct rf_buf out;
};

static struct rf_sieve_set *make_set(const char *const *secrets, unsigned count, bool has_rules,
				     const char *const *own, unsigned own_count)
{
	struct rf_sieve_secret list[16];
	struct rf_sieve_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped = 0;

	for (unsigned i = 0; i < count; i++)
		list[i] = (struct rf_sieve_secret){ secrets[i], strlen(secrets[i]) };
	struct rf_sieve_config config = {
		.secrets = list,
		.secret_count = count,
		.has_rules = has_rules,
		.own_rules = own,
		.own_count = own_count,
	};

	if (rf_sieve_set_new(&config, &set, &skipped, &err) == -ENOSYS)
		RF_SKIP("%s", err.msg);
	RF_REQUIRE(set, "%s", err.msg);
	return set;
}

static void begin(struct kit *kit, const struct rf_sieve_set *set)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_sieve_new(set, &kit->sieve, &err) == 0, "%s", err.msg);
	rf_buf_init(&kit->out, MAX);
}

static void end(struct kit *kit)
{
	rf_sieve_free(kit->sieve);
	rf_buf_done(&kit->out);
}

/* The whole at once; `*ret_counts` is what was counted. */
static char *pass(const struct rf_sieve_set *set, const char *text, size_t len,
		  struct rf_sieve_counts *ret_counts)
{
	struct kit kit = { 0 };
	char *out;

	begin(&kit, set);
	RF_CHECK(rf_sieve_feed(kit.sieve, text, len, &kit.out) == 0, "fed");
	RF_CHECK(rf_sieve_finish(kit.sieve, &kit.out) == 0, "finished");
	RF_CHECK(kit.out.len == len, "%zu bytes of %zu", kit.out.len, len);
	*ret_counts = *rf_sieve_counted(kit.sieve);
	out = rf_buf_take(&kit.out);
	end(&kit);
	return out;
}

static void check_cuts(const struct rf_sieve_set *set, const char *text)
{
	size_t len = strlen(text);
	struct rf_sieve_counts whole_counts;
	char *whole = pass(set, text, len, &whole_counts);

	for (size_t step = 0; step < len; step++) {
		struct kit kit = { 0 };

		begin(&kit, set);
		if (step == 0) { /* byte by byte */
			for (size_t i = 0; i < len; i++)
				rf_sieve_feed(kit.sieve, text + i, 1, &kit.out);
		} else {
			rf_sieve_feed(kit.sieve, text, step, &kit.out);
			rf_sieve_feed(kit.sieve, text + step, len - step, &kit.out);
		}
		rf_sieve_finish(kit.sieve, &kit.out);
		RF_REQUIRE(kit.out.len == len && !memcmp(kit.out.data, whole, len),
			   "cut at %zu:\n%.*s\n%s", step, (int)kit.out.len, kit.out.data, whole);
		RF_REQUIRE(
			!memcmp(rf_sieve_counted(kit.sieve), &whole_counts, sizeof(whole_counts)),
			"cut at %zu: counts", step);
		end(&kit);
	}
	free(whole);
}

RF_TEST(a_known_secret_is_masked_in_each_of_its_forms)
{
	static const char *const secrets[] = { VALUE };
	/* Written by other programs than ours: coreutils, Python, Node, jq. */
	/* clang-format off */
	static const char *const forms[] = {
		VALUE,
		"czNjcjN0L1Y0bHVlK3dpdGg9ImFsbCIgb2YgaXQgJiBtw7ZyZQ", /* base64 */
		"zM2NyM3QvVjRsdWUrd2l0aD0iYWxsIiBvZiBpdCAmIG3DtnJl", /* behind "a" */
		"zM2NyM3QvVjRsdWUrd2l0aD0iYWxsIiBvZiBpdCAmIG3DtnJl", /* behind "ab" */
		"7333637233742f56346c75652b776974683d22616c6c22206f662069742026206dc3b67265", "7333637233742F56346C75652B776974683D22616C6C22206F662069742026206DC3B67265",
		"s3cr3t%2FV4lue%2Bwith%3D%22all%22%20of%20it%20%26%20m%C3%B6re",
		"s3cr3t%2fV4lue%2bwith%3d%22all%22%20of%20it%20%26%20m%c3%b6re",
		"s3cr3t%2FV4lue%2Bwith%3D%22all%22+of+it+%26+m%C3%B6re",
		"s3cr3t/V4lue+with=\\\"all\\\" of it & m\\u00f6re",
		"s3cr3t\\/V4lue+with=\\\"all\\\" of it & m\\u00f6re",
		"s3cr3t/V4lue+with=\\\"all\\\" of it \\u0026 m\xc3\xb6re",
		"s3cr3t/V4lue\\u002Bwith=\\u0022all\\u0022 of it \\u0026 m\\u00F6re",
		"s3cr3t/V4lue+with=&quot;all&quot; of it &amp; m\xc3\xb6re",
	};
	/* clang-format on */
	struct rf_sieve_set *set = make_set(secrets, 1, false, NULL, 0);

	for (size_t i = 0; i < LEN(forms); i++) {
		struct rf_sieve_counts counts;
		char text[512];
		size_t size = (size_t)snprintf(text, sizeof(text), "before<%s>after", forms[i]);
		char *out = pass(set, text, size, &counts);

		RF_CHECK(counts.secrets == 1, "%s: %s", text, out);
		RF_CHECK(strspn(out + 7, "*") + 3 >= strlen(forms[i]), "%s: %s", text, out);
		RF_CHECK(!memcmp(out, "before<", 7) && !strcmp(out + size - 6, ">after"), "%s",
			 out);
		free(out);
		check_cuts(set, text);
	}
	rf_sieve_set_free(set);
}

RF_TEST(a_short_value_is_not_looked_for_and_its_owner_is_told)
{
	struct rf_sieve_secret secret = { "hunter2", 7 };
	struct rf_sieve_config config = { .secrets = &secret, .secret_count = 1 };
	struct rf_sieve_set *set = NULL;
	struct rf_sieve_counts counts;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped = 0;

	RF_REQUIRE(rf_sieve_set_new(&config, &set, &skipped, &err) == 0, "%s", err.msg);
	RF_CHECK(skipped == 1 && rf_exact_count(set->exact) == 0, "%u", skipped);
	char *out = pass(set, "hunter2", 7, &counts);

	RF_CHECK(!strcmp(out, "hunter2"), "%s", out);
	free(out);
	rf_sieve_set_free(set);
}

RF_TEST(rules_and_known_secrets_are_the_same_wherever_the_bytes_are_cut)
{
	static const char *const secrets[] = { "correct-horse-battery", "AAAAAAAAAAAA",
					       "abcabcabcabc" };
	static const char *const texts[] = {
		"plain text with nothing in it, and some more of that",
		"token=" GITHUB "; and correct-horse-battery staple",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"abcabcabcabcabcabcabc correct-horse-correct-horse-battery",
		"{\"key\":\"-----BEGIN RSA "
		"PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQE\\nAAA\\n"
		"-----END RSA "
		"PRIVATE KEY-----\\n\",\"next\":1}",
		KEY KEY "correct-horse-battery" KEY,
		"postgres:"
		"//app:Xk29Lm-q7@db/app and https:"
		"//u:Xk29Lm-q7@h/ gh"
		"p_short " GITHUB,
		"data: {\"t\":\"" GITHUB "\"}\n\ndata: correct-horse-battery\n\n",
		"y29vcnJlY3QtaG9yc2UtYmF0dGVyeQ== -----BEGIN correct-horse-battery",
	};
	struct rf_sieve_set *set = make_set(secrets, 3, true, NULL, 0);

	for (size_t i = 0; i < LEN(texts); i++)
		check_cuts(set, texts[i]);
	rf_sieve_set_free(set);
}

RF_TEST(a_private_key_is_masked_line_by_line_and_stays_a_text_of_lines)
{
	struct rf_sieve_set *set = make_set(NULL, 0, true, NULL, 0);
	struct rf_sieve_counts counts;
	char *out = pass(set, KEY, strlen(KEY), &counts);

	RF_CHECK(!strcmp(out, "-----BEGIN "
			      "PRIVATE KEY-----\n********************************\n"
			      "********************\n-----END "
			      "PRIVATE KEY-----\n"),
		 "%s", out);
	RF_CHECK(counts.rules[rf_tokens_key_rule()] == 1 && counts.bytes == 52, "%lu",
		 (unsigned long)counts.bytes);
	free(out);

	static const char json[] = "\"-----BEGIN "
				   "PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG\\nn\\n-----END";

	out = pass(set, json, strlen(json), &counts);
	RF_CHECK(!strcmp(out, "\"-----BEGIN "
			      "PRIVATE KEY-----\\n********************\\n*\\n-----END"),
		 "%s", out);
	free(out);
	rf_sieve_set_free(set);
}

RF_TEST(nothing_is_held_back_that_is_no_beginning_of_a_secret)
{
	static const char *const secrets[] = { "correct-horse-battery" };
	/* clang-format off */
	static const struct { const char *text; size_t held; } cases[] = {
		{ "data: {\"a\": 1}\n\n",         0 },
		{ "an ordinary word",             0 },
		{ "it is corr",                   4 },
		{ "it is correct-horse-batter",   20 },
		{ "it is correct-horse-q",        0 },
		{ "the token is gh" "p_abc",      7 },
		{ "-----BEGIN CERT",              15 },
		{ "-----BEGIN CERTIFICATE-----\n",  0 },
	};
	/* clang-format on */
	struct rf_sieve_set *set = make_set(secrets, 1, true, NULL, 0);

	for (size_t i = 0; i < LEN(cases); i++) {
		struct kit kit = { 0 };

		begin(&kit, set);
		rf_sieve_feed(kit.sieve, cases[i].text, strlen(cases[i].text), &kit.out);
		RF_CHECK(rf_sieve_held(kit.sieve) == cases[i].held, "%s: %zu held", cases[i].text,
			 rf_sieve_held(kit.sieve));
		RF_CHECK(kit.out.len == strlen(cases[i].text) - cases[i].held,
			 "%s: the rest passed", cases[i].text);
		end(&kit);
	}
	rf_sieve_set_free(set);
}

RF_TEST(what_a_rule_holds_can_be_let_go_and_most_of_a_known_secret_can_not)
{
	static const char *const secrets[] = { "correct-horse-battery" };
	struct rf_sieve_set *set = make_set(secrets, 1, true, NULL, 0);
	struct kit kit = { 0 };

	begin(&kit, set);
	rf_sieve_feed(kit.sieve,
		      "gh"
		      "p_16C7e4",
		      10, &kit.out);
	RF_CHECK(rf_sieve_held(kit.sieve) == 10, "%zu", rf_sieve_held(kit.sieve));
	RF_CHECK(rf_sieve_flush(kit.sieve, &kit.out) == 0 && kit.out.len == 10, "it passes");
	RF_CHECK(rf_sieve_held(kit.sieve) == 0, "nothing is left");
	rf_sieve_feed(kit.sieve, ". correct-horse-bat", 19, &kit.out);
	RF_CHECK(rf_sieve_flush(kit.sieve, &kit.out) == 0 && rf_sieve_held(kit.sieve) == 17,
		 "it stays");
	rf_sieve_feed(kit.sieve, "tery.", 5, &kit.out);
	rf_sieve_finish(kit.sieve, &kit.out);
	RF_CHECK(!strcmp(kit.out.data, "gh"
				       "p_16C7e4. *********************."),
		 "%s", kit.out.data);
	end(&kit);

	/* A whole token that waits only for what comes behind it is masked when it is let go. */
	begin(&kit, set);
	rf_sieve_feed(kit.sieve, GITHUB, strlen(GITHUB), &kit.out);
	RF_CHECK(kit.out.len == 0, "it waits");
	rf_sieve_flush(kit.sieve, &kit.out);
	RF_CHECK(!strcmp(kit.out.data, "gh"
				       "p_************************************"),
		 "%s", kit.out.data);
	end(&kit);
	rf_sieve_set_free(set);
}

RF_TEST(a_few_bytes_that_may_begin_a_known_secret_are_let_go_and_the_rest_of_it_is_masked)
{
	static const char *const secrets[] = { "correct-horse-battery", "horse-battery-staple" };
	/* Fed with a flush behind each piece. */
	static const struct {
		const char *pieces[4], *passed;
	} cases[] = {
		{ { "it is c", "orn", "." }, "it is corn." },
		{ { "it is corre", "ct-horse-battery." }, "it is corre****************." },
		{ { "it is correc", "t-horse-battery." }, "it is *********************." },
		{ { "c", "o", "rrect-horse-battery" }, "co*******************" },
		{ { "c", "o", "r", "rect-horse-battery" }, "cor******************" },
		{ { "corre", "ct-horse-battery-staple" }, "corre***********************" },
		{ { "correct-horse-batte", "ry-staple" }, "****************************" },
		{ { "-----BEG", "IN RSA PRIVATE KEY-----\nAbcd", "efghAbcdefgh\n" },
		  "-----BEGIN RSA PRIVATE KEY-----\n****************\n" },
		{ { "-----BEGIN RSA PRIVATE KEY-----\nAbcdefghAbcdefgc", "o", "rn\n" },
		  "-----BEGIN RSA PRIVATE KEY-----\n*******************\n" },
	};
	struct rf_sieve_set *set = make_set(secrets, 2, true, NULL, 0);

	for (size_t i = 0; i < LEN(cases); i++) {
		struct kit kit = { 0 };

		begin(&kit, set);
		for (size_t p = 0; p < 4 && cases[i].pieces[p]; p++) {
			rf_sieve_feed(kit.sieve, cases[i].pieces[p], strlen(cases[i].pieces[p]),
				      &kit.out);
			RF_CHECK(rf_sieve_flush(kit.sieve, &kit.out) == 0, "flushed");
		}
		rf_sieve_finish(kit.sieve, &kit.out);
		RF_CHECK(!strcmp(kit.out.data, cases[i].passed), "%zu: %s", i, kit.out.data);
		end(&kit);
	}
	rf_sieve_set_free(set);
}

/* Wherever it is cut, and however often: never more than the first bytes of it pass. */
RF_TEST(no_way_of_cutting_lets_more_of_a_known_secret_go_than_its_first_bytes)
{
	static const char *const secrets[] = { "s3cr3t-Value+with/odd=chars-0123456789" };
	size_t len = strlen(secrets[0]);
	struct rf_sieve_set *set = make_set(secrets, 1, true, NULL, 0);

	for (size_t cut = 0; cut <= len; cut++)
		for (size_t second = cut; second <= len; second++) {
			const size_t ends[] = { cut, second, len };
			struct kit kit = { 0 };
			size_t shown = 0, at = 0;

			begin(&kit, set);
			for (size_t p = 0; p < LEN(ends); at = ends[p++]) {
				rf_sieve_feed(kit.sieve, secrets[0] + at, ends[p] - at, &kit.out);
				rf_sieve_flush(kit.sieve, &kit.out);
			}
			rf_sieve_finish(kit.sieve, &kit.out);
			RF_CHECK(kit.out.len == len, "%zu bytes", kit.out.len);
			while (shown < len && kit.out.data[shown] != '*')
				shown++;
			RF_CHECK(shown <= RF_EXACT_LOOSE && !memchr(kit.out.data, '9', len),
				 "%zu, %zu: %s", cut, second, kit.out.data);
			end(&kit);
		}
	rf_sieve_set_free(set);
}

RF_TEST(a_long_secret_is_found_in_pieces_of_any_size)
{
	char *secret = malloc(RF_EXACT_MAX + 1);
	const char *const secrets[] = { secret };

	for (size_t i = 0; i < RF_EXACT_MAX; i++)
		secret[i] = (char)('a' + (i * i + i / 7) % 26);
	secret[RF_EXACT_MAX] = '\0';
	struct rf_sieve_set *set = make_set(secrets, 1, true, NULL, 0);

	for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1) {
		struct kit kit = { 0 };

		begin(&kit, set);
		rf_sieve_feed(kit.sieve, "<", 1, &kit.out);
		for (size_t at = 0; at < RF_EXACT_MAX; at += piece)
			rf_sieve_feed(kit.sieve, secret + at,
				      piece < RF_EXACT_MAX - at ? piece : RF_EXACT_MAX - at,
				      &kit.out);
		rf_sieve_feed(kit.sieve, ">", 1, &kit.out);
		rf_sieve_finish(kit.sieve, &kit.out);
		RF_CHECK(kit.out.len == RF_EXACT_MAX + 2 &&
				 strspn(kit.out.data + 1, "*") == RF_EXACT_MAX,
			 "in pieces of %zu", piece);
		end(&kit);
	}
	rf_sieve_set_free(set);
	free(secret);
}

/* Many lines are glanced at together first: what is found in them must not depend on that, whatever the anchors are. */
RF_TEST(rules_of_the_policys_own_are_the_same_in_many_lines)
{
	static const struct {
		const char *rule;
		int masked; /* lines of the text below that it finds */
	} cases[] = {
		{ "^whole line$", 2 },  { "\\Awhole", 2 },    { "line\\z", 4 },
		{ "(?i)WHOLE", 2 },     { "(?-m)^whole", 2 }, { "middle of", 2 },
		{ "\\bmiddle\\b", 2 },  { "e[^x]a", 0 },      { "the [^z]{1,3}nd", 2 },
		{ "(?:not|here)!", 0 },
	};
	static const char lines[] = "whole line\nin the middle of a line\nan end, the end\n\n";

	need_vectorscan();
	for (size_t i = 0; i < LEN(cases); i++) {
		const char *const own[] = { cases[i].rule };
		struct rf_sieve_set *set = make_set(NULL, 0, false, own, 1);
		struct rf_sieve_counts counts;
		RF_AUTO_BUF struct rf_buf text;
		char *out;

		rf_buf_init(&text, 65536);
		rf_buf_puts(&text, lines);
		for (int j = 0; j < 60; j++) /* more than is looked at line by line */
			rf_buf_puts(&text, "nothing at all\n");
		rf_buf_puts(&text, lines);
		for (int j = 0; j < 60; j++)
			rf_buf_puts(&text, "nothing at all\n");
		out = pass(set, text.data, text.len, &counts);
		RF_CHECK(counts.own == (uint64_t)cases[i].masked, "%s: %lu", cases[i].rule,
			 (unsigned long)counts.own);
		free(out);
		check_cuts(set, text.data);
		rf_sieve_set_free(set);
	}
}

RF_TEST(rules_of_the_policys_own_hold_within_a_line)
{
	static const char *const own[] = { "ACME-[0-9]{8}", "internal\\.[a-z]{1,20}\\.corp",
					   "^secret: .{1,40}$" };
	static const char *const texts[] = {
		"order ACME-12345678 of internal.payroll.corp\n",
		"ACME-1234\n5678 ACME-87654321",
		"no\nsecret: the whole line\nsecret: and the last one",
		"ACME-ACME-11111111ACME-22222222",
	};
	need_vectorscan();
	struct rf_sieve_set *set = make_set(NULL, 0, true, own, 3);
	struct rf_sieve_counts counts;
	char *out = pass(set, texts[0], strlen(texts[0]), &counts);

	RF_CHECK(!strcmp(out, "order ************* of *********************\n"), "%s", out);
	RF_CHECK(counts.own == 2, "%lu", (unsigned long)counts.own);
	free(out);
	out = pass(set, texts[1], strlen(texts[1]), &counts);
	RF_CHECK(!strcmp(out, "ACME-1234\n5678 *************"), "%s", out);
	free(out);
	for (size_t i = 0; i < LEN(texts); i++)
		check_cuts(set, texts[i]);
	rf_sieve_set_free(set);
}

RF_TEST(a_rule_without_an_end_or_with_a_mistake_is_refused_by_its_number)
{
	/* clang-format off */
	static const struct { const char *rule, *says; } cases[] = {
		{ "a+",            "more than 1024" },
		{ "x{1,2000}",     "more than 1024" },
		{ "(a|)",          "everywhere" },
		{ "(unclosed",     "expression 2" },
		{ "(a)\\1",        "expression 2" },
	};
	/* clang-format on */

	need_vectorscan();
	for (size_t i = 0; i < LEN(cases); i++) {
		const char *const own[] = { "good[0-9]", cases[i].rule };
		struct rf_own *rules = NULL;
		struct rf_err err = RF_ERR_INIT;
		int code = rf_own_new(own, 2, &rules, &err);

		if (code == -ENOSYS)
			RF_SKIP("%s", err.msg);
		RF_CHECK(code == -EINVAL && strstr(err.msg, cases[i].says), "%s: %d %s",
			 cases[i].rule, code, err.msg);
		rf_own_free(rules);
	}
}

RF_TEST(sets_of_rules_have_a_most_and_those_of_the_same_rules_are_one)
{
	struct rf_own *made[RF_OWN_SETS + 1] = { NULL }, *again = NULL;
	struct rf_err err = RF_ERR_INIT;
	char text[32];
	const char *const rules[] = { text, "other" };
	unsigned count = 0;

	need_vectorscan();
	for (; count <= RF_OWN_SETS; count++) {
		snprintf(text, sizeof(text), "rule-%u-[0-9]{4}", count);
		if (rf_own_new(rules, 2, &made[count], &err) < 0)
			break;
	}
	if (count == 0 && err.code == -ENOSYS)
		RF_SKIP("vectorscan is not on this machine");
	RF_CHECK(count == RF_OWN_SETS && err.code == -EDQUOT && err.hint[0], "%u sets, then %s",
		 count, err.msg);
	snprintf(text, sizeof(text), "rule-0-[0-9]{4}");
	RF_REQUIRE(rf_own_new(rules, 2, &again, &err) == 0 && again == made[0],
		   "the same rules are there already");
	rf_own_free(made[0]);
	RF_CHECK(rf_own_new((const char *const[]){ "one more" }, 1, &made[0], &err) == -EDQUOT,
		 "somebody else has them yet");
	rf_own_free(again);
	RF_CHECK(rf_own_new((const char *const[]){ "one more" }, 1, &made[0], &err) == 0,
		 "there is room again: %s", err.msg);
	for (unsigned i = 0; i < count; i++)
		rf_own_free(made[i]);
}

RF_TEST(many_secrets_cost_no_more_than_few)
{
	static char names[200][32];
	struct rf_sieve_secret list[200];
	struct rf_sieve_config config = { .secrets = list, .secret_count = 200 };
	struct rf_sieve_set *set = NULL;
	struct rf_sieve_counts counts;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped;

	for (unsigned i = 0; i < 200; i++) {
		int size =
			snprintf(names[i], sizeof(names[i]), "secret/%u+%08x", i, i * 2654435761U);

		list[i] = (struct rf_sieve_secret){ names[i], (size_t)size };
	}
	RF_REQUIRE(rf_sieve_set_new(&config, &set, &skipped, &err) == 0, "%s", err.msg);
	for (unsigned i = 0; i < 200; i++) {
		char *out = pass(set, names[i], list[i].len, &counts);

		RF_CHECK(counts.secrets == 1 && strspn(out, "*") == list[i].len, "%s", names[i]);
		free(out);
	}
	rf_sieve_set_free(set);
}
