/*
 * Between the watcher and the gateway of one box: asks the one for its books, and says to the other what they are.
 *
 * A gateway that keeps strangers' connections speaks to nobody but who has the box.  So that one, a launcher or a warden, asks before the
 * box has a network, and every few seconds after that.  Uses that the gateway told of before a question are in its answer, if they were told to the
 * watcher first; how many these were goes with it, and the gateway counts the others on top.
 */
#ifndef RF_AUDIT_ACCOUNT_H
#define RF_AUDIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/plan.h"
#include "wire/books.h"
#include "wire/gate.h"

struct rf_account {
	const struct rf_net *net; /* borrowed; NULL: a box without a gateway */
	const char *tenant; /* whose its credentials are, for the watcher; borrowed, or NULL */
	uint64_t serial;    /* of the last reset that it knows */
	uint64_t heard[RF_BOOKS_SUMS],
		asked[RF_BOOKS_SUMS]; /* uses: told of, and until the question */
};

void rf_account_init(struct rf_account *account, const struct rf_plan *plan);

/* True if some credential has a budget that goes beyond one run. */
bool rf_account_is_needed(const struct rf_account *account);

/* The gateway told something. */
void rf_account_hear(struct rf_account *account, const struct rf_gate_event *event);

/* Writes the question (its words, each ended by a NUL): all that was told before is to be with the watcher. */
void rf_account_ask(struct rf_account *account, struct rf_buf *out);

/* Reads the answer and writes what is to be said to the gateway. */
int rf_account_answer(struct rf_account *account, const char *answer, struct rf_buf *out,
		      struct rf_err *err);

#endif
