/*
 * What on this machine may be the cause of a failed call.
 *
 * One errno has many causes: EPERM on a namespace may be Ubuntu's AppArmor rule, Debian's sysctl, a
 * container's filter or a missing capability.  Each leaves a trace that can be read, so a table goes
 * from the trace to the remedy, and a remedy is given only where its trace was seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/probe-cause.h"
#include "jail/probe-check.h"

static bool sysctl_is(const char *name, const char *value)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, value) == 0;
}

static bool is_refusal(int code)
{
	return code == -EPERM || code == -EACCES;
}

/* user.max_net_namespaces and its like; each kind of namespace has its own. */
static bool is_out_of_namespaces(int code)
{
	return code == -ENOSPC || code == -EUSERS;
}

static bool is_debian_rule(bool is_root, int code)
{
	return is_refusal(code) && !is_root && sysctl_is("kernel/unprivileged_userns_clone", "0");
}

static bool is_ubuntu_rule(bool is_root, int code)
{
	return is_refusal(code) && !is_root &&
	       sysctl_is("kernel/apparmor_restrict_unprivileged_userns", "1");
}

static bool is_filtered(bool is_root, int code)
{
	char text[4096];

	(void)is_root;
	return (is_refusal(code) || code == -ENOSYS) &&
	       rf_fd_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text)) > 0 &&
	       strstr(text, "\nSeccomp:\t2");
}

static bool is_root_without_power(bool is_root, int code)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	return is_refusal(code) && is_root && syscall(SYS_capget, &header, sets) == 0 &&
	       !(sets[0].effective & (1u << CAP_SYS_ADMIN));
}

/* The more precise comes first. */
/* clang-format off */
static const struct {
	bool (*is_seen)(bool is_root, int code);
	const char *remedy;
} causes[] = {
	{ is_debian_rule, "sysctl -w kernel.unprivileged_userns_clone=1" },
	{ is_ubuntu_rule, "install ringfort's AppArmor profile (packaging/apparmor, see docs/doctor.md); "
	                  "or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
	{ is_filtered,    "a filter around this process refuses it: docker run --security-opt "
	                  "seccomp=unconfined --security-opt systempaths=unconfined ..." },
	{ is_root_without_power, "root lacks CAP_SYS_ADMIN here: run ringfort as an ordinary user, or "
	                         "docker run --cap-add SYS_ADMIN ..." },
};
/* clang-format on */

const char *rf_probe_cause_remedy(int code, bool is_root, const char *space)
{
	static char remedy[160];

	if (is_out_of_namespaces(code) && space) {
		snprintf(remedy, sizeof(remedy),
			 "sysctl -w user.max_%s_namespaces=15000, and in every container around "
			 "this one",
			 space);
		return remedy;
	}
	for (size_t i = 0; i < RF_LEN(causes); i++)
		if (causes[i].is_seen(is_root, code))
			return causes[i].remedy;
	return NULL;
}

void rf_probe_cause_blame(struct rf_probe_trial *trial, int code)
{
	const char *remedy = rf_probe_cause_remedy(code, trial->report->is_root,
						   trial->outside ? trial->check->what : NULL);

	if (remedy)
		rf_probe_remedy(trial, "%s", remedy);
}
