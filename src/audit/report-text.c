/* A report as text: see report.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/report.h"
#include "base/fd.h"

#define SHOWN 20 /* rows of a list; HTML and JSON have more */
#define LABEL 16 /* columns before what is said of an agent */

/* Where it goes, and how. */
struct sheet {
	struct rf_style style;
	struct rf_buf *out;
};

static void put(const struct sheet *sheet, const char *text, int width)
{
	rf_style_put(sheet->style, RF_STYLE_PLAIN, text, width, sheet->out);
}

static void put_label(const struct sheet *sheet, const char *label)
{
	rf_buf_puts(sheet->out, "  ");
	rf_style_put(sheet->style, RF_STYLE_NAME, label, LABEL, sheet->out);
}

static void put_heading(const struct sheet *sheet, const char *indent, const char *const *columns,
			const int *widths, size_t count)
{
	rf_buf_puts(sheet->out, "\n");
	rf_buf_puts(sheet->out, indent);
	for (size_t i = 0; i < count; i++)
		rf_style_put(sheet->style, RF_STYLE_HEADING, columns[i],
			     i + 1 < count ? widths[i] : 0, sheet->out);
	rf_buf_puts(sheet->out, "\n");
}

static void put_more(const struct sheet *sheet, const struct rf_tally_list *list, size_t shown)
{
	uint64_t more = list->more;

	for (size_t i = shown; i < list->count; i++)
		more += list->rows[i].count;
	if (more > 0)
		rf_style_printf(sheet->style, RF_STYLE_QUIET, sheet->out,
				"    and %" PRIu64 " of others\n", more);
}

/* "ok 9, failed 1" */
static void put_line(const struct sheet *sheet, const char *label, const struct rf_tally_list *list)
{
	char number[32];

	if (list->total == 0)
		return;
	put_label(sheet, label);
	for (size_t i = 0; i < list->count && i < SHOWN; i++) {
		rf_buf_puts(sheet->out, i > 0 ? ", " : "");
		put(sheet, list->rows[i].name, 0);
		snprintf(number, sizeof(number), " %" PRIu64, list->rows[i].count);
		rf_buf_puts(sheet->out, number);
	}
	rf_buf_puts(sheet->out, list->count > SHOWN || list->more ? " ...\n" : "\n");
}

static void put_counted(const struct sheet *sheet, const char *title,
			const struct rf_tally_list *list)
{
	static const int widths[] = { 10, 40, 28, 0 };
	const char *const columns[] = { "TIMES", title, "RULE", "REMEDY" };

	if (list->total == 0)
		return;
	put_heading(sheet, "  ", columns, widths, RF_LEN(columns));
	for (size_t i = 0; i < list->count && i < SHOWN; i++) {
		const struct rf_tally_row *row = &list->rows[i];

		rf_buf_printf(sheet->out, "  %-10" PRIu64, row->count);
		put(sheet, row->name, row->rule[0] ? widths[1] - 1 : 0);
		rf_buf_puts(sheet->out, row->rule[0] ? " " : "");
		put(sheet, row->rule, row->remedy[0] ? widths[2] - 1 : 0);
		rf_buf_puts(sheet->out, row->remedy[0] ? " " : "");
		put(sheet, row->remedy, 0);
		rf_buf_puts(sheet->out, "\n");
	}
	put_more(sheet, list, SHOWN);
}

static void put_allowed(enum rf_quota quota, const uint64_t *limits, char text[32])
{
	if (limits[quota] == RF_LIMIT_NONE)
		snprintf(text, 32, "-");
	else
		rf_limit_write(&rf_quota_table[quota], limits[quota], text, 32);
}

static void put_budgets(const struct sheet *sheet, const struct rf_tally_agent *agent)
{
	static const char *const columns[] = { "BUDGET",  "USED",     "MOST/HOUR",
					       "ALLOWED", "MOST/DAY", "ALLOWED" };
	static const int widths[] = { 18, 10, 12, 10, 12, 0 };
	uint64_t limits[RF_QUOTA_COUNT];

	rf_report_budgets(agent, limits);
	put_heading(sheet, "  ", columns, widths, RF_LEN(columns));
	for (int i = 0; i < RF_TALLY_BUDGETS; i++) {
		enum rf_unit unit = rf_report_budget_unit((enum rf_tally_budget)i);
		enum rf_quota quota = (enum rf_quota)(RF_QUOTA_BUDGETS + 2 * i);
		char used[32], hour[32], day[32], of_hour[32], of_day[32];

		rf_trim_amount(unit, agent->used[i], used, sizeof(used));
		rf_trim_amount(unit, agent->most[0][i], hour, sizeof(hour));
		rf_trim_amount(unit, agent->most[1][i], day, sizeof(day));
		put_allowed(quota, limits, of_hour);
		put_allowed((enum rf_quota)(quota + 1), limits, of_day);
		rf_buf_printf(sheet->out, "  %-18s%-10s%-12s%-10s%-12s%s\n",
			      rf_report_budget_name((enum rf_tally_budget)i), used, hour, of_hour,
			      day, of_day);
	}
}

static void put_notes(const struct sheet *sheet, const char *title,
		      const struct rf_tally_notes *notes)
{
	size_t first = notes->count > SHOWN ? notes->count - SHOWN : 0;
	char time[32];

	if (notes->total == 0)
		return;
	rf_buf_puts(sheet->out, "\n  ");
	rf_style_printf(sheet->style, RF_STYLE_HEADING, sheet->out, "%s: %" PRIu64, title,
			notes->total);
	rf_buf_puts(sheet->out,
		    first || notes->total > notes->count ? ", the last of them\n" : "\n");
	for (size_t i = first; i < notes->count; i++) {
		const struct rf_tally_note *note = &notes->notes[i];

		rf_report_time(note->time_ns, time);
		rf_buf_printf(sheet->out, "  %s  %s", time, rf_audit_event_kind_name(note->kind));
		for (size_t k = 0; k < 4; k++) {
			const char *const words[] = { note->severity, note->name, note->reason,
						      note->by };

			rf_buf_puts(sheet->out, words[k][0] ? "  " : "");
			put(sheet, words[k], 0);
		}
		rf_buf_puts(sheet->out, "\n");
	}
}

static void put_policy(const struct sheet *sheet, const struct rf_tally_agent *agent,
		       const struct rf_tally_policy *policy)
{
	static const char *const columns[] = { "GRANT", "GRANTED", "MOST USED", "TIGHTER", "" };
	static const int widths[] = { 26, 14, 12, 12, 0 };
	struct rf_report_grants grants;
	char name[16];

	rf_report_grants_init(&grants, agent, policy);
	rf_report_short(policy->hash, name);
	rf_buf_puts(sheet->out, "\n  ");
	rf_style_printf(sheet->style, RF_STYLE_HEADING, sheet->out, "Policy %s", name);
	rf_buf_printf(sheet->out, ": runs %" PRIu64 ", ended %" PRIu64 "\n", policy->runs,
		      policy->ended);
	put_line(sheet, "programs", &policy->programs);
	if (grants.count > 0)
		put_heading(sheet, "    ", columns, widths, RF_LEN(columns));
	for (size_t i = 0; i < grants.count; i++) {
		const struct rf_trim_row *row = &grants.rows[i];

		rf_buf_printf(sheet->out, "    %-26s%-14s%-12s", row->key, row->granted,
			      row->used[0] ? row->used : "-");
		rf_style_put(sheet->style, row->tighter[0] ? RF_STYLE_GOOD : RF_STYLE_QUIET,
			     row->tighter[0] ? row->tighter : "-", 12, sheet->out);
		rf_style_put(sheet->style, RF_STYLE_QUIET, row->note ? row->note : "", 0,
			     sheet->out);
		rf_buf_puts(sheet->out, "\n");
	}
	if (grants.problem[0]) {
		rf_buf_puts(sheet->out, "\n    no tighter policy: ");
		put(sheet, grants.problem, 0);
		rf_buf_puts(sheet->out, "\n");
	} else {
		rf_buf_puts(sheet->out, "\n    The tighter policy:\n\n");
	}
	for (const char *line = grants.policy.data; line && *line;) {
		size_t len = strcspn(line, "\n");
		RF_AUTO_BUF struct rf_buf one;

		rf_buf_init(&one, len + 2);
		rf_buf_add(&one, line, len);
		rf_buf_puts(sheet->out, "      ");
		put(sheet, one.data ? one.data : "", 0);
		rf_buf_puts(sheet->out, "\n");
		line += len + (line[len] == '\n');
	}
	rf_report_grants_done(&grants);
}

static void put_agent(const struct sheet *sheet, const struct rf_tally_agent *agent)
{
	char cpu[32], wall[32];

	rf_buf_puts(sheet->out, "\n");
	rf_style_printf(sheet->style, RF_STYLE_HEADING, sheet->out, "%s",
			agent->name[0] ? "Agent " : "Runs without an agent");
	rf_style_put(sheet->style, RF_STYLE_HEADING, agent->name, 0, sheet->out);
	rf_buf_puts(sheet->out, "\n");
	put_label(sheet, "runs");
	rf_buf_printf(sheet->out,
		      "%" PRIu64 " started, %" PRIu64 " ended, %" PRIu64 " under way, %" PRIu64
		      " refused\n",
		      agent->started, agent->ended, agent->under_way, agent->refused);
	put_line(sheet, "verdicts", &agent->verdicts);
	rf_trim_amount(RF_UNIT_MS, agent->cpu_us / 1000, cpu, sizeof(cpu));
	rf_trim_amount(RF_UNIT_MS, agent->wall_us / 1000, wall, sizeof(wall));
	put_label(sheet, "used");
	rf_buf_printf(sheet->out, "%s of processors, %s on the clock\n", cpu, wall);
	put_label(sheet, "denials");
	rf_buf_printf(sheet->out, "%" PRIu64 ", as far as they are heard: of %" PRIu64 " runs\n",
		      agent->denied, agent->heard);
	put_counted(sheet, "DENIED", &agent->denials);
	put_counted(sheet, "RUNS REFUSED", &agent->refusals);
	put_counted(sheet, "HOSTS", &agent->hosts);
	put_counted(sheet, "METHODS", &agent->methods);
	put_counted(sheet, "CREDENTIALS", &agent->credentials);
	put_counted(sheet, "TOOLS", &agent->tools);
	if (agent->name[0])
		put_budgets(sheet, agent);
	for (size_t i = 0; i < RF_LEN(rf_report_sorts); i++)
		put_notes(sheet, rf_report_sorts[i].title, rf_report_notes(agent, i));
	for (size_t i = 0; i < agent->policy_count; i++)
		put_policy(sheet, agent, &agent->policies[i]);
	if (agent->other_policies)
		rf_buf_printf(sheet->out, "\n  %" PRIu64 " more runs were under other policies\n",
			      agent->other_policies);
}

static void put_head(const struct sheet *sheet, const struct rf_report *report)
{
	const struct rf_tally *tally = report->tally;
	char first[32], last[32];

	rf_style_put(sheet->style, RF_STYLE_HEADING, "Audit report", 0, sheet->out);
	rf_buf_puts(sheet->out, "\n");
	put_label(sheet, "log");
	put(sheet, report->log, 0);
	rf_buf_puts(sheet->out, "\n");
	put_label(sheet, "proof");
	if (report->is_good) {
		rf_buf_printf(
			sheet->out, "good: %" PRIu64 " records%s\n", report->records,
			report->has_anchor ? "" : "; that its end was not cut off can't be proved");
	} else {
		rf_style_put(sheet->style, RF_STYLE_BAD, "BAD: ", 0, sheet->out);
		put(sheet, report->problem, 0);
		rf_buf_puts(sheet->out, "\n");
	}
	put_label(sheet, "period");
	rf_report_time(tally->period.since_ns ? tally->period.since_ns : tally->first_ns, first);
	rf_report_time(tally->period.until_ns ? tally->period.until_ns : report->made_ns, last);
	rf_buf_printf(sheet->out, "%s to %s UTC\n", first, last);
	if (tally->events == 0)
		rf_buf_puts(sheet->out, "\nNothing was recorded in it.\n");
}

void rf_report_text(const struct rf_report *report, struct rf_style style, struct rf_buf *out)
{
	const struct rf_tally *tally = report->tally;
	const struct sheet sheet = { style, out };

	put_head(&sheet, report);
	for (size_t i = 0; i < tally->agent_count; i++)
		put_agent(&sheet, &tally->agents[i]);
	if (tally->other_agents)
		rf_buf_printf(out, "\n%" PRIu64 " events of further agents are not listed\n",
			      tally->other_agents);
	if (tally->own.openings.total + tally->own.alarms.total + tally->own.reactions.total) {
		rf_buf_puts(out, "\n");
		rf_style_put(style, RF_STYLE_HEADING, "Of no agent", 0, out);
		rf_buf_puts(out, "\n");
	}
	for (size_t i = 0; i < RF_LEN(rf_report_sorts); i++)
		put_notes(&sheet, rf_report_sorts[i].title, rf_report_notes(&tally->own, i));
}
