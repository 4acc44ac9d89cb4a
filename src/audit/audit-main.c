/*
 * ringfort-audit: shows, proves, exports and reports on the audit log.
 *
 * Started by `ringfort audit COMMAND`, which has read the command line and passes it on in one form: the
 * command, then "--name value" or "--name" for each option.  It reads the log and writes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/digest.h"
#include "audit/pick.h"
#include "audit/reader.h"
#include "audit/render.h"
#include "audit/report.h"
#include "audit/segment.h"
#include "audit/store.h"
#include "audit/tally.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/statedir.h"
#include "base/style.h"

#define EXIT_BAD    1   /* verify: something is wrong */
#define EXIT_FAILED 125 /* ringfort itself failed, or was asked for something wrong */
#define FOLLOW_EACH 100 /* milliseconds */
#define GATHER      (64u << 10)
#define REPORT_MAX  (256u << 20)

struct wish {
	struct rf_pick filter;
	const char *anchor, *key, *log, *format;
	uint64_t limit; /* the last so many; 0: all */
	bool is_json, is_csv, follows;
};

static int complain(const struct rf_err *err)
{
	const struct rf_style style = rf_style_of(STDERR_FILENO);
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 8192);
	rf_style_put(style, RF_STYLE_ERROR, "ringfort:", 0, &out);
	rf_buf_puts(&out, " ");
	rf_style_put(style, RF_STYLE_PLAIN, err->msg, 0, &out);
	rf_buf_puts(&out, "\n");
	if (err->hint[0]) {
		rf_style_printf(style, RF_STYLE_QUIET, &out, "  hint: %s", err->hint);
		rf_buf_puts(&out, "\n");
	}
	rf_fd_write(STDERR_FILENO, out.data, out.len);
	return EXIT_FAILED;
}

/* ------------------------------------------------------------- options */

typedef int take_fn(struct wish *wish, const char *value, struct rf_err *err);

static int take_since(struct wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_time(value, rf_store_now(), &wish->filter.since_ns, err);
}

static int take_until(struct wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_time(value, rf_store_now(), &wish->filter.until_ns, err);
}

static int take_kind(struct wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_add_kind(&wish->filter, value, err);
}

static int take_agent(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.agent = value;
	return 0;
}

static int take_box(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.box = value;
	return 0;
}

static int take_verdict(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.verdict = value;
	return 0;
}

static int take_limit(struct wish *wish, const char *value, struct rf_err *err)
{
	char *end = NULL;

	errno = 0;
	wish->limit = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || wish->limit > 1000000)
		return rf_fail_say(err, -EINVAL, "`%.40s` is not a number of events", value);
	return 0;
}

static int take_follow(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->follows = true;
	return 0;
}

static int take_json(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->is_json = true;
	return 0;
}

static int take_csv(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->is_csv = true;
	return 0;
}

static int take_anchor(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->anchor = value;
	return 0;
}

static int take_key(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->key = value;
	return 0;
}

static int take_log(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->log = value;
	return 0;
}

static int take_format(struct wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->format = value;
	return 0;
}

static int refuse_format(const char *format, const char *hint, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "there is no format `%.40s`", format);
	return rf_fail_hint(err, "%s", hint);
}

/* clang-format off */
static const struct {
	const char *name;
	bool has_value;
	take_fn *take;
} options[] = {
	{ "--since",   true,  take_since },
	{ "--until",   true,  take_until },
	{ "--kind",    true,  take_kind },
	{ "--agent",   true,  take_agent },
	{ "--box",     true,  take_box },
	{ "--verdict", true,  take_verdict },
	{ "--last",    true,  take_limit },
	{ "--follow",  false, take_follow },
	{ "--json",    false, take_json },
	{ "--csv",     false, take_csv },
	{ "--anchor",  true,  take_anchor },
	{ "--key",     true,  take_key },
	{ "--log",     true,  take_log },
	{ "--format",  true,  take_format },
};
/* clang-format on */

static int read_line(int argc, char **argv, struct wish *wish, struct rf_err *err)
{
	for (int i = 2; i < argc; i++) {
		size_t row = 0;

		while (row < RF_LEN(options) && strcmp(options[row].name, argv[i]) != 0)
			row++;
		if (row == RF_LEN(options) || (options[row].has_value && i + 1 == argc)) {
			rf_fail_say(err, -EINVAL, "what is `%.60s`?", argv[i]);
			return rf_fail_hint(err, "start it with `ringfort audit`");
		}
		if (options[row].take(wish, options[row].has_value ? argv[++i] : NULL, err) < 0)
			return err->code;
	}
	return 0;
}

/* The log's folder: this user's, or the one that was named. */
static int open_log(const struct wish *wish, struct rf_err *err)
{
	int dir = wish->log ? open(wish->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			    : rf_statedir_open_in(RF_SEGMENT_FOLDER, false);

	if (dir >= 0)
		return dir;
	if (wish->log)
		return rf_fail(err, -errno, "open %s", wish->log);
	if (dir != -ENOENT)
		return rf_fail(err, dir, "open your audit log");
	rf_fail_say(err, dir, "you have no audit log");
	return rf_fail_hint(err, "`ringfort watch &` begins one");
}

/* ------------------------------------------------------------- show and export */

struct shown {
	const struct wish *wish;
	const char *chain;
	struct rf_style style;
	struct rf_buf out;
};

static void render(struct shown *shown, const struct rf_audit_event *event)
{
	const struct wish *wish = shown->wish;

	if (wish->format && strcmp(wish->format, "ocsf") == 0)
		rf_render_ocsf(event, shown->chain, &shown->out);
	else if (wish->format || wish->is_json)
		rf_render_json(event, &shown->out);
	else if (wish->is_csv)
		rf_render_csv(event, &shown->out);
	else
		rf_render_row(shown->style, event, &shown->out);
}

/* Writes what was gathered.  1: who read it is gone. */
static int flush(struct shown *shown, struct rf_err *err)
{
	int code = shown->out.has_failed ? -ENOMEM : 0;

	if (code == 0 && shown->out.len > 0)
		code = rf_fd_write(STDOUT_FILENO, shown->out.data, shown->out.len);
	rf_buf_clear(&shown->out);
	if (code == -EPIPE)
		return 1;
	return code < 0 ? rf_fail(err, code, "write to standard output") : 0;
}

/* How many events are to be passed over, so that only the last ones are left. */
static int count_before(int dir, const struct wish *wish, uint64_t *ret_skip, struct rf_err *err)
{
	struct rf_audit_event event;
	struct rf_reader reader;
	uint64_t count = 0;
	int code;

	rf_reader_init(&reader, dir);
	while ((code = rf_reader_next(&reader, &event, err)) > 0)
		count += rf_pick_takes(&wish->filter, &event);
	rf_reader_done(&reader);
	*ret_skip = count > wish->limit ? count - wish->limit : 0;
	return code;
}

static int pass_on(struct shown *shown, int dir, uint64_t skip, struct rf_err *err)
{
	const struct timespec pause = { .tv_nsec = FOLLOW_EACH * 1000000L };
	struct rf_reader reader;
	int code;

	rf_reader_init(&reader, dir);
	for (;;) {
		struct rf_audit_event event;

		code = rf_reader_next(&reader, &event, err);
		if (code < 0)
			break;
		if (code > 0 && rf_pick_takes(&shown->wish->filter, &event)) {
			if (skip > 0)
				skip--;
			else
				render(shown, &event);
		}
		if (code == 0 || shown->out.len > GATHER) {
			int done = flush(shown, err);

			if (done != 0 || (code == 0 && !shown->wish->follows)) {
				code = done < 0 ? done : 0;
				break;
			}
		}
		if (code == 0)
			nanosleep(&pause, NULL);
	}
	rf_reader_done(&reader);
	return code;
}

/* The name of the log's chain, in hexadecimal digits. */
static void name_chain(int dir, char hex[RF_DIGEST_HEX])
{
	struct rf_segment segment = { 0 };
	struct rf_frame_segment says = { 0 };
	struct rf_frame frame;
	struct rf_err err;
	uint64_t *numbers = NULL;
	size_t count = 0;

	if (rf_segment_list(dir, &numbers, &count, &err) == 0 && count > 0 &&
	    rf_segment_map(dir, numbers[0], &segment, &err) == 0 &&
	    rf_frame_parse(segment.data, segment.len, &frame) == RF_FRAME_WHOLE)
		rf_frame_segment(&frame, &says);
	rf_segment_done(&segment);
	free(numbers);
	rf_digest_hex(says.chain, RF_AUDIT_HASH, hex);
}

static int show(const struct wish *wish, struct rf_err *err)
{
	char chain[RF_DIGEST_HEX] = "";
	struct shown shown = { .wish = wish, .chain = chain };
	RF_AUTO_FD int dir = open_log(wish, err);
	uint64_t skip = 0;
	int code;

	if (dir < 0)
		return dir;
	if (wish->is_json && wish->is_csv)
		return rf_fail_say(err, -EINVAL, "--json or --csv, not both");
	name_chain(dir, chain);
	shown.style = rf_style_of(STDOUT_FILENO);
	rf_buf_init(&shown.out, 16u << 20);
	if (wish->is_csv)
		rf_render_csv_heading(&shown.out);
	else if (!wish->is_json && !wish->format)
		rf_render_heading(shown.style, &shown.out);
	code = wish->limit ? count_before(dir, wish, &skip, err) : 0;
	if (code == 0)
		code = pass_on(&shown, dir, skip, err);
	rf_buf_done(&shown.out);
	return code;
}

static int export(const struct wish *wish, struct rf_err *err)
{
	struct wish whole = *wish;

	if (!whole.format)
		whole.format = "jsonl";
	if (strcmp(whole.format, "jsonl") != 0 && strcmp(whole.format, "ocsf") != 0)
		return refuse_format(whole.format, "jsonl or ocsf", err);
	return show(&whole, err);
}

/* ------------------------------------------------------------- verify */

static void say_good(const struct rf_verify *verify, struct rf_buf *out)
{
	rf_buf_printf(out,
		      "good: %" PRIu64 " records in %" PRIu64 " files, %" PRIu64 " events, %" PRIu64
		      " signatures\n",
		      verify->records, verify->files, verify->events, verify->signatures);
	if (verify->is_retired)
		rf_buf_printf(out,
			      "  it begins with record %" PRIu64
			      ": older files went by the rules, and the log says so\n",
			      verify->first_seq);
	if (verify->has_anchor)
		rf_buf_printf(out,
			      "  the anchor answers for it up to record %" PRIu64 " of %" PRIu64
			      "\n",
			      verify->anchored_seq, verify->last_seq);
	else
		rf_buf_puts(out, "  no anchor: that its end was not cut off can't be proved (see "
				 "--anchor)\n");
	if (verify->unfinished)
		rf_buf_printf(out,
			      "  the last record is not finished (%" PRIu64
			      " bytes): it is being written, or something crashed\n",
			      verify->unfinished);
	else if (!verify->is_closed)
		rf_buf_puts(out,
			    "  it was not closed: a watcher writes it, or something crashed\n");
	if (verify->last_seq > verify->signed_seq + 1)
		rf_buf_printf(out, "  the last %" PRIu64 " records are not signed yet\n",
			      verify->last_seq - verify->signed_seq);
}

static void say_json(const struct rf_verify *verify, struct rf_buf *out)
{
	char hex[RF_DIGEST_HEX];
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_bool(&json, "good", verify->is_good);
	rf_json_string(&json, "problem", verify->is_good ? NULL : verify->what);
	if (verify->bad_seq)
		rf_json_int(&json, "first_bad_record", (int64_t)verify->bad_seq);
	else
		rf_json_null(&json, "first_bad_record");
	rf_json_int(&json, "files", (int64_t)verify->files);
	rf_json_int(&json, "records", (int64_t)verify->records);
	rf_json_int(&json, "events", (int64_t)verify->events);
	rf_json_int(&json, "signatures", (int64_t)verify->signatures);
	rf_json_int(&json, "bytes", (int64_t)verify->bytes);
	rf_json_int(&json, "first_record", (int64_t)verify->first_seq);
	rf_json_int(&json, "last_record", (int64_t)verify->last_seq);
	rf_json_int(&json, "signed_record", (int64_t)verify->signed_seq);
	rf_json_bool(&json, "closed", verify->is_closed);
	rf_json_int(&json, "unfinished_bytes", (int64_t)verify->unfinished);
	rf_json_bool(&json, "truncation_provable", verify->has_anchor);
	rf_json_int(&json, "anchored_record", (int64_t)verify->anchored_seq);
	rf_digest_hex(verify->chain, RF_AUDIT_HASH, hex);
	rf_json_string(&json, "chain", hex);
	rf_digest_hex(verify->head, RF_AUDIT_HASH, hex);
	rf_json_string(&json, "head", hex);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static int verify(const struct wish *wish, struct rf_err *err)
{
	RF_AUTO_FD int dir = open_log(wish, err);
	RF_AUTO_BUF struct rf_buf out;
	struct rf_verify_options how = { .dir = dir, .anchor = wish->anchor };
	struct rf_verify found = { 0 };
	uint8_t key[RF_FRAME_KEY];
	int code;

	rf_buf_init(&out, (size_t)64 * 1024);
	if (dir < 0)
		return dir;
	if (wish->key) {
		if (strlen(wish->key) != sizeof(key) * 2 ||
		    !rf_digest_unhex(wish->key, key, sizeof(key)))
			return rf_fail_say(err, -EINVAL, "--key: not a public key of 64 digits");
		how.key = key;
	}
	if (rf_verify_log(&how, &found, err) < 0)
		return err->code;
	if (wish->is_json)
		say_json(&found, &out);
	else if (found.is_good)
		say_good(&found, &out);
	else
		rf_buf_printf(&out, "BAD: %s\n", found.what);
	if (found.forged && !wish->is_json)
		rf_buf_printf(&out,
			      "  %" PRIu64
			      " lines of the anchor have no good signature, and say nothing\n",
			      found.forged);
	code = rf_fd_write(STDOUT_FILENO, out.data, out.len);
	if (code < 0)
		return rf_fail(err, code, "write to standard output");
	return found.is_good ? 0 : EXIT_BAD;
}

/* ------------------------------------------------------------- report */

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

static int write_report(const struct wish *wish, int dir, const struct rf_verify *found,
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

static int report(const struct wish *wish, struct rf_err *err)
{
	const char *format = wish->format ? wish->format : wish->is_json ? "json" : "text";
	RF_AUTO_FD int dir = open_log(wish, err);
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
		return refuse_format(format, "text, html, json or policy", err);
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
	return code < 0 ? code : found.is_good ? 0 : EXIT_BAD;
}

/* ------------------------------------------------------------- the whole */

static const struct {
	const char *name;
	int (*run)(const struct wish *wish, struct rf_err *err); /* an exit code, or negative */
} commands[] = {
	{ "show", show },
	{ "verify", verify },
	{ "export", export },
	{ "report", report },
};

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	struct wish wish = { 0 };
	int code;

	for (size_t i = 0; argc > 1 && i < RF_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			code = read_line(argc, argv, &wish, &err);
			if (code == 0)
				code = commands[i].run(&wish, &err);
			return code < 0 ? complain(&err) : code;
		}
	rf_fail_say(&err, -EINVAL, "ringfort-audit is started by `ringfort audit`");
	return complain(&err);
}
