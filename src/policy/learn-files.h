/*
 * The rules about files and programs that a run was seen to need, from its footprint.
 *
 * Each file that was used becomes a rule; many of one folder become the folder, but never more than what was granted to the run, and
 * of what was not never a home, the root or a folder of credentials.  What the run asked for and did not have is in the rules,
 * too, if it is harmless, and in the remarks in any case.  Pure.
 */
#ifndef RF_POLICY_LEARN_FILES_H
#define RF_POLICY_LEARN_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/footprint.h"
#include "policy/list.h"
#include "policy/plan.h"
#include "policy/policy.h"

#define RF_LEARN_FILES_FEW   8   /* of one folder; more become the folder */
#define RF_LEARN_FILES_RULES 128 /* more, and those of one folder become it however few they are */

struct rf_learn_files {
	const struct rf_footprint *footprint; /* of the run; borrowed */
	const struct rf_plan *plan;           /* that it ran under; borrowed */
	const char *home;                     /* the caller's; borrowed */
	bool has_failed;                      /* the run: what it only looked for may be why */
	/* Whether the program at `path` can be run where these can; or NULL. */
	bool (*comes_along)(void *data, const struct rf_list *names, const char *path);
	void *data;
	/* Found out: */
	bool has_used_current; /* something of the current directory */
	bool has_own_programs; /* it runs code that it may have made itself: no `commands` */
};

/*
 * Adds to `policy` (which has none yet) `files.read`, `files.write`, `files.current` and, where they can say it, `commands` and
 * `workdir`; and to `remarks`, as comments of YAML, what a reader should know.
 */
int rf_learn_files(struct rf_learn_files *learn, struct rf_policy *policy, struct rf_buf *remarks,
		   struct rf_err *err);

#endif
