/*
 * The lesser box: see lesser.h.
 *
 * Takes away: what Landlock, the filter and rlimits take; nothing that only a namespace or a mount
 * can.  Everything it leaves is said in `missing`.
 * Raised: in place of the namespaces, mounts and network, before the limits.
 * From inside: the host's own tree, of which only the plan's places open; EACCES for the rest.
 *
 * Its processes are the user's own among all others, so their end is organised: pid 1 is a subreaper
 * and kills its kin before it leaves, also when the launcher was killed (init/init.c).  Behind it the
 * launcher is one too, for what outlives a pid 1 that was killed.
 */
#include "jail/lesser.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/loop.h"
#include "base/path.h"
#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/mount.h"
#include "jail/netns.h"
#include "jail/probe-cause.h"
#include "jail/scratch.h"
#include "jail/source.h"
#include "jail/userns.h"
#include "jail/wall.h"

#define END_WITHIN 2000000000ull /* ns: for a pid 1 to end its kin, and for the launcher after it */

/* ------------------------------------------------------------- the decision */

/* The namespaces of the plan are entered already.  What else a full box can't do without. */
static int try_building(struct rf_box *box, struct rf_err *err)
{
	static const char *const none[] = { NULL }, *const hidden[] = { "hidepid", "2", NULL };
	RF_AUTO_FD int root = -1, proc = -1, pts = -1, tree = -1;

	if (rf_userns_enter(box, err) < 0)
		return err->code;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return rf_fail(err, -errno, "leave the host's mount events");
	root = rf_mount_new("tmpfs", none, 0);
	proc = rf_mount_new("proc", hidden, 0);
	pts = rf_mount_new("devpts", none, 0);
	tree = rf_kernel_open_tree(AT_FDCWD, "/usr",
				   RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | RF_AT_RECURSIVE);
	if (root < 0 || proc < 0 || pts < 0)
		return rf_fail(err,
			       root < 0   ? root
			       : proc < 0 ? proc
					  : pts,
			       "mount %s",
			       root < 0   ? "a tmpfs"
			       : proc < 0 ? "a fresh /proc"
					  : "a fresh devpts");
	/* Not over the root: nobody whose root is covered gets a user namespace. */
	if (tree < 0 ||
	    rf_kernel_move_mount(root, "", AT_FDCWD, "/usr", RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return rf_fail(err, -errno, "bind a directory");
	if (rf_netns_raise(box, err) < 0)
		return err->code;
	return rf_userns_seal(box, err);
}

int rf_lesser_try_full(struct rf_err *err)
{
	struct rf_plan plan = { .uid = geteuid() ? geteuid() : 1000,
				.gid = getegid() ? getegid() : 1000,
				.hostname = "ringfort" };
	struct rf_box box;
	RF_AUTO_FD int said = -1, seal = -1;
	int ends[2];
	pid_t pid;

	rf_box_init(&box, &plan);
	box.facts = 0;
	box.host_uid = geteuid();
	box.host_gid = getegid();
	/* Out here, where /proc shows our children by the numbers that we know them by. */
	if (rf_userns_prepare(&box, err) < 0)
		return err->code;
	seal = box.seal;
	(void)seal; /* which ends with this */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0; /* not for want of namespaces */
	said = ends[0];
	pid = (pid_t)syscall(SYS_clone, rf_userns_flags(&box) | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		*err = RF_ERR_INIT;
		try_building(&box, err);
		rf_fd_write(ends[1], err, sizeof(*err));
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0)
		return rf_fail(err, -errno, "make namespaces");
	if (rf_fd_read(said, err, sizeof(*err)) != (ssize_t)sizeof(*err))
		rf_fail_say(err, -EINTR, "the try to build a box was ended");
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err->code;
}

/* What a kernel says that does not give namespaces or mounts; not what one says that is busy. */
static bool is_refusal(int code)
{
	static const int codes[] = { -EPERM, -EACCES, -ENOSPC, -EUSERS, -ENOSYS, -EINVAL };

	for (size_t i = 0; i < RF_LEN(codes); i++)
		if (code == codes[i])
			return true;
	return false;
}

bool rf_lesser_is_due(const struct rf_plan *plan, struct rf_err *err, struct rf_err *ret_why)
{
	const char *remedy;

	*ret_why = RF_ERR_INIT;
	if (!is_refusal(err->code) || !is_refusal(rf_lesser_try_full(ret_why))) {
		/* A call that every box needs, and whose absence says nothing of namespaces. */
		if (err->code == -ENOSYS)
			rf_fail_hint(err, "a box needs Linux 5.12 or newer, and no filter around "
					  "it that hides newer calls: see `ringfort doctor`");
		return false;
	}
	if (plan->may_be_weaker)
		return true;
	remedy = rf_probe_cause_remedy(ret_why->code, geteuid() == 0, "user");
	rf_fail_say(err, -EOPNOTSUPP, "this machine does not let a box have namespaces (%s)",
		    ret_why->msg);
	rf_fail_hint(err, "%s; or --weaker allow for a lesser box (docs/lesser-box.md)",
		     remedy ? remedy : "`ringfort doctor` says what is missing");
	return false;
}

void rf_lesser_choose(struct rf_box *box, const struct rf_err *why)
{
	box->is_lesser = true;
	box->why_lesser = *why;
	/* The host's root is the box's, and so are its namespaces: nothing to be proven. */
	box->facts &= ~(1u << RF_PROOF_NAMESPACES | 1u << RF_PROOF_DIRECTORY);
}

/* ------------------------------------------------------------- what it can't give */

static int refuse(const struct rf_box *box, struct rf_err *err, const char *what, const char *hint)
{
	rf_fail_say(err, -EOPNOTSUPP, "%s: not in a lesser box, and this machine allows no other",
		    what);
	rf_fail_hint(err, "%s", hint);
	(void)box;
	return err->code;
}

/* True if the place is of the policy's making, or the current directory. */
static bool is_shown(const struct rf_place *place)
{
	return place->kind == RF_PLACE_HOST && rf_source_is_named(place);
}

/* A place that hides something: Landlock only ever adds, so nothing can be hidden in what is granted. */
static int check_mask(const struct rf_box *box, const struct rf_place *mask, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	char what[160];

	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (!is_shown(place) || !rf_path_is_beneath(mask->path, place->path) ||
		    (mask->is_optional && access(mask->path, F_OK) < 0 && errno == ENOENT))
			continue;
		snprintf(what, sizeof(what), "hiding %.60s (%.20s) in %.60s", mask->path,
			 strcmp(mask->rule, "default") == 0 ? mask->why : mask->rule, place->path);
		return refuse(box, err, what, "show directories that do not hold it");
	}
	return 0;
}

static int check_place(const struct rf_box *box, const struct rf_place *place, struct rf_err *err)
{
	char what[160];

	if (place->kind == RF_PLACE_MASK || place->kind == RF_PLACE_HIDE)
		return check_mask(box, place, err);
	if (!is_shown(place))
		return 0;
	for (size_t i = 0; i < box->plan->place_count; i++) {
		const struct rf_place *above = &box->plan->places[i];

		if (!is_shown(above) || !(above->rights & ~place->rights) ||
		    !rf_path_is_beneath(place->path, above->path))
			continue;
		snprintf(what, sizeof(what), "%s: %.50s read-only in %.50s", place->rule,
			 place->path, above->path);
		return refuse(box, err, what, "Landlock adds rights up: give both the same");
	}
	if (strcmp(place->path, place->source) == 0)
		return 0;
	snprintf(what, sizeof(what), "%s: showing %.50s at %.50s", place->rule, place->source,
		 place->path);
	return refuse(box, err, what,
		      "without mounts a file has its own path only: leave :PLACE out");
}

/* As root: a box that writes is the owner of what it writes, because nothing can be mapped. */
static int take_owner(struct rf_box *box, const struct rf_place *place, struct rf_err *err)
{
	RF_AUTO_FD int file = rf_source_find(place, err);
	char what[96];
	struct stat st;

	if (file < 0 || fstat(file, &st) < 0)
		return file < 0 ? err->code : rf_fail(err, -errno, "look at %s", place->source);
	if (box->has_owner_uid && box->host_uid != st.st_uid) {
		rf_fail_say(err, -EINVAL, "%s: %s and another tree have different owners",
			    place->rule, place->source);
		return rf_fail_hint(err, "a lesser box is one owner: write to one of them");
	}
	if (st.st_uid == 0 && !box->has_owner_uid) {
		snprintf(what, sizeof(what),
			 "a uid of its own: it is root, without capabilities, "
			 "as %.30s is root's",
			 place->source);
		rf_box_lacks(box, what, "give the directory to an ordinary user", err);
	}
	box->has_owner_uid = true;
	box->host_uid = st.st_uid;
	box->host_gid = st.st_gid;
	return 0;
}

/* Nothing can be covered: what the policy denies is refused, what is hidden by default is missing. */
static int check_hidden(struct rf_box *box, struct rf_err *err)
{
	const struct rf_hidden *first = NULL;
	char what[160];
	int code = rf_hidden_find(box, err);

	for (size_t i = 0; i < box->hidden.count && code == 0; i++) {
		const struct rf_hidden *item = &box->hidden.items[i];

		if (strcmp(item->rule, "files.deny") == 0) {
			snprintf(what, sizeof(what), "files.deny: hiding %.100s", item->source);
			code = refuse(box, err, what, "show directories that do not hold it");
		} else if (!first && strcmp(item->rule, "files.credentials") == 0) {
			first = item;
		}
	}
	if (code == 0 && first) {
		snprintf(what, sizeof(what), "hidden credentials: %.40s can be read",
			 first->source + first->rest);
		rf_box_lacks(box, what, "", err);
	}
	rf_hidden_done(&box->hidden);
	return code;
}

static int check_plan(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;

	if (plan->has_unix)
		return refuse(box, err, "network.unix: on",
			      "a unix socket leads past Landlock: leave it off");
	if (plan->commands)
		return refuse(box, err, "commands",
			      "programs can't be hidden without mounts: leave it out");
	for (size_t i = 0; i < plan->place_count; i++) {
		if (check_place(box, &plan->places[i], err) < 0)
			return err->code;
		if (box->is_root && is_shown(&plan->places[i]) &&
		    plan->places[i].rights & RF_RIGHT_WRITE &&
		    take_owner(box, &plan->places[i], err) < 0)
			return err->code;
	}
	return check_hidden(box, err);
}

/* ------------------------------------------------------------- what it lacks */

/* Tasks of `uid` on the whole machine: RLIMIT_NPROC counts them all. */
static uint64_t count_tasks(uid_t uid)
{
	DIR *dir = opendir("/proc");
	uint64_t count = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[280], text[2048];
		const char *uids, *threads;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
			continue;
		uids = strstr(text, "\nUid:");
		threads = strstr(text, "\nThreads:");
		if (uids && threads && strtoul(uids + 5, NULL, 10) == uid)
			count += strtoul(threads + 9, NULL, 10);
	}
	if (dir)
		closedir(dir);
	return count;
}

/* The promises of a full box that this one does not keep, in the words of the result. */
static void list_missing(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	const char *const rows[] = {
		"namespaces of its own (user, mount, pid, net, ipc, uts, cgroup): refused here",
		"a private /tmp: it has none, and $HOME and $TMPDIR are a folder on the host",
		"a private /etc: the host's passwd, group and hosts are read",
		"a private /proc: none of a process's own files there can be read",
		"hidden names: the host's files can be looked at with stat(2), though not opened",
		"terminals and shared memory of its own (/dev/pts, /dev/shm): it has none",
		plan->link == RF_LINK_HOST ? "a network of its own: the host's, and of it TCP only"
		: plan->has_loopback ? "a loopback interface of its own: no network sockets at all"
				     : NULL,
		"a host name of its own: it is the host's",
		"limits on disk and inodes: each file's size is limited, not their sum",
		box->landlock_abi < RF_LESSER_ABI_SCOPE
			? "signals kept inside (Landlock ABI 6): it can end your other processes"
			: NULL,
		box->cgroup.has_pids ? NULL
		: box->host_uid == 0
			? "a limit on processes: root has none without a cgroup"
			: "a limit on its processes alone: it counts all of your uid's",
	};

	for (size_t i = 0; i < RF_LEN(rows); i++)
		if (rows[i])
			rf_box_lacks(box, rows[i], "", err);
}

/* ------------------------------------------------------------- what it has */

/* The plan's environment with the folder's rooms in place of a full box's. */
static int make_env(struct rf_box *box, struct rf_err *err)
{
	static const struct {
		const char *full, *name, *room;
	} swaps[] = {
		{ "HOME=/home/box", "HOME", "home" },
		{ "PWD=/home/box", "PWD", "home" },
		{ "TMPDIR=/tmp", "TMPDIR", "tmp" },
	};
	static char no_system[] = "GIT_CONFIG_NOSYSTEM=1", use_tcp[] = "RES_OPTIONS=use-vc";
	char *const *env = box->plan->env;
	size_t count = 0;

	while (env && env[count])
		count++;
	box->env = calloc(count + 3, sizeof(*box->env));
	if (!box->env)
		return rf_fail(err, -ENOMEM, "an environment");
	for (size_t i = 0; i < count; i++) {
		box->env[i] = env[i];
		for (size_t k = 0; k < RF_LEN(swaps); k++)
			if (strcmp(env[i], swaps[k].full) == 0) {
				snprintf(box->swapped[k], sizeof(box->swapped[k]), "%s=%s/%s",
					 swaps[k].name, box->scratch, swaps[k].room);
				box->env[i] = box->swapped[k];
			}
	}
	/* git stops at a file that is there and can't be read. */
	box->env[count++] = no_system;
	/* Names are asked for over UDP, which the filter refuses; glibc can do it over TCP. */
	if (box->plan->link == RF_LINK_HOST)
		box->env[count] = use_tcp;
	if (strcmp(box->plan->workdir, box->plan->home) == 0)
		snprintf(box->workdir, sizeof(box->workdir), "%s/home", box->scratch);
	return 0;
}

/* Returns 1 or 0, or a negative errno: who can't ask knows nothing. */
static int has_capability(unsigned cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	if (syscall(SYS_capget, &header, sets) != 0)
		return -errno;
	return sets[0].effective >> cap & 1;
}

int rf_lesser_raise(struct rf_box *box, struct rf_err *err)
{
	int can_empty;

	if (box->plan->link == RF_LINK_GATEWAY) {
		rf_fail_say(err, -EOPNOTSUPP,
			    "a network through the gateway needs namespaces, which can't be had "
			    "here (%.90s)",
			    box->why_lesser.msg);
		return rf_fail_hint(err, "`ringfort doctor` says how to get them; or --net none");
	}
	box->landlock_abi = rf_landlock_abi();
	if (box->landlock_abi < RF_LESSER_ABI) {
		rf_fail_say(err, -EOPNOTSUPP,
			    "neither namespaces (%.90s) nor Landlock ABI %d can be had here",
			    box->why_lesser.msg, RF_LESSER_ABI);
		return rf_fail_hint(err,
				    "`ringfort doctor` says how to get namespaces; Landlock needs "
				    "Linux 6.2 or newer with landlock in its lsm= list");
	}
	can_empty = has_capability(CAP_SETPCAP);
	if (can_empty < 0)
		return rf_fail(err, can_empty, "ask for capabilities");
	box->has_bounding = !can_empty;
	box->shared->is_lesser = true;
	if (check_plan(box, err) < 0)
		return err->code;
	if (box->host_uid != 0 && !box->cgroup.has_pids)
		box->tasks_outside = count_tasks(box->host_uid);
	list_missing(box, err);
	if (rf_scratch_make(box, err) < 0 || make_env(box, err) < 0)
		return err->code;
	/* Whatever outlives pid 1 becomes ours, and not the host's. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "adopt what the box leaves");
	return 0;
}

int rf_lesser_enter(struct rf_box *box, struct rf_err *err)
{
	if (box->facts & 1u << RF_PROOF_CGROUP && rf_cgroup_prove(box, err) < 0)
		return rf_fail_in(err, "the proof failed: cgroup");
	return 0;
}

void rf_lesser_order(const struct rf_box *box, struct rf_lesser_orders *orders)
{
	orders->is_lesser = 1;
	orders->has_inner = !rf_wall_is_left_out("landlock");
	orders->is_scoped = box->landlock_abi >= RF_LESSER_ABI_SCOPE;
	orders->has_bounding = box->has_bounding;
	orders->launcher = getpid();
	snprintf(orders->sentinel, sizeof(orders->sentinel), "%s/sentinel", box->scratch);
}

/* ------------------------------------------------------------- the end */

void rf_lesser_kill(const struct rf_box *box)
{
	if (box->channel[0] >= 0)
		shutdown(box->channel[0], SHUT_WR);
}

void rf_lesser_await(const struct rf_box *box)
{
	struct pollfd gone = { .fd = box->pidfd, .events = POLLIN };

	if (!box->is_lesser)
		return;
	if (poll(&gone, 1, END_WITHIN / 1000000) <= 0)
		rf_kernel_signal(box->pidfd, box->pid, SIGKILL);
}

/* How many filters a process is under; only ever more. */
static long filters_of(const char *status)
{
	const char *at = strstr(status, "\nSeccomp_filters:");

	return at ? strtol(at + strlen("\nSeccomp_filters:"), NULL, 10) : 0;
}

/*
 * True if a child of ours came out of the box.  The caller may have given us children of its own
 * before it became us (sh -c 'sleep 9 & exec ringfort ...'); none of those is under our filter.
 */
static bool is_kin(pid_t pid, long filters)
{
	char path[32], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	       strstr(text, "\nNoNewPrivs:\t1") && filters_of(text) > filters;
}

/* Kills and reaps the box's processes among our children.  Returns how many there were. */
static int end_orphans(long filters)
{
	char text[8192], *at = text, *end;
	int count = 0;

	if (rf_fd_read_text(AT_FDCWD, "/proc/thread-self/children", text, sizeof(text)) <= 0)
		return 0;
	/* A number that is cut off is another one's; it comes whole the next time. */
	for (long pid; (pid = strtol(at, &end, 10)) > 0 && *end == ' '; at = end) {
		if (!is_kin((pid_t)pid, filters))
			continue;
		kill((pid_t)pid, SIGKILL);
		while (waitpid((pid_t)pid, NULL, __WALL) < 0 && errno == EINTR)
			;
		count++;
	}
	return count;
}

void rf_lesser_done(struct rf_box *box)
{
	uint64_t until = rf_loop_now() + END_WITHIN;
	char own[4096] = "";

	if (!box->is_lesser)
		return;
	rf_fd_read_text(AT_FDCWD, "/proc/self/status", own, sizeof(own));
	while (end_orphans(filters_of(own)) > 0 && rf_loop_now() < until)
		;
	if (box->scratch[0] && rf_scratch_remove(box->scratch))
		box->scratch[0] = '\0';
	free(box->env);
	box->env = NULL;
}
