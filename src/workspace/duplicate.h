/*
 * A layer copied as it is: with overlayfs's own notes, names of one file that are names of one file, and folders that
 * nobody may enter.
 *
 * What is copied stands still: its box is dead, or stopped.  A tree may be as deep as a box can make it; nothing here
 * grows with that but memory.
 */
#ifndef RF_WORKSPACE_DUPLICATE_H
#define RF_WORKSPACE_DUPLICATE_H

#include <stdbool.h>

/*
 * Copies what is in folder `from`, and its look, to the empty folder `to`.  `with_sockets`: those are copied, too; who
 * listened is not.  Returns 0 or a negative errno, with a part of it copied.
 */
int rf_duplicate(int from, int to, bool with_sockets);

#endif
