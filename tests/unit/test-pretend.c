/* Fields that say that a request is another. */
#include "base/fd.h"
#include "gateway/pretend.h"
#include "harness.h"

RF_TEST(a_field_is_known_in_every_spelling_that_a_server_takes_for_it)
{
	/* clang-format off */
	static const struct { const char *name; bool is_method, is_path; } cases[] = {
		{ "X-HTTP-Method-Override",  true,  false },
		{ "x_http_method_override",  true,  false },
		{ "X-HTTP_METHOD-Override",  true,  false },
		{ "X_Http-Method",           true,  false },
		{ "X-Method_Override",       true,  false },
		{ "X_Original_URL",          false, true  },
		{ "x-rewrite_url",           false, true  },
		{ "X-Method",                false, false },
		{ "XHTTPMethodOverride",     false, false },
		{ "X-HTTP-Method-Overrides", false, false },
		{ "",                        false, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_CHECK(rf_pretend_is_method(rf_span_of(cases[i].name)) == cases[i].is_method,
			 "method: %s", cases[i].name);
		RF_CHECK(rf_pretend_is_path(rf_span_of(cases[i].name)) == cases[i].is_path,
			 "path: %s", cases[i].name);
	}
}
