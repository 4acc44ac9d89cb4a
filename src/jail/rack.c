/*
 * Folders of programs that show only those which the policy names.
 *
 * Landlock refuses to execute any other program, but whoever may start the dynamic loader can have it
 * map what it can read.  So programs that nobody named are not there: each folder that holds
 * programs is covered by one of our own, a rack, in which the named ones are bound and the links that
 * lead to them made anew.  Libraries stay where they are.
 *
 * The racks are directories of the box's own root file system, read-only and never executable
 * themselves; what is bound on them keeps the rights of the tree that it comes from.
 */
#include "jail/rack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/program.h"

#define RACKS "/.ringfort/rack" /* beneath the root */
#define ATTRS                                                                                      \
	(RF_MOUNT_ATTR_RDONLY | RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV | RF_MOUNT_ATTR_NOEXEC)

/* What lies beneath `folder` is named from there on; NULL for what does not. */
static const char *name_on(const char *folder, const char *path)
{
	size_t len = strlen(folder);

	return rf_path_is_beneath(path, folder) && path[len] == '/' ? path + len + 1 : NULL;
}

/* Makes the directories on the way to `name`.  Returns 0 or a negative errno. */
static int make_way(int rack, const char *name)
{
	char path[PATH_MAX];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		if ((size_t)(slash - name) >= sizeof(path))
			return -ENAMETOOLONG;
		memcpy(path, name, (size_t)(slash - name));
		path[slash - name] = '\0';
		if (mkdirat(rack, path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* True if a folder that is shown as a whole holds this one. */
static bool is_within(const struct rf_program_set *set, const struct rf_program *program)
{
	for (size_t i = 0; i < set->program_count; i++)
		if (set->programs[i].is_folder && &set->programs[i] != program &&
		    rf_path_is_beneath(program->path, set->programs[i].path))
			return true;
	return false;
}

/* Makes a place for each program on the rack, and the links. */
static int lay_out(int rack, const struct rf_program_set *set, const char *folder)
{
	for (size_t i = 0; i < set->program_count; i++) {
		const struct rf_program *program = &set->programs[i];
		const char *name = name_on(folder, program->path);
		int code;

		if (!name || is_within(set, program))
			continue;
		code = make_way(rack, name);
		if (code < 0)
			return code;
		if ((program->is_folder ? mkdirat(rack, name, 0755)
					: mknodat(rack, name, S_IFREG | 0444, 0)) < 0 &&
		    errno != EEXIST)
			return -errno;
	}
	for (size_t i = 0; i < set->link_count; i++) {
		const char *name = name_on(folder, set->links[i].path);
		int code = name ? make_way(rack, name) : 0;

		if (code < 0)
			return code;
		if (name && symlinkat(set->links[i].target, rack, name) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Clones what lies at `name` beneath `from` and puts it at the same name beneath `to`. */
static int bind_from(int from, int to, const char *name)
{
	RF_AUTO_FD int mnt = rf_kernel_open_tree(from, name,
						 RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC |
							 RF_AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);

	if (mnt < 0 || rf_kernel_move_mount(mnt, "", to, name, RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* Covers the folder with its rack and gives the folder's own directory, which stays reachable. */
static int cover(int root, int rack, const char *folder, int *ret_beneath)
{
	static const struct rf_kernel_mount_attr attr = { .attr_set = ATTRS };
	RF_AUTO_FD int beneath = rf_path_open_beneath(root, folder, O_PATH | O_DIRECTORY);
	RF_AUTO_FD int mnt = -1;

	if (beneath < 0)
		return beneath;
	mnt = rf_kernel_open_tree(rack, "",
				  RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (mnt < 0 || rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0 ||
	    rf_kernel_move_mount(mnt, "", beneath, "",
				 RF_MOVE_MOUNT_F_EMPTY_PATH | RF_MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	*ret_beneath = rf_fd_take(&beneath);
	return 0;
}

/* True if a program or a link to one lies in the folder. */
static bool holds_any(const struct rf_program_set *set, const char *folder)
{
	for (size_t i = 0; i < set->program_count; i++)
		if (name_on(folder, set->programs[i].path))
			return true;
	for (size_t i = 0; i < set->link_count; i++)
		if (name_on(folder, set->links[i].path))
			return true;
	return false;
}

/* Opens a fresh rack.  Returns a descriptor or a negative errno. */
static int new_rack(int racks, size_t index)
{
	char number[16];
	int rack;

	snprintf(number, sizeof(number), "%zu", index);
	if (mkdirat(racks, number, 0755) < 0)
		return -errno;
	rack = openat(racks, number, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return rack < 0 ? -errno : rack;
}

static int raise_one(int root, int racks, const struct rf_program_set *set, size_t index)
{
	const char *folder = set->folders[index];
	RF_AUTO_FD int rack = new_rack(racks, index);
	RF_AUTO_FD int beneath = -1, covered = -1;
	int code = rack < 0 ? rack : lay_out(rack, set, folder);

	if (code == 0)
		code = cover(root, rack, folder, &beneath);
	if (code < 0)
		return code;
	covered = rf_path_open_beneath(root, folder, O_PATH | O_DIRECTORY);
	if (covered < 0)
		return covered;
	for (size_t i = 0; i < set->program_count && code == 0; i++) {
		const char *name = name_on(folder, set->programs[i].path);

		if (name && !is_within(set, &set->programs[i]))
			code = bind_from(beneath, covered, name);
	}
	return code;
}

/* Where nothing of a folder is named, one empty rack serves them all. */
static int raise_empty(int root, int empty, const char *folder)
{
	RF_AUTO_FD int beneath = -1;

	return cover(root, empty, folder, &beneath);
}

int rf_rack_raise(struct rf_box *box, int root, struct rf_err *err)
{
	const struct rf_program_set *set = box->programs;
	RF_AUTO_FD int racks = -1, empty = -1;

	if (!set)
		return 0;
	if (mkdirat(root, &RACKS[1], 0755) < 0)
		return rf_fail(err, -errno, "make " RACKS);
	racks = openat(root, &RACKS[1], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (racks < 0)
		return rf_fail(err, -errno, "open " RACKS);
	empty = new_rack(racks, set->folder_count);
	if (empty < 0)
		return rf_fail(err, empty, "make an empty folder in " RACKS);
	for (size_t i = 0; i < set->folder_count; i++) {
		int code = holds_any(set, set->folders[i])
				   ? raise_one(root, racks, set, i)
				   : raise_empty(root, empty, set->folders[i]);

		if (code < 0)
			return rf_fail(err, code, "commands: leave only what is named in %s",
				       set->folders[i]);
	}
	return 0;
}
