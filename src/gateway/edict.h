/*
 * What the watcher's books say to one box: what its credentials have come to everywhere, and what somebody has opened by hand.
 *
 * The client sends them anew (wire/books.h), before the box has sockets and every few seconds after that; each replaces the one before.
 * Between two of them what the box does is counted on top, so that several gateways keep one budget, and together pass it by no more
 * than what they do in those seconds.  Pure: time is passed in.
 */
#ifndef RF_GATEWAY_EDICT_H
#define RF_GATEWAY_EDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/books.h"

struct rf_edict;

/* Replaces `*edict` (NULL at first) by what `text` says.  Gives, to be freed with rf_edict_free(); what was before stays on failure. */
int rf_edict_take(struct rf_edict **edict, const char *text, size_t len, uint64_t now_ms,
		  struct rf_err *err);
void rf_edict_free(struct rf_edict *edict);

/* They came from somebody who is trusted with nothing: what is open stays so, and nothing else counts. */
void rf_edict_restrict(struct rf_edict *edict);

/* The orders that came last, for who has to forget something: resets. */
const struct rf_books *rf_edict_books(const struct rf_edict *edict);

/*
 * Whether a host or a credential is opened by hand: then the reason (borrowed), and in how many milliseconds to try again, or RF_BOOKS_NEVER.
 * A host is asked for by two names, with its port and without.
 */
const char *rf_edict_bars(const struct rf_edict *edict, bool is_credential, const char *name,
			  const char *or_name, uint64_t now_ms, uint64_t *ret_ms);

/*
 * What a credential has come to in an hour or a day, everywhere, if this box has used it `uses` times and each cost `cost`.  False where nobody
 * keeps books on it.
 */
bool rf_edict_spent(const struct rf_edict *edict, const char *name, uint64_t period_ms,
		    uint64_t uses, uint64_t cost, uint64_t *ret_uses, uint64_t *ret_money);

#endif
