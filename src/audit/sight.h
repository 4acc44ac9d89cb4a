/*
 * What a watcher must know to keep an eye on a box that lives: which one it is, and what it was granted.
 *
 * Goes with a pidfd of the box's pid 1 (RF_WIRE_LIVE).  No number in it names a process or a group: those
 * the watcher asks the kernel for.
 */
#ifndef RF_AUDIT_SIGHT_H
#define RF_AUDIT_SIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/alarm.h"

#define RF_SIGHT_BOX 33 /* bytes of a box's id, with its NUL */

struct rf_sight {
	char box[RF_SIGHT_BOX];
	bool is_lesser; /* it has no namespaces */
	uint64_t limits[RF_LIMIT_COUNT];
	struct rf_alarms alarms;
};

void rf_sight_pack(const struct rf_sight *sight, struct rf_buf *out);

/* Takes exactly what was packed, or fails with -EBADMSG. */
int rf_sight_unpack(const void *data, size_t len, struct rf_sight *ret_sight, struct rf_err *err);

#endif
