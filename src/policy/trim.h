/*
 * A policy trimmed to what was used: least privilege, from what runs under it were seen to need.
 *
 * Pure, and careful: nothing is ever granted that was not, a figure keeps head room and becomes a round one, and what
 * nobody has measured stays as it is.  Each grant has a row that says what it is, what was used of it, and why it is
 * left alone where it is.  A grant of a later ring is a row of one of the tables in trim.c.
 */
#ifndef RF_POLICY_TRIM_H
#define RF_POLICY_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/limit.h"

#include "policy/quota.h"

struct rf_policy;

/* The most that any run was seen to use of one figure, in its own unit. */
struct rf_trim_seen {
	uint64_t most;
	bool is_known;    /* at least one run was measured */
	bool is_exact;    /* all of them were, by what keeps the limit, and not by looks at times */
	bool was_reached; /* a run ended at it */
};

/* What was used of a list: an entry by its text, and of a rule with which method ("": none was seen). */
struct rf_trim_entry {
	const char *name, *method;
};

#define RF_TRIM_ENTRIES 256
struct rf_trim_list {
	struct rf_trim_entry entries[RF_TRIM_ENTRIES]; /* texts are borrowed */
	size_t count;
	bool is_known; /* whatever is not here was not used */
};

struct rf_trim_use {
	struct rf_trim_list rules;       /* of network.allow */
	struct rf_trim_list credentials; /* that the gateway adds to requests */
	struct rf_trim_seen limits[RF_LIMIT_COUNT];
	struct rf_trim_seen quotas[RF_QUOTA_COUNT]; /* known only of a time that is long enough */
	/* Of runs that were learnt from: files and programs, `method` being the key ("files.read"); and what they ran under. */
	struct rf_trim_list learnt;
	struct rf_policy *const *under;
	size_t under_count;
};

struct rf_trim_row {
	const char *key;  /* "limits.memory" */
	char granted[32]; /* as a policy has it: "512M", "none", "3 entries" */
	char used[32];    /* for people: "38.2M"; "" if nobody knows */
	char tighter[32]; /* as a policy has it; "" if it stays */
	uint64_t of_granted,
		of_used;  /* the same as numbers, where is_figure; RF_LIMIT_NONE: none */
	bool is_figure;   /* of_used is known */
	const char *note; /* why it stays, or how it was found; or NULL */
	char detail[256]; /* where a note of this row alone is kept: rows stay where they are */
};

#define RF_TRIM_ROWS (RF_LIMIT_COUNT + RF_QUOTA_COUNT + 16)

/*
 * Trims `policy` in place.  Gives a row for each grant that it has, at most RF_TRIM_ROWS of them; returns how many
 * figures are tighter now.
 */
unsigned rf_trim(struct rf_policy *policy, const struct rf_trim_use *use,
		 struct rf_trim_row rows[RF_TRIM_ROWS], size_t *ret_count);

/* What the policy says of a budget; RF_LIMIT_NONE: nothing. */
uint64_t rf_trim_budget(const struct rf_policy *policy, enum rf_quota quota);

/* A figure for people: "38.2M", "1.25s", "12". */
void rf_trim_amount(enum rf_unit unit, uint64_t value, char *text, size_t size);

#endif
