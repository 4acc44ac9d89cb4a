/*
 * The clerk's part in writes that wait for approval: keeps them, and decides about each once.
 *
 * A box whose policy says `network.writes: hold`, by its own or by its key's ceiling, has a line from its gateway to here (gateway/custody.h), which was
 * made before anybody else had the box's connection: so neither the box nor the front reaches it.  A thread listens to all of them; who asks and decides does so in
 * threads of the clerk's.  What arrives is recorded before its program hears that it is kept, and what is approved is recorded before it is sent: where no watcher
 * stands, neither happens.
 *
 *     ARRIVING  it is being recorded
 *     WAITING   it can be seen, and decided about
 *     DECIDING  somebody has: that is being recorded, and it is sent, and nobody else can any more
 *     APPROVED, DENIED, EXPIRED   for good; its message is gone, and of a tenant's the last ones are remembered
 *
 * Whose it is is noted when its line is made, from the terms of the connection on which the box's way out was asked for.
 */
#ifndef RF_SERVER_CUSTODIAN_H
#define RF_SERVER_CUSTODIAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "server/approval-ask.h"
#include "server/clerk.h"
#include "wire/gate.h"

enum rf_custodian_state {
	RF_CUSTODIAN_ARRIVING,
	RF_CUSTODIAN_WAITING,
	RF_CUSTODIAN_DECIDING,
	RF_CUSTODIAN_APPROVED,
	RF_CUSTODIAN_DENIED,
	RF_CUSTODIAN_EXPIRED,
	RF_CUSTODIAN_STATES
};

/* Whose writes they are. */
struct rf_custodian_owner {
	char tenant[RF_TERMS_NAME], key[RF_TERMS_NAME];
	char agent[RF_TERMS_NAME];        /* as its tenant calls it, or "" */
	char sandbox[RF_APPROVAL_ASK_ID]; /* or "": it is not known yet */
};

/* One of them, as others see it. */
struct rf_custodian_item {
	char id[RF_APPROVAL_ASK_ID];
	enum rf_custodian_state state;
	struct rf_custodian_owner owner;
	char host[RF_GATE_HOST], method[RF_GATE_METHOD], path[RF_GATE_PATH]; /* without the query */
	uint16_t port;
	bool is_tls;
	size_t size;                               /* bytes of the whole message */
	uint64_t asked_ns, expires_ns, decided_ns; /* since 1970; the last is 0 until it is */
	char by[RF_TERMS_NAME];                    /* the key that decided, or "" */
	char reason[RF_APPROVAL_ASK_REASON];
	char *message;  /* of `size` bytes, or NULL: it is gone */
	size_t body_at; /* where its body begins */
	char body_sha256[2 * RF_SHA256_BYTES + 1];
};

/* Has the box on this connection to a gateway (borrows), which is not sealed yet, ask here about its writes. */
int rf_custodian_adopt(int gateway, const struct rf_clerk_asker *who, const char *agent,
		       struct rf_err *err);

/* Whose writes somebody may see and decide about: a tenant's, or NULL for all. */
const char *rf_custodian_whose(const struct rf_clerk_asker *who);

/* Calls `fn` for those of a tenant's (or all) that wait and were asked after that, in order, until it says false.  It must not wait: nobody else does anything meanwhile. */
typedef bool rf_custodian_fn(void *data, const struct rf_custodian_item *item);
void rf_custodian_each(const char *tenant, uint64_t after_ns, rf_custodian_fn *fn, void *data);

/* Calls it for one, waiting or decided.  -ENOENT: the tenant has none of this name. */
int rf_custodian_look(const char *tenant, const char *id, rf_custodian_fn *fn, void *data,
		      struct rf_err *err);

/*
 * Decides.  -EBUSY: somebody has, or its time was over; -EHOSTDOWN: it can't be recorded, and waits on, or is denied where the log
 * may have it nevertheless; -ETIMEDOUT: it was approved, and its
 * gateway did not take it in, so it is over.  What is approved is on its way then, and
 * `*ret_fd` is the connection on which it is answered; nothing that is written there counts.
 */
int rf_custodian_decide(const struct rf_clerk_asker *who,
			const struct rf_approval_ask_decision *decision, int *ret_fd,
			struct rf_err *err);

/* The server ends: whatever waits, arrives or is still being decided about is denied, and that recorded.  Once, when the clerk's threads had their time. */
void rf_custodian_end(void);

#endif
