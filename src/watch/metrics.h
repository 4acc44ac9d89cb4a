/*
 * Metrics: figures that are counted as things happen, and read as Prometheus's text format.
 *
 * One table says which there are, what each is called and what it counts, so a name is written once
 * and its help with it.  A label's values may come from whoever is watched: there are at most
 * RF_METRICS_SERIES of one figure, and what comes behind those is counted as "other"; so its memory is
 * bounded and nothing is lost from a sum.
 *
 * Pure: it makes no system call.  Names and labels do not change once they are here.
 */
#ifndef RF_WATCH_METRICS_H
#define RF_WATCH_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum rf_metric {
	RF_METRIC_INFO,            /* 1; label: version */
	RF_METRIC_WATCHED,         /* whether a watcher told this */
	RF_METRIC_BOXES,           /* that stand now */
	RF_METRIC_STARTS,          /* boxes whose program was started */
	RF_METRIC_START_SECONDS,   /* how long that took */
	RF_METRIC_RUNS,            /* that ended; label: verdict */
	RF_METRIC_RUN_SECONDS,     /* on the clock, all together */
	RF_METRIC_CPU_SECONDS,     /* of the processor, all together */
	RF_METRIC_DENIALS,         /* label: ring */
	RF_METRIC_REFUSED,         /* by a breaker or a budget, before they began; label: kind */
	RF_METRIC_BREAKERS,        /* labels: kind, state */
	RF_METRIC_BREAKER_OPENED,  /* label: kind */
	RF_METRIC_BREAKER_LOST,    /* closed ones with a failure, for want of room */
	RF_METRIC_BUDGET_OWNERS,   /* who has spent something in the last day */
	RF_METRIC_NET_REQUESTS,    /* and connections that were not looked into; label: decision */
	RF_METRIC_NET_BYTES,       /* label: direction */
	RF_METRIC_NET_SECONDS,     /* that answers took */
	RF_METRIC_CREDENTIAL_USES, /* labels: credential, of a tenant's TENANT/NAME; decision */
	RF_METRIC_MONEY,           /* in millionths; label: credential */
	RF_METRIC_ALARMS,          /* label: alarm */
	RF_METRIC_EVENTS,          /* recorded; label: kind */
	RF_METRIC_AUDIT_LAG,       /* how long the oldest waits for the disk */
	RF_METRICS_COUNT
};

#define RF_METRICS_SERIES 64 /* of one figure, "other" not counted */
#define RF_METRICS_LABEL                                                                           \
	128 /* bytes of a label's value, with its NUL; longer ones are cut: TENANT/NAME is not */

struct rf_metrics;

/* Gives; NULL when memory is gone. */
struct rf_metrics *rf_metrics_new(void);
void rf_metrics_free(struct rf_metrics *metrics);

/* From now on what is counted without labels is known, and so far none of it happened. */
void rf_metrics_begin(struct rf_metrics *metrics);

/*
 * `a` and `b` are the values of the figure's labels in the order of its row; what it has no label for
 * is NULL.  Amounts are whole numbers of what is counted; of seconds, nanoseconds.
 */
void rf_metrics_add(struct rf_metrics *metrics, enum rf_metric metric, const char *a, const char *b,
		    uint64_t amount);
void rf_metrics_set(struct rf_metrics *metrics, enum rf_metric metric, const char *a, const char *b,
		    uint64_t value);

/* Forgets all values of a figure that is about to be set anew. */
void rf_metrics_clear(struct rf_metrics *metrics, enum rf_metric metric);

/* One more value of a figure that has a distribution. */
void rf_metrics_observe(struct rf_metrics *metrics, enum rf_metric metric, uint64_t ns);

uint64_t rf_metrics_get(const struct rf_metrics *metrics, enum rf_metric metric, const char *a,
			const char *b);

/* All that has a value, in the order of the table: what is not known is not there. */
void rf_metrics_text(const struct rf_metrics *metrics, struct rf_buf *out);

#endif
