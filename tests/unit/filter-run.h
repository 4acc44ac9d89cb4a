/* Filters of every combination of options, built and run by the interpreter of second-opinion.h, for their tests. */
#ifndef RF_TESTS_FILTER_RUN_H
#define RF_TESTS_FILTER_RUN_H

#include <linux/seccomp.h>
#include <stdio.h>

#include "harness.h"
#include "jail/filter.h"
#include "second-opinion.h"

#define HIGH        0xdeadbeef00000000ull /* what the kernel does not look at */
#define COMBINATION 16                    /* of options */
#define LESSER      16                    /* added: in a lesser box, */
#define DEPUTY      32                    /* with a deputy */
#define FLOOR       64                    /* with the least of the table */
#define TREES       128                   /* with a writable tree of the host */
#define ALL         256                   /* combinations with these too */
#define MARGIN      128                   /* instructions that a new row may take */

static inline struct rf_call_options options_of(unsigned i)
{
	return (struct rf_call_options){
		.syscalls = i & 1       ? RF_SYSCALLS_STRICT
			    : i & FLOOR ? RF_SYSCALLS_FLOOR
					: RF_SYSCALLS_DEFAULT,
		.has_inet = i & 2,
		.is_sampled = i & 4,
		.has_unix = i & 8,
		.is_lesser = i & LESSER,
		.has_deputy = i & DEPUTY,
		.lacks_attributes = i & TREES,
		.lacks_allocation = i & TREES,
		.lacks_holding = i & TREES,
	};
}

static inline const char *spoken(const struct rf_call_options *options)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s%s%s",
		 options->syscalls == RF_SYSCALLS_STRICT  ? "strict"
		 : options->syscalls == RF_SYSCALLS_FLOOR ? "floor"
							  : "default",
		 options->has_unix ? ", unix" : "", options->has_inet ? ", inet" : "",
		 options->is_sampled ? ", sampled" : "", options->is_lesser ? ", lesser" : "");
	return text;
}

static inline void build(unsigned combination, struct rf_filter *ret_filter)
{
	struct rf_call_options options = options_of(combination);
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_filter_build(&options, NULL, 0, ret_filter, &err) == 0, "%s: %s",
		   spoken(&options), err.msg);
}

static inline struct seccomp_data call_of(int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = OUR_ARCH, .instruction_pointer = 4711 };

	for (int i = 0; args && i < 6; i++)
		data.args[i] = args[i];
	return data;
}

/* The fate of one call with its first four arguments. */
static inline uint32_t fate(const struct rf_filter *filter, int nr, uint64_t a0, uint64_t a1,
			    uint64_t a2, uint64_t a3)
{
	struct seccomp_data data = call_of(nr, (const uint64_t[6]){ a0, a1, a2, a3 });

	return rf_opinion_run(filter, &data);
}

#endif
