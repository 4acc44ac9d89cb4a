/*
 * A report as one HTML page: see report.h.
 *
 * It brings all that it needs, has no script, and its own policy forbids to load anything: what an agent called itself can
 * be shown to an operator's browser.  Every text that is not ours goes through put(), which is the only thing here that
 * writes one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/report.h"
#include "base/fd.h"

static const char head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<title>Ringfort audit report</title>\n"
	"<style>\n"
	":root { color-scheme: light dark; --ink: #1d2329; --page: #fff; --quiet: #5b6570;\n"
	"  --line: #d9dee3; --shade: #f4f6f8; --good: #116329; --bad: #b3261e; }\n"
	"@media (prefers-color-scheme: dark) { :root { --ink: #e3e7eb; --page: #14181c;\n"
	"  --quiet: #98a2ad; --line: #333b43; --shade: #1c2227; --good: #6fcf8b; --bad: #ff8a80; } "
	"}\n"
	"body { margin: 0 auto; padding: 1.5rem; max-width: 70rem; background: var(--page);\n"
	"  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }\n"
	"h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-top: 2px solid var(--line);\n"
	"  padding-top: 1rem; } h3 { margin: 2rem 0 .5rem; } h2, h3 { overflow-wrap: anywhere; }\n"
	"table { border-collapse: collapse; width: 100%; font-size: .92rem; }\n"
	"th, td { text-align: left; padding: .3rem .8rem .3rem 0; vertical-align: top;\n"
	"  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }\n"
	"th { color: var(--quiet); font-weight: 600; }\n"
	"td.n, th.n { text-align: right; font-variant-numeric: tabular-nums;\n"
	"  white-space: nowrap; width: 1%; }\n"
	"td.t { white-space: nowrap; } .quiet { color: var(--quiet); }\n"
	".good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); }\n"
	"code, pre { font: .88rem/1.45 ui-monospace, monospace; }\n"
	"pre { background: var(--shade); padding: 1rem; overflow-x: auto; }\n"
	"dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; }\n"
	"dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }\n"
	"meter { width: 6rem; } summary { cursor: pointer; margin: .8rem 0; }\n"
	"</style>\n"
	"</head>\n"
	"<body>\n"
	"<h1>Audit report</h1>\n";

/* Text, and nothing else: what steers a terminal is shown as an escape first, as everywhere. */
static void put(struct rf_buf *out, const char *text)
{
	RF_AUTO_BUF struct rf_buf plain;

	rf_buf_init(&plain, (size_t)4 << 20);
	rf_style_put(RF_STYLE_NONE, RF_STYLE_PLAIN, text, 0, &plain);
	for (size_t i = 0; i < plain.len; i++)
		switch (plain.data[i]) {
		case '&':
			rf_buf_puts(out, "&amp;");
			break;
		case '<':
			rf_buf_puts(out, "&lt;");
			break;
		case '>':
			rf_buf_puts(out, "&gt;");
			break;
		case '"':
			rf_buf_puts(out, "&quot;");
			break;
		case '\'':
			rf_buf_puts(out, "&#39;");
			break;
		default:
			rf_buf_add(out, plain.data + i, 1);
		}
	out->has_failed = out->has_failed || plain.has_failed;
}

static void put_cell(struct rf_buf *out, const char *class, const char *text)
{
	rf_buf_printf(out, *class ? "<td class=\"%s\">" : "<td%s>", class);
	put(out, text);
	rf_buf_puts(out, "</td>");
}

static void put_number(struct rf_buf *out, uint64_t number)
{
	rf_buf_printf(out, "<td class=\"n\">%" PRIu64 "</td>", number);
}

/* The row of headings; one that begins with a space is of numbers. */
static void open_table(struct rf_buf *out, const char *const *columns, size_t count)
{
	rf_buf_puts(out, "<table>\n<thead><tr>");
	for (size_t i = 0; i < count; i++)
		rf_buf_printf(out, "<th scope=\"col\"%s>%s</th>",
			      columns[i][0] == ' ' ? " class=\"n\"" : "",
			      columns[i] + (columns[i][0] == ' '));
	rf_buf_puts(out, "</tr></thead>\n<tbody>\n");
}

static void close_table(struct rf_buf *out)
{
	rf_buf_puts(out, "</tbody>\n</table>\n");
}

static void put_fact(struct rf_buf *out, const char *name, const char *text)
{
	rf_buf_printf(out, "<dt>%s</dt><dd>", name);
	put(out, text);
	rf_buf_puts(out, "</dd>\n");
}

static void put_list(struct rf_buf *out, const char *title, const char *what,
		     const struct rf_tally_list *list, bool has_rules)
{
	const char *const columns[] = { " Times", what, "Rule", "Remedy" };

	if (list->total == 0)
		return;
	rf_buf_printf(out, "<h3>%s</h3>\n", title);
	open_table(out, columns, has_rules ? 4 : 2);
	for (size_t i = 0; i < list->count; i++) {
		rf_buf_puts(out, "<tr>");
		put_number(out, list->rows[i].count);
		put_cell(out, "", list->rows[i].name);
		if (has_rules) {
			put_cell(out, "", list->rows[i].rule);
			put_cell(out, "", list->rows[i].remedy);
		}
		rf_buf_puts(out, "</tr>\n");
	}
	close_table(out);
	if (list->more)
		rf_buf_printf(out, "<p class=\"quiet\">and %" PRIu64 " of others</p>\n",
			      list->more);
}

static void put_notes(struct rf_buf *out, const struct rf_tally_agent *agent)
{
	static const char *const columns[] = { "Time (UTC)", "Kind", "What", "Why", "By", "Box" };
	char time[32];

	for (size_t sort = 0; sort < RF_LEN(rf_report_sorts); sort++) {
		const struct rf_tally_notes *notes = rf_report_notes(agent, sort);

		if (notes->total == 0)
			continue;
		rf_buf_printf(out, "<h3>%s: %" PRIu64 "</h3>\n", rf_report_sorts[sort].title,
			      notes->total);
		open_table(out, columns, RF_LEN(columns));
		for (size_t i = 0; i < notes->count; i++) {
			const struct rf_tally_note *note = &notes->notes[i];
			bool is_bad = strcmp(note->severity, "high") == 0 ||
				      strcmp(note->severity, "critical") == 0;

			rf_report_time(note->time_ns, time);
			rf_buf_puts(out, "<tr>");
			put_cell(out, "t", time);
			put_cell(out, "", rf_audit_event_kind_name(note->kind));
			put_cell(out, is_bad ? "bad" : "", note->name);
			put_cell(out, "", note->reason);
			put_cell(out, "", note->by);
			put_cell(out, "", note->box);
			rf_buf_puts(out, "</tr>\n");
		}
		close_table(out);
	}
}

/* How much of a figure was used, to be seen at a glance. */
static void put_meter(struct rf_buf *out, uint64_t used, uint64_t granted)
{
	rf_buf_puts(out, "<td>");
	if (granted != RF_LIMIT_NONE && granted > 0)
		rf_buf_printf(out, "<meter min=\"0\" max=\"100\" value=\"%.0f\">%.0f%%</meter>",
			      used > granted ? 100 : (double)used * 100 / (double)granted,
			      used > granted ? 100 : (double)used * 100 / (double)granted);
	rf_buf_puts(out, "</td>");
}

static void put_budgets(struct rf_buf *out, const struct rf_tally_agent *agent)
{
	static const char *const columns[] = { "Budget",   " Used", " Most in an hour",
					       " Allowed", "",      " Most in a day",
					       " Allowed", "" };
	uint64_t limits[RF_QUOTA_COUNT];

	rf_report_budgets(agent, limits);
	rf_buf_puts(out, "<h3>Budgets</h3>\n");
	open_table(out, columns, RF_LEN(columns));
	for (int i = 0; i < RF_TALLY_BUDGETS; i++) {
		enum rf_unit unit = rf_report_budget_unit((enum rf_tally_budget)i);
		char text[32];

		rf_buf_puts(out, "<tr>");
		put_cell(out, "", rf_report_budget_name((enum rf_tally_budget)i));
		rf_trim_amount(unit, agent->used[i], text, sizeof(text));
		put_cell(out, "n", text);
		for (int span = 0; span < 2; span++) {
			int quota = RF_QUOTA_BUDGETS + 2 * i + span;

			rf_trim_amount(unit, agent->most[span][i], text, sizeof(text));
			put_cell(out, "n", text);
			rf_limit_write(&rf_quota_table[quota], limits[quota], text, sizeof(text));
			put_cell(out, "n", limits[quota] == RF_LIMIT_NONE ? "–" : text);
			put_meter(out, agent->most[span][i], limits[quota]);
		}
		rf_buf_puts(out, "</tr>\n");
	}
	close_table(out);
}

static void put_policy(struct rf_buf *out, const struct rf_tally_agent *agent,
		       const struct rf_tally_policy *policy)
{
	static const char *const columns[] = {
		"Grant", " Granted", " Most used", "", " Tighter", ""
	};
	struct rf_report_grants grants;
	char name[16];

	rf_report_grants_init(&grants, agent, policy);
	rf_report_short(policy->hash, name);
	rf_buf_printf(out,
		      "<h3>Policy <code>%s</code></h3>\n<p>Runs: %" PRIu64 ", ended: %" PRIu64
		      ". Programs:",
		      name, policy->runs, policy->ended);
	for (size_t i = 0; i < policy->programs.count; i++) {
		rf_buf_puts(out, i > 0 ? ", <code>" : " <code>");
		put(out, policy->programs.rows[i].name);
		rf_buf_printf(out, "</code> %" PRIu64, policy->programs.rows[i].count);
	}
	rf_buf_puts(out, policy->programs.more ? " and others</p>\n" : "</p>\n");
	if (grants.count > 0)
		open_table(out, columns, RF_LEN(columns));
	for (size_t i = 0; i < grants.count; i++) {
		const struct rf_trim_row *row = &grants.rows[i];

		rf_buf_puts(out, "<tr>");
		put_cell(out, "", row->key);
		put_cell(out, "n", row->granted);
		put_cell(out, "n", row->used[0] ? row->used : "–");
		put_meter(out, row->of_used, row->is_figure ? row->of_granted : RF_LIMIT_NONE);
		put_cell(out, row->tighter[0] ? "n good" : "n",
			 row->tighter[0] ? row->tighter : "–");
		put_cell(out, "quiet", row->note ? row->note : "");
		rf_buf_puts(out, "</tr>\n");
	}
	if (grants.count > 0)
		close_table(out);
	if (grants.problem[0]) {
		rf_buf_puts(out, "<p class=\"quiet\">No tighter policy: ");
		put(out, grants.problem);
		rf_buf_puts(out, ".</p>\n");
	} else {
		rf_buf_puts(out, "<details><summary>The tighter policy</summary>\n<pre>");
		for (const char *line = grants.policy.data; line && *line;) {
			size_t len = strcspn(line, "\n");
			RF_AUTO_BUF struct rf_buf one;

			rf_buf_init(&one, len + 2);
			rf_buf_add(&one, line, len);
			put(out, one.data ? one.data : "");
			rf_buf_puts(out, "\n");
			line += len + (line[len] == '\n');
		}
		rf_buf_puts(out, "</pre></details>\n");
	}
	rf_report_grants_done(&grants);
}

static void put_agent(struct rf_buf *out, const struct rf_tally_agent *agent)
{
	char text[128], cpu[32], wall[32];

	rf_buf_puts(out, agent->name[0] ? "<section>\n<h2>Agent "
					: "<section>\n<h2>Runs without an agent");
	put(out, agent->name);
	rf_buf_puts(out, "</h2>\n<dl>\n");
	snprintf(text, sizeof(text),
		 "%" PRIu64 " started, %" PRIu64 " ended, %" PRIu64 " under way, %" PRIu64
		 " refused",
		 agent->started, agent->ended, agent->under_way, agent->refused);
	put_fact(out, "Runs", text);
	rf_buf_puts(out, "<dt>Verdicts</dt><dd>");
	for (size_t i = 0; i < agent->verdicts.count; i++) {
		rf_buf_puts(out, i > 0 ? ", " : "");
		put(out, agent->verdicts.rows[i].name);
		rf_buf_printf(out, " %" PRIu64, agent->verdicts.rows[i].count);
	}
	rf_buf_puts(out, "</dd>\n");
	rf_trim_amount(RF_UNIT_MS, agent->cpu_us / 1000, cpu, sizeof(cpu));
	rf_trim_amount(RF_UNIT_MS, agent->wall_us / 1000, wall, sizeof(wall));
	snprintf(text, sizeof(text), "%s of processors, %s on the clock", cpu, wall);
	put_fact(out, "Used", text);
	snprintf(text, sizeof(text), "%" PRIu64 ", as far as they are heard: of %" PRIu64 " runs",
		 agent->denied, agent->heard);
	put_fact(out, "Denials", text);
	rf_buf_puts(out, "</dl>\n");
	put_list(out, "Denied", "What", &agent->denials, true);
	put_list(out, "Runs that were refused", "Why", &agent->refusals, false);
	put_list(out, "Hosts", "Host", &agent->hosts, true);
	put_list(out, "Methods", "Method", &agent->methods, true);
	put_list(out, "Credentials", "Name", &agent->credentials, true);
	put_list(out, "Tools", "Tool", &agent->tools, true);
	if (agent->name[0])
		put_budgets(out, agent);
	put_notes(out, agent);
	for (size_t i = 0; i < agent->policy_count; i++)
		put_policy(out, agent, &agent->policies[i]);
	if (agent->other_policies)
		rf_buf_printf(out,
			      "<p class=\"quiet\">%" PRIu64
			      " more runs were under other policies.</p>\n",
			      agent->other_policies);
	rf_buf_puts(out, "</section>\n");
}

static void put_head(struct rf_buf *out, const struct rf_report *report)
{
	const struct rf_tally *tally = report->tally;
	char first[32], last[32], text[80];

	rf_buf_puts(out, head);
	rf_buf_puts(out, "<dl>\n");
	put_fact(out, "Log", report->log);
	rf_buf_printf(out, "<dt>Proof</dt><dd class=\"%s\">", report->is_good ? "good" : "bad");
	if (report->is_good)
		rf_buf_printf(out, "good: %" PRIu64 " records%s", report->records,
			      report->has_anchor
				      ? ""
				      : "; that its end was not cut off can&#39;t be proved");
	else
		put(out, report->problem);
	rf_buf_puts(out, "</dd>\n");
	rf_report_time(tally->period.since_ns ? tally->period.since_ns : tally->first_ns, first);
	rf_report_time(tally->period.until_ns ? tally->period.until_ns : report->made_ns, last);
	snprintf(text, sizeof(text), "%s to %s UTC", first, last);
	put_fact(out, "Period", text);
	rf_buf_puts(out, "</dl>\n");
	if (tally->events == 0)
		rf_buf_puts(out, "<p>Nothing was recorded in it.</p>\n");
}

void rf_report_html(const struct rf_report *report, struct rf_buf *out)
{
	const struct rf_tally *tally = report->tally;

	put_head(out, report);
	for (size_t i = 0; i < tally->agent_count; i++)
		put_agent(out, &tally->agents[i]);
	if (tally->other_agents)
		rf_buf_printf(out,
			      "<p class=\"quiet\">%" PRIu64
			      " events of further agents are not listed.</p>\n",
			      tally->other_agents);
	if (tally->own.openings.total + tally->own.alarms.total + tally->own.reactions.total) {
		rf_buf_puts(out, "<section>\n<h2>Of no agent</h2>\n");
		put_notes(out, &tally->own);
		rf_buf_puts(out, "</section>\n");
	}
	rf_buf_puts(out, "</body>\n</html>\n");
}
