/* What a box's queries say, and what is answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/dns.h"
#include "harness.h"

#define HEAD_ONE "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HEAD_OPT "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"
#define NAME                                                                                       \
	"\x03"                                                                                     \
	"ApI\x07"                                                                                  \
	"exAmple\x00"
#define A_IN "\x00\x01\x00\x01"

#define QUERY(text) (const uint8_t *)(text), sizeof(text) - 1

RF_TEST(a_question_is_read_with_its_name_in_lower_case)
{
	struct rf_dns_query query;

	RF_REQUIRE(rf_dns_parse(QUERY(HEAD_ONE NAME A_IN), &query) == RF_DNS_WELL, "parse");
	RF_CHECK(query.id == 0x1234 && query.type == RF_DNS_A && query.wants_recursion, "head");
	RF_CHECK(strcmp(query.name, "api.example") == 0, "%s", query.name);
	RF_CHECK(query.room == RF_DNS_UDP && !query.has_edns, "room %u", query.room);
}

RF_TEST(room_is_what_the_asker_has_within_bounds)
{
	struct rf_dns_query query;

	RF_CHECK(rf_dns_parse(
			 QUERY(HEAD_OPT NAME A_IN "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"),
			 &query) == RF_DNS_WELL,
		 "opt");
	RF_CHECK(query.has_edns && query.room == RF_DNS_EDNS, "room %u", query.room);
	RF_CHECK(rf_dns_parse(
			 QUERY(HEAD_OPT NAME A_IN "\x00\x00\x29\x00\x10\x00\x00\x00\x00\x00\x00"),
			 &query) == RF_DNS_WELL,
		 "opt");
	RF_CHECK(query.room == RF_DNS_UDP, "room %u", query.room);
	RF_CHECK(rf_dns_parse(
			 QUERY(HEAD_OPT NAME A_IN "\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00"),
			 &query) == RF_DNS_VERSION,
		 "version 1");
}

RF_TEST(what_is_no_query_is_refused_or_dropped)
{
	/* clang-format off */
	static const struct { const char *what; const char *bytes; size_t len; int code; } cases[] = {
#define CASE(what, bytes, code) { what, bytes, sizeof(bytes) - 1, code }
		CASE("too short",           "\x12\x34\x01\x00",                                       -EINVAL),
		CASE("an answer",           "\x12\x34\x81\x00\x00\x01\0\0\0\0\0\0" NAME A_IN,         -EINVAL),
		CASE("an update",           "\x12\x34\x28\x00\x00\x01\0\0\0\0\0\0" NAME A_IN,         RF_DNS_UNKNOWN),
		CASE("two questions",       "\x12\x34\x01\x00\x00\x02\0\0\0\0\0\0" NAME A_IN NAME A_IN, RF_DNS_MALFORMED),
		CASE("no question",         "\x12\x34\x01\x00\x00\x00\0\0\0\0\0\0",                   RF_DNS_MALFORMED),
		CASE("an answer within",    "\x12\x34\x01\x00\x00\x01\0\1\0\0\0\0" NAME A_IN,         RF_DNS_MALFORMED),
		CASE("a pointer to itself", HEAD_ONE "\xc0\x0c" A_IN,                                 RF_DNS_MALFORMED),
		CASE("a pointer behind",    HEAD_ONE "\x03" "api\xc0\x0c" A_IN,                       RF_DNS_MALFORMED),
		CASE("a label cut",         HEAD_ONE "\x3f" "api",                                    RF_DNS_MALFORMED),
		CASE("a label of 64",       HEAD_ONE "\x40" "api\x00" A_IN,                           RF_DNS_MALFORMED),
		CASE("no type",             HEAD_ONE NAME "\x00",                                     RF_DNS_MALFORMED),
		CASE("something behind",    HEAD_ONE NAME A_IN "x",                                   RF_DNS_MALFORMED),
		CASE("an OPT that is cut",  HEAD_OPT NAME A_IN "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x05", RF_DNS_MALFORMED),
		CASE("an OPT of a name",    HEAD_OPT NAME A_IN "\x01" "a\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00", RF_DNS_MALFORMED),
		CASE("another class",       HEAD_ONE NAME "\x00\x01\x00\x03",                         RF_DNS_REFUSED),
	};
	/* clang-format on */
	struct rf_dns_query query;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int code = rf_dns_parse((const uint8_t *)cases[i].bytes, cases[i].len, &query);

		RF_CHECK(code == cases[i].code, "%s: %d", cases[i].what, code);
	}
}

RF_TEST(a_name_with_octets_that_mean_something_else_as_text_has_none)
{
	struct rf_dns_query query;

	RF_CHECK(rf_dns_parse(QUERY(HEAD_ONE "\x08"
					     "evil.org\x07"
					     "example\x00" A_IN),
			      &query) == RF_DNS_WELL &&
			 query.name[0] == '\0',
		 "a dot in a label");
	RF_CHECK(rf_dns_parse(QUERY(HEAD_ONE "\x05"
					     "a\x00"
					     "evi\x07"
					     "example\x00" A_IN),
			      &query) == RF_DNS_WELL &&
			 query.name[0] == '\0',
		 "a NUL in a label");
}

RF_TEST(a_name_of_more_than_255_octets_is_none)
{
	uint8_t bytes[12 + 5 * 64 + 5] = HEAD_ONE;
	struct rf_dns_query query;
	uint8_t *at = bytes + 12;

	for (int i = 0; i < 4; i++) {
		*at++ = i == 3 ? 61 : 63;
		memset(at, 'a', 63);
		at += i == 3 ? 61 : 63;
	}
	*at++ = 0;
	memcpy(at, A_IN, 4);
	at += 4;
	RF_CHECK(rf_dns_parse(bytes, (size_t)(at - bytes), &query) == RF_DNS_WELL &&
			 strlen(query.name) == 253,
		 "255 octets: %zu", strlen(query.name));
	memset(bytes + 12, 0, sizeof(bytes) - 12);
	at = bytes + 12;
	for (int i = 0; i < 4; i++) {
		*at++ = i == 3 ? 62 : 63;
		memset(at, 'a', 63);
		at += i == 3 ? 62 : 63;
	}
	*at++ = 0;
	memcpy(at, A_IN, 4);
	at += 4;
	RF_CHECK(rf_dns_parse(bytes, (size_t)(at - bytes), &query) == RF_DNS_MALFORMED,
		 "256 octets");
}

RF_TEST(an_answer_repeats_the_question_as_it_was_spelled)
{
	static const uint8_t address[4] = { 28, 1, 2, 3 };
	struct rf_dns_query query;
	uint8_t answer[RF_DNS_ANSWER];
	size_t len;

	RF_REQUIRE(rf_dns_parse(
			   QUERY(HEAD_OPT NAME A_IN "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"),
			   &query) == RF_DNS_WELL,
		   "parse");
	len = rf_dns_format(&query, &(struct rf_dns_answer){ RF_DNS_WELL, address, 4, 30 }, answer,
			    sizeof(answer));
	RF_REQUIRE(len == 12 + 13 + 4 + 16 + 11, "%zu", len);
	RF_CHECK(memcmp(answer, "\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x01", 12) == 0,
		 "head");
	RF_CHECK(memcmp(answer + 12, NAME A_IN, 17) == 0, "question");
	RF_CHECK(memcmp(answer + 29,
			"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04\x1c\x01\x02\x03",
			16) == 0,
		 "record");
	RF_CHECK(rf_dns_format(&query, &(struct rf_dns_answer){ RF_DNS_WELL, address, 4, 30 },
			       answer, len - 1) == 0,
		 "without room there is none");
}

RF_TEST(a_refusal_has_its_code_and_no_record)
{
	struct rf_dns_query query;
	uint8_t answer[RF_DNS_ANSWER];
	size_t len;

	RF_REQUIRE(rf_dns_parse(QUERY(HEAD_ONE NAME A_IN), &query) == RF_DNS_WELL, "parse");
	len = rf_dns_format(&query, &(struct rf_dns_answer){ .rcode = RF_DNS_NO_NAME }, answer,
			    sizeof(answer));
	RF_CHECK(len == 29 && (answer[3] & 0xf) == 3 && answer[7] == 0, "%zu", len);
	RF_CHECK(rf_dns_parse(QUERY("\x12\x34\x28\x00\x00\x01\0\0\0\0\0\0"), &query) ==
			 RF_DNS_UNKNOWN,
		 "update");
	len = rf_dns_format(&query, &(struct rf_dns_answer){ .rcode = RF_DNS_UNKNOWN }, answer,
			    sizeof(answer));
	RF_CHECK(len == 12 && answer[5] == 0, "without a question");
}
