/* What the clerk's process gives up: see clerk-stance.h. */
#include "server/clerk-stance.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define CAP(name)    (1ull << CAP_##name)
#define CAP_LAST_MAX 63

/* Files of any uid, which workspaces have where root's boxes wrote them: read, written, given their owner, mode and attributes back. */
#define NEEDED                                                                                     \
	(CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH) | CAP(FOWNER) | CAP(FSETID) |       \
	 CAP(MKNOD) | CAP(SETFCAP))

static int cut_capabilities(struct rf_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	for (unsigned long cap = 0; cap <= CAP_LAST_MAX; cap++)
		if (!(NEEDED >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* those that this kernel has */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, sets) < 0)
		return rf_fail(err, -errno, "look at the clerk's capabilities");
	for (int i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(NEEDED >> 32 * i);
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, sets) < 0)
		return rf_fail(err, -errno, "give the clerk's capabilities up");
	return 0;
}

int rf_clerk_stance_take(struct rf_err *err)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	umask(077);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* a line for every key */
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "harden the clerk");
	return cut_capabilities(err);
}
