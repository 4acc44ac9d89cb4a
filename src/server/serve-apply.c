/*
 * What has changed in a fork, brought back into the workspace that it is a fork of.
 *
 * By path, and three-way: what the fork began with is known (`base`, beside its files), so what each side has changed since is, too.  In four steps:
 *
 *     1  in a box with the fork: its files are copied aside, with a list of them (site/send.sh)
 *     2  the clerk renames that into the tree of the origin, which it knows and nobody says
 *     3  in a box with the origin, while every sandbox that has it stands still: both are compared with what the fork began with, a checkpoint is made, and what the fork
 *        has changed is moved into place (site/apply.sh)
 *     4  the clerk notes that the fork begins with what it sent from now on
 *
 * So each box has one workspace and nothing else.  Cut short in the middle of 3, the origin is half changed, and the checkpoint that was made first is the way back; before and
 * after that nothing is.  What was laid aside has the number of this apply: the clerk takes it away when it came to nothing, and what a killed front has left goes with the next one after half a day.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "policy/protected.h"
#include "server/apply-said.h"
#include "server/ask-clerk.h"
#include "server/box-site.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/site-script.h"

#define PATHS     1000 /* of each kind, that the script tells */
#define TEXT_MOST (64u << 20)
#define DROP_MS   60000

enum word {
	NUMBER, /* of this apply, 16 digits: what is laid aside for it is named by that */
	WAY, /* "fail", "fork" or "origin": whose word counts where both have changed something */
	NOW  /* the time, or "": nothing is to be changed */
};

/* Which is which, from the first step to the last; the words of the site hold the rest. */
static void put_fork(struct rf_api_call *call, struct rf_buf *body)
{
	const struct rf_box_site *site = call->extra;

	rf_buf_init(body, 256);
	rf_pack_string(body, call->workspace);
	rf_pack_string(body, site->words[NUMBER]);
}

/* ------------------------------------------------------------- the answer */

static void put_paths(struct rf_json *json, const struct rf_apply_said *said, bool wants_conflicts)
{
	/* clang-format off */
	static const struct { char kind; const char *change; } kinds[] = {
		{ 'A', "added" }, { 'M', "modified" }, { 'D', "deleted" },
	};
	/* clang-format on */
	struct rf_apply_said at = *said;
	struct rf_apply_said_path path;

	rf_json_open_array(json, wants_conflicts ? "conflicts" : "changes");
	while (rf_apply_said_next(&at, &path)) {
		if (wants_conflicts && path.kind == 'C')
			rf_json_bytes(json, NULL, path.path, strlen(path.path));
		for (size_t i = 0; !wants_conflicts && i < RF_LEN(kinds); i++) {
			if (kinds[i].kind != path.kind)
				continue;
			rf_json_open_object(json, NULL);
			rf_json_bytes(json, "path", path.path, strlen(path.path));
			rf_json_string(json, "change", kinds[i].change);
			rf_json_string(json, "protected", rf_protected_what(path.path));
			rf_json_close_object(json);
		}
	}
	rf_json_close_array(json);
}

static bool is_cut(const struct rf_apply_said *said)
{
	for (size_t i = RF_APPLY_SAID_ADDED; i < RF_APPLY_SAID_FIGURES; i++)
		if (said->figures[i] > PATHS)
			return true;
	return false;
}

static void put_done(struct rf_json *json, const struct rf_box_site *site,
		     const struct rf_apply_said *said)
{
	rf_json_string(json, "origin", site->workspace);
	rf_json_bool(json, "dry_run", !site->words[NOW][0]);
	if (said->figures[RF_APPLY_SAID_POINT])
		rf_json_int(json, "checkpoint", (int64_t)said->figures[RF_APPLY_SAID_POINT]);
	else
		rf_json_null(json, "checkpoint");
	rf_json_int(json, "added", (int64_t)said->figures[RF_APPLY_SAID_ADDED]);
	rf_json_int(json, "modified", (int64_t)said->figures[RF_APPLY_SAID_MODIFIED]);
	rf_json_int(json, "deleted", (int64_t)said->figures[RF_APPLY_SAID_DELETED]);
	put_paths(json, said, false);
}

/* An error as any other, and beside it the paths. */
static void put_refusal(struct rf_json *json, const struct rf_apply_said *said)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "%llu paths were changed in both since the fork, or can't stand beside each other",
		 (unsigned long long)said->figures[RF_APPLY_SAID_CONFLICTS]);
	rf_json_open_object(json, "error");
	rf_json_string(json, "code", rf_api_error_name(RF_API_CONFLICT));
	rf_json_string(json, "message", text);
	rf_json_string(json, "remedy",
		       "say whose word counts: `\"conflicts\": \"fork\"` or `\"origin\"`");
	rf_json_string(json, "where", "conflicts");
	rf_json_close_object(json);
}

static void put_answer(struct rf_api_call *call, const struct rf_apply_said *said, bool is_refused,
		       struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	if (is_refused)
		put_refusal(&json, said);
	else
		put_done(&json, call->extra, said);
	put_paths(&json, said, true);
	rf_json_bool(&json, "truncated", is_cut(said));
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* ------------------------------------------------------------- the steps */

static void on_gone(struct rf_api_call *call)
{
	struct rf_box_site *site = call->extra;

	rf_buf_done(&site->output);
}

/* The answer is written, and waits in the site's `output` until the fork has its new beginning. */
static void on_settled(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_box_site *site = call->extra;
	RF_AUTO_BUF struct rf_buf out = site->output;

	(void)answer; /* it is applied: what is not noted is found to be the same the next time */
	(void)why;
	call->petition = NULL;
	call->on_gone = NULL;
	site->output = (struct rf_buf){ 0 };
	rf_api_call_answer(call, 200, &out);
}

static void ignore(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	(void)data;
	(void)answer;
	(void)why;
}

/* What was sent is not wanted any more: the clerk takes it away, and nobody waits for that. */
static void drop_sent(struct rf_api_call *call)
{
	const struct rf_box_site *site = call->extra;
	struct rf_clerk_ask ask = { .question = RF_CLERK_WORKSPACE_SETTLE };
	struct rf_petition *petition = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	if (!call->workspace[0]) /* the fork is still what the site is about */
		snprintf(call->workspace, sizeof(call->workspace), "%s", site->workspace);
	put_fork(call, &body);
	rf_pack_bool(&body, false);
	ask.body = body.data;
	ask.len = body.len;
	if (call->workspace[0] &&
	    rf_petition_ask(&call->holder->clerk, call->front->loop, &ask, NULL, 0, DROP_MS, ignore,
			    NULL, &petition, &err) == 0)
		rf_petition_drop(petition);
}

static void on_applied(struct rf_api_call *call, const struct rf_buf *output)
{
	struct rf_box_site *site = call->extra;
	struct rf_apply_said said;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out, body;
	bool is_refused;

	rf_buf_init(&out, TEXT_MOST);
	put_fork(call, &body);
	rf_pack_bool(&body, true);
	if (rf_apply_said_read(output->data, output->len, &said, &err) < 0) {
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	is_refused = said.figures[RF_APPLY_SAID_CONFLICTS] && site->words[NOW][0] &&
		     strcmp(site->words[WAY], "fail") == 0;
	put_answer(call, &said, is_refused, &out);
	if (is_refused || !site->words[NOW][0]) {
		drop_sent(call);
		rf_api_call_answer(call, is_refused ? 409 : 200, &out);
		return;
	}
	site->output = out;
	out = (struct rf_buf){ 0 };
	call->on_gone = on_gone;
	rf_ask_clerk(call, RF_CLERK_WORKSPACE_SETTLE, &body, on_settled);
}

static const struct rf_box_site_deed applying = {
	rf_site_script_apply, RF_BOX_SITE_ALL, true, on_applied, true, drop_sent
};

/* What the clerk says: where it was sent. */
static void on_laid(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_pack_reader in;
	char origin[RF_TENANCY_NAME];

	call->petition = NULL;
	call->on_gone = NULL;
	if (!answer) {
		drop_sent(call);
		rf_api_call_fail_with(call, why, NULL);
		return;
	}
	rf_pack_read_init(&in, answer->body, answer->len);
	rf_pack_read_text(&in, origin, sizeof(origin));
	rf_box_site_go_on(call, &applying, origin);
}

static void on_sent(struct rf_api_call *call, const struct rf_buf *output)
{
	struct rf_box_site *site = call->extra;
	RF_AUTO_BUF struct rf_buf body;

	(void)output;
	snprintf(call->workspace, sizeof(call->workspace), "%s", site->workspace);
	put_fork(call, &body);
	call->on_gone = drop_sent;
	rf_ask_clerk(call, RF_CLERK_WORKSPACE_SEND, &body, on_laid);
}

static const struct rf_box_site_deed sending = {
	rf_site_script_send, RF_BOX_SITE_STILL, true, on_sent, true, drop_sent
};

void rf_serve_apply(struct rf_api_call *call)
{
	struct rf_box_site *site;
	struct rf_api_error error;
	uint64_t number = 0;
	time_t at = time(NULL);
	struct tm tm;

	if (rf_order_read(RF_ORDER_APPLY, call->body.len ? call->body.data : "{}",
			  call->body.len ? call->body.len : 2, true, &call->front->tools,
			  &call->order, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (getrandom(&number, sizeof(number), 0) < 0) {
		rf_exchange_abort(call->x);
		return;
	}
	site = rf_box_site_new(call, &sending);
	if (!site)
		return;
	snprintf(site->words[NUMBER], sizeof(site->words[NUMBER]), "%016llx",
		 (unsigned long long)number);
	snprintf(site->words[WAY], sizeof(site->words[WAY]), "%s", call->order.to);
	if (!call->order.is_trial)
		strftime(site->words[NOW], sizeof(site->words[NOW]), "%Y-%m-%dT%H:%M:%SZ",
			 gmtime_r(&at, &tm));
	rf_box_site_go(call);
}
