/*
 * A report for people and programs: what agents did in a time, what their policies grant that nobody used, and the
 * tighter policy.
 *
 * What it tells of was named by others (agents, programs, paths that were denied), so each form writes it so that it
 * can't be anything else: escaped in HTML, which has no script and asks for nothing; without what steers a terminal in
 * a text; as strings in JSON (docs/report.schema.json).
 */
#ifndef RF_AUDIT_REPORT_H
#define RF_AUDIT_REPORT_H

#include "audit/tally.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/style.h"
#include "policy/trim.h"

struct rf_report {
	const struct rf_tally *tally; /* ended */
	const char *log;              /* where it lies */
	uint64_t made_ns;
	/* What was proved of the log. */
	bool is_good, has_anchor;
	const char *problem; /* the first thing that is wrong, or "" */
	uint64_t records;
};

void rf_report_text(const struct rf_report *report, struct rf_style style, struct rf_buf *out);
void rf_report_html(const struct rf_report *report, struct rf_buf *out);
void rf_report_json(const struct rf_report *report, struct rf_buf *out);

/* Only the tighter policy, of the policy that was used last, where there is one agent.  Fails with what is missing. */
int rf_report_policy(const struct rf_report *report, struct rf_buf *out, struct rf_err *err);

/* What the forms share. */

/* A policy, with what it grants; to be ended with rf_report_grants_done(). */
struct rf_report_grants {
	struct rf_trim_row rows[RF_TRIM_ROWS];
	size_t count;
	unsigned tighter;     /* figures */
	struct rf_buf policy; /* the tighter one, as YAML; empty if there is none */
	char problem[320];    /* why there is none, or "" */
};

void rf_report_grants_init(struct rf_report_grants *grants, const struct rf_tally_agent *agent,
			   const struct rf_tally_policy *policy);
void rf_report_grants_done(struct rf_report_grants *grants);

/* What the agent's budgets were, by the last of its policies that is known; RF_LIMIT_NONE: none. */
void rf_report_budgets(const struct rf_tally_agent *agent, uint64_t ret_limits[RF_QUOTA_COUNT]);

/* "runs", "processor time", "denials", "time-outs", and the unit of each. */
const char *rf_report_budget_name(enum rf_tally_budget budget);
enum rf_unit rf_report_budget_unit(enum rf_tally_budget budget);

/* The notes of an agent, by sort. */
struct rf_report_sort {
	const char *key, *title;
	size_t offset; /* of a struct rf_tally_notes in struct rf_tally_agent */
};
extern const struct rf_report_sort rf_report_sorts[3];
const struct rf_tally_notes *rf_report_notes(const struct rf_tally_agent *agent, size_t i);

/* The first 12 digits of a policy's hash. */
void rf_report_short(const uint8_t hash[RF_AUDIT_HASH], char text[16]);

/* "2026-11-16 07:30:43", in UTC. */
void rf_report_time(uint64_t time_ns, char text[32]);

#endif
