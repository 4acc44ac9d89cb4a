/*
 * What is odd about a run, or about an agent, whatever its policy allows: worth an alarm in the log.
 *
 * Rules over what the watcher is told, a table of them; pure.  They see a run as it ended: a storm that
 * stays within its limits, or that a machine does not tell from a failure, is not among them.  Nothing
 * here stops anything: limits do that while a run lasts, and breakers afterwards.
 */
#ifndef RF_WATCH_ANOMALY_H
#define RF_WATCH_ANOMALY_H

#include <stddef.h>
#include <stdint.h>

/* What is known: of a run that ended, or of an agent that was refused. */
struct rf_anomaly_facts {
	const char *verdict; /* of the run, or "" */
	uint64_t denials;    /* that it met */
	uint64_t refused;    /* how often its agent was refused since it is known, or 0 */
};

struct rf_anomaly {
	const char *name;     /* of the alarm */
	const char *severity; /* "low", "medium", "high", "critical" */
	const char *reason;   /* for people */
};

#define RF_ANOMALY_DENIALS 50  /* of one run that are a storm */
#define RF_ANOMALY_REFUSED 100 /* refusals after which, and after as many again, an agent hammers */

/* The rules that fit, at most `size` of them, in `found`; gives how many. */
size_t rf_anomaly_find(const struct rf_anomaly_facts *facts, const struct rf_anomaly **found,
		       size_t size);

#endif
