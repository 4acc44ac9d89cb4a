/*
 * Network addresses, and which of them are public.
 *
 * All have sixteen octets; an IPv4 address is ::ffff:a.b.c.d.  A name that is allowed says nothing
 * about where it leads: its owner, or whoever answers for its owner, may let it lead to this machine,
 * to the network around it, or to the service that hands out a cloud machine's keys.  So each address
 * is looked up in the table of special addresses before it is dialled, and so is the IPv4 address
 * that an IPv6 address carries within.
 *
 * Pure: no system call.
 */
#ifndef RF_HTTP_ADDRESS_H
#define RF_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define RF_ADDRESS_TEXT 46  /* INET6_ADDRSTRLEN */
#define RF_ADDRESS_BITS 128 /* of a single address */

enum rf_address_kind {
	RF_ADDRESS_PUBLIC,
	RF_ADDRESS_UNSPECIFIED, /* 0.0.0.0/8, :: */
	RF_ADDRESS_LOOPBACK,
	RF_ADDRESS_METADATA, /* where clouds tell a machine its secrets */
	RF_ADDRESS_LINK_LOCAL,
	RF_ADDRESS_PRIVATE, /* RFC 1918, fc00::/7, fec0::/10 */
	RF_ADDRESS_SHARED,  /* of a provider's own network: 100.64/10 */
	RF_ADDRESS_MULTICAST,
	RF_ADDRESS_RESERVED, /* for documentation, measurement, or the future: nobody is there */
	RF_ADDRESS_KINDS
};

struct rf_address {
	uint8_t octets[16];
};

bool rf_address_is_v4(const struct rf_address *addr);
struct rf_address rf_address_v4(const uint8_t octets[4]);

/* Reads "192.0.2.1" or "2001:db8::1", as inet_pton(3) does. */
bool rf_address_parse(const char *text, struct rf_address *ret_addr);
void rf_address_format(const struct rf_address *addr, char text[RF_ADDRESS_TEXT]);

/* From and to a socket's address: an IPv4 address becomes AF_INET. */
bool rf_address_from(const struct sockaddr *from, struct rf_address *ret_addr, uint16_t *ret_port);
socklen_t rf_address_to(const struct rf_address *addr, uint16_t port,
			struct sockaddr_storage *ret_to);

/* The kind of an address, or the worst of what it carries within. */
enum rf_address_kind rf_address_kind(const struct rf_address *addr);

/*
 * A row of the table: the first `bits` of an address decide that it is of this kind.  Rows lie
 * within each other or apart: the metadata service 169.254.169.254/32 lies within link-local
 * 169.254.0.0/16, and the innermost row counts.
 */
struct rf_address_row {
	enum rf_address_kind kind; /* RF_ADDRESS_PUBLIC: no row, and `bits` is 0 */
	uint8_t bits;
};

/*
 * The innermost row in which a prefix lies wholly.  A prefix that straddles rows (0.0.0.0/0,
 * 168.0.0.0/6) lies in none.
 */
struct rf_address_row rf_address_row(const uint8_t prefix[16], unsigned bits);

/*
 * Whether a rule for the first `rule_bits` of `prefix` grants the narrower prefix of `bits` (128: one
 * address).  This one answer is used by the gateway, by `why` and by the meet of two policies:
 *
 *   - What lies wholly in a row is granted only by a rule that lies in that row itself.  Such a rule
 *     names it: 10.0.0.0/8 names private addresses, 169.254.0.0/16 link-local ones but not the
 *     metadata service within, for which it takes 169.254.169.254.
 *   - Any other rule means the Internet: 0.0.0.0/0, 168.0.0.0/6, a host pattern or `mode: open`
 *     (`rule_bits` 0) grant public addresses alone.
 *   - A prefix that lies in no row names nothing, so it can be handed on under any rule: whoever
 *     dials asks again, of the single address.
 */
bool rf_address_is_granted(unsigned rule_bits, const uint8_t prefix[16], unsigned bits);

/*
 * The IPv4 address that an IPv6 address leads to (NAT64, 6to4 and their like), as ::ffff:a.b.c.d.
 * False if there is none.
 */
bool rf_address_within(const struct rf_address *addr, struct rf_address *ret_within);

/* "a loopback address" and so on. */
const char *rf_address_words(enum rf_address_kind kind);

bool rf_address_is_same(const struct rf_address *addr, const struct rf_address *other);

#endif
