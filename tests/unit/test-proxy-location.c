/* Addresses that a program behind a port names: which of them lead to the port, and as what. */
#include "server/proxy-location.h"

#include <stdlib.h>

#include "base/fd.h"
#include "harness.h"

#define PREFIX "/v1/sandboxes/a/ports/8080"

/* clang-format off */
static const struct { const char *place, *path; } cases[] = {
	/* Paths from the program's root, and such that have the prefix already. */
	{ "/",                           PREFIX "/" },
	{ "/x?y=1#z",                    PREFIX "/x?y=1#z" },
	{ "/a//b",                       PREFIX "/a//b" },
	{ PREFIX "/x",                   PREFIX "/x" },
	{ PREFIX "0/x",                  PREFIX PREFIX "0/x" },
	{ "/v1/run",                     PREFIX "/v1/run" },
	/* Relative to "/one/two?q". */
	{ "x/y",                         PREFIX "/one/x/y" },
	{ "./x",                         PREFIX "/one/x" },
	{ "../x",                        PREFIX "/x" },
	{ "",                            PREFIX "/one/two?q" },
	{ "?r",                          PREFIX "/one/two?r" },
	{ "#f",                          PREFIX "/one/two?q#f" },
	{ ".",                           PREFIX "/one/" },
	/* URLs of the sandbox's loopback, and of this server beneath the prefix. */
	{ "http://localhost:8080/x",     PREFIX "/x" },
	{ "HTTP://LOCALHOST:8080",       PREFIX "/" },
	{ "http://127.0.0.1:8080?a",     PREFIX "/?a" },
	{ "http://[::1]:8080/x#y",       PREFIX "/x#y" },
	{ "https://box.example" PREFIX "/x",     PREFIX "/x" },
	{ "https://box.example:443" PREFIX "/x", PREFIX "/x" },
	/* What programs write though they should not. */
	{ "/a b",                        PREFIX "/a%20b" },
	{ "/\xc3\xbc?\xc3\xbc",          PREFIX "/%C3%BC?%C3%BC" },
	/* Dot segments that stay beneath the root are resolved here, in each spelling. */
	{ "/a/../b",                     PREFIX "/b" },
	{ "/a/%2e%2E/b",                 PREFIX "/b" },
	{ "/a/.%2e/%2e/b",               PREFIX "/b" },
	/* Those that lead above it. */
	{ "/..",                         NULL },
	{ "../../x",                     NULL },
	{ "../../../../../v1/run",       NULL },
	{ "/%2e%2e/%2e%2e/run",          NULL },
	{ "/a/..%2f..%2f..%2frun",       NULL },
	{ "/a/..%5c..%5crun",            NULL },
	{ "/a/%252e%252e/..%252frun",    NULL },
	{ "/..;/x",                      NULL },
	{ "https://box.example" PREFIX "/../../../../run", NULL },
	/* Elsewhere. */
	{ "https://evil.example/",       NULL },
	{ "//evil.example/",             NULL },
	{ "///evil.example/",            NULL },
	{ "/\\evil.example/",            NULL },
	{ "\\\\evil.example/",           NULL },
	{ "/\t/evil.example/",           NULL },
	{ "ht\ttps://evil.example/",     NULL },
	{ "http:evil",                   NULL },
	{ "http:/evil",                  NULL },
	{ "http:///evil",                NULL },
	{ "https:" PREFIX "/x",          NULL },
	{ "javascript:alert(1)",         NULL },
	{ "data:text/html,x",            NULL },
	{ "x:y",                         NULL },
	{ "http://localhost:8081/x",     NULL },
	{ "https://localhost:8080/x",    NULL },
	{ "http://localhost@evil:8080/", NULL },
	{ "http://localhost:8080@evil/", NULL },
	{ "http://127.1:8080/",          NULL },
	{ "https://box.example/v1/run",  NULL },
	{ "https://box.example" PREFIX,  NULL },
	{ "https://box.example" PREFIX "0/x",     NULL },
	{ "https://box.example:8443" PREFIX "/x", NULL },
	{ "https://box.example.evil" PREFIX "/x", NULL },
	{ "/%",                          NULL },
	{ "/%00",                        NULL },
	{ "/%ff",                        NULL },
	{ "/\xff",                       NULL },
	{ "/a\x7f",                      NULL },
};
/* clang-format on */

static const struct rf_proxy_location_base base = {
	.prefix = PREFIX,
	.port = 8080,
	.target = RF_SPAN_INIT("/one/two?q"),
	.authority = { .host = { .kind = RF_HOST_NAME, .len = 11, .text = "box.example" } },
};

RF_TEST(an_address_that_leads_to_the_port_leads_through_the_prefix_and_no_other_is_taken_for_one)
{
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_arena *memory = rf_arena_new();
		struct rf_span path = { NULL, 0 };
		bool is_own =
			rf_proxy_location_read(&base, rf_span_of(cases[i].place), memory, &path);

		RF_CHECK(is_own == (cases[i].path != NULL), "%s", cases[i].place);
		RF_CHECK(!is_own || rf_span_is(path, rf_span_of(cases[i].path)), "%s: %.*s",
			 cases[i].place, RF_SPAN_ARG(path));
		rf_arena_free(memory);
	}
}

RF_TEST(a_refresh_is_bare_if_it_names_no_address)
{
	/* clang-format off */
	static const struct { const char *value; bool is_bare; } values[] = {
		{ "5", true }, { "0.5", true }, { "", false }, { "0; url=/x", false },
		{ "0;/x", false }, { "0,x", false }, { "0 x", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(values); i++)
		RF_CHECK(rf_proxy_location_is_bare_refresh(rf_span_of(values[i].value)) ==
				 values[i].is_bare,
			 "%s", values[i].value);
}
