/*
 * Waits for the disk, in a thread of its own, so that nobody else has to: a sync may take as long as it likes,
 * and so may a syslog that is slow.
 */
#ifndef RF_WATCH_DISK_H
#define RF_WATCH_DISK_H

#include <stdbool.h>

#include "audit/anchor.h"
#include "base/err.h"

struct rf_disk;

/* `anchors`: where heads are told, NULL-ended (borrowed).  Starts the thread. */
int rf_disk_new(const char *const *anchors, struct rf_disk **ret_disk, struct rf_err *err);

/* Does what is left, and ends the thread. */
void rf_disk_free(struct rf_disk *disk);

/* Asks for a sync of the file behind `fd` (borrows; a copy is made).  False if the last one is still under way. */
bool rf_disk_sync(struct rf_disk *disk, int fd);

/* True while a sync that was asked for has not ended. */
bool rf_disk_is_busy(struct rf_disk *disk);

/* Asks for a head to be told.  Only the newest counts where the anchors are slow. */
void rf_disk_tell(struct rf_disk *disk, const struct rf_anchor_line *line);

/* What went wrong since it was last asked: a negative errno of a sync and of an anchor, or 0. */
void rf_disk_errors(struct rf_disk *disk, int *ret_sync, int *ret_anchor);

#endif
