/* ringfort policy diff: what one policy allows and another does not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/shelf.h"
#include "policy/diff.h"

struct words {
	const char *names[2];
	bool is_json, wants_help;
};

/* Takes the two names; options may stand before, between and after them. */
static int read_line(int argc, char **argv, struct words *words, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, count = 0;

	while (at < argc) {
		int got = strcmp(argv[at], "-") == 0
				  ? 0
				  : rf_option_next(RF_CMD_POLICY_DIFF, argc, argv, &at, &option,
						   &value, err);

		if (got < 0)
			return got;
		if (got > 0) {
			words->is_json |= option->id == RF_OPTION_JSON;
			words->wants_help |= option->id == RF_OPTION_HELP;
		} else if (at < argc && count < 2) {
			words->names[count++] = argv[at++];
		} else if (at < argc) {
			return rf_fail_say(err, -EINVAL, "one policy too many: `%.60s`", argv[at]);
		}
	}
	if (count == 2 || words->wants_help)
		return 0;
	rf_fail_say(err, -EINVAL, "two policies are needed, not %d", count);
	return rf_fail_hint(err, "for example: ringfort policy diff python build-tools; - stands "
				 "for the defaults");
}

/* The name of a side in a sentence. */
static const char *side(const char *name)
{
	return strcmp(name, "-") == 0 ? "the default" : name;
}

static int compare(const struct words *words, const struct rf_policy *const policies[2])
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_diff diff;
	int code, printed;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_diff_make(policies[0], policies[1], &diff, &err) < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	if (words->is_json)
		rf_diff_json(&diff, words->names[0], words->names[1], &out);
	else
		rf_diff_text(&diff, side(words->names[0]), side(words->names[1]), &out);
	code = diff.count ? 1 : 0;
	rf_diff_done(&diff);
	printed = rf_cmd_print(&out);
	return printed ? printed : code;
}

int rf_cmd_policy_diff(int argc, char **argv)
{
	struct rf_policy *policies[2] = { NULL, NULL };
	struct rf_err err = RF_ERR_INIT;
	struct words words = { 0 };
	struct rf_shelf shelf = { 0 };
	char *file = NULL;
	int code = read_line(argc, argv, &words, &err);

	if (code >= 0 && words.wants_help) {
		rf_command_help(RF_CMD_POLICY_DIFF, stdout);
		return 0;
	}
	if (code >= 0)
		code = rf_shelf_init(&shelf, NULL, &err);
	for (int i = 0; i < 2 && code >= 0; i++)
		code = rf_shelf_policy(&shelf, words.names[i], &policies[i], &file, &err);
	if (code < 0) {
		rf_cmd_complain(file, &err);
		code = RF_EXIT_FAILED;
	} else {
		code = compare(&words, (const struct rf_policy *const *)policies);
	}
	rf_policy_free(policies[0]);
	rf_policy_free(policies[1]);
	rf_shelf_done(&shelf);
	free(file);
	return code;
}
