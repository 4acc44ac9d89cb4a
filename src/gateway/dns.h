/*
 * DNS as a box speaks it: a query taken apart, and its answer written.
 *
 * Pure, and with no memory of its own.  Only what programs send is read: one question, its name in full (a query has nothing that a
 * compressed name could point to), and an OPT record for the room that the asker has.  What is answered repeats the question octet for octet, so
 * that an asker who mixes upper and lower case to recognise answers (0x20) finds its own.
 *
 * Nothing is ever asked of another server: who answers knows the names.
 */
#ifndef RF_GATEWAY_DNS_H
#define RF_GATEWAY_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_DNS_UDP    512  /* bytes of an answer that every asker takes */
#define RF_DNS_EDNS   1232 /* and that we take, and send at most, on UDP */
#define RF_DNS_QUERY  4096 /* bytes of a query: more is none */
#define RF_DNS_ANSWER 512  /* room for any answer of ours */
#define RF_DNS_NAME   254  /* a name as text, with its NUL */

enum rf_dns_rcode {
	RF_DNS_WELL = 0,
	RF_DNS_MALFORMED = 1, /* FORMERR */
	RF_DNS_FAILED = 2,    /* SERVFAIL */
	RF_DNS_NO_NAME = 3,   /* NXDOMAIN */
	RF_DNS_UNKNOWN = 4,   /* NOTIMP */
	RF_DNS_REFUSED = 5,
	RF_DNS_VERSION = 16, /* BADVERS */
};

enum rf_dns_type {
	RF_DNS_A = 1,
	RF_DNS_PTR = 12,
	RF_DNS_AAAA = 28,
	RF_DNS_SVCB = 64,
	RF_DNS_HTTPS = 65,
};

struct rf_dns_query {
	uint16_t id;
	bool wants_recursion, is_check_disabled;
	bool has_question; /* what follows holds */
	uint16_t type, class;
	const uint8_t *question; /* in the query: name, type and class */
	size_t question_len;
	char name
		[RF_DNS_NAME]; /* in lower case, without a dot at its end; "" if it has octets that no text can show */
	bool has_edns;
	uint16_t room; /* bytes of an answer that the asker takes on UDP */
};

/*
 * Reads a query of `len` bytes (borrows them).  RF_DNS_WELL: the question is to be answered.  Another code: that is the answer, and the question is
 * there if `has_question`.  A negative errno: it is no query, and nothing is answered.
 */
int rf_dns_parse(const uint8_t *data, size_t len, struct rf_dns_query *ret_query);

struct rf_dns_answer {
	enum rf_dns_rcode rcode;
	const uint8_t *address; /* of `address_len` bytes, 4 or 16; NULL: none of that type */
	size_t address_len;
	uint32_t ttl_s;
};

/* Writes the answer; the number of bytes, at most RF_DNS_ANSWER, or 0 if there is no room for it. */
size_t rf_dns_format(const struct rf_dns_query *query, const struct rf_dns_answer *answer,
		     uint8_t *data, size_t room);

#endif
