/*
 * The system call filter: the table of calls turned into BPF.
 *
 * Pure.  The program checks the architecture first (any other entry, i386 and x32 among them, is
 * killed), then finds the call's number in a balanced tree of ranges, then looks at arguments where
 * the table says so.  It takes microseconds to build, so each box gets the filter of its own plan
 * and no filter is ever read from disk.
 *
 * Profiles (ruleset.h) go into the same program, each before the table: what a profile lets through
 * goes on to the next one and to the table's own verdict, so none of them can allow anything.  As one
 * program there is one tree to walk for a call, one load, and no call that a profile would have to
 * allow so that a second filter can be loaded behind it.
 */
#ifndef RF_JAIL_FILTER_H
#define RF_JAIL_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <stddef.h>

#include "base/err.h"
#include "jail/calls.h"
#include "jail/ruleset.h"

/* Whose calls it lets through; all others are killed. */
#if defined(__x86_64__)
#define RF_FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define RF_FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter does not know this architecture"
#endif

/* A number that no kernel has, and the errno that only our filter gives for it: the proof. */
#define RF_FILTER_PROOF_NR    0x00ff5246
#define RF_FILTER_PROOF_ERRNO 2346

#define RF_FILTER_MAX BPF_MAXINSNS /* instructions that the kernel takes */

struct rf_filter {
	struct sock_filter code[RF_FILTER_MAX];
	size_t len;
};

/*
 * Builds the filter of a table with these options and of `count` profiles (borrows; both may be
 * none).  Fails only if the program would not fit (-E2BIG).
 */
int rf_filter_build(const struct rf_call_options *options, const struct rf_ruleset *const *rulesets,
		    size_t count, struct rf_filter *ret_filter, struct rf_err *err);

#endif
