/*
 * The system call filter: see filter.h.
 *
 * The kernel takes only the low 32 bits of most arguments that a program passes in a 64-bit
 * register (modes, flags, ioctl requests), so that is what the checks look at: a comparison of all
 * 64 would be passed by with a bit set above (CVE-2019-10063).
 */
#include "jail/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/filter-writer.h"
#include "jail/tighten.h"

#define FLOWLABEL_MGR 32 /* IPV6_FLOWLABEL_MGR: linux/in6.h can't be had beside netinet/in.h */
#define CALLS         RF_CALL_NUMBERS
#define X32_BIT       0x40000000u
#define SETID_BITS    (S_ISUID | S_ISGID)
#define MAKES_FILE    (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define NAMESPACES                                                                                 \
	((unsigned)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |  \
		    CLONE_NEWPID | CLONE_NEWNET))
#define NEW_TIME    0x80u /* CLONE_NEWTIME: a namespace for unshare(), a signal's bits for clone() */
#define IOPRIO_USER 3u    /* IOPRIO_WHO_USER */
#define SOCKET_TYPE 0xfu  /* below the flags SOCK_NONBLOCK and SOCK_CLOEXEC */

#define ALLOW     SECCOMP_RET_ALLOW
#define REFUSE    (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT    (SECCOMP_RET_ERRNO | ENOSYS)
#define FAKE      SECCOMP_RET_ERRNO
#define NO_FAMILY (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define LACKING   (SECCOMP_RET_ERRNO | EOPNOTSUPP)
#define NO_IOCTL  (SECCOMP_RET_ERRNO | ENOTTY)
#define NO_FLAG   (SECCOMP_RET_ERRNO | EINVAL)
#define AT        RF_FILTER_AT

/* All but the last byte of the requests to terminals and pipes, to sockets, and to namespaces. */
#define IOCTL_TERMINAL  0x5400u
#define IOCTL_SOCKET    0x8900u
#define IOCTL_NAMESPACE 0xb700u

void rf_filter_put(struct rf_filter_writer *w, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (w->filter->len == RF_FILTER_MAX) {
		w->is_full = true;
		return;
	}
	w->filter->code[w->filter->len++] = (struct sock_filter){ code, jt, jf, k };
}

void rf_filter_ret(struct rf_filter_writer *w, uint32_t action)
{
	rf_filter_put(w, BPF_RET | BPF_K, 0, 0, action == ALLOW && w->allow ? w->allow : action);
}

void rf_filter_load_arg(struct rf_filter_writer *w, unsigned n)
{
	rf_filter_put(w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(args) + n * (uint32_t)sizeof(uint64_t));
}

void rf_filter_load_high(struct rf_filter_writer *w, unsigned n)
{
	rf_filter_put(w, BPF_LD | BPF_W | BPF_ABS, 0, 0,
		      AT(args) + n * (uint32_t)sizeof(uint64_t) + 4);
}

/* Returns `action` if the loaded value is `k`; goes on otherwise. */
static void ret_if(struct rf_filter_writer *w, uint32_t k, uint32_t action)
{
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	rf_filter_ret(w, action);
}

/* Returns `action` if a bit of `mask` is set in the loaded value; goes on otherwise. */
static void ret_if_any(struct rf_filter_writer *w, uint32_t mask, uint32_t action)
{
	rf_filter_put(w, BPF_JMP | BPF_JSET | BPF_K, 0, 1, mask);
	rf_filter_ret(w, action);
}

static void mask_with(struct rf_filter_writer *w, uint32_t mask)
{
	rf_filter_put(w, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

static void check_mode(struct rf_filter_writer *w, unsigned arg)
{
	rf_filter_load_arg(w, arg);
	ret_if_any(w, SETID_BITS, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/* The mode counts only when a file is made; otherwise the register holds anything. */
static void check_open(struct rf_filter_writer *w, unsigned flags_arg)
{
	rf_filter_load_arg(w, flags_arg);
	rf_filter_put(w, BPF_JMP | BPF_JSET | BPF_K, 1, 0, MAKES_FILE);
	rf_filter_ret(w, ALLOW);
	check_mode(w, flags_arg + 1);
}

static void check_node(struct rf_filter_writer *w, unsigned arg)
{
	rf_filter_load_arg(w, arg);
	ret_if_any(w, SETID_BITS, REFUSE);
	mask_with(w, S_IFMT);
	ret_if(w, 0, ALLOW); /* a plain file, as mknod(2) says */
	ret_if(w, S_IFREG, ALLOW);
	ret_if(w, S_IFIFO, ALLOW);
	ret_if(w, S_IFSOCK, ALLOW);
	rf_filter_ret(w, REFUSE);
}

static void check_clone(struct rf_filter_writer *w, int nr)
{
	rf_filter_load_arg(w, 0);
	ret_if_any(w, nr == __NR_unshare ? NAMESPACES | NEW_TIME : NAMESPACES, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/*
 * Families: unix and inet with the plan, of inet plain TCP and UDP only (no MPTCP, UDP-Lite, SCTP, raw
 * or ping sockets); netlink for routes only, with which runtimes list interfaces.
 */
static void check_socket(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	if (w->options->has_unix)
		ret_if(w, AF_UNIX, ALLOW);
	if (!w->options->has_inet) {
		rf_filter_ret(w, NO_FAMILY);
		return;
	}
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, AF_NETLINK);
	rf_filter_load_arg(w, 2);
	ret_if(w, 0 /* NETLINK_ROUTE */, ALLOW);
	rf_filter_ret(w, NO_FAMILY);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, AF_INET);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET6);
	rf_filter_ret(w, NO_FAMILY);
	rf_filter_load_arg(w, 1);
	mask_with(w, SOCKET_TYPE);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SOCK_STREAM);
	/* Landlock knows TCP only. */
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0,
		      w->options->is_lesser ? SOCK_STREAM : SOCK_DGRAM);
	rf_filter_ret(w, REFUSE);
	rf_filter_load_arg(w, 2);
	ret_if(w, 0, ALLOW);
	ret_if(w, IPPROTO_TCP, ALLOW);
	ret_if(w, IPPROTO_UDP, ALLOW); /* which the kernel refuses for a stream */
	rf_filter_ret(w, REFUSE);
}

/* Pairs that stay pairs: a datagram one could be pointed at a path after all. */
static void check_socketpair(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_UNIX);
	rf_filter_ret(w, NO_FAMILY);
	if (!w->options->has_unix) {
		rf_filter_load_arg(w, 1);
		mask_with(w, SOCKET_TYPE);
		ret_if(w, SOCK_STREAM, ALLOW);
		ret_if(w, SOCK_SEQPACKET, ALLOW);
		rf_filter_ret(w, REFUSE);
	} else {
		rf_filter_ret(w, ALLOW);
	}
}

/* Huge pages come from a pool that the host has set aside, and no limit on memory counts them. */
static void check_huge(struct rf_filter_writer *w, int nr)
{
	rf_filter_load_arg(w, nr == __NR_mmap ? 3 : nr == __NR_shmget ? 2 : 1);
	ret_if_any(w,
		   nr == __NR_mmap     ? MAP_HUGETLB
		   : nr == __NR_shmget ? SHM_HUGETLB
				       : MFD_HUGETLB,
		   REFUSE);
	rf_filter_ret(w, ALLOW);
}

/* A lease on a file that is only read would keep its writers outside waiting. */
static void check_fcntl(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 1);
	ret_if(w, F_SETLEASE, REFUSE);
	ret_if(w, F_NOTIFY, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/*
 * A file that is only read can hold futexes that processes outside wait at.  To move them to another one takes no right to write, and nobody would find them
 * there; within one process it is that one's own affair, and has a flag of its own.
 */
static void check_futex(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 1);
	ret_if(w, FUTEX_REQUEUE, REFUSE);
	ret_if(w, FUTEX_CMP_REQUEUE, REFUSE);
	ret_if(w, FUTEX_CMP_REQUEUE_PI, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/* Linux 6.16: memory of the kernel's, as much as is asked for, which only a cgroup sees. */
static void check_prctl(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, RF_PR_FUTEX_HASH, REFUSE);
	rf_filter_ret(w, ALLOW);
}

static void check_socket_option(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 1);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, IPPROTO_IPV6);
	rf_filter_ret(w, ALLOW);
	rf_filter_load_arg(w, 2);
	ret_if(w, FLOWLABEL_MGR, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/*
 * Requests beyond those two families.  What is not named is answered as by a file that has no such
 * request, and programs know what to do then.
 */
/* clang-format off */
static const uint32_t known_ioctls[] = {
	/* Terminals' settings with any speed: a libc's tcgetattr() (asm/termbits.h can't be had here). */
	0x802c542a /* TCGETS2 */, 0x402c542b /* TCSETS2 */, 0x402c542c /* TCSETSW2 */,
	0x402c542d /* TCSETSF2 */,
	FICLONE, FICLONERANGE, /* cp: of what the caller has open */
	FS_IOC_GETFLAGS,
}, full_ioctls[] = {
	TIOCGPTN, TIOCSPTLCK, /* openpty(): a full box has terminals of its own */
};
/* clang-format on */

/*
 * A file system's own requests do more than its calls: on btrfs a snapshot of a folder has what mounts
 * hide in it, on a file that is only read others change flags, verity or encryption, and each is a
 * driver's code that few look at.  So what is known to be needed passes, and nothing else.
 */
static void check_ioctl(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 1);
	ret_if(w, TIOCSTI, REFUSE);
	ret_if(w, TIOCLINUX, REFUSE);
	ret_if(w, TIOCSETD, REFUSE); /* loads line disciplines, a module each */
	ret_if(w, TIOCCONS, REFUSE);
	for (size_t i = 0; i < RF_LEN(known_ioctls); i++)
		ret_if(w, known_ioctls[i], ALLOW);
	for (size_t i = 0; i < RF_LEN(full_ioctls) && !w->options->is_lesser; i++)
		ret_if(w, full_ioctls[i], ALLOW);
	mask_with(w, 0xffffff00u);
	ret_if(w, IOCTL_TERMINAL, ALLOW);
	ret_if(w, IOCTL_SOCKET, ALLOW);
	ret_if(w, IOCTL_NAMESPACE,
	       REFUSE); /* as the kernel says of all that lie beyond: lsns goes on */
	rf_filter_ret(w, NO_IOCTL);
}

/*
 * The urgent byte of a unix stream is kept beside its queue (Linux 5.15), and freed memory could be
 * read and written by way of it (CVE-2025-38236).  A filter does not see which socket it is, so it
 * goes for all; TCP's is used by nobody but the abort of an old FTP client.
 */
static void check_message(struct rf_filter_writer *w, int nr)
{
	rf_filter_load_arg(w, nr == __NR_sendmsg || nr == __NR_recvmsg ? 2 : 3);
	ret_if_any(w, MSG_OOB, LACKING);
	rf_filter_ret(w, ALLOW);
}

/*
 * A domain that a program makes for itself refuses before ours does, and by its flags the kernel logs
 * nothing of it: what a box was refused would not be seen.  Answered as by a kernel that does not know
 * them (before 6.15).  The one flag that logs more is let through.
 */
static void check_landlock(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 1);
	ret_if_any(w, ~RF_LANDLOCK_LOG_NEW_EXEC_ON, NO_FLAG);
	rf_filter_ret(w, ALLOW);
}

/* What Debian's programs ask for: plain Linux, the 32-bit uname, no address randomisation, a query. */
static void check_personality(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, 0x0, ALLOW);
	ret_if(w, 0x8, ALLOW);
	ret_if(w, 0x0040000, ALLOW);
	ret_if(w, 0xffffffff, ALLOW);
	rf_filter_ret(w, REFUSE);
}

static void check_rename(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 4);
	ret_if_any(w, RENAME_WHITEOUT, REFUSE);
	rf_filter_ret(w, ALLOW);
}

/* Answered as if it had been done: programs that switch core files off find them off. */
static void check_setrlimit(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, RLIMIT_CORE, FAKE);
	rf_filter_ret(w, ALLOW);
}

/* The same for prlimit64(pid, resource, new, old); a call without `new` only asks. */
static void check_prlimit(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	if (w->options->is_lesser) {
		rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
		rf_filter_ret(w, REFUSE); /* another process, perhaps not of the box */
	} else {
		ret_if(w, 1, REFUSE);
	}
	rf_filter_load_arg(w, 1);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, RLIMIT_CORE);
	rf_filter_ret(w, ALLOW);
	rf_filter_load_arg(w, 2);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
	rf_filter_ret(w, FAKE);
	rf_filter_load_high(w, 2);
	ret_if(w, 0, ALLOW);
	rf_filter_ret(w, FAKE);
}

/*
 * A pid 1 that never runs can't end the box.  It has threads, a group and a session of its own, all of
 * number 1, and its uid in common with all others.
 */
static void check_spares_init(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, 1, REFUSE);
	rf_filter_ret(w, ALLOW);
}

static void check_spares_inits(struct rf_filter_writer *w, int nr)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, nr == __NR_setpriority ? PRIO_USER : IOPRIO_USER, REFUSE);
	rf_filter_load_arg(w, 1);
	ret_if(w, 1, REFUSE);
	rf_filter_ret(w, ALLOW);
}

static void check_own_pid(struct rf_filter_writer *w)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, 0, ALLOW);
	rf_filter_ret(w, REFUSE);
}

/* (which, who): the caller or its group, and never the whole user, whom "0" names too. */
static void check_own_priority(struct rf_filter_writer *w, int nr)
{
	rf_filter_load_arg(w, 0);
	ret_if(w, nr == __NR_setpriority ? PRIO_USER : IOPRIO_USER, REFUSE);
	rf_filter_load_arg(w, 1);
	ret_if(w, 0, ALLOW);
	rf_filter_ret(w, REFUSE);
}

/* A unix socket's name without a path is its network's, and that is the host's. */
static void check_name(struct rf_filter_writer *w)
{
	rf_filter_ret(w, w->options->has_inet ? ALLOW : REFUSE);
}

void rf_filter_put_verdict(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf)
{
	switch (leaf->check) {
	case RF_CHECK_NONE:
		rf_filter_ret(w, leaf->action);
		break;
	case RF_CHECK_MODE_1:
		check_mode(w, 1);
		break;
	case RF_CHECK_MODE_2:
		check_mode(w, 2);
		break;
	case RF_CHECK_OPEN:
		check_open(w, 1);
		break;
	case RF_CHECK_OPENAT:
		check_open(w, 2);
		break;
	case RF_CHECK_NODE_1:
		check_node(w, 1);
		break;
	case RF_CHECK_NODE_2:
		check_node(w, 2);
		break;
	case RF_CHECK_CLONE:
		check_clone(w, leaf->nr);
		break;
	case RF_CHECK_SOCKET:
		check_socket(w);
		break;
	case RF_CHECK_SOCKETPAIR:
		check_socketpair(w);
		break;
	case RF_CHECK_IOCTL:
		check_ioctl(w);
		break;
	case RF_CHECK_PERSONALITY:
		check_personality(w);
		break;
	case RF_CHECK_RENAME:
		check_rename(w);
		break;
	case RF_CHECK_FCNTL:
		check_fcntl(w);
		break;
	case RF_CHECK_HUGE:
		check_huge(w, leaf->nr);
		break;
	case RF_CHECK_FUTEX:
		check_futex(w);
		break;
	case RF_CHECK_PRCTL:
		check_prctl(w);
		break;
	case RF_CHECK_SOCKET_OPTION:
		check_socket_option(w);
		break;
	case RF_CHECK_MESSAGE:
		check_message(w, leaf->nr);
		break;
	case RF_CHECK_LANDLOCK:
		check_landlock(w);
		break;
	case RF_CHECK_SETRLIMIT:
		check_setrlimit(w);
		break;
	case RF_CHECK_PRLIMIT:
		check_prlimit(w);
		break;
	case RF_CHECK_SPARES_INIT:
		check_spares_init(w);
		break;
	case RF_CHECK_SPARES_INITS:
		check_spares_inits(w, leaf->nr);
		break;
	case RF_CHECK_OWN_PID:
		check_own_pid(w);
		break;
	case RF_CHECK_OWN_PRIORITY:
		check_own_priority(w, leaf->nr);
		break;
	case RF_CHECK_NAME:
		check_name(w);
		break;
	}
}

/* ------------------------------------------------------------- the tree of numbers */

static void put_leaf(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf)
{
	if (leaf->has_rules)
		rf_filter_put_profiles(w, leaf);
	else
		rf_filter_put_verdict(w, leaf);
}

/*
 * Writes a balanced tree over leaves[0..count): each leaf rules the numbers from its own up to the
 * next one's.  A node jumps over its left half; where that is more than a conditional jump can
 * reach (255), a plain jump does it.
 */
static void put_tree(struct rf_filter_writer *w, const struct rf_filter_leaf *leaves, size_t count)
{
	struct sock_filter *code = w->filter->code;
	size_t half = count / 2, node = w->filter->len, left;

	if (count == 1) {
		put_leaf(w, leaves);
		return;
	}
	rf_filter_put(w, BPF_JMP | BPF_JGE | BPF_K, 0, 0, (uint32_t)leaves[half].nr);
	put_tree(w, leaves, half);
	left = w->filter->len - node - 1;
	if (left > UINT8_MAX) {
		rf_filter_put(w, BPF_JMP | BPF_JA, 0, 0, 0);
		if (w->is_full)
			return;
		memmove(&code[node + 2], &code[node + 1], left * sizeof(*code));
		code[node].jf = 1;
		code[node + 1] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)left };
	} else if (!w->is_full) {
		code[node].jt = (uint8_t)left;
	}
	put_tree(w, leaves + half, count - half);
}

static uint32_t action_of(enum rf_call_verdict verdict)
{
	/* clang-format off */
	static const uint32_t actions[] = {
		[RF_CALL_ALLOW]  = ALLOW,
		[RF_CALL_FAKE]   = FAKE,
		[RF_CALL_REFUSE] = REFUSE,
		[RF_CALL_ABSENT] = ABSENT,
		[RF_CALL_LACKING] = LACKING,
		[RF_CALL_ASK]    = SECCOMP_RET_USER_NOTIF,
	};
	/* clang-format on */

	return actions[verdict];
}

/* One leaf for each number that the table knows, by number. */
static void look_up_all(const struct rf_call_options *options, struct rf_filter_leaf *by_nr)
{
	for (int nr = 0; nr < CALLS; nr++)
		by_nr[nr] = (struct rf_filter_leaf){ .nr = nr, .action = ABSENT };
	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, options);

		for (size_t i = 0; i < group->count; i++) {
			struct rf_filter_leaf *leaf = &by_nr[group->calls[i].nr];

			leaf->action = action_of(verdict);
			leaf->check = verdict == RF_CALL_ALLOW ? rf_call_check(group, options)
							       : RF_CHECK_NONE;
		}
	}
}

/* True if two neighbours share one fate; what looks at arguments is always its own leaf. */
static bool is_same(const struct rf_filter_leaf *a, const struct rf_filter_leaf *b)
{
	return a->action == b->action && a->check == RF_CHECK_NONE && b->check == RF_CHECK_NONE &&
	       !a->has_rules && !b->has_rules;
}

/* Lays the table out as ranges: neighbours with one fate are one range. */
static size_t lay_out(const struct rf_filter_writer *w, struct rf_filter_leaf *leaves)
{
	struct rf_filter_leaf by_nr[CALLS], beyond = { .nr = CALLS, .action = ABSENT };
	size_t n = 0;

	look_up_all(w->options, by_nr);
	for (int nr = 0; nr < CALLS; nr++) {
		rf_filter_join_profiles(w, &by_nr[nr]);
		if (n == 0 || !is_same(&by_nr[nr], &leaves[n - 1]))
			leaves[n++] = by_nr[nr];
	}
	rf_filter_join_profiles(w, &beyond);
	leaves[n++] = beyond;
	leaves[n++] =
		(struct rf_filter_leaf){ .nr = RF_FILTER_PROOF_NR,
					 .action = SECCOMP_RET_ERRNO | RF_FILTER_PROOF_ERRNO };
	beyond.nr = RF_FILTER_PROOF_NR + 1;
	leaves[n++] = beyond;
	return n;
}

int rf_filter_build(const struct rf_call_options *options, const struct rf_ruleset *const *rulesets,
		    size_t count, struct rf_filter *ret_filter, struct rf_err *err)
{
	struct rf_filter_writer w = {
		.filter = ret_filter,
		.options = options,
		.rulesets = rulesets,
		.ruleset_count = count,
	};
	struct rf_filter_leaf leaves[CALLS + 3] = { 0 };
	size_t leaf_count = lay_out(&w, leaves);

	ret_filter->len = 0;
	rf_filter_put(&w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(arch));
	rf_filter_put(&w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, RF_FILTER_ARCH);
	rf_filter_ret(&w, SECCOMP_RET_KILL_PROCESS);
	rf_filter_put(&w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
#ifdef __x86_64__
	rf_filter_put(&w, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
	rf_filter_ret(&w, SECCOMP_RET_KILL_PROCESS);
#endif
	put_tree(&w, leaves, leaf_count);
	if (w.is_full) {
		rf_fail_say(err, -E2BIG,
			    "the system call filter would have more than %d instructions, which is "
			    "the most that the kernel takes",
			    RF_FILTER_MAX);
		return rf_fail_hint(err, "use fewer comparisons of arguments in the profile");
	}
	rf_tighten_filter(ret_filter);
	return 0;
}
