/* Events for people and for other programs: a table, JSON lines, CSV, and OCSF-style objects. */
#ifndef RF_AUDIT_RENDER_H
#define RF_AUDIT_RENDER_H

#include "audit/event.h"
#include "base/buf.h"
#include "base/style.h"

/* One line of a table, and the line above it. */
void rf_render_heading(struct rf_style style, struct rf_buf *out);
void rf_render_row(struct rf_style style, const struct rf_audit_event *event, struct rf_buf *out);

/* The same for events of the network (render-net.c). */
void rf_render_net_heading(struct rf_style style, struct rf_buf *out);
void rf_render_net_row(struct rf_style style, const struct rf_audit_event *event,
		       struct rf_buf *out);

/* One JSON object on a line. */
void rf_render_json(const struct rf_audit_event *event, struct rf_buf *out);

/* One line of CSV (RFC 4180), and the names of its columns: every field has its own. */
void rf_render_csv_heading(struct rf_buf *out);
void rf_render_csv(const struct rf_audit_event *event, struct rf_buf *out);

/*
 * One object in the style of OCSF 1.3: class, activity, severity and status by what the event is, and all that it
 * says under `unmapped`.  `chain` (hexadecimal digits) and the record's number make its uid.
 */
void rf_render_ocsf(const struct rf_audit_event *event, const char *chain, struct rf_buf *out);

#endif
