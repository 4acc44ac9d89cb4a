/* The requests of a trial run that were held back, in their order, and what became of each. */
#ifndef RF_WIRE_HELD_H
#define RF_WIRE_HELD_H

#include "wire/gate.h"

enum rf_held_state {
	RF_HELD_KEPT, /* nobody has sent it */
	RF_HELD_SENT,
	RF_HELD_FAILED, /* it was tried, and not answered well */
};

struct rf_held {
	struct rf_gate_held request; /* owns its texts and its bytes */
	enum rf_held_state state;
	unsigned status;  /* of the answer, or 0 */
	char reason[128]; /* why it failed, or "" */
};

/* Starts as zeros. */
struct rf_held_list {
	struct rf_held *items;
	size_t count, room, bytes;
};

/* Copies.  -ENOMEM, or -E2BIG for more than a gateway would hold. */
int rf_held_add(struct rf_held_list *list, const struct rf_gate_held *held);
void rf_held_done(struct rf_held_list *list);

/* "kept", "sent", "failed". */
const char *rf_held_state_name(enum rf_held_state state);

#endif
