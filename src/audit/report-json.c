/* A report as JSON, which docs/report.schema.json describes: see report.h. */
#include <stdio.h>
#include <string.h>

#include "audit/report.h"
#include "base/fd.h"
#include "base/json.h"

#define VERSION 1 /* of the document */

static void put_time(struct rf_json *json, const char *name, uint64_t time_ns)
{
	char text[32];

	rf_audit_event_time(time_ns, text, sizeof(text));
	rf_json_string(json, name, time_ns ? text : NULL);
}

static void put_count(struct rf_json *json, const char *name, uint64_t value)
{
	if (value == RF_LIMIT_NONE)
		rf_json_null(json, name);
	else
		rf_json_int(json, name, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_text(struct rf_json *json, const char *name, const char *text)
{
	rf_json_string(json, name, text && *text ? text : NULL);
}

static void put_list(struct rf_json *json, const char *name, const struct rf_tally_list *list,
		     bool has_rules)
{
	rf_json_open_object(json, name);
	put_count(json, "total", list->total);
	put_count(json, "not_listed", list->more);
	rf_json_open_array(json, "rows");
	for (size_t i = 0; i < list->count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "name", list->rows[i].name);
		if (has_rules) {
			put_text(json, "rule", list->rows[i].rule);
			put_text(json, "remedy", list->rows[i].remedy);
		}
		put_count(json, "count", list->rows[i].count);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_close_object(json);
}

static void put_notes(struct rf_json *json, const struct rf_tally_agent *agent)
{
	for (size_t sort = 0; sort < RF_LEN(rf_report_sorts); sort++) {
		const struct rf_tally_notes *notes = rf_report_notes(agent, sort);

		rf_json_open_object(json, rf_report_sorts[sort].key);
		put_count(json, "total", notes->total);
		rf_json_open_array(json, "last");
		for (size_t i = 0; i < notes->count; i++) {
			const struct rf_tally_note *note = &notes->notes[i];

			rf_json_open_object(json, NULL);
			put_time(json, "time", note->time_ns);
			put_count(json, "seq", note->seq);
			rf_json_string(json, "kind", rf_audit_event_kind_name(note->kind));
			put_text(json, "name", note->name);
			put_text(json, "reason", note->reason);
			put_text(json, "severity", note->severity);
			put_text(json, "by", note->by);
			put_text(json, "box", note->box);
			put_time(json, "until", note->until_ms * 1000000);
			rf_json_close_object(json);
		}
		rf_json_close_array(json);
		rf_json_close_object(json);
	}
}

static const char *unit_of(enum rf_unit unit)
{
	return unit == RF_UNIT_MS      ? "milliseconds"
	       : unit == RF_UNIT_BYTES ? "bytes"
	       : unit == RF_UNIT_MONEY ? "millionths"
				       : "count";
}

static void put_budgets(struct rf_json *json, const struct rf_tally_agent *agent)
{
	uint64_t limits[RF_QUOTA_COUNT];

	rf_report_budgets(agent, limits);
	rf_json_open_array(json, "budgets");
	for (int i = 0; i < RF_TALLY_BUDGETS; i++) {
		int quota = RF_QUOTA_BUDGETS + 2 * i;

		rf_json_open_object(json, NULL);
		rf_json_string(json, "budget", rf_report_budget_name((enum rf_tally_budget)i));
		rf_json_string(json, "unit",
			       unit_of(rf_report_budget_unit((enum rf_tally_budget)i)));
		put_count(json, "used", agent->used[i]);
		put_count(json, "most_in_an_hour", agent->most[0][i]);
		put_count(json, "allowed_in_an_hour", limits[quota]);
		put_count(json, "most_in_a_day", agent->most[1][i]);
		put_count(json, "allowed_in_a_day", limits[quota + 1]);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

static void put_policy(struct rf_json *json, const struct rf_tally_agent *agent,
		       const struct rf_tally_policy *policy)
{
	struct rf_report_grants grants;
	char hex[2 * RF_AUDIT_HASH + 1];

	for (int i = 0; i < RF_AUDIT_HASH; i++)
		snprintf(hex + 2 * i, 3, "%02x", policy->hash[i]);
	rf_report_grants_init(&grants, agent, policy);
	rf_json_open_object(json, NULL);
	rf_json_string(json, "policy", hex);
	put_count(json, "runs", policy->runs);
	put_count(json, "ended", policy->ended);
	put_time(json, "first_run", policy->first_ns);
	put_time(json, "last_run", policy->last_ns);
	put_list(json, "programs", &policy->programs, false);
	rf_json_open_array(json, "grants");
	for (size_t i = 0; i < grants.count; i++) {
		const struct rf_trim_row *row = &grants.rows[i];

		rf_json_open_object(json, NULL);
		rf_json_string(json, "grant", row->key);
		rf_json_string(json, "granted", row->granted);
		put_text(json, "used", row->used);
		put_text(json, "tighter", row->tighter);
		put_text(json, "note", row->note);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	put_text(json, "tighter_policy", grants.policy.data);
	put_text(json, "why_not_tighter", grants.problem);
	rf_json_close_object(json);
	rf_report_grants_done(&grants);
}

static void put_agent(struct rf_json *json, const struct rf_tally_agent *agent)
{
	rf_json_open_object(json, NULL);
	put_text(json, "agent", agent->name);
	put_time(json, "first_event", agent->first_ns);
	put_time(json, "last_event", agent->last_ns);
	rf_json_open_object(json, "runs");
	put_count(json, "started", agent->started);
	put_count(json, "ended", agent->ended);
	put_count(json, "under_way", agent->under_way);
	put_count(json, "refused", agent->refused);
	rf_json_close_object(json);
	rf_json_double(json, "cpu_ms", (double)agent->cpu_us / 1e3, 3);
	rf_json_double(json, "wall_ms", (double)agent->wall_us / 1e3, 3);
	put_list(json, "verdicts", &agent->verdicts, false);
	put_count(json, "denied", agent->denied);
	put_count(json, "denials_heard_of_runs", agent->heard);
	put_list(json, "denials", &agent->denials, true);
	put_list(json, "refusals", &agent->refusals, false);
	put_list(json, "hosts", &agent->hosts, true);
	put_list(json, "methods", &agent->methods, true);
	put_list(json, "credentials", &agent->credentials, true);
	put_list(json, "tools", &agent->tools, true);
	put_budgets(json, agent);
	put_notes(json, agent);
	rf_json_open_array(json, "policies");
	for (size_t i = 0; i < agent->policy_count; i++)
		put_policy(json, agent, &agent->policies[i]);
	rf_json_close_array(json);
	put_count(json, "runs_under_other_policies", agent->other_policies);
	rf_json_close_object(json);
}

void rf_report_json(const struct rf_report *report, struct rf_buf *out)
{
	const struct rf_tally *tally = report->tally;
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "version", VERSION);
	put_time(&json, "made", report->made_ns);
	rf_json_open_object(&json, "log");
	rf_json_string(&json, "path", report->log);
	rf_json_bool(&json, "good", report->is_good);
	put_text(&json, "problem", report->problem);
	put_count(&json, "records", report->records);
	rf_json_bool(&json, "truncation_provable", report->has_anchor);
	rf_json_close_object(&json);
	rf_json_open_object(&json, "period");
	put_time(&json, "since", tally->period.since_ns);
	put_time(&json, "until", tally->period.until_ns);
	put_time(&json, "first_event", tally->first_ns);
	put_time(&json, "last_event", tally->last_ns);
	put_count(&json, "events", tally->events);
	rf_json_close_object(&json);
	rf_json_open_array(&json, "agents");
	for (size_t i = 0; i < tally->agent_count; i++)
		put_agent(&json, &tally->agents[i]);
	rf_json_close_array(&json);
	put_count(&json, "events_of_other_agents", tally->other_agents);
	rf_json_open_object(&json, "of_no_agent");
	put_notes(&json, &tally->own);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
