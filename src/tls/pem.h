/*
 * Who a server is, and whose clients it takes, from text: certificates and a key as PEM.
 *
 * The text is an operator's own.  A key that is locked with a password is refused: nobody is asked for one.
 */
#ifndef RF_TLS_PEM_H
#define RF_TLS_PEM_H

#include "base/err.h"

struct ssl_ctx_st;

/* The first certificate is the server's, those behind it lead to a root; the key must be the first one's.  -EINVAL. */
int rf_pem_identity(struct ssl_ctx_st *context, const char *certificate, const char *key,
		    struct rf_err *err);

/* A client must show a certificate that leads to one of these. */
int rf_pem_clients(struct ssl_ctx_st *context, const char *roots, struct rf_err *err);

#endif
