/*
 * A change as a part of a patch that `git apply` and `patch -p1` take.
 *
 * A patch carries texts, links, whether a file can be executed, and names that were changed.  What it can't carry (binaries, by size
 * and hash; other modes and attributes; empty folders) stands in it as lines that begin with `#`, which both pass over; so
 * does what lies in a git repository itself, because git refuses a whole patch for one such name.
 */
#ifndef RF_WORKSPACE_PATCH_H
#define RF_WORKSPACE_PATCH_H

#include <stdbool.h>

#include "base/buf.h"
#include "workspace/inspect.h"

/*
 * Puts one change.  `is_empty`: it is a folder and no other change lies in it.  True if the patch carries all of it;
 * if not, what is missing is said in it.
 */
bool rf_patch_put(const struct rf_inspect *inspect, bool is_empty, struct rf_buf *out);

/* The hash of a side, in hexadecimal. */
void rf_patch_put_hash(const struct rf_inspect_side *side, struct rf_buf *out);

#endif
