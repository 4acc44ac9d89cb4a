/* What a program writes, as events: see events.h. */
#include "server/events.h"
#include "server/request-ceiling.h"

#include <string.h>

#include "base/json.h"

size_t rf_events_rest(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)bytes[len - back];
		size_t needs = c >= 0xf0 && c < 0xf8   ? 4
			       : c >= 0xe0 && c < 0xf0 ? 3
			       : c >= 0xc2 && c < 0xe0 ? 2
						       : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		return needs > back ? back : 0;
	}
	return 0;
}

static void tell(struct rf_api_call *call, int stream, const char *bytes, size_t len)
{
	bool is_text = rf_json_is_utf8(bytes, len);
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 16 * len + 256);
	rf_json_init(&json, &text, false);
	rf_json_open_object(&json, NULL);
	if (is_text)
		rf_json_bytes(&json, "data", bytes, len);
	else
		rf_json_base64(&json, "data", bytes, len);
	rf_json_string(&json, "encoding", is_text ? "utf-8" : "base64");
	rf_json_close_object(&json);
	rf_api_call_event(call, stream == 1 ? "stdout" : "stderr", &text);
}

void rf_events_output(struct rf_api_call *call, int stream, const char *bytes, size_t len)
{
	char *carry = call->carry[stream - 1];
	size_t *carried = &call->carry_len[stream - 1], rest = rf_events_rest(bytes, len);
	RF_AUTO_BUF struct rf_buf whole;

	rf_buf_init(&whole, len + 8);
	if (*carried == 0 && rest == 0) {
		tell(call, stream, bytes, len);
	} else {
		rf_buf_add(&whole, carry, *carried);
		rf_buf_add(&whole, bytes, len - rest);
		if (rest == len && *carried + len < sizeof(call->carry[0])) { /* still not whole */
			memcpy(carry + *carried, bytes, len);
			*carried += len;
			return;
		}
		memcpy(carry, bytes + len - rest, rest);
		*carried = rest;
		if (whole.len > 0)
			tell(call, stream, whole.data, whole.len);
	}
	if (rf_api_call_is_full(call) && call->job)
		rf_job_pause(call->job, true);
}

void rf_events_result(struct rf_api_call *call, const struct rf_result *result)
{
	RF_AUTO_BUF struct rf_buf text;

	for (int i = 0; i < 2; i++)
		if (call->carry_len[i] > 0)
			tell(call, i + 1, call->carry[i], call->carry_len[i]);
	rf_buf_init(&text, 64u << 20);
	rf_result_json(result, false, &text);
	rf_request_ceiling_tell(&call->order, &text);
	rf_api_call_event(call, "result", &text);
	rf_api_call_end(call);
}
