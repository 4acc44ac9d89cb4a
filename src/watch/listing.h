/*
 * Breakers as a list for people and programs: the watcher's own, and those of gateways.
 */
#ifndef RF_WATCH_LISTING_H
#define RF_WATCH_LISTING_H

#include "base/buf.h"
#include "base/err.h"
#include "watch/abroad.h"
#include "watch/breaker.h"

/* Writes all of them, what is open first, as text or as JSON.  Returns 1, or a negative errno. */
int rf_listing_write(struct rf_breaker_set *breakers, const struct rf_abroad *abroad,
		     uint64_t mono_ms, uint64_t wall_ms, bool is_json, struct rf_buf *out,
		     struct rf_err *err);

/* "59s", or "reset": when to try again. */
void rf_listing_wait(uint64_t ms, char *text, size_t size);

#endif
