/*
 * What is said to the herald: where it tells what, and what there is to be told.  Pure.
 *
 * BEGIN says where, once; TELL brings an event as it stands in the log; FIGURES those of the watcher, as Prometheus reads them; SPAN a request that the front
 * has answered, in the front's own words, which are bounded and plain and count for nothing but a trace.
 */
#ifndef RF_SERVER_HERALD_WORD_H
#define RF_SERVER_HERALD_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_HERALD_TARGETS 9 /* the last is the collector */
#define RF_HERALD_TEXT    1025
#define RF_HERALD_SECRET  513
#define RF_HERALD_ROOTS   (256 * 1024)

struct rf_herald_target {
	const char *url, *secret,
		*roots; /* borrowed; a collector has no secret; roots: PEM, or "" */
	uint32_t topics, tries;
};

struct rf_herald_rules {
	struct rf_herald_target targets[RF_HERALD_TARGETS];
	size_t count;
	bool has_collector; /* the last of them */
};

struct rf_herald_span {
	char trace[33], span[17], parent[17]; /* hexadecimal; parent may be "" */
	char name[97];                        /* "POST /v1/run" */
	char tenant[65], request[65];         /* or "" */
	uint32_t status;
	uint64_t start_ns, took_ns; /* since 1970 */
};

void rf_herald_word_put_rules(const struct rf_herald_rules *rules, struct rf_buf *out);
int rf_herald_word_take_rules(const void *data, size_t len, struct rf_herald_rules *ret_rules,
			      struct rf_err *err);
void rf_herald_word_put_span(const struct rf_herald_span *span, struct rf_buf *out);
int rf_herald_word_take_span(const void *data, size_t len, struct rf_herald_span *ret_span,
			     struct rf_err *err);

#endif
