/* SOCKS5 as a box speaks it. */
#include <errno.h>
#include <string.h>

#include "gateway/socks.h"
#include "harness.h"

static int request(const char *bytes, size_t len, struct rf_host *host, uint16_t *port,
		   enum rf_socks_reply *reply)
{
	size_t used = 0;

	for (size_t cut = 0; cut < len; cut++) {
		int code =
			rf_socks_request((struct rf_span){ bytes, cut }, &used, host, port, reply);

		if (code < 0)
			return code;
		RF_REQUIRE(code == 0, "whole at %zu of %zu", cut, len);
	}
	return rf_socks_request((struct rf_span){ bytes, len }, &used, host, port, reply);
}

RF_TEST(a_request_is_read_from_any_pieces)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len; int code; const char *host; unsigned port; } cases[] = {
#define CASE(bytes, code, host, port) { bytes, sizeof(bytes) - 1, code, host, port }
		CASE("\x05\x01\x00\x03\x0b" "api.example\x01\xbb",       1, "api.example", 443),
		CASE("\x05\x01\x00\x03\x0b" "API.Example\x01\xbb",       1, "api.example", 443),
		CASE("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",         1, "127.0.0.1", 80),
		CASE("\x05\x01\x00\x03\x09" "127.0.0.1\x00\x50",         1, "127.0.0.1", 80),
		CASE("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50", 1, "::1", 80),
		CASE("\x05\x01\x00\x03\x0d" "evil\0.example\x01\xbb",    -EPROTO, "", 0), /* cut at the NUL by some */
		CASE("\x05\x01\x00\x03\x06" "0x7f.1\x00\x50",            -EPROTO, "", 0),
		CASE("\x05\x01\x00\x03\x0a" "2130706433\x00\x50",        -EPROTO, "", 0),
		CASE("\x05\x01\x00\x03\x00\x00\x50",                     -EPROTO, "", 0),
		CASE("\x05\x01\x00\x03\x0b" "api.example\x00\x00",       -EPROTO, "", 0),
		CASE("\x05\x02\x00\x03\x0b" "api.example\x01\xbb",       -EPROTO, "", 0), /* BIND */
		CASE("\x05\x03\x00\x03\x0b" "api.example\x01\xbb",       -EPROTO, "", 0), /* UDP */
		CASE("\x05\x01\x01\x03\x0b" "api.example\x01\xbb",       -EPROTO, "", 0),
		CASE("\x05\x01\x00\x02\x0b" "api.example\x01\xbb",       -EPROTO, "", 0),
		CASE("\x04\x01\x00\x50\x7f\x00\x00\x01\x00",             -EPROTO, "", 0),
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_host host = { 0 };
		enum rf_socks_reply reply = RF_SOCKS_WELL;
		uint16_t port = 0;
		int code = request(cases[i].bytes, cases[i].len, &host, &port, &reply);

		RF_CHECK(code == cases[i].code, "case %zu: %d", i, code);
		if (code > 0)
			RF_CHECK(strcmp(host.text, cases[i].host) == 0 && port == cases[i].port,
				 "case %zu: %s %u", i, host.text, port);
		else
			RF_CHECK(reply != RF_SOCKS_WELL, "case %zu has a reply", i);
	}
}

RF_TEST(a_greeting_must_offer_no_password)
{
	size_t used = 0;
	bool is_open = false;

	RF_CHECK(rf_socks_greeting(RF_SPAN("\x05"), &used, &is_open) == 0, "more");
	RF_CHECK(rf_socks_greeting(RF_SPAN("\x05\x02\x02"), &used, &is_open) == 0, "more");
	RF_CHECK(rf_socks_greeting(RF_SPAN("\x05\x02\x02\x00x"), &used, &is_open) == 1 &&
			 used == 4 && is_open,
		 "open");
	RF_CHECK(rf_socks_greeting(RF_SPAN("\x05\x01\x02"), &used, &is_open) == 1 && !is_open,
		 "closed");
	RF_CHECK(rf_socks_greeting(RF_SPAN("\x05\x00"), &used, &is_open) == 1 && !is_open, "none");
	RF_CHECK(rf_socks_greeting(RF_SPAN("GET"), &used, &is_open) == -EPROTO, "HTTP");
}
