/* ringfort shell: see shell.h. */
#include "cli/shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/rune.h"

/* clang-format off */
/* A shell reads no settings of the host: there are none inside, and none are looked for. */
static char *bash[] = { (char[]){ "bash" }, (char[]){ "--norc" }, (char[]){ "--noprofile" },
			NULL };
static char *sh[] = { (char[]){ "sh" }, NULL };
/* clang-format on */

#define BASH_PROMPT "PS1=\\[\\e[1;36m\\](box)\\[\\e[0m\\] \\w\\$ "
#define BASH_PLAIN  "PS1=(box) \\w\\$ "
#define SH_PROMPT   "PS1=(box) $PWD$ "

/* The box has the programs of /usr, so that the host's tell. */
static bool has_bash(void)
{
	return access("/usr/bin/bash", X_OK) == 0 || access("/bin/bash", X_OK) == 0;
}

static bool is_colourful(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* As a default: what a policy or a flag sets comes after it. */
static int set_prompt(struct rf_request *request, const char *prompt, struct rf_err *err)
{
	struct rf_policy *over = request->policy, *base = rf_policy_new_empty();
	int code;

	if (!base)
		return rf_fail(err, -ENOMEM, "a policy");
	code = rf_policy_set(base, "env.set", prompt, request->cwd, request->home, err);
	if (code == 0)
		code = rf_policy_merge(base, over, err);
	if (code < 0) {
		rf_policy_free(base);
		return code;
	}
	rf_policy_free(over);
	request->policy = base;
	return 0;
}

int rf_shell_choose(struct rf_request *request, struct rf_err *err)
{
	bool is_bash = has_bash();

	if (isatty(STDIN_FILENO))
		request->has_terminal = true;
	if (!request->argv[0])
		request->argv = is_bash ? bash : sh;
	else
		is_bash = strcmp(request->argv[0], "bash") == 0;
	if (!request->has_terminal)
		return 0;
	return set_prompt(request,
			  !is_bash         ? SH_PROMPT
			  : is_colourful() ? BASH_PROMPT
					   : BASH_PLAIN,
			  err);
}

/* Whether the working directory is one of the host's, and may be changed. */
static const char *words_for_directory(const struct rf_plan *plan)
{
	const char *words = NULL;

	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (place->kind == RF_PLACE_HOST && rf_path_is_beneath(plan->workdir, place->path))
			words = place->rights & RF_RIGHT_WRITE ? "writable" : "read-only";
	}
	return words;
}

bool rf_shell_greet(const struct rf_request *request)
{
	const struct rf_plan *plan = request->plan;
	const char *words = words_for_directory(plan);
	struct rf_err line = RF_ERR_INIT;

	if (!plan->has_terminal || !isatty(STDERR_FILENO))
		return false;
	if (words)
		snprintf(line.msg, sizeof(line.msg), "%.180s is %s", plan->workdir, words);
	else
		snprintf(line.msg, sizeof(line.msg), "it sees no directory of yours");
	rf_rune_tidy(&line);
	fprintf(stderr,
		"ringfort: a shell in a box; %s, %s.\n"
		"ringfort: `exit` leaves it, ctrl-] three times ends it; what is not in a shown "
		"directory is gone then.\n",
		line.msg, plan->link == RF_LINK_HOST ? "the network is the host's" : "no network");
	for (char *const *note = plan->notes; *note; note++)
		fprintf(stderr, "ringfort: %s\n", *note);
	return true;
}
