/*
 * ringfort doctor: what this machine can enforce, and how to fix what it can't.
 *
 * First a table of everything that was tried, then a paragraph for each thing that is missing, then
 * a verdict in one line.  Healthy machines get the table and the verdict.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "jail/probe.h"

#define EXIT_UNWALLED 1 /* a required wall can't be raised */
#define MAX_OUTPUT    (256 * 1024)

/* ------------------------------------------------------------- the table */

struct page {
	struct rf_buf *out;
	struct rf_style style;
};

/* clang-format off */
static const struct {
	const char *text;
	enum rf_style_role role;
} marks[] = {
	[RF_PROBE_ABSENT]   = { "no",   RF_STYLE_BAD },
	[RF_PROBE_PARTIAL]  = { "part", RF_STYLE_WARNING },
	[RF_PROBE_PRESENT]  = { "ok",   RF_STYLE_GOOD },
	[RF_PROBE_UNNEEDED] = { "-",    RF_STYLE_QUIET },
};

static const char *const headings[RF_PROBE_GROUP_COUNT] = {
	[RF_PROBE_KERNEL]     = "kernel",
	[RF_PROBE_NAMESPACES] = "namespaces",
	[RF_PROBE_MOUNTS]     = "mounts",
	[RF_PROBE_WALLS]      = "walls",
	[RF_PROBE_LIMITS]     = "limits",
	[RF_PROBE_MACHINE]    = "this machine",
	[RF_PROBE_HARDENING]  = "host hardening (hints)",
};
/* clang-format on */

static bool is_lacking(const struct rf_probe_result *result)
{
	return result->state == RF_PROBE_ABSENT || result->state == RF_PROBE_PARTIAL;
}

/* What is wrong with a hint is nothing to be alarmed about. */
static enum rf_style_role role_of(const struct rf_probe_result *result)
{
	if (result->state == RF_PROBE_ABSENT && result->need != RF_PROBE_REQUIRED)
		return marks[RF_PROBE_PARTIAL].role;
	return marks[result->state].role;
}

static void put_table(const struct page *page, const struct rf_probe_report *report)
{
	int width = 0;

	for (size_t i = 0; i < report->count; i++) {
		int len = (int)strlen(report->results[i].title);

		width = len > width ? len : width;
	}
	for (size_t i = 0; i < report->count; i++) {
		const struct rf_probe_result *result = &report->results[i];

		if (i == 0 || result->group != report->results[i - 1].group) {
			rf_buf_puts(page->out, i == 0 ? "" : "\n");
			rf_style_put(page->style, RF_STYLE_HEADING, headings[result->group], 0,
				     page->out);
			rf_buf_puts(page->out, "\n");
		}
		rf_buf_puts(page->out, "  ");
		rf_style_put(page->style, role_of(result), marks[result->state].text, 6, page->out);
		if (result->detail[0])
			rf_buf_printf(page->out, "%-*s  %s\n", width, result->title,
				      result->detail);
		else
			rf_buf_printf(page->out, "%s\n", result->title);
	}
}

/* ------------------------------------------------------------- what is missing */

/*
 * The next result that has a paragraph, from `i` on; report->count past the last.  What falls only
 * because something else fell is told by that.
 */
static size_t next_told(const struct rf_probe_report *report, size_t i)
{
	while (i < report->count &&
	       (!is_lacking(&report->results[i]) || report->results[i].is_consequence))
		i++;
	return i;
}

/* Neighbours with one remedy share it. */
static void put_missing(const struct page *page, const struct rf_probe_report *report)
{
	bool begins = true;

	for (size_t i = next_told(report, 0), next; i < report->count; i = next) {
		const struct rf_probe_result *result = &report->results[i];

		next = next_told(report, i + 1);
		rf_buf_puts(page->out, begins ? "\n" : "");
		rf_style_put(page->style, role_of(result), result->title, 0, page->out);
		rf_buf_printf(page->out, " (%s)\n  ", rf_probe_need_name(result->need));
		rf_style_paragraph(result->meaning, 2, page->out);
		begins = next == report->count ||
			 strcmp(result->remedy, report->results[next].remedy) != 0;
		if (!begins || !result->remedy[0])
			continue;
		rf_buf_puts(page->out, "  fix: ");
		rf_style_paragraph(result->remedy, 7, page->out);
	}
}

/* ------------------------------------------------------------- the verdict */

static bool is_missing(const struct rf_probe_result *result)
{
	return result->need == RF_PROBE_REQUIRED && result->state == RF_PROBE_ABSENT;
}

/* True if all that is missing is what a lesser box does without. */
static bool can_be_lesser(const struct rf_probe_report *report)
{
	static const char *const others[] = { "clone3", "keyring", "userns_limit", "box" };
	bool has_lesser = false;

	for (size_t i = 0; i < report->count; i++) {
		const struct rf_probe_result *result = &report->results[i];
		bool is_spared = result->group == RF_PROBE_NAMESPACES ||
				 result->group == RF_PROBE_MOUNTS || !is_missing(result);

		for (size_t k = 0; k < RF_LEN(others); k++)
			is_spared |= strcmp(result->id, others[k]) == 0;
		if (!is_spared)
			return false;
		has_lesser |= strcmp(result->id, "lesser") == 0 && result->state != RF_PROBE_ABSENT;
	}
	return has_lesser;
}

static void put_limits(struct rf_buf *out, const struct rf_probe_report *report)
{
	bool is_first = true;

	rf_buf_puts(out, "Limits: ");
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		if (report->grades[i] == RF_GRADE_HARD)
			continue;
		rf_buf_printf(out, "%s%s %s", is_first ? "" : ", ", rf_limit_table[i].key,
			      rf_result_grade(report->grades[i]));
		is_first = false;
	}
	rf_buf_puts(out, is_first ? "all hard.\n" : "; all others hard.\n");
}

static void put_verdict(const struct page *page, const struct rf_probe_report *report)
{
	const char *who = report->is_root ? "root" : "this user";
	RF_AUTO_BUF struct rf_buf line = { 0 };
	bool is_first = true;

	rf_buf_init(&line, MAX_OUTPUT);
	rf_buf_puts(page->out, "\n");
	put_limits(page->out, report);
	if (report->missing == 0) {
		rf_buf_printf(page->out,
			      "This machine can raise every wall of a process box as %s.\n", who);
		return;
	}
	rf_buf_printf(&line, "This machine can't raise every wall of a process box as %s: ", who);
	for (size_t i = 0; i < report->count; i++) {
		const struct rf_probe_result *result = &report->results[i];

		if (!is_missing(result) || result->is_consequence)
			continue;
		rf_buf_printf(&line, "%s%s", is_first ? "" : ", ", result->title);
		is_first = false;
	}
	rf_buf_printf(&line, " missing; `--weaker allow` %s",
		      report->waivable == report->missing
			      ? "would run boxes without, and say so in each result."
		      : can_be_lesser(report)
			      ? "would run lesser boxes, which promise less (docs/lesser-box.md)."
			      : "would not help, because boxes can't be made without.");
	rf_style_put(page->style, RF_STYLE_BAD, line.data ? line.data : "", 0, page->out);
	rf_buf_puts(page->out, "\n");
}

/* ------------------------------------------------------------- JSON */

static void put_check(struct rf_json *json, const struct rf_probe_result *result)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "id", result->id);
	rf_json_string(json, "group", rf_probe_group_name(result->group));
	rf_json_string(json, "title", result->title);
	rf_json_string(json, "need", rf_probe_need_name(result->need));
	rf_json_string(json, "state", rf_probe_state_name(result->state));
	rf_json_string(json, "detail", result->detail);
	rf_json_string(json, "meaning", result->meaning);
	rf_json_string(json, "remedy", result->remedy[0] ? result->remedy : NULL);
	rf_json_close_object(json);
}

static void put_json(struct rf_buf *out, const struct rf_probe_report *report)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "version", 1);
	rf_json_string(&json, "ringfort", RF_VERSION);
	rf_json_string(&json, "as", report->is_root ? "root" : "user");
	rf_json_int(&json, "uid", report->uid);
	rf_json_bool(&json, "ok", report->missing == 0);
	rf_json_open_array(&json, "missing");
	for (size_t i = 0; i < report->count; i++)
		if (is_missing(&report->results[i]))
			rf_json_string(&json, NULL, report->results[i].id);
	rf_json_close_array(&json);
	rf_json_bool(&json, "weaker_helps",
		     report->missing > 0 && report->waivable == report->missing);
	rf_json_bool(&json, "lesser_helps", report->missing > 0 && can_be_lesser(report));
	rf_json_open_object(&json, "limits");
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		rf_json_string(&json, rf_limit_table[i].key, rf_result_grade(report->grades[i]));
	rf_json_close_object(&json);
	rf_json_open_array(&json, "checks");
	for (size_t i = 0; i < report->count; i++)
		put_check(&json, &report->results[i]);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* ------------------------------------------------------------- the command */

static int diagnose(bool is_json)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	const struct page page = { .out = &out, .style = rf_style_of(STDOUT_FILENO) };
	struct rf_probe_report report;
	struct rf_err err = RF_ERR_INIT;
	char init_path[4096];
	int code;

	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	if (rf_probe_run(init_path, &report, &err) < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	rf_buf_init(&out, MAX_OUTPUT);
	if (is_json) {
		put_json(&out, &report);
	} else {
		put_table(&page, &report);
		put_missing(&page, &report);
		put_verdict(&page, &report);
	}
	code = rf_cmd_print(&out);
	return code ? code : report.missing ? EXIT_UNWALLED : 0;
}

int rf_cmd_doctor(int argc, char **argv)
{
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	bool is_json = false;
	int at = 1, got;

	while ((got = rf_option_next(RF_CMD_DOCTOR, argc, argv, &at, &option, &value, &err)) > 0) {
		if (option->id == RF_OPTION_HELP) {
			rf_command_help(RF_CMD_DOCTOR, stdout);
			return 0;
		}
		is_json = true;
	}
	if (got == 0 && at < argc) {
		got = rf_fail_say(&err, -EINVAL, "doctor has no argument `%.60s`", argv[at]);
		rf_fail_hint(&err, "there are `--json` and `--help`");
	}
	if (got < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	return diagnose(is_json);
}
