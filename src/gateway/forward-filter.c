/* What is sent on, led through the filters of a box: see forward.h. */
#include <errno.h>
#include <stdio.h>

#include "gateway/forward-inside.h"
#include "gateway/message.h"

typedef int body_fn(void *data, void **own, struct rf_span bytes, bool is_last, struct rf_buf *out,
		    struct rf_err *err);

int rf_forward_filter_body(struct rf_forward *f, bool is_up, struct rf_span *bytes, bool is_last)
{
	struct rf_outlet *outlet = f->outlet;
	struct rf_err err;
	unsigned turn = 0;

	for (size_t i = 0; i < outlet->filter_count; i++) {
		size_t at = is_up ? i : outlet->filter_count - 1 - i;
		enum rf_forward_wish wish = is_up ? f->up_wish[at] : f->down_wish[at];
		body_fn *fn = is_up ? outlet->filters[at]->on_request_body
				    : outlet->filters[at]->on_answer_body;
		struct rf_buf *out = &f->pieces[turn & 1];
		int code;

		if (wish == RF_FORWARD_LEAVE || !fn)
			continue;
		rf_buf_clear(out);
		code = fn(outlet->filter_data[at], &f->own[at], *bytes, is_last, out, &err);
		if (code < 0 || out->has_failed)
			return code < 0 ? code : -ENOBUFS;
		*bytes = (struct rf_span){ out->data, out->len };
		turn++;
	}
	return 0;
}

bool rf_forward_take_trailer(struct rf_forward *f, bool is_up, struct rf_fields fields,
			     struct rf_refusal *ret_refusal)
{
	const struct rf_outlet *outlet = f->outlet;
	struct rf_forward_message trailer;

	*ret_refusal = (struct rf_refusal){ .status = is_up ? 403 : 502, .code = "filter_refused" };
	if (fields.count == 0)
		return true;
	snprintf(ret_refusal->message, sizeof(ret_refusal->message),
		 "What follows the body could not be passed on.");
	f->was_filtered = true;
	if (rf_message_take_trailer(is_up ? &f->request : &f->answer, fields, &trailer) < 0)
		return false;
	for (size_t i = 0; i < outlet->filter_count; i++)
		if (outlet->filters[i]->on_trailer &&
		    outlet->filters[i]->on_trailer(outlet->filter_data[i], &f->own[i], &trailer,
						   ret_refusal) == RF_FORWARD_REFUSE)
			return false;
	*(is_up ? &f->up_trailer : &f->down_trailer) =
		(struct rf_fields){ trailer.fields, trailer.count };
	return true;
}

bool rf_forward_has_filter(const struct rf_forward *f, const enum rf_forward_wish *wishes)
{
	for (size_t i = 0; i < f->outlet->filter_count; i++)
		if (wishes[i] != RF_FORWARD_LEAVE)
			return true;
	return false;
}
