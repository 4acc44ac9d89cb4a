/*
 * Alarms: what is odd while a box runs, whatever its limits allow, and what the watcher does then.
 *
 * Two figures, each about one second; each has a reaction of its own.  An alarm is recorded in any case, and told
 * to the watcher's hook.
 */
#ifndef RF_POLICY_ALARM_H
#define RF_POLICY_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/limit.h"

enum rf_alarm {
	RF_ALARM_FORKS,  /* processes that were begun, or that were refused at the limit */
	RF_ALARM_WRITES, /* bytes that were written */
	RF_ALARM_COUNT
};

/* By strictness. */
enum rf_reaction {
	RF_REACTION_RECORD,
	RF_REACTION_FREEZE,
	RF_REACTION_KILL,
	RF_REACTION_COUNT
};

/* What one run's policy says of all of them. */
struct rf_alarms {
	uint64_t figures[RF_ALARM_COUNT]; /* in a second; RF_LIMIT_NONE: never */
	enum rf_reaction reactions[RF_ALARM_COUNT];
	bool opens_breaker; /* its agent's, too */
	bool rolls_back;    /* its workspace, to what it was before the run; the launcher's to do */
};

/* `key` is the last part of the policy's key; `for_run` what applies without it. */
extern const struct rf_limit_info rf_alarm_table[RF_ALARM_COUNT];

/* "record", "freeze", "kill". */
const char *rf_alarm_reaction(enum rf_reaction reaction);

#endif
