/*
 * The box's terminal: a pty of the box's own.
 *
 * It comes from the box's own devpts, opened by the child that raises the walls once all of them are
 * up, with the rights that the program will have.  So inside it is /dev/pts/0 and has a name, and
 * the host's devpts has no part in it.  The slave becomes descriptors 0 to 2; the master goes to the
 * launcher over the orders' socket and exists nowhere in the box.
 */
#ifndef RF_JAIL_PTY_H
#define RF_JAIL_PTY_H

#include "base/err.h"
#include "jail/box.h"

/* In the child, behind all walls: opens the pair, sends the master, and makes the slave its stdio. */
int rf_pty_open(struct rf_box *box, struct rf_err *err);

/*
 * In the launcher: receives the master as box->pty[0] and opens the slave as box->pty[1], which is
 * kept: programs inside may close and open theirs as they like, and the end is pid 1's.
 */
int rf_pty_take(struct rf_box *box, struct rf_err *err);

/* Opens the slave of a master that came out of a box, and sees to it that both are the box's own.  Gives `*ret_slave`. */
int rf_pty_check(int master, int *ret_slave, struct rf_err *err);

#endif
