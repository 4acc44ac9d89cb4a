/*
 * The resolver of a box: answers what comes to port 53, and asks nobody.
 *
 * A name that the policy allows has an address of its own here (names.h), whether or not it exists in the world: that is found out when it is
 * dialled.  One that it does not allow does not exist.
 */
#ifndef RF_GATEWAY_DNS_LINE_H
#define RF_GATEWAY_DNS_LINE_H

#include "gateway/outlet.h"

/* Answers datagrams that wait on `fd`. */
void rf_dns_line_datagrams(struct rf_outlet *outlet, int fd);

/* A connection to port 53 (takes `*fd`). */
void rf_dns_line_accept(struct rf_outlet *outlet, int *fd);
void rf_dns_line_close(struct rf_outlet *outlet);

#endif
