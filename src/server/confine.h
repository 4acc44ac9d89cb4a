/*
 * What the front's process gives up before a byte of a stranger's reaches it.
 *
 * It reads HTTP and JSON of whoever connects, so it is to be worth nothing to who breaks into it: it can open no file, start no program, make no
 * socket but a pair of its own, reach no other process, and is root's no more.  What is left are the descriptors that it was given: sockets that
 * listen, and connections to the warden, each on its key's terms.  It has them for as long as its parent lives, which the kernel sees to.
 */
#ifndef RF_SERVER_CONFINE_H
#define RF_SERVER_CONFINE_H

#include <sys/types.h>

#include "base/err.h"

/* Each part that this kernel has; one that it has and that fails is an error.  From then on the process dies with `parent`, of whose thread it is a child. */
int rf_confine_raise(pid_t parent, struct rf_err *err);

/* A part of it: root is root no more. */
int rf_confine_become_nobody(struct rf_err *err);

#endif
