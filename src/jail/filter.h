/*
 * The system call filter: the table of calls turned into BPF.
 *
 * Pure.  The program checks the architecture first (any other entry, i386 and x32 among them, is
 * killed), then finds the call's number in a balanced tree of ranges, then looks at arguments where
 * the table says so.  It takes microseconds to build, so each box gets the filter of its own plan
 * and no filter is ever read from disk.
 */
#ifndef RF_JAIL_FILTER_H
#define RF_JAIL_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

#include "base/err.h"
#include "jail/calls.h"

/* A number that no kernel has, and the errno that only our filter gives for it: the proof. */
#define RF_FILTER_PROOF_NR    0x00ff5246
#define RF_FILTER_PROOF_ERRNO 2346

#define RF_FILTER_MAX 1024 /* instructions */

struct rf_filter {
	struct sock_filter code[RF_FILTER_MAX];
	size_t len;
};

/* Fails only if the program would not fit (-E2BIG). */
int rf_filter_build(const struct rf_call_options *options, struct rf_filter *ret_filter,
		    struct rf_err *err);

#endif
