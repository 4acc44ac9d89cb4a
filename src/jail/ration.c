/* What a box may put on disks: see ration.h. */
#include "jail/ration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/loop.h"
#include "jail/mount.h"
#include "jail/survey.h"
#include "jail/uncounted.h"

#define MS     1000000ull /* nanoseconds */
#define SAFE   (RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV)
#define OWN    8 /* inodes that are not the box's: tops, and what overlayfs makes in its workshop */
#define FULL   4096 /* bytes that are left when nothing is */
#define SEARCH 0711 /* the folder of folders: see pool.c of workspaces */
#define UNSURE 5    /* looks: folders are renamed, and files sent, by programs that hide nothing */
#define SHARE  20   /* looking takes at most one part of so many of the launcher's time */
#define EAGER  (10 * MS)
/* The most that a box could do in a millisecond, on the fastest disks there are. */
#define BYTES_A_MS  (4ull << 20)
#define INODES_A_MS 200

struct rf_room *rf_ration_room(const struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].layers)
			return plan->places[i].layers->room;
	return NULL;
}

/* True if the box may write to a tree of the host itself, or to a copy of one. */
static bool writes_to_host(const struct rf_plan *plan)
{
	const struct rf_room *room = rf_ration_room(plan);

	return (room && room->kind == RF_ROOM_COPY) || rf_plan_writes_host(plan);
}

/* What is said of trees in which nobody counts.  What is written elsewhere is counted all the same. */
static bool find_uncounted(struct rf_box *box)
{
	const struct rf_room *room = rf_ration_room(box->plan);
	char path[sizeof(box->uncounted) - 64];
	const char *type;
	struct statfs fs;

	if (room && room->kind == RF_ROOM_COPY && fstatfs(room->top, &fs) == 0 &&
	    fs.f_type == RF_TMPFS) {
		snprintf(box->uncounted, sizeof(box->uncounted), "the copy (tmpfs)");
		return true;
	}
	if (!rf_uncounted_find(box->plan, path, sizeof(path), &type))
		return false;
	snprintf(box->uncounted, sizeof(box->uncounted), "%s (%s)", path, type);
	return true;
}

void rf_ration_grade(struct rf_box *box)
{
	const struct rf_room *room = rf_ration_room(box->plan);
	enum rf_grade *disk = &box->grades[RF_LIMIT_DISK], *inodes = &box->grades[RF_LIMIT_INODES];

	box->uncounted[0] = '\0';
	box->has_ration = room && room->kind == RF_ROOM_DISK;
	if (box->has_ration)
		*disk = *inodes = RF_GRADE_SAMPLED;
	if (box->is_lesser)
		*disk = *inodes = RF_GRADE_NONE;
	if (box->is_lesser || !writes_to_host(box->plan))
		return;
	*inodes = RF_GRADE_NONE;
	if (access("/proc/self/io", R_OK) < 0) {
		*disk = RF_GRADE_NONE;
		return;
	}
	box->has_ration = true;
	*disk = find_uncounted(box) ? RF_GRADE_NONE : RF_GRADE_SAMPLED;
}

/* ------------------------------------------------------------- a room in memory */

static int make_folder(int top, const char *name, const struct rf_room *room, bool is_root)
{
	RF_AUTO_FD int folder = -1;

	if (mkdirat(top, name, 0700) < 0)
		return -errno;
	folder = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || (is_root && fchown(folder, room->uid, room->gid) < 0) ||
	    fchmod(folder, room->mode | 0700) < 0)
		return -errno;
	return 0;
}

static int hand_over(int socket, int top)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} packet = { .bytes = { 0 } };
	struct iovec byte = { .iov_base = (char[]){ 'L' }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &packet,
				  .msg_controllen = sizeof(packet.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(top));
	memcpy(CMSG_DATA(header), &top, sizeof(top));
	return rf_fd_sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int hang(int mnt, int own, const char *name)
{
	if (mkdirat(own, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return rf_kernel_move_mount(mnt, "", own, name, RF_MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno
											: 0;
}

/* The same once more, with the box's uid where the tree's owner is. */
static int map(int own, const char *name, int owners)
{
	struct rf_kernel_mount_attr attr = { .attr_set = SAFE | RF_MOUNT_ATTR_IDMAP,
					     .userns_fd = (uint64_t)owners };
	RF_AUTO_FD int mnt =
		rf_kernel_open_tree(own, name, RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC);

	if (mnt < 0 || rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	return hang(mnt, own, name); /* over it: both go together */
}

int rf_ration_mount(struct rf_box *box, struct rf_room *room, int owners, int own,
		    struct rf_err *err)
{
	const uint64_t *limits = box->plan->limits;
	char size[24], inodes[24];
	const char *options[] = { "size", size, "nr_inodes", inodes, "mode", "0711", NULL };
	RF_AUTO_FD int mnt = -1;
	RF_AUTO_FD int top = -1;
	int code;

	snprintf(size, sizeof(size), "%" PRIu64, limits[RF_LIMIT_DISK]);
	snprintf(inodes, sizeof(inodes), "%" PRIu64, limits[RF_LIMIT_INODES] + OWN);
	mnt = rf_mount_new("tmpfs", options, SAFE);
	if (mnt < 0)
		return rf_fail(err, mnt, "make room for the layer in memory");
	top = openat(mnt, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = top < 0 ? -errno : make_folder(top, "up", room, box->is_root);
	if (code == 0)
		code = make_folder(top, "work", room, box->is_root);
	if (code == 0 && fchmod(top, SEARCH) < 0)
		code = -errno;
	if (code == 0)
		code = hang(mnt, own, "top");
	if (code == 0 && owners >= 0)
		code = map(own, "top", owners);
	if (code == 0)
		code = hand_over(box->channel[1], top);
	if (code < 0)
		return rf_fail(err, code, "prepare the layer in memory");
	box->shared->has_layer = true;
	return 0;
}

int rf_ration_take(const struct rf_box *box, struct rf_err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} packet = { .bytes = { 0 } };
	char text;
	struct iovec byte = { .iov_base = &text, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &packet,
				  .msg_controllen = sizeof(packet.bytes) };
	struct rf_room *room = rf_ration_room(box->plan);
	const struct cmsghdr *header;
	RF_AUTO_FD int top = -1;

	if (recvmsg(box->channel[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return rf_fail(err, -errno, "take the layer over");
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(top)))
		return rf_fail_say(err, -EPROTO, "the layer did not arrive");
	memcpy(&top, CMSG_DATA(header), sizeof(top));
	return dup3(top, room->top, O_CLOEXEC) < 0 ? rf_fail(err, -errno, "take the layer over")
						   : 0;
}

/* ------------------------------------------------------------- looking */

/*
 * What a layer on disk takes, and the limit that it is over, or RF_LIMIT_COUNT.  Files without a name are in it, too.  Where some may be that
 * can't be looked at, what was written counts in their place, once that is more than the limit.
 */
static enum rf_limit look_at_layer(const struct rf_box *box, struct rf_room *room, uint64_t written,
				   struct rf_survey *survey)
{
	const uint64_t *limits = box->plan->limits;
	RF_AUTO_FD int up =
		openat(room->top, "up", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t unnamed = 0;

	rf_survey_take(up, limits[RF_LIMIT_DISK], limits[RF_LIMIT_INODES], survey);
	if ((rf_survey_unnamed(box->pid, &unnamed) && !survey->is_torn) ||
	    written <= limits[RF_LIMIT_DISK])
		room->unsure = 0;
	else if (++room->unsure >= UNSURE)
		unnamed = written;
	survey->bytes += unnamed;
	room->bytes = survey->bytes;
	room->inodes = survey->inodes;
	if (survey->is_closed || survey->bytes > limits[RF_LIMIT_DISK])
		return RF_LIMIT_DISK;
	return survey->inodes > limits[RF_LIMIT_INODES] ? RF_LIMIT_INODES : RF_LIMIT_COUNT;
}

static uint64_t until(uint64_t limit, uint64_t used, uint64_t a_ms)
{
	return limit > used ? (limit - used) / a_ms * MS : 0;
}

enum rf_limit rf_ration_look(const struct rf_box *box, uint64_t written, uint64_t *ret_next_ns)
{
	struct rf_room *room = rf_ration_room(box->plan);
	const uint64_t *limits = box->plan->limits;
	struct rf_survey survey = { 0 };
	uint64_t began = rf_loop_now(), bytes_in, inodes_in, least;
	enum rf_limit passed = RF_LIMIT_COUNT;

	if (room && room->kind == RF_ROOM_DISK)
		passed = look_at_layer(box, room, written, &survey);
	if (passed != RF_LIMIT_COUNT)
		return passed;
	if (writes_to_host(box->plan) && written > survey.bytes)
		survey.bytes = written;
	if (survey.bytes > limits[RF_LIMIT_DISK])
		return RF_LIMIT_DISK;
	bytes_in = until(limits[RF_LIMIT_DISK], survey.bytes, BYTES_A_MS);
	inodes_in = room && room->kind == RF_ROOM_DISK
			    ? until(limits[RF_LIMIT_INODES], survey.inodes, INODES_A_MS)
			    : UINT64_MAX;
	least = EAGER + SHARE * (rf_loop_now() - began);
	*ret_next_ns = bytes_in < inodes_in ? bytes_in : inodes_in;
	if (*ret_next_ns < least)
		*ret_next_ns = least;
	return RF_LIMIT_COUNT;
}

/* ------------------------------------------------------------- what is left */

/* A folder with a project quota answers as a file system of that size would. */
static bool look_at(const struct rf_room *room, struct statfs *ret_fs)
{
	RF_AUTO_FD int up = openat(room->top, "up", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return up >= 0 && fstatfs(up, ret_fs) == 0;
}

uint64_t rf_ration_memory(const struct rf_plan *plan)
{
	const struct rf_room *room = rf_ration_room(plan);
	struct statfs fs;

	if (!room || room->kind != RF_ROOM_MEMORY || fstatfs(room->top, &fs) < 0 ||
	    fs.f_type != RF_TMPFS)
		return 0;
	return (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
	       (fs.f_files - fs.f_ffree) * RF_RATION_INODE;
}

uint32_t rf_ration_end(const struct rf_plan *plan)
{
	struct rf_room *room = rf_ration_room(plan);
	uint32_t hit = 0;
	struct statfs fs;

	if (!room || (room->kind != RF_ROOM_MEMORY && room->kind != RF_ROOM_PROJECT) ||
	    !look_at(room, &fs))
		return 0;
	if (room->kind == RF_ROOM_MEMORY && fs.f_type != RF_TMPFS)
		return 0; /* it did not come so far */
	room->bytes = (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	room->inodes = fs.f_files - fs.f_ffree > OWN ? fs.f_files - fs.f_ffree - OWN : 0;
	if (fs.f_bfree * (uint64_t)fs.f_bsize < FULL)
		hit |= 1u << RF_LIMIT_DISK;
	if (fs.f_ffree == 0)
		hit |= 1u << RF_LIMIT_INODES;
	return hit;
}
