/*
 * Other names of what acts later on the host.
 *
 * A directory may have links of its user's own: `.claude -> conf`, `CLAUDE.md -> docs/agents.md`, a hook that leads to
 * scripts/.  What is changed where such a link leads acts as if it were changed under the link's name.  So the links under
 * protected names (policy/protected.h) are looked for, at the top, in folders on the way to what was changed, and among the
 * changes themselves; each is resolved in the tree as it was and as it became.  The cost follows what was changed.
 */
#ifndef RF_WORKSPACE_ALIAS_H
#define RF_WORKSPACE_ALIAS_H

#include "base/err.h"
#include "workspace/delta.h"
#include "workspace/stack.h"

/* Says of each change, that acts by no name of its own, what it is by one of these. */
int rf_alias_mark(const struct rf_stack *before, const struct rf_stack *after,
		  struct rf_delta *delta, struct rf_err *err);

#endif
