/*
 * What an octet may be part of: one table for every reader and writer of this folder.
 *
 * The C library's isalpha() and its like follow the locale; these follow the RFCs.
 */
#ifndef RF_HTTP_OCTET_H
#define RF_HTTP_OCTET_H

#include <stdbool.h>
#include <stdint.h>

enum rf_octet {
	RF_OCTET_TOKEN = 1,   /* a field's name, an element of a list (RFC 9110, 5.6.2) */
	RF_OCTET_TEXT = 2,    /* a field's value: all but control characters, with the tab (5.5) */
	RF_OCTET_TARGET = 4,  /* a request target: see octet.c for what of RFC 3986 and beyond */
	RF_OCTET_METHOD = 8,  /* a method: upper-case letters and the hyphen */
	RF_OCTET_DIGIT = 16,  /* 0 to 9 */
	RF_OCTET_HEX = 32,    /* a hexadecimal digit of either case */
	RF_OCTET_LABEL = 64,  /* a label of a host's name: letters, digits, hyphen */
	RF_OCTET_PLAIN = 128, /* unreserved in a URL: its percent-coded form means the same */
};

extern const uint8_t rf_octet_table[256];

static inline bool rf_octet_is(char octet, enum rf_octet part)
{
	return rf_octet_table[(uint8_t)octet] & part;
}

static inline char rf_octet_lower(char octet)
{
	return octet >= 'A' && octet <= 'Z' ? (char)(octet + ('a' - 'A')) : octet;
}

/* The value of a hexadecimal digit, which the octet is. */
static inline unsigned rf_octet_hex(char octet)
{
	return octet <= '9' ? (unsigned)(octet - '0')
			    : (unsigned)(rf_octet_lower(octet) - 'a') + 10;
}

#endif
