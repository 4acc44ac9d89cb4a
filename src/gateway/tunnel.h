/*
 * Bytes between two streams, untouched: what a WebSocket becomes when both ends have agreed on it.
 *
 * As relay.h, for connections whose bytes pass through this process anyway, because one of them is encrypted or was read ahead.
 */
#ifndef RF_GATEWAY_TUNNEL_H
#define RF_GATEWAY_TUNNEL_H

#include "gateway/relay.h"
#include "http/stream.h"

struct rf_tunnel;

/* What streams are moved to: the tunnel's own, before it is begun. */
struct rf_tunnel *rf_tunnel_new(const struct rf_relay_options *options, struct rf_err *err);
struct rf_stream *rf_tunnel_inner(struct rf_tunnel *tunnel);
struct rf_stream *rf_tunnel_outer(struct rf_tunnel *tunnel);

/* Told of events on either stream: for who moves them. */
void rf_tunnel_on_event(void *tunnel, int what);

/* Before it begins: bytes pass through `fn` from now on, which appends to `out` what is to pass.  A negative errno cuts the tunnel. */
typedef int rf_tunnel_filter_fn(void *data, bool is_up, struct rf_span bytes, struct rf_buf *out);
void rf_tunnel_filter(struct rf_tunnel *tunnel, rf_tunnel_filter_fn *fn, void *data);

/* Both streams are there: begins. */
void rf_tunnel_begin(struct rf_tunnel *tunnel);

/* Closes both; the options' `fn` is not called. */
struct rf_relay_counts rf_tunnel_cut(struct rf_tunnel *tunnel);

#endif
