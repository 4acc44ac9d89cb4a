/* ringfort help: what the commands are, for a person or as JSON for a program. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/shelf.h"

#define MAX_OUTPUT (1024 * 1024)

static void put_examples(struct rf_json *json, const struct rf_cmd_example *examples)
{
	rf_json_open_array(json, "examples");
	for (; examples && examples->line; examples++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "line", examples->line);
		rf_json_string(json, "about", examples->about);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

static void put_options(struct rf_json *json, enum rf_cmd_id id)
{
	const char *group = NULL;

	rf_json_open_array(json, "options");
	for (size_t i = 0; i < rf_option_count; i++) {
		const struct rf_option *option = &rf_option_table[i];
		const char letter[] = { option->letter, '\0' };

		if (!option->name)
			group = option->help;
		if (!option->name || !(option->commands & RF_CMD_BIT(id)))
			continue;
		rf_json_open_object(json, NULL);
		rf_json_string(json, "name", option->name);
		rf_json_string(json, "letter", option->letter ? letter : NULL);
		rf_json_string(json, "arg", option->arg);
		rf_json_string(json, "group", group);
		rf_json_string(json, "key", option->key);
		rf_json_string(json, "help", option->help);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

static int print_json(void)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_json json;

	rf_buf_init(&out, MAX_OUTPUT);
	rf_json_init(&json, &out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "version", RF_VERSION);
	rf_json_string(&json, "summary", rf_cmd_all.summary);
	rf_json_string(&json, "about", rf_cmd_all.about);
	put_examples(&json, rf_cmd_all.examples);
	rf_json_open_array(&json, "commands");
	for (int i = 0; i < RF_CMD_COUNT; i++) {
		const struct rf_cmd *cmd = &rf_cmd_table[i];

		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "name", cmd->name);
		rf_json_string(&json, "summary", cmd->summary);
		rf_json_string(&json, "synopsis", cmd->synopsis);
		rf_json_string(&json, "about", cmd->about);
		rf_json_string(&json, "exits", cmd->exits);
		rf_json_bool(&json, "holds_others", !cmd->main);
		put_examples(&json, cmd->examples);
		put_options(&json, (enum rf_cmd_id)i);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(&out, "\n");
	return rf_cmd_print(&out);
}

/* ------------------------------------------------------------- names, for completions */

static int list_profiles(struct rf_buf *out, struct rf_err *err)
{
	struct rf_shelf_list list = { 0 };
	struct rf_shelf shelf = { 0 };
	int code = rf_shelf_init(&shelf, NULL, err);

	if (code == 0)
		code = rf_shelf_list(&shelf, &list, err);
	for (size_t i = 0; code == 0 && i < list.count; i++)
		rf_buf_printf(out, "%s\n", list.items[i].name);
	rf_shelf_list_done(&list);
	rf_shelf_done(&shelf);
	return code;
}

/* What can be listed, a name a line. */
static const struct {
	const char *kind;
	int (*list)(struct rf_buf *out, struct rf_err *err);
} names[] = {
	{ "profiles", list_profiles },
};

static int print_names(const char *kind)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	int code;

	rf_buf_init(&out, MAX_OUTPUT);
	for (size_t i = 0; i < RF_LEN(names); i++) {
		if (strcmp(kind, names[i].kind) != 0)
			continue;
		code = names[i].list(&out, &err);
		if (code == 0)
			return rf_cmd_print(&out);
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	rf_fail_say(&err, -EINVAL, "--names: there are no names of `%.60s`", kind);
	rf_fail_hint(&err, "there are: profiles");
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}

/* ------------------------------------------------------------- the command */

static int print_help(const char *first, const char *second)
{
	enum rf_cmd_id id = rf_command_find(first, NULL), sub = RF_CMD_COUNT;

	if (id == RF_CMD_COUNT)
		return rf_command_unknown(first, RF_CMD_COUNT);
	if (second) {
		sub = rf_command_find(first, second);
		if (sub == RF_CMD_COUNT)
			return rf_command_unknown(second, id);
	}
	rf_command_help(second ? sub : id, stdout);
	return 0;
}

int rf_cmd_help(int argc, char **argv)
{
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	int at = 1, got;
	bool is_json = false;

	while ((got = rf_option_next(RF_CMD_HELP, argc, argv, &at, &option, &value, &err)) > 0) {
		if (option->id == RF_OPTION_HELP)
			return print_help("help", NULL);
		if (option->id == RF_OPTION_NAMES)
			return print_names(value);
		is_json = true;
	}
	if (got == 0 && argc - at > 2)
		got = rf_fail_say(&err, -EINVAL, "a command has no more than two words");
	if (got < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	if (is_json)
		return print_json();
	if (at < argc)
		return print_help(argv[at], at + 1 < argc ? argv[at + 1] : NULL);
	rf_command_help_all(stdout);
	return 0;
}
