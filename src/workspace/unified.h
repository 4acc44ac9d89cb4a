/*
 * Differing lines as a unified diff, the form that patch(1) and `git apply` take.  Pure.
 */
#ifndef RF_WORKSPACE_UNIFIED_H
#define RF_WORKSPACE_UNIFIED_H

#include "base/buf.h"
#include "workspace/lines.h"

/* Puts the hunks, each with three lines around what differs; no header.  Bytes are put as they are. */
void rf_unified_put(const struct rf_lines *lines, struct rf_buf *out);

/*
 * Puts a name as git does in a diff, with `before` in front ("a/"): bytes that a line can't hold, or that a terminal may
 * not show, as escapes in quotation marks.
 */
void rf_unified_name(const char *before, const char *path, struct rf_buf *out);

#endif
