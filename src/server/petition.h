/*
 * Questions of the front's to the clerk, on the loop: many may be under way on one connection, each answered once, or not in time.
 *
 * A connection is a key's, so an answer is for whom the key is; when the clerk dies, what was asked fails with -ECONNRESET, and the next question goes to its
 * successor, whose connection rf_petition_renew() brings.
 */
#ifndef RF_SERVER_PETITION_H
#define RF_SERVER_PETITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "server/clerk-terms.h"
#include "wire/wire.h"

struct rf_petition;

/* A key's connection to the clerk, and what is under way on it. */
struct rf_petition_line {
	int fd; /* or -1: there is no clerk just now */
	struct rf_event *event;
	struct rf_petition *first;
	struct rf_buf in;
	uint64_t last_id;
};

/* The answer (holds until this returns; its descriptors may be taken), or NULL and why there is none.  The question is over then. */
typedef void rf_petition_fn(void *data, struct rf_wire_message *answer, const struct rf_err *why);

void rf_petition_init(struct rf_petition_line *line);
void rf_petition_done(struct rf_petition_line *line); /* nothing is under way any more */

/* Takes another connection (or -1) in place of the one that there was; what is under way fails. */
void rf_petition_renew(struct rf_petition_line *line, int *fd);

/* Asks, with `fds` (borrowed).  Gives `*ret_petition`, which is set before `fn` can be called. */
int rf_petition_ask(struct rf_petition_line *line, struct rf_loop *loop,
		    const struct rf_clerk_ask *ask, const int *fds, size_t fd_count,
		    unsigned timeout_ms, rf_petition_fn *fn, void *data,
		    struct rf_petition **ret_petition, struct rf_err *err);

/* Nobody wants to know any more; what was asked is done all the same.  Accepts NULL. */
void rf_petition_drop(struct rf_petition *petition);

#endif
