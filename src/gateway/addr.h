/*
 * Addresses, and which of them nobody may be led to by a name.
 *
 * All are of sixteen octets; one of IPv4 is ::ffff:a.b.c.d.  A name that is allowed says nothing about where it leads: its owner, or who
 * answers for its owner, may let it lead to this machine, to the network around it, or to the service that hands out a cloud machine's keys.  So each address that a
 * name gave is looked at before it is dialled, and so is an address of IPv4 that one of IPv6 carries within.
 */
#ifndef RF_GATEWAY_ADDR_H
#define RF_GATEWAY_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define RF_ADDR_TEXT 46 /* INET6_ADDRSTRLEN */

enum rf_addr_kind {
	RF_ADDR_PUBLIC,
	RF_ADDR_UNSPECIFIED, /* 0.0.0.0/8, :: */
	RF_ADDR_LOOPBACK,
	RF_ADDR_METADATA, /* where clouds tell a machine its secrets */
	RF_ADDR_LINK_LOCAL,
	RF_ADDR_PRIVATE, /* RFC 1918, fc00::/7, fec0::/10 */
	RF_ADDR_SHARED,  /* of a provider's own network: 100.64/10 */
	RF_ADDR_MULTICAST,
	RF_ADDR_RESERVED, /* for documentation, measurement, or the future: nobody is there */
	RF_ADDR_KINDS
};

struct rf_addr {
	uint8_t octets[16];
};

bool rf_addr_is_v4(const struct rf_addr *addr);
struct rf_addr rf_addr_v4(const uint8_t octets[4]);

/* Reads "192.0.2.1" or "2001:db8::1", as inet_pton(3) does. */
bool rf_addr_parse(const char *text, struct rf_addr *ret_addr);
void rf_addr_format(const struct rf_addr *addr, char text[RF_ADDR_TEXT]);

/* From and to what sockets take: one of IPv4 becomes AF_INET. */
bool rf_addr_from(const struct sockaddr *from, struct rf_addr *ret_addr, uint16_t *ret_port);
socklen_t rf_addr_to(const struct rf_addr *addr, uint16_t port, struct sockaddr_storage *ret_to);

/* What an address is, or the worst of what it carries within. */
enum rf_addr_kind rf_addr_kind(const struct rf_addr *addr);

/* The address of IPv4 that one of IPv6 leads to (NAT64, 6to4 and their like), as ::ffff:a.b.c.d.  False if there is none. */
bool rf_addr_within(const struct rf_addr *addr, struct rf_addr *ret_within);

/* "a loopback address" and so on. */
const char *rf_addr_words(enum rf_addr_kind kind);

bool rf_addr_is_same(const struct rf_addr *addr, const struct rf_addr *other);

/* This machine's own addresses, read anew when they are older than some seconds. */
struct rf_addr_own;
struct rf_addr_own *rf_addr_own_new(void);
void rf_addr_own_free(struct rf_addr_own *own);

/* True if it is one of this machine's, or if that can't be found out. */
bool rf_addr_is_own(struct rf_addr_own *own, const struct rf_addr *addr, uint64_t now_ns);

#endif
