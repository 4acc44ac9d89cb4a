/* A host, in the one form that everybody compares: src/http/host.c; and where a request goes: src/http/url.c. */
#include <stdio.h>

#include "base/fd.h"
#include "harness.h"
#include "http/octet.h"
#include "http/url.h"

#define TEN   "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

RF_TEST(a_host_has_one_form)
{
	/* clang-format off */
	static const struct { const char *text, *form; enum rf_host_kind kind; } cases[] = {
		{ "a", "a", RF_HOST_NAME },
		{ "EXAMPLE.Org", "example.org", RF_HOST_NAME },
		{ "example.org.", "example.org", RF_HOST_NAME },
		{ "localhost", "localhost", RF_HOST_NAME },
		{ "3com.com", "3com.com", RF_HOST_NAME },
		{ "1.2.3.4.example", "1.2.3.4.example", RF_HOST_NAME },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", RF_HOST_NAME },
		{ "r3---sn-x.example", "r3---sn-x.example", RF_HOST_NAME },
		{ "0x7f.example", "0x7f.example", RF_HOST_NAME },
		{ "0xg", "0xg", RF_HOST_NAME },
		{ "1a", "1a", RF_HOST_NAME },
		{ SIXTY "abc.x", SIXTY "abc.x", RF_HOST_NAME },
		{ "127.0.0.1", "127.0.0.1", RF_HOST_IPV4 },
		{ "255.255.255.255", "255.255.255.255", RF_HOST_IPV4 },
		{ "127.0.0.1.", "127.0.0.1", RF_HOST_IPV4 },
		{ "0.0.0.0", "0.0.0.0", RF_HOST_IPV4 },
		{ "[::1]", "::1", RF_HOST_IPV6 },
		{ "[0:0:0:0:0:0:0:1]", "::1", RF_HOST_IPV6 },
		{ "[2001:DB8::A]", "2001:db8::a", RF_HOST_IPV6 },
		{ "[::ffff:127.0.0.1]", "::ffff:127.0.0.1", RF_HOST_IPV6 },
		{ "[::ffff:7f00:1]", "::ffff:127.0.0.1", RF_HOST_IPV6 },
		{ "[::]", "::", RF_HOST_IPV6 },
		{ "[1:0:0:2:0:0:0:3]", "1:0:0:2::3", RF_HOST_IPV6 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_host host = { 0 }, again;
		enum rf_fault fault = rf_host_parse(rf_span_of(cases[i].text), &host);

		RF_CHECK(!fault && strcmp(host.text, cases[i].form) == 0 &&
				 host.len == strlen(cases[i].form) && host.kind == cases[i].kind,
			 "%s: %s, %s", cases[i].text, host.text, rf_fault_words(fault));
		if (host.kind != RF_HOST_IPV6)
			RF_CHECK(!rf_host_parse(rf_span_of(host.text), &again) &&
					 rf_host_is_same(&host, &again),
				 "%s is not its own form", host.text);
	}
}

RF_TEST(other_spellings_of_a_host_are_refused)
{
	/* clang-format off */
	static const struct { const char *text; enum rf_fault fault; } cases[] = {
		{ "", RF_FAULT_HOST_EMPTY },
		/* Addresses that systems understand though they do not look like one. */
		{ "2130706433", RF_FAULT_HOST_NUMBER }, { "017700000001", RF_FAULT_HOST_NUMBER },
		{ "0x7f000001", RF_FAULT_HOST_NUMBER }, { "0X7F.1", RF_FAULT_HOST_NUMBER },
		{ "0x7f.0.0.0x1", RF_FAULT_HOST_NUMBER }, { "127.1", RF_FAULT_HOST_NUMBER },
		{ "127.0.1", RF_FAULT_HOST_NUMBER }, { "0177.0.0.1", RF_FAULT_HOST_NUMBER },
		{ "127.0.0.01", RF_FAULT_HOST_NUMBER }, { "127.0.0.256", RF_FAULT_HOST_NUMBER },
		{ "127.0.0.1.1", RF_FAULT_HOST_NUMBER }, { "0", RF_FAULT_HOST_NUMBER },
		{ "1.2.3.08", RF_FAULT_HOST_NUMBER }, { "a.0x", RF_FAULT_HOST_NUMBER },
		{ "example.1", RF_FAULT_HOST_NUMBER }, { "4294967297", RF_FAULT_HOST_NUMBER },
		{ "127.0.0.00000000000000000001", RF_FAULT_HOST_NUMBER },
		/* Dots and hyphens. */
		{ ".", RF_FAULT_HOST_LABEL }, { "..", RF_FAULT_HOST_LABEL }, { "a..", RF_FAULT_HOST_LABEL },
		{ ".a", RF_FAULT_HOST_LABEL }, { "a..b", RF_FAULT_HOST_LABEL },
		{ "-a", RF_FAULT_HOST_LABEL }, { "a-", RF_FAULT_HOST_LABEL }, { "a.-b", RF_FAULT_HOST_LABEL },
		{ "xn--", RF_FAULT_HOST_LABEL }, { SIXTY "abcd.x", RF_FAULT_HOST_LABEL },
		{ SIXTY "." SIXTY "." SIXTY "." SIXTY "." TEN "a", RF_FAULT_HOST_LONG },
		/* Other characters. */
		{ "a_b.example", RF_FAULT_HOST_OCTET }, { "a b", RF_FAULT_HOST_OCTET },
		{ "a%2eb", RF_FAULT_HOST_OCTET }, { "a\\b", RF_FAULT_HOST_OCTET }, { "*.a", RF_FAULT_HOST_OCTET },
		{ "b\xc3\xbc" "cher.example", RF_FAULT_HOST_OCTET },
		{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", RF_FAULT_HOST_OCTET }, /* full-width digits */
		{ "a\xe3\x80\x82" "b", RF_FAULT_HOST_OCTET }, /* an ideographic full stop */
		{ "a\xc2\xad" "b", RF_FAULT_HOST_OCTET },     /* a soft hyphen */
		/* IPv6. */
		{ "::1", RF_FAULT_HOST_OCTET }, { "[", RF_FAULT_HOST_IPV6 }, { "[]", RF_FAULT_HOST_IPV6 },
		{ "[::1", RF_FAULT_HOST_IPV6 }, { "[::1]x", RF_FAULT_HOST_IPV6 }, { "[[::1]]", RF_FAULT_HOST_IPV6 },
		{ "[fe80::1%eth0]", RF_FAULT_HOST_IPV6 }, { "[fe80::1%25eth0]", RF_FAULT_HOST_IPV6 },
		{ "[v1.a]", RF_FAULT_HOST_IPV6 }, { "[127.0.0.1]", RF_FAULT_HOST_IPV6 },
		{ "[1::2::3]", RF_FAULT_HOST_IPV6 }, { "[12345::]", RF_FAULT_HOST_IPV6 },
		{ "[::ffff:127.0.0.01]", RF_FAULT_HOST_IPV6 }, { "[::127.1]", RF_FAULT_HOST_IPV6 },
		{ "[0:0:0:0:0:0:0:0:1]", RF_FAULT_HOST_IPV6 }, { "[:1]", RF_FAULT_HOST_IPV6 },
		{ "[00000000000000000000000000000000000000000000000000::1]", RF_FAULT_HOST_IPV6 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_host host;
		enum rf_fault fault = rf_host_parse(rf_span_of(cases[i].text), &host);

		RF_CHECK(fault == cases[i].fault, "%s: %s", cases[i].text, rf_fault_words(fault));
	}
	RF_CHECK(rf_host_parse(RF_SPAN("evil\0.good"), &(struct rf_host){ 0 }) ==
			 RF_FAULT_HOST_OCTET,
		 "a NUL");
}

RF_TEST(addresses_come_as_bytes)
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3 };
	struct rf_host host = { 0 };

	RF_CHECK(!rf_host_parse(RF_SPAN("10.1.2.3"), &host) &&
			 memcmp(host.address, mapped + 12, 4) == 0,
		 "IPv4");
	RF_CHECK(!rf_host_parse(RF_SPAN("[::ffff:10.1.2.3]"), &host) &&
			 memcmp(host.address, mapped, sizeof(mapped)) == 0,
		 "IPv6");
}

RF_TEST(urls_are_taken_apart)
{
	/* clang-format off */
	static const struct { const char *text, *host; unsigned port; const char *path, *query; bool has_query; } cases[] = {
		{ "http://a", "a", 80, "", "", false },
		{ "https://a", "a", 443, "", "", false },
		{ "HTTPS://A.b:8443/", "a.b", 8443, "/", "", false },
		{ "http://a/b/c?d=e?f", "a", 80, "/b/c", "d=e?f", true },
		{ "http://a?b", "a", 80, "", "b", true },
		{ "http://a/?", "a", 80, "/", "", true },
		{ "http://[::1]:1/x:y@z", "::1", 1, "/x:y@z", "", false },
		{ "http://a/http://b/", "a", 80, "/http://b/", "", false },
		{ "http://a/[x]{y}|^`", "a", 80, "/[x]{y}|^`", "", false },
	};
	static const struct { const char *text; enum rf_fault fault; } wrong[] = {
		{ "", RF_FAULT_SCHEME }, { "http", RF_FAULT_SCHEME }, { "http:", RF_FAULT_SCHEME }, { "http:/", RF_FAULT_SCHEME },
		{ "ftp://a", RF_FAULT_SCHEME }, { "//a/b", RF_FAULT_SCHEME }, { " http://a", RF_FAULT_SCHEME },
		{ "http://", RF_FAULT_HOST_EMPTY }, { "http://?a", RF_FAULT_HOST_EMPTY }, { "http://:80", RF_FAULT_HOST_EMPTY },
		{ "http://a@b", RF_FAULT_USERINFO }, { "http://@b", RF_FAULT_USERINFO },
		{ "http://a:0", RF_FAULT_PORT }, { "http://a:65536", RF_FAULT_PORT }, { "http://a:080", RF_FAULT_PORT },
		{ "http://a:+80", RF_FAULT_PORT }, { "http://a:80:80", RF_FAULT_PORT }, { "http://a: 80", RF_FAULT_PORT },
		{ "http://a:99999999999999999999", RF_FAULT_PORT },
		{ "http://[::1]80", RF_FAULT_HOST_IPV6 }, { "http://[::1", RF_FAULT_HOST_IPV6 },
		{ "http://a/#b", RF_FAULT_TARGET_OCTET }, { "http://a#b", RF_FAULT_TARGET_OCTET },
		{ "http://a/ ", RF_FAULT_TARGET_OCTET }, { "http://a/\\", RF_FAULT_TARGET_OCTET },
		{ "http://a\\b/", RF_FAULT_HOST_OCTET }, { "http://a b/", RF_FAULT_HOST_OCTET },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_url url = { 0 };
		enum rf_fault fault = rf_url_parse(rf_span_of(cases[i].text), &url);

		RF_CHECK(!fault && strcmp(url.authority.host.text, cases[i].host) == 0 &&
				 url.authority.port == cases[i].port &&
				 rf_span_is(url.path, rf_span_of(cases[i].path)) &&
				 rf_span_is(url.query, rf_span_of(cases[i].query)) &&
				 url.has_query == cases[i].has_query,
			 "%s: %s", cases[i].text, rf_fault_words(fault));
	}
	for (size_t i = 0; i < RF_LEN(wrong); i++) {
		struct rf_url url;
		enum rf_fault fault = rf_url_parse(rf_span_of(wrong[i].text), &url);

		RF_CHECK(fault == wrong[i].fault, "%s: %s", wrong[i].text, rf_fault_words(fault));
	}
}

RF_TEST(octets_are_what_the_rfcs_say)
{
	/* clang-format off */
	static const struct { enum rf_octet part; const char *of; } classes[] = {
		{ RF_OCTET_TOKEN, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" },
		{ RF_OCTET_TARGET, "!$&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~%" },
		{ RF_OCTET_METHOD, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-" },
		{ RF_OCTET_DIGIT, "0123456789" },
		{ RF_OCTET_HEX, "0123456789abcdefABCDEF" },
		{ RF_OCTET_LABEL, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-" },
		{ RF_OCTET_PLAIN, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(classes); i++)
		for (int octet = 0; octet < 256; octet++)
			RF_CHECK(rf_octet_is((char)octet, classes[i].part) ==
					 (octet && strchr(classes[i].of, octet)),
				 "octet %d of class %d", octet, (int)classes[i].part);
	for (int octet = 0; octet < 256; octet++)
		RF_CHECK(rf_octet_is((char)octet, RF_OCTET_TEXT) ==
				 (octet == '\t' || (octet >= 32 && octet != 127)),
			 "octet %d as text", octet);
	for (int octet = 0; octet < 16; octet++) {
		char text[3];

		snprintf(text, sizeof(text), "%x%X", (unsigned)octet, (unsigned)octet);
		RF_CHECK(rf_octet_hex(text[0]) == (unsigned)octet &&
				 rf_octet_hex(text[1]) == (unsigned)octet,
			 "%s", text);
	}
}
