/* The workspace that a box has: see site.h. */
#include "warden/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/tenancy.h"

#define LEFT_FILES 4096u /* that boxes with workspaces leave of a disk */

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
	if (asprintf(&site->path, "%s/tree%s", folder, is_whole ? "" : "/files") < 0) {
		site->path = NULL;
		return rf_fail(err, -ENOMEM, "the workspace");
	}
	return 0;
}

/* The log, the keys and the register lie on the same disk: without room for them nothing could be recorded, and so nothing begun. */
static bool is_nearly_full(int folder, uint64_t margin)
{
	struct statvfs fs;

	return fstatvfs(folder, &fs) == 0 && ((uint64_t)fs.f_bavail * fs.f_frsize < margin ||
					      (fs.f_files > 0 && fs.f_favail < LEFT_FILES));
}

/*
 * For boxes of programs.  One that has the whole tree undoes, lists and removes, which must be possible just then; before it copies the clerk was asked whether there is room.
 *
 * Above what its tenant's workspaces may take a new one is refused, and a copy (clerk-quota.h); boxes begin until they take a quarter more, since it takes one to
 * remove files.  By the last count: boxes that live are counted again every few seconds, and each has its own limit of what it writes.  Who is refused has it counted
 * again, so that nobody is kept out by what is no longer there.
 */
static int check_usage(const struct rf_bound *bound, struct rf_err *err)
{
	const struct rf_terms_sums *sums = rf_bound_sums(bound);
	const uint64_t storage = sums->storage ? sums->storage : RF_TENANCY_STORAGE;
	const uint64_t files = sums->files ? sums->files : RF_TENANCY_FILES;
	RF_AUTO_FD int all = rf_tenancy_open_all(rf_bound_tenant(bound), false);
	RF_AUTO_FD int used = -1;
	struct rf_tenancy_usage usage;
	struct rf_tenancy_sum sum;

	if (all < 0 || rf_tenancy_read_usage(all, &sum) < 0)
		return 0;
	usage = sum.held;
	if (usage.bytes / 5 <= storage / 4 && usage.files / 5 <= files / 4)
		return 0;
	used = rf_tenancy_open_used(all);
	rf_tenancy_touch_used(used);
	rf_fail_say(
		err, -EDQUOT,
		"the tenant's take %llu bytes in %llu files together, and may take %llu in %llu",
		(unsigned long long)usage.bytes, (unsigned long long)usage.files,
		(unsigned long long)storage, (unsigned long long)files);
	return rf_fail_hint(err, "delete a workspace, or files in a sandbox that lives");
}

/* A lock that is asked about, and never waited for. */
static int mark_used(const struct rf_bound *bound)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	RF_AUTO_FD int all = rf_tenancy_open_all(rf_bound_tenant(bound), false);
	int fd = all < 0 ? -1 : rf_tenancy_open_used(all);

	if (fd >= 0)
		fcntl(fd, F_OFD_SETLK, &lock);
	return fd;
}

int rf_site_open(const struct rf_bound *bound, const struct rf_errand *errand, uint64_t margin,
		 struct rf_site *ret_site, struct rf_err *err)
{
	struct rf_site *site = ret_site;

	*site = (struct rf_site){ .held = -1, .used = -1 };
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
	if (is_nearly_full(site->held, margin))
		rf_fail_say(err, -EDQUOT, "the disk that workspaces lie on is nearly full");
	else if (!errand->is_whole && check_usage(bound, err) < 0)
		rf_fail_in(err, "workspace `%.63s`", errand->workspace);
	else if (rf_tenancy_hold(site->held) < 0)
		rf_fail_say(err, -EBUSY, "workspace `%.63s` is being removed", errand->workspace);
	else if (find_path(site, errand->is_whole, err) == 0) {
		site->used = mark_used(bound);
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
	rf_tenancy_touch_used(site->used); /* what it has left is to be counted */
	rf_fd_done(&site->used);
	rf_fd_done(&site->held);
	free(site->path);
	site->path = NULL;
}
