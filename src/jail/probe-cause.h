/* What on this machine may be the cause of a failed call, and what to do about it. */
#ifndef RF_JAIL_PROBE_CAUSE_H
#define RF_JAIL_PROBE_CAUSE_H

#include <stdbool.h>

/*
 * The remedy for a call that failed with `code`, if something on this machine gives its cause away,
 * or NULL.  `space` is the kind of namespace that was asked for ("user", "net"), or NULL.  The text
 * stays as it is until the next call.
 */
const char *rf_probe_cause_remedy(int code, bool is_root, const char *space);

#endif
