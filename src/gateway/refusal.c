/* A refusal as JSON: see refusal.h. */
#include "gateway/refusal.h"

#include "base/json.h"

void rf_refusal_format(const struct rf_refusal *refusal, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_object(&json, "error");
	rf_json_string(&json, "code", refusal->code);
	rf_json_string(&json, "message", refusal->message);
	rf_json_string(&json, "rule", refusal->rule[0] ? refusal->rule : NULL);
	rf_json_string(&json, "host", refusal->host[0] ? refusal->host : NULL);
	rf_json_string(&json, "remedy", refusal->remedy[0] ? refusal->remedy : NULL);
	if (refusal->retry_s > 0)
		rf_json_int(&json, "retry_after_s", refusal->retry_s);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
