/*
 * Whether names of the system's files lead where they led.
 *
 * A plan has some thirty of them (/etc/ssl/certs, /lib64 ...), in half a dozen folders, and to look at each name for every
 * box would be a tenth of what a box costs.  A name can't change without a change of the folder that it is in, so the folders are
 * looked at, and the names only if one of those has changed.
 *
 * A folder's time is as coarse as the kernel's clock (some milliseconds before Linux 6.13), and a second change in one
 * tick can't be told from the first.  So a stamp holds only if all of its folders had been left alone for a while when it
 * was taken.
 */
#ifndef RF_WARDEN_STAMP_H
#define RF_WARDEN_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/plan.h"

#define RF_STAMP_FOLDERS 16

struct rf_stamp {
	size_t count;
	bool is_sure; /* it can hold at all */
	struct rf_stamp_folder {
		const char *path; /* its first `len` bytes; of a source of the plan's */
		size_t len;
		uint64_t dev, ino;
		int64_t changed_ns;
	} folders[RF_STAMP_FOLDERS];
};

/* Takes one of every folder on the way to the plan's SYSTEM places.  Borrows the plan, as long as it is used. */
void rf_stamp_take(struct rf_stamp *ret_stamp, const struct rf_plan *plan);

/* True if no name in any of them has changed since.  False: that is not known. */
bool rf_stamp_holds(const struct rf_stamp *stamp);

#endif
