/*
 * The limits that a control group of somebody else's sets: read where a box can't lie beneath that group, so that they would not hold
 * for it by themselves.
 *
 * Memory, processes and processor share, of both versions.  Others (io, cpuset, hugetlb) are not looked at.
 */
#ifndef RF_JAIL_CGROUP_LIMITS_H
#define RF_JAIL_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "jail/cgroup.h"

#define RF_CGROUP_PERIOD                                                                           \
	100000u /* µs, the kernel's default: a share is so many of them in each period */

/* Lowers `limits` to those of the group of version 2 at `path`. */
void rf_cgroup_limits_note(struct rf_cgroup_limits *limits, const char *path);

/* The same for a group of version 1, in the hierarchy of one controller. */
void rf_cgroup_limits_note_v1(struct rf_cgroup_limits *limits, enum rf_group group,
			      const char *path);

/* True if there is any, or it is not known that there is none. */
bool rf_cgroup_limits_are_set(const struct rf_cgroup_limits *limits);

#endif
