/*
 * What a reader of HTTP makes of bytes that come in pieces, as text: the same text for the same events.
 *
 * Each piece is given in memory of its own that is exactly as large, and gone at the next call: a sanitizer then sees
 * a read past the end, and a span that was kept too long.
 */
#ifndef RF_UNIT_TRANSCRIPT_H
#define RF_UNIT_TRANSCRIPT_H

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "http/http1.h"

struct transcript {
	const struct rf_http1_limits *limits;
	bool is_response;
	struct rf_framing_asked asked;
	size_t room; /* fields, up to 64 */
	/* How many bytes the next piece has, at least 1; NULL: all at once. */
	size_t (*cut)(void *data, size_t left);
	void *data;
	bool has_no_end; /* the connection stays open behind the last byte */
};

static inline void transcript_fields(struct rf_buf *out, struct rf_fields fields)
{
	for (size_t i = 0; i < fields.count; i++)
		rf_buf_printf(out, "  %.*s=%.*s\n", RF_SPAN_ARG(fields.at[i].name),
			      RF_SPAN_ARG(fields.at[i].value));
}

static inline void transcript_head(struct rf_buf *out, const struct rf_http1 *http)
{
	const struct rf_http1_head *head = &http->head;
	const struct rf_framing *framing = &head->framing;

	if (http->is_response)
		rf_buf_printf(out, "HEAD %u [%.*s]", head->start.status,
			      RF_SPAN_ARG(head->start.reason));
	else
		rf_buf_printf(out, "HEAD %.*s %d [%.*s] [%.*s] for %s:%u",
			      RF_SPAN_ARG(head->start.method), (int)head->start.form,
			      RF_SPAN_ARG(head->start.url.path), RF_SPAN_ARG(head->start.url.query),
			      head->authority.host.text, head->authority.port);
	rf_buf_printf(out, " 1.%u body %d/%llu%s%s%s\n", head->start.minor, (int)framing->body,
		      (unsigned long long)framing->length, framing->is_kept ? " kept" : "",
		      framing->is_upgrade ? " upgrade" : "",
		      framing->wants_continue ? " continue" : "");
	transcript_fields(out, head->fields);
}

static inline void transcript_begin(struct rf_http1 *http, const struct transcript *how)
{
	if (how->is_response)
		rf_http1_begin_response(http, &how->asked);
	else
		rf_http1_begin_request(http);
}

/* Writes one event.  True if there may be more. */
static inline bool transcript_event(struct rf_buf *out, struct rf_http1 *http,
				    enum rf_http1_event event, const struct transcript *how,
				    bool *in_data)
{
	if (*in_data && event != RF_HTTP1_DATA && event != RF_HTTP1_MORE) {
		rf_buf_puts(out, "]\n");
		*in_data = false;
	}
	switch (event) {
	case RF_HTTP1_MORE:
		return true;
	case RF_HTTP1_HEAD:
		transcript_head(out, http);
		return true;
	case RF_HTTP1_DATA:
		rf_buf_puts(out, *in_data ? "" : "DATA [");
		rf_buf_add(out, http->data.at, http->data.len);
		*in_data = true;
		return true;
	case RF_HTTP1_END:
		rf_buf_puts(out, "END\n");
		transcript_fields(out, http->trailer);
		if (!http->head.framing.is_kept || http->head.framing.is_upgrade ||
		    http->head.start.form == RF_TARGET_AUTHORITY)
			return false;
		transcript_begin(http, how);
		return true;
	case RF_HTTP1_BAD:
		rf_buf_printf(out, "BAD %d in line %u: %s\n", rf_fault_status(http->fault),
			      http->fault_line, rf_fault_words(http->fault));
		break;
	}
	return false;
}

/* Reads all events that `bytes` hold.  False when there are none to come. */
static inline bool transcript_read(struct rf_buf *out, struct rf_http1 *http,
				   const struct transcript *how, const char *bytes, size_t len,
				   size_t *used, bool *in_data)
{
	enum rf_http1_event event;
	size_t step;
	bool goes_on;

	do {
		size_t left = len - *used;
		char *copy = malloc(left ? left : 1);

		if (!copy)
			abort();
		if (left > 0)
			memcpy(copy, bytes + *used, left);
		event = rf_http1_next(http, (struct rf_span){ copy, left }, &step);
		if (step > left)
			abort();
		goes_on = transcript_event(out, http, event, how, in_data);
		free(copy);
		*used += step;
	} while (goes_on && event != RF_HTTP1_MORE);
	return goes_on;
}

/* Appends the transcript of `len` bytes to `out`.  Gives the last fault. */
static inline enum rf_fault transcript_write(struct rf_buf *out, const struct transcript *how,
					     const void *bytes, size_t len)
{
	struct rf_field fields[64];
	struct rf_http1 http;
	size_t used = 0, there = 0;
	bool in_data = false, goes_on = true;

	rf_http1_init(&http, how->limits ? how->limits : &rf_http1_usual, fields, how->room);
	transcript_begin(&http, how);
	while (goes_on && there < len) {
		there += how->cut ? how->cut(how->data, len - there) : len - there;
		goes_on = transcript_read(out, &http, how, bytes, there, &used, &in_data);
	}
	if (goes_on && !how->has_no_end)
		transcript_event(out, &http, rf_http1_finish(&http, used < len), how, &in_data);
	if (http.fault == RF_FAULT_NONE)
		rf_buf_printf(out, "%zu bytes left\n", len - used);
	return http.fault;
}

#endif
