/*
 * The yard: boxes that stand ready before anybody asks for one.
 *
 * Raising the walls takes a millisecond or two; a box from the yard only has to be told what to run.
 * Each is used once.  One is kept ready for each of the last few shapes of plans that were asked for
 * (a shape is all of a plan but the words of its program), and is thrown away when nobody wants it for
 * a minute, or when it no longer is what a new box would be: a file that it shows has been replaced, a
 * credential has appeared beneath a shown tree, the machine's mounts have changed.
 */
#ifndef RF_WARDEN_YARD_H
#define RF_WARDEN_YARD_H

#include <stdbool.h>

#include "base/err.h"
#include "jail/box.h"

struct rf_yard;

/* `init_path` is the program ringfort-init (borrows).  `most`: shapes that are remembered; 0: none. */
int rf_yard_new(const char *init_path, size_t most, struct rf_yard **ret_yard, struct rf_err *err);

/* Ends every box that waits. */
void rf_yard_free(struct rf_yard *yard);

/*
 * Fills `box` (moves) with one that stands ready for this very plan.  False if there is none.
 * `is_heard`: its refusals are to be logged.
 */
bool rf_yard_take(struct rf_yard *yard, const struct rf_plan *plan, bool is_heard,
		  struct rf_box *box);

/*
 * What a box of that plan is built from, if there is no box: good until the yard is asked for anything else, so who
 * waits asks again.  NULL: there is nothing.
 */
const struct rf_parts *rf_yard_parts(struct rf_yard *yard, const struct rf_plan *plan,
				     bool is_heard);

/*
 * For a box that is built while somebody waits: a network namespace that is its own from then on (gives), where the plan
 * wants nothing in it, or -1.
 */
int rf_yard_network(struct rf_yard *yard, const struct rf_plan *plan);

/* Remembers that such a plan was asked for, so that the next one finds a box.  Takes the plan. */
void rf_yard_remember(struct rf_yard *yard, struct rf_plan *plan, bool is_heard);

/* Builds one box or network namespace that is missing, if any is; ends those that nobody wanted for long. */
void rf_yard_tend(struct rf_yard *yard);

/* True if rf_yard_tend() has something to build. */
bool rf_yard_is_short(const struct rf_yard *yard);

/* How many boxes stand ready. */
size_t rf_yard_count(const struct rf_yard *yard);

#endif
