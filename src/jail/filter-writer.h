/*
 * What the parts of the filter share: leaves of its tree, and the writer of its instructions.  For
 * filter.c, which has the tree and the table's looks at arguments, and filter-profile.c.
 */
#ifndef RF_JAIL_FILTER_WRITER_H
#define RF_JAIL_FILTER_WRITER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/filter.h"

#define RF_FILTER_AT(offset) ((uint32_t)offsetof(struct seccomp_data, offset))

/* A call's number and what becomes of it. */
struct rf_filter_leaf {
	int nr;
	uint32_t action; /* when there is no check */
	enum rf_call_check check;
	bool has_rules; /* of profiles, which look at arguments */
};

/* Appends instructions; `is_full` once they no longer fit. */
struct rf_filter_writer {
	struct rf_filter *filter;
	const struct rf_call_options *options;
	const struct rf_ruleset *const *rulesets;
	size_t ruleset_count;
	uint32_t allow; /* what is returned for ALLOW, or 0 for that itself */
	bool is_full;
};

void rf_filter_put(struct rf_filter_writer *w, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k);
void rf_filter_ret(struct rf_filter_writer *w, uint32_t action);

/* Load the low half of argument `n` (the machines we know have it first), or the high one. */
void rf_filter_load_arg(struct rf_filter_writer *w, unsigned n);
void rf_filter_load_high(struct rf_filter_writer *w, unsigned n);

/* Writes the table's own verdict. */
void rf_filter_put_verdict(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf);

/* Joins what the profiles say of a number into its leaf, as far as arguments have no part in it. */
void rf_filter_join_profiles(const struct rf_filter_writer *w, struct rf_filter_leaf *leaf);

/* Writes the profiles' rules for a call that has some, and the table's verdict behind them. */
void rf_filter_put_profiles(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf);

#endif
