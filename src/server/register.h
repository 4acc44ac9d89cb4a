/*
 * The register of a server: what outlives it besides sandboxes themselves, in a database in the state folder.
 *
 * Which sandboxes there were, whose, and why they ended, so that who asks for one that is gone can be told; and for a day what was asked
 * with an idempotency key and how it was answered.  Written by who has the keys, and by nobody else: an answer that was acknowledged is on the disk.
 */
#ifndef RF_SERVER_REGISTER_H
#define RF_SERVER_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/pass.h"
#include "wire/news.h"

#define RF_REGISTER_KEEP_S 86400              /* seconds that answers and ends are kept */
#define RF_REGISTER_NAMES  10000              /* idempotency keys of one tenant in that time */
#define RF_REGISTER_BYTES  (64 * 1024 * 1024) /* of their answers */
#define RF_REGISTER_ENDS   4096 /* sandboxes of one tenant that have ended; older ones go */

struct rf_register;

/* Opens it in the state folder, or makes it.  Gives `*ret_register`. */
int rf_register_open(struct rf_register **ret_register, struct rf_err *err);
void rf_register_close(struct rf_register *reg);

/* Of several that were told at once: between these two all are written, or none. */
void rf_register_begin(struct rf_register *reg);
void rf_register_end(struct rf_register *reg);

/* A sandbox began or ended. */
void rf_register_note(struct rf_register *reg, const struct rf_news *news);

/* Between begin and end: those that were not noted since are no more, and nobody saw them end. */
void rf_register_end_others(struct rf_register *reg, const char *why);

/* Time passes: what is older than it is kept for goes. */
void rf_register_tidy(struct rf_register *reg);

/* Why a sandbox of the tenant's is no more; "" if nobody knows. */
void rf_register_fate(struct rf_register *reg, const char *tenant, const char *id, char *why,
		      size_t size);

/*
 * Whether what the key `name` stands for may be done: GO notes that it is under way, durably.  The verdict's text is in `text`, which is
 * cleared first.
 */
struct rf_pass_told rf_register_once(struct rf_register *reg, const char *key, const char *tenant,
				     const char *name, const char *hash, struct rf_buf *text);

/* How what is under way was answered, durably: as RF_PASS_STORE says. */
enum rf_pass_verdict rf_register_store(struct rf_register *reg, const char *key, const char *name,
				       uint32_t status, const char *text);

/* Who did what is under way is gone: nobody knows what became of it. */
void rf_register_lose(struct rf_register *reg);

#endif
