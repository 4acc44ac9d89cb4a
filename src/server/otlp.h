/*
 * Spans and figures as a collector takes them: OTLP/HTTP in its JSON encoding (opentelemetry-proto 1.x).  Pure.
 */
#ifndef RF_SERVER_OTLP_H
#define RF_SERVER_OTLP_H

#include "audit/event.h"
#include "base/buf.h"
#include "base/json.h"
#include "server/herald-word.h"

/* A message begins; what follows goes into it; and it ends.  `json` is the caller's storage. */
void rf_otlp_begin_traces(struct rf_json *json, struct rf_buf *out);
void rf_otlp_end_traces(struct rf_json *json);

/* A request that was answered. */
void rf_otlp_put_request(struct rf_json *json, const struct rf_herald_span *span);

/* A run that ended, from its event; false if that has no trace. */
bool rf_otlp_put_run(struct rf_json *json, const struct rf_audit_event *event);

/*
 * Figures in Prometheus's text, as a whole message: counters as sums, gauges as they are, histograms and summaries as their sums and counts.  Lines that are
 * none are passed over.
 */
void rf_otlp_put_figures(const char *text, size_t len, uint64_t now_ns, struct rf_buf *out);

#endif
