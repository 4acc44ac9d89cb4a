/*
 * The deputy: changes modes and times of files for the programs of a lesser box.
 *
 * Landlock does not know chmod(2) and utimensat(2), and a box without mounts could use them on every
 * file of its user.  Refusing them breaks compilers, tar, cp and touch.  So the filter hands these
 * calls to the launcher (seccomp_unotify(2)), which does them itself: on the file that it found,
 * only where the plan lets the box write, only for the file's owner, and never with a setuid bit.
 */
#ifndef RF_JAIL_DEPUTY_H
#define RF_JAIL_DEPUTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/box.h"

/* In the child, whose filter has just given `listener`: hands it to the launcher. */
int rf_deputy_send(const struct rf_box *box, int listener, struct rf_err *err);

/* In the launcher, once the child is on its way: takes it, into box->listener. */
int rf_deputy_take(struct rf_box *box, struct rf_err *err);

/*
 * Answers one call that waits.  To be called when box->listener can be read.  Returns false when
 * nobody is left to ask, or can be answered: the listener is to be closed then.
 */
bool rf_deputy_serve(const struct rf_box *box);

/* What it has in common with others who are asked. */

/*
 * Copies bytes of a caller, up to the end of what it has; of PATH_MAX bytes a path is wanted, and its NUL is the end.  Returns how
 * many, or a negative errno.
 */
ssize_t rf_deputy_peek(pid_t pid, uint64_t from, void *to, size_t size);

/*
 * Gives the answer.  Who gets none would wait for ever: where it can't be given, the listener is to be closed, and the kernel
 * refuses by itself.
 */
struct seccomp_notif_resp;
bool rf_deputy_answer(int listener, struct seccomp_notif_resp *answer);

#endif
