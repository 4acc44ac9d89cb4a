/* What a collector is told: src/server/otlp.c. */
#include "server/otlp.h"

#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"
#include "harness.h"

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void require_json(const struct rf_buf *out)
{
	struct rf_jsonread *json = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(!out->has_failed && rf_jsonread_parse(out->data, out->len, &json, &err) == 0,
		   "%s: %s", err.msg, out->data);
	rf_jsonread_free(json);
}

RF_TEST(figures_are_sums_or_gauges_with_their_labels)
{
	static const char text[] = "# TYPE runs_total counter\nruns_total{verdict=\"o\\\"k\"} 3\n"
				   "# TYPE boxes gauge\nboxes 2\n# TYPE wait histogram\n"
				   "wait_bucket{le=\"1\"} 7\nwait_sum 0.5\nnonsense\nnan NaN\n";
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 16);
	rf_otlp_put_figures(text, strlen(text), 17, &out);
	require_json(&out);
	RF_CHECK(strstr(out.data, "\"name\":\"runs_total\",\"sum\"") ||
			 strstr(out.data, "\"name\": \"runs_total\", \"sum\""),
		 "%s", out.data);
	RF_CHECK(strstr(out.data, "o\\\"k") && strstr(out.data, "boxes") &&
			 strstr(out.data, "wait_sum"),
		 "%s", out.data);
	RF_CHECK(!strstr(out.data, "bucket") && !strstr(out.data, "nonsense") &&
			 !strstr(out.data, "NaN"),
		 "%s", out.data);
}

RF_TEST(a_run_is_a_part_of_its_request)
{
	struct rf_audit_event event;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;

	rf_buf_init(&out, 1 << 16);
	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	event.time_ns = 5000000000;
	rf_audit_event_text(&event, RF_AUDIT_BOX, "b1");
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "ok");
	rf_audit_event_number(&event, RF_AUDIT_WALL_US, 1000000);
	rf_otlp_begin_traces(&json, &out);
	RF_CHECK(!rf_otlp_put_run(&json, &event), "without a trace it is none");
	rf_audit_event_text(&event, RF_AUDIT_TRACE, TRACE);
	RF_CHECK(rf_otlp_put_run(&json, &event), "a run");
	rf_otlp_end_traces(&json);
	require_json(&out);
	RF_CHECK(strstr(out.data, "b7ad6b7169203331") && strstr(out.data, "4000000000"), "%s",
		 out.data);
}
