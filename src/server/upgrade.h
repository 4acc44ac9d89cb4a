/*
 * A request that asks to go on as a WebSocket: what its head says of that (RFC 6455, 4.2.1).
 *
 * A page's script can't set fields of such a request but the names of protocols, so a key may come as one of them, "key.TOKEN"; it is confirmed to nobody, and never stands in
 * an address, which others write down.  Pure.
 */
#ifndef RF_SERVER_UPGRADE_H
#define RF_SERVER_UPGRADE_H

#include <stdbool.h>

#include "http/http1.h"
#include "server/api-error.h"

#define RF_UPGRADE_PROTOCOL "ringfort" /* what our own messages are called */
#define RF_UPGRADE_KEY      "key."
#define RF_UPGRADE_TOKEN    201 /* bytes of a key, with a NUL */

struct rf_upgrade {
	bool is_websocket;    /* else the rest is empty */
	bool offers_any;      /* names of protocols, keys not counted */
	bool offers_ringfort; /* ours is among them */
	char key[32];         /* Sec-WebSocket-Key */
	char token[RF_UPGRADE_TOKEN];
};

/* Reads a head.  One that asks for another protocol asks for none that we know; one that asks for a WebSocket in a wrong way is refused: -1. */
int rf_upgrade_read(const struct rf_http1_head *head, struct rf_upgrade *ret_upgrade,
		    struct rf_api_error *error);

/* Takes the next name of a protocol off a list, keys passed over.  1, and 0 at its end. */
int rf_upgrade_next(struct rf_span *list, struct rf_span *ret_name);

#endif
