/*
 * The proof: see proof.h.
 *
 * Nothing here trusts what the launcher did; every fact is asked of the kernel, by the very process
 * that is about to become the program.  A leaked descriptor with a working directory outside was
 * CVE-2024-21626; a wall that silently was not there was half of the field's agent sandboxes.
 */
#include "init/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "init/sys.h"

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static int open_at(const char *path, int flags)
{
	return (int)SYS4(__NR_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static int stat_at(const char *path, struct stat *st)
{
	return (int)SYS4(__NR_newfstatat, AT_FDCWD, path, st, 0);
}

/* Reads a small decimal number; -1 for anything else. */
static int number(const char *text)
{
	int n = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || n > 1000000)
			return -1;
		n = n * 10 + (*text - '0');
	}
	return n;
}

/* Descriptors 0, 1, 2; the socket, a ruleset, the program, which close themselves; and the one that lists them. */
static bool descriptors(const struct rf_orders *orders)
{
	int dir = open_at("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	bool is_good = dir >= 0;
	char entries[1024];
	long len;

	while (is_good && (len = SYS3(__NR_getdents64, dir, entries, sizeof(entries))) != 0) {
		for (long at = 0; is_good && at < len;) {
			const struct linux_dirent64 *entry = (const void *)(entries + at);
			int fd = number(entry->name);

			at += entry->len;
			if (entry->name[0] == '.' || fd == dir || (fd >= 0 && fd <= 2))
				continue;
			is_good = (fd == RF_ORDERS_FD ||
				   (fd == RF_RULESET_FD && orders->lesser.is_lesser) ||
				   (fd == RF_PROGRAM_FD && orders->has_program)) &&
				  SYS2(__NR_fcntl, fd, F_GETFD) == FD_CLOEXEC;
		}
		if (len < 0)
			is_good = false;
	}
	if (dir >= 0)
		SYS1(__NR_close, dir);
	for (int fd = 0; is_good && fd <= 2; fd++) {
		struct stat st;

		is_good = SYS2(__NR_fstat, fd, &st) == 0 && st.st_dev == orders->stdio_dev[fd] &&
			  st.st_ino == orders->stdio_ino[fd];
	}
	return is_good;
}

/*
 * A working directory out of the root's reach reads "(unreachable)/...".  A step up from the root leads to what is mounted
 * over it: an old root that was not left is found there.
 */
static bool directory(const struct rf_orders *orders)
{
	char path[4096];
	struct stat st, above;

	return SYS2(__NR_getcwd, path, sizeof(path)) > 0 && path[0] == '/' &&
	       stat_at("/", &st) == 0 && stat_at("/..", &above) == 0 &&
	       (st.st_dev != orders->host_root_dev || st.st_ino != orders->host_root_ino) &&
	       st.st_dev == above.st_dev && st.st_ino == above.st_ino;
}

static bool identity(const struct rf_orders *orders)
{
	uint32_t id[3];

	if (SYS3(__NR_getresuid, &id[0], &id[1], &id[2]) != 0 || id[0] != orders->uid ||
	    id[1] != orders->uid || id[2] != orders->uid)
		return false;
	if (SYS3(__NR_getresgid, &id[0], &id[1], &id[2]) != 0 || id[0] != orders->gid ||
	    id[1] != orders->gid || id[2] != orders->gid)
		return false;
	/* An ordinary user's own groups stay, unmapped; they read as the overflow group. */
	return true;
}

static bool capabilities(const struct rf_orders *orders)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	if (SYS2(__NR_capget, &header, sets) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
			return false;
	if (orders->lesser.has_bounding)
		return true;
	for (long cap = 0;; cap++) { /* an ambient one would have to be permitted */
		long in_bounding = SYS2(__NR_prctl, PR_CAPBSET_READ, cap);

		if (in_bounding < 0)
			return cap > 0;
		if (in_bounding > 0)
			return false;
	}
}

static bool namespaces(const struct rf_orders *orders, struct rf_report *report)
{
	static const char *const names[RF_NS_COUNT] = RF_NS_NAMES;
	int dir = open_at("/proc/self/ns", O_PATH | O_DIRECTORY);
	bool is_good = dir >= 0;

	for (int i = 0; is_good && i < RF_NS_COUNT; i++) {
		struct stat st;

		is_good = SYS4(__NR_newfstatat, dir, names[i], &st, 0) == 0;
		if (!is_good)
			break;
		report->ns[i] = st.st_ino;
		is_good = st.st_ino != orders->host_ns[i] || orders->same_ns & 1u << i;
	}
	if (dir >= 0)
		SYS1(__NR_close, dir);
	return is_good;
}

bool proof_landlock(const struct rf_orders *orders)
{
	int fd =
		open_at(orders->lesser.is_lesser ? orders->lesser.sentinel : RF_SENTINEL, O_RDONLY);

	if (fd >= 0)
		SYS1(__NR_close, fd);
	return fd == -EACCES;
}

/*
 * The terminal behind descriptor 0 (which is the one that the launcher knows, see descriptors()) must
 * be this very session's: the kernel answers TIOCGSID for no other.
 */
static bool has_terminal(const struct rf_orders *orders, int self)
{
	struct stat st;
	int session = 0, group = 0;

	return SYS2(__NR_fstat, 0, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == orders->terminal_rdev &&
	       SYS3(__NR_ioctl, 0, TIOCGSID, &session) == 0 && session == self &&
	       SYS3(__NR_ioctl, 0, TIOCGPGRP, &group) == 0 && group == self;
}

static bool session(const struct rf_orders *orders)
{
	int fd = open_at("/dev/tty", O_RDWR | O_NOCTTY), self = (int)SYS0(__NR_getpid);

	if (fd >= 0)
		SYS1(__NR_close, fd);
	if (SYS1(__NR_getsid, 0) != self)
		return false;
	return orders->has_terminal ? fd >= 0 && has_terminal(orders, self) : fd < 0;
}

/* Asked with prlimit64, which every architecture has. */
static bool limits(const struct rf_orders *orders)
{
	uint64_t core[2], files[2]; /* soft and hard, as the kernel's struct rlimit64 */

	return SYS4(__NR_prlimit64, 0, RLIMIT_CORE, 0, core) == 0 && core[1] <= 1 &&
	       SYS4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, files) == 0 &&
	       files[1] <= orders->open_files;
}

static bool holds(enum rf_proof fact, const struct rf_orders *orders, struct rf_report *report)
{
	switch (fact) {
	case RF_PROOF_DESCRIPTORS:
		return descriptors(orders);
	case RF_PROOF_DIRECTORY:
		return directory(orders);
	case RF_PROOF_IDENTITY:
		return identity(orders);
	case RF_PROOF_CAPABILITIES:
		return capabilities(orders);
	case RF_PROOF_PRIVILEGES:
		return SYS(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1;
	case RF_PROOF_NAMESPACES:
		return namespaces(orders, report);
	case RF_PROOF_LANDLOCK:
		return proof_landlock(orders);
	case RF_PROOF_SECCOMP:
		return SYS0(orders->seccomp_nr) == -(long)orders->seccomp_errno;
	case RF_PROOF_SESSION:
		return session(orders);
	case RF_PROOF_LIMITS:
		return limits(orders);
	case RF_PROOF_CGROUP: /* not to be seen from inside its own cgroup namespace */
	case RF_PROOF_COUNT:
		break;
	}
	return false;
}

int proof_check(const struct rf_orders *orders, struct rf_report *report)
{
	for (uint32_t fact = 0; fact < RF_PROOF_COUNT; fact++) {
		if (!(orders->facts & 1u << fact))
			continue;
		report->fact = fact;
		if (!holds(fact, orders, report))
			return -EPERM;
		report->held |= 1u << fact;
	}
	return 0;
}

/*
 * The program's own domain lies within pid 1's: it has no /proc, which pid 1 needs, and its signals
 * do not reach pid 1.
 */
int proof_enter_inner(const struct rf_orders *orders)
{
	long pid1 = SYS0(__NR_getppid);
	int fd;

	if (SYS2(__NR_landlock_restrict_self, RF_RULESET_FD, 0) != 0)
		return -EPERM;
	SYS1(__NR_close, RF_RULESET_FD);
	fd = open_at("/proc/self/status", O_RDONLY);
	if (fd >= 0)
		SYS1(__NR_close, fd);
	if (fd != -EACCES || !proof_landlock(orders))
		return -EPERM;
	return orders->lesser.is_scoped && SYS2(__NR_kill, pid1, 0) != -EPERM ? -EPERM : 0;
}
