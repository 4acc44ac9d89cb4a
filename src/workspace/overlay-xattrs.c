/* Attributes of overlayfs on files that are no layer's: see overlay-xattrs.h. */
#include "workspace/overlay-xattrs.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define LIST_MAX (64 * 1024) /* what xattr(7) allows */

/* Those of mounts with `userxattr`, which ours are, and of others; the kernel lists the latter for root alone. */
static bool is_overlays(const char *name)
{
	return strncmp(name, "user.overlay.", 13) == 0 ||
	       strncmp(name, "trusted.overlay.", 16) == 0;
}

static int refuse(const char *path, const char *name, struct rf_err *err)
{
	rf_fail_say(err, -EPERM,
		    "%.120s has the attribute %.60s, which hides files from workspaces",
		    *path ? path : "the directory", name);
	return rf_fail_hint(
		err,
		"a program that could write there may have set it: look at the file, then "
		"take it off with `setfattr -x %.60s`",
		name);
}

int rf_overlay_xattrs_refuse(int dir, const char *name, const char *path, struct rf_err *err)
{
	/* By way of /proc: a file that its owner may not open has attributes, too. */
	char way[32 + NAME_MAX + 1], list[LIST_MAX];
	ssize_t len;

	snprintf(way, sizeof(way), "/proc/self/fd/%d/%s", dir, name);
	len = llistxattr(way, list, sizeof(list));
	if (len < 0 &&
	    (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EOPNOTSUPP))
		return 0; /* gone meanwhile, closed to boxes as well, or of a file system that has none */
	if (len < 0)
		return rf_fail(err, -errno, "look at the attributes of %.120s",
			       *path ? path : "the directory");
	for (const char *at = list; at < list + len; at += strlen(at) + 1)
		if (is_overlays(at))
			return refuse(path, at, err);
	return 0;
}
