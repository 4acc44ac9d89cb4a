/*
 * A request: what the command line, the profiles and the policy file come to.
 *
 * Shared by every command that takes the options of a policy.  Sources are merged in the order
 * defaults, language, profiles, file, flags, whatever their order on the line.  The configuration
 * names profiles and a file where the line names none.
 */
#ifndef RF_CLI_REQUEST_H
#define RF_CLI_REQUEST_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/launch.h"
#include "egress/purse.h"
#include "policy/plan.h"
#include "policy/policy.h"

struct rf_visit;

#define RF_REQUEST_WORDS 64 /* how often an option can be repeated */

/* What `shadow` is told besides what `run` is; all borrowed. */
struct rf_request_shadow {
	const char *verify[RF_REQUEST_WORDS + 1]; /* NULL-ended lines for a shell */
	const char *allow[RF_REQUEST_WORDS + 1];  /* NULL-ended paths of what acts later */
	int verify_count, allow_count;
	bool asks, is_durable;
};

struct rf_request {
	struct rf_policy *policy; /* all sources merged */
	struct rf_plan *plan;
	struct rf_net *net;    /* what `purse` was filled from, or NULL */
	struct rf_purse purse; /* values of credentials, where the box has a gateway */
	char **argv;           /* the program and its arguments; borrowed */
	bool is_json, wants_stats, wants_help, wants_version, wants_langs;
	bool has_terminal, is_plain, has_no_warden, has_no_gateway;
	const struct rf_place *extras; /* that are brought along; borrowed */
	size_t extra_count;
	struct rf_facts facts;    /* that the plan was made from */
	struct rf_place *brought; /* all extras, where some came later; or NULL */
	size_t own_extra_count;   /* how many of these did not */
	const char *lang, *code;  /* --lang and -c, or NULL; borrowed */
	const char *workspace;    /* --workspace, or NULL; borrowed */
	const char *to;           /* --to, or NULL; borrowed */
	bool has_paths;           /* --paths */
	const char *agent;        /* whose policy and workspace it has, or NULL; borrowed */
	bool is_kept;             /* it is the name of one, not a directory */
	bool is_directory;        /* it is a directory, whatever workspaces are called */
	struct rf_request_shadow shadow;
	struct rf_visit *visit;   /* the run in it, or NULL */
	const char *config_name;  /* --config, or NULL; borrowed */
	bool has_no_config;       /* --no-config */
	struct rf_config config;  /* the caller's settings */
	struct rf_launch *launch; /* what the language comes to, or NULL */
	char *file;               /* that an error's line and column speak of, or NULL */
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
 * Gives `request`, a copy of one that lives longer, a plan of its own of the same policy, for a program that looks at what is
 * `layered`: nothing else of the host can be written to.  Its plan, and what is brought along later, are to be freed.
 */
int rf_request_plan_to_look(struct rf_request *request, char *const *argv,
			    const struct rf_place *layered, struct rf_err *err);

/*
 * Makes the plan once more, of what the policy is by now, with `more` brought along (borrows what they name).
 */
int rf_request_bring(struct rf_request *request, const struct rf_place *more, size_t count,
		     struct rf_err *err);

/*
 * Where the last source that set `key` did so ("agent.yaml:5", "the command line"), or, where `name`
 * is not NULL, put that element with that value on the list; "" if none of them did.
 */
void rf_request_origin(const struct rf_request *request, const char *key, const char *name,
		       const char *value, char *text, size_t size);

#endif
