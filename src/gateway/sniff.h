/*
 * What a connection's first bytes say it is: TLS, and for whom; HTTP; or something else.
 *
 * Pure.  The caller shows all bytes from the first one on, again with more of them as they come, and leaves them where they are: whoever gets
 * the connection reads them.  A ClientHello may be cut into records in any way, and ends with one; nothing behind it is looked at.
 */
#ifndef RF_GATEWAY_SNIFF_H
#define RF_GATEWAY_SNIFF_H

#include "http/host.h"
#include "http/span.h"

#define RF_SNIFF_MOST                                                                              \
	(24 * 1024) /* bytes that are looked at: a ClientHello of 16 KiB in small records */

/* Kinds of TLS records that a connection can begin with, on either side. */
#define RF_SNIFF_ALERT     21
#define RF_SNIFF_HANDSHAKE 22

enum rf_sniff_kind {
	RF_SNIFF_MORE,  /* what is there says nothing yet */
	RF_SNIFF_TLS,   /* a whole ClientHello */
	RF_SNIFF_HTTP,  /* a request of HTTP/1 */
	RF_SNIFF_HTTP2, /* the preface of HTTP/2 without TLS */
	RF_SNIFF_OTHER,
	RF_SNIFF_BAD, /* begins as TLS and is none that a server would take */
};

struct rf_sniff {
	enum rf_sniff_kind kind;
	/* Of TLS: */
	bool has_name;
	struct rf_host name; /* for whom; a name that is no host's is RF_SNIFF_BAD */
	bool offers_h2;      /* among its application protocols */
	bool has_ech;        /* an encrypted ClientHello, or what only looks like one */
	size_t bytes;        /* of its records, which hold nothing else */
};

/* True if the first line names a version of HTTP, though it is no request: whoever sent it may read an answer in HTTP. */
bool rf_sniff_is_like_http(struct rf_span bytes);

/* `bytes` are the first of the connection. */
void rf_sniff_look(struct rf_span bytes, struct rf_sniff *ret_sniff);

#endif
