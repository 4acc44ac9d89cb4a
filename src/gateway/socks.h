/*
 * SOCKS5 as a box speaks it (RFC 1928): a greeting, and where it wants to go.
 *
 * Pure.  Only CONNECT, without a password: who can reach the listener is the box.  A name is a host as everywhere else, so what has a NUL, a blank
 * or a dot too many in it is none.
 */
#ifndef RF_GATEWAY_SOCKS_H
#define RF_GATEWAY_SOCKS_H

#include "http/host.h"

#define RF_SOCKS_VERSION 5
#define RF_SOCKS_MOST    262 /* bytes of a request: the longest name */

enum rf_socks_reply {
	RF_SOCKS_WELL = 0,
	RF_SOCKS_FAILED = 1,
	RF_SOCKS_DENIED = 2,
	RF_SOCKS_UNREACHABLE = 4,
	RF_SOCKS_REFUSED = 5,
	RF_SOCKS_COMMAND = 7, /* not supported */
	RF_SOCKS_ADDRESS = 8,
};

/* All take what has come so far: 1 and what was used, 0 for more, -EPROTO for what is none. */
int rf_socks_greeting(struct rf_span bytes, size_t *ret_used, bool *ret_is_open);

/* On -EPROTO `*ret_reply` says what to answer. */
int rf_socks_request(struct rf_span bytes, size_t *ret_used, struct rf_host *ret_host,
		     uint16_t *ret_port, enum rf_socks_reply *ret_reply);

/* The answer to a request: ten bytes. */
struct rf_span rf_socks_answer(enum rf_socks_reply reply, char room[10]);

#endif
