/* The yard: see yard.h. */
#include "warden/yard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "jail/hidden.h"
#include "jail/mask.h"
#include "jail/mold.h"
#include "jail/netns.h"
#include "jail/parts.h"
#include "warden/netns-pool.h"
#include "warden/shape.h"
#include "warden/stamp.h"

#define KEEP_FOR 60000000000ull /* nanoseconds that a box waits for somebody to want it */

/* What a file of the host was when a box was built that shows it. */
struct glimpse {
	uint64_t dev, ino;
	int64_t changed; /* of a link and a file: the target counts, and the content */
};

/* One shape, and perhaps a box that waits. */
struct plot {
	struct rf_plan *plan; /* NULL: the plot is free */
	bool is_heard;
	bool has_box;
	bool is_barren;    /* building failed; whoever asks next hears why */
	uint64_t asked_ns; /* when it was last wanted */
	struct rf_box box;
	struct rf_parts parts;    /* the mold is its own */
	struct glimpse *glimpses; /* by place, from before the mold was made */
	struct rf_stamp stamp;    /* from before those: while it holds, the system's need no look */
};

struct rf_yard {
	const char *init_path;
	int mounts;                    /* the table of mounts, which tells when it changes */
	struct rf_parts parts;         /* that all plots share; what is no root's is -1 */
	struct rf_netns_pool networks; /* for boxes that are built while somebody waits */
	size_t most;
	struct plot plots[];
};

/* ------------------------------------------------------------- is it still what it was */

/* Nothing there is a glimpse like any other. */
static struct glimpse look_at(const struct rf_place *place)
{
	bool is_link_kept = place->kind == RF_PLACE_SYSTEM;
	struct stat st;

	if (place->kind != RF_PLACE_HOST && place->kind != RF_PLACE_SYSTEM &&
	    place->kind != RF_PLACE_DEVICE)
		return (struct glimpse){ 0 };
	if (fstatat(AT_FDCWD, place->source, &st, is_link_kept ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return (struct glimpse){ 0 };
	return (struct glimpse){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.changed = S_ISLNK(st.st_mode) || S_ISREG(st.st_mode)
				   ? st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec
				   : 0,
	};
}

static bool is_same_hidden(const struct rf_hidden_list *a, const struct rf_hidden_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].path, b->items[i].path) != 0 ||
		    a->items[i].is_target != b->items[i].is_target ||
		    a->items[i].dev != b->items[i].dev || a->items[i].ino != b->items[i].ino)
			return false;
	return true;
}

/*
 * Looks for what is to be hidden once more, and compares.  A number of an inode can be given to a new file as soon as the mask
 * of the old one is detached, so that equal lists prove nothing of the masks: these are looked at as well.
 */
static bool hides_the_same(const struct rf_box *box)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_box look = *box;
	bool is_same;

	look.hidden = (struct rf_hidden_list){ 0 };
	look.trees = NULL; /* by the host's names: the box's own trees have its masks on them */
	is_same = rf_hidden_find(&look, &err) == 0 && is_same_hidden(&look.hidden, &box->hidden) &&
		  rf_mask_check(box, &err) == 0;
	rf_hidden_done(&look.hidden);
	return is_same;
}

/* True if every file that the plan shows is the one that it was. */
static bool is_as_it_was(struct plot *plot)
{
	const struct rf_plan *plan = plot->plan;
	bool is_known = rf_stamp_holds(&plot->stamp);
	struct rf_stamp stamp = plot->stamp;

	if (!is_known)
		rf_stamp_take(&stamp, plan);
	for (size_t i = 0; i < plan->place_count; i++) {
		struct glimpse now;

		if (is_known && plan->places[i].kind == RF_PLACE_SYSTEM)
			continue;
		now = look_at(&plan->places[i]);
		if (memcmp(&now, &plot->glimpses[i], sizeof(now)) != 0)
			return false;
	}
	plot->stamp = stamp; /* a new one where something else in those folders has changed */
	return true;
}

/* True once after each change of the machine's mounts. */
static bool have_mounts_changed(const struct rf_yard *yard)
{
	struct pollfd table = { .fd = yard->mounts, .events = POLLPRI };

	return poll(&table, 1, 0) != 0;
}

/* ------------------------------------------------------------- plots */

static void empty(struct plot *plot)
{
	if (plot->has_box)
		rf_box_done(&plot->box);
	plot->has_box = false;
}

/* Leaves nothing that was made of what the host's files were. */
static void raze(struct plot *plot)
{
	empty(plot);
	rf_fd_done(&plot->parts.mold);
}

static void clear(struct plot *plot)
{
	raze(plot);
	rf_plan_free(plot->plan);
	free(plot->glimpses);
	*plot = (struct plot){ .parts = RF_PARTS_NONE };
}

static struct plot *find(struct rf_yard *yard, const struct rf_plan *plan, bool is_heard)
{
	for (size_t i = 0; i < yard->most; i++)
		if (yard->plots[i].plan && yard->plots[i].is_heard == is_heard &&
		    rf_shape_is_same(yard->plots[i].plan, plan))
			return &yard->plots[i];
	return NULL;
}

/* A free one, or that which has been wanted least lately. */
static struct plot *find_room(struct rf_yard *yard)
{
	struct plot *oldest = yard->plots;

	for (size_t i = 0; i < yard->most; i++) {
		if (!yard->plots[i].plan)
			return &yard->plots[i];
		if (yard->plots[i].asked_ns < oldest->asked_ns)
			oldest = &yard->plots[i];
	}
	clear(oldest);
	return oldest;
}

/* ------------------------------------------------------------- the yard */

static int make_parts(struct rf_parts *parts, struct rf_err *err)
{
	parts->mounts = rf_fd_open("/proc/self/ns/mnt", O_RDONLY);
	parts->proc = rf_fd_open("/proc", O_PATH | O_DIRECTORY);
	if (parts->mounts < 0 || parts->proc < 0)
		return rf_fail(err, -errno, "take hold of our mount namespace");
	return 0;
}

int rf_yard_new(const char *init_path, size_t most, struct rf_yard **ret_yard, struct rf_err *err)
{
	struct rf_yard *yard = calloc(1, sizeof(*yard) + most * sizeof(yard->plots[0]));

	if (!yard)
		return rf_fail(err, -ENOMEM, "a yard");
	yard->init_path = init_path;
	yard->most = most;
	yard->parts = RF_PARTS_NONE;
	for (size_t i = 0; i < most; i++)
		yard->plots[i].parts = RF_PARTS_NONE;
	yard->mounts = rf_fd_open("/proc/self/mountinfo", O_RDONLY);
	*ret_yard = yard;
	if (yard->mounts < 0)
		return rf_fail(err, -errno, "open the table of mounts");
	return geteuid() == 0 ? make_parts(&yard->parts, err) : 0;
}

void rf_yard_free(struct rf_yard *yard)
{
	if (!yard)
		return;
	for (size_t i = 0; i < yard->most; i++)
		clear(&yard->plots[i]);
	rf_fd_done(&yard->parts.mounts);
	rf_fd_done(&yard->parts.proc);
	rf_netns_pool_done(&yard->networks);
	rf_fd_done(&yard->mounts);
	free(yard);
}

/* Somebody may have killed it while it waited. */
static bool lives(const struct rf_box *box)
{
	struct pollfd end = { .fd = box->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 0;
}

/* The plot of a plan, without what is no longer as it was. */
static struct plot *visit(struct rf_yard *yard, const struct rf_plan *plan, bool is_heard)
{
	struct plot *plot;

	if (have_mounts_changed(yard))
		for (size_t i = 0; i < yard->most; i++)
			raze(&yard->plots[i]);
	plot = find(yard, plan, is_heard);
	if (plot && !is_as_it_was(plot))
		raze(plot);
	return plot;
}

const struct rf_parts *rf_yard_parts(struct rf_yard *yard, const struct rf_plan *plan,
				     bool is_heard)
{
	struct plot *plot = visit(yard, plan, is_heard);

	return plot ? &plot->parts : NULL;
}

bool rf_yard_take(struct rf_yard *yard, const struct rf_plan *plan, bool is_heard,
		  struct rf_box *box)
{
	struct plot *plot = visit(yard, plan, is_heard);

	if (!plot)
		return false;
	if (plot->has_box && (!lives(&plot->box) || !hides_the_same(&plot->box)))
		empty(plot);
	if (!plot->has_box) {
		box->parts = &plot->parts;
		return false;
	}
	*box = plot->box;
	plot->has_box = false;
	return true;
}

int rf_yard_network(struct rf_yard *yard, const struct rf_plan *plan)
{
	return yard->most > 0 && rf_netns_is_bare(plan) ? rf_netns_pool_take(&yard->networks) : -1;
}

void rf_yard_remember(struct rf_yard *yard, struct rf_plan *plan, bool is_heard)
{
	struct plot *plot =
		yard->most > 0 && rf_shape_is_common(plan) ? find(yard, plan, is_heard) : NULL;

	if (yard->most > 0 && rf_shape_is_common(plan) && !plot) {
		plot = find_room(yard);
		plot->glimpses = calloc(plan->place_count, sizeof(*plot->glimpses));
		if (plot->glimpses) {
			plot->plan = plan;
			plot->is_heard = is_heard;
			plot->parts = yard->parts;
			plan = NULL;
		}
	}
	if (plot) {
		plot->asked_ns = rf_loop_now();
		plot->is_barren = false;
	}
	rf_plan_free(plan);
}

static bool is_bare(const struct plot *plot)
{
	return plot->plan && !plot->has_box && !plot->is_barren;
}

/* Before anything is made: what changes meanwhile makes it stale, not wrong. */
static void look_around(struct plot *plot)
{
	rf_stamp_take(&plot->stamp, plot->plan);
	for (size_t i = 0; i < plot->plan->place_count; i++)
		plot->glimpses[i] = look_at(&plot->plan->places[i]);
}

static void build(const struct rf_yard *yard, struct plot *plot)
{
	struct rf_err err = RF_ERR_INIT;
	int mold;

	/* One from a stale mold is as stale as that: whoever takes it looks. */
	if (plot->parts.mold < 0) {
		look_around(plot);
		mold = geteuid() == 0 ? rf_mold_make(plot->plan, &err) : -1;
		plot->parts.mold = mold < 0 ? -1 : mold; /* without one, all is built */
	}
	rf_box_init(&plot->box, plot->plan);
	plot->box.is_heard = plot->is_heard;
	plot->box.parts = &plot->parts;
	plot->has_box = true;
	if (rf_box_build(&plot->box, yard->init_path, &err) < 0) {
		raze(plot);
		plot->is_barren = true;
	}
}

void rf_yard_tend(struct rf_yard *yard)
{
	uint64_t now = rf_loop_now();

	for (size_t i = 0; i < yard->most; i++)
		if (yard->plots[i].plan && now - yard->plots[i].asked_ns > KEEP_FOR)
			clear(&yard->plots[i]);
	for (size_t i = 0; i < yard->most; i++)
		if (is_bare(&yard->plots[i])) {
			build(yard, &yard->plots[i]);
			return;
		}
	rf_netns_pool_tend(&yard->networks, KEEP_FOR);
}

bool rf_yard_is_short(const struct rf_yard *yard)
{
	for (size_t i = 0; i < yard->most; i++)
		if (is_bare(&yard->plots[i]))
			return true;
	return rf_netns_pool_is_short(&yard->networks);
}

size_t rf_yard_count(const struct rf_yard *yard)
{
	size_t count = 0;

	for (size_t i = 0; i < yard->most; i++)
		count += yard->plots[i].has_box;
	return count;
}
