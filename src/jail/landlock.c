/*
 * Landlock wall.
 *
 * Takes away: every path outside the plan's places, and on each place every right that the plan does
 * not give, for this process and its descendants, for good.  From ABI 4 also TCP where the plan has
 * no loopback, from ABI 6 abstract unix sockets and signals beyond the box.
 * Raised: after the mounts (it names what is visible there) and the identity (it needs no_new_privs
 * only), before seccomp (which would refuse nothing of it, but is last).
 * Assumes: no_new_privs is set; no descriptor to a forbidden directory is still open.
 * On older kernels: what the ABI lacks is covered by the mounts and namespaces; where nothing
 * covers it (abstract sockets on the host's network) it goes to box->missing, and policy decides.
 * From inside: EACCES on open, EXDEV on a rename across rules.
 *
 * A sentinel, which belongs to no place, opens right before the wall goes up and must not after it:
 * pid 1 tries again (init/proof.c).
 */
#include "jail/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/scratch.h"
#include "jail/source.h"

/* Rights on files, by the ABI that brought them (landlock.h of Linux 6.15). */
#define FS_EXECUTE     (1ull << 0)
#define FS_WRITE_FILE  (1ull << 1)
#define FS_READ_FILE   (1ull << 2)
#define FS_READ_DIR    (1ull << 3)
#define FS_REMOVE_DIR  (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_CHAR   (1ull << 6)
#define FS_MAKE_DIR    (1ull << 7)
#define FS_MAKE_REG    (1ull << 8)
#define FS_MAKE_SOCK   (1ull << 9)
#define FS_MAKE_FIFO   (1ull << 10)
#define FS_MAKE_BLOCK  (1ull << 11)
#define FS_MAKE_SYM    (1ull << 12)
#define FS_REFER       (1ull << 13) /* ABI 2 */
#define FS_TRUNCATE    (1ull << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (1ull << 15) /* ABI 5 */
#define NET_BIND_TCP   (1ull << 0)  /* ABI 4 */
#define NET_CONNECT    (1ull << 1)
#define SCOPE_SOCKETS  (1ull << 0) /* ABI 6 */
#define SCOPE_SIGNALS  (1ull << 1)

#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_CHANGES                                                                                 \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG |              \
	 FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)

#define VERSION_FLAG      1u
#define RULE_PATH_BENEATH 1

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

int rf_landlock_abi(void)
{
	int abi = (int)syscall(RF_NR_LANDLOCK_NEW, NULL, 0, VERSION_FLAG);

	return abi < 0 ? 0 : abi;
}

static uint64_t handled_fs(int abi)
{
	uint64_t rights = FS_MAKE_SYM * 2 - 1;

	if (abi >= 2)
		rights |= FS_REFER;
	if (abi >= 3)
		rights |= FS_TRUNCATE;
	if (abi >= 5)
		rights |= FS_IOCTL_DEV;
	return rights;
}

/* Returns a ruleset's descriptor or a negative errno. */
static int new_ruleset(bool has_inet, int abi)
{
	struct ruleset_attr attr = { .fs = handled_fs(abi) };
	size_t size = sizeof(attr.fs);
	int fd;

	if (abi >= 4) {
		size = offsetof(struct ruleset_attr, scoped);
		attr.net = has_inet ? 0 : NET_BIND_TCP | NET_CONNECT;
	}
	if (abi >= 6) {
		size = sizeof(attr);
		attr.scoped = SCOPE_SOCKETS | SCOPE_SIGNALS;
	}
	fd = (int)syscall(RF_NR_LANDLOCK_NEW, &attr, size, 0);
	return fd < 0 ? -errno : fd;
}

static uint64_t rights_of(const struct rf_place *place)
{
	uint64_t rights = 0;

	if (place->rights & RF_RIGHT_READ)
		rights |= FS_READ_FILE | FS_READ_DIR;
	if (place->rights & RF_RIGHT_EXEC)
		rights |= FS_EXECUTE;
	if (!(place->rights & RF_RIGHT_WRITE))
		return rights;
	switch (place->kind) {
	case RF_PLACE_DIR: /* itself read-only: /dev, whose devices are written */
	case RF_PLACE_DEVICE:
	case RF_PLACE_PTS:
		return rights | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
	case RF_PLACE_PROC:
		return rights | FS_WRITE_FILE | FS_TRUNCATE;
	default:
		return rights | FS_CHANGES;
	}
}

/* Grants `rights` on what `fd` is and, for a directory, on everything beneath it. */
static int grant(int ruleset, int fd, uint64_t rights)
{
	struct path_attr attr = { .parent = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	attr.allowed = S_ISDIR(st.st_mode) ? rights : rights & FS_OF_FILES;
	if (attr.allowed == 0 || S_ISLNK(st.st_mode))
		return 0;
	return syscall(RF_NR_LANDLOCK_RULE, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0 ? -errno : 0;
}

/* True if an earlier place above this one already gives as much. */
static bool is_covered(const struct rf_plan *plan, size_t index)
{
	const char *path = plan->places[index].path;
	uint64_t rights = rights_of(&plan->places[index]);

	for (size_t i = 0; i < index; i++) {
		const struct rf_place *above = &plan->places[i];

		/* Most differ in the first letter, and there are thousands of pairs. */
		if (above->path[1] == path[1] && (rights & ~rights_of(above)) == 0 &&
		    rf_path_is_beneath(path, above->path))
			return true;
	}
	return false;
}

static int grant_places(const struct rf_plan *plan, int ruleset, uint64_t handled,
			struct rf_err *err)
{
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];
		RF_AUTO_FD int fd = -1;
		int code;

		if (place->kind == RF_PLACE_LINK || place->kind == RF_PLACE_MASK ||
		    place->kind == RF_PLACE_HIDE || is_covered(plan, i))
			continue;
		fd = rf_fd_open(place->path, O_PATH | O_NOFOLLOW);
		if (fd < 0 && errno == ENOENT && place->is_optional)
			continue;
		code = fd < 0 ? -errno : grant(ruleset, fd, rights_of(place) & handled);
		if (code < 0)
			return rf_fail(err, code, "grant %s", place->path);
	}
	return 0;
}

/* The named programs, where there are such: no place gives the right to execute then. */
static int grant_programs(const struct rf_program_set *set, int ruleset, struct rf_err *err)
{
	for (size_t i = 0; set && i < set->program_count; i++) {
		const char *path = set->programs[i].path;
		RF_AUTO_FD int fd = rf_fd_open(path, O_PATH | O_NOFOLLOW);
		int code = fd < 0 ? -errno : grant(ruleset, fd, FS_EXECUTE | FS_READ_FILE);

		if (code < 0)
			return rf_fail(err, code, "grant %s", path);
	}
	return 0;
}

/* The directories of the root can be listed, and pid 1 started. */
static int grant_frame(const struct rf_box *box, int ruleset, struct rf_err *err)
{
	RF_AUTO_FD int root = rf_fd_open("/", O_PATH);
	int code = root < 0 ? -errno : grant(ruleset, root, FS_READ_DIR);

	if (code == 0)
		code = grant(ruleset, box->init, FS_EXECUTE | FS_READ_FILE);
	return code < 0 ? rf_fail(err, code, "grant the root") : 0;
}

static bool sentinel_opens(const char *path)
{
	RF_AUTO_FD int fd = rf_fd_open(path, O_RDONLY);

	return fd >= 0;
}

int rf_landlock_prepare(struct rf_box *box, struct rf_err *err)
{
	(void)err;
	/* What is not there can't be proven; whether the plan can do without is decided inside. */
	if (rf_landlock_abi() == 0)
		box->facts &= ~(1u << RF_PROOF_LANDLOCK);
	return 0;
}

int rf_landlock_raise(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	RF_AUTO_FD int ruleset = -1;
	int abi = rf_landlock_abi();
	unsigned flags;

	box->shared->landlock_abi = abi;
	if (abi == 0 && box->programs &&
	    rf_box_lacks(box, "Landlock's right to execute, which `commands` needs",
			 "boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in its lsm= "
			 "list",
			 err) < 0)
		return err->code;
	if (abi == 0)
		return rf_box_lacks(box, "Landlock",
				    "boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in "
				    "its lsm= list",
				    err);
	if (abi < 6 && plan->link == RF_LINK_HOST &&
	    rf_box_lacks(box, "Landlock's scope on abstract unix sockets (ABI 6)",
			 "use Linux 6.12 or newer, or `--net none`", err) < 0)
		return err->code;

	ruleset = new_ruleset(plan->has_loopback || plan->link == RF_LINK_HOST, abi);
	if (ruleset < 0)
		return rf_fail(err, ruleset, "make a ruleset");
	if (grant_frame(box, ruleset, err) < 0 ||
	    grant_places(plan, ruleset, handled_fs(abi), err) < 0 ||
	    grant_programs(box->programs, ruleset, err) < 0)
		return err->code;
	if (!sentinel_opens(RF_SENTINEL))
		return rf_fail(err, -errno, "open the sentinel");
	/* Where nobody listens, what happens after exec is not logged: a program could fill the log. */
	flags = box->is_heard && abi >= RF_LANDLOCK_ABI_LOG ? RF_LANDLOCK_LOG_NEW_EXEC_ON : 0;
	if (syscall(RF_NR_LANDLOCK_SELF, ruleset, flags) < 0)
		return rf_fail(err, -errno, "enforce the ruleset");
	return 0;
}

/* ------------------------------------------------------------- the lesser box */

/* Of /proc, what speaks of the machine and not of its processes.  (Pid 1 alone has all of it.) */
static const char *const of_proc[] = {
	"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo",
	"/proc/stat",    "/proc/sys",         "/proc/uptime",  "/proc/version",
};
_Static_assert(RF_LEN(of_proc) <= RF_BOX_HELD, "the box holds them all");

/*
 * What a place of the plan is on the host.  Gives a descriptor; -ENOENT for what a lesser box does
 * not have: nothing stands in for a fresh /proc, terminals and masks, and a directory of our own in
 * a full box (/etc, /dev) is the host's here, all of which would be granted with it.
 */
static int open_on_host(const struct rf_place *place, struct rf_err *err)
{
	struct stat st;
	int fd;

	switch (place->kind) {
	case RF_PLACE_HOST:
		return rf_source_find(place, err);
	case RF_PLACE_SYSTEM:
	case RF_PLACE_DATA:
	case RF_PLACE_TEXT: /* the host's own passwd, hosts and their like */
	case RF_PLACE_DEVICE:
		fd = rf_fd_open(place->path, O_PATH);
		if (fd < 0)
			return -errno;
		if (place->kind != RF_PLACE_DEVICE || (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode)))
			return fd;
		close(fd);
		return rf_fail_say(err, -ENODEV, "%s is not a character device", place->path);
	default:
		return -ENOENT;
	}
}

static int grant_on_host(const struct rf_box *box, int ruleset, struct rf_err *err)
{
	uint64_t handled = handled_fs(box->landlock_abi);

	for (size_t i = 0; i < box->plan->place_count; i++) {
		const struct rf_place *place = &box->plan->places[i];
		RF_AUTO_FD int fd = open_on_host(place, err);
		int code = fd < 0 ? fd : grant(ruleset, fd, rights_of(place) & handled);

		if (code == -ENOENT && (place->kind != RF_PLACE_HOST || place->is_optional)) {
			*err = RF_ERR_INIT;
			continue;
		}
		if (code < 0)
			return err->code ? err->code : rf_fail(err, code, "grant %s", place->path);
	}
	return 0;
}

/*
 * A rule counts for an inode as long as the kernel remembers it, and it forgets those of /proc as
 * soon as nobody has them open: the launcher does, until the end of the box.
 */
static int grant_proc(struct rf_box *box, int ruleset, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(of_proc); i++) {
		int code;

		if (box->held[i] < 0)
			box->held[i] = rf_fd_open(of_proc[i], O_PATH);
		code = box->held[i] < 0 ? 0
					: grant(ruleset, box->held[i], FS_READ_FILE | FS_READ_DIR);
		if (code < 0)
			return rf_fail(err, code, "grant %s", of_proc[i]);
	}
	return 0;
}

static int grant_scratch(const struct rf_box *box, int ruleset, struct rf_err *err)
{
	static const char *const rooms[] = { "home", "tmp" };
	uint64_t rights = FS_CHANGES | FS_READ_FILE | FS_READ_DIR | FS_EXECUTE;

	for (size_t i = 0; i < RF_LEN(rooms); i++) {
		RF_AUTO_FD int fd = rf_scratch_open(box, rooms[i]);
		int code = fd < 0 ? fd : grant(ruleset, fd, rights & handled_fs(box->landlock_abi));

		if (code < 0)
			return rf_fail(err, code, "grant %s/%s", box->scratch, rooms[i]);
	}
	return 0;
}

/* What pid 1 has besides: its own program, and /proc, in which it looks for its kin. */
static int grant_init(const struct rf_box *box, int ruleset, struct rf_err *err)
{
	RF_AUTO_FD int proc = rf_fd_open("/proc", O_PATH | O_DIRECTORY);
	int code = proc < 0 ? -errno : grant(ruleset, proc, FS_READ_FILE | FS_READ_DIR);

	if (code == 0)
		code = grant(ruleset, box->init, FS_EXECUTE | FS_READ_FILE);
	return code < 0 ? rf_fail(err, code, "grant /proc") : 0;
}

int rf_landlock_open_lesser(struct rf_box *box, struct rf_err *err)
{
	/* Two domains, one within the other: the program's signals do not reach pid 1. */
	for (int i = 0; i < 2; i++) {
		int ruleset = new_ruleset(box->plan->link == RF_LINK_HOST, box->landlock_abi);

		if (ruleset < 0)
			return rf_fail(err, ruleset, "make a ruleset");
		box->rulesets[i] = ruleset;
		if (grant_on_host(box, ruleset, err) < 0 || grant_scratch(box, ruleset, err) < 0 ||
		    grant_proc(box, ruleset, err) < 0)
			return err->code;
	}
	return grant_init(box, box->rulesets[0], err);
}

int rf_landlock_raise_lesser(struct rf_box *box, struct rf_err *err)
{
	char sentinel[sizeof(box->scratch) + 16];

	box->shared->landlock_abi = box->landlock_abi;
	snprintf(sentinel, sizeof(sentinel), "%s/sentinel", box->scratch);
	if (!sentinel_opens(sentinel))
		return rf_fail(err, -errno, "open the sentinel");
	if (syscall(RF_NR_LANDLOCK_SELF, box->rulesets[0], 0) < 0)
		return rf_fail(err, -errno, "enforce the ruleset");
	return 0;
}
