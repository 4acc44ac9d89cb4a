/* A run of bytes in somebody else's buffer: see span.h. */
#include "http/span.h"

#include <errno.h>
#include <stdint.h>

#include "base/decimal.h"
#include "http/octet.h"

bool rf_span_is(struct rf_span span, struct rf_span other)
{
	return span.len == other.len && (span.len == 0 || memcmp(span.at, other.at, span.len) == 0);
}

bool rf_span_is_alike(struct rf_span span, struct rf_span other)
{
	for (size_t i = 0; i < span.len; i++)
		if (rf_octet_lower(span.at[i]) != rf_octet_lower(other.at[i]))
			return false;
	return true;
}

static bool is_blank(char octet)
{
	return octet == ' ' || octet == '\t';
}

struct rf_span rf_span_trim(struct rf_span span)
{
	while (span.len > 0 && is_blank(span.at[0])) {
		span.at++;
		span.len--;
	}
	while (span.len > 0 && is_blank(span.at[span.len - 1]))
		span.len--;
	return span;
}

size_t rf_span_find(struct rf_span span, char octet)
{
	const char *found = span.len > 0 ? memchr(span.at, octet, span.len) : NULL;

	return found ? (size_t)(found - span.at) : span.len;
}

int rf_span_number(struct rf_span span, unsigned long long max, unsigned long long *ret_number)
{
	uint64_t number;
	int code;

	if (span.len > 1 && span.at[0] == '0')
		return -EINVAL;
	code = rf_decimal_parse(span.at, span.len, max, &number);
	if (code == 0)
		*ret_number = number;
	return code;
}
