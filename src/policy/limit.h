/*
 * The limits of a box: one table that every other place reads.
 *
 * The policy's keys, the command's flags, the plan, the walls, the result's grades and the causes
 * of death all index this table, so a new limit is a new row here and an enforcer in src/jail.
 */
#ifndef RF_POLICY_LIMIT_H
#define RF_POLICY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum rf_limit {
	RF_LIMIT_MEMORY,     /* bytes, all processes together, swap off */
	RF_LIMIT_CPU,        /* percent of one core, all processes together */
	RF_LIMIT_CPU_TIME,   /* milliseconds of processor time, all processes together */
	RF_LIMIT_TIME,       /* milliseconds on the clock */
	RF_LIMIT_PIDS,       /* processes and threads at one time */
	RF_LIMIT_OPEN_FILES, /* descriptors in each process */
	RF_LIMIT_FILE_SIZE,  /* bytes in one file */
	RF_LIMIT_DISK,       /* bytes on the scratch file system, and in the workspace */
	RF_LIMIT_INODES,     /* files on the scratch file system, and in the workspace */
	RF_LIMIT_OUTPUT,     /* bytes on standard output and standard error together */
	RF_LIMIT_COUNT
};

/* "No limit": the policy said `none`, where the table allows that. */
#define RF_LIMIT_NONE UINT64_MAX

enum rf_unit {
	RF_UNIT_BYTES,
	RF_UNIT_MS,
	RF_UNIT_PERCENT,
	RF_UNIT_COUNT,
	RF_UNIT_RATE,  /* so many in a time, and so many at once: rf_limit_rate() */
	RF_UNIT_MONEY, /* millionths of whatever it is counted in */
};

/*
 * A rate as one number: how many in a day, in the upper bits, and how many at once at most, in the lower.  What is
 * written as "100/min" is a hundred at once and 144,000 in a day.
 */
#define RF_LIMIT_BURST_BITS 24

static inline uint64_t rf_limit_rate(uint64_t per_day, uint64_t burst)
{
	return per_day << RF_LIMIT_BURST_BITS | burst;
}

static inline uint64_t rf_limit_rate_per_day(uint64_t rate)
{
	return rate >> RF_LIMIT_BURST_BITS;
}

static inline uint64_t rf_limit_rate_burst(uint64_t rate)
{
	return rate & ((1U << RF_LIMIT_BURST_BITS) - 1);
}

struct rf_limit_info {
	const char *key;   /* in the policy, under `limits` */
	const char *cause; /* the result's status when this limit ended the run */
	enum rf_unit unit;
	bool may_be_none;
	uint64_t min, max;
	uint64_t for_run;   /* default of `ringfort run` */
	uint64_t for_shell; /* default of `ringfort shell` */
	const char *help;
};

extern const struct rf_limit_info rf_limit_table[RF_LIMIT_COUNT];

/*
 * Reads "64M", "50%", "1.5s", "none" ... as the unit of `limit` demands; the whole text must
 * match.  On failure `err` says what was wrong and what would be right, without line or column.
 */
int rf_limit_parse(enum rf_limit limit, const char *text, uint64_t *ret_value, struct rf_err *err);

/* A regular expression (ECMA 262) that every value of a unit matches, but for "none". */
const char *rf_limit_pattern(enum rf_unit unit);

/* Writes a value as a person would: "512M", "1m30s", "50%", "none".  Parses back to the same value. */
void rf_limit_format(enum rf_limit limit, uint64_t value, char *text, size_t size);

/* The same for a figure of another table. */
int rf_limit_read(const struct rf_limit_info *info, const char *text, uint64_t *ret_value,
		  struct rf_err *err);
void rf_limit_write(const struct rf_limit_info *info, uint64_t value, char *text, size_t size);

/* What is within both, and whether what is within `a` is within `b`: of a rate, both its numbers count. */
uint64_t rf_limit_lesser(const struct rf_limit_info *info, uint64_t a, uint64_t b);
bool rf_limit_is_within(const struct rf_limit_info *info, uint64_t a, uint64_t b);

#endif
