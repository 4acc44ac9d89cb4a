/* The filter that takes secrets out of answers, driven as forwarding drives it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "gateway/redaction.h"
#include "harness.h"

#define SECRET "correct-horse-battery"
#define TOKEN                                                                                      \
	"gh"                                                                                       \
	"p_"                                                                                       \
	"16C7e42F292c6912E7710c838347Ae178B4a"

static const struct rf_forward_filter *filter = &rf_redaction_filter;
static char told[512];

static void on_told(void *context, const struct rf_forward_place *place, const char *words)
{
	snprintf(told, sizeof(told), "%s", words);
}

static struct rf_redaction *make(uint64_t limit)
{
	static const struct rf_sieve_secret secret = { SECRET, sizeof(SECRET) - 1 };
	const struct rf_redaction_config config = {
		.secrets = { .secrets = &secret, .secret_count = 1, .has_rules = true },
		.limit_bytes = limit,
		.told = on_told,
	};
	struct rf_redaction *redaction = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_redaction_new(&config, &redaction, &err) == 0, "%s", err.msg);
	return redaction;
}

struct kit {
	struct rf_forward_place place;
	struct rf_forward_message message;
	struct rf_field fields[16];
	struct rf_refusal refusal;
	void *own;
};

static void begin(struct kit *kit, unsigned status)
{
	memset(kit, 0, sizeof(*kit));
	kit->message = (struct rf_forward_message){
		.place = &kit->place,
		.arena = rf_arena_new(),
		.status = status,
		.fields = kit->fields,
		.room = 16,
		.body = status ? RF_BODY_LENGTH : RF_BODY_NONE,
		.length = 100,
	};
}

static void add(struct kit *kit, const char *name, const char *value)
{
	kit->fields[kit->message.count++] =
		(struct rf_field){ rf_span_of(name), rf_span_of(value) };
}

static void end(struct kit *kit, struct rf_redaction *redaction)
{
	filter->on_end(redaction, &kit->own);
	rf_arena_free(kit->message.arena);
	rf_redaction_free(redaction);
}

RF_TEST(a_plain_body_keeps_its_length_and_loses_its_secrets)
{
	struct rf_redaction *redaction = make(0);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct kit kit;

	begin(&kit, 200);
	add(&kit, "Location", "https://x/?t=" SECRET);
	RF_CHECK(filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal) ==
			 RF_FORWARD_SAME,
		 "the length holds");
	RF_CHECK(rf_span_is(kit.fields[0].value, RF_SPAN("https://x/?t=*********************")),
		 "%.*s", RF_SPAN_ARG(kit.fields[0].value));
	rf_buf_init(&out, 4096);
	RF_CHECK(filter->on_answer_body(redaction, &kit.own, RF_SPAN("a " TOKEN " and correct-h"),
					false, &out, &err) == 0 &&
			 filter->on_answer_body(redaction, &kit.own, RF_SPAN("orse-battery"), true,
						&out, &err) == 0,
		 "%s", err.msg);
	RF_CHECK(!strcmp(out.data, "a "
				   "gh"
				   "p_************************************ and "
				   "*********************"),
		 "%s", out.data);
	end(&kit, redaction);
	RF_CHECK(!strcmp(told, "github-token, 2 known secrets"), "%s", told);
}

RF_TEST(a_coded_body_passes_decoded_and_without_what_spoke_of_its_coding)
{
	static const char text[] = "the word is " SECRET;
	struct rf_redaction *redaction = make(0);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct kit kit;
	char coded[256];
	z_stream zlib = { .next_in = (Bytef *)(uintptr_t)text,
			  .avail_in = sizeof(text) - 1,
			  .next_out = (Bytef *)coded,
			  .avail_out = sizeof(coded) };

	RF_REQUIRE(deflateInit2(&zlib, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0) == Z_OK, "zlib");
	deflate(&zlib, Z_FINISH);
	deflateEnd(&zlib);
	begin(&kit, 200);
	add(&kit, "Content-Encoding", "gzip");
	add(&kit, "Digest", "sha-256=abc");
	add(&kit, "Content-Type", "text/plain");
	RF_CHECK(filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal) ==
			 RF_FORWARD_CHANGE,
		 "the length does not hold");
	RF_CHECK(kit.message.count == 1 && rf_span_is(kit.fields[0].name, RF_SPAN("Content-Type")),
		 "%zu fields", kit.message.count);
	rf_buf_init(&out, 4096);
	RF_CHECK(filter->on_answer_body(redaction, &kit.own,
					(struct rf_span){ coded, zlib.total_out }, true, &out,
					&err) == 0,
		 "%s", err.msg);
	RF_CHECK(!strcmp(out.data, "the word is *********************"), "%s", out.data);
	end(&kit, redaction);
	RF_CHECK(!strcmp(told, "a known secret"), "%s", told);
}

RF_TEST(what_can_not_be_read_is_not_asked_for_and_not_passed_on)
{
	/* clang-format off */
	static const struct { const char *asked, *sent; } cases[] = {
		{ "gzip, deflate, br, zstd", "gzip, deflate, br, zstd" },
		{ "dcb, dcz, br;q=0.9, gzip", "br;q=0.9, gzip" },
		{ "dcb", "identity" },
		{ "*", "identity" },
		{ "gzip;q=1.0, *;q=0", "gzip;q=1.0" },
	};
	/* clang-format on */
	struct rf_redaction *redaction = make(0);
	struct kit kit;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&kit, 0);
		add(&kit, "accept-encoding", cases[i].asked);
		RF_CHECK(filter->on_request(redaction, &kit.own, &kit.message, &kit.refusal) ==
				 RF_FORWARD_LEAVE,
			 "the body is left");
		RF_CHECK(rf_span_is(kit.fields[0].value, rf_span_of(cases[i].sent)), "%s: %.*s",
			 cases[i].asked, RF_SPAN_ARG(kit.fields[0].value));
		filter->on_end(redaction, &kit.own);
		rf_arena_free(kit.message.arena);
	}
	begin(&kit, 200);
	add(&kit, "Content-Encoding", "gzip");
	add(&kit, "Content-Encoding", "br");
	RF_CHECK(filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal) ==
				 RF_FORWARD_REFUSE &&
			 kit.refusal.status == 502 && !strcmp(kit.refusal.code, "coding_unknown"),
		 "%s", kit.refusal.message);
	end(&kit, redaction);
}

RF_TEST(an_answer_without_a_body_is_looked_at_too)
{
	struct rf_redaction *redaction = make(0);
	struct kit kit;

	told[0] = '\0';
	begin(&kit, 304);
	kit.message.body = RF_BODY_NONE;
	add(&kit, "X-Echo", "Basic dXNlcjpjb3JyZWN0LWhvcnNlLWJhdHRlcnk=");
	RF_CHECK(filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal) ==
			 RF_FORWARD_LEAVE,
		 "nothing to look through");
	RF_CHECK(!memmem(kit.fields[0].value.at, kit.fields[0].value.len, "b3JyZWN0", 8), "%.*s",
		 RF_SPAN_ARG(kit.fields[0].value));
	end(&kit, redaction);
	RF_CHECK(!strcmp(told, "a known secret"), "%s", told);
}

RF_TEST(a_broken_coding_is_an_error_and_a_size_cuts)
{
	struct rf_redaction *redaction = make(10);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct kit kit;

	rf_buf_init(&out, 4096);
	begin(&kit, 200);
	RF_CHECK(filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal) ==
			 RF_FORWARD_CHANGE,
		 "it will be shorter than it says");
	filter->on_answer_body(redaction, &kit.own, RF_SPAN("12345 " SECRET), true, &out, &err);
	RF_CHECK(out.len == 10 && !memcmp(out.data, "12345 ****", 10), "%.*s", (int)out.len,
		 out.data);
	filter->on_end(redaction, &kit.own);
	rf_arena_free(kit.message.arena);

	begin(&kit, 200);
	add(&kit, "Content-Encoding", "gzip");
	filter->on_answer(redaction, &kit.own, &kit.message, &kit.refusal);
	RF_CHECK(filter->on_answer_body(redaction, &kit.own, RF_SPAN("no gzip at all"), true, &out,
					&err) == -EBADMSG,
		 "%s", err.msg);
	end(&kit, redaction);
}
