/* What became of a shadow run: see shadow-report.h.  docs/shadow.schema.json describes it. */
#include "cli/shadow-report.h"

#include <string.h>

#include "base/json.h"
#include "base/limits.h"
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

static void write_url(const struct rf_gate_held *request, struct rf_buf *out)
{
	bool is_usual = request->place.port == (request->place.is_tls ? 443 : 80);

	rf_buf_printf(out, "%s://%s", request->place.is_tls ? "https" : "http",
		      request->place.host);
	if (!is_usual)
		rf_buf_printf(out, ":%u", request->place.port);
	rf_buf_puts(out, request->path);
}

static void put_requests(const struct rf_shadow_report *report, struct rf_style style,
			 struct rf_buf *out)
{
	for (size_t i = 0; i < report->held.count; i++) {
		const struct rf_gate_held *request = &report->held.items[i].request;
		RF_AUTO_BUF struct rf_buf url;

		rf_buf_init(&url, RF_MAX_JSON);
		write_url(request, &url);
		rf_style_put(style, RF_STYLE_WARNING, request->method, 11, out);
		rf_style_put(style, RF_STYLE_PLAIN, url.data ? url.data : "", 0, out);
		rf_buf_printf(out, "  (held back, %zu bytes)\n", request->len);
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
	put_requests(report, style, out);
}

void rf_shadow_report_question(const struct rf_shadow_report *report, struct rf_style style,
			       struct rf_buf *out)
{
	size_t changes = report->delta.count, requests = report->held.count;

	if (changes > 0)
		rf_style_printf(style, RF_STYLE_HEADING, out, "apply %s%zu to %s",
				changes == 1 ? "this change, " : "these changes, ", changes,
				report->directory);
	if (requests > 0)
		rf_style_printf(style, RF_STYLE_HEADING, out, "%ssend %zu request%s",
				changes > 0 ? ", and " : "", requests, requests == 1 ? "" : "s");
	rf_style_printf(style, RF_STYLE_HEADING, out, "? [y/N] ");
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
		if (!rf_json_is_utf8(change->path, strlen(change->path)))
			rf_json_base64(json, "path_base64", change->path, strlen(change->path));
		rf_json_string(json, "change", rf_change_name(change->kind));
		rf_json_string(json, "protected", change->protects);
		rf_json_string(json, "obstacle", stays);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_int(json, "more", delta->count > LISTED ? (int64_t)(delta->count - LISTED) : 0);
}

static void put_held(const struct rf_shadow_report *report, struct rf_json *json)
{
	rf_json_open_array(json, "requests");
	for (size_t i = 0; i < report->held.count; i++) {
		const struct rf_held *held = &report->held.items[i];
		RF_AUTO_BUF struct rf_buf url;

		rf_buf_init(&url, RF_MAX_JSON);
		write_url(&held->request, &url);
		rf_json_open_object(json, NULL);
		rf_json_string(json, "method", held->request.method);
		rf_json_string(json, "url", url.data ? url.data : "");
		rf_json_int(json, "bytes", (int64_t)held->request.len);
		rf_json_string(json, "state", rf_held_state_name(held->state));
		if (held->status)
			rf_json_int(json, "status", held->status);
		else
			rf_json_null(json, "status");
		rf_json_string(json, "reason", held->reason[0] ? held->reason : NULL);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
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
	put_held(report, &json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
