/* ringfort policy show: the profiles, one of them as it is written, or what sources come to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/request.h"
#include "cli/shelf.h"

/* What the line asks for. */
struct words {
	const char *name;
	bool has_rules; /* an option that is a source of a policy */
	bool is_json, wants_help;
};

static int read_line(int argc, char **argv, struct words *words, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1;

	while (at < argc) {
		int got = rf_option_next(RF_CMD_POLICY_SHOW, argc, argv, &at, &option, &value, err);

		if (got < 0)
			return got;
		if (got > 0) {
			words->is_json |= option->id == RF_OPTION_JSON;
			words->wants_help |= option->id == RF_OPTION_HELP;
			words->has_rules |= option->arg != NULL;
		} else if (at < argc && !words->name) {
			words->name = argv[at++];
		} else if (at < argc) {
			rf_fail_say(err, -EINVAL, "one name at a time: `%.60s`", argv[at]);
			return rf_fail_hint(err, "--profile A,B shows what they come to together");
		}
	}
	if (words->name && words->has_rules) {
		rf_fail_say(err, -EINVAL, "`%.60s` besides options", words->name);
		return rf_fail_hint(err, "--profile %.60s shows what it comes to with them",
				    words->name);
	}
	return 0;
}

static void put_item_json(const struct rf_shelf_item *item, struct rf_json *json)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "name", item->name);
	rf_json_string(json, "source", item->path ? "file" : "built-in");
	rf_json_string(json, "path", item->path);
	rf_json_string(json, "summary", item->summary);
	rf_json_string(json, "problem", item->problem[0] ? item->problem : NULL);
	rf_json_close_object(json);
}

static void put_list_json(const struct rf_shelf_list *list, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "profiles");
	for (size_t i = 0; i < list->count; i++)
		put_item_json(&list->items[i], &json);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* The folder of a profile's file, without its last slash. */
static size_t folder_len(const char *path)
{
	return (size_t)(strrchr(path, '/') - path);
}

static void put_list(const struct rf_shelf_list *list, const struct rf_shelf *shelf,
		     struct rf_buf *out)
{
	const char *folder = NULL;
	int width = 0;

	for (size_t i = 0; i < list->count; i++)
		if ((int)strlen(list->items[i].name) > width)
			width = (int)strlen(list->items[i].name);
	rf_buf_puts(out, "built in:\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct rf_shelf_item *item = &list->items[i];

		if (item->path &&
		    (!folder || strncmp(folder, item->path, folder_len(item->path) + 1) != 0)) {
			folder = item->path;
			rf_buf_printf(out, "\n%.*s:\n", (int)folder_len(folder), folder);
		}
		rf_buf_printf(out, "  %-*s  %s%s\n", width, item->name,
			      item->problem[0] ? "CAN'T BE USED: " : "",
			      item->problem[0] ? item->problem : item->summary);
	}
	if (!folder)
		rf_buf_printf(out, "\nProfiles of your own would lie in %s.\n", shelf->folder);
}

static int show_list(struct rf_shelf *shelf, bool is_json, struct rf_buf *out, struct rf_err *err)
{
	struct rf_shelf_list list;

	if (rf_shelf_list(shelf, &list, err) < 0)
		return err->code;
	rf_shelf_list_look(shelf, &list);
	if (is_json)
		put_list_json(&list, out);
	else
		put_list(&list, shelf, out);
	rf_shelf_list_done(&list);
	return 0;
}

/* A profile as it is written; one in a file is headed by a comment that says where. */
static int show_one(struct rf_shelf *shelf, const char *name, bool is_json, struct rf_buf *out,
		    struct rf_err *err)
{
	struct rf_chain_text text = { 0 };
	struct rf_json json;

	if (rf_shelf_load(shelf, name, NULL, &text, err) < 0)
		return err->code;
	if (is_json) {
		rf_json_init(&json, out, true);
		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "name", text.name);
		rf_json_string(&json, "source", text.path ? "file" : "built-in");
		rf_json_string(&json, "path", text.path);
		rf_json_string(&json, "text", text.text);
		rf_json_close_object(&json);
		rf_buf_puts(out, "\n");
	} else {
		if (text.path)
			rf_buf_printf(out, "# %s\n", text.path);
		rf_buf_add(out, text.text, text.len);
		if (text.len && text.text[text.len - 1] != '\n')
			rf_buf_puts(out, "\n");
	}
	rf_chain_text_done(&text);
	return 0;
}

/* The one policy that all sources come to. */
static void show_merged(const struct rf_request *request, struct rf_buf *out)
{
	struct rf_json json;

	if (request->is_json) {
		rf_json_init(&json, out, true);
		rf_policy_json(request->policy, NULL, &json);
		rf_buf_puts(out, "\n");
	} else {
		rf_policy_format(request->policy, out);
	}
}

static int show(const struct words *words, struct rf_buf *out, struct rf_err *err)
{
	struct rf_shelf shelf = { 0 };
	int code = rf_shelf_init(&shelf, NULL, err);

	if (code >= 0 && words->name)
		code = show_one(&shelf, words->name, words->is_json, out, err);
	else if (code >= 0)
		code = show_list(&shelf, words->is_json, out, err);
	rf_shelf_done(&shelf);
	return code;
}

int rf_cmd_policy_show(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_request request = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct words words = { 0 };
	int code = read_line(argc, argv, &words, &err);

	rf_buf_init(&out, RF_MAX_JSON);
	if (code >= 0 && words.wants_help) {
		rf_command_help(RF_CMD_POLICY_SHOW, stdout);
		return 0;
	}
	if (code >= 0 && words.has_rules) {
		code = rf_request_read(RF_CMD_POLICY_SHOW, argc, argv, false, &request, &err);
		if (code >= 0)
			show_merged(&request, &out);
	} else if (code >= 0) {
		code = show(&words, &out, &err);
	}
	if (code < 0)
		rf_cmd_complain(request.file, &err);
	rf_request_done(&request);
	return code < 0 ? RF_EXIT_FAILED : rf_cmd_print(&out);
}
