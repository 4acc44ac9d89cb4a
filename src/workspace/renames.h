/*
 * Which of the files that are new are files that are gone, under another name.
 *
 * The same content first; then texts of which at least half is the same.  Both cost no more than a bound, whatever a
 * box has made: beyond it a file is new and another is gone, which is true as well.
 */
#ifndef RF_WORKSPACE_RENAMES_H
#define RF_WORKSPACE_RENAMES_H

#include "base/err.h"
#include "workspace/delta.h"

#define RF_RENAMES_NONE SIZE_MAX

/*
 * For each change of `delta`, `ret_others` (to be freed with free()) says which one is its other half: that of a name
 * that is gone for one that is new and the other way round, or RF_RENAMES_NONE.
 */
int rf_renames_find(const struct rf_delta *delta, const struct rf_stack *before,
		    const struct rf_stack *after, size_t **ret_others, struct rf_err *err);

#endif
