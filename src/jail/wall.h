/* The walls of a box, in the order in which they go up. */
#ifndef RF_JAIL_WALL_H
#define RF_JAIL_WALL_H

#include "base/err.h"
#include "jail/box.h"

/* Raises the outer part of every wall, in the launcher, before the child exists. */
int rf_wall_raise_outside(struct rf_box *box, struct rf_err *err);

/* Raises the inner part of every wall, in the child, before it becomes pid 1. */
int rf_wall_raise_inside(struct rf_box *box, struct rf_err *err);

/* True for a wall that a test wants left out; never in the product. */
bool rf_wall_is_left_out(const char *name);

/* The facts that pid 1 must prove before a program starts: all of them. */
uint32_t rf_wall_facts(void);

/* The name of wall `i` of a full or a lesser box, or NULL past the last. */
const char *rf_wall_name(bool is_lesser, size_t i);

#endif
