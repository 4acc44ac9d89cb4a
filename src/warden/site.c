/* The workspace that a box has: see site.h. */
#include "warden/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/tenancy.h"

/* What boxes with workspaces leave of a disk. */
#define LEFT_BYTES (64ull << 20)
#define LEFT_FILES 4096u

/* Where it is, by the folder that was opened: no link is on that way. */
static int find_path(struct rf_site *site, bool is_whole, struct rf_err *err)
{
	char link[32], folder[3900];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", site->held);
	len = readlink(link, folder, sizeof(folder) - 1);
	if (len < 0)
		return rf_fail(err, -errno, "find the workspace");
	if (len >= (ssize_t)sizeof(folder) - 1)
		return rf_fail_say(err, -ENAMETOOLONG, "the workspace has a path too long");
	folder[len] = '\0';
	snprintf(site->path, sizeof(site->path), "%s/tree%s", folder, is_whole ? "" : "/files");
	return 0;
}

/* The log, the keys and the register lie on the same disk: without room for them nothing could be recorded, and so nothing begun. */
static bool is_nearly_full(int folder)
{
	struct statvfs fs;

	return fstatvfs(folder, &fs) == 0 && ((uint64_t)fs.f_bavail * fs.f_frsize < LEFT_BYTES ||
					      (fs.f_files > 0 && fs.f_favail < LEFT_FILES));
}

int rf_site_open(const struct rf_bound *bound, const struct rf_errand *errand,
		 struct rf_site *ret_site, struct rf_err *err)
{
	struct rf_site *site = ret_site;

	*site = (struct rf_site){ .held = -1 };
	if (!errand->workspace)
		return 0;
	if (!bound) {
		rf_fail_say(err, -EPERM, "workspaces of this kind are a server's");
		return rf_fail_hint(err, "`ringfort run --workspace` has others");
	}
	site->held = rf_tenancy_open(rf_bound_tenant(bound), errand->workspace, err);
	if (site->held < 0) {
		site->held = -1;
		return err->code;
	}
	if (is_nearly_full(site->held))
		rf_fail_say(err, -EDQUOT, "the disk that workspaces lie on is nearly full");
	else if (flock(site->held, LOCK_SH | LOCK_NB) < 0)
		rf_fail_say(err, -EBUSY, "workspace `%.63s` is being removed", errand->workspace);
	else if (find_path(site, errand->is_whole, err) == 0) {
		site->place = (struct rf_place){ .kind = RF_PLACE_HOST,
						 .path = RF_TENANCY_PLACE,
						 .source = site->path,
						 .why = "the workspace",
						 .rule = "workspace" };
		return 0;
	}
	rf_site_done(site);
	return err->code;
}

void rf_site_done(struct rf_site *site)
{
	rf_fd_done(&site->held);
}
