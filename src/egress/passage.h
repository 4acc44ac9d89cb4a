/*
 * A passage: the client's side of a box's way out, up to the point where the box is there.
 *
 * Shared by the command line and by libringfort.  A gateway is reached, a box asked for with its policy and its credentials, and what the
 * gateway presents for others is made known to the box.  The values of credentials go from this process to the gateway and
 * nowhere else: not to the warden, not into the box.
 */
#ifndef RF_EGRESS_PASSAGE_H
#define RF_EGRESS_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "egress/purse.h"
#include "policy/net.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "wire/peer.h"

#define RF_PASSAGE_BOX   1  /* what a box is called on a connection that has one */
#define RF_PASSAGE_PORTS 16 /* that one box may publish */
#define RF_PASSAGE_ID    17 /* bytes of a box's id, with a NUL */

/*
 * A connection to the user's standing gateway, where it stands and is what we are (`self`: as in rf_gate_connect()).  A policy with
 * `network.mask` (`has_masks`) has one of its own: the engine is in no other.  False: there is none for us.
 */
bool rf_passage_join(rf_peer_self_fn *self, bool has_masks, int *ret_fd);

/* A connection to a gateway: the standing one (`may_stand`), or one of our own, which is `program` and ends with the connection. */
int rf_passage_reach(const char *program, bool may_stand, bool has_masks, int *ret_fd,
		     struct rf_err *err);

/* A random id. */
int rf_passage_name(char id[RF_PASSAGE_ID], struct rf_err *err);

/* A port of the host's that will lead to one of the box's.  Gives a listener. */
int rf_passage_bind(const struct rf_net_publish *port, int *ret_fd, struct rf_err *err);

struct rf_passage_wish {
	const char *id, *agent; /* of the box; `agent` may be NULL */
	const struct rf_policy *policy;
	const struct rf_purse *purse;
	const struct rf_plan *decoys;        /* whose canaries are not to leave the box; or NULL */
	bool holds_writes, looks_everywhere; /* as in struct rf_gate_open */
};

/* Asks for a box's way out (borrows all); the answer is awaited with rf_gate_await(). */
int rf_passage_ask(int fd, const struct rf_passage_wish *wish, struct rf_err *err);

#endif
