/* A copy of the layer of a living program: see snapshot.h. */
#include "workspace/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/copy.h"

#define OPAQUE "user.overlay.opaque"

static int copy_folder(int from, int to);

/* Overlayfs's own note that a folder hides those beneath. */
static int copy_mark(int from, int to)
{
	char mark[8];
	ssize_t len = fgetxattr(from, OPAQUE, mark, sizeof(mark));

	if (len < 0)
		return errno == ENODATA ? 0 : -errno;
	return fsetxattr(to, OPAQUE, mark, (size_t)len, 0) < 0 ? -errno : 0;
}

/* What is in a folder, and then its own mode, which may deny what the rest needed. */
static int copy_into(int from, const char *name, mode_t mode, int to)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	RF_AUTO_FD int inside = openat(from, name, flags);
	RF_AUTO_FD int copy = -1;
	int code;

	if (inside < 0)
		return -errno;
	code = rf_copy_exactly(from, name, to, name);
	if (code < 0)
		return code;
	copy = openat(to, name, flags);
	if (copy < 0)
		return -errno;
	if (fchmod(copy, mode | 0700) < 0)
		return -errno;
	code = copy_mark(inside, copy);
	if (code == 0)
		code = copy_folder(inside, copy);
	return code == 0 && fchmod(copy, mode & 07777) < 0 ? -errno : code;
}

static int copy_entry(int from, const char *name, int to)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_into(from, name, st.st_mode, to);
	if (S_ISCHR(st.st_mode)) /* a whiteout: no box makes other devices */
		return st.st_rdev != 0                                        ? -ENOTSUP
		       : mknodat(to, name, S_IFCHR | 0600, makedev(0, 0)) < 0 ? -errno
									      : 0;
	if (S_ISSOCK(st.st_mode))
		return 0; /* whoever listens on it is not copied */
	return rf_copy_exactly(from, name, to, name);
}

static int copy_folder(int from, int to)
{
	int listed = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!dir) {
		code = -errno;
		rf_fd_done(&listed);
		return code;
	}
	while (code == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			code = copy_entry(from, entry->d_name, to);
	closedir(dir);
	return code;
}

int rf_snapshot_open(const char *name, struct rf_snapshot *ret_snapshot, struct rf_err *err)
{
	struct rf_workspace workspace;
	int code;

	*ret_snapshot = (struct rf_snapshot){ 0 };
	rf_visit_init(&ret_snapshot->visit);
	rf_occupant_init(&ret_snapshot->occupant);
	code = rf_workspace_open_beside(name, &workspace, err);
	if (code < 0)
		return code;
	/* The ledger is read once nobody else writes it. */
	code = rf_occupant_open(workspace.folder, &ret_snapshot->occupant, err);
	if (code == 0)
		code = rf_workspace_reload(&workspace, name, err);
	if (code < 0) {
		rf_workspace_close(&workspace);
		rf_snapshot_close(ret_snapshot);
		return code;
	}
	code = rf_visit_adopt(&workspace, &ret_snapshot->visit, err);
	if (code == 0)
		code = rf_visit_begin(&ret_snapshot->visit, err);
	ret_snapshot->visit.began_ns = ret_snapshot->occupant.began_ns;
	if (code < 0)
		rf_snapshot_close(ret_snapshot);
	return code;
}

int rf_snapshot_copy(struct rf_snapshot *snapshot, struct rf_err *err)
{
	struct rf_visit *visit = &snapshot->visit;
	RF_AUTO_FD int from = rf_pool_open_layer(visit->pool, snapshot->occupant.layer);
	RF_AUTO_FD int to = rf_pool_open_layer(visit->pool, visit->upper);
	struct stat st;
	int code;

	if (from < 0 || to < 0)
		return rf_fail(err, from < 0 ? from : to, "open a layer");
	code = copy_mark(from, to);
	if (code == 0)
		code = copy_folder(from, to);
	if (code == 0 && (fstat(from, &st) < 0 || fchmod(to, st.st_mode & 07777) < 0))
		code = -errno;
	return code < 0 ? rf_fail(err, code, "copy what the program has changed") : 0;
}

int rf_snapshot_keep(struct rf_snapshot *snapshot, const char *name, uint32_t *ret_point,
		     struct rf_err *err)
{
	const struct rf_visit_note note = { .command = "a program that went on",
					    .status = "running",
					    .name = name,
					    .is_undone = true };
	struct rf_ledger *ledger = &snapshot->visit.kept.ledger;
	struct rf_delta delta;
	int code = rf_visit_changes(&snapshot->visit, &delta, err);

	if (code == 0)
		code = rf_visit_keep(&snapshot->visit, &delta, &note, err);
	if (code == 0)
		*ret_point = ledger->points[ledger->count - 1].id;
	rf_delta_done(&delta);
	return code;
}

void rf_snapshot_close(struct rf_snapshot *snapshot)
{
	rf_visit_close(&snapshot->visit);
	rf_occupant_close(&snapshot->occupant);
}
