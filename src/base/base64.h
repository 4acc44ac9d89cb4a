/*
 * Base64, as RFC 4648 has it in section 4: bytes as text.
 */
#ifndef RF_BASE_BASE64_H
#define RF_BASE_BASE64_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* Appends `len` bytes of `data` as text, with padding and without line breaks. */
void rf_base64_encode(const void *data, size_t len, struct rf_buf *out);

/*
 * Reads `len` characters of `text`, whose length without line breaks is a multiple of four, into `data`, where there is room for three bytes for each four
 * of them.  Line breaks are passed over.  The number of bytes, or -EINVAL.  `data` may be where `text` is.
 */
ssize_t rf_base64_decode(const char *text, size_t len, void *data);

#endif
