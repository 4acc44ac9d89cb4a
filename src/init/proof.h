/* The proof: what a program's process asks the kernel about itself right before exec. */
#ifndef RF_INIT_PROOF_H
#define RF_INIT_PROOF_H

#include <stdbool.h>

#include "init/orders.h"

/*
 * Checks every fact that `orders` names, in the order of enum rf_proof, and fills `report` with
 * what was found.  Returns 0 if all held; otherwise report->fact is the first that did not.
 */
int proof_check(const struct rf_orders *orders, struct rf_report *report);

/* True if Landlock keeps the caller from the sentinel. */
bool proof_landlock(const struct rf_orders *orders);

/*
 * In a lesser box, after the proof: enters the domain of RF_RULESET_FD and shows that it holds.
 * Returns 0 or a negative errno.
 */
int proof_enter_inner(const struct rf_orders *orders);

#endif
