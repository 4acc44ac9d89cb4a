/*
 * Requests to AWS in their canonical form, path and query divided at a NUL: the form of the form's query is itself, and nothing in it is anything but letters
 * of its alphabet.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/aws-sign.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The third line of the form. */
static struct rf_span query_of(const struct rf_buf *form)
{
	struct rf_span text = { form->data, form->len };

	for (int i = 0; i < 2; i++)
		text = rf_span_part(text, rf_span_find(text, '\n') + 1, text.len);
	return rf_span_part(text, 0, rf_span_find(text, '\n'));
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789-._~%=&";

RF_FUZZ(data, size)
{
	struct rf_span rest = { (const char *)data, size };
	size_t divide = rf_span_find(rest, '\0');
	struct rf_aws_sign what = {
		.service = size % 2 ? RF_SPAN("s3") : RF_SPAN("iam"),
		.method = RF_SPAN("GET"),
		.host = RF_SPAN("h"),
		.path = rf_span_part(rest, 0, divide),
		.query = rf_span_part(rest, divide + 1, rest.len),
		.payload = RF_SPAN("p"),
	};
	struct rf_buf first, second, names;

	rf_buf_init(&first, 1 << 20);
	rf_buf_init(&second, 1 << 20);
	rf_buf_init(&names, 1 << 16);
	if (rf_aws_sign_canonical(&what, &first, &names) == 0) {
		struct rf_span query = query_of(&first);

		for (size_t i = 0; i < query.len; i++)
			require(query.at[i] && strchr(letters, query.at[i]));
		what.query = query;
		rf_buf_clear(&names);
		require(rf_aws_sign_canonical(&what, &second, &names) == 0);
		require(rf_span_is(query_of(&second), query));
	}
	rf_buf_done(&first);
	rf_buf_done(&second);
	rf_buf_done(&names);
	return 0;
}
