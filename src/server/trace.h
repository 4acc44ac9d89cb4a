/*
 * Where a request stands in a trace (W3C Trace Context): goes on with the client's, or begins one.  Pure.
 *
 * What a client says is read strictly (version 00, lower case, nothing that is all zeros); what is anything else is as if it had said nothing.
 */
#ifndef RF_SERVER_TRACE_H
#define RF_SERVER_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/span.h"

#define RF_TRACE_TEXT   56 /* bytes of a traceparent, with a NUL */
#define RF_TRACE_CHANCE 24 /* random bytes that ids are made from */

struct rf_trace {
	char id[33];     /* of the whole trace */
	char span[17];   /* of this request */
	char parent[17]; /* of what it is a part of, or "" */
	char flags[3];
};

/* Reads a traceparent; false if it is none. */
bool rf_trace_read(struct rf_span text, struct rf_trace *ret_trace);

/* A span of its own in the client's trace, or in one that begins here. */
void rf_trace_begin(struct rf_span client, const uint8_t chance[RF_TRACE_CHANCE],
		    struct rf_trace *ret_trace);

/* What is a part of this span is told so. */
void rf_trace_format(const struct rf_trace *trace, char text[RF_TRACE_TEXT]);

#endif
