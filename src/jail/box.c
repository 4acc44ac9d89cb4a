/* A box: see box.h. */
#include "jail/box.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/loop.h"
#include "jail/deputy.h"
#include "jail/filter.h"
#include "jail/hands.h"
#include "jail/kin.h"
#include "jail/lesser.h"
#include "jail/mask.h"
#include "jail/netns.h"
#include "jail/parts.h"
#include "jail/pty.h"
#include "jail/rank.h"
#include "jail/ration.h"
#include "jail/record.h"
#include "jail/rlimit.h"
#include "jail/seccomp.h"
#include "jail/task.h"
#include "jail/tripwire.h"
#include "jail/userns.h"
#include "jail/wall.h"

#define CHILD_STACK (256 * 1024) /* of the child that raises the walls; touched as far as used */

void rf_box_init(struct rf_box *box, const struct rf_plan *plan)
{
	*box = (struct rf_box){
		.plan = plan,
		.is_root = geteuid() == 0,
		.pidfd = -1,
		.self = -1,
		.channel = { -1, -1 },
		.stdio = { { -1, -1 }, { -1, -1 }, { -1, -1 } },
		.pty = { -1, -1 },
		.network = -1,
		.init = -1,
		.seal = -1,
		.hands_pidfd = -1,
		.mounts = -1,
		.uid_lock = -1,
		.record = -1,
		.proc_sys = -1,
		.facts = rf_wall_facts(),
		.scratch_lock = -1,
		.listener = -1,
		.tripwire = -1,
		.pool = -1,
		.owners = -1,
		.rulesets = { -1, -1 },
	};
	for (int i = 0; i < RF_BOX_HELD; i++)
		box->held[i] = -1;
	rf_capture_init(&box->capture);
	rf_cgroup_init(&box->cgroup);
}

int rf_box_lacks(struct rf_box *box, const char *what, const char *remedy, struct rf_err *err)
{
	struct rf_box_shared *shared = box->shared;

	if (shared->missing_count < RF_BOX_MISSING_MAX)
		snprintf(shared->missing[shared->missing_count++], sizeof(shared->missing[0]), "%s",
			 what);
	if (box->plan->may_be_weaker)
		return 0;
	rf_fail_say(err, -EOPNOTSUPP, "this machine lacks %s", what);
	return rf_fail_hint(err, "%s; or accept a weaker box with --weaker allow", remedy);
}

/* ------------------------------------------------------------- grades */

static int fail_ration(const struct rf_box *box, struct rf_err *err)
{
	const struct rf_room *room = rf_ration_room(box->plan);

	if (box->is_lesser)
		return rf_fail_hint(err, "a lesser box has no file system of its own");
	if (!room || room->kind != RF_ROOM_DISK)
		return rf_fail_hint(err, "what it writes to a directory of the host is only looked "
					 "at: name that with --workspace in place of --write");
	return rf_fail_hint(err, "a layer is kept hard in memory: limits.disk at most half of "
				 "limits.memory, and Linux 6.6; as root also by a project quota");
}

/* What each limit's keeper is, once it is known which groups there are. */
static int grade(struct rf_box *box, struct rf_err *err)
{
	const struct rf_cgroup *cgroup = &box->cgroup;
	enum rf_grade *grades = box->grades;

	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		grades[i] = RF_GRADE_HARD;
	if (!cgroup->has_memory)
		grades[RF_LIMIT_MEMORY] = RF_GRADE_SAMPLED;
	if (!cgroup->has_cpu)
		grades[RF_LIMIT_CPU] = RF_GRADE_NONE;
	if (!cgroup->has_pids)
		grades[RF_LIMIT_PIDS] = RF_GRADE_RLIMIT;
	if (!cgroup->has_cputime)
		grades[RF_LIMIT_CPU_TIME] = RF_GRADE_SAMPLED;
	rf_ration_grade(box);
	if (box->is_lesser && !cgroup->has_pids && box->host_uid == 0)
		grades[RF_LIMIT_PIDS] = RF_GRADE_NONE; /* setrlimit(2): not for root */
	for (int i = 0; box->plan->needs_hard && i < RF_LIMIT_COUNT; i++)
		if (grades[i] != RF_GRADE_HARD) {
			rf_fail_say(err, -EOPNOTSUPP,
				    "limits.%s can't be kept hard on this machine",
				    rf_limit_table[i].key);
			if (i == RF_LIMIT_DISK || i == RF_LIMIT_INODES)
				return fail_ration(box, err);
			return rf_fail_hint(err, "`ringfort doctor` says which cgroup controllers "
						 "are missing and how to get them");
		}
	return 0;
}

/* ------------------------------------------------------------- before the child */

/* So that the program can open /dev/stdout again. */
static int own_pipe(const struct rf_box *box, int pipe, struct rf_err *err)
{
	if (box->is_root && fchown(pipe, box->host_uid, box->host_gid) < 0)
		return rf_fail(err, -errno, "own a pipe");
	return 0;
}

/*
 * True for a pipe without a path.  By its name, which no file has: a file system could be asked what it is, and not
 * answer.
 */
static bool is_pipe(int fd)
{
	static const char start[] = "pipe:[";
	char link[32], name[sizeof(start)] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name) - 1) == (ssize_t)sizeof(name) - 1 &&
	       strcmp(name, start) == 0;
}

/* Only a pipe of nobody's can become the box's: what has a name on the host has an owner there. */
int rf_box_own_stream(const struct rf_box *box, int stream, struct rf_err *err)
{
	if (!is_pipe(stream)) {
		rf_fail_say(err, -EINVAL, "a standard stream is not a pipe");
		return rf_fail_hint(err, "make three pipes and pass their ends");
	}
	return own_pipe(box, stream, err);
}

static int take_streams(struct rf_box *box, struct rf_err *err)
{
	for (int i = 0; i < 3; i++)
		if (rf_box_own_stream(box, box->stdio[i][i > 0], err) < 0)
			return err->code;
	return 0;
}

static int make_pipes(struct rf_box *box, struct rf_err *err)
{
	if (box->is_served)
		return take_streams(box, err);
	for (int i = 0; i < 3; i++) {
		if (pipe2(box->stdio[i], O_CLOEXEC) < 0)
			return rf_fail(err, -errno, "make a pipe");
		if (own_pipe(box, box->stdio[i][0], err) < 0)
			return err->code;
	}
	return 0;
}

int rf_box_name(struct rf_box *box, struct rf_err *err)
{
	unsigned char random[8];

	if (box->id[0])
		return 0;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return rf_fail(err, -errno, "random bytes");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(box->id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int prepare(struct rf_box *box, const char *init_path, struct rf_err *err)
{
	if (rf_box_name(box, err) < 0)
		return err->code;
	box->shared = calloc(1, sizeof(*box->shared));
	if (!box->shared)
		return rf_fail(err, -ENOMEM, "a box");
	box->init = rf_fd_open(init_path, O_RDONLY);
	if (box->init < 0) {
		rf_fail(err, -errno, "open %s", init_path);
		return rf_fail_hint(err, "ringfort-init belongs beside ringfort; install both");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, box->channel) < 0)
		return rf_fail(err, -errno, "make a socket pair");
	if (rf_record_make(box, err) < 0)
		return err->code;
	if (rf_wall_raise_outside(box, err) < 0 || grade(box, err) < 0)
		return err->code;
	return box->plan->has_terminal || box->is_ahead ? 0 : make_pipes(box, err);
}

/* ------------------------------------------------------------- in the child */

/* Descriptors 0, 1, 2, the channel, and a pidfd of the launcher or a ruleset; every other one is gone with exec. */
static int take_descriptors(struct rf_box *box, struct rf_err *err)
{
	int from[] = { box->stdio[0][0], box->stdio[1][1], box->stdio[2][1], box->channel[1],
		       box->is_lesser   ? box->rulesets[1]
		       : box->self >= 0 ? box->self
					: box->init };
	size_t count = RF_LEN(from);
	int high[RF_LEN(from)];

	for (int i = 0; box->is_ahead && i < 3; i++)
		from[i] = box->init; /* until there are streams; it can do nothing with it */

	/* First out of the way of 0 to 4, so that none is overwritten before it is copied. */
	for (size_t i = 0; i < count; i++)
		high[i] = rf_fd_copy(from[i], 16);
	if (box->init < 16)
		box->init = rf_fd_copy(box->init, 16);
	for (size_t i = 0; i < count; i++)
		if (high[i] < 0 || dup2(high[i], (int)i) < 0)
			return rf_fail(err, -errno, "arrange descriptors");
	if (box->init < 0)
		return rf_fail(err, -errno, "arrange descriptors");
	if (rf_kernel_close_range((unsigned)count, ~0u, RF_CLOSE_RANGE_CLOEXEC) < 0)
		return rf_fail(err, -errno, "close descriptors");
	return 0;
}

int rf_box_fail_workdir(const char *workdir, int code, struct rf_err *err)
{
	rf_fail(err, code, "enter the working directory %s", workdir);
	return rf_fail_hint(err, "name one that the box can see with --workdir");
}

/* The one place of the launcher's where a program is executed: pid 1, with these words as its own. */
static int exec_init(struct rf_box *box, char **argv, char *const *env, struct rf_err *err)
{
	argv[0] = (char[]){ "ringfort-init" };
	box->shared->ready_ns = rf_loop_now();
	syscall(SYS_execveat, box->init, "", argv, env, AT_EMPTY_PATH);
	return rf_fail(err, -errno, "start pid 1");
}

static int become_init(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	const char *workdir = box->workdir[0] ? box->workdir : plan->workdir;
	char *argv[1 + 4096];
	size_t n = 0;

	for (; plan->argv[n]; n++) {
		if (n + 2 >= RF_LEN(argv))
			return rf_fail_say(err, -E2BIG, "more than %zu arguments",
					   RF_LEN(argv) - 2);
		argv[n + 1] = plan->argv[n];
	}
	argv[n + 1] = NULL;
	if (chdir(workdir) < 0)
		return rf_box_fail_workdir(workdir, -errno, err);
	return exec_init(box, argv, box->env ? box->env : plan->env, err);
}

/* It has its own name as its only word, and learns the others when it is woken. */
static int become_waiting_init(struct rf_box *box, struct rf_err *err)
{
	char *argv[2] = { NULL }, *env[] = { NULL };

	return exec_init(box, argv, env, err);
}

/* Where the launcher serves somebody else, whose limits and priority differ. */
static int be_as_caller(const struct rf_box *box, struct rf_err *err)
{
	if (box->callers && rf_rlimit_bound(box, box->callers, 0, err) < 0)
		return err->code;
	if (box->nice && setpriority(PRIO_PROCESS, 0, box->nice) < 0)
		return rf_fail(err, -errno, "pass the caller's priority on");
	return 0;
}

/*
 * The child that becomes pid 1.  It shares the launcher's memory, and the launcher waits until it
 * is gone: nothing is copied for it, which is worth a third of a millisecond.  Descriptors are its
 * own, so it works on a copy of the box and what it closes stays open outside.
 */
static void raise_walls(void *data)
{
	struct rf_box box = *(const struct rf_box *)data;
	struct rf_err *err = &box.shared->err;

	/* Dead with the launcher, from the first moment on. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (rf_rank_lower(&box, err) == 0 && rf_wall_raise_inside(&box, err) == 0 &&
	    (!box.plan->has_terminal || rf_pty_open(&box, err) == 0) &&
	    take_descriptors(&box, err) == 0 && rf_rlimit_files(&box, err) == 0 &&
	    be_as_caller(&box, err) == 0) {
		if (box.is_ahead)
			become_waiting_init(&box, err);
		else
			become_init(&box, err);
	}
	box.shared->has_failed = true;
	_exit(125);
}

/* ------------------------------------------------------------- orders */

static int read_namespaces(const char *folder, uint64_t *ns, struct rf_err *err)
{
	static const char *const names[] = RF_NS_NAMES;
	RF_AUTO_FD int dir = rf_fd_open(folder, O_PATH | O_DIRECTORY);

	for (int i = 0; i < RF_NS_COUNT; i++) {
		struct stat st;

		if (dir < 0 || fstatat(dir, names[i], &st, 0) < 0)
			return rf_fail(err, -errno, "look at %s/%s", folder, names[i]);
		ns[i] = st.st_ino;
	}
	return 0;
}

/*
 * Builds the box on the processor that we are on: half a dozen processes hand the work to each other
 * within two milliseconds, and on a second processor each would find cold caches and wake it first.
 * A tenth of the whole way is saved.
 */
static void stay_here(struct rf_box *box)
{
	unsigned long here[RF_ORDERS_CPUS * sizeof(uint64_t) / sizeof(unsigned long)] = { 0 };
	const unsigned bits = 8 * sizeof(here[0]);
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(box->cpus), box->cpus);
	unsigned cpu;

	if (bytes <= 0 || syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 || cpu / bits >= RF_LEN(here))
		return;
	here[cpu / bits] = 1ul << cpu % bits;
	if (syscall(SYS_sched_setaffinity, 0, bytes, here) == 0)
		box->cpus_bytes = (uint32_t)bytes;
}

void rf_box_spread_out(struct rf_box *box)
{
	if (box->cpus_bytes)
		syscall(SYS_sched_setaffinity, 0, (size_t)box->cpus_bytes, box->cpus);
	box->cpus_bytes = 0;
}

/* Ours.  Whoever serves others stays where it is, and need not look each time. */
static int own_namespaces(const struct rf_box *box, uint64_t *ns, struct rf_err *err)
{
	static uint64_t known[RF_NS_COUNT];

	if (!box->is_served || !known[0]) {
		if (read_namespaces("/proc/self/ns", ns, err) < 0)
			return err->code;
		memcpy(known, ns, sizeof(known));
	}
	memcpy(ns, known, sizeof(known));
	return 0;
}

/* Before anything can read a canary.  A lesser box has no files of its own that could be one. */
static int lay_tripwire(struct rf_box *box, struct rf_err *err)
{
	if (!box->plan->canaries)
		return 0;
	if (box->is_lesser)
		return rf_box_lacks(box, "canaries: it has no files of its own",
				    "take files.canaries out, or run it where full boxes can be",
				    err);
	box->tripwire = rf_tripwire_lay(box, err);
	return box->tripwire < 0 ? err->code : 0;
}

/* Sends the orders without which nothing starts.  Where it has masks, pid 1 is there: they are looked at last. */
static int send_orders(struct rf_box *box, struct rf_err *err)
{
	uint64_t time = box->plan->limits[RF_LIMIT_TIME];
	struct rf_orders orders = {
		.magic = RF_ORDERS_MAGIC,
		.facts = box->facts & ~(1u << RF_PROOF_CGROUP),
		.uid = box->plan->uid,
		.gid = box->plan->gid,
		.same_ns = box->plan->link == RF_LINK_HOST ? 1u << RF_NS_NET : 0,
		.seccomp_nr = RF_FILTER_PROOF_NR,
		.seccomp_errno = RF_FILTER_PROOF_ERRNO,
		.open_files = box->plan->limits[RF_LIMIT_OPEN_FILES],
		.time_ms = time == RF_LIMIT_NONE ? 0 : time + RF_GRACE_MS,
	};
	const int pipes[] = { box->stdio[0][0], box->stdio[1][1], box->stdio[2][1] };
	struct stat st;

	if (lay_tripwire(box, err) < 0)
		return err->code;
	if (box->on_orders && box->on_orders(box->on_orders_data, err) < 0)
		return err->code;
	memcpy(orders.cpus, box->callers_cpus ? box->callers_cpus : box->cpus, sizeof(orders.cpus));
	orders.cpus_bytes = box->callers_cpus ? sizeof(orders.cpus) : box->cpus_bytes;
	if (own_namespaces(box, orders.host_ns, err) < 0)
		return err->code;
	if (stat("/", &st) < 0)
		return rf_fail(err, -errno, "look at /");
	orders.host_root_dev = st.st_dev;
	orders.host_root_ino = st.st_ino;
	for (int i = 0; i < 3; i++) {
		/* What it has instead, where nobody's streams are there yet: see take_descriptors(). */
		int stream = box->is_kept ? box->init : pipes[i];

		if (fstat(box->plan->has_terminal ? box->pty[1] : stream, &st) < 0)
			return rf_fail(err, -errno, "look at a standard stream");
		orders.stdio_dev[i] = st.st_dev;
		orders.stdio_ino[i] = st.st_ino;
	}
	if (box->is_lesser) {
		orders.uid = box->host_uid;
		orders.gid = box->host_gid;
		rf_lesser_order(box, &orders.lesser);
	}
	orders.has_launcher = box->self >= 0;
	orders.is_kept = box->is_kept;
	orders.has_terminal = box->plan->has_terminal;
	orders.terminal_rdev = box->plan->has_terminal ? st.st_rdev : 0;
	if (rf_mask_check(box, err) < 0)
		return err->code;
	if (send(box->channel[0], &orders, sizeof(orders), MSG_NOSIGNAL) != (ssize_t)sizeof(orders))
		return rf_fail(err, -errno, "send orders to pid 1");
	return 0;
}

/* The child's namespaces, as they are seen from outside.  What is not its own is 0. */
static int look_at_namespaces(const struct rf_box *box, uint64_t *ns, struct rf_err *err)
{
	char folder[32];

	snprintf(folder, sizeof(folder), "/proc/%d/ns", box->pid);
	if (read_namespaces(folder, ns, err) < 0)
		return err->code;
	if (box->plan->link == RF_LINK_HOST)
		ns[RF_NS_NET] = 0;
	return 0;
}

/*
 * Where other boxes live, looks at the new namespaces from outside before pid 1 gets its orders:
 * none of them may be another box's.
 */
static int meet_neighbours(struct rf_box *box, struct rf_err *err)
{
	uint64_t ns[RF_NS_COUNT];

	if (look_at_namespaces(box, ns, err) < 0)
		return err->code;
	return box->is_ahead ? rf_kin_join(box, ns, err) : rf_record_check(box, ns, err);
}

/* What is looked at once the child is there, and before the program can start. */
static int look_at_child(struct rf_box *box, struct rf_err *err)
{
	if (box->has_neighbours && meet_neighbours(box, err) < 0)
		return err->code;
	if (box->plan->has_terminal && rf_pty_take(box, err) < 0)
		return err->code;
	return send_orders(box, err);
}

static char child_stack[CHILD_STACK] __attribute__((aligned(16)));

/* The child of a full box, born in its namespaces.  Returns its pid or a negative errno. */
static long make_child(struct rf_box *box)
{
	struct rf_kernel_clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | RF_CLONE_PIDFD | rf_userns_flags(box),
		.pidfd = (uint64_t)(uintptr_t)&box->pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)child_stack,
		.stack_size = sizeof(child_stack),
	};
	long pid;

	if (box->cgroup.dirs[RF_GROUP_UNIFIED] >= 0 && !rf_wall_is_left_out("cgroup")) {
		args.flags |= RF_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)box->cgroup.dirs[RF_GROUP_UNIFIED];
	}
	if (!rf_parts_has_mold(box))
		return rf_kernel_clone3(&args, raise_walls, box);
	/* Born in the mold; a launcher that could not come back would be lost in a box's root. */
	if (setns(box->parts->mold, CLONE_NEWNS) < 0)
		return -errno;
	pid = rf_kernel_clone3(&args, raise_walls, box);
	if (setns(box->parts->mounts, CLONE_NEWNS) < 0)
		abort();
	return pid;
}

static int raise_lesser_walls(void *box)
{
	raise_walls(box);
	return 125;
}

/* The same without namespaces, by the call that every container's filter lets through. */
static long make_lesser_child(struct rf_box *box)
{
	int pid = clone(raise_lesser_walls, child_stack + sizeof(child_stack),
			CLONE_VM | CLONE_VFORK | (int)RF_CLONE_PIDFD | SIGCHLD, box, &box->pidfd);

	return pid < 0 ? -errno : pid;
}

/* From a prepared box to its pid 1. */
static int make_init(struct rf_box *box, struct rf_err *err)
{
	long pid;

	box->started_ns = rf_loop_now();
	pid = box->is_lesser ? make_lesser_child(box) : make_child(box);
	if (pid < 0) {
		box->pidfd = -1;
		rf_fail(err, (int)pid, "make the box's %s",
			box->is_lesser ? "first process" : "namespaces");
		return rf_fail_hint(err, "`ringfort doctor` says what this machine allows");
	}
	box->pid = (pid_t)pid;
	rf_fd_done(&box->channel[1]);
	rf_fd_done(&box->network); /* the child is in it, and it ends with the box */
	/* The child's change of identity took our /proc/self away, which the pumps need. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	/* What the child handed over, in the order of the walls. */
	if (!box->shared->has_failed && ((box->shared->has_layer && rf_ration_take(box, err) < 0) ||
					 rf_netns_take(box, err) < 0))
		return err->code;
	rf_hands_settle(box);
	rf_userns_reap(box);
	if (box->shared->has_failed) {
		*err = box->shared->err;
		return err->code;
	}
	return 0;
}

/* The ends of the streams that are the box's alone. */
static void close_inner_ends(struct rf_box *box)
{
	rf_fd_done(&box->stdio[0][0]);
	rf_fd_done(&box->stdio[1][1]);
	rf_fd_done(&box->stdio[2][1]);
}

int rf_box_start(struct rf_box *box, const char *init_path, struct rf_err *err)
{
	bool is_late;

	/*
	 * Hands hold our descriptors: without a pidfd pid 1 could not tell whether we live.  Whoever
	 * serves others, too, works where it is put, and alone.
	 */
	box->self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (!box->is_lesser && !box->is_served && box->self >= 0)
		rf_hands_start(box);
	if (!box->is_served)
		stay_here(box);
	if (prepare(box, init_path, err) < 0)
		return err->code;
	if (box->is_lesser && box->plan->has_terminal) {
		rf_fail_say(err, -EOPNOTSUPP, "a lesser box can have no terminal of its own");
		return rf_fail_hint(err, "leave -t out, or let the box have namespaces: "
					 "`ringfort doctor` says how");
	}
	is_late = (box->has_neighbours && !box->is_lesser) || box->plan->has_terminal ||
		  (box->plan->canaries && !box->is_lesser) || rf_hands_count(box) ||
		  rf_mask_is_needed(box) ||
		  box->plan->link == RF_LINK_GATEWAY; /* which starts meanwhile */
	if (!is_late && send_orders(box, err) < 0)
		return err->code;
	if (make_init(box, err) < 0)
		return err->code;
	if ((box->shared->has_deputy || box->shared->is_watched) && rf_deputy_take(box, err) < 0)
		return err->code;
	if (is_late && look_at_child(box, err) < 0)
		return err->code;
	rf_fd_done(&box->self);
	close_inner_ends(box);
	return 0;
}

/* ------------------------------------------------------------- built ahead */

/*
 * Whoever lets go of a mount namespace last waits until its mounts are gone.  We hold it, so that it is
 * not pid 1, for whose end somebody waits.  (An ordinary user may not, and pid 1 does it then.)
 */
static void hold_mounts(struct rf_box *box)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", box->pid);
	box->mounts = rf_fd_open(path, O_RDONLY);
}

int rf_box_build(struct rf_box *box, const char *init_path, struct rf_err *err)
{
	int code;

	box->is_ahead = true;
	if (prepare(box, init_path, err) < 0 || make_init(box, err) < 0)
		return err->code;
	hold_mounts(box);
	code = meet_neighbours(box, err);
	box->parts = NULL; /* used; whose they are may throw them away */
	return code;
}

bool rf_box_can_wait(const struct rf_plan *plan)
{
	return !plan->has_terminal && !(plan->seccomp && plan->seccomp[0]) &&
	       rf_task_fits(plan->workdir, plan->argv, plan->env);
}

void rf_box_give_streams(struct rf_box *box, const int streams[3])
{
	box->is_served = true;
	for (int i = 0; i < 3; i++)
		box->stdio[i][i > 0] = streams[i];
}

static int send_words(struct rf_box *box, unsigned mask, struct rf_err *err)
{
	static struct rf_words words;
	const int streams[] = { box->stdio[0][0], box->stdio[1][1], box->stdio[2][1] };
	const struct rf_plan *plan = box->plan;
	size_t len = rf_task_write(&words, plan->workdir, plan->argv, plan->env, mask);
	int code = rf_task_send(box->channel[0], &words, len, streams, RF_LEN(streams));

	return code < 0 ? rf_fail(err, code, "tell pid 1 what to run") : 0;
}

int rf_box_wake(struct rf_box *box, const struct rf_plan *plan, unsigned mask, struct rf_err *err)
{
	box->plan = plan;
	if (take_streams(box, err) < 0 || send_orders(box, err) < 0 ||
	    send_words(box, mask, err) < 0)
		return err->code;
	close_inner_ends(box);
	return 0;
}

int rf_box_keep(struct rf_box *box, const struct rf_plan *plan, struct rf_err *err)
{
	box->plan = plan;
	box->is_kept = true;
	return send_orders(box, err);
}

/*
 * Pid 1 has to run once more to die, and the others with it.  The filter keeps others of its uid from putting it behind all of them; should it not, this does.
 * It comes before all of them where we may say so.
 */
static void let_run(pid_t pid)
{
	const int usual = 0; /* struct sched_param */

	syscall(SYS_sched_setscheduler, pid, SCHED_OTHER, &usual);
	if (setpriority(PRIO_PROCESS, (id_t)pid, -20) < 0)
		setpriority(PRIO_PROCESS, (id_t)pid, 0);
}

void rf_box_kill(const struct rf_box *box)
{
	rf_cgroup_let_die(&box->cgroup);
	/* Where no namespace dies with it, pid 1 has to end the others first, if nobody can stop it. */
	if (box->is_lesser && box->landlock_abi >= RF_LESSER_ABI_SCOPE)
		rf_lesser_kill(box);
	else if (box->pidfd >= 0 &&
		 syscall(SYS_pidfd_send_signal, box->pidfd, SIGKILL, NULL, 0) == 0)
		let_run(box->pid); /* which is its number as long as it can be signalled */
	else if (box->pidfd >= 0 && errno != ESRCH && box->pid > 0)
		kill(box->pid, SIGKILL); /* who would else be waited for in vain */
}

void rf_box_stop(struct rf_box *box)
{
	if (box->pid <= 0)
		return;
	rf_box_kill(box);
	rf_lesser_await(box);
	while (waitpid(box->pid, NULL, 0) < 0 && errno == EINTR)
		;
	box->pid = 0;
}

void rf_box_done(struct rf_box *box)
{
	rf_box_spread_out(box);
	rf_box_stop(box);
	rf_hands_dismiss(box);
	rf_userns_reap(box);
	rf_fd_done(&box->pidfd);
	for (int i = 0; i < 3; i++) {
		rf_fd_done(&box->stdio[i][0]);
		rf_fd_done(&box->stdio[i][1]);
	}
	rf_fd_done(&box->pty[0]);
	rf_fd_done(&box->pty[1]);
	rf_capture_done(&box->capture);
	rf_fd_done(&box->network);
	rf_fd_done(&box->self);
	rf_fd_done(&box->channel[0]);
	rf_fd_done(&box->channel[1]);
	for (size_t i = 0; box->trees && i < box->plan->place_count; i++)
		rf_fd_done(&box->trees[i]);
	rf_fd_done(&box->pool);
	rf_fd_done(&box->owners);
	free(box->trees);
	box->trees = NULL;
	rf_lesser_done(box);
	rf_fd_done(&box->scratch_lock);
	rf_fd_done(&box->listener);
	rf_fd_done(&box->tripwire);
	for (int i = 0; i < 2; i++)
		rf_fd_done(&box->rulesets[i]);
	for (int i = 0; i < RF_BOX_HELD; i++)
		rf_fd_done(&box->held[i]);
	rf_hidden_done(&box->hidden);
	rf_cgroup_done(&box->cgroup);
	rf_seccomp_done(box);
	rf_fd_done(&box->mounts);
	rf_hands_end(box); /* and with them the last of its mounts */
	rf_record_done(box);
	rf_kin_leave(box);
	rf_fd_done(&box->seal);
	rf_fd_done(&box->uid_lock);
	rf_fd_done(&box->init);
	rf_program_free(box->programs);
	box->programs = NULL;
	free(box->shared);
	box->shared = NULL;
}

void rf_box_renew(struct rf_box *box)
{
	struct rf_box given = *box;

	box->programs = NULL;
	for (int i = 0; given.is_served && i < 3; i++)
		box->stdio[i][i > 0] = -1;
	rf_box_done(box);
	rf_box_init(box, given.plan);
	memcpy(box->id, given.id, sizeof(box->id));
	box->on_orders = given.on_orders;
	box->on_orders_data = given.on_orders_data;
	box->group_of = given.group_of;
	box->programs = given.programs;
	box->is_heard = given.is_heard;
	if (given.is_served)
		rf_box_give_streams(
			box, (int[]){ given.stdio[0][0], given.stdio[1][1], given.stdio[2][1] });
}
