/*
 * Memory for secrets: what lies in it is not swapped, in no core file, in no child, and where the kernel has memfd_secret(2) (5.14, on by
 * default from 6.5) not even in its own map of all memory.  Wiped when it is freed.
 *
 * Bytes are added and never removed: a vault lives as long as the box whose secrets it holds.
 */
#ifndef RF_GATEWAY_VAULT_H
#define RF_GATEWAY_VAULT_H

#include <stdbool.h>

#include "base/err.h"
#include "http/span.h"

struct rf_vault;

int rf_vault_new(size_t bytes, struct rf_vault **ret_vault, struct rf_err *err);
void rf_vault_free(struct rf_vault *vault);

/* Copies bytes into it, with a NUL behind them.  An empty span without memory (at NULL) if there is no room. */
struct rf_span rf_vault_keep(struct rf_vault *vault, struct rf_span bytes);

/* Nothing in it changes any more: not by a mistake of ours either. */
int rf_vault_seal(struct rf_vault *vault, struct rf_err *err);

/* Whether the kernel keeps it from everybody else, or at least from disks. */
bool rf_vault_is_secret(const struct rf_vault *vault);
bool rf_vault_is_locked(const struct rf_vault *vault);

#endif
