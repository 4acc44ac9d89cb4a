/*
 * Ports of a box that the host reaches: a listener outside leads to one inside, by sockets that were made there.
 */
#ifndef RF_GATEWAY_PUBLISH_H
#define RF_GATEWAY_PUBLISH_H

#include "gateway/outlet.h"

#define RF_PUBLISH_STOCK 256 /* sockets that are kept */

/* A connection from outside, to a port of the box's (takes `*fd`). */
void rf_publish_accept(struct rf_outlet *outlet, uint16_t port, int *fd);

/* Keeps a socket of the box's network, not yet connected (takes `*fd`). */
void rf_publish_stock(struct rf_outlet *outlet, int *fd);
void rf_publish_close(struct rf_outlet *outlet);

#endif
