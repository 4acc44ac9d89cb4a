/*
 * What must not be kept: secrets in a text that others had a hand in.
 *
 * Nobody can tell a secret from other letters by looking at it.  What can be told: tokens whose form
 * says what they are (a prefix of a known issuer, a JWT, a private key), values behind a name that says
 * it (password=, token:, Authorization:), the password in a URL, all values of a query.  Those
 * become "[redacted]".  It errs on the side of taking too much away: an audit log is read to learn what was done,
 * and never needs a value.
 */
#ifndef RF_AUDIT_REDACT_H
#define RF_AUDIT_REDACT_H

#include <stddef.h>

#include "base/buf.h"

#define RF_REDACT_MARK "[redacted]"

/* Appends `len` bytes of `text` without its secrets.  Linear in `len`. */
void rf_redact(const char *text, size_t len, struct rf_buf *out);

#endif
