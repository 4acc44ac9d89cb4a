/* The limits that a control group sets: see cgroup-limits.h. */
#include "jail/cgroup-limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Version 1 says so for "none": the largest number of pages, which depends on their size. */
#define V1_UNLIMITED (UINT64_C(1) << 62)

/* A number, or "max", or a negative one ("-1" of version 1), both UINT64_MAX.  False: it is none of them. */
static bool parse_number(const char *text, const char **ret_end, uint64_t *ret_value)
{
	char *end;

	*ret_value = UINT64_MAX;
	if (strncmp(text, "max", 3) == 0) {
		*ret_end = text + 3;
		return true;
	}
	if (text[0] == '-' && text[1] >= '0' && text[1] <= '9') {
		*ret_end = text + 1 + strspn(text + 1, "0123456789");
		return true;
	}
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	*ret_end = end;
	return errno == 0;
}

static bool is_end(const char *text)
{
	return text[strspn(text, " \n")] == '\0';
}

/* "max 100000" or "50000 100000": microseconds of each period, as µs of ours. */
static bool parse_share(const char *text, uint64_t *ret_us)
{
	uint64_t quota, period;
	const char *end;

	if (!parse_number(text, &end, &quota) || *end != ' ' ||
	    !parse_number(end + 1, &end, &period) || !is_end(end) || period == 0 ||
	    period == UINT64_MAX)
		return false;
	*ret_us = quota == UINT64_MAX                     ? UINT64_MAX
		  : quota > UINT64_MAX / RF_CGROUP_PERIOD ? UINT64_MAX - 1
							  : quota * RF_CGROUP_PERIOD / period;
	return true;
}

static bool parse_amount(const char *text, uint64_t *ret_value)
{
	const char *end;

	return parse_number(text, &end, ret_value) && is_end(end);
}

/* A controller that is not there limits nothing.  What is there and can't be read or understood might. */
static void note(struct rf_cgroup_limits *limits, int dir, const char *file,
		 bool (*parse)(const char *text, uint64_t *ret_value), uint64_t *lowest)
{
	char text[64];
	uint64_t value;
	ssize_t len = rf_fd_read_text(dir, file, text, sizeof(text));

	if (len == -ENOENT)
		return;
	if (len < 0 || !parse(text, &value))
		limits->is_unknown = true;
	else if (value < *lowest)
		*lowest = value;
}

static int open_group(struct rf_cgroup_limits *limits, const char *path)
{
	int dir = rf_fd_open(path, O_PATH | O_DIRECTORY);

	limits->is_unknown |= dir < 0;
	return dir;
}

void rf_cgroup_limits_note(struct rf_cgroup_limits *limits, const char *path)
{
	RF_AUTO_FD int dir = open_group(limits, path);

	if (dir < 0)
		return;
	note(limits, dir, "memory.max", parse_amount, &limits->memory_bytes);
	note(limits, dir, "memory.high", parse_amount, &limits->high_bytes);
	note(limits, dir, "pids.max", parse_amount, &limits->pids);
	note(limits, dir, "cpu.max", parse_share, &limits->cpu_us);
}

void rf_cgroup_limits_note_v1(struct rf_cgroup_limits *limits, enum rf_group group,
			      const char *path)
{
	RF_AUTO_FD int dir = open_group(limits, path);
	uint64_t memory = UINT64_MAX, quota = UINT64_MAX, period = RF_CGROUP_PERIOD;

	if (dir < 0)
		return;
	switch (group) {
	case RF_GROUP_MEMORY:
		note(limits, dir, "memory.limit_in_bytes", parse_amount, &memory);
		if (memory < V1_UNLIMITED && memory < limits->memory_bytes)
			limits->memory_bytes = memory;
		break;
	case RF_GROUP_PIDS:
		note(limits, dir, "pids.max", parse_amount, &limits->pids);
		break;
	case RF_GROUP_CPU:
		note(limits, dir, "cpu.cfs_quota_us", parse_amount, &quota);
		if (quota == UINT64_MAX)
			break;
		period = UINT64_MAX;
		note(limits, dir, "cpu.cfs_period_us", parse_amount, &period);
		if (period == 0 || period == UINT64_MAX || quota > UINT64_MAX / RF_CGROUP_PERIOD)
			limits->is_unknown = true;
		else if (quota * RF_CGROUP_PERIOD / period < limits->cpu_us)
			limits->cpu_us = quota * RF_CGROUP_PERIOD / period;
		break;
	default:
		break;
	}
}

bool rf_cgroup_limits_are_set(const struct rf_cgroup_limits *limits)
{
	return limits->is_unknown || limits->memory_bytes != UINT64_MAX ||
	       limits->high_bytes != UINT64_MAX || limits->pids != UINT64_MAX ||
	       limits->cpu_us != UINT64_MAX;
}
