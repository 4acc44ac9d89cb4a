/* ringfort audit report: proves the log, counts all of it, and writes what it came to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit-wish.h"
#include "audit/reader.h"
#include "audit/report.h"
#include "audit/store.h"
#include "audit/tally.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/style.h"

#define REPORT_MAX (256u << 20)

static int put_text(const struct rf_report *report, struct rf_buf *out, struct rf_err *err)
{
	(void)err;
	rf_report_text(report, rf_style_of(STDOUT_FILENO), out);
	return 0;
}

static int put_html(const struct rf_report *report, struct rf_buf *out, struct rf_err *err)
{
	(void)err;
	rf_report_html(report, out);
	return 0;
}

static int put_json(const struct rf_report *report, struct rf_buf *out, struct rf_err *err)
{
	(void)err;
	rf_report_json(report, out);
	return 0;
}

static const struct {
	const char *name;
	int (*put)(const struct rf_report *report, struct rf_buf *out, struct rf_err *err);
} forms[] = {
	{ "text", put_text },
	{ "html", put_html },
	{ "json", put_json },
	{ "policy", rf_report_policy },
};

/* Counts all of the log: what came before the period says which policies and runs there are. */
static int count_all(int dir, struct rf_tally *tally, struct rf_err *err)
{
	struct rf_audit_event event;
	struct rf_reader reader;
	int code;

	rf_reader_init(&reader, dir);
	while ((code = rf_reader_next(&reader, &event, err)) > 0)
		rf_tally_add(tally, &event);
	rf_reader_done(&reader);
	return code < 0 ? code : rf_tally_end(tally, err);
}

static int write_report(const struct rf_audit_wish *wish, int dir, const struct rf_verify *found,
			const struct rf_tally *tally, size_t form, struct rf_err *err)
{
	char link[32], path[4096] = "";
	const struct rf_report filled = {
		.tally = tally,
		.log = path,
		.made_ns = rf_store_now(),
		.is_good = found->is_good,
		.has_anchor = found->has_anchor,
		.problem = found->is_good ? "" : found->what,
		.records = found->records,
	};
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, REPORT_MAX);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		snprintf(path, sizeof(path), "%s", wish->log ? wish->log : "?");
	if (forms[form].put(&filled, &out, err) < 0)
		return err->code;
	code = out.has_failed ? -ENOMEM : rf_fd_write(STDOUT_FILENO, out.data, out.len);
	if (code == -EPIPE)
		return 0;
	return code < 0 ? rf_fail(err, code, "write the report") : 0;
}

int rf_audit_report(const struct rf_audit_wish *wish, struct rf_err *err)
{
	const char *format = wish->format ? wish->format : wish->is_json ? "json" : "text";
	RF_AUTO_FD int dir = rf_audit_wish_open(wish, err);
	struct rf_verify_options how = { .dir = dir };
	struct rf_verify found = { 0 };
	struct rf_tally tally;
	size_t form = 0;
	int code;

	if (dir < 0)
		return dir;
	while (form < RF_LEN(forms) && strcmp(forms[form].name, format) != 0)
		form++;
	if (form == RF_LEN(forms))
		return rf_audit_wish_refuse_format(format, "text, html, json or policy", err);
	if (wish->is_json && strcmp(format, "json") != 0)
		return rf_fail_say(err, -EINVAL, "--json or --format %s, not both", format);
	if (rf_verify_log(&how, &found, err) < 0 || rf_tally_init(&tally, &wish->filter, err) < 0)
		return err->code;
	code = count_all(dir, &tally, err);
	if (code == -EBADMSG && !found.is_good) /* as far as it can be read, and it says so */
		code = rf_tally_end(&tally, err);
	if (code == 0)
		code = write_report(wish, dir, &found, &tally, form, err);
	rf_tally_done(&tally);
	return code < 0 ? code : found.is_good ? 0 : RF_AUDIT_WISH_BAD;
}
