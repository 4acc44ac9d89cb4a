/*
 * One box of bench/floor: see floor.h.
 *
 * The process that makes boxes lives in their finished root, read-only, so that CLONE_NEWNS alone gives a box its copy.  Its
 * child shares its memory, and it waits meanwhile: nothing is copied, and the two never run at once.  Mounts are made by
 * mount(2), one call for each, since every name on the way is ours.
 */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"
#include "floor-filter.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT                                                                                       \
	"/proc" /* a directory that every machine has; the host's own is held by a descriptor */
#define FLOOR_WORK "/work" /* where a box has the current directory */
#define BOX_ID     1000
#define HOST_IDS   0x70000000u
#define MAX_MASKS  32

static const struct floor_plan *plan;
static struct {
	int proc, null, init, work; /* opened once */
	struct stat owner;          /* of the current directory */
	bool has_failed;            /* the child did: it shares our memory */
	pid_t pid;
} here;

/* The box that is being made: there is never more than one. */
static struct {
	struct floor_box *box;
	unsigned host_id;
	int seal, tree, sysctls, ready;
} now;

uint64_t floor_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A worker's groups are swept up by who started it; the child's, by us. */
_Noreturn static void leave(void)
{
	if (plan && plan->is_alone && here.pid == getpid())
		floor_group_sweep();
	_exit(1);
}

_Noreturn void floor_die(const char *what)
{
	here.has_failed = true;
	dprintf(2, "bench/floor: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	leave();
}

void floor_must(long result, const char *what)
{
	if (result < 0)
		floor_die(what);
}

static void put_text(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	floor_must(fd, file);
	floor_must(write(fd, text, strlen(text)), file);
	close(fd);
}

/* ------------------------------------------------------------- before the child */

static void make_groups(void)
{
	floor_group_make(now.box->name);
}

static void end_at_once(void *data)
{
	(void)data;
	for (;;)
		syscall(SYS_exit, 0);
}

/*
 * A user namespace with one id in it.  It is born with a child that ends at once: what has ended and is not waited for
 * still has its namespace.
 */
static int make_user_namespace(unsigned uid, unsigned gid)
{
	static char stack[4096] __attribute__((aligned(16)));
	const struct rf_kernel_clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof(stack),
	};
	char file[40], map[40];
	long pid = rf_kernel_clone3(&args, end_at_once, NULL);
	int ns;

	if (pid < 0) {
		errno = (int)-pid;
		floor_die("a user namespace");
	}
	snprintf(file, sizeof(file), "%ld/uid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1", uid, now.host_id);
	put_text(here.proc, file, map);
	snprintf(file, sizeof(file), "%ld/gid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1", gid, now.host_id);
	put_text(here.proc, file, map);
	snprintf(file, sizeof(file), "%ld/ns/user", pid);
	ns = openat(here.proc, file, O_RDONLY | O_CLOEXEC);
	floor_must(ns, "a user namespace");
	floor_must(waitpid((pid_t)pid, NULL, 0), "wait");
	return ns;
}

static void make_seal(void)
{
	now.seal = make_user_namespace(BOX_ID, BOX_ID);
}

/* What its owner has there is the box's own. */
static void map_directory(void)
{
	struct rf_kernel_mount_attr attr = { .attr_set =
						     RF_MOUNT_ATTR_RDONLY | RF_MOUNT_ATTR_NOSUID |
						     RF_MOUNT_ATTR_NODEV | RF_MOUNT_ATTR_IDMAP };
	int ns = make_user_namespace(here.owner.st_uid, here.owner.st_gid);

	attr.userns_fd = (uint64_t)ns;
	now.tree = rf_kernel_open_tree(here.work, "",
				       RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	floor_must(now.tree, "copy the current directory");
	floor_must(rf_kernel_mount_setattr(now.tree, "", AT_EMPTY_PATH, &attr),
		   "an idmapped mount");
	close(ns);
}

/* ------------------------------------------------------------- in the child */

static void enter_groups(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	put_text(here.proc, "self/oom_score_adj", "1000");
	floor_group_enter(now.box->name);
	floor_must(unshare(CLONE_NEWCGROUP), "a cgroup namespace");
	floor_must(sethostname("box", strlen("box")), "the host name");
	floor_must(syscall(SYS_setdomainname, "(none)", strlen("(none)")), "the domain name");
}

static void make_root(void)
{
	if (plan->is_alone)
		floor_root_build(false);
}

static void make_scratch(void)
{
	static const char *const places[] = { "/tmp", "/run", "/home/box", "/var/tmp", "/dev/shm" };
	char path[] = "/proc/0";

	/* Beneath what will be /proc, where nobody can reach all of it at once. */
	floor_must(mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV,
			 "size=268435456,nr_inodes=65542,mode=0755"),
		   "the scratch");
	for (size_t i = 0; i < LEN(places); i++) {
		path[strlen("/proc/")] = (char)('0' + i);
		floor_must(mkdir(path, 0700), places[i]);
		floor_must(chown(path, now.host_id, now.host_id), places[i]);
		floor_must(mount(path, places[i], NULL, MS_BIND, NULL), places[i]);
	}
}

static void make_terminals(void)
{
	floor_must(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			 "ptmxmode=0666,mode=0620,max=64"),
		   "/dev/pts");
}

static void make_proc(void)
{
	const unsigned long safe = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	floor_must(mount("proc", "/proc", "proc", safe, "hidepid=2"), "/proc");
	now.sysctls = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	floor_must(mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL), "/proc/sys");
	floor_must(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | safe, NULL),
		   "a read-only /proc/sys");
}

static struct mask {
	char path[32];
	bool is_directory;
} masks[MAX_MASKS];
static size_t mask_count;

/* Which of them there are, and others than root may look at, is known beforehand. */
static void find_masks(void)
{
	static const char *const names[] = {
		"sysrq-trigger", "kcore",     "kmsg",   "kallsyms",   "modules",     "cmdline",
		"keys",          "key-users", "locks",  "timer_list", "sched_debug", "interrupts",
		"latency_stats", "acpi",      "asound", "bus",        "driver",      "fs",
		"irq",           "pressure",  "scsi",
	};
	struct stat st;

	_Static_assert(LEN(names) <= MAX_MASKS, "each has its place");
	for (size_t i = 0; i < LEN(names); i++) {
		if (fstatat(here.proc, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !(st.st_mode & S_IRWXO))
			continue;
		snprintf(masks[mask_count].path, sizeof(masks[0].path), "/proc/%s", names[i]);
		masks[mask_count++].is_directory = S_ISDIR(st.st_mode);
	}
}

static void put_masks(void)
{
	for (size_t i = 0; i < mask_count; i++)
		floor_must(mount(masks[i].is_directory ? "/empty" : "/dev/null", masks[i].path,
				 NULL, MS_BIND, NULL),
			   masks[i].path);
}

static void put_directory(void)
{
	floor_must(rf_kernel_move_mount(now.tree, "", AT_FDCWD, FLOOR_WORK,
					RF_MOVE_MOUNT_F_EMPTY_PATH),
		   FLOOR_WORK);
	floor_must(chdir(FLOOR_WORK), FLOOR_WORK);
}

static void enter_network(void)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	floor_must(unshare(CLONE_NEWNET), "a network namespace");
	if (!plan->has_loopback)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	floor_must(fd, "a socket");
	floor_must(ioctl(fd, SIOCSIFFLAGS, &loopback), "the loopback interface");
	close(fd);
}

static struct {
	int resource;
	rlim_t most;
} rlimits[] = {
	{ RLIMIT_CORE, 1 },           { RLIMIT_FSIZE, 1 << 30 },   { RLIMIT_MEMLOCK, 8 << 20 },
	{ RLIMIT_MSGQUEUE, 1 << 20 }, { RLIMIT_SIGPENDING, 4096 }, { RLIMIT_RTPRIO, 0 },
	{ RLIMIT_NICE, 0 },           { RLIMIT_CPU, 62 },          { RLIMIT_NOFILE, 1024 },
};

/* Our own may be lower, which only a privilege could raise. */
static void find_rlimits(void)
{
	struct rlimit own;

	for (size_t i = 0; i < LEN(rlimits); i++)
		if (getrlimit(rlimits[i].resource, &own) == 0 && own.rlim_max < rlimits[i].most)
			rlimits[i].most = own.rlim_max;
}

static void set_rlimits(void)
{
	for (size_t i = 0; i < LEN(rlimits); i++) {
		const struct rlimit limit = { rlimits[i].most, rlimits[i].most };

		floor_must(setrlimit(rlimits[i].resource, &limit), "an rlimit");
	}
}

/* By the calls themselves: a libc would tell threads that are not there. */
static void change_identity(void)
{
	floor_must(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL), "a keyring");
	floor_must(syscall(SYS_setgroups, 0, NULL), "leave all groups");
	floor_must(setns(now.seal, CLONE_NEWUSER), "enter the user namespace");
	floor_must(syscall(SYS_setresgid, BOX_ID, BOX_ID, BOX_ID), "change the gid");
	floor_must(syscall(SYS_setresuid, BOX_ID, BOX_ID, BOX_ID), "change the uid");
	put_text(now.sysctls, "user/max_user_namespaces", "0");
	put_text(now.sysctls, "user/max_inotify_instances", "32");
	put_text(now.sysctls, "user/max_inotify_watches", "16384");
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	floor_must(syscall(SYS_capset, &header, none), "drop all capabilities");
	floor_must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

/* ------------------------------------------------------------- the last ones */

static void restrict_files(void)
{
	if (plan->is_alone)
		floor_rules_open(here.init);
	floor_rules_enforce(plan->has_loopback);
}

static void arrange_streams(void)
{
	sigset_t none;

	sigemptyset(&none);
	if (plan->is_alone) /* what we keep back for ourselves is not kept from the program */
		sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < 3 && !plan->is_alone; i++)
		floor_must(dup2(here.null, i), "a standard stream");
	if (plan->is_ahead)
		floor_must(dup2(now.ready, 3), "pid 1's pipe");
	floor_must(rf_kernel_close_range(plan->is_ahead ? 4 : 3, ~0u, RF_CLOSE_RANGE_CLOEXEC),
		   "close descriptors");
}

static void filter_calls(void)
{
	floor_must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, floor_filter()), "the filter");
}

/* ------------------------------------------------------------- when it is over */

/* Who lets go of them last waits until they are dissolved. */
static void dissolve_mounts(void)
{
	if (now.box->mounts >= 0)
		close(now.box->mounts);
}

static void remove_groups(void)
{
	floor_group_remove(now.box->name);
}

/* ------------------------------------------------------------- the whole */

enum where {
	OUTSIDE,
	BIRTH, /* clone3's part of the way */
	INSIDE,
	EXEC, /* until it returns, which is when pid 1 runs */
	LIFE, /* until pid 1 is reaped */
	AFTER,
};

/* clang-format off */
static const struct step {
	const char *name;
	enum where where;
	void (*take)(void);
} steps[] = {
	{ "groups made",       OUTSIDE, make_groups       },
	{ "user namespace",    OUTSIDE, make_seal         },
	{ "mapped directory",  OUTSIDE, map_directory     },
	{ "clone3",            BIRTH,   NULL              },
	{ "groups entered",    INSIDE,  enter_groups      },
	{ "root",              INSIDE,  make_root         },
	{ "scratch",           INSIDE,  make_scratch      },
	{ "terminals",         INSIDE,  make_terminals    },
	{ "proc",              INSIDE,  make_proc         },
	{ "masks",             INSIDE,  put_masks         },
	{ "directory mounted", INSIDE,  put_directory     },
	{ "network",           INSIDE,  enter_network     },
	{ "rlimits",           INSIDE,  set_rlimits       },
	{ "identity",          INSIDE,  change_identity   },
	{ "capabilities",      INSIDE,  drop_capabilities },
	{ "Landlock",          INSIDE,  restrict_files    },
	{ "streams",           INSIDE,  arrange_streams   },
	{ "seccomp",           INSIDE,  filter_calls      },
	{ "exec of pid 1",     EXEC,    NULL              },
	{ "program and end",   LIFE,    NULL              },
	{ "mounts dissolved",  AFTER,   dissolve_mounts   }, /* from here on nobody waits */
	{ "groups removed",    AFTER,   remove_groups     },
};
/* clang-format on */

_Static_assert(LEN(steps) <= FLOOR_STEPS, "the time of each step has a place");

const char *floor_step(unsigned i)
{
	return i < LEN(steps) ? steps[i].name : NULL;
}

/* Takes all steps of one kind, or notes when the one that is none of ours was over. */
static void take(enum where where)
{
	for (size_t i = 0; i < LEN(steps); i++)
		if (steps[i].where == where) {
			if (steps[i].take)
				steps[i].take();
			now.box->at_ns[i] = floor_now_ns();
		}
}

static void become_init(void *data)
{
	char *empty[] = { NULL };
	const char *words[64];
	size_t n = 0;

	(void)data;
	take(BIRTH);
	take(INSIDE);
	words[n++] = plan->is_ahead ? "wait" : "floor-init";
	for (size_t i = 0; plan->argv[i] && n + 1 < LEN(words); i++)
		words[n++] = plan->argv[i];
	words[n] = NULL;
	syscall(SYS_execveat, here.init, "", words, empty, AT_EMPTY_PATH);
	floor_die("start pid 1");
}

void floor_start(struct floor_box *box, unsigned worker, unsigned number)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	struct rf_kernel_clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC |
			 CLONE_NEWPID | RF_CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&box->pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof(stack),
	};
	char path[32];
	int wake[2] = { -1, -1 }, group;
	long pid;

	now.box = box;
	now.host_id = HOST_IDS + (worker << 16) + number % (1u << 16);
	floor_group_name(box->name, sizeof(box->name), worker, number);
	take(OUTSIDE);
	if (plan->is_ahead)
		floor_must(pipe2(wake, O_CLOEXEC), "a pipe");
	now.ready = wake[0];
	group = floor_group_unified(box->name);
	if (group >= 0) {
		args.flags |= RF_CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group;
	}
	pid = rf_kernel_clone3(&args, become_init, NULL);
	take(EXEC);
	errno = pid < 0 ? (int)-pid : 0;
	if (pid < 0)
		floor_die("make the namespaces");
	if (here.has_failed)
		leave(); /* the child has said why */
	box->pid = (pid_t)pid;
	box->wake = wake[1];
	snprintf(path, sizeof(path), "%ld/ns/mnt", pid);
	box->mounts = openat(here.proc, path, O_RDONLY | O_CLOEXEC);
	close(now.seal);
	close(now.tree);
	if (group >= 0)
		close(group);
	if (plan->is_ahead)
		close(wake[0]);
}

void floor_wake(struct floor_box *box)
{
	floor_must(write(box->wake, "", 1), "wake pid 1");
}

int floor_wait(struct floor_box *box)
{
	struct pollfd end = { .fd = box->pidfd, .events = POLLIN };
	int status;

	while (poll(&end, 1, -1) < 0)
		if (errno != EINTR)
			floor_die("wait for a box");
	floor_must(waitpid(box->pid, &status, 0), "reap a box");
	now.box = box;
	take(LIFE);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void floor_done(struct floor_box *box)
{
	now.box = box;
	take(AFTER);
	close(box->pidfd);
	if (plan->is_ahead)
		close(box->wake);
}

void floor_prepare(const struct floor_plan *wanted)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("-init"));

	plan = wanted;
	here.pid = getpid();
	floor_must(len, "/proc/self/exe");
	memcpy(path + len, "-init", sizeof("-init"));
	here.init = open(path, O_RDONLY | O_CLOEXEC);
	floor_must(here.init, path);
	here.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	floor_must(here.null, "/dev/null");
	here.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	floor_must(here.proc, "/proc");
	floor_must(stat(".", &here.owner), "the current directory");
	umask(0);
	floor_filter();
	find_masks();
	find_rlimits();
	if (!plan->is_alone) {
		floor_must(unshare(CLONE_NEWNS), "a mount namespace");
		floor_root_build(true);
		floor_rules_open(here.init);
	}
	here.work = open(plan->is_alone ? "." : FLOOR_WORK, O_PATH | O_DIRECTORY | O_CLOEXEC);
	floor_must(here.work, "the current directory");
}
