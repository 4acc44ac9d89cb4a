/*
 * The built-in profiles: policies that come with the program.
 *
 * They are written as YAML in src/policy/profiles, put into the program by embed.py, and read
 * like any other policy, so they can do no more than an operator could write.
 */
#ifndef RF_POLICY_PROFILE_H
#define RF_POLICY_PROFILE_H

struct rf_profile_text {
	const char *name; /* NULL ends the table */
	const char *text;
};

extern const struct rf_profile_text rf_profile_texts[];

#endif
