/*
 * A hand on the network of a box that lives: the socket on which its gateway can be asked for the box's policy, and told another.
 *
 * Nobody waits here: a question is sent and has a number, and the answer is fetched when somebody asks for it.  A few answers are kept, so that two who
 * ask do not take each other's.
 */
#ifndef RF_WATCH_LEVER_H
#define RF_WATCH_LEVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_LEVER_ANSWERS 4

struct rf_lever {
	int fd;         /* or -1: the box has no gateway, or none that can be asked */
	uint64_t asked; /* the number of the last question */
	struct rf_lever_answer {
		uint64_t number; /* or 0 */
		bool is_change, is_there;
		struct rf_err why; /* code 0: it was done */
		char *text;        /* the policy that holds now */
	} answers[RF_LEVER_ANSWERS];
};

void rf_lever_init(struct rf_lever *lever);
void rf_lever_done(struct rf_lever *lever);

/* Takes `*fd`, a SEQPACKET socket; -1 is none. */
void rf_lever_take(struct rf_lever *lever, int *fd);

/* Asks for the policy that holds; and for another one. */
int rf_lever_show(struct rf_lever *lever, uint64_t *ret_number, struct rf_err *err);
int rf_lever_change(struct rf_lever *lever, const char *text, uint64_t *ret_number,
		    struct rf_err *err);

/*
 * What was said to that question, once.  0: the policy that holds now is added to `out`.  -EAGAIN: nothing yet; else the gateway's own refusal, and
 * `ret_is_change` says of what.
 */
int rf_lever_answer(struct rf_lever *lever, uint64_t number, bool *ret_is_change,
		    struct rf_buf *out, struct rf_err *err);

#endif
