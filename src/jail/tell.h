/* What a box has to tell of itself, written into the result of its run: plain data from here on. */
#ifndef RF_JAIL_TELL_H
#define RF_JAIL_TELL_H

#include "jail/box.h"
#include "jail/denial.h"
#include "result/result.h"

/*
 * Its id, how its walls went up, what this machine lacked, and what it was kept from seeing, with a
 * warning where something of that may be in sight.  To be called before rf_box_done().
 */
void rf_tell_box(const struct rf_box *box, struct rf_result *result);

/* What the kernel refused it (NULL: nobody listened). */
void rf_tell_denials(const struct rf_denials *denials, struct rf_result *result);

#endif
