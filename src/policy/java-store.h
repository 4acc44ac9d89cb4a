/*
 * Certificates as Java keeps them: a "JKS" key store of trusted certificates, under Java's usual password.
 *
 * Pure.  The format is Java's own since 1998 and read by every version, whatever its default is.
 */
#ifndef RF_POLICY_JAVA_STORE_H
#define RF_POLICY_JAVA_STORE_H

#include <stddef.h>

#include "base/buf.h"

#define RF_JAVA_STORE_PASSWORD "changeit"

/*
 * Appends a store with the certificates of a text in PEM.  What is none of its blocks is passed over; one that can't be read is -EINVAL.
 * Returns how many there are.
 */
int rf_java_store_format(const char *pem, struct rf_buf *out);

#endif
