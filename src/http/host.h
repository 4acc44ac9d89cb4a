/*
 * A host, in the one form that everybody compares.
 *
 * A host has many spellings, and where two parties read one differently, a rule about it is worth nothing.  So
 * it is read once, strictly, into a form that has no other: lower case, no dot at the end, no brackets, an address as its
 * bytes.  What systems read as an address though it does not look like one (0x7f.1, 2130706433, 127.1, 0177.0.0.1) is
 * refused, as are zones of IPv6, percent-codes, and anything outside of letters, digits and hyphens.  Names of other
 * scripts come as their xn-- labels.
 */
#ifndef RF_HTTP_HOST_H
#define RF_HTTP_HOST_H

#include <stdint.h>

#include "http/fault.h"
#include "http/span.h"

#define RF_HOST_TEXT 253 /* the longest name, without a dot at its end */

enum rf_host_kind {
	RF_HOST_NAME,
	RF_HOST_IPV4,
	RF_HOST_IPV6
};

struct rf_host {
	enum rf_host_kind kind;
	uint8_t address[16]; /* in network order: four bytes of it, all, or none */
	uint8_t len;
	char text[RF_HOST_TEXT +
		  1]; /* the canonical form, with a NUL; an IPv6 address has no brackets */
};

/* Reads a host as it stands in a URL or a Host field: an IPv6 address has its brackets. */
enum rf_fault rf_host_parse(struct rf_span text, struct rf_host *ret_host);

bool rf_host_is_same(const struct rf_host *host, const struct rf_host *other);

#endif
