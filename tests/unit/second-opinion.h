/*
 * A second opinion on system calls: the rules of the table of calls as plain C, with numbers where
 * src/jail/filter.c has names, to compare the filter with.
 */
#ifndef RF_TEST_SECOND_OPINION_H
#define RF_TEST_SECOND_OPINION_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "jail/calls.h"
#include "jail/filter.h"

#ifdef __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW     SECCOMP_RET_ALLOW
#define KILL      SECCOMP_RET_KILL_PROCESS
#define FAKE      SECCOMP_RET_ERRNO
#define REFUSE    (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT    (SECCOMP_RET_ERRNO | ENOSYS)
#define LACKING   (SECCOMP_RET_ERRNO | EOPNOTSUPP)
#define ASK       SECCOMP_RET_USER_NOTIF
#define NO_IOCTL  (SECCOMP_RET_ERRNO | ENOTTY)
#define NO_FAMILY (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define PROOF     (SECCOMP_RET_ERRNO | RF_FILTER_PROOF_ERRNO)

/* What the filter of these options must answer to a call. */
uint32_t rf_opinion(const struct rf_call_options *options, const struct seccomp_data *data);

/*
 * What the kernel would do with `data`, for the few instructions that the filter has a use for; any
 * other, and a step past the end, ends the test.
 */
uint32_t rf_opinion_run(const struct rf_filter *filter, const struct seccomp_data *data);

#endif
