/* What is said to the herald: see herald-word.h. */
#include "server/herald-word.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/pack.h"

void rf_herald_word_put_rules(const struct rf_herald_rules *rules, struct rf_buf *out)
{
	rf_pack_u32(out, (uint32_t)rules->count);
	for (size_t i = 0; i < rules->count; i++) {
		const struct rf_herald_target *target = &rules->targets[i];

		rf_pack_string(out, target->url);
		rf_pack_string(out, target->secret);
		rf_pack_string(out, target->roots);
		rf_pack_u32(out, target->topics);
		rf_pack_u32(out, target->tries);
	}
	rf_pack_bool(out, rules->has_collector);
}

int rf_herald_word_take_rules(const void *data, size_t len, struct rf_herald_rules *ret_rules,
			      struct rf_err *err)
{
	struct rf_herald_rules rules = { 0 };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rules.count = rf_pack_read_below(&in, RF_HERALD_TARGETS + 1);
	for (size_t i = 0; i < rules.count && !in.has_failed; i++) {
		struct rf_herald_target *target = &rules.targets[i];

		target->url = rf_pack_read_string(&in, RF_HERALD_TEXT);
		target->secret = rf_pack_read_string(&in, RF_HERALD_SECRET);
		target->roots = rf_pack_read_string(&in, RF_HERALD_ROOTS);
		target->topics = rf_pack_read_u32(&in);
		target->tries = rf_pack_read_below(&in, 21);
	}
	rules.has_collector = rf_pack_read_bool(&in);
	if (!rf_pack_is_whole(&in) || (rules.has_collector && rules.count == 0))
		return rf_fail_say(err, -EBADMSG, "what the herald is told is malformed");
	*ret_rules = rules;
	return 0;
}

void rf_herald_word_put_span(const struct rf_herald_span *span, struct rf_buf *out)
{
	rf_pack_string(out, span->trace);
	rf_pack_string(out, span->span);
	rf_pack_string(out, span->parent);
	rf_pack_string(out, span->name);
	rf_pack_string(out, span->tenant);
	rf_pack_string(out, span->request);
	rf_pack_u32(out, span->status);
	rf_pack_u64(out, span->start_ns);
	rf_pack_u64(out, span->took_ns);
}

static bool is_id(const char *text, size_t len, bool may_be_empty)
{
	return (may_be_empty && !text[0]) ||
	       (strlen(text) == len && strspn(text, "0123456789abcdef") == len);
}

int rf_herald_word_take_span(const void *data, size_t len, struct rf_herald_span *ret_span,
			     struct rf_err *err)
{
	struct rf_herald_span span;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, span.trace, sizeof(span.trace));
	rf_pack_read_text(&in, span.span, sizeof(span.span));
	rf_pack_read_text(&in, span.parent, sizeof(span.parent));
	rf_pack_read_text(&in, span.name, sizeof(span.name));
	rf_pack_read_text(&in, span.tenant, sizeof(span.tenant));
	rf_pack_read_text(&in, span.request, sizeof(span.request));
	span.status = rf_pack_read_below(&in, 600);
	span.start_ns = rf_pack_read_u64(&in);
	span.took_ns = rf_pack_read_u64(&in);
	if (!rf_pack_is_whole(&in) || !is_id(span.trace, 32, false) ||
	    !is_id(span.span, 16, false) || !is_id(span.parent, 16, true) ||
	    !rf_json_is_utf8(span.name, strlen(span.name)) ||
	    !rf_json_is_utf8(span.tenant, strlen(span.tenant)) ||
	    !rf_json_is_utf8(span.request, strlen(span.request)) ||
	    span.took_ns > UINT64_MAX - span.start_ns)
		return rf_fail_say(err, -EBADMSG, "a span is malformed");
	*ret_span = span;
	return 0;
}
