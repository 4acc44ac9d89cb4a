/* Audit events: src/audit/event.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/event.h"
#include "base/fd.h"
#include "harness.h"

static const uint8_t digest[RF_AUDIT_HASH] = { 0xab, 0, 0xff };

static void make_ended(struct rf_audit_event *event)
{
	rf_audit_event_init(event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(event, RF_AUDIT_BOX, "0123456789abcdef");
	rf_audit_event_text(event, RF_AUDIT_VERDICT, "timeout");
	rf_audit_event_text(event, RF_AUDIT_AGENT, "builder");
	rf_audit_event_number(event, RF_AUDIT_EXIT_CODE, (uint64_t)-1);
	rf_audit_event_number(event, RF_AUDIT_MEMORY, UINT64_MAX);
}

/* Every field that its kind knows, with something in it. */
static bool fill(struct rf_audit_event *event, unsigned kind)
{
	bool is_any = false;

	rf_audit_event_init(event, (enum rf_audit_kind)kind);
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++) {
		struct rf_audit_event one = *event;
		RF_AUTO_BUF struct rf_buf out;
		struct rf_err err = RF_ERR_INIT;
		char alone[300];

		if (rf_audit_event_field_type((enum rf_audit_field)i) <= RF_AUDIT_FREE)
			rf_audit_event_text(&one, (enum rf_audit_field)i, "x");
		else if (rf_audit_event_field_type((enum rf_audit_field)i) == RF_AUDIT_DIGEST)
			rf_audit_event_digest(&one, (enum rf_audit_field)i, digest);
		else
			rf_audit_event_number(&one, (enum rf_audit_field)i, i);
		rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
		snprintf(alone, sizeof(alone), " with %s", rf_audit_event_field_name(i));
		if (rf_audit_event_encode(&one, &out, &err) == 0 || !strstr(err.msg, alone)) {
			*event = one;
			is_any = true;
		}
	}
	return is_any;
}

RF_TEST(every_kind_is_written_and_read_again)
{
	for (unsigned kind = 1; kind < RF_AUDIT_KIND_END; kind++) {
		RF_AUTO_BUF struct rf_buf out, again;
		struct rf_audit_event event, back;
		struct rf_err err = RF_ERR_INIT;

		rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
		rf_buf_init(&again, RF_AUDIT_EVENT_MAX);
		RF_CHECK(fill(&event, kind), "kind %u", kind);
		RF_CHECK(rf_audit_event_kind_find(rf_audit_event_kind_name(kind)) == kind, "%u",
			 kind);
		RF_REQUIRE(rf_audit_event_encode(&event, &out, &err) == 0, "%s", err.msg);
		RF_REQUIRE(rf_audit_event_decode(out.data, out.len, &back, &err) == 0, "%s",
			   err.msg);
		RF_CHECK(back.kind == kind && back.fields == event.fields, "kind %u", kind);
		RF_REQUIRE(rf_audit_event_encode(&back, &again, &err) == 0, "%s", err.msg);
		RF_CHECK(again.len == out.len && memcmp(again.data, out.data, out.len) == 0,
			 "kind %u has one form", kind);
	}
}

RF_TEST(values_come_back_as_they_were)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_audit_event event, back;
	struct rf_err err = RF_ERR_INIT;
	char text[64];

	make_ended(&event);
	rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
	RF_REQUIRE(rf_audit_event_encode(&event, &out, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_audit_event_decode(out.data, out.len, &back, &err) == 0, "%s", err.msg);
	rf_audit_event_copy(&back, RF_AUDIT_VERDICT, text, sizeof(text));
	RF_CHECK(strcmp(text, "timeout") == 0, "%s", text);
	rf_audit_event_copy(&back, RF_AUDIT_BOX, text, 5);
	RF_CHECK(strcmp(text, "0123") == 0, "%s", text);
	rf_audit_event_copy(&back, RF_AUDIT_HOST, text, sizeof(text));
	RF_CHECK(!*text && !rf_audit_event_has(&back, RF_AUDIT_HOST), "%s", text);
	RF_CHECK((int64_t)rf_audit_event_get(&back, RF_AUDIT_EXIT_CODE) == -1, "a sign");
	RF_CHECK(rf_audit_event_get(&back, RF_AUDIT_MEMORY) == UINT64_MAX, "64 bits");
	RF_CHECK(rf_audit_event_get(&back, RF_AUDIT_PIDS) == 0, "none");
}

RF_TEST(an_event_is_as_its_kind_says)
{
	struct rf_audit_event event;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "ok");
	RF_CHECK(rf_audit_event_encode(&event, &out, &err) == -EINVAL, "no box");
	RF_CHECK(strcmp(err.msg, "an event run.ended without box") == 0, "%s", err.msg);
	make_ended(&event);
	rf_audit_event_text(&event, RF_AUDIT_HOST, "example.org");
	RF_CHECK(rf_audit_event_encode(&event, &out, &err) == -EINVAL, "a foreign field");
	RF_CHECK(strcmp(err.msg, "an event run.ended with host") == 0, "%s", err.msg);
	make_ended(&event);
	rf_audit_event_number(&event, RF_AUDIT_REASON, 1);
	RF_CHECK(rf_audit_event_encode(&event, &out, &err) == -EINVAL, "another type");
	RF_CHECK(out.len == 0, "nothing is written");
}

RF_TEST(no_byte_can_be_missing_or_too_much)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	make_ended(&event);
	rf_buf_init(&out, RF_AUDIT_EVENT_MAX + 1);
	RF_REQUIRE(rf_audit_event_encode(&event, &out, &err) == 0, "%s", err.msg);
	for (size_t len = 0; len < out.len; len++)
		RF_CHECK(rf_audit_event_decode(out.data, len, &event, &err) == -EBADMSG,
			 "the first %zu bytes", len);
	rf_buf_add(&out, "x", 1);
	RF_CHECK(rf_audit_event_decode(out.data, out.len, &event, &err) == -EBADMSG, "one more");
}

RF_TEST(malformed_events_are_refused)
{
	/* clang-format off */
	static const struct { const char *what, *bytes; size_t len; } cases[] = {
		{ "version",       "\2\0\31\0\0\0", 6 },
		{ "kind 0",        "\1\0\0\0\0\0", 6 },
		{ "unknown kind",  "\1\0\377\0\0\0", 6 },
		{ "unknown field", "\1\0\31\0\1\0\77\0\1\0x", 11 },
		{ "field 0",       "\1\0\31\0\1\0\0\0\1\0x", 11 },
		{ "twice",         "\1\0\31\0\2\0\1\0\1\0x\1\0\1\0x", 16 },
		{ "out of order",  "\1\0\31\0\2\0\2\0\1\0x\1\0\1\0x", 16 },
		{ "empty text",    "\1\0\31\0\1\0\1\0\0\0", 10 },
		{ "a NUL",         "\1\0\31\0\1\0\1\0\1\0\0", 11 },
		{ "short number",  "\1\0\31\0\1\0\71\0\4\0\1\0\0\0", 14 },
		{ "too long",      "\1\0\31\0\1\0\1\0\377\377x", 11 },
		{ "foreign",       "\1\0\31\0\1\0\30\0\1\0x", 11 },
	};
	/* clang-format on */
	static const char good[] = "\1\0\31\0\1\0\1\0\1\0x";
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(rf_audit_event_decode(good, 11, &event, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_audit_event_decode(cases[i].bytes, cases[i].len, &event, &err) ==
				 -EBADMSG,
			 "%s", cases[i].what);
}

RF_TEST(long_texts_are_cut_between_letters_and_secrets_never_stored)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_audit_event event, back;
	struct rf_err err = RF_ERR_INIT;
	char longer[2000], text[1000];

	for (size_t i = 0; i + 2 < sizeof(longer); i += 2)
		memcpy(longer + i, "\xc3\xa9", 3); /* two bytes each */
	rf_audit_event_init(&event, RF_AUDIT_DENIAL);
	rf_audit_event_text(&event, RF_AUDIT_RING, "api");
	rf_audit_event_text(&event, RF_AUDIT_WHAT, longer);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "sent password=hunter2");
	rf_buf_init(&out, RF_AUDIT_EVENT_MAX);
	RF_REQUIRE(rf_audit_event_encode(&event, &out, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_audit_event_decode(out.data, out.len, &back, &err) == 0, "%s", err.msg);
	rf_audit_event_copy(&back, RF_AUDIT_WHAT, text, sizeof(text));
	RF_CHECK(strlen(text) == 511 && strcmp(text + 508, "...") == 0, "%zu", strlen(text));
	RF_CHECK(rf_json_is_utf8(text, strlen(text)), "cut within a letter");
	rf_audit_event_copy(&back, RF_AUDIT_REASON, text, sizeof(text));
	RF_CHECK(strcmp(text, "sent password=[redacted]") == 0, "%s", text);
	RF_CHECK(!memmem(out.data, out.len, "hunter2", 7), "the secret is in the bytes");
}

RF_TEST(as_json_it_names_everything)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_audit_event event;
	struct rf_json json;

	make_ended(&event);
	event.seq = 7;
	event.time_ns = 1700000000123456789;
	rf_buf_init(&out, 4096);
	rf_json_init(&json, &out, false);
	rf_json_open_object(&json, NULL);
	rf_audit_event_json(&event, &json);
	rf_json_close_object(&json);
	RF_CHECK(strcmp(out.data,
			"{\"seq\": 7, \"time\": \"2023-11-14T22:13:20.123456Z\", \"kind\": "
			"\"run.ended\", \"agent\": \"builder\", \"box\": \"0123456789abcdef\", "
			"\"verdict\": \"timeout\", \"exit_code\": -1, \"memory\": "
			"\"18446744073709551615\"}") == 0,
		 "%s", out.data);
}
