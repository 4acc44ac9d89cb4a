/*
 * Code in a language, made into a program with arguments: what `--lang` adds to a run.
 *
 * The code comes from -c, from a file or from standard input.  A file that the box shows anyway is
 * run where it is, beside its neighbours; any other code is written into the box, in a folder that
 * nobody there can write to.  What must be compiled is built and run by one script in one box.
 */
#ifndef RF_CLI_LAUNCH_H
#define RF_CLI_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/lang.h"
#include "policy/plan.h"
#include "policy/policy.h"

struct rf_launch;

/* What the command line says about the code; all borrowed. */
struct rf_launch_request {
	const char *lang;  /* a name, or "auto": by the file's name */
	const char *code;  /* -c, or NULL */
	char *const *argv; /* what follows the options: the file, unless -c, and arguments */
	const char *home;
	struct rf_langs langs;
	bool is_dry; /* only a plan is wanted: standard input is left alone */
};

/*
 * Finds the language and its program.  Gives `*ret_launch`, to be freed with rf_launch_free(); it
 * borrows what the request borrows.
 */
int rf_launch_new(const struct rf_launch_request *request, struct rf_launch **ret_launch,
		  struct rf_err *err);
void rf_launch_free(struct rf_launch *launch);

/* What the language wants of the box, to be merged before every other source.  Borrowed. */
const struct rf_policy *rf_launch_policy(const struct rf_launch *launch);

/*
 * Reads the code, if it must be, and completes `facts` with what to run and what to bring along;
 * these are borrowed from the launch.  `plan` is what the policy comes to without it.
 */
int rf_launch_prepare(struct rf_launch *launch, const struct rf_plan *plan, struct rf_facts *facts,
		      struct rf_err *err);

#endif
