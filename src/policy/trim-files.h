/* The part of trim.h that is about files and programs, and what its parts share.  Internal to src/policy. */
#ifndef RF_POLICY_TRIM_FILES_H
#define RF_POLICY_TRIM_FILES_H

#include "policy/key.h"
#include "policy/trim.h"

/*
 * The rows of `files.read`, `files.write`, `files.current` and `commands`, by runs that were learnt from.  A rule
 * that none of these runs had is left alone.  Adds to `*count`; returns how many are tighter.
 */
unsigned rf_trim_files(struct rf_policy *policy, const struct rf_trim_use *use,
		       struct rf_trim_row rows[RF_TRIM_ROWS], size_t *count);

/* "never used: a, b": as many as there is room for, behind the first one's words; for the parts. */
void rf_trim_name(struct rf_trim_row *row, const char *words, const char *name);

/* What a key grants that is no figure, in words; false if it is nothing. */
bool rf_trim_grant(const struct rf_policy *policy, enum rf_key key, char *text, size_t size);

#endif
