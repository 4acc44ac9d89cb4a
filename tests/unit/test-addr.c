/* Which addresses no name may lead to, in every way that they can be written. */
#include <string.h>

#include "base/fd.h"
#include "base/loop.h"
#include "gateway/addr.h"
#include "harness.h"

RF_TEST(every_special_address_is_known_however_it_is_wrapped)
{
	/* clang-format off */
	static const struct { const char *text; enum rf_addr_kind kind; } cases[] = {
		{ "93.184.216.34",            RF_ADDR_PUBLIC },
		{ "1.1.1.1",                  RF_ADDR_PUBLIC },
		{ "28.1.2.3",                 RF_ADDR_PUBLIC },
		{ "172.15.255.255",           RF_ADDR_PUBLIC },
		{ "172.32.0.0",               RF_ADDR_PUBLIC },
		{ "100.63.255.255",           RF_ADDR_PUBLIC },
		{ "100.128.0.0",              RF_ADDR_PUBLIC },
		{ "2606:4700::1111",          RF_ADDR_PUBLIC },
		{ "0.0.0.0",                  RF_ADDR_UNSPECIFIED },
		{ "0.1.2.3",                  RF_ADDR_UNSPECIFIED },
		{ "127.0.0.1",                RF_ADDR_LOOPBACK },
		{ "127.255.255.255",          RF_ADDR_LOOPBACK },
		{ "169.254.169.254",          RF_ADDR_METADATA },
		{ "169.254.170.2",            RF_ADDR_METADATA },
		{ "168.63.129.16",            RF_ADDR_METADATA },
		{ "100.100.100.200",          RF_ADDR_METADATA },
		{ "169.254.1.1",              RF_ADDR_LINK_LOCAL },
		{ "10.0.0.1",                 RF_ADDR_PRIVATE },
		{ "172.16.0.1",               RF_ADDR_PRIVATE },
		{ "172.31.255.255",           RF_ADDR_PRIVATE },
		{ "192.168.1.1",              RF_ADDR_PRIVATE },
		{ "100.64.0.1",               RF_ADDR_SHARED },
		{ "100.127.255.255",          RF_ADDR_SHARED },
		{ "224.0.0.1",                RF_ADDR_MULTICAST },
		{ "239.255.255.255",          RF_ADDR_MULTICAST },
		{ "240.0.0.1",                RF_ADDR_RESERVED },
		{ "255.255.255.255",          RF_ADDR_RESERVED },
		{ "192.0.2.1",                RF_ADDR_RESERVED },
		{ "198.18.0.1",               RF_ADDR_RESERVED },
		{ "198.19.255.255",           RF_ADDR_RESERVED },
		{ "::",                       RF_ADDR_UNSPECIFIED },
		{ "::1",                      RF_ADDR_LOOPBACK },
		{ "::ffff:127.0.0.1",         RF_ADDR_LOOPBACK },
		{ "::ffff:169.254.169.254",   RF_ADDR_METADATA },
		{ "::ffff:8.8.8.8",           RF_ADDR_PUBLIC },
		{ "::127.0.0.1",              RF_ADDR_LOOPBACK },
		{ "::10.0.0.1",               RF_ADDR_PRIVATE },
		{ "::8.8.8.8",                RF_ADDR_RESERVED },
		{ "::ffff:0:127.0.0.1",       RF_ADDR_LOOPBACK },
		{ "64:ff9b::127.0.0.1",       RF_ADDR_LOOPBACK },
		{ "64:ff9b::169.254.169.254", RF_ADDR_METADATA },
		{ "64:ff9b::8.8.8.8",         RF_ADDR_PUBLIC },
		{ "64:ff9b:1::1",             RF_ADDR_PRIVATE },
		{ "2002:7f00:1::",            RF_ADDR_LOOPBACK },
		{ "2002:a9fe:a9fe::1",        RF_ADDR_METADATA },
		{ "2002:808:808::1",          RF_ADDR_PUBLIC },
		{ "2001:0:1:2:3:4:80ff:fffe", RF_ADDR_LOOPBACK }, /* Teredo: inverted 127.0.0.1 */
		{ "2001:0:1:2:3:4:f7f7:f7f7", RF_ADDR_RESERVED },
		{ "2001:db8::1",              RF_ADDR_RESERVED },
		{ "2a00::5efe:127.0.0.1",     RF_ADDR_LOOPBACK }, /* ISATAP */
		{ "2a00::200:5efe:10.0.0.1",  RF_ADDR_PRIVATE },
		{ "fd00:ec2::254",            RF_ADDR_METADATA },
		{ "fd20:ce::254",             RF_ADDR_METADATA },
		{ "fc00::1",                  RF_ADDR_PRIVATE },
		{ "fdff::1",                  RF_ADDR_PRIVATE },
		{ "fec0::1",                  RF_ADDR_PRIVATE },
		{ "fe80::1",                  RF_ADDR_LINK_LOCAL },
		{ "febf::1",                  RF_ADDR_LINK_LOCAL },
		{ "ff02::1",                  RF_ADDR_MULTICAST },
		{ "4000::1",                  RF_ADDR_RESERVED },
		{ "100::1",                   RF_ADDR_RESERVED },
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_addr addr;

		RF_REQUIRE(rf_addr_parse(cases[i].text, &addr), "%s", cases[i].text);
		RF_CHECK(rf_addr_kind(&addr) == cases[i].kind, "%s is %s", cases[i].text,
			 rf_addr_words(rf_addr_kind(&addr)));
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
		struct rf_addr addr, within;
		char text[RF_ADDR_TEXT] = "";

		RF_REQUIRE(rf_addr_parse(cases[i].addr, &addr), "%s", cases[i].addr);
		RF_CHECK(rf_addr_within(&addr, &within) == (cases[i].within != NULL), "%s",
			 cases[i].addr);
		if (!cases[i].within)
			continue;
		rf_addr_format(&within, text);
		RF_CHECK(strcmp(text, cases[i].within) == 0, "%s: %s", cases[i].addr, text);
	}
}

RF_TEST(an_address_survives_the_way_to_a_socket_and_back)
{
	static const char *const texts[] = { "192.0.2.1", "2001:db8::1", "::" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sockaddr_storage to;
		struct rf_addr addr, again;
		char text[RF_ADDR_TEXT];
		uint16_t port;

		RF_REQUIRE(rf_addr_parse(texts[i], &addr), "%s", texts[i]);
		RF_CHECK(rf_addr_to(&addr, 443, &to) > 0, "to");
		RF_REQUIRE(rf_addr_from((struct sockaddr *)&to, &again, &port), "from");
		rf_addr_format(&again, text);
		RF_CHECK(rf_addr_is_same(&addr, &again) && port == 443, "%s", text);
		RF_CHECK(strcmp(text, texts[i]) == 0, "%s", text);
	}
}

RF_TEST(this_machine_knows_its_own)
{
	struct rf_addr_own *own = rf_addr_own_new();
	struct rf_addr addr;

	rf_addr_parse("127.0.0.1", &addr);
	RF_CHECK(rf_addr_is_own(own, &addr, rf_loop_now()), "loopback");
	rf_addr_parse("93.184.216.34", &addr);
	RF_CHECK(!rf_addr_is_own(own, &addr, rf_loop_now()), "somebody else's");
	rf_addr_own_free(own);
}
