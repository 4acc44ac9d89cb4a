/*
 * The identity wall.
 *
 * Takes away: the caller's uid (as root), groups, every capability in all five sets, the way to
 * gain any by exec, keyrings, and the making of further user namespaces.
 * Raised: after everything that needs privilege, before Landlock (which then needs only
 * no_new_privs).
 * From inside: uid 1000 (or the user's own), EPERM.
 */
#include "jail/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/userns.h"

/* Besides the filter, so that two walls stand before a nested namespace. */
static int forbid_namespaces(struct rf_box *box, struct rf_err *err)
{
	int code = rf_fd_write_text(box->proc_sys, "user/max_user_namespaces", "0");

	/* An ordinary user's programs outside draw on the same supply. */
	rf_fd_write_text(box->proc_sys, "user/max_inotify_instances", "32");
	rf_fd_write_text(box->proc_sys, "user/max_inotify_watches", "16384");
	if (code == 0)
		return 0;
	return rf_box_lacks(box, "a limit of 0 on nested user namespaces",
			    "make /proc/sys writable for the launcher", err);
}

/* Only who has CAP_SETPCAP may; without, in a lesser box, no_new_privs alone stands before it. */
static int drop_bounding(const struct rf_box *box, struct rf_err *err)
{
	for (unsigned long cap = 0; cap <= 63 && !box->has_bounding; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL && cap > CAP_AUDIT_READ)
				break; /* past the last that this kernel has */
			return rf_fail(err, -errno, "drop capability %lu", cap);
		}
	return 0;
}

static int drop_capabilities(struct rf_err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return rf_fail(err, -errno, "clear ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return rf_fail(err, -errno, "drop all capabilities");
	return 0;
}

/*
 * Without a namespace to enter, root becomes the box's uid outright.  This process still shares the
 * launcher's memory, so that nobody else with that uid may look at it.
 */
static int become_uid(const struct rf_box *box, struct rf_err *err)
{
	if (!box->is_root)
		return 0;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setresgid(box->host_gid, box->host_gid, box->host_gid) < 0 ||
	    setresuid(box->host_uid, box->host_uid, box->host_uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
		rf_fail(err, -errno, "become uid %u", box->host_uid);
		return rf_fail_hint(err,
				    "root needs CAP_SETUID and CAP_SETGID here; or run ringfort "
				    "as an ordinary user");
	}
	return 0;
}

int rf_identity_drop(struct rf_box *box, struct rf_err *err)
{
	/* A session keyring of its own, so that none of the caller's keys is possessed. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	    rf_box_lacks(box, "a session keyring of its own",
			 "let the launcher use keyctl(2), as with Docker's --security-opt "
			 "seccomp=unconfined",
			 err) < 0)
		return err->code;
	if (box->is_root && setgroups(0, NULL) < 0)
		return rf_fail(err, -errno, "leave all groups");
	if (box->is_lesser) {
		if (drop_bounding(box, err) < 0 || become_uid(box, err) < 0)
			return err->code;
	} else if (rf_userns_seal(box, err) < 0 || forbid_namespaces(box, err) < 0 ||
		   drop_bounding(box, err) < 0) {
		return err->code;
	}
	if (drop_capabilities(err) < 0)
		return err->code;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "set no_new_privs");
	return 0;
}
