/* One look through the directory of a workspace: see base-scan.h. */
#include "workspace/base-scan.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/tree-walk.h"
#include "workspace/overlay-xattrs.h"

static int refuse_overlay_xattrs(const struct rf_tree_walk_entry *entry, struct rf_err *err)
{
	return rf_overlay_xattrs_refuse(entry->dir, entry->name, entry->path, err);
}

/* What is asked of each entry: 0, or a negative errno and the error. */
static int (*const checks[])(const struct rf_tree_walk_entry *entry, struct rf_err *err) = {
	refuse_overlay_xattrs,
};

struct search {
	struct rf_base_scan *scan;
	struct rf_err *err;
	bool has_failed; /* err says why */
};

static int on_entry(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag)
{
	struct search *search = data;

	(void)ret_tag;
	for (size_t i = 0; i < RF_LEN(checks); i++)
		if (checks[i](entry, search->err) < 0) {
			search->has_failed = true;
			return search->err->code;
		}
	return S_ISDIR(entry->type);
}

/* Of an ordinary user's own, as of others': it is said, since a file in it may be hidden. */
static int on_closed(void *data, const char *path)
{
	struct rf_base_scan *scan = ((struct search *)data)->scan;

	if (scan->closed++ == 0)
		snprintf(scan->first, sizeof(scan->first), "%s", *path ? path : ".");
	return 0;
}

int rf_base_scan_run(int dir, struct rf_base_scan *ret_scan, struct rf_err *err)
{
	const struct rf_tree_walk_entry top = {
		.dir = dir, .name = ".", .path = "", .type = S_IFDIR
	};
	struct search search = { .scan = ret_scan, .err = err };
	struct rf_tree_walk walk = { .max = RF_MAX_BASE_SCAN,
				     .data = &search,
				     .on_entry = on_entry,
				     .on_closed = on_closed };
	int code;

	*ret_scan = (struct rf_base_scan){ 0 };
	/* Without /proc nothing could be asked, and everything would pass. */
	if (access("/proc/self/fd", X_OK) < 0)
		return rf_fail(err, -errno, "look through the directory: open /proc/self/fd");
	if (on_entry(&search, &top, NULL) < 0)
		return err->code;
	code = rf_tree_walk_run(&walk, dir);
	if (search.has_failed)
		return err->code;
	if (code < 0 && code != -E2BIG && code != -ENAMETOOLONG)
		return rf_fail(err, code, "look through the directory");
	ret_scan->seen = walk.seen < walk.max ? walk.seen : walk.max;
	ret_scan->is_partial = code < 0;
	return 0;
}
