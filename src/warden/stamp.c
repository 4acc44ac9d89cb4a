/* Folders that were left alone: see stamp.h. */
#include "warden/stamp.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NS         1000000000
#define SETTLED_NS (NS / 20) /* longer than any tick */
#define NOT_THERE  0         /* of no inode the number */

/* What lies at a folder's name; nothing there, and what is no folder, are looked at like any other. */
static void look_at(struct rf_stamp_folder *folder)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s", (int)folder->len, folder->path);
	folder->dev = folder->ino = NOT_THERE;
	folder->changed_ns = 0;
	if (stat(path, &st) < 0)
		return;
	folder->dev = st.st_dev;
	folder->ino = st.st_ino;
	folder->changed_ns = (int64_t)st.st_ctim.tv_sec * NS + st.st_ctim.tv_nsec;
}

static bool has(const struct rf_stamp *stamp, const char *path, size_t len)
{
	for (size_t i = 0; i < stamp->count; i++)
		if (stamp->folders[i].len == len && memcmp(stamp->folders[i].path, path, len) == 0)
			return true;
	return false;
}

/* Every folder above a name: one that is not there yet shows in the next one up. */
static bool add_ways(struct rf_stamp *stamp, const char *source)
{
	for (const char *at = source; (at = strchr(at, '/')); at++) {
		size_t len = at == source ? 1 : (size_t)(at - source);

		if (has(stamp, source, len))
			continue;
		if (stamp->count == RF_STAMP_FOLDERS || len >= PATH_MAX)
			return false;
		stamp->folders[stamp->count++] = (struct rf_stamp_folder){ source, len, 0, 0, 0 };
	}
	return true;
}

void rf_stamp_take(struct rf_stamp *ret_stamp, const struct rf_plan *plan)
{
	struct timespec now;
	int64_t now_ns;

	*ret_stamp = (struct rf_stamp){ .is_sure = true };
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind == RF_PLACE_SYSTEM &&
		    !add_ways(ret_stamp, plan->places[i].source))
			ret_stamp->is_sure = false;
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (int64_t)now.tv_sec * NS + now.tv_nsec;
	for (size_t i = 0; i < ret_stamp->count; i++) {
		look_at(&ret_stamp->folders[i]);
		ret_stamp->is_sure &= ret_stamp->folders[i].changed_ns < now_ns - SETTLED_NS;
	}
}

bool rf_stamp_holds(const struct rf_stamp *stamp)
{
	for (size_t i = 0; stamp->is_sure && i < stamp->count; i++) {
		struct rf_stamp_folder now = stamp->folders[i];

		look_at(&now);
		if (now.dev != stamp->folders[i].dev || now.ino != stamp->folders[i].ino ||
		    now.changed_ns != stamp->folders[i].changed_ns)
			return false;
	}
	return stamp->is_sure;
}
