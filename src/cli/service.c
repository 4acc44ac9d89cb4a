/* Commands that are programs of their own: see service.h. */
#include "cli/service.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/option.h"

#define WORDS 256 /* of the line that is passed on */

void rf_service_execute(const char *program, const char *const *argv)
{
	execvp(program, (char *const *)(uintptr_t)argv);
}

int rf_service_become(const char *program, const char *const *argv, struct rf_err *err)
{
	char path[4096];

	rf_cmd_find(program, path, sizeof(path));
	rf_service_execute(path, argv);
	rf_fail(err, -errno, "start %s", path);
	return rf_fail_hint(err, "%s belongs beside ringfort; install both", program);
}

/* Puts the options of a line in one form; 1 if help was asked for. */
static int read_line(enum rf_cmd_id id, int argc, char **argv, char (*names)[32],
		     const char **words, size_t *count, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) > 0) {
		if (option->id == RF_OPTION_HELP)
			return 1;
		if (*count + 2 >= WORDS)
			return rf_fail_say(err, -E2BIG, "too many options");
		snprintf(names[*count], sizeof(names[*count]), "--%s", option->name);
		words[*count] = names[*count];
		(*count)++;
		if (option->arg)
			words[(*count)++] = value;
	}
	if (got == 0 && at < argc) {
		got = rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`", rf_cmd_table[id].name,
				  argv[at]);
		rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
	}
	return got;
}

int rf_service_run(enum rf_cmd_id id, const char *program, const char *verb, int argc, char **argv)
{
	static char names[WORDS][32];
	const char *words[WORDS + 1] = { program, verb };
	size_t count = verb ? 2 : 1;
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(id, argc, argv, names, words, &count, &err);

	if (code > 0) {
		rf_command_help(id, stdout);
		return 0;
	}
	if (code == 0)
		rf_service_become(program, words, &err);
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}
