/*
 * Makes a filter shorter that says the same.
 *
 * The kernel checks, converts and compiles every instruction of a filter when it is loaded, a quarter of
 * a microsecond each, and half of what the writer of filters puts down is there already: the same
 * returns, and the same looks at the same arguments.
 */
#ifndef RF_JAIL_TIGHTEN_H
#define RF_JAIL_TIGHTEN_H

#include "jail/filter.h"

/*
 * Leads jumps to the last place in their reach from which the program goes on in the same way, and drops
 * what nobody comes to any more.  Pure.  The program must be one that the kernel takes: jumps lead
 * forward and inside, and the last instruction returns.
 */
void rf_tighten_filter(struct rf_filter *filter);

#endif
