/* Where a request stands in a trace: see trace.h. */
#include "server/trace.h"

#include <stdio.h>
#include <string.h>

#define LENGTH 55 /* 00-32 digits-16 digits-2 digits */

static bool are_digits(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(at[i] >= '0' && at[i] <= '9') && !(at[i] >= 'a' && at[i] <= 'f'))
			return false;
	return true;
}

static bool is_zero(const char *at, size_t len)
{
	while (len > 0 && at[len - 1] == '0')
		len--;
	return len == 0;
}

bool rf_trace_read(struct rf_span text, struct rf_trace *ret_trace)
{
	const char *at = text.at;

	if (text.len != LENGTH || memcmp(at, "00-", 3) != 0 || at[35] != '-' || at[52] != '-' ||
	    !are_digits(at + 3, 32) || !are_digits(at + 36, 16) || !are_digits(at + 53, 2) ||
	    is_zero(at + 3, 32) || is_zero(at + 36, 16))
		return false;
	*ret_trace = (struct rf_trace){ 0 };
	memcpy(ret_trace->id, at + 3, 32);
	memcpy(ret_trace->span, at + 36, 16);
	memcpy(ret_trace->flags, at + 53, 2);
	return true;
}

static void put_hex(const uint8_t *bytes, size_t count, char *text)
{
	for (size_t i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void rf_trace_begin(struct rf_span client, const uint8_t chance[RF_TRACE_CHANCE],
		    struct rf_trace *ret_trace)
{
	struct rf_trace theirs, trace = { .flags = "01" };

	put_hex(chance, 16, trace.id);
	if (rf_trace_read(client, &theirs)) {
		memcpy(trace.id, theirs.id, sizeof(trace.id));
		memcpy(trace.parent, theirs.span, sizeof(trace.parent));
		memcpy(trace.flags, theirs.flags, sizeof(trace.flags));
	}
	put_hex(chance + 16, 8, trace.span);
	*ret_trace = trace;
}

void rf_trace_format(const struct rf_trace *trace, char text[RF_TRACE_TEXT])
{
	snprintf(text, RF_TRACE_TEXT, "00-%s-%s-%s", trace->id, trace->span, trace->flags);
}
