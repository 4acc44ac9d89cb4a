/* SHA-256, by OpenSSL, with all that can be prepared prepared: a log has many records. */
#ifndef RF_AUDIT_DIGEST_H
#define RF_AUDIT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/err.h"

struct rf_digest;

int rf_digest_new(struct rf_digest **ret_digest, struct rf_err *err);
void rf_digest_free(struct rf_digest *digest);

/* Fails with -EIO, which means that the library is broken. */
int rf_digest(struct rf_digest *digest, const void *data, size_t len, uint8_t hash[RF_AUDIT_HASH]);

/* As hexadecimal digits, 2 * RF_AUDIT_HASH of them and a NUL; and back: false if they are not. */
#define RF_DIGEST_HEX (2 * RF_AUDIT_HASH + 1)
void rf_digest_hex(const uint8_t *bytes, size_t len, char *text);
bool rf_digest_unhex(const char *text, uint8_t *bytes, size_t len);

#endif
