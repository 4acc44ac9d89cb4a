/* The rows of `policy explain` about system calls: see call-rows.h. */
#include "cli/call-rows.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/calls.h"
#include "jail/ruleset.h"

static const char *words_of(const struct rf_call_group *group, enum rf_call_verdict verdict)
{
	static const char *const words[] = {
		[RF_CALL_ALLOW] = "allowed",
		[RF_CALL_FAKE] = "answered, not made",
		[RF_CALL_REFUSE] = "refused (EPERM)",
		[RF_CALL_ABSENT] = "absent (ENOSYS)",
		[RF_CALL_LACKING] = "refused (EOPNOTSUPP)",
		[RF_CALL_ASK] = "asked of the launcher",
	};

	if (verdict == RF_CALL_ALLOW && group->verdict == RF_CALL_ALLOW &&
	    group->in_sampled != RF_CALL_ALLOW)
		return "allowed where a cgroup limits memory";
	if (verdict == RF_CALL_ALLOW && group->check)
		return "allowed after a look at the arguments";
	return words[verdict];
}

/* Keeps a text for as long as the rows. */
static const char *keep(struct rf_call_rows *rows, const char *text)
{
	char *copy = strdup(text);

	if (copy)
		rows->texts[rows->text_count++] = copy;
	return copy ? copy : "?";
}

/*
 * What the first profile that has something against a call makes of it: NULL if none has.  Where the
 * table refuses, a profile counts only if it kills.
 */
static const char *profile_says(struct rf_call_rows *rows, int nr, enum rf_call_verdict verdict,
				const char **ret_path)
{
	for (size_t i = 0; i < rows->ruleset_count; i++) {
		const struct rf_ruleset *ruleset = rows->rulesets[i];
		char action[40], text[80];
		uint32_t plain = SECCOMP_RET_ALLOW;
		bool is_plain = !ruleset || rf_ruleset_is_plain(ruleset, nr, &plain);

		if (!ruleset)
			continue;
		*ret_path = ruleset->path;
		if (!is_plain && verdict == RF_CALL_ALLOW)
			return "a profile looks at the arguments";
		if (!is_plain || plain == SECCOMP_RET_ALLOW)
			continue;
		if (verdict != RF_CALL_ALLOW &&
		    rf_ruleset_rank(plain) >= rf_ruleset_rank(SECCOMP_RET_ERRNO))
			continue;
		rf_ruleset_spell(plain, action, sizeof(action));
		if (plain == SECCOMP_RET_LOG)
			return "allowed, and logged for a profile";
		snprintf(text, sizeof(text), "refused by a profile (%s)", action);
		return keep(rows, text);
	}
	return NULL;
}

static int by_profile(const void *a, const void *b)
{
	const struct rf_explain_call *x = a, *y = b;
	int order = strcmp(x->why, y->why);

	if (order == 0)
		order = strcmp(x->verdict, y->verdict);
	return order ? order : strcmp(x->name, y->name);
}

/* Rows of one kind: what the table alone says, or what profiles have a say in. */
static void add_rows(struct rf_call_rows *rows, const struct rf_plan *plan, bool is_profiles)
{
	const struct rf_call_options options = rf_call_options_of(plan);

	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, &options);

		for (size_t i = 0; i < group->count; i++) {
			const char *path = NULL;
			const char *says = profile_says(rows, group->calls[i].nr, verdict, &path);

			if ((says != NULL) == is_profiles)
				rows->rows[rows->count++] = (struct rf_explain_call){
					.name = group->calls[i].name,
					.verdict = says ? says : words_of(group, verdict),
					.why = says ? path : group->why,
				};
		}
	}
}

static void add_unknown(struct rf_call_rows *rows)
{
	for (size_t i = 0; i < rows->ruleset_count; i++)
		if (rows->rulesets[i] && rows->rulesets[i]->unknown_count > 0)
			rows->rows[rows->count++] = (struct rf_explain_call){
				.name = rows->rulesets[i]->unknown,
				.verdict = "no system call, passed over",
				.why = rows->rulesets[i]->path,
			};
}

int rf_call_rows_make(const struct rf_plan *plan, struct rf_call_rows *ret_rows, struct rf_err *err)
{
	struct rf_call_rows *rows = ret_rows;
	size_t profiles = 0, calls = 0, table;

	*rows = (struct rf_call_rows){ 0 };
	while (plan->seccomp && plan->seccomp[profiles])
		profiles++;
	for (size_t g = 0; g < rf_call_group_count; g++)
		calls += rf_call_groups[g].count;
	rows->rows = calloc(calls + profiles + 1, sizeof(*rows->rows));
	rows->texts = calloc(2 * calls + 1, sizeof(*rows->texts));
	rows->rulesets = calloc(profiles + 1, sizeof(struct rf_ruleset *));
	if (!rows->rows || !rows->texts || !rows->rulesets)
		return rf_fail(err, -ENOMEM, "explain");
	for (; rows->ruleset_count < profiles; rows->ruleset_count++)
		if (rf_ruleset_load(plan->seccomp[rows->ruleset_count],
				    &rows->rulesets[rows->ruleset_count], err) < 0)
			return rf_fail_in(err, "seccomp");
	add_rows(rows, plan, false);
	table = rows->count;
	if (profiles > 0)
		add_rows(rows, plan, true);
	if (rows->count > table)
		qsort(rows->rows + table, rows->count - table, sizeof(*rows->rows), by_profile);
	add_unknown(rows);
	return 0;
}

void rf_call_rows_done(struct rf_call_rows *rows)
{
	for (size_t i = 0; i < rows->ruleset_count; i++)
		rf_ruleset_free(rows->rulesets[i]);
	for (size_t i = 0; i < rows->text_count; i++)
		free(rows->texts[i]);
	free((void *)rows->rulesets);
	free((void *)rows->texts);
	free(rows->rows);
	*rows = (struct rf_call_rows){ 0 };
}
