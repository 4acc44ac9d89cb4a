/* A plan in words: see explain.h. */
#include "policy/explain.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "policy/key.h"

/* clang-format off */
static const struct {
	const char *word;    /* for programs */
	const char *meaning; /* for people */
} kinds[] = {
	[RF_PLACE_HOST]    = { "host",    "from the host" },
	[RF_PLACE_SYSTEM]  = { "system",  "from the host" },
	[RF_PLACE_TEXT]    = { "text",    "written" },
	[RF_PLACE_DATA]    = { "data",    "written" },
	[RF_PLACE_LINK]    = { "link",    "a link" },
	[RF_PLACE_DIR]     = { "dir",     "a folder" },
	[RF_PLACE_SCRATCH] = { "scratch", "scratch" },
	[RF_PLACE_DEVICE]  = { "device",  "a device" },
	[RF_PLACE_PROC]    = { "proc",    "processes" },
	[RF_PLACE_PTS]     = { "pts",     "terminals" },
	[RF_PLACE_MASK]    = { "mask",    "hidden" },
	[RF_PLACE_HIDE]    = { "hide",    "hidden" },
	[RF_PLACE_LOCK]    = { "lock",    "read-only" },
};
static_assert(RF_LEN(kinds) == RF_PLACE_LOCK + 1, "a row for every kind of place");

/* What becomes of a program that reaches a limit. */
static const char *const when_hit[] = {
	[RF_LIMIT_MEMORY]     = "the box is killed",
	[RF_LIMIT_CPU]        = "the box is slowed down",
	[RF_LIMIT_CPU_TIME]   = "the box is killed",
	[RF_LIMIT_TIME]       = "the box is killed",
	[RF_LIMIT_PIDS]       = "fork fails (EAGAIN)",
	[RF_LIMIT_OPEN_FILES] = "open fails (EMFILE)",
	[RF_LIMIT_FILE_SIZE]  = "write fails (EFBIG, SIGXFSZ)",
	[RF_LIMIT_DISK]       = "write fails (ENOSPC)",
	[RF_LIMIT_INODES]     = "creating a file fails (ENOSPC)",
	[RF_LIMIT_OUTPUT]     = "the box is killed, what was written is kept",
};
static_assert(RF_LEN(when_hit) == RF_LIMIT_COUNT, "a row for every limit");
/* clang-format on */

const char *rf_explain_kind(enum rf_place_kind kind)
{
	return kinds[kind].word;
}

static const char *const recorded[] = {
	[RF_RECORDED_NOT] = "no",
	[RF_RECORDED_AUTO] = "where a watcher stands",
	[RF_RECORDED_ALWAYS] = "always: without a watcher there is no run",
};

static const char *isolation_name(const struct rf_plan *plan)
{
	return plan->isolation == RF_ISOLATION_PROCESS ? "process" : "auto";
}

static const char *syscalls_name(const struct rf_plan *plan)
{
	switch (plan->syscalls) {
	case RF_SYSCALLS_FLOOR:
		return "floor";
	case RF_SYSCALLS_STRICT:
		return "strict";
	default:
		return "default";
	}
}

/* "rwx" with a hyphen for what is missing. */
static void format_rights(unsigned rights, char text[4])
{
	text[0] = rights & RF_RIGHT_READ ? 'r' : '-';
	text[1] = rights & RF_RIGHT_WRITE ? 'w' : '-';
	text[2] = rights & RF_RIGHT_EXEC ? 'x' : '-';
	text[3] = '\0';
}

static int width_of(const struct rf_plan *plan)
{
	size_t width = 0;

	for (size_t i = 0; i < plan->place_count; i++)
		if (strlen(plan->places[i].path) > width)
			width = strlen(plan->places[i].path);
	return width > 40 ? 40 : (int)width;
}

static void text_files(const struct rf_plan *plan, struct rf_buf *out)
{
	int width = width_of(plan);

	rf_buf_puts(out, "Files\n");
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *p = &plan->places[i];
		bool is_moved = p->kind == RF_PLACE_HOST && strcmp(p->path, p->source) != 0;
		char rights[4];

		format_rights(p->rights, rights);
		rf_buf_printf(out, "  %-*s  %s  %-13s  %s", width, p->path, rights,
			      kinds[p->kind].meaning, p->why);
		if (is_moved || p->kind == RF_PLACE_LINK)
			rf_buf_printf(out, " (%s %s)", is_moved ? "shows" : "to", p->source);
		rf_buf_printf(out, " [%s%s]\n", p->rule, p->is_optional ? ", if there" : "");
	}
}

static void text_programs(const struct rf_plan *plan, const struct rf_explain_calls *calls,
			  struct rf_buf *out)
{
	if (!plan->commands)
		return;
	rf_buf_puts(out, "\nPrograms\n  only these can be run; the others are hidden, and what the "
			 "box writes is never code\n");
	for (size_t i = 0; calls && i < calls->program_count; i++)
		rf_buf_printf(out, "  %-40s  %s\n", calls->programs[i].path,
			      calls->programs[i].why);
}

static void text_hidden(const struct rf_plan *plan, struct rf_buf *out)
{
	if (plan->deny_count || plan->hides_credentials)
		rf_buf_puts(out, "\nHidden, wherever a folder of the host would show it\n");
	for (size_t i = 0; i < plan->deny_count; i++)
		rf_buf_printf(out, "  %s [files.deny]\n", plan->deny[i].text);
	if (plan->hides_credentials)
		rf_buf_puts(out,
			    "  well-known credentials at the top of a shown folder: .env, .npmrc, "
			    ".ssh ... [files.credentials]\n");
}

static void text_limits(const struct rf_plan *plan, struct rf_buf *out)
{
	char value[32];

	rf_buf_puts(out, "\nLimits\n");
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		rf_limit_format((enum rf_limit)i, plan->limits[i], value, sizeof(value));
		rf_buf_printf(out, "  %-10s  %8s  %s", rf_limit_table[i].key, value,
			      rf_limit_table[i].help);
		if (plan->limits[i] != RF_LIMIT_NONE)
			rf_buf_printf(out, "; then %s", when_hit[i]);
		rf_buf_puts(out, "\n");
	}
	rf_buf_printf(out, "  %s\n",
		      plan->needs_hard
			      ? "every limit must be enforced by the kernel, or nothing runs"
			      : "a limit may be enforced by sampling where the kernel can't");
}

/* Of the breaker, then of the budgets; those that say nothing are left out. */
static void text_agent(const struct rf_plan *plan, struct rf_buf *out)
{
	char text[RF_QUOTA_BUDGETS][32], value[32];

	if (!plan->agent)
		return;
	for (int i = 0; i < RF_QUOTA_BUDGETS; i++)
		rf_limit_write(&rf_quota_table[i], plan->quotas.figures[i], text[i],
			       sizeof(text[i]));
	rf_buf_printf(out, "\nAgent\n  %s\n", plan->agent);
	if (plan->quotas.figures[RF_QUOTA_FAILURES] != RF_LIMIT_NONE)
		rf_buf_printf(out, "  breaker  opens after %s failures in a row\n",
			      text[RF_QUOTA_FAILURES]);
	if (plan->quotas.figures[RF_QUOTA_RATE] != RF_LIMIT_NONE)
		rf_buf_printf(out, "  breaker  opens when %s of the last %s failed within %s\n",
			      text[RF_QUOTA_RATE], text[RF_QUOTA_OF], text[RF_QUOTA_WITHIN]);
	rf_buf_printf(out, "  breaker  stays open for %s; a failure is %s\n",
		      plan->quotas.figures[RF_QUOTA_OPEN] == RF_LIMIT_NONE
			      ? "good, until it is reset"
			      : text[RF_QUOTA_OPEN],
		      plan->quotas.counts_failures ? "a run that did not end well"
						   : "a run that a limit ended or that was denied");
	for (int i = RF_QUOTA_BUDGETS; i < RF_QUOTA_COUNT; i++) {
		if (plan->quotas.figures[i] == RF_LIMIT_NONE)
			continue;
		rf_limit_write(&rf_quota_table[i], plan->quotas.figures[i], value, sizeof(value));
		rf_buf_printf(out, "  budget   %-17s  %8s\n", rf_quota_table[i].key, value);
	}
	rf_buf_printf(out, "  %s\n",
		      plan->needs_watch ? "a watcher must stand to keep these, or nothing runs"
					: "kept where a watcher stands");
}

static void text_alarms(const struct rf_plan *plan, struct rf_buf *out)
{
	static const char *const done[RF_REACTION_COUNT] = { "recorded", "recorded, and frozen",
							     "recorded, and killed" };
	static const char *const what[RF_ALARM_COUNT] = { "processes", "bytes" };
	char text[32];

	rf_buf_puts(out, "\nAlarms\n");
	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		if (plan->alarms.figures[i] == RF_LIMIT_NONE)
			continue;
		rf_limit_write(&rf_alarm_table[i], plan->alarms.figures[i], text, sizeof(text));
		rf_buf_printf(out, "  %-9s  %8s %s in a second: %s\n", rf_alarm_table[i].key, text,
			      what[i], done[plan->alarms.reactions[i]]);
	}
	if (plan->alarms.opens_breaker)
		rf_buf_printf(out, "  breaker    opens for %s\n", plan->agent);
	if (plan->alarms.rolls_back)
		rf_buf_puts(out, "  rollback   of its workspace, where it is killed for one\n");
	rf_buf_printf(out, "  %s\n",
		      plan->needs_watch ? "a watcher must stand to see them, or nothing runs"
					: "seen where a watcher stands");
}

static bool is_same_group(const struct rf_explain_call *a, const struct rf_explain_call *b)
{
	return strcmp(a->verdict, b->verdict) == 0 && strcmp(a->why, b->why) == 0;
}

/* Writes the names of one group, broken into lines, and gives the index behind it. */
static size_t text_group(const struct rf_explain_calls *calls, size_t at, struct rf_buf *out)
{
	const struct rf_explain_call *first = &calls->rows[at];
	size_t column = 0;

	rf_buf_printf(out, "  %s: %s\n", first->verdict, first->why);
	for (; at < calls->count && is_same_group(first, &calls->rows[at]); at++) {
		size_t len = strlen(calls->rows[at].name);

		if (column > 0 && column + 1 + len > 92) {
			rf_buf_puts(out, "\n");
			column = 0;
		}
		rf_buf_printf(out, "%s%s", column ? " " : "    ", calls->rows[at].name);
		column += (column ? 1 : 4) + len;
	}
	rf_buf_puts(out, "\n");
	return at;
}

static void text_calls(const struct rf_plan *plan, const struct rf_explain_calls *calls,
		       struct rf_buf *out)
{
	rf_buf_printf(out, "\nSystem calls\n  filter: %s\n", syscalls_name(plan));
	for (char *const *path = plan->seccomp; path && *path; path++)
		rf_buf_printf(out, "  profile: %s\n", *path);
	for (size_t at = 0; calls && at < calls->count;)
		at = text_group(calls, at, out);
}

static void text_lines(const char *title, char *const *lines, struct rf_buf *out)
{
	if (!lines || !lines[0])
		return;
	rf_buf_printf(out, "\n%s\n", title);
	for (; *lines; lines++)
		rf_buf_printf(out, "  %s\n", *lines);
}

void rf_explain_text(const struct rf_plan *plan, const struct rf_explain_calls *calls,
		     struct rf_buf *out)
{
	text_files(plan, out);
	text_programs(plan, calls, out);
	text_hidden(plan, out);
	rf_explain_net_text(plan, out);
	text_limits(plan, out);
	text_agent(plan, out);
	text_alarms(plan, out);
	text_calls(plan, calls, out);
	text_lines("Environment", plan->env, out);
	rf_buf_printf(out,
		      "\nIdentity\n"
		      "  user       %s (uid %u, gid %u), without capabilities\n"
		      "  host name  %s\n"
		      "  home       %s\n"
		      "  starts in  %s\n"
		      "  isolation  %s; a machine that lacks a wall is %s\n",
		      plan->user, plan->uid, plan->gid, plan->hostname, plan->home, plan->workdir,
		      isolation_name(plan), plan->may_be_weaker ? "accepted, and said" : "refused");
	rf_buf_printf(out, "  recorded   %s%s%s\n", recorded[plan->recorded],
		      plan->agent ? ", under the name " : "", plan->agent ? plan->agent : "");
	text_lines("Notes", plan->notes, out);
}

static void json_place(struct rf_json *json, const struct rf_place *place)
{
	char rights[4];

	format_rights(place->rights, rights);
	rf_json_open_object(json, NULL);
	rf_json_string(json, "path", place->path);
	rf_json_string(json, "kind", kinds[place->kind].word);
	rf_json_string(json, "source", place->source);
	rf_json_string(json, "rights", rights);
	rf_json_bool(json, "optional", place->is_optional);
	rf_json_string(json, "why", place->why);
	rf_json_string(json, "rule", place->rule);
	rf_json_close_object(json);
}

/* null where every program can be run. */
static void json_programs(struct rf_json *json, const struct rf_plan *plan,
			  const struct rf_explain_calls *calls)
{
	if (!plan->commands) {
		rf_json_null(json, "programs");
		return;
	}
	rf_json_open_array(json, "programs");
	for (size_t i = 0; calls && i < calls->program_count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", calls->programs[i].path);
		rf_json_string(json, "why", calls->programs[i].why);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

static void json_limits(struct rf_json *json, const struct rf_plan *plan)
{
	char text[32];

	rf_json_open_object(json, "limits");
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		rf_limit_format((enum rf_limit)i, plan->limits[i], text, sizeof(text));
		rf_json_open_object(json, rf_limit_table[i].key);
		if (plan->limits[i] == RF_LIMIT_NONE)
			rf_json_null(json, "value");
		else
			rf_json_int(json, "value", (int64_t)plan->limits[i]);
		rf_json_string(json, "text", text);
		rf_json_string(json, "when_hit", when_hit[i]);
		rf_json_close_object(json);
	}
	rf_json_string(json, "require", plan->needs_hard ? "hard" : "any");
	rf_json_close_object(json);
}

/* null where it is done for nobody. */
static void json_agent(struct rf_json *json, const struct rf_plan *plan)
{
	char text[32];

	rf_json_string(json, "agent", plan->agent);
	for (int i = 0; i < RF_QUOTA_COUNT; i++) {
		if (i == 0) {
			rf_json_open_object(json, "breaker");
			rf_json_string(json, "counts",
				       plan->quotas.counts_failures ? "failures" : "limits");
			rf_json_bool(json, "needs_watch", plan->needs_watch);
		} else if (i == RF_QUOTA_BUDGETS) {
			rf_json_close_object(json);
			rf_json_open_object(json, "budgets");
		}
		rf_limit_write(&rf_quota_table[i], plan->quotas.figures[i], text, sizeof(text));
		rf_json_string(json, rf_quota_table[i].key, text);
	}
	rf_json_close_object(json);
}

static void json_alarms(struct rf_json *json, const struct rf_plan *plan)
{
	char name[32], text[32];

	rf_json_open_object(json, "alarms");
	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		rf_limit_write(&rf_alarm_table[i], plan->alarms.figures[i], text, sizeof(text));
		rf_json_string(json, rf_alarm_table[i].key, text);
		snprintf(name, sizeof(name), "on_%s", rf_alarm_table[i].key);
		rf_json_string(json, name, rf_alarm_reaction(plan->alarms.reactions[i]));
	}
	rf_json_bool(json, "breaker", plan->alarms.opens_breaker);
	rf_json_bool(json, "rollback", plan->alarms.rolls_back);
	rf_json_close_object(json);
}

static void json_lines(struct rf_json *json, const char *name, char *const *lines)
{
	rf_json_open_array(json, name);
	for (; lines && *lines; lines++)
		rf_json_string(json, NULL, *lines);
	rf_json_close_array(json);
}

static void json_calls(struct rf_json *json, const struct rf_plan *plan,
		       const struct rf_explain_calls *calls)
{
	rf_json_open_object(json, "syscalls");
	rf_json_string(json, "filter", syscalls_name(plan));
	json_lines(json, "profiles", plan->seccomp);
	rf_json_open_array(json, "calls");
	for (size_t i = 0; calls && i < calls->count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "name", calls->rows[i].name);
		rf_json_string(json, "verdict", calls->rows[i].verdict);
		rf_json_string(json, "why", calls->rows[i].why);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_close_object(json);
}

static void json_identity(struct rf_json *json, const struct rf_plan *plan)
{
	rf_json_open_object(json, "identity");
	rf_json_string(json, "user", plan->user);
	rf_json_int(json, "uid", plan->uid);
	rf_json_int(json, "gid", plan->gid);
	rf_json_string(json, "hostname", plan->hostname);
	rf_json_string(json, "home", plan->home);
	rf_json_string(json, "workdir", plan->workdir);
	rf_json_close_object(json);
}

void rf_explain_json(const struct rf_plan *plan, const struct rf_explain_calls *calls,
		     struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "isolation", isolation_name(plan));
	rf_json_string(&json, "weaker", plan->may_be_weaker ? "allow" : "refuse");
	rf_json_string(&json, "audit", rf_key_choice_name(RF_KEY_AUDIT, (uint64_t)plan->recorded));
	rf_json_open_array(&json, "files");
	for (size_t i = 0; i < plan->place_count; i++)
		json_place(&json, &plan->places[i]);
	rf_json_close_array(&json);
	json_programs(&json, plan, calls);
	rf_json_open_array(&json, "deny");
	for (size_t i = 0; i < plan->deny_count; i++)
		rf_json_string(&json, NULL, plan->deny[i].text);
	rf_json_close_array(&json);
	rf_json_string(&json, "credentials", plan->hides_credentials ? "hide" : "show");
	rf_json_string(&json, "attributes", plan->keeps_attributes ? "keep" : "refuse");
	rf_explain_net_json(plan, &json);
	json_limits(&json, plan);
	json_agent(&json, plan);
	json_alarms(&json, plan);
	json_calls(&json, plan, calls);
	json_lines(&json, "env", plan->env);
	json_lines(&json, "argv", plan->argv);
	json_identity(&json, plan);
	json_lines(&json, "notes", plan->notes);
	rf_json_close_object(&json);
}
