/*
 * Fields by which many servers let a request be another than its first line says.
 *
 * One list for all who ask: the rules (forward-line.c), and who decides what waits (hold.c).
 */
#ifndef RF_GATEWAY_PRETEND_H
#define RF_GATEWAY_PRETEND_H

#include "http/span.h"

/* Whether the value of a field of this name counts as the method; or as the path.  In any spelling that a server takes for it. */
bool rf_pretend_is_method(struct rf_span name);
bool rf_pretend_is_path(struct rf_span name);

#endif
