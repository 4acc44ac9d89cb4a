/*
 * The built-in profiles: policies that come with the program.
 *
 * They are written as YAML in src/policy/profiles, put into the program by embed.py, and read
 * like any other policy, so they can do no more than an operator could write.
 */
#ifndef RF_POLICY_PROFILE_H
#define RF_POLICY_PROFILE_H

#include <stddef.h>

#include "base/err.h"

struct rf_profile_text {
	const char *name; /* NULL ends the table */
	const char *text;
};

extern const struct rf_profile_text rf_profile_texts[];

/* The profile of this name, or NULL. */
const struct rf_profile_text *rf_profile_find(const char *name);

/* The same as a source of a chain; gives `*ret_text`, or says which names there are. */
struct rf_chain_text;
int rf_profile_load(const char *name, struct rf_chain_text *ret_text, struct rf_err *err);

/* What a profile is for: the first line of comment in its text, cut to `size`.  "" without one. */
void rf_profile_summary(const char *text, char *summary, size_t size);

#endif
