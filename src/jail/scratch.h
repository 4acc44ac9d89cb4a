/*
 * The scratch folder of a lesser box: its home and temporary files, on the host.
 *
 * A box with mounts has a file system of its own for these.  A lesser one gets a fresh folder
 * /tmp/ringfort-ID, of which the program is granted `home` and `tmp`; beside them lies the sentinel
 * of the Landlock wall.  The box's record names the folder, so that it goes also when the launcher
 * was killed; where there are no records, its lock says whether it is in use, and whoever makes the
 * next one removes it.
 */
#ifndef RF_JAIL_SCRATCH_H
#define RF_JAIL_SCRATCH_H

#include "base/err.h"
#include "jail/box.h"

/* Makes the folder for box->host_uid and sets box->scratch. */
int rf_scratch_make(struct rf_box *box, struct rf_err *err);

/* Opens `name` in the folder.  Returns an O_PATH descriptor or a negative errno. */
int rf_scratch_open(const struct rf_box *box, const char *name);

/*
 * Removes a folder that rf_scratch_make() made, by its path, with whatever the program made of it:
 * no link is followed, and nothing outside is touched.  Any other path is left alone.  Returns
 * false if it is still there.
 */
bool rf_scratch_remove(const char *path);

#endif
