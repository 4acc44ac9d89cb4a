/*
 * A row of audit events, each with its length before it: what a report makes of them.  No name becomes markup or
 * steers a terminal, and a policy that is written out can be read.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "audit/report.h"
#include "policy/policy.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void look_at_policies(const struct rf_tally *tally)
{
	for (size_t i = 0; i < tally->agent_count; i++)
		for (size_t k = 0; k < tally->agents[i].policy_count; k++) {
			struct rf_report_grants grants;
			struct rf_policy *policy = NULL;
			struct rf_err err = RF_ERR_INIT;

			rf_report_grants_init(&grants, &tally->agents[i],
					      &tally->agents[i].policies[k]);
			require(grants.count <= RF_TRIM_ROWS);
			if (grants.policy.len > 0)
				require(rf_policy_parse(grants.policy.data, grants.policy.len, "/",
							"/", &policy, &err) == 0);
			rf_policy_free(policy);
			rf_report_grants_done(&grants);
		}
}

static void write_all(const struct rf_tally *tally)
{
	const struct rf_report report = { .tally = tally, .log = "/log", .problem = "" };
	RF_AUTO_BUF struct rf_buf html = { 0 }, text = { 0 }, json = { 0 };

	rf_buf_init(&html, 64 << 20);
	rf_buf_init(&text, 64 << 20);
	rf_buf_init(&json, 64 << 20);
	rf_report_html(&report, &html);
	rf_report_text(&report, RF_STYLE_NONE, &text);
	rf_report_json(&report, &json);
	require(!html.has_failed && !text.has_failed && !json.has_failed);
	require(!strstr(html.data, "<script") && !strchr(html.data, '\033'));
	require(!strchr(text.data, '\033') && !strchr(json.data, '\033'));
}

RF_FUZZ(data, size)
{
	const struct rf_pick period = { .since_ns = size % 3 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_tally tally;
	uint64_t seq = 1;

	if (rf_tally_init(&tally, &period, &err) < 0)
		return 0;
	for (size_t at = 0; size - at >= 2;) {
		size_t len = data[at] | (size_t)data[at + 1] << 8;
		struct rf_audit_event event;

		at += 2;
		len = len < size - at ? len : size - at;
		if (rf_audit_event_decode(data + at, len, &event, &err) == 0) {
			event.seq = seq++;
			event.time_ns = seq * 1000000000;
			rf_tally_add(&tally, &event);
		}
		at += len;
	}
	require(rf_tally_end(&tally, &err) == 0);
	look_at_policies(&tally);
	write_all(&tally);
	rf_tally_done(&tally);
	return 0;
}
