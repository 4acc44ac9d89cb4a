/* ringfort approval: writes of a server's boxes that wait until somebody has decided about them.  The server's clerk does the work (server/office.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/limits.h"
#include "base/pack.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/office-line.h"
#include "cli/option.h"
#include "server/approval-answer.h"
#include "server/approval-ask.h"
#include "server/form.h"

#define EXIT_NONE   1   /* no server, or it is nothing to decide about */
#define PAGE        200 /* that are asked for at a time */
#define REASON_MOST 200
#define SHOWN_MOST  (4u << 20)

struct wish {
	const char *tenant, *reason;
	bool wants_help, is_json, is_approved;
	char **words;
	int count;
};

/* ------------------------------------------------------------- what was told */

static const char *text_of(const struct rf_jsonread_value *object, const char *name)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(object, name);

	return value && value->text ? value->text : "";
}

static bool is_null(const struct rf_jsonread_value *object, const char *name)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(object, name);

	return !value || value->type == RF_JSONREAD_NULL;
}

/* Asks something that is answered with an object.  Gives `*ret_json`, to be freed. */
static int ask(struct rf_office_line *line, enum rf_clerk_question question,
	       const struct rf_buf *body, struct rf_jsonread **ret_json, struct rf_err *err)
{
	const struct rf_clerk_ask asked = { question, body->data, body->len };
	RF_AUTO_WIRE struct rf_wire_message answer = RF_WIRE_NOTHING;

	if (rf_office_line_ask(line, &asked, &answer, err) < 0)
		return err->code;
	return rf_jsonread_parse(answer.body, answer.len, ret_json, err);
}

/* Who wrote the request is in a box: so nothing of it reaches a terminal as it stands. */
static void put_url(struct rf_style style, const struct rf_jsonread_value *one, struct rf_buf *out)
{
	rf_style_printf(style, RF_STYLE_PLAIN, out, "%s %s://%s:%s%s", text_of(one, "method"),
			text_of(one, "scheme"), text_of(one, "host"), text_of(one, "port"),
			text_of(one, "path"));
}

/* ------------------------------------------------------------- ls */

struct listing {
	const struct wish *wish;
	struct rf_buf *out;
	struct rf_json *json;
	size_t count;
};

static void put_row(const struct rf_jsonread_value *one, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	const char *agent = text_of(one, "agent");

	rf_style_put(style, RF_STYLE_NAME, text_of(one, "id"), 20, out);
	rf_style_put(style, RF_STYLE_PLAIN, text_of(one, "tenant"), 16, out);
	rf_buf_puts(out, " ");
	rf_style_put(style, RF_STYLE_PLAIN, *agent ? agent : text_of(one, "sandbox"), 16, out);
	rf_buf_puts(out, " ");
	put_url(style, one, out);
	rf_style_printf(style, RF_STYLE_QUIET, out, "  %s bytes, until %s", text_of(one, "size"),
			text_of(one, "expires"));
	rf_buf_puts(out, "\n");
}

/* Gives where the next page begins, or 0: this was the last. */
static uint64_t take_page(const struct rf_jsonread_value *page, struct listing *listing)
{
	const struct rf_jsonread_value *all = rf_jsonread_member(page, "approvals");
	const char *tenant = listing->wish->tenant;

	for (const struct rf_jsonread_value *one = all ? all->first : NULL; one; one = one->next) {
		if (tenant && strcmp(text_of(one, "tenant"), tenant) != 0)
			continue;
		listing->count++;
		if (listing->json)
			rf_form_copy(one, NULL, listing->json);
		else
			put_row(one, listing->out);
	}
	return strtoull(text_of(page, "next_cursor"), NULL, 10);
}

static int list_all(struct rf_office_line *line, struct listing *listing, struct rf_err *err)
{
	struct rf_approval_ask_page page = { .limit = PAGE };

	do {
		struct rf_jsonread *json = NULL;
		RF_AUTO_BUF struct rf_buf body;

		rf_buf_init(&body, 1024);
		rf_approval_ask_put_page(&page, &body);
		if (ask(line, RF_CLERK_APPROVALS, &body, &json, err) < 0)
			return err->code;
		page.after_ns = take_page(rf_jsonread_root(json), listing);
		rf_jsonread_free(json);
	} while (page.after_ns);
	return 0;
}

static int list(struct wish *wish, struct rf_office_line *line, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	struct listing listing = { wish, &out, wish->is_json ? &json : NULL, 0 };

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&json, &out, true);
	if (wish->is_json)
		rf_json_open_array(&json, NULL);
	if (list_all(line, &listing, err) < 0)
		return err->code;
	if (wish->is_json) {
		rf_json_close_array(&json);
		rf_buf_puts(&out, "\n");
	} else if (!listing.count) {
		rf_cmd_remark("nothing waits for approval");
	}
	return rf_cmd_print(&out) ? -EIO : 0;
}

/* ------------------------------------------------------------- show */

/* Lines of a message: each of them is put as a text that steers nothing, behind a mark that no other line has. */
static void put_lines(struct rf_style style, const char *text, struct rf_buf *out)
{
	while (*text) {
		size_t len = strcspn(text, "\n"),
		       shown = len && text[len - 1] == '\r' ? len - 1 : len;
		char *line = strndup(text, shown);

		rf_style_put(style, RF_STYLE_QUIET, "  | ", 0, out);
		rf_style_put(style, RF_STYLE_PLAIN, line ? line : "", 0, out);
		rf_buf_puts(out, "\n");
		free(line);
		text += len + (text[len] == '\n');
	}
}

static void put_warning(struct rf_style style, const char *words, struct rf_buf *out)
{
	rf_buf_puts(out, "            ");
	rf_style_put(style, RF_STYLE_WARNING, words, 0, out);
	rf_buf_puts(out, "\n");
}

/* All that we say of it stands before it: what it says itself is no end of that. */
static void put_message(struct rf_style style, const struct rf_jsonread_value *one,
			struct rf_buf *out)
{
	const struct rf_jsonread_value *cut = rf_jsonread_member(one, "is_cut");

	rf_buf_puts(out, "  ");
	rf_style_put(style, RF_STYLE_QUIET, "body", 10, out);
	rf_style_printf(style, RF_STYLE_PLAIN, out, "%s bytes, SHA-256 %s",
			text_of(one, "body_size"), text_of(one, "body_sha256"));
	rf_buf_puts(out, "\n");
	if (cut && cut->type == RF_JSONREAD_TRUE)
		put_warning(style, "its beginning is shown, and not all of it", out);
	if (rf_jsonread_member(one, "body_base64"))
		put_warning(style, "it is no text, and not shown: --json has it", out);
	if (rf_jsonread_member(one, "head_base64"))
		put_warning(style, "not all of the head is text: --json has it as it is sent", out);
	rf_buf_puts(out, "\n");
	put_lines(style, text_of(one, "head"), out);
	if (*text_of(one, "body"))
		put_lines(style, "\n", out);
	put_lines(style, text_of(one, "body"), out);
}

static void put_one(const struct rf_jsonread_value *one, struct rf_buf *out)
{
	static const char *const names[] = { "state",   "tenant",  "agent", "sandbox", "asked",
					     "expires", "decided", "by",    "reason" };
	const struct rf_style style = rf_style_of(STDOUT_FILENO);

	rf_style_put(style, RF_STYLE_NAME, text_of(one, "id"), 20, out);
	put_url(style, one, out);
	rf_buf_puts(out, "\n");
	for (size_t i = 0; i < RF_LEN(names); i++) {
		if (is_null(one, names[i]))
			continue;
		rf_buf_puts(out, "  ");
		rf_style_put(style, RF_STYLE_QUIET, names[i], 10, out);
		rf_style_put(style, RF_STYLE_PLAIN, text_of(one, names[i]), 0, out);
		rf_buf_puts(out, "\n");
	}
	if (!is_null(one, "head"))
		put_message(style, one, out);
}

static int show(struct wish *wish, struct rf_office_line *line, struct rf_err *err)
{
	struct rf_jsonread *json = NULL;
	struct rf_json made;
	RF_AUTO_BUF struct rf_buf body, out;

	rf_buf_init(&body, 1024);
	rf_buf_init(&out, SHOWN_MOST);
	rf_pack_string(&body, wish->words[0]);
	if (ask(line, RF_CLERK_APPROVAL, &body, &json, err) < 0)
		return err->code;
	if (wish->is_json) {
		rf_json_init(&made, &out, true);
		rf_form_copy(rf_jsonread_root(json), NULL, &made);
		rf_buf_puts(&out, "\n");
	} else {
		put_one(rf_jsonread_root(json), &out);
	}
	rf_jsonread_free(json);
	return rf_cmd_print(&out) ? -EIO : 0;
}

/* ------------------------------------------------------------- allow, deny */

/* What it came to; of what was denied there is no answer. */
static void tell(const char *id, const struct rf_approval_answer *answer, struct rf_json *json,
		 struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);

	if (json) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "id", id);
		rf_json_string(json, "state", answer ? "approved" : "denied");
		if (answer && answer->status)
			rf_json_int(json, "status", answer->status);
		else if (answer)
			rf_json_null(json, "status");
		if (answer)
			rf_json_string(json, "refused",
				       answer->refused[0] ? answer->refused : NULL);
		rf_json_close_object(json);
		return;
	}
	rf_style_put(style, RF_STYLE_NAME, id, 20, out);
	if (!answer)
		rf_buf_puts(out, "denied\n");
	else if (answer->refused[0])
		rf_style_printf(style, RF_STYLE_BAD, out,
				"approved, and refused by the gateway: %s", answer->refused);
	else if (answer->status)
		rf_buf_printf(out, "approved, and answered with %u", answer->status);
	else
		rf_style_printf(style, RF_STYLE_WARNING, out, "approved, and not answered");
	rf_buf_puts(out, answer ? "\n" : "");
}

static int decide_one(struct rf_office_line *line, const struct wish *wish, const char *id,
		      struct rf_json *json, struct rf_buf *out, struct rf_err *err)
{
	struct rf_approval_ask_decision decision = { .is_approved = wish->is_approved };
	struct rf_clerk_ask asked = { .question = RF_CLERK_DECIDE };
	struct rf_approval_answer answer;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	/* A longer name than any has is cut to one that none has either. */
	snprintf(decision.id, sizeof(decision.id), "%.*s", RF_APPROVAL_ASK_ID - 1, id);
	snprintf(decision.reason, sizeof(decision.reason), "%s", wish->reason);
	rf_approval_ask_put_decision(&decision, &body);
	asked.body = body.data;
	asked.len = body.len;
	if (rf_office_line_ask(line, &asked, &message, err) < 0)
		return err->code;
	if (message.fd_count == 1)
		rf_approval_answer_await(&answer, message.fds[0], RF_APPROVAL_ANSWER_S * 1000u);
	tell(id, message.fd_count == 1 ? &answer : NULL, json, out);
	return 0;
}

/* Each for itself, and to people at once: what was decided is told, also where the next one can't be, or takes its time. */
static int decide(struct wish *wish, struct rf_office_line *line, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	int code = 0;

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&json, &out, true);
	if (wish->is_json)
		rf_json_open_array(&json, NULL);
	for (int i = 0; i < wish->count && code == 0; i++) {
		code = decide_one(line, wish, wish->words[i], wish->is_json ? &json : NULL, &out,
				  err);
		if (!wish->is_json && rf_cmd_print(&out) && code == 0)
			code = -EIO;
		if (!wish->is_json)
			rf_buf_clear(&out);
	}
	if (!wish->is_json)
		return code;
	rf_json_close_array(&json);
	rf_buf_puts(&out, "\n");
	return rf_cmd_print(&out) && code == 0 ? -EIO : code;
}

static int allow(struct wish *wish, struct rf_office_line *line, struct rf_err *err)
{
	wish->is_approved = true;
	return decide(wish, line, err);
}

/* ------------------------------------------------------------- the commands */

static int take_words(enum rf_cmd_id id, const struct wish *wish, struct rf_err *err)
{
	bool is_list = id == RF_CMD_APPROVAL_LS, is_one = id == RF_CMD_APPROVAL_SHOW;

	if (is_list && wish->count > 0)
		rf_fail_say(err, -EINVAL, "approval ls has no argument `%.60s`", wish->words[0]);
	else if (!is_list && wish->count == 0)
		rf_fail_say(err, -EINVAL, "which one?  `ringfort approval ls` lists them");
	else if (is_one && wish->count > 1)
		rf_fail_say(err, -EINVAL, "one at a time is shown");
	else if (strlen(wish->reason) > REASON_MOST)
		rf_fail_say(err, -EINVAL, "--reason: it has more than %d bytes", REASON_MOST);
	else
		return 0;
	return rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
}

static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) > 0) {
		if (option->id == RF_OPTION_TENANT)
			wish->tenant = value;
		else if (option->id == RF_OPTION_REASON)
			wish->reason = value;
		else if (option->id == RF_OPTION_JSON)
			wish->is_json = true;
		else
			wish->wants_help = true;
	}
	wish->words = argv + at;
	wish->count = argc - at;
	return got < 0 || wish->wants_help ? got : take_words(id, wish, err);
}

static int carry_out(struct wish *wish,
		     int (*fn)(struct wish *wish, struct rf_office_line *line, struct rf_err *err),
		     struct rf_err *err)
{
	struct rf_office_line line;
	int code = rf_office_line_open(&line, err);

	if (code == 0)
		code = fn(wish, &line, err);
	rf_office_line_close(&line);
	return code;
}

static int run(enum rf_cmd_id id,
	       int (*fn)(struct wish *wish, struct rf_office_line *line, struct rf_err *err),
	       int argc, char **argv)
{
	struct wish wish = { .reason = "" };
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(id, argc, argv, &wish, &err);

	if (code == 0 && wish.wants_help)
		rf_command_help(id, stdout);
	else if (code == 0)
		code = carry_out(&wish, fn, &err);
	if (code == 0)
		return 0;
	if (err.code == -ENOENT && strstr(err.hint, "/v1/")) /* which are other people's words */
		rf_fail_hint(&err, "`ringfort approval ls` lists those that wait");
	if (err.code)
		rf_cmd_complain(NULL, &err);
	return err.code == -ENOENT || err.code == -ECONNREFUSED || err.code == -EBUSY
		       ? EXIT_NONE
		       : RF_EXIT_FAILED;
}

int rf_cmd_approval_ls(int argc, char **argv)
{
	return run(RF_CMD_APPROVAL_LS, list, argc, argv);
}

int rf_cmd_approval_show(int argc, char **argv)
{
	return run(RF_CMD_APPROVAL_SHOW, show, argc, argv);
}

int rf_cmd_approval_allow(int argc, char **argv)
{
	return run(RF_CMD_APPROVAL_ALLOW, allow, argc, argv);
}

int rf_cmd_approval_deny(int argc, char **argv)
{
	return run(RF_CMD_APPROVAL_DENY, decide, argc, argv);
}
