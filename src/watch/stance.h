/*
 * How a watcher stands among other processes: the last to be killed for memory, in a control group of its own, out of
 * the reach of who would trace it, and with no more of root's rights than it uses.
 *
 * Each of these holds where this machine lets it; what does is seen in /proc, and `ringfort doctor` tells.
 */
#ifndef RF_WATCH_STANCE_H
#define RF_WATCH_STANCE_H

#include <stdbool.h>

#include "base/err.h"

struct rf_stance; /* where it was before */

/* Before anybody is let in.  Gives `*ret_stance`; fails only if it would be left open to others. */
int rf_stance_take(struct rf_stance **ret_stance, struct rf_err *err);

/*
 * Root's: gives up every capability but those that looking at clients (CAP_SYS_PTRACE), at what boxes use
 * (CAP_DAC_READ_SEARCH) and ending boxes (CAP_KILL) take; for good, and for whatever it starts.  After it has noted what
 * it is, since its clients must be like that.  `writes_for_others`: an anchor is a file, which another may own
 * (CAP_DAC_OVERRIDE stays, too).
 */
void rf_stance_cut(bool writes_for_others);

/* Goes back to where it was, so that no group is left behind.  Accepts NULL. */
void rf_stance_leave(struct rf_stance *stance);

#endif
