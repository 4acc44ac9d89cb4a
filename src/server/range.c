/* The part of a file that a request asks for: see range.h. */
#include "server/range.h"

#include <string.h>

#include "http/span.h"

#define MOST INT64_MAX

static bool take_number(struct rf_span text, uint64_t *ret_number)
{
	unsigned long long number = 0;

	while (text.len > 1 && text.at[0] == '0') /* a zero in front means nothing */
		text = rf_span_part(text, 1, text.len);
	if (rf_span_number(text, MOST, &number) < 0)
		return false;
	*ret_number = number;
	return true;
}

bool rf_range_parse(const char *text, struct rf_range *ret_range)
{
	struct rf_span rest = rf_span_of(text), first, last;
	struct rf_range range = { .last = UINT64_MAX };
	size_t dash;

	if (rest.len < 6 || !rf_span_is_like(rf_span_part(rest, 0, 6), RF_SPAN("bytes=")))
		return false;
	rest = rf_span_trim(rf_span_part(rest, 6, rest.len));
	dash = rf_span_find(rest, '-');
	first = rf_span_part(rest, 0, dash);
	last = rf_span_part(rest, dash + 1, rest.len);
	if (dash == rest.len || (first.len == 0 && last.len == 0))
		return false;
	range.is_suffix = first.len == 0;
	if (range.is_suffix ? !take_number(last, &range.suffix) : !take_number(first, &range.first))
		return false;
	if (!range.is_suffix && last.len > 0 &&
	    (!take_number(last, &range.last) || range.last < range.first))
		return false;
	*ret_range = range;
	return true;
}

bool rf_range_of(const struct rf_range *range, uint64_t size, uint64_t *ret_first,
		 uint64_t *ret_count)
{
	uint64_t first = range->first;

	if (range->is_suffix)
		first = range->suffix < size ? size - range->suffix : 0;
	if (size == 0 || first >= size || (range->is_suffix && range->suffix == 0))
		return false;
	*ret_first = first;
	*ret_count = (range->last < size - 1 ? range->last : size - 1) - first + 1;
	return true;
}
