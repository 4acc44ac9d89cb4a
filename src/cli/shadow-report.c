/* What became of a shadow run: see shadow-report.h.  docs/shadow.schema.json describes it. */
#include "cli/shadow-report.h"

#include "base/json.h"
#include "cli/cmd.h"

#define LISTED 10000 /* changes; no agent reads more */

const char *rf_shadow_report_verdict(enum rf_shadow_verdict verdict)
{
	static const char *const names[] = {
		[RF_SHADOW_DISCARDED] = "discarded",   [RF_SHADOW_APPLIED] = "applied",
		[RF_SHADOW_REFUSED] = "refused",       [RF_SHADOW_DECLINED] = "declined",
		[RF_SHADOW_UNFINISHED] = "unfinished",
	};

	return names[verdict];
}

static void put_those(const struct rf_delta *delta, bool are_protected, struct rf_style style,
		      struct rf_buf *out)
{
	for (size_t i = 0; i < delta->count; i++) {
		const struct rf_change *change = &delta->changes[i];

		if (!change->protects != !are_protected)
			continue;
		rf_style_put(style, are_protected ? RF_STYLE_WARNING : RF_STYLE_NAME,
			     rf_change_name(change->kind), 11, out);
		rf_style_put(style, RF_STYLE_PLAIN, change->path, 0, out);
		if (change->protects)
			rf_buf_printf(out, "  (%s)", change->protects);
		rf_buf_puts(out, "\n");
	}
}

void rf_shadow_report_changes(const struct rf_shadow_report *report, struct rf_style style,
			      struct rf_buf *out)
{
	const struct rf_delta *delta = &report->delta;
	size_t protects = 0;

	put_those(delta, false, style, out);
	for (size_t i = 0; i < delta->count; i++)
		protects += delta->changes[i].protects != NULL;
	if (protects)
		rf_buf_printf(out, "%sthese act later, on whoever uses the directory:\n",
			      protects < delta->count ? "\n" : "");
	put_those(delta, true, style, out);
}

static void put_checks(const struct rf_shadow_report *report, struct rf_json *json)
{
	rf_json_open_array(json, "verify");
	for (size_t i = 0; i < report->check_count; i++) {
		const struct rf_shadow_check *check = &report->checks[i];

		rf_json_open_object(json, NULL);
		rf_json_string(json, "command", check->command);
		rf_json_bool(json, "passed", check->has_passed);
		if (check->has_run)
			rf_result_put(&check->result, json, "result");
		else
			rf_json_null(json, "result");
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

/* What was decided about each change, or, where it did not get so far, what there is. */
static void put_changes(const struct rf_shadow_report *report, struct rf_json *json)
{
	bool is_decided = report->apply.stays != NULL;
	const struct rf_delta *delta = is_decided ? &report->apply.delta : &report->delta;

	rf_json_open_array(json, "changes");
	for (size_t i = 0; i < delta->count && i < LISTED; i++) {
		const struct rf_change *change = &delta->changes[i];
		const char *stays = is_decided && report->apply.stays[i] != RF_APPLY_MADE
					    ? rf_cmd_changes_stay(report->apply.stays[i])
					    : NULL;

		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", change->path);
		rf_json_string(json, "change", rf_change_name(change->kind));
		rf_json_string(json, "protected", change->protects);
		rf_json_string(json, "obstacle", stays);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_int(json, "more", delta->count > LISTED ? (int64_t)(delta->count - LISTED) : 0);
}

void rf_shadow_report_json(const struct rf_shadow_report *report, struct rf_buf *out)
{
	bool has_reason = report->why.code != 0;
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "verdict", rf_shadow_report_verdict(report->verdict));
	rf_json_string(&json, "reason", has_reason ? report->why.msg : NULL);
	rf_json_string(&json, "remedy",
		       has_reason && report->why.hint[0] ? report->why.hint : NULL);
	rf_json_string(&json, "directory", report->directory);
	rf_json_string(&json, "workspace", report->workspace);
	if (report->run)
		rf_result_put(report->run, &json, "run");
	else
		rf_json_null(&json, "run");
	put_checks(report, &json);
	put_changes(report, &json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
