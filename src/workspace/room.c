/* The room of one run's changes: see room.h. */
#include "workspace/room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/copy.h"
#include "workspace/project.h"

#define MFD_CLOEXEC 1u

void rf_room_init(struct rf_room *room)
{
	*room = (struct rf_room){ .top = -1 };
}

/* Files in memory have user attributes, which overlayfs writes its notes to, from Linux 6.6 on. */
static bool has_attributes_in_memory(void)
{
	RF_AUTO_FD int file = (int)syscall(SYS_memfd_create, "ringfort", MFD_CLOEXEC);

	return file >= 0 && fsetxattr(file, "user.overlay.opaque", "n", 1, 0) == 0;
}

/*
 * A user's file system in memory knows no group but the user's own; files of others could not be changed there.  (Root's
 * is mapped as the tree is.)
 */
static bool fits_in_memory(const struct stat *st, const uint64_t *limits)
{
	return limits[RF_LIMIT_DISK] <= limits[RF_LIMIT_MEMORY] / RF_ROOM_SHARE &&
	       (geteuid() == 0 || st->st_gid == getegid()) && has_attributes_in_memory();
}

int rf_room_begin(struct rf_room *room, int layer, const struct stat *st, const uint64_t *limits,
		  struct rf_err *err)
{
	rf_room_done(room);
	*room = (struct rf_room){ .kind = RF_ROOM_DISK,
				  .mode = rf_copy_mode(st->st_mode),
				  .uid = st->st_uid,
				  .gid = st->st_gid };
	/* Its number is in the note of who runs there, so it has one from the beginning. */
	room->top = openat(layer, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (room->top < 0)
		return rf_fail(err, -errno, "open a layer");
	if (!limits)
		return 0;
	if (geteuid() == 0 &&
	    rf_project_begin(layer, limits[RF_LIMIT_DISK], limits[RF_LIMIT_INODES]) == 0)
		room->kind = RF_ROOM_PROJECT;
	else if (fits_in_memory(st, limits))
		room->kind = RF_ROOM_MEMORY;
	return 0;
}

void rf_room_end(struct rf_room *room, int layer)
{
	if (room->kind != RF_ROOM_PROJECT)
		return;
	rf_project_end(layer);
	room->kind = RF_ROOM_DISK;
}

void rf_room_done(struct rf_room *room)
{
	rf_fd_done(&room->top);
}
