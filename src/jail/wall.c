/*
 * The walls of a box: see wall.h.
 *
 * RF_TEST_WALLS is defined only for a second build of the launcher that the tests use: it leaves
 * out the walls named in an environment variable, so that the proof can be seen to refuse and each
 * attack can be seen to succeed without the wall that stops it.  The product does not contain it.
 */
#include "jail/wall.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/loop.h"
#include "jail/hands.h"
#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/lesser.h"
#include "jail/mount.h"
#include "jail/netns.h"
#include "jail/rlimit.h"
#include "jail/seccomp.h"
#include "jail/uid.h"
#include "jail/userns.h"

typedef int rf_wall_fn(struct rf_box *box, struct rf_err *err);

/* clang-format off */
static const struct rf_wall {
	const char *name;
	rf_wall_fn *outside; /* before the child exists, in the launcher; may be NULL */
	rf_wall_fn *inside;  /* in the child, before pid 1; may be NULL */
} full[] = {
	{ "cgroup",     rf_cgroup_raise, rf_cgroup_enter   }, /* first: limits hold for the rest */
	{ "namespaces", rf_uid_take,     rf_userns_enter   },
	{ "mounts",     rf_mount_open,   rf_mount_raise    },
	{ "network",    NULL,            rf_netns_raise    },
	{ "limits",     NULL,            rf_rlimit_raise   },
	{ "identity",   rf_userns_prepare, rf_identity_drop }, /* ids, groups, capabilities */
	{ "landlock", rf_landlock_prepare, rf_landlock_raise },
	{ "seccomp",  rf_seccomp_prepare, rf_seccomp_raise }, /* last: the others need calls */
}, lesser[] = { /* where namespaces are forbidden: see lesser.h */
	{ "cgroup",     rf_cgroup_raise, rf_cgroup_enter   },
	{ "uid",        rf_uid_take,     NULL              },
	{ "lesser",     rf_lesser_raise, rf_lesser_enter   },
	{ "limits",     NULL,            rf_rlimit_raise   },
	{ "identity",   NULL,            rf_identity_drop  },
	{ "landlock", rf_landlock_open_lesser, rf_landlock_raise_lesser },
	{ "seccomp",  rf_seccomp_prepare, rf_seccomp_raise },
};
/* clang-format on */

_Static_assert(RF_LEN(full) <= RF_BOX_WALLS_MAX && RF_LEN(lesser) <= RF_BOX_WALLS_MAX,
	       "the box has room to time every wall");

#ifdef RF_TEST_WALLS
bool rf_wall_is_left_out(const char *name)
{
	const char *list = getenv("RINGFORT_TEST_WITHOUT");
	size_t len = strlen(name);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',')
		if (strncmp(list, name, len) == 0 && (list[len] == ',' || !list[len]))
			return true;
	return false;
}

uint32_t rf_wall_facts(void)
{
	return getenv("RINGFORT_TEST_UNPROVEN") ? 0 : (1u << RF_PROOF_COUNT) - 1;
}
#else
bool rf_wall_is_left_out(const char *name)
{
	(void)name;
	return false;
}

uint32_t rf_wall_facts(void)
{
	return (1u << RF_PROOF_COUNT) - 1;
}
#endif

static const struct rf_wall *walls_of(bool is_lesser, size_t *ret_count)
{
	*ret_count = is_lesser ? RF_LEN(lesser) : RF_LEN(full);
	return is_lesser ? lesser : full;
}

int rf_wall_raise_outside(struct rf_box *box, struct rf_err *err)
{
	size_t count;
	const struct rf_wall *walls = walls_of(box->is_lesser, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t began = rf_loop_now();

		/* The last wall asks which groups there are. */
		if (i + 1 == count && rf_hands_await_groups(box, err) < 0)
			return rf_fail_in(err, "%s", walls[0].name);
		if (walls[i].outside && walls[i].outside(box, err) < 0)
			return rf_fail_in(err, "%s", walls[i].name);
		box->outside_ns[i] = rf_loop_now() - began;
	}
	return 0;
}

int rf_wall_raise_inside(struct rf_box *box, struct rf_err *err)
{
	size_t count;
	const struct rf_wall *walls = walls_of(box->is_lesser, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t began = rf_loop_now();

		/* The last wall refuses what it takes to wait for them. */
		if (i + 1 == count && rf_hands_finish(box, err) < 0)
			return err->code;
		if (rf_wall_is_left_out(walls[i].name))
			continue;
		if (walls[i].inside && walls[i].inside(box, err) < 0)
			return rf_fail_in(err, "%s", walls[i].name);
		box->shared->wall_ns[i] = rf_loop_now() - began;
	}
	return 0;
}

const char *rf_wall_name(bool is_lesser, size_t i)
{
	size_t count;
	const struct rf_wall *walls = walls_of(is_lesser, &count);

	return i < count ? walls[i].name : NULL;
}
