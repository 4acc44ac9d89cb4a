/* Where a request stands in a trace: src/server/trace.c. */
#include "server/trace.h"

#include <string.h>

#include "base/fd.h"
#include "harness.h"

#define ID   "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

static const uint8_t chance[RF_TRACE_CHANCE] = { 1, 2, 3, [16] = 0xab, [23] = 0xcd };

RF_TEST(a_trace_of_the_client_s_goes_on)
{
	struct rf_trace trace;
	char text[RF_TRACE_TEXT];

	rf_trace_begin(rf_span_of("00-" ID "-" SPAN "-00"), chance, &trace);
	RF_CHECK(strcmp(trace.id, ID) == 0 && strcmp(trace.parent, SPAN) == 0, "%s", trace.id);
	rf_trace_format(&trace, text);
	RF_CHECK(strcmp(text, "00-" ID "-ab000000000000cd-00") == 0, "%s", text);
}

RF_TEST(what_is_none_begins_another)
{
	static const char *const cases[] = {
		"",
		"00-" ID "-" SPAN "-0",
		"00-" ID "-" SPAN "-011",
		"01-" ID "-" SPAN "-01",
		"00-0AF7651916cd43dd8448eb211c80319c-" SPAN "-01",
		"00-00000000000000000000000000000000-" SPAN "-01",
		"00-" ID "-0000000000000000-01",
		"00_" ID "_" SPAN "_01",
		"00-" ID "-" SPAN "-0g",
	};

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_trace trace;

		RF_CHECK(!rf_trace_read(rf_span_of(cases[i]), &trace), "%s", cases[i]);
		rf_trace_begin(rf_span_of(cases[i]), chance, &trace);
		RF_CHECK(strcmp(trace.id, "01020300000000000000000000000000") == 0, "%s", trace.id);
		RF_CHECK(!trace.parent[0] && strcmp(trace.flags, "01") == 0, "%s", cases[i]);
	}
}
