/*
 * What is answered to a write that was approved, on the connection that the clerk hands over: read for its status, and to its end, since who hangs up cuts it.
 *
 * It is a stranger's, in HTTP/1.1.
 */
#ifndef RF_SERVER_APPROVAL_ANSWER_H
#define RF_SERVER_APPROVAL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http1.h"

#define RF_APPROVAL_ANSWER_ROOM (16 * 1024) /* of one whose head is longer the status alone */
#define RF_APPROVAL_ANSWER_S    50          /* that a server has for it */

struct rf_approval_answer {
	unsigned status;  /* of the final one, or of an interim one so far; 0: none */
	char refused[64]; /* by our own gateway: its code; or "" */
	struct rf_http1 http;
	struct rf_framing_asked asked;
	struct rf_field fields[128];
	size_t len;
	char in[RF_APPROVAL_ANSWER_ROOM];
};

/* In place: it points into itself. */
void rf_approval_answer_init(struct rf_approval_answer *answer);

/* Reads what there is, once.  True: that was all of it, or it is no answer, or nobody is there any more. */
bool rf_approval_answer_read(struct rf_approval_answer *answer, int fd);

/* The same until that is so, or the time is up, however little of it comes at a time.  Inits it. */
void rf_approval_answer_await(struct rf_approval_answer *answer, int fd, unsigned ms);

#endif
