/* Which part of a list is wanted: see list-page.h. */
#include "server/list-page.h"

#include <stdio.h>
#include <string.h>

#define LIST_MOST  1000
#define LIST_USUAL 100

int rf_list_page_read(const struct rf_api_call *call, struct rf_list_page *page,
		      struct rf_api_error *error)
{
	char text[160];
	unsigned long long number;
	char *sign;
	int got = rf_api_call_parameter(call, "limit", text, sizeof(text), error);

	*page = (struct rf_list_page){ .limit = LIST_USUAL };
	if (got < 0)
		return -1;
	if (got > 0 && (rf_span_number(rf_span_of(text), LIST_MOST, &number) < 0 || number < 1)) {
		rf_api_error_say(error, RF_API_INVALID, "limit",
				 "limit: it is no number from 1 to %d", LIST_MOST);
		return rf_api_error_hint(error, "leave it out for %d", LIST_USUAL);
	}
	if (got > 0)
		page->limit = (size_t)number;
	if (rf_api_call_parameter(call, "cursor", page->cursor, sizeof(page->cursor), error) < 0)
		return -1;
	if (page->cursor[0] && !rf_order_is_label(page->cursor)) {
		rf_api_error_say(error, RF_API_INVALID, "cursor", "cursor: no page has this one");
		return rf_api_error_hint(error, "pass `next_cursor` of the page before on");
	}
	got = rf_api_call_parameter(call, "label", text, sizeof(text), error);
	if (got <= 0)
		return got;
	sign = strchr(text, '=');
	if (sign)
		*sign = '\0';
	if (!sign || !rf_order_is_label(text) || (sign[1] && !rf_order_is_label(sign + 1))) {
		rf_api_error_say(error, RF_API_INVALID, "label", "label: it is no NAME=VALUE");
		return rf_api_error_hint(error, "for example: ?label=project%%3Dblue");
	}
	snprintf(page->label, sizeof(page->label), "%s", text);
	snprintf(page->value, sizeof(page->value), "%s", sign + 1);
	return 0;
}
