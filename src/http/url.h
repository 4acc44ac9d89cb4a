/*
 * Where a request goes: an authority (host and port), and the URLs that have one.
 *
 * Only http and https; no user, no password, no fragment.  Host and port come out in one form, the rest as it stood: what a
 * path means is url-path.h's question.
 */
#ifndef RF_HTTP_URL_H
#define RF_HTTP_URL_H

#include "http/host.h"

enum rf_url_scheme {
	RF_URL_HTTP,
	RF_URL_HTTPS
};

struct rf_authority {
	struct rf_host host;
	uint16_t port; /* 0: none was named */
};

struct rf_url {
	enum rf_url_scheme scheme;
	struct rf_authority authority; /* with the scheme's port, if none was named */
	struct rf_span path;           /* begins with a slash, or is empty */
	struct rf_span query;          /* without its question mark */
	bool has_query;
};

/* Reads "host" or "host:port". */
enum rf_fault rf_url_parse_authority(struct rf_span text, struct rf_authority *ret_authority);

/* Reads a whole URL; its spans are of `text`. */
enum rf_fault rf_url_parse(struct rf_span text, struct rf_url *ret_url);

/* Divides a path with an optional query at the question mark.  Refuses what no target may contain. */
enum rf_fault rf_url_divide(struct rf_span text, struct rf_url *url);

uint16_t rf_url_port(enum rf_url_scheme scheme);

#endif
