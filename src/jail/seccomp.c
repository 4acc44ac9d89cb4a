/*
 * The system call wall.
 *
 * Takes away: every call outside the table (calls.c), and every entry but the native one.
 * Raised: last; the other walls need calls that it refuses.
 * Assumes: no_new_privs is set.
 * From inside: EPERM or ENOSYS; death for a 32-bit or x32 call.
 */
#include "jail/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/filter.h"

int rf_seccomp_raise(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	const struct rf_call_options options = {
		.syscalls = plan->syscalls,
		.has_inet = plan->link == RF_LINK_HOST || plan->has_loopback,
		.has_unix = plan->has_unix,
		.is_sampled = !box->cgroup.has_memory,
	};
	struct rf_filter filter;
	struct sock_fprog program;

	if (rf_filter_build(&options, &filter, err) < 0)
		return err->code;
	program = (struct sock_fprog){ .len = (unsigned short)filter.len, .filter = filter.code };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		rf_fail(err, -errno, "load the system call filter");
		return rf_fail_hint(err, "the kernel needs CONFIG_SECCOMP_FILTER");
	}
	return 0;
}
