/* What clients say of a trace is read strictly, and what is written can be read again. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/trace.h"

RF_FUZZ(data, size)
{
	static const uint8_t chance[RF_TRACE_CHANCE] = { 1, [16] = 2 };
	struct rf_trace trace, again;
	char part[RF_TRACE_TEXT];

	rf_trace_begin((struct rf_span){ (const char *)data, size }, chance, &trace);
	rf_trace_format(&trace, part);
	if (!rf_trace_read(rf_span_of(part), &again) || strcmp(again.id, trace.id) != 0 ||
	    strcmp(again.span, trace.span) != 0)
		abort();
	return 0;
}
