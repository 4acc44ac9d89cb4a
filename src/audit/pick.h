/* Which events of a log are wanted. */
#ifndef RF_AUDIT_PICK_H
#define RF_AUDIT_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/err.h"

struct rf_pick {
	uint64_t since_ns, until_ns;       /* since 1970; 0: no bound */
	const char *agent, *box, *verdict; /* exactly; or NULL */
	const char *tenant;                /* of a server's; or NULL */
	uint64_t kinds;                    /* bit of each that is wanted; 0: all */
};

bool rf_pick_takes(const struct rf_pick *filter, const struct rf_audit_event *event);

/* Adds a kind ("run.ended"), or all of a family ("run").  -EINVAL names those there are. */
int rf_pick_add_kind(struct rf_pick *filter, const char *name, struct rf_err *err);

/*
 * A moment: "2026-11-16", "2026-11-16T06:50", "...:30", "...:30.5Z", all in UTC; or how long before
 * `now_ns`: "90s", "10m", "2h", "7d".
 */
int rf_pick_time(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct rf_err *err);

#endif
