/* TCP ports: src/server/port.c. */
#include "server/port.h"

#include <string.h>
#include <unistd.h>

#include "harness.h"

RF_TEST(an_address_and_a_port_and_nothing_else)
{
	/* clang-format off */
	static const struct { const char *text; int family; } cases[] = {
		{ "127.0.0.1:7070", AF_INET },  { "0.0.0.0:0", AF_INET },   { "[::1]:65535", AF_INET6 },
		{ "7070", 0 },                  { ":7070", 0 },             { "localhost:7070", 0 },
		{ "127.0.0.1", 0 },             { "127.0.0.1:", 0 },        { "127.0.0.1:65536", 0 },
		{ "127.0.0.1:-1", 0 },          { "127.0.0.1:7x", 0 },      { "127.1:7070", 0 },
		{ "::1:7070", 0 },              { "[::1]", 0 },             { "[::1:7070", 0 },
		{ "[]:1", 0 },                  { "", 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sockaddr_storage address;
		struct rf_err err = RF_ERR_INIT;
		socklen_t len;
		int code = rf_port_parse(cases[i].text, &address, &len, &err);

		RF_CHECK((code == 0) == (cases[i].family != 0) &&
				 (code < 0 || address.ss_family == cases[i].family) &&
				 (code == 0 || err.hint[0]),
			 "%s", cases[i].text);
	}
}

RF_TEST(a_port_that_is_taken_is_told)
{
	struct rf_err err = RF_ERR_INIT;
	char name[64];
	int first, second;

	RF_REQUIRE(rf_port_open("127.0.0.1:0", &first, &err) == 0, "%s", err.msg);
	rf_port_name(first, name, sizeof(name));
	RF_CHECK(strncmp(name, "127.0.0.1:", 10) == 0 && strcmp(name, "127.0.0.1:0") != 0, "%s",
		 name);
	RF_CHECK(rf_port_open(name, &second, &err) < 0 && err.hint[0], "%s", err.msg);
	close(first);
}
