/*
 * The lesser box: Landlock, the system call filter and rlimits, where namespaces can't be had.
 *
 * Ubuntu's AppArmor rule, a default Docker container or a sysctl may forbid them.  There a plan that
 * says `weaker: allow` gets a box without namespaces and mounts of its own; every other plan is
 * refused with the cause and its remedy.  What the lesser box does not promise is listed in the
 * result (`isolation.missing`), row by row; docs/lesser-box.md has the whole of it.
 *
 * The decision comes after a full box has failed, and is not made from that failure: a child tries
 * what every full box needs.  A mistake in a policy never leads to a weaker box.
 */
#ifndef RF_JAIL_LESSER_H
#define RF_JAIL_LESSER_H

#include <stdbool.h>

#include "base/err.h"
#include "jail/box.h"

/* Below this, a file that is only read could be emptied (truncate). */
#define RF_LESSER_ABI 3

/* From here on Landlock keeps signals inside (Linux 6.12). */
#define RF_LESSER_ABI_SCOPE 6

/*
 * Tries what a full box is made of, in a child.  Returns 0 if namespaces and mounts can be had;
 * otherwise a negative errno with the story.
 */
int rf_lesser_try_full(struct rf_err *err);

/*
 * After a full box could not be started, for the reason in `err`: true if a lesser one is to be
 * tried, with what stood in the way of a full one in `ret_why`.  Where the machine lacks namespaces
 * and the plan does not take less, `err` becomes that story.
 */
bool rf_lesser_is_due(const struct rf_plan *plan, struct rf_err *err, struct rf_err *ret_why);

/* Makes the box, not yet started, a lesser one (copies `why`). */
void rf_lesser_choose(struct rf_box *box, const struct rf_err *why);

/* The wall's outer part: refuses what a lesser box can't give, makes its folder, lists what it lacks. */
int rf_lesser_raise(struct rf_box *box, struct rf_err *err);

/* Its inner part: nothing but a look at the groups, which a namespace would hide. */
int rf_lesser_enter(struct rf_box *box, struct rf_err *err);

/* What pid 1 must know. */
void rf_lesser_order(const struct rf_box *box, struct rf_lesser_orders *orders);

/* Tells pid 1 to end everything and itself.  Returns at once. */
void rf_lesser_kill(const struct rf_box *box);

/* Gives pid 1, told to end, the time for it; then it is killed. */
void rf_lesser_await(const struct rf_box *box);

/* Ends what pid 1, killed from elsewhere, could not; then the folder goes. */
void rf_lesser_done(struct rf_box *box);

#endif
