/*
 * The roots that this system trusts.
 */
#ifndef RF_TLS_ROOTS_H
#define RF_TLS_ROOTS_H

#include "base/buf.h"
#include "base/err.h"

struct x509_store_st;

/*
 * Lets a store find them.  Where the system keeps a directory by hash, each is read when a chain first asks for it: all of them would cost a
 * short-lived gateway more than the rest of its start.
 */
int rf_roots_system(struct x509_store_st *store, struct rf_err *err);

/* Adds the certificates of a text in PEM; there must be one at least. */
int rf_roots_add(struct x509_store_st *store, const char *pem, struct rf_err *err);

/* Appends all of the system's, as PEM. */
int rf_roots_text(struct rf_buf *text, struct rf_err *err);

#endif
