/* Redaction as a part of a box's way out: what it looks for is the box's credentials. */
#ifndef RF_GATEWAY_REDACTION_PART_H
#define RF_GATEWAY_REDACTION_PART_H

#include "gateway/outlet.h"

/* A row of rf_outlet_parts: the last one, so that it is the first to see an answer. */
int rf_redaction_part_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
			   struct rf_err *err);
int rf_redaction_part_change(struct rf_outlet *outlet, void *own, struct rf_err *err);
void rf_redaction_part_close(struct rf_outlet *outlet, void *own);

#endif
