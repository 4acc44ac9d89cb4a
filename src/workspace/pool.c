/* The pool of layers: see pool.h. */
#include "workspace/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"
#include "workspace/clear.h"
#include "workspace/copy.h"

#define FOLDER     "layers"
#define ALL        "all"
#define SEARCHABLE 0711
/* What overlayfs writes to a directory that hides the one beneath; here only to see if it can. */
#define MARK "user.overlay.opaque"

bool rf_pool_is_id(const char *text)
{
	return strlen(text) == RF_LAYER_ID - 1 &&
	       strspn(text, "0123456789abcdef") == RF_LAYER_ID - 1;
}

/*
 * Beneath a folder that only its owner can enter lies one that anyone could: in a mapped mount root owns nothing, and
 * could not enter what is closed to others.
 */
static int open_all(bool may_make)
{
	RF_AUTO_FD int closed = rf_statedir_open_in(FOLDER, may_make);
	int all;

	if (closed < 0)
		return closed;
	if (may_make && mkdirat(closed, ALL, 0700) < 0 && errno != EEXIST)
		return -errno;
	all = openat(closed, ALL, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (all >= 0 && may_make && fchmod(all, SEARCHABLE) < 0)
		rf_fd_done(&all);
	return all < 0 ? -errno : all;
}

static int fail_pool(int code, const char *what, struct rf_err *err)
{
	rf_fail(err, code, "%s", what);
	return rf_fail_hint(
		err,
		"Ringfort keeps them in $XDG_STATE_HOME/ringfort, as root in " RF_STATEDIR_OF_ROOT);
}

int rf_pool_path(char *path, size_t size, struct rf_err *err)
{
	char state[4096];

	if (!rf_statedir_path(state, sizeof(state)))
		return fail_pool(-ENOENT, "find the folder of layers", err);
	if (snprintf(path, size, "%s/" FOLDER "/" ALL, state) >= (int)size)
		return fail_pool(-ENAMETOOLONG, "name the folder of layers", err);
	return 0;
}

int rf_pool_open(bool may_make, char *path, size_t size, struct rf_err *err)
{
	int pool = open_all(may_make);

	if (pool < 0)
		return fail_pool(pool, "open the folder of layers", err);
	if (rf_pool_path(path, size, err) < 0) {
		close(pool);
		return err->code;
	}
	return pool;
}

int rf_pool_name(char ret_id[RF_LAYER_ID])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(ret_id, RF_LAYER_ID, "%016llx", (unsigned long long)number);
	return 0;
}

/* A folder that looks as the top of the tree does, and that overlayfs can write its notes to. */
static int make_up(int layer, const struct stat *top, struct rf_err *err)
{
	mode_t kept = rf_copy_mode(top->st_mode);
	RF_AUTO_FD int up = -1;

	if (mkdirat(layer, "up", 0700) < 0 || mkdirat(layer, "work", 0700) < 0)
		return rf_fail(err, -errno, "make a layer");
	up = openat(layer, "up", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (up < 0)
		return rf_fail(err, -errno, "open a layer");
	if (geteuid() == 0 &&
	    (fchown(up, top->st_uid, top->st_gid) < 0 ||
	     fchownat(layer, "work", top->st_uid, top->st_gid, AT_SYMLINK_NOFOLLOW) < 0))
		return rf_fail(err, -errno, "give a layer its owner");
	/* A folder that hands its group down does so for what is made in the layer. */
	if (geteuid() != 0 && fchown(up, (uid_t)-1, top->st_gid) < 0)
		kept &= ~(mode_t)S_ISGID;
	if (fchmod(up, kept) < 0)
		return rf_fail(err, -errno, "give a layer its mode");
	if (fsetxattr(up, MARK, "n", 1, 0) < 0 || fremovexattr(up, MARK) < 0) {
		rf_fail(err, -errno, "mark a layer");
		return rf_fail_hint(err, "layers need a file system with user attributes, as ext4, "
					 "xfs and btrfs are; "
					 "put $XDG_STATE_HOME on one");
	}
	return 0;
}

int rf_pool_make(int pool, const char *id, const struct stat *top, struct rf_err *err)
{
	RF_AUTO_FD int layer = -1;
	struct rf_err ignored;

	if (mkdirat(pool, id, 0700) < 0)
		return rf_fail(err, -errno, "make a layer");
	layer = openat(pool, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer < 0 || flock(layer, LOCK_EX | LOCK_NB) < 0 || fchmod(layer, SEARCHABLE) < 0)
		rf_fail(err, -errno, "hold a layer");
	else if (make_up(layer, top, err) == 0)
		return rf_fd_take(&layer);
	rf_pool_remove(pool, id, &ignored);
	return err->code;
}

int rf_pool_open_layer(int pool, const char *id)
{
	RF_AUTO_FD int layer = openat(pool, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int up = layer < 0 ? -1
			   : openat(layer, "up", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return up < 0 ? -errno : up;
}

void rf_pool_close(int pool, const char *id)
{
	RF_AUTO_FD int layer = openat(pool, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (layer >= 0)
		rf_clear(layer, "work");
}

int rf_pool_remove(int pool, const char *id, struct rf_err *err)
{
	int code = rf_clear(pool, id);

	return code < 0 && code != -ENOENT ? rf_fail(err, code, "remove layer %s", id) : 0;
}
