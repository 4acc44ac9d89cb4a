/* Pid 1 of a box that is kept: it has no program of its own, and starts those that it is told to. */
#ifndef RF_INIT_KEPT_H
#define RF_INIT_KEPT_H

#include "init/init.h"

/* Proves the box, says so, and does what tasks say until the launcher is gone or time is over. */
_Noreturn void kept_watch(struct init_start *start);

#endif
