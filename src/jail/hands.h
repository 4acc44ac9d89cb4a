/*
 * A second pair of hands: a process that makes, on another processor, what the kernel takes long to
 * make, while the launcher and the child that raises the walls do everything else.
 *
 * Life cycle: rf_hands_start() before the box is prepared; rf_hands_settle() when its pid 1 is there;
 * rf_hands_end() soon, or when nothing came of it.  One box of a launcher has them at a time.  They only ever help: whoever asks and
 * gets nothing makes the thing on its own, and says then why it can't be made.
 */
#ifndef RF_JAIL_HANDS_H
#define RF_JAIL_HANDS_H

#include "jail/box.h"

/* Sets them to work on what the plan will need, if there is more than one processor to work on. */
void rf_hands_start(struct rf_box *box);

/*
 * As root, in the launcher: gives a process that was born into a fresh user namespace, a child of ours
 * that waits to be killed and is to be reaped.  Returns its pid, or 0 if there is none.
 */
pid_t rf_hands_holder(const struct rf_box *box);

/*
 * As root, in the launcher: asks them to do rf_cgroup_make(), or tells them that nobody has to; false if
 * there is nobody to ask.  Then, before anybody looks at the groups, waits for them, or makes them if
 * nobody has begun.
 */
bool rf_hands_make_groups(struct rf_box *box, bool are_wanted);
int rf_hands_await_groups(struct rf_box *box, struct rf_err *err);

/* As an ordinary user, in the child: its user namespace has its maps and can be worked in. */
void rf_hands_go_on(const struct rf_box *box);

/* In the child: enters the network namespace that they made.  False if there is none. */
bool rf_hands_enter_net(const struct rf_box *box);

/* In the launcher, once the child has entered it: gives the sockets of a network that leads to a gateway. */
bool rf_hands_take_lines(const struct rf_box *box, struct rf_capture *ret_capture);

/*
 * In the child, after pivot_root(): the old root may be detached.  Some work later, asks whether they
 * do that; if not, it is for the child to do.
 */
void rf_hands_pivoted(const struct rf_box *box);
bool rf_hands_leave_root(const struct rf_box *box);

/* In the child: waits until the old root is left, if they do that.  Fails if they could not. */
int rf_hands_await_root(const struct rf_box *box, struct rf_err *err);

/* In the child, before its last wall: waits for what they still do.  Fails if that failed. */
int rf_hands_finish(const struct rf_box *box, struct rf_err *err);

/*
 * True if they count as one of the box's processes: they are in an ordinary user's namespace, and an
 * rlimit counts who is there.  Then nothing may start before they have ended and been reaped.
 */
bool rf_hands_count(const struct rf_box *box);

/* In the launcher, when the child has become pid 1: ends them, unless they hold the box's mounts. */
void rf_hands_settle(struct rf_box *box);

/* Tells them to end, which takes a moment; and waits until they have. */
void rf_hands_dismiss(const struct rf_box *box);
void rf_hands_end(struct rf_box *box);

#endif
