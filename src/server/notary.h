/*
 * Sees to it that a watcher stands: nothing that a server begins goes unrecorded.
 *
 * The user's standing watcher is used, or one is started before the first box; when it is lost, another takes its place, and goes on with
 * its chain.  Who refuses runs meanwhile is the warden (wire/terms.h): so nothing depends on how soon that is noticed here.
 */
#ifndef RF_SERVER_NOTARY_H
#define RF_SERVER_NOTARY_H

#include "audit/event.h"
#include "base/err.h"
#include "base/loop.h"

struct rf_notary;
struct rf_landlord_options;

/* Waits until one stands.  `on_back` is called whenever another does.  Gives. */
int rf_notary_new(struct rf_loop *loop, const struct rf_landlord_options *options,
		  void (*on_back)(void *data), void *data, struct rf_notary **ret_notary,
		  struct rf_err *err);

/* A further connection to the watcher, for somebody who can't connect himself.  Gives `*ret_fd`. */
int rf_notary_lend(const struct rf_notary *notary, int *ret_fd, struct rf_err *err);

/* The watcher's figures, as Prometheus reads them. */
int rf_notary_ask_figures(struct rf_notary *notary, struct rf_buf *out, struct rf_err *err);

/* Lets go of it; one that was started here ends, when all who tell it something have.  Accepts NULL. */
void rf_notary_free(struct rf_notary *notary);

/* Records an event of the server's own; not waited for. */
void rf_notary_note(struct rf_notary *notary, const struct rf_audit_event *event);

#endif
