/*
 * Random policies for property tests: every key of the language has a row in a table, by its own
 * name or by its type, and a key without one fails the test that asks (rf_generator_missing()).
 *
 * Names, paths and addresses are few, so that rules of two policies often touch.
 */
#ifndef RF_TEST_POLICY_GENERATOR_H
#define RF_TEST_POLICY_GENERATOR_H

#include "http/address.h"
#include "http/host.h"
#include "policy/policy.h"

/* One source of chance: the same start gives the same policies and questions. */
struct rf_generator {
	uint64_t state;
};

unsigned rf_generator_pick(struct rf_generator *g, unsigned below);

/* A policy of what the keys can say.  Gives it; NULL when memory is gone. */
struct rf_policy *rf_generator_policy(struct rf_generator *g);

/* The first key of the language that has no row, or NULL. */
const char *rf_generator_missing(void);

/* What a box could ask for: of the names and addresses that the rules are about, and their neighbours. */
struct rf_generator_question {
	struct rf_host host;
	uint16_t port;
	const char *method, *path;
	struct rf_address resolved; /* where the name leads */
	bool is_own;                /* and that is this machine's */
};

void rf_generator_ask(struct rf_generator *g, struct rf_generator_question *q);

/* Words that file rules, variables and lists of programs are made of; NULL-ended. */
extern const char *const rf_generator_paths[];
extern const char *const rf_generator_variables[];
extern const char *const rf_generator_programs[];

#endif
