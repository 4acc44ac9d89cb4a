/* Takes away a tree that somebody else filled: see clear.c. */
#ifndef RF_WORKSPACE_CLEAR_H
#define RF_WORKSPACE_CLEAR_H

/*
 * Removes `name` in the folder `dir`, whatever it is, with all beneath it.  Returns 0 or a negative errno: of what is
 * in the way first, after everything else has gone.
 */
int rf_clear(int dir, const char *name);

#endif
