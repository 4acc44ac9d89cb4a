/*
 * What a warden tells its server of boxes that are kept: which began, and which ended and why.
 *
 * One message has one or many of them; the answer to OWN has all that there are.  docs/protocols/warden.md tells the conversation.
 */
#ifndef RF_WIRE_NEWS_H
#define RF_WIRE_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/errand.h"
#include "wire/terms.h"

#define RF_NEWS_WHY 64

struct rf_news {
	char id[24];
	char key[RF_TERMS_NAME], tenant[RF_TERMS_NAME]; /* whose it is */
	char note[RF_ERRAND_NOTE];                      /* that it was asked for with, or "" */
	char why[RF_NEWS_WHY];                          /* that it ended; "": it lives */
	uint64_t left_ms;                               /* of its time; UINT64_MAX: it has no end */
};

/* Writes the head of a message: `is_all`, what is not in it is no more. */
void rf_news_begin(struct rf_buf *out, bool is_all);
void rf_news_pack(const struct rf_news *news, struct rf_buf *out);

/* Reads the head, then one after the other: 1, 0 at the end, or -EBADMSG.  `*at` begins at 0. */
int rf_news_head(const void *data, size_t len, size_t *at, bool *ret_is_all, struct rf_err *err);
int rf_news_next(const void *data, size_t len, size_t *at, struct rf_news *ret_news,
		 struct rf_err *err);

#endif
