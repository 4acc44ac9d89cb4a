/*
 * How often something was used in a time that moves along: a credential's budget.
 *
 * Counted in slices of a thirty-second of the period, as watch/budget.h does: in no period, wherever it begins, is more admitted than the budget, and
 * what was used counts for at most a thirty-second of it longer.  Pure: time is passed in.
 */
#ifndef RF_GATEWAY_SPEND_H
#define RF_GATEWAY_SPEND_H

#include <stdbool.h>
#include <stdint.h>

#define RF_SPEND_SLICES 33 /* one more than a period has: the oldest may be partly in it */

struct rf_spend {
	uint64_t slices[RF_SPEND_SLICES];
	uint64_t slice; /* the number of the newest */
};

/* 0: it is used once more; else in how many milliseconds it may be asked again.  A budget of UINT64_MAX is none. */
uint64_t rf_spend_take(struct rf_spend *spend, uint64_t budget, uint64_t period_ms,
		       uint64_t now_ms);

#endif
