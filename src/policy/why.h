/*
 * "May it do X?": the verdict of a plan on one question, the rule that made it, and what to change.
 *
 * Answers are for the box as a whole, the file's own mode included, so that they agree with what
 * happens when it is tried.
 */
#ifndef RF_POLICY_WHY_H
#define RF_POLICY_WHY_H

#include "policy/plan.h"
#include "policy/view.h"

enum rf_why_verdict {
	RF_WHY_NO,
	RF_WHY_YES,
	RF_WHY_DEPENDS, /* on what only the running box knows; the reason says on what */
};

struct rf_why {
	const struct rf_place *place; /* what the rule put there, or NULL */
	enum rf_why_verdict verdict;
	char rule[64];                    /* "files.read", "network.link", "default" ... */
	char reason[RF_FILES_PATH + 256]; /* a sentence without its full stop */
	char flag[RF_FILES_PATH + 64];    /* the option that would change a NO, or "" */
	char line[RF_FILES_PATH + 64];    /* the same in a policy, or "" */
};

/* Paths are absolute, in the box. */
void rf_why_read(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		 struct rf_why *ret_why);
void rf_why_write(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		  struct rf_why *ret_why);

/* `program` is a path with a slash, or a name to be found on the box's PATH. */
void rf_why_exec(const struct rf_plan *plan, const struct rf_view_host *host, const char *program,
		 struct rf_why *ret_why);

/* `host` is a name or an address, "unix" for a path of a unix socket. */
void rf_why_connect(const struct rf_plan *plan, const char *host, struct rf_why *ret_why);

/* Whether the box has a variable of this name. */
void rf_why_env(const struct rf_plan *plan, const char *name, struct rf_why *ret_why);

/* "yes", "no" or "depends". */
const char *rf_why_word(enum rf_why_verdict verdict);

#endif
