/*
 * Toolchains: where the program of a language lies on this machine, and what a box must be shown
 * for it to run.
 *
 * What lies in /usr is in every box.  Elsewhere (rustup, nvm, pyenv, deno, /opt) the folder of that
 * one version is shown, or the program alone; never a home, and never the folder that a tool
 * keeps its credentials in (~/.cargo).
 */
#ifndef RF_CLI_TOOLCHAIN_H
#define RF_CLI_TOOLCHAIN_H

#include <limits.h>

#include "base/err.h"
#include "policy/lang.h"

#define RF_TOOLCHAIN_BOX_PATH "/usr/local/bin:/usr/bin:/bin" /* as in every box */

struct rf_toolchain {
	char program[PATH_MAX]; /* the same on the host and in the box */
	char shown[PATH_MAX];   /* what the box must be shown, or "" */
	char folder[PATH_MAX]; /* of the program, where the box's PATH does not lead to it, or "" */
	const char *arguments; /* of the language's command, behind the program; borrowed */
};

/* What is known of the caller; both borrowed. */
struct rf_toolchain_caller {
	const char *path; /* PATH, or NULL */
	const char *home;
};

/*
 * Finds the first program of the language that is there: in the box's own PATH, then in the
 * caller's.  On failure the error names what is missing and the package that has it.
 */
int rf_toolchain_find(const struct rf_lang *lang, const struct rf_toolchain_caller *caller,
		      struct rf_toolchain *ret_toolchain, struct rf_err *err);

#endif
