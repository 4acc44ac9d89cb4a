/*
 * A plan in words, for a person or as JSON for a program.
 *
 * The table of system calls belongs to the jail, which stands above this folder; it hands its rows
 * in, grouped as they should be read.
 */
#ifndef RF_POLICY_EXPLAIN_H
#define RF_POLICY_EXPLAIN_H

#include <stddef.h>

#include "base/buf.h"
#include "policy/plan.h"

struct rf_explain_call {
	const char *name;
	const char *verdict; /* "allowed", "refused" ... */
	const char *why; /* rows that follow each other with one verdict and reason are one group */
};

struct rf_explain_program {
	const char *path; /* inside the box */
	const char *why;  /* "named", "helper of git" ... */
};

/* What the jail adds to a plan. */
struct rf_explain_calls {
	const struct rf_explain_call *rows;
	size_t count;
	const struct rf_explain_program *programs; /* what plan->commands stand for */
	size_t program_count;
};

/* Both borrow everything; `calls` may be NULL.  Check out->has_failed at the end. */
void rf_explain_text(const struct rf_plan *plan, const struct rf_explain_calls *calls,
		     struct rf_buf *out);
void rf_explain_json(const struct rf_plan *plan, const struct rf_explain_calls *calls,
		     struct rf_buf *out);

/* A part of each (explain-net.c). */
struct rf_json;
void rf_explain_net_text(const struct rf_plan *plan, struct rf_buf *out);
void rf_explain_net_json(const struct rf_plan *plan, struct rf_json *json);

/* One word for what a place is made of ("host", "scratch" ...). */
const char *rf_explain_kind(enum rf_place_kind kind);

#endif
