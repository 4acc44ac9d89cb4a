/*
 * The onlooker: sees which files and programs the programs of a box use, for who wants to learn what it needs.
 *
 * A filter of its own, before the wall's, has the kernel ask the launcher about every call with a path (seccomp_unotify(2)).  The
 * launcher looks the path up as the caller would, notes it, and lets the call go on: it decides nothing, and the walls
 * stand as they do without it.  A caller that changes its memory meanwhile changes what is noted, and not what it may do.
 *
 * Only a run that is to be learnt from pays for it.  There is none in a lesser box (whose listener is the deputy's, and a process
 * has one), nor in one with a terminal: then footprint->is_watched stays false.
 */
#ifndef RF_JAIL_ONLOOKER_H
#define RF_JAIL_ONLOOKER_H

#include <stdbool.h>

#include "base/err.h"
#include "jail/box.h"

/* True if this box is to be watched. */
bool rf_onlooker_is_wanted(const struct rf_box *box);

/* In the child, before the wall's own filter: loads one that asks, and hands its listener to the launcher. */
int rf_onlooker_raise(const struct rf_box *box, struct rf_err *err);

/* Notes one call that waits, and lets it go on.  As rf_deputy_serve(). */
bool rf_onlooker_serve(const struct rf_box *box);

#endif
