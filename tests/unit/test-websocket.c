/* Reads and writes WebSocket frames: src/http/websocket.c. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "http/websocket.h"

static const struct rf_websocket_limits limits = {
	.frame_bytes = 70000,
	.message_bytes = 100000,
	.fragments = 4,
};

/* Reads `bytes` in pieces of `piece` and writes what they say: "t[..]" a text, "b[..]" bytes, "9[..]" a control frame, "!fault". */
static void transcript(struct rf_buf *out, bool is_masked, struct rf_span bytes, size_t piece)
{
	struct rf_websocket websocket = { .is_masked = is_masked };
	RF_AUTO_BUF struct rf_buf message = { 0 };
	char mine[256];
	size_t at = 0;

	rf_buf_init(&message, 1 << 20);
	RF_REQUIRE(bytes.len <= sizeof mine, "a long sample");
	memcpy(mine, bytes.at, bytes.len);
	while (at < bytes.len) {
		size_t used, len = bytes.len - at < piece ? bytes.len - at : piece;
		struct rf_websocket_event event;

		switch (rf_websocket_next(&websocket, &limits, mine + at, len, &used, &event)) {
		case RF_WEBSOCKET_BAD:
			rf_buf_printf(out, "!%d", websocket.fault);
			return;
		case RF_WEBSOCKET_WANTS:
			if (websocket.is_closed) {
				rf_buf_printf(out, "+%zu", bytes.len - at);
				return;
			}
			RF_REQUIRE(used == len, "all is used");
			break;
		case RF_WEBSOCKET_CONTROL_FRAME:
			rf_buf_printf(out, "%d[%.*s]", event.code ? event.code : event.kind,
				      RF_SPAN_ARG(event.payload));
			break;
		case RF_WEBSOCKET_DATA:
			rf_buf_add(&message, event.payload.at, event.payload.len);
			if (event.is_end) {
				rf_buf_printf(out, "%c[%.*s]",
					      event.kind == RF_WEBSOCKET_TEXT ? 't' : 'b',
					      (int)message.len, message.data ? message.data : "");
				rf_buf_clear(&message);
			}
		}
		at += used;
	}
	if (websocket.have > 0 || websocket.in_message)
		rf_buf_puts(out, "...");
}

#define KEYED    "\x37\xfa\x21\x3d" /* the key of the RFC's own examples */
#define F(fault) RF_WEBSOCKET_FAULT_##fault
/* clang-format off */
static const struct {
	struct rf_span bytes;
	const char *says;
	bool is_masked;
	int fault;
} samples[] = {
	/* RFC 6455, 5.7. */
	{ RF_SPAN_INIT("\x81\x05Hello"), "t[Hello]", false, 0 },
	{ RF_SPAN_INIT("\x81\x85" KEYED "\x7f\x9f\x4d\x51\x58"), "t[Hello]", true, 0 },
	{ RF_SPAN_INIT("\x01\x03Hel\x80\x02lo"), "t[Hello]", false, 0 },
	{ RF_SPAN_INIT("\x89\x05Hello\x8a\x85" "four"), "9[Hello]", false, F(MASK) },
	{ RF_SPAN_INIT("\x8a\x85" KEYED "\x7f\x9f\x4d\x51\x58"), "10[Hello]", true, 0 },
	/* Control frames stand between fragments. */
	{ RF_SPAN_INIT("\x02\x01" "a\x89\x01p\x00\x01" "b\x8a\x00\x80\x01" "c"), "9[p]10[]b[abc]", false, 0 },
	{ RF_SPAN_INIT("\x82\x00\x01\x00\x00\x00\x80\x00"), "b[]t[]", false, 0 },
	{ RF_SPAN_INIT("\x81\x7e\x00\x7e" "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"),
	  "t[012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345]", false, 0 },
	{ RF_SPAN_INIT("\x81\x03" "ab"), "...", false, 0 },
	{ RF_SPAN_INIT("\x01\x01" "a"), "...", false, 0 },
	{ RF_SPAN_INIT("\x81"), "...", false, 0 },
	/* What may not be. */
	{ RF_SPAN_INIT("\xc1\x00"), "", false, F(RESERVED) },
	{ RF_SPAN_INIT("\xa1\x00"), "", false, F(RESERVED) },
	{ RF_SPAN_INIT("\x91\x00"), "", false, F(RESERVED) },
	{ RF_SPAN_INIT("\x83\x00"), "", false, F(KIND) },
	{ RF_SPAN_INIT("\x87\x00"), "", false, F(KIND) },
	{ RF_SPAN_INIT("\x8b\x00"), "", false, F(KIND) },
	{ RF_SPAN_INIT("\x8f\x00"), "", false, F(KIND) },
	{ RF_SPAN_INIT("\x81\x01" "a"), "", true, F(MASK) },
	{ RF_SPAN_INIT("\x81\x81" KEYED "a"), "", false, F(MASK) },
	{ RF_SPAN_INIT("\x81\x7e\x00\x7d"), "", false, F(LENGTH) },
	{ RF_SPAN_INIT("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff"), "", false, F(LENGTH) },
	{ RF_SPAN_INIT("\x81\x7f\x80\x00\x00\x00\x00\x01\x00\x00"), "", false, F(LENGTH) },
	{ RF_SPAN_INIT("\x09\x00"), "", false, F(CONTROL) },
	{ RF_SPAN_INIT("\x89\x7e"), "", false, F(CONTROL) },
	{ RF_SPAN_INIT("\x88\x7f"), "", false, F(CONTROL) },
	{ RF_SPAN_INIT("\x80\x00"), "", false, F(NO_FIRST) },
	{ RF_SPAN_INIT("\x81\x01" "a\x00\x00"), "t[a]", false, F(NO_FIRST) },
	{ RF_SPAN_INIT("\x01\x01" "a\x81\x00"), "", false, F(NOT_LAST) },
	{ RF_SPAN_INIT("\x02\x01" "a\x02\x00"), "", false, F(NOT_LAST) },
	{ RF_SPAN_INIT("\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x71"), "", false, F(LONG) },
	{ RF_SPAN_INIT("\x02\x00\x00\x00\x00\x00\x00\x00\x80\x00"), "", false, F(FRAGMENTS) },
	/* Texts. */
	{ RF_SPAN_INIT("\x01\x02\x67\xc3\x80\x02\xbcn"), "t[g\xc3\xbcn]", false, 0 },
	{ RF_SPAN_INIT("\x81\x04\xf4\x8f\xbf\xbf"), "t[\xf4\x8f\xbf\xbf]", false, 0 },
	{ RF_SPAN_INIT("\x81\x04\xf4\x90\x80\x80"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x02\xc0\xaf"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x03\xe0\x9f\xbf"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x03\xed\xa0\x80"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x04\xf0\x8f\xbf\xbf"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x01\xff"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x01\x80"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x01\x02\xe2\x82\x80\x00"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x81\x0a" "12345678\xc3" "9"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x82\x02\xc0\xaf"), "b[\xc0\xaf]", false, 0 },
	/* Closes: nothing is read behind one. */
	{ RF_SPAN_INIT("\x88\x00zz"), "1005[]+2", false, 0 },
	{ RF_SPAN_INIT("\x88\x05\x03\xe8" "bye\x81\x00"), "1000[bye]+2", false, 0 },
	{ RF_SPAN_INIT("\x88\x02\x0f\xa0"), "4000[]", false, 0 },
	{ RF_SPAN_INIT("\x88\x01\x03"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x03\xe7"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x03\xec"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x03\xed"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x03\xf7"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x07\xd0"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x02\x13\x88"), "", false, F(CLOSE) },
	{ RF_SPAN_INIT("\x88\x03\x03\xe8\xff"), "", false, F(UTF8) },
	{ RF_SPAN_INIT("\x88\x03\x03\xe8\xc3"), "", false, F(UTF8) },
};
/* clang-format on */

RF_TEST(frames_say_the_same_however_they_are_cut)
{
	for (size_t i = 0; i < RF_LEN(samples); i++)
		for (size_t piece = 1; piece <= samples[i].bytes.len; piece++) {
			RF_AUTO_BUF struct rf_buf said = { 0 };
			char wanted[200];

			rf_buf_init(&said, 4096);
			transcript(&said, samples[i].is_masked, samples[i].bytes, piece);
			(void)snprintf(wanted, sizeof wanted, "%s", samples[i].says);
			if (samples[i].fault)
				(void)snprintf(wanted, sizeof wanted, "%s!%d", samples[i].says,
					       samples[i].fault);
			RF_CHECK(strcmp(said.data ? said.data : "", wanted) == 0,
				 "sample %zu in pieces of %zu: %s, not %s", i, piece,
				 said.data ? said.data : "", wanted);
		}
}

RF_TEST(what_is_written_is_read)
{
	static const size_t lens[] = { 0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70000 };
	static char bytes[RF_WEBSOCKET_HEAD + 70000];
	const uint8_t key[4] = { 1, 2, 0xff, 0x80 };

	for (size_t i = 0; i < RF_LEN(lens) * 2; i++) {
		size_t len = lens[i / 2], at = 0;
		const uint8_t *with = i % 2 ? key : NULL;
		struct rf_websocket websocket = { .is_masked = with };
		uint8_t head[RF_WEBSOCKET_HEAD];
		size_t head_len = rf_websocket_head(head, RF_WEBSOCKET_BINARY, true, len, with);
		struct rf_websocket_event event = { 0 };
		size_t used, got = 0;

		memcpy(bytes, head, head_len);
		for (size_t j = 0; j < len; j++)
			bytes[head_len + j] = (char)(j * 7);
		/* Masked in two steps, as a sender does that has not all of it. */
		if (with) {
			rf_websocket_mask(bytes + head_len, len / 3, key, 0);
			rf_websocket_mask(bytes + head_len + len / 3, len - len / 3, key, len / 3);
		}
		while (!event.is_end) {
			enum rf_websocket_answer answer =
				rf_websocket_next(&websocket, &limits, bytes + at,
						  head_len + len - at, &used, &event);

			RF_REQUIRE(answer == RF_WEBSOCKET_DATA, "%zu bytes: %d", len, answer);
			for (size_t j = 0; j < event.payload.len; j++)
				RF_REQUIRE(event.payload.at[j] == (char)((got + j) * 7),
					   "byte %zu of %zu", got + j, len);
			got += event.payload.len;
			at += used;
		}
		RF_CHECK(got == len && at == head_len + len, "%zu of %zu bytes", got, len);
	}
}

RF_TEST(a_close_is_cut_between_characters)
{
	char payload[RF_WEBSOCKET_CONTROL], reason[200];

	memset(reason, 'a', sizeof reason);
	reason[122] = '\xc3';
	reason[123] = '\xbc';
	RF_CHECK(rf_websocket_close(payload, 1001, (struct rf_span){ reason, sizeof reason }) ==
			 2 + 122,
		 "not within a character");
	RF_CHECK(payload[0] == 3 && (uint8_t)payload[1] == 0xe9, "the code comes first");
	RF_CHECK(rf_websocket_close(payload, 1000, (struct rf_span){ NULL, 0 }) == 2, "no reason");
}

RF_TEST(a_key_is_sixteen_bytes_and_has_one_answer)
{
	/* clang-format off */
	static const struct { const char *key; bool is_good; } cases[] = {
		{ "dGhlIHNhbXBsZSBub25jZQ==", true },
		{ "AAAAAAAAAAAAAAAAAAAAAA==", true },
		{ "", false },
		{ "dGhlIHNhbXBsZSBub25jZQ=", false },
		{ "dGhlIHNhbXBsZSBub25jZQ==x", false },
		{ "dGhlIHNhbXBsZSBub25jZR==", false }, /* bits that mean nothing */
		{ "dGhlIHNhbXBsZSBub25jZQAA", false }, /* eighteen */
		{ "dGhlIHNhbXBsZSBub25j====", false },
		{ "dGhlIHNhbXBsZSB\n\n\n\nb25jZQ", false },
		{ "dGhlIHNhbXBsZSBub25j*Q==", false },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf accept = { 0 };

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_websocket_key_is_good(rf_span_of(cases[i].key)) == cases[i].is_good,
			 "key %s", cases[i].key);
	rf_buf_init(&accept, 64);
	rf_websocket_accept(rf_span_of(cases[0].key), &accept);
	RF_CHECK(accept.data && strcmp(accept.data, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == 0,
		 "the RFC's own example, not %s", accept.data);
}

RF_TEST(every_fault_has_words_and_a_code)
{
	for (int i = 1; i < RF_WEBSOCKET_FAULT_COUNT; i++)
		RF_CHECK(rf_websocket_fault_words(i) &&
				 rf_websocket_code_is_good(rf_websocket_fault_code(i)),
			 "fault %d", i);
}
