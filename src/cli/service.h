/*
 * Commands that are programs of their own: ringfort finds them in libexec and becomes them.
 *
 * What is seldom called, stays, or needs more than libc and libyaml is not linked into the launcher, which is to start
 * in well under a millisecond.  The tables of commands and options know it all the same: help, completions,
 * the manual and every complaint about a line are the launcher's, and the program gets a line that was read.
 */
#ifndef RF_CLI_SERVICE_H
#define RF_CLI_SERVICE_H

#include "base/err.h"
#include "cli/command.h"

/* The one place where cli executes a program: a path, or a name to be found on the caller's PATH.  Returns only on failure. */
void rf_service_execute(const char *program, const char *const *argv);

/* Becomes a program of ours.  Returns only on failure. */
int rf_service_become(const char *program, const char *const *argv, struct rf_err *err);

/*
 * Reads the line of the command `id`, which takes no arguments but options, and becomes `program` with `verb` (or
 * NULL), and "--name", "value" for each option, in the order in which they stood.  Gives the exit code
 * where it comes back: 0 for --help.
 */
int rf_service_run(enum rf_cmd_id id, const char *program, const char *verb, int argc, char **argv);

#endif
