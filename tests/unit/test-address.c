/* Which addresses no name may lead to, in every way that they can be written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "http/address.h"

RF_TEST(every_special_address_is_known_however_it_is_wrapped)
{
	/* clang-format off */
	static const struct { const char *text; enum rf_address_kind kind; } cases[] = {
		{ "93.184.216.34",            RF_ADDRESS_PUBLIC },
		{ "1.1.1.1",                  RF_ADDRESS_PUBLIC },
		{ "28.1.2.3",                 RF_ADDRESS_PUBLIC },
		{ "172.15.255.255",           RF_ADDRESS_PUBLIC },
		{ "172.32.0.0",               RF_ADDRESS_PUBLIC },
		{ "100.63.255.255",           RF_ADDRESS_PUBLIC },
		{ "100.128.0.0",              RF_ADDRESS_PUBLIC },
		{ "2606:4700::1111",          RF_ADDRESS_PUBLIC },
		{ "0.0.0.0",                  RF_ADDRESS_UNSPECIFIED },
		{ "0.1.2.3",                  RF_ADDRESS_UNSPECIFIED },
		{ "127.0.0.1",                RF_ADDRESS_LOOPBACK },
		{ "127.255.255.255",          RF_ADDRESS_LOOPBACK },
		{ "169.254.169.254",          RF_ADDRESS_METADATA },
		{ "169.254.170.2",            RF_ADDRESS_METADATA },
		{ "168.63.129.16",            RF_ADDRESS_METADATA },
		{ "100.100.100.200",          RF_ADDRESS_METADATA },
		{ "169.254.1.1",              RF_ADDRESS_LINK_LOCAL },
		{ "10.0.0.1",                 RF_ADDRESS_PRIVATE },
		{ "172.16.0.1",               RF_ADDRESS_PRIVATE },
		{ "172.31.255.255",           RF_ADDRESS_PRIVATE },
		{ "192.168.1.1",              RF_ADDRESS_PRIVATE },
		{ "100.64.0.1",               RF_ADDRESS_SHARED },
		{ "100.127.255.255",          RF_ADDRESS_SHARED },
		{ "224.0.0.1",                RF_ADDRESS_MULTICAST },
		{ "239.255.255.255",          RF_ADDRESS_MULTICAST },
		{ "240.0.0.1",                RF_ADDRESS_RESERVED },
		{ "255.255.255.255",          RF_ADDRESS_RESERVED },
		{ "192.0.2.1",                RF_ADDRESS_RESERVED },
		{ "198.18.0.1",               RF_ADDRESS_RESERVED },
		{ "198.19.255.255",           RF_ADDRESS_RESERVED },
		{ "::",                       RF_ADDRESS_UNSPECIFIED },
		{ "::1",                      RF_ADDRESS_LOOPBACK },
		{ "::ffff:127.0.0.1",         RF_ADDRESS_LOOPBACK },
		{ "::ffff:169.254.169.254",   RF_ADDRESS_METADATA },
		{ "::ffff:8.8.8.8",           RF_ADDRESS_PUBLIC },
		{ "::127.0.0.1",              RF_ADDRESS_LOOPBACK },
		{ "::10.0.0.1",               RF_ADDRESS_PRIVATE },
		{ "::8.8.8.8",                RF_ADDRESS_RESERVED },
		{ "::ffff:0:127.0.0.1",       RF_ADDRESS_LOOPBACK },
		{ "64:ff9b::127.0.0.1",       RF_ADDRESS_LOOPBACK },
		{ "64:ff9b::169.254.169.254", RF_ADDRESS_METADATA },
		{ "64:ff9b::8.8.8.8",         RF_ADDRESS_PUBLIC },
		{ "64:ff9b:1::1",             RF_ADDRESS_PRIVATE },
		{ "2002:7f00:1::",            RF_ADDRESS_LOOPBACK },
		{ "2002:a9fe:a9fe::1",        RF_ADDRESS_METADATA },
		{ "2002:808:808::1",          RF_ADDRESS_PUBLIC },
		{ "2001:0:1:2:3:4:80ff:fffe", RF_ADDRESS_LOOPBACK }, /* Teredo: inverted 127.0.0.1 */
		{ "2001:0:1:2:3:4:f7f7:f7f7", RF_ADDRESS_RESERVED },
		{ "2001:db8::1",              RF_ADDRESS_RESERVED },
		{ "2a00::5efe:127.0.0.1",     RF_ADDRESS_LOOPBACK }, /* ISATAP */
		{ "2a00::200:5efe:10.0.0.1",  RF_ADDRESS_PRIVATE },
		{ "fd00:ec2::254",            RF_ADDRESS_METADATA },
		{ "fd20:ce::254",             RF_ADDRESS_METADATA },
		{ "fc00::1",                  RF_ADDRESS_PRIVATE },
		{ "fdff::1",                  RF_ADDRESS_PRIVATE },
		{ "fec0::1",                  RF_ADDRESS_PRIVATE },
		{ "fe80::1",                  RF_ADDRESS_LINK_LOCAL },
		{ "febf::1",                  RF_ADDRESS_LINK_LOCAL },
		{ "ff02::1",                  RF_ADDRESS_MULTICAST },
		{ "4000::1",                  RF_ADDRESS_RESERVED },
		{ "100::1",                   RF_ADDRESS_RESERVED },
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_address addr;

		RF_REQUIRE(rf_address_parse(cases[i].text, &addr), "%s", cases[i].text);
		RF_CHECK(rf_address_kind(&addr) == cases[i].kind, "%s is %s", cases[i].text,
			 rf_address_words(rf_address_kind(&addr)));
	}
}

RF_TEST(what_an_address_leads_to_is_found)
{
	static const struct {
		const char *addr, *within; /* or NULL */
	} cases[] = {
		{ "64:ff9b::8.8.4.4", "8.8.4.4" },
		{ "2002:808:404::1", "8.8.4.4" },
		{ "::ffff:0:8.8.4.4", "8.8.4.4" },
		{ "2001:0:1::f7f7:fbfb", "8.8.4.4" },
		{ "2a00::5efe:8.8.4.4", "8.8.4.4" },
		{ "2a00::200:5efe:8.8.4.4", "8.8.4.4" },
		{ "8.8.4.4", NULL },
		{ "::1", NULL },
		{ "2a00::1", NULL },
		{ "fd00:ec2::254", NULL },
	};

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_address addr, within;
		char text[RF_ADDRESS_TEXT] = "";

		RF_REQUIRE(rf_address_parse(cases[i].addr, &addr), "%s", cases[i].addr);
		RF_CHECK(rf_address_within(&addr, &within) == (cases[i].within != NULL), "%s",
			 cases[i].addr);
		if (!cases[i].within)
			continue;
		rf_address_format(&within, text);
		RF_CHECK(strcmp(text, cases[i].within) == 0, "%s: %s", cases[i].addr, text);
	}
}

RF_TEST(an_address_survives_the_way_to_a_socket_and_back)
{
	static const char *const texts[] = { "192.0.2.1", "2001:db8::1", "::" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sockaddr_storage to;
		struct rf_address addr, again;
		char text[RF_ADDRESS_TEXT];
		uint16_t port;

		RF_REQUIRE(rf_address_parse(texts[i], &addr), "%s", texts[i]);
		RF_CHECK(rf_address_to(&addr, 443, &to) > 0, "to");
		RF_REQUIRE(rf_address_from((struct sockaddr *)&to, &again, &port), "from");
		rf_address_format(&again, text);
		RF_CHECK(rf_address_is_same(&addr, &again) && port == 443, "%s", text);
		RF_CHECK(strcmp(text, texts[i]) == 0, "%s", text);
	}
}

/* "10.0.0.0/8", IPv4 as the last 32 bits. */
static unsigned read_prefix(const char *text, struct rf_address *ret_addr)
{
	char address[RF_ADDRESS_TEXT];
	const char *slash = strchr(text, '/');

	snprintf(address, sizeof(address), "%.*s", slash ? (int)(slash - text) : 45, text);
	RF_REQUIRE(rf_address_parse(address, ret_addr), "%s", text);
	return (slash ? (unsigned)strtoul(slash + 1, NULL, 10)
		      : (rf_address_is_v4(ret_addr) ? 32U : 128U)) +
	       (rf_address_is_v4(ret_addr) ? 96U : 0U);
}

RF_TEST(a_rule_names_other_than_public_space_only_within_one_row)
{
	/* clang-format off */
	static const struct { const char *rule, *narrow; bool is_granted; } cases[] = {
		/* Public: by any rule. */
		{ "0.0.0.0/0",         "93.184.216.34",       true },
		{ "::/0",              "2606:4700::1111",     true },
		{ "0.0.0.0/0",         "93.184.216.0/24",     true },
		/* A rule within the row. */
		{ "127.0.0.0/8",       "127.0.0.1",           true },
		{ "127.0.0.1",         "127.0.0.1",           true },
		{ "10.0.0.0/8",        "10.1.0.0/16",         true },
		{ "172.16.0.0/12",     "172.31.255.255",      true },
		{ "fc00::/7",          "fd12::1",             true },
		{ "fe80::/10",         "fe80::1",             true },
		{ "::1",               "::1",                 true },
		/* A wider one. */
		{ "0.0.0.0/0",         "127.0.0.1",           false },
		{ "126.0.0.0/7",       "127.0.0.1",           false },
		{ "8.0.0.0/6",         "10.0.0.0/8",          false },
		{ "8.0.0.0/6",         "10.0.0.1",            false },
		{ "172.0.0.0/8",       "172.16.0.0/12",       false },
		{ "192.0.0.0/8",       "192.168.1.1",         false },
		{ "::/0",              "::1",                 false },
		{ "f000::/4",          "fd12::1",             false },
		{ "0.0.0.0/0",         "255.255.255.255",     false },
		/* A metadata service within another row, or in public space. */
		{ "169.254.0.0/16",    "169.254.1.1",         true },
		{ "169.254.0.0/16",    "169.254.169.254",     false },
		{ "169.254.169.0/24",  "169.254.169.254",     false },
		{ "169.254.169.254",   "169.254.169.254",     true },
		{ "168.0.0.0/6",       "169.254.0.0/16",      false },
		{ "168.63.129.0/24",   "168.63.129.16",       false },
		{ "168.63.129.16",     "168.63.129.16",       true },
		{ "100.64.0.0/10",     "100.100.100.200",     false },
		{ "192.0.0.0/24",      "192.0.0.192",         false },
		{ "fc00::/7",          "fd00:ec2::254",       false },
		{ "fd00:ec2::/32",     "fd00:ec2::254",       true },
		/* What carries an IPv4 address within. */
		{ "64:ff9b::/96",      "64:ff9b::8.8.8.8",    true },
		{ "64:ff9b::/96",      "64:ff9b::127.0.0.1",  false },
		{ "64:ff9b::7f00:0/104", "64:ff9b::127.0.0.1", true },
		{ "2002::/16",         "2002:7f00:1::",       false },
		{ "2002:7f00::/24",    "2002:7f00:1::",       true },
		{ "2002::/16",         "2002:a00::/24",       false },
		{ "::/96",             "::127.0.0.1",         false },
		{ "::/96",             "::8.8.8.8",           true },
		{ "2001::/32",         "2001:0:1:2:3:4:80ff:fffe", false },
		{ "2001::/32",         "2001:0:1:2:3:4:f7f7:f7f7", true },
		{ "2a00::/16",         "2a00::5efe:127.0.0.1", false },
		{ "2a00::5efe:7f00:0/104", "2a00::5efe:127.0.0.1", true },
		/* Space that is not given out. */
		{ "::/0",              "4000::1",             false },
		{ "4000::/7",          "4000::1",             false },
		{ "4000::/8",          "4000::1",             true },
		/* A prefix that straddles rows names nothing: it is asked of each address again. */
		{ "0.0.0.0/0",         "168.0.0.0/6",         true },
		{ "0.0.0.0/0",         "8.0.0.0/6",           true },
		{ "::/0",              "2a00::/16",           true },
	};
	/* clang-format on */
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_address rule, narrow;
		unsigned rule_bits = read_prefix(cases[i].rule, &rule);
		unsigned bits = read_prefix(cases[i].narrow, &narrow);

		RF_CHECK(rf_address_is_granted(rule_bits, narrow.octets, bits) ==
				 cases[i].is_granted,
			 "%s by %s", cases[i].narrow, cases[i].rule);
	}
}

RF_TEST(a_row_is_the_innermost_that_holds_a_prefix)
{
	/* clang-format off */
	static const struct { const char *prefix; enum rf_address_kind kind; unsigned bits; } cases[] = {
		{ "0.0.0.0/0",          RF_ADDRESS_PUBLIC,     0 },
		{ "93.184.216.34",      RF_ADDRESS_PUBLIC,     0 },
		{ "127.0.0.1",          RF_ADDRESS_LOOPBACK,   104 },
		{ "169.254.169.254",    RF_ADDRESS_METADATA,   128 },
		{ "169.254.169.254/31", RF_ADDRESS_LINK_LOCAL, 112 },
		{ "169.254.0.0/15",     RF_ADDRESS_PUBLIC,     0 },
		{ "2001::/31",          RF_ADDRESS_RESERVED,   23 },
		{ "fd00:ec2::/31",      RF_ADDRESS_PRIVATE,    7 },
		{ "2002:a9fe:a9fe::/48", RF_ADDRESS_METADATA,  48 },
		{ "4000::/8",           RF_ADDRESS_RESERVED,   8 },
		{ "4000::/7",           RF_ADDRESS_PUBLIC,     0 },
	};
	/* clang-format on */
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_address prefix;
		unsigned bits = read_prefix(cases[i].prefix, &prefix);
		struct rf_address_row row = rf_address_row(prefix.octets, bits);

		RF_CHECK(row.kind == cases[i].kind && row.bits == cases[i].bits, "%s: %s, %u",
			 cases[i].prefix, rf_address_words(row.kind), row.bits);
	}
}
