/*
 * Where TLS ends and begins for one box: towards the box with certificates of the box's own authority, towards servers verified.
 *
 * Only boxes with a rule that looks into requests have it, and only connections to such hosts come here.  A connection of the box's becomes a line of HTTP/1.1
 * or one of HTTP/2, whose requests are lines of their own.
 */
#ifndef RF_GATEWAY_ENDS_H
#define RF_GATEWAY_ENDS_H

#include "gateway/outlet.h"

/*
 * Reads, before the process gives up its rights, which roots are trusted besides the system's: those of the file that the variable SSL_CERT_FILE of
 * who started it names, as everywhere.
 */
int rf_ends_prepare(struct rf_err *err);

/* A row of rf_outlet_parts. */
int rf_ends_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
		 struct rf_err *err);
void rf_ends_stop(struct rf_outlet *outlet, void *own);
void rf_ends_close(struct rf_outlet *outlet, void *own);

#endif
