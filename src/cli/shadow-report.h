/* What became of a shadow run, as one JSON document. */
#ifndef RF_CLI_SHADOW_REPORT_H
#define RF_CLI_SHADOW_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "result/result.h"
#include "wire/held.h"
#include "workspace/apply.h"

enum rf_shadow_verdict {
	RF_SHADOW_DISCARDED,  /* it failed, was not verified, or something went wrong */
	RF_SHADOW_APPLIED,    /* all of it */
	RF_SHADOW_REFUSED,    /* verified, and yet not to be applied as it is */
	RF_SHADOW_DECLINED,   /* by who was asked */
	RF_SHADOW_UNFINISHED, /* an apply that could not be finished, nor taken back */
};

/* One verification. */
struct rf_shadow_check {
	const char *command; /* borrowed */
	struct rf_result result;
	bool has_run, has_passed;
};

struct rf_shadow_report {
	enum rf_shadow_verdict verdict;
	const char *directory; /* or NULL; borrowed, as all of these */
	const char *workspace; /* that takes it back, or NULL */
	struct rf_err why;     /* where it was not applied */
	struct rf_result *run; /* or NULL: nothing ran */
	struct rf_shadow_check *checks;
	size_t check_count;
	struct rf_delta delta;    /* what it changed */
	struct rf_apply apply;    /* what became of that, where it got so far */
	struct rf_held_list held; /* requests that it made, and that are sent once it is applied */
};

const char *rf_shadow_report_verdict(enum rf_shadow_verdict verdict);

/* A line for each change, those apart that act later on the host; and for each request that was held back. */
void rf_shadow_report_changes(const struct rf_shadow_report *report, struct rf_style style,
			      struct rf_buf *out);
/* What is asked of a person then. */
void rf_shadow_report_question(const struct rf_shadow_report *report, struct rf_style style,
			       struct rf_buf *out);
void rf_shadow_report_json(const struct rf_shadow_report *report, struct rf_buf *out);

#endif
