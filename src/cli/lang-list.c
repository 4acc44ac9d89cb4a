/* The list of languages: see lang-list.h. */
#include "cli/lang-list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/toolchain.h"
#include "jail/run.h"

#define MAX_OUTPUT  (1024 * 1024)
#define MAX_VERSION 80 /* bytes of a version that are shown */

/* One language as it was found. */
struct row {
	const struct rf_lang *lang;
	bool is_there;
	struct rf_toolchain toolchain;
	struct rf_err missing; /* why it is not there */
	char version[MAX_VERSION];
};

/* ------------------------------------------------------------- the version */

/* The first line that says something, of standard output or else of standard error. */
static void take_version(const struct rf_result *result, struct row *row)
{
	for (size_t i = 0; i < RF_LEN(result->output); i++) {
		const char *text = result->output[i].data;
		size_t len;

		if (!text)
			continue;
		text += strspn(text, " \t\r\n");
		len = strcspn(text, "\r\n");
		if (len == 0)
			continue;
		len = len < sizeof(row->version) ? len : sizeof(row->version) - 1;
		memcpy(row->version, text, len);
		row->version[len] = '\0';
		return;
	}
}

static int make_policy(struct rf_policy *policy, struct rf_err *err)
{
	/* clang-format off */
	static const struct { const char *key, *value; } rules[] = {
		{ "limits.time", "10s" }, { "limits.memory", "1G" }, { "limits.output", "64K" },
		{ "files.current", "none" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(rules); i++)
		if (rf_policy_set(policy, rules[i].key, rules[i].value, NULL, NULL, err) < 0)
			return err->code;
	return 0;
}

/* The program and its arguments for telling the version. */
static char **version_argv(struct row *row)
{
	const char *const *words = row->lang->version;
	size_t count = 0;
	char **argv;

	while (words[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	for (size_t i = 0; argv && i < count; i++)
		argv[i + 1] = (char *)(uintptr_t)words[i];
	if (argv)
		argv[0] = row->toolchain.program;
	return argv;
}

/* Asks the program in a box of its own.  Whatever goes wrong leaves the version unknown. */
static void ask(struct row *row, const struct rf_request *request, const char *init_path)
{
	struct rf_place shown = { .kind = RF_PLACE_HOST,
				  .path = row->toolchain.shown,
				  .source = row->toolchain.shown,
				  .why = "what runs the language",
				  .rule = "lang" };
	struct rf_facts facts = { .uid = geteuid(),
				  .gid = getegid(),
				  .home = request->home,
				  .env = environ,
				  .extras = &shown,
				  .extra_count = row->toolchain.shown[0] ? 1 : 0 };
	const struct rf_run_options options = { .init_path = init_path,
						.is_captured = true,
						.warden = -1 };
	struct rf_policy *policy = rf_policy_new_empty();
	char **argv = version_argv(row);
	struct rf_plan *plan = NULL;
	struct rf_result result;
	struct rf_err err;

	facts.argv = argv;
	if (policy && argv && make_policy(policy, &err) == 0 &&
	    rf_plan_make(policy, &facts, &plan, &err) == 0) {
		rf_result_init(&result, plan);
		rf_run(plan, &options, &result);
		if (result.status == RF_STATUS_OK || result.status == RF_STATUS_FAILED)
			take_version(&result, row);
		rf_result_done(&result);
	}
	rf_plan_free(plan);
	rf_policy_free(policy);
	free(argv);
}

/* ------------------------------------------------------------- the list */

static void put_words(struct rf_json *json, const char *name, const char *const *words)
{
	rf_json_open_array(json, name);
	for (; *words; words++)
		rf_json_string(json, NULL, *words);
	rf_json_close_array(json);
}

static void put_json(const struct row *rows, size_t count, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "version", 1);
	rf_json_open_array(&json, "languages");
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];

		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "name", row->lang->name);
		put_words(&json, "aliases", row->lang->aliases);
		put_words(&json, "extensions", row->lang->extensions);
		rf_json_bool(&json, "compiled", row->lang->build != NULL);
		rf_json_bool(&json, "installed", row->is_there);
		rf_json_string(&json, "program", row->is_there ? row->toolchain.program : NULL);
		rf_json_string(&json, "shown",
			       row->toolchain.shown[0] ? row->toolchain.shown : NULL);
		rf_json_string(&json, "version", row->version[0] ? row->version : NULL);
		rf_json_string(&json, "package", row->lang->package);
		rf_json_string(&json, "problem", row->is_there ? NULL : row->missing.msg);
		rf_json_string(&json, "from", row->lang->is_own ? "configuration" : "built-in");
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static int longest(const struct row *rows, size_t count, bool is_program)
{
	size_t most = 8;

	for (size_t i = 0; i < count; i++) {
		const char *text = is_program ? rows[i].toolchain.program : rows[i].lang->name;
		size_t len = strlen(text);

		most = len > most && (!is_program || len < 40) ? len : most;
	}
	return (int)most;
}

static void put_text(const struct row *rows, size_t count, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	int names = longest(rows, count, false) + 2, programs = longest(rows, count, true) + 2;

	rf_style_put(style, RF_STYLE_HEADING, "language", names, out);
	rf_style_put(style, RF_STYLE_HEADING, "program", programs, out);
	rf_style_put(style, RF_STYLE_HEADING, "version", 0, out);
	rf_buf_puts(out, "\n");
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];

		rf_style_put(style, RF_STYLE_NAME, row->lang->name, names, out);
		if (row->is_there) {
			rf_style_put(style, RF_STYLE_PLAIN, row->toolchain.program,
				     row->version[0] ? programs - 2 : 0, out);
			if (row->version[0])
				rf_style_printf(style, RF_STYLE_PLAIN, out, "  %s", row->version);
		} else {
			rf_style_put(style, RF_STYLE_QUIET, "-", programs, out);
			rf_style_printf(style, RF_STYLE_QUIET, out, "not installed%s%s",
					row->lang->package ? ": apt install " : "",
					row->lang->package ? row->lang->package : "");
		}
		rf_buf_puts(out, "\n");
	}
}

/* Standard input is not for the programs that are asked. */
static void leave_stdin(void)
{
	RF_AUTO_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
}

int rf_lang_list_print(const struct rf_request *request)
{
	const struct rf_langs langs = { request->config.langs, request->config.lang_count };
	const struct rf_toolchain_caller caller = { getenv("PATH"), request->home };
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct row *rows;
	size_t count = 0;
	char init_path[4096];
	int code;

	while (rf_lang_at(&langs, count))
		count++;
	rows = calloc(count + 1, sizeof(*rows));
	rf_buf_init(&out, rows ? MAX_OUTPUT : 0);
	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	leave_stdin();
	for (size_t i = 0; rows && i < count; i++) {
		struct row *row = &rows[i];

		row->lang = rf_lang_at(&langs, i);
		row->is_there =
			rf_toolchain_find(row->lang, &caller, &row->toolchain, &row->missing) == 0;
		if (row->is_there && row->lang->version[0])
			ask(row, request, init_path);
	}
	if (rows && request->is_json)
		put_json(rows, count, &out);
	else if (rows)
		put_text(rows, count, &out);
	else
		rf_buf_puts(&out, "\n"); /* more than it may hold: printing tells of it */
	code = rf_cmd_print(&out);
	free(rows);
	return code;
}
