/*
 * One box's certificate authority: what the box trusts, so that TLS with hosts that a rule looks into can be ended here.
 *
 * Its key is made with the box, never leaves this process, and is wiped with the box; so are those of the certificates that it signs.  Both lie in
 * memory that is not swapped and in no core file, once rf_ca_guard() has been called.  Certificates are made when a name is first asked for, and
 * kept; as many as `most`, the one that was not asked for the longest goes first.
 *
 * Its name is "Ringfort box ID", so whoever meets it knows what it is.  It signs servers and nothing else (path length 0).  It has no name
 * constraints: a policy can change while a box lives, and who may be reached is decided by the gateway for each request.
 */
#ifndef RF_GATEWAY_CA_H
#define RF_GATEWAY_CA_H

#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/host.h"

struct rf_ca;
struct rf_tls_identity;

#define RF_CA_LIFE_S   (30 * 86400) /* longer than a box lives */
#define RF_CA_LEAF_S   86400        /* and a certificate; a new one is made before it ends */
#define RF_CA_MARGIN_S 3600         /* so long before */

/* Makes room for keys that the kernel keeps from others; once, before the first CA.  Without it keys lie where everything does. */
int rf_ca_guard(struct rf_err *err);

/* `box` is its id (borrows).  Keeps the certificates of `most` names. */
int rf_ca_new(const char *box, size_t most, struct rf_ca **ret_ca, struct rf_err *err);
void rf_ca_free(struct rf_ca *ca);

/* Appends its certificate as PEM. */
int rf_ca_pem(const struct rf_ca *ca, struct rf_buf *text, struct rf_err *err);

/* The certificate for a host, as of `now` (borrowed until the next call). */
int rf_ca_issue(struct rf_ca *ca, const struct rf_host *host, time_t now,
		struct rf_tls_identity *ret_identity, struct rf_err *err);

size_t rf_ca_issued(const struct rf_ca *ca); /* so far */

#endif
