/*
 * What the gateway of a warden's box tells of its network, passed on to the watcher: one after the other while events are few, many
 * together a few times a second.
 */
#ifndef RF_WARDEN_GOSSIP_H
#define RF_WARDEN_GOSSIP_H

#include <stdint.h>

#include "audit/account.h"
#include "base/buf.h"
#include "warden/scribe.h"
#include "warden/work.h"

/* Zeros at first. */
struct rf_gossip {
	struct rf_work *work;     /* borrowed */
	struct rf_scribe *scribe; /* borrowed */
	struct rf_buf body;       /* events that were not sent yet */
	uint64_t sent_ns;
	struct rf_account account;
	struct rf_scribe_note *note; /* a question about the books; or NULL */
};

/* From now on, what happens in the network of that run is told, if the run is. */
void rf_gossip_listen(struct rf_gossip *gossip, struct rf_work *work, struct rf_scribe *scribe);

/* Sends what is left: the run is over. */
void rf_gossip_pass_on(struct rf_gossip *gossip);

/*
 * Asks the watcher what the box's gateway is to know (audit/account.h): true if fn(data) will be answered.  Then rf_gossip_pass_books() says it
 * to the gateway.  rf_gossip_renew_books() does both, and nobody waits for it.
 */
bool rf_gossip_ask_books(struct rf_gossip *gossip, rf_scribe_fn *fn, void *data,
			 struct rf_scribe_note **ret_note);
void rf_gossip_pass_books(struct rf_gossip *gossip, const char *answer);
void rf_gossip_renew_books(struct rf_gossip *gossip);

void rf_gossip_done(struct rf_gossip *gossip);

#endif
