/*
 * A second pair of hands: see hands.h.
 *
 * The kernel needs half a millisecond for a network namespace and a tenth for each user namespace, and
 * nothing of a box depends on them before its mounts stand.  As root, the hands make all of them at
 * once, as the launcher would: they belong to root.  An ordinary user's network namespace must belong
 * to the box's first user namespace, so the hands wait for the child that is born with that one, enter it
 * through the child's pidfd, and make it there.
 *
 * They are a process of their own, because a network namespace is a process's, that shares the
 * launcher's memory and descriptors, because a copy would cost more than what is gained.  The launcher
 * goes on working meanwhile.  So nothing is called here that sets errno: it is the launcher's, too.  They
 * touch `hands`, their stack and what they make, and die with the launcher.
 *
 * Root's groups of version 1 are made by them as well, as soon as the box has its record.
 *
 * Last, they detach the old root, which makes the kernel wait for a grace period of RCU: they enter the
 * child's mount namespace, where they find themselves at the top of what it was, and go on only if that is
 * the very root that they came from.  The child does the rest of its work meanwhile, and does not raise
 * its last wall before that is done.  They stay in that namespace while the box is young, unless they
 * count as one of its processes: it ends with
 * the last one in it, and again the kernel waits for a grace period, which is then theirs to wait for
 * while the launcher takes away the rest.
 *
 * Progress is one number, which only ever grows, and which the kernel sets to 0 when they die.
 */
#include "jail/hands.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/netns.h"
#include "jail/source.h"

#define HOLDERS    2 /* user namespaces made ahead: of the working directory's owner, and the last */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define RAW        RF_KERNEL_RAW

enum progress {
	DEAD,
	AT_WORK,
	HOLDING,
	GROUPS = HOLDING + HOLDERS,
	NET,
	LEFT,
};

/* Jobs: one for each holder, and these.  Each is done by whoever takes it first. */
enum {
	JOB_GROUPS = HOLDERS,
	JOB_NET,
	JOB_LEAVE,
	JOBS
};

enum owner {
	NOBODY,
	HANDS,
	OTHERS, /* the launcher or the child */
};

static struct {
	char stack[32768] __attribute__((aligned(16))); /* of which most is never touched */
	char holder_stacks[HOLDERS][1024] __attribute__((aligned(16)));
	int32_t progress;     /* enum progress, a futex; HOLDING + n: n+1 holders are there */
	int32_t may_group;    /* a futex: it is known beneath which groups the box's go */
	int32_t may_enter;    /* a futex: the child's user namespace has its maps */
	int32_t has_pivoted;  /* a futex: the old root can be left */
	const int32_t *child; /* the child's pidfd */
	struct rf_box *box;   /* of which they touch `cgroup`, while that is theirs */
	bool are_groups_due;  /* and have been asked to */
	uint64_t cpus[RF_ORDERS_CPUS]; /* the launcher's, before it stays on one */
	pid_t launcher;
	pid_t holders[HOLDERS];
	int wanted, given;    /* holders; how many of them the launcher has asked for */
	uint8_t owners[JOBS]; /* enum owner: who does it */
	bool is_owed;         /* they have taken it upon them to leave the old root */
	bool is_root, has_loopback, has_net, has_gateway;
	struct rf_capture_wish wish; /* of a network that leads to a gateway */
	struct rf_capture
		capture; /* its sockets, which are the launcher's as soon as they are made */
} hands;

/* ------------------------------------------------------------- of the hands alone */

static _Noreturn void leave(void)
{
	for (;;)
		RAW(SYS_exit, 0);
}

/* Dead with the launcher, from the first moment on. */
static void die_with_launcher(void)
{
	RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (RAW(SYS_getppid, 0) != hands.launcher)
		leave();
}

static _Noreturn void wait_for_death(void)
{
	for (;;)
		RAW(SYS_ppoll, 0, 0, 0, 0);
}

/* Sleeps while it is `value`, and not for ever: a call to wake us could have failed. */
static void sleep_on(const int32_t *futex, int32_t value)
{
	static const struct timespec patience = { .tv_nsec = 20000000 };

	RAW(SYS_futex, (long)futex, FUTEX_WAIT, value, (long)&patience);
}

static void step_on(int32_t to)
{
	__atomic_store_n(&hands.progress, to, __ATOMIC_RELEASE);
	RAW(SYS_futex, (long)&hands.progress, FUTEX_WAKE, 1);
}

/* A namespace lives as long as somebody is in it, until the launcher has taken hold of it. */
static void hold_namespace(void *data)
{
	(void)data;
	die_with_launcher();
	wait_for_death();
}

/* True for the first of us who wants to do a job. */
static bool take(int job, enum owner who)
{
	uint8_t nobody = NOBODY;

	return __atomic_compare_exchange_n(&hands.owners[job], &nobody, (uint8_t)who, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void make_holder(int i)
{
	struct rf_kernel_clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_VM | CLONE_FILES | CLONE_PARENT,
		.stack = (uint64_t)(uintptr_t)hands.holder_stacks[i],
		.stack_size = sizeof(hands.holder_stacks[i]),
	};
	long pid = rf_kernel_clone3(&args, hold_namespace, NULL);

	if (pid < 0)
		leave();
	hands.holders[i] = (pid_t)pid;
	step_on(HOLDING + i);
}

static void make_net(void)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	long fd;

	if (RAW(SYS_unshare, CLONE_NEWNET) < 0)
		leave();
	if (hands.has_gateway) {
		if (rf_capture_make(&hands.wish, &hands.capture) < 0)
			leave(); /* the child tries again, and says why */
	} else if (hands.has_loopback) {
		fd = RAW(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || RAW(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&loopback) < 0)
			leave();
		RAW(SYS_close, fd);
	}
	step_on(NET);
}

static void wait_until(const int32_t *flag)
{
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
		sleep_on(flag, 0);
}

static void leave_old_root(const struct stat *ours)
{
	struct stat st = { 0 };

	wait_until(&hands.has_pivoted);
	/* In a chroot, we would come out above it: that one leaves the child. */
	if (RAW(SYS_setns, *hands.child, CLONE_NEWNS) < 0 || /* Linux 5.8 */
	    RAW(SYS_newfstatat, AT_FDCWD, (long)"/", (long)&st, 0) < 0 ||
	    st.st_dev != ours->st_dev || st.st_ino != ours->st_ino || !take(JOB_LEAVE, HANDS))
		return;
	if (RAW(SYS_umount2, (long)"/", MNT_DETACH) < 0)
		leave(); /* which the child sees, and fails */
	step_on(LEFT);
}

static void work(void *data)
{
	struct stat root = { 0 };

	(void)data;
	die_with_launcher();
	if (RAW(SYS_newfstatat, AT_FDCWD, (long)"/", (long)&root, 0) < 0)
		leave();
	for (int i = 0; i < hands.wanted; i++)
		if (take(i, HANDS))
			make_holder(i);
	if (hands.is_root) {
		wait_until(&hands.may_group);
		if (take(JOB_GROUPS, HANDS)) {
			rf_cgroup_make(hands.box);
			step_on(GROUPS);
		}
	} else {
		wait_until(&hands.may_enter);
		if (RAW(SYS_setns, *hands.child, CLONE_NEWUSER) < 0) /* Linux 5.8 */
			leave();
	}
	if (hands.has_net && take(JOB_NET, HANDS))
		make_net();
	leave_old_root(&root);
	/* It wakes when pid 1 is there, and had better do its own work elsewhere than in its way. */
	RAW(SYS_sched_setaffinity, hands.launcher, sizeof(hands.cpus), (long)hands.cpus);
	wait_for_death();
}

/* ------------------------------------------------------------- of those who are helped */

/*
 * Waits until they have done a job.  False if they have not begun with it, because the other processor
 * is busy: then it is ours, and done sooner than they would be there.
 */
static bool wait_for(const struct rf_box *box, int job, int32_t progress)
{
	int32_t now;

	if (box->hands <= 0 || take(job, OTHERS) || hands.owners[job] != HANDS)
		return false;
	while ((now = __atomic_load_n(&hands.progress, __ATOMIC_ACQUIRE)) < progress && now != DEAD)
		sleep_on(&hands.progress, now);
	return now != DEAD;
}

/* On a single processor they would only be in the way. */
static bool has_two_processors(void)
{
	int count = 0;

	memset(hands.cpus, 0, sizeof(hands.cpus));
	syscall(SYS_sched_getaffinity, 0, sizeof(hands.cpus), hands.cpus);
	for (size_t i = 0; i < RF_LEN(hands.cpus); i++)
		count += __builtin_popcountll(hands.cpus[i]);
	return count > 1;
}

/* True if the owner of a tree that the plan names will be mapped to the box's uid. */
static bool has_owners(const struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind == RF_PLACE_HOST && rf_source_is_named(&plan->places[i]))
			return true;
	return false;
}

/*
 * Sends them to the other processors before they have run.  Left to the scheduler they begin on ours, which is cached
 * and busy: they would take it from the launcher as soon as that sleeps, and make it wait for all that they do.
 */
static void send_elsewhere(pid_t pid)
{
	uint64_t elsewhere[RF_LEN(hands.cpus)];
	unsigned cpu;

	memcpy(elsewhere, hands.cpus, sizeof(elsewhere));
	if (syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 || cpu / 64 >= RF_LEN(elsewhere))
		return;
	elsewhere[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
	syscall(SYS_sched_setaffinity, pid, sizeof(elsewhere), elsewhere);
}

void rf_hands_start(struct rf_box *box)
{
	struct rf_kernel_clone_args args = {
		.flags = CLONE_VM | CLONE_FILES | RF_CLONE_PIDFD | CLONE_CHILD_CLEARTID,
		.pidfd = (uint64_t)(uintptr_t)&box->hands_pidfd,
		.child_tid = (uint64_t)(uintptr_t)&hands.progress,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)hands.stack,
		.stack_size = sizeof(hands.stack),
	};
	long pid;

	/* Those of another box of ours may still hold its mounts. */
	if (hands.progress != DEAD || !has_two_processors())
		return;
	hands.progress = AT_WORK;
	hands.may_group = hands.may_enter = hands.has_pivoted = 0;
	hands.are_groups_due = false;
	hands.box = box;
	hands.is_owed = false;
	hands.child = &box->pidfd;
	hands.launcher = getpid();
	hands.wanted = box->is_root ? 1 + has_owners(box->plan) : 0;
	hands.given = 0;
	memset(hands.holders, 0, sizeof(hands.holders));
	memset(hands.owners, NOBODY, sizeof(hands.owners));
	hands.is_root = box->is_root;
	hands.has_net = box->plan->link != RF_LINK_HOST;
	hands.has_gateway = box->plan->link == RF_LINK_GATEWAY;
	rf_netns_wish(box->plan, &hands.wish);
	rf_capture_init(&hands.capture);
	hands.has_loopback = box->plan->has_loopback;
	pid = rf_kernel_clone3(&args, work, NULL);
	if (pid < 0)
		box->hands_pidfd = -1;
	else
		box->hands = (pid_t)pid;
	if (pid > 0)
		send_elsewhere((pid_t)pid);
}

pid_t rf_hands_holder(const struct rf_box *box)
{
	int i = hands.given;

	if (box->hands <= 0 || i == hands.wanted)
		return 0;
	hands.given++;
	return wait_for(box, i, HOLDING + i) ? hands.holders[i] : 0;
}

static void raise_flag(const struct rf_box *box, int32_t *flag)
{
	if (box->hands <= 0)
		return;
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	RAW(SYS_futex, (long)flag, FUTEX_WAKE, 1);
}

bool rf_hands_make_groups(struct rf_box *box, bool are_wanted)
{
	if (box->hands <= 0 || !box->is_root)
		return false;
	if (!are_wanted)
		take(JOB_GROUPS, OTHERS);
	hands.are_groups_due = are_wanted;
	raise_flag(box, &hands.may_group);
	return true;
}

int rf_hands_await_groups(struct rf_box *box, struct rf_err *err)
{
	if (box->hands <= 0 || !hands.are_groups_due)
		return 0;
	hands.are_groups_due = false;
	if (take(JOB_GROUPS, OTHERS))
		rf_cgroup_make(box);
	else if (!wait_for(box, JOB_GROUPS, GROUPS))
		return rf_fail_say(err, -EAGAIN, "the box's groups were not made");
	return 0;
}

void rf_hands_go_on(const struct rf_box *box)
{
	raise_flag(box, &hands.may_enter);
}

bool rf_hands_enter_net(const struct rf_box *box)
{
	return wait_for(box, JOB_NET, NET) && setns(box->hands_pidfd, CLONE_NEWNET) == 0;
}

bool rf_hands_take_lines(const struct rf_box *box, struct rf_capture *ret_capture)
{
	if (box->hands <= 0 || hands.capture.lines[0] < 0)
		return false;
	*ret_capture = hands.capture;
	rf_capture_init(&hands.capture);
	return true;
}

void rf_hands_pivoted(const struct rf_box *box)
{
	raise_flag(box, &hands.has_pivoted);
}

bool rf_hands_leave_root(const struct rf_box *box)
{
	hands.is_owed = box->hands > 0 && !take(JOB_LEAVE, OTHERS);
	return hands.is_owed;
}

int rf_hands_await_root(const struct rf_box *box, struct rf_err *err)
{
	if (box->hands > 0 && hands.is_owed && !wait_for(box, JOB_LEAVE, LEFT))
		return rf_fail_say(err, -EPERM, "the old root could not be left");
	return 0;
}

int rf_hands_finish(const struct rf_box *box, struct rf_err *err)
{
	if (box->hands <= 0)
		return 0;
	if (rf_hands_await_root(box, err) < 0)
		return err->code;
	/* Where nothing holds them, they have ended when the launcher looks. */
	if (!hands.is_owed || rf_hands_count(box))
		rf_hands_dismiss(box);
	return 0;
}

/* Ends a child of ours by its number, once more; one that can't be killed is not waited for. */
static void await(pid_t pid)
{
	int how = kill(pid, SIGKILL) < 0 ? WNOHANG : 0;

	while (waitpid(pid, NULL, how) < 0 && errno == EINTR)
		;
}

/* What nobody asked for. */
static void end_holders(void)
{
	for (; hands.given < hands.wanted && hands.holders[hands.given]; hands.given++) {
		kill(hands.holders[hands.given], SIGKILL);
		await(hands.holders[hands.given]);
	}
}

bool rf_hands_count(const struct rf_box *box)
{
	return box->hands > 0 && !box->is_root && !box->cgroup.has_pids;
}

void rf_hands_settle(struct rf_box *box)
{
	if (box->hands > 0 && hands.is_owed && !rf_hands_count(box) && !box->shared->has_failed)
		end_holders();
	else
		rf_hands_end(box);
}

void rf_hands_dismiss(const struct rf_box *box)
{
	/* Not while they make groups, or one of them might be left. */
	wait_for(box, JOB_GROUPS, GROUPS);
	if (box->hands > 0)
		rf_kernel_signal(box->hands_pidfd, box->hands, SIGKILL);
}

void rf_hands_end(struct rf_box *box)
{
	if (box->hands <= 0)
		return;
	rf_hands_dismiss(box);
	await(box->hands);
	rf_capture_done(&hands.capture); /* that nobody took */
	end_holders();
	box->hands = 0;
	rf_fd_done(&box->hands_pidfd);
}
