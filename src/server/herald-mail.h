/*
 * One place that is told things, and what waits to be told there.
 *
 * A message that was not taken (an answer of 2xx) is sent again after 200 ms, and twice as long each time, a minute at most; after so many tries it is
 * given up.  One at a time, so they come in order.  Names are resolved anew for each connection.
 */
#ifndef RF_SERVER_HERALD_MAIL_H
#define RF_SERVER_HERALD_MAIL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "http/http-pool.h"
#include "server/herald-word.h"

struct rf_herald_mail;

struct rf_herald_mail_host {
	struct rf_loop *loop;
	struct rf_http_pool *pool;
	/* A message to that URL is given up, and why; "": one had no room. */
	void (*on_lost)(void *data, const char *url, const char *why);
	void *data;
};

/* Borrows the host; copies the target.  Gives. */
int rf_herald_mail_new(const struct rf_herald_mail_host *host,
		       const struct rf_herald_target *target, struct rf_herald_mail **ret_mail,
		       struct rf_err *err);
void rf_herald_mail_free(struct rf_herald_mail *mail);

/* Tells it (takes what is in the body): `path` goes behind the URL's own, `kind` names it for who receives it. */
void rf_herald_mail_put(struct rf_herald_mail *mail, const char *path, const char *kind,
			struct rf_buf *body);

uint32_t rf_herald_mail_topics(const struct rf_herald_mail *mail);

#endif
