/* One look through the directory of a workspace: see base-scan.h. */
#include "workspace/base-scan.h"

#include <errno.h>
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

int rf_base_scan_run(int dir, struct rf_base_scan *ret_scan, struct rf_err *err)
{
	const struct rf_tree_walk_entry top = {
		.dir = dir, .name = ".", .path = "", .type = S_IFDIR
	};
	struct search search = { .err = err };
	struct rf_tree_walk walk = { .max = RF_MAX_BASE_SCAN,
				     .data = &search,
				     .on_entry = on_entry };
	int code;

	/* Without /proc nothing could be asked, and everything would pass. */
	if (access("/proc/self/fd", X_OK) < 0)
		return rf_fail(err, -errno, "look through the directory: open /proc/self/fd");
	if (on_entry(&search, &top, NULL) < 0)
		return err->code;
	code = rf_tree_walk_run(&walk, dir);
	if (search.has_failed)
		return err->code;
	if (code < 0 && code != -E2BIG)
		return rf_fail(err, code, "look through the directory");
	*ret_scan = (struct rf_base_scan){ .seen = code < 0 ? walk.max : walk.seen,
					   .is_partial = code == -E2BIG };
	return 0;
}
