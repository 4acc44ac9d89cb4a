/* The texts of policies, put together from their parts and held against their hashes. */
#ifndef RF_AUDIT_TEXTS_H
#define RF_AUDIT_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"

struct rf_texts;

/* Gives; NULL when memory is gone. */
struct rf_texts *rf_texts_new(void);
void rf_texts_free(struct rf_texts *texts);

/* A part, as it was told; one that does not follow the last one begins anew, or is passed over. */
void rf_texts_add(struct rf_texts *texts, const struct rf_audit_event *event);

/* The text with this hash, or NULL: it is not there, not whole, or another one. */
const char *rf_texts_find(const struct rf_texts *texts, const uint8_t hash[RF_AUDIT_HASH]);
bool rf_texts_has_failed(const struct rf_texts *texts);

#endif
