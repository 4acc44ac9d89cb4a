/*
 * A request: what the command line, the profiles and the policy file come to.
 *
 * Shared by every command that takes the options of a policy.  Sources are merged in the order
 * defaults, profiles, file, flags, whatever their order on the line.
 */
#ifndef RF_CLI_REQUEST_H
#define RF_CLI_REQUEST_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/command.h"
#include "policy/plan.h"
#include "policy/policy.h"

struct rf_request {
	struct rf_policy *policy; /* all sources merged */
	struct rf_plan *plan;
	char **argv; /* the program and its arguments; borrowed */
	bool is_json, wants_stats, wants_help, wants_version;
	bool has_terminal, is_plain;
	char *file; /* that an error's line and column speak of, or NULL */
	char *cwd, *home;
	struct rf_request_sources *sources; /* that the policy was merged from */
};

/*
 * Reads argv[1...] with the options of command `id` and makes the plan.  `needs_program`: without one
 * it is an error.  On failure `err` and ret_request->file tell the story; the request is to be freed
 * in any case.
 */
int rf_request_read(enum rf_cmd_id id, int argc, char **argv, bool needs_program,
		    struct rf_request *ret_request, struct rf_err *err);
void rf_request_done(struct rf_request *request);

/*
 * Where the last source that set `key` did so ("agent.yaml:5", "the command line"), or, where `name`
 * is not NULL, put that element with that value on the list; "" if none of them did.
 */
void rf_request_origin(const struct rf_request *request, const char *key, const char *name,
		       const char *value, char *text, size_t size);

#endif
