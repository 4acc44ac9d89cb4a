/*
 * What an ordinary user closed to himself, read all the same.
 *
 * A box can leave folders and files in a layer that deny even their owner to read them (mode 0).  Root reads them; their
 * owner would have to change their mode, which is part of the layer, shared with others, and wrong for good if
 * he is killed meanwhile.  So the process goes into a user namespace instead, where it is who it was, and keeps one
 * capability: to read and to search what is its own.  It can write to nothing that it could not write to before.
 */
#ifndef RF_WORKSPACE_CLOSED_H
#define RF_WORKSPACE_CLOSED_H

#include <stdbool.h>

/*
 * Says that this process may do so: a program of ours that does one thing and ends.  Without, rf_closed_open() is openat(): in a
 * library it would change who its caller is.
 */
void rf_closed_allow(void);

/*
 * Opens as openat() does, with O_NOFOLLOW and O_CLOEXEC.  Where that is denied and `name` is a folder or file of our
 * own, the process widens its sight first, for good.  Returns a descriptor or a negative errno: -EACCES where it is
 * somebody else's, or the machine gives no user namespaces.
 */
int rf_closed_open(int dir, const char *name, int flags);

/* True if the mode denies its owner to read it, or to enter it if it is a folder. */
bool rf_closed_is(unsigned mode);

#endif
