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

#include "jail/deputy.h"
#include "jail/filter.h"

/* Returns a listener if one was asked for, 0, or a negative errno. */
static int load(const struct rf_call_options *options, unsigned flags, struct rf_err *err)
{
	struct rf_filter filter;
	struct sock_fprog program;
	long got;

	if (rf_filter_build(options, &filter, err) < 0)
		return err->code;
	program = (struct sock_fprog){ .len = (unsigned short)filter.len, .filter = filter.code };
	got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return got < 0 ? rf_fail(err, -errno, "load the system call filter") : (int)got;
}

int rf_seccomp_raise(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	struct rf_call_options options = {
		.syscalls = plan->syscalls,
		/* Without a network namespace there is no loopback but the host's. */
		.has_inet = plan->link == RF_LINK_HOST || (plan->has_loopback && !box->is_lesser),
		.has_unix = plan->has_unix,
		.is_sampled = !box->cgroup.has_memory,
		.is_lesser = box->is_lesser,
	};
	int listener = -1;

	if (box->is_lesser) {
		/* Only one filter around a process may have a listener: another one's stands in the way. */
		options.has_deputy = true;
		listener = load(&options, SECCOMP_FILTER_FLAG_NEW_LISTENER, err);
		if (listener >= 0) {
			box->shared->has_deputy = true;
			return rf_deputy_send(box, listener, err);
		}
		options.has_deputy = false;
	}
	if (load(&options, 0, err) < 0)
		return rf_fail_hint(err, "the kernel needs CONFIG_SECCOMP_FILTER");
	return 0;
}
