/* ringfort agent: agents, each with a policy and a workspace of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/request.h"
#include "cli/worksite.h"
#include "workspace/agent.h"
#include "workspace/sweep.h"
#include "workspace/visit.h"

/* ------------------------------------------------------------- what is known of one */

/* What its runs have come to, as far as their points say. */
struct tally {
	const struct rf_point *last; /* or NULL */
	uint64_t changes, bytes;
};

static void count_points(const struct rf_ledger *ledger, struct tally *ret_tally)
{
	*ret_tally = (struct tally){ 0 };
	for (size_t i = 0; i < ledger->count; i++) {
		ret_tally->last = &ledger->points[i];
		ret_tally->changes += ledger->points[i].changes;
		ret_tally->bytes += ledger->points[i].bytes;
	}
}

static void put_time(struct rf_json *json, const char *name, int64_t seconds)
{
	char text[32];
	time_t at = (time_t)seconds;
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	rf_json_string(json, name, text);
}

static void put_history(struct rf_json *json, const struct rf_ledger *ledger)
{
	rf_json_open_array(json, "history");
	for (size_t i = 0; i < ledger->count; i++) {
		const struct rf_point *point = &ledger->points[i];

		rf_json_open_object(json, NULL);
		rf_json_int(json, "point", point->id);
		rf_json_int(json, "parent", point->parent);
		rf_json_string(json, "name", point->name[0] ? point->name : NULL);
		put_time(json, "time", point->time);
		rf_json_string(json, "command", point->command);
		rf_json_string(json, "status", point->status);
		rf_json_int(json, "changes", (int64_t)point->changes);
		rf_json_int(json, "bytes", (int64_t)point->bytes);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

/* One whose workspace is gone is told as such. */
static void format_agent(struct rf_json *json, const char *id, bool is_whole)
{
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_ledger ledger;
	struct rf_err err = RF_ERR_INIT;
	bool is_there = rf_workspace_peek(id, &ledger, &err) == 0;
	struct tally tally;

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	count_points(&ledger, &tally);
	rf_json_open_object(json, NULL);
	rf_json_string(json, "id", id);
	rf_json_string(json, "workspace", is_there ? id : NULL);
	rf_json_string(json, "directory", is_there ? ledger.base : NULL);
	if (is_there)
		put_time(json, "created", ledger.time);
	else
		rf_json_null(json, "created");
	rf_json_int(json, "head", ledger.head);
	rf_json_int(json, "points", (int64_t)ledger.count);
	rf_json_int(json, "changes", (int64_t)tally.changes);
	if (is_whole) {
		put_history(json, &ledger);
		rf_json_string(json, "policy",
			       rf_agent_read(id, &policy, &err) == 0 ? policy.data : NULL);
	}
	rf_json_close_object(json);
	rf_ledger_done(&ledger);
}

static void put_agent(const char *id, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	struct rf_ledger ledger;
	struct rf_err err = RF_ERR_INIT;
	struct tally tally;

	rf_style_put(style, RF_STYLE_NAME, id, 20, out);
	if (rf_workspace_peek(id, &ledger, &err) < 0) {
		rf_buf_puts(out, " its workspace is gone\n");
		rf_ledger_done(&ledger);
		return;
	}
	count_points(&ledger, &tally);
	rf_buf_printf(out, " @%-5u %4zu points  %-8s ", ledger.head, ledger.count,
		      tally.last ? tally.last->status : "");
	rf_style_put(style, RF_STYLE_PLAIN, ledger.base, 0, out);
	rf_buf_puts(out, "\n");
	rf_ledger_done(&ledger);
}

/* ------------------------------------------------------------- ls, show */

struct listing {
	struct rf_json *json; /* or NULL */
	struct rf_buf *out;
};

static int list_one(void *data, const char *id)
{
	const struct listing *listing = data;

	if (listing->json)
		format_agent(listing->json, id, false);
	else
		put_agent(id, listing->out);
	return 0;
}

static int list(const struct rf_worksite *site, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	struct listing listing = { site->is_json ? &json : NULL, &out };

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&json, &out, true);
	if (site->is_json)
		rf_json_open_array(&json, NULL);
	if (rf_agent_each(list_one, &listing, err) < 0)
		return err->code;
	if (site->is_json) {
		rf_json_close_array(&json);
		rf_buf_puts(&out, "\n");
	}
	return rf_cmd_print(&out) ? -EIO : 0;
}

static int print_agent(const char *id, bool is_json, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_json json;

	rf_buf_init(&out, RF_MAX_JSON);
	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	if (rf_agent_read(id, &policy, err) < 0)
		return err->code;
	if (is_json) {
		rf_json_init(&json, &out, true);
		format_agent(&json, id, true);
		rf_buf_puts(&out, "\n");
	} else {
		put_agent(id, &out);
		rf_buf_printf(&out, "\n%s", policy.data ? policy.data : "");
	}
	return rf_cmd_print(&out) ? -EIO : 0;
}

static int show(const struct rf_worksite *site, struct rf_err *err)
{
	if (site->count == 0) {
		rf_fail_say(err, -EINVAL, "which agent shall be shown?");
		return rf_fail_hint(err, "`ringfort agent ls` lists them");
	}
	return print_agent(site->words[0], site->is_json, err);
}

/* ------------------------------------------------------------- create, rm */

/* What a plan was made for can be made again: the workspace is checked, and so is every rule. */
static int make_agent(const struct rf_request *request, const char *id, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_workspace workspace;
	struct rf_err ignored;

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	if (rf_policy_line(request->policy, "agent", NULL, NULL) >= 0) {
		rf_fail_say(err, -EINVAL,
			    "the policy names an agent, and this one is called `%.60s`", id);
		return rf_fail_hint(err, "leave out `agent`: its id is what its runs go by");
	}
	rf_policy_format(request->policy, &policy);
	if (rf_workspace_make(id, request->visit->base, false, &workspace, err) < 0)
		return err->code;
	if (rf_agent_make(id, &policy, err) < 0) {
		if (rf_workspace_remove(&workspace, &ignored) < 0)
			rf_workspace_close(&workspace);
		return err->code;
	}
	rf_worksite_tell_scan(&workspace.scan, request->visit->base);
	rf_workspace_close(&workspace);
	return 0;
}

static int create(const struct rf_request *request, const char *first, struct rf_err *err)
{
	const char *id = first ? first : request->argv[0];
	char *const *rest = request->argv + (first || !id ? 0 : 1);

	if (!id) {
		rf_fail_say(err, -EINVAL, "an agent needs a name");
		return rf_fail_hint(err,
				    "for example: ringfort agent create fixer --policy agent.yaml");
	}
	if (rest[0]) {
		rf_fail_say(err, -EINVAL, "agent create has no argument `%.60s`", rest[0]);
		return rf_fail_hint(err, "see `ringfort agent create --help`");
	}
	if (rf_agent_exists(id)) {
		rf_fail_say(err, -EEXIST, "there is an agent `%s` already", id);
		return rf_fail_hint(
			err, "`ringfort agent rm %s` removes it; or choose another name", id);
	}
	if (make_agent(request, id, err) < 0)
		return err->code;
	if (request->is_json)
		return print_agent(id, true, err);
	rf_cmd_remark("agent %s works on %s; `ringfort agent run %s -- PROGRAM` runs for it", id,
		      request->visit->base, id);
	return 0;
}

/* The workspace goes first: what is left of one that was killed can be removed again. */
static int remove_one(const char *id, struct rf_err *err)
{
	struct rf_workspace workspace;
	int code;

	if (!rf_agent_exists(id))
		return rf_agent_remove(id, err);
	code = rf_workspace_open(id, &workspace, err);
	if (code < 0 && code != -ENOENT)
		return code;
	if (code == 0 && rf_workspace_remove(&workspace, err) < 0) {
		rf_workspace_close(&workspace);
		return err->code;
	}
	*err = RF_ERR_INIT;
	return rf_agent_remove(id, err);
}

static int remove_it(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_swept swept;

	if (site->count == 0) {
		rf_fail_say(err, -EINVAL, "which agent shall be removed?");
		return rf_fail_hint(err, "`ringfort agent ls` lists them");
	}
	for (int i = 0; i < site->count; i++)
		if (remove_one(site->words[i], err) < 0)
			return err->code;
	return rf_sweep(false, &swept, err);
}

/* ------------------------------------------------------------- the commands */

/* Its name may stand before its options, too. */
int rf_cmd_agent_create(int argc, char **argv)
{
	const char *first = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = rf_request_read(RF_CMD_AGENT_CREATE, argc - (first ? 1 : 0),
				   argv + (first ? 1 : 0), false, &request, &err);

	if (code == 0 && request.wants_help)
		rf_command_help(RF_CMD_AGENT_CREATE, stdout);
	else if (code == 0)
		code = create(&request, first, &err);
	if (code < 0 && err.code)
		rf_cmd_complain(request.file, &err);
	rf_request_done(&request);
	return code < 0 ? RF_EXIT_FAILED : 0;
}

int rf_cmd_agent_ls(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_AGENT_LS, 0, list, argc, argv);
}

int rf_cmd_agent_show(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_AGENT_SHOW, 1, show, argc, argv);
}

int rf_cmd_agent_rm(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_AGENT_RM, RF_WORKSITE_WORDS, remove_it, argc, argv);
}

int rf_cmd_agent_run(int argc, char **argv)
{
	return rf_cmd_run_as(RF_CMD_AGENT_RUN, argc, argv);
}
