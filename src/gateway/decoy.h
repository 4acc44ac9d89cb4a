/*
 * Canaries on their way out: planted credentials that a box sends to anybody, in whatever form.
 *
 * A canary is nobody's credential (policy/canary.h), so a request with one is a theft, wherever it goes: to a place that the policy allows, or to one that it
 * does not.  It is refused before anything of it is sent, and told; whoever has the box ends it.  From then on this box is refused everything.
 *
 * Looked at are the path, the query, every field and the body of each request that is read: in clear, and where TLS is ended.  What passes unread (a connection
 * that is relayed, what follows an upgrade) is not seen, nor is what was compressed or enciphered before.
 */
#ifndef RF_GATEWAY_DECOY_H
#define RF_GATEWAY_DECOY_H

#include "gateway/outlet.h"

/* A row of rf_outlet_parts. */
int rf_decoy_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
		  struct rf_err *err);
void rf_decoy_close(struct rf_outlet *outlet, void *own);

#endif
