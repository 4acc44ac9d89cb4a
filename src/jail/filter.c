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

#define ALLOW      SECCOMP_RET_ALLOW
#define REFUSE     (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT     (SECCOMP_RET_ERRNO | ENOSYS)
#define FAKE       SECCOMP_RET_ERRNO
#define NO_FAMILY  (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define LACKING    (SECCOMP_RET_ERRNO | EOPNOTSUPP)
#define NO_IOCTL   (SECCOMP_RET_ERRNO | ENOTTY)
#define NO_FLAG    (SECCOMP_RET_ERRNO | EINVAL)
#define AT(offset) ((uint32_t)offsetof(struct seccomp_data, offset))

/* All but the last byte of the requests to terminals and pipes, to sockets, and to namespaces. */
#define IOCTL_TERMINAL  0x5400u
#define IOCTL_SOCKET    0x8900u
#define IOCTL_NAMESPACE 0xb700u

/* A call's number and what becomes of it. */
struct leaf {
	int nr;
	uint32_t action; /* when there is no check */
	enum rf_call_check check;
	bool has_rules; /* of profiles, which look at arguments */
};

/* Appends instructions; `is_full` once they no longer fit. */
struct writer {
	struct rf_filter *filter;
	const struct rf_call_options *options;
	const struct rf_ruleset *const *rulesets;
	size_t ruleset_count;
	uint32_t allow; /* what is returned for ALLOW, or 0 for that itself */
	bool is_full;
};

static void put(struct writer *w, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (w->filter->len == RF_FILTER_MAX) {
		w->is_full = true;
		return;
	}
	w->filter->code[w->filter->len++] = (struct sock_filter){ code, jt, jf, k };
}

static void ret(struct writer *w, uint32_t action)
{
	put(w, BPF_RET | BPF_K, 0, 0, action == ALLOW && w->allow ? w->allow : action);
}

/* Loads the low half of argument `n`; the machines we know have it first. */
static void load_arg(struct writer *w, unsigned n)
{
	put(w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(args) + n * (uint32_t)sizeof(uint64_t));
}

static void load_high(struct writer *w, unsigned n)
{
	put(w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(args) + n * (uint32_t)sizeof(uint64_t) + 4);
}

/* Returns `action` if the loaded value is `k`; goes on otherwise. */
static void ret_if(struct writer *w, uint32_t k, uint32_t action)
{
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	ret(w, action);
}

/* Returns `action` if a bit of `mask` is set in the loaded value; goes on otherwise. */
static void ret_if_any(struct writer *w, uint32_t mask, uint32_t action)
{
	put(w, BPF_JMP | BPF_JSET | BPF_K, 0, 1, mask);
	ret(w, action);
}

static void mask_with(struct writer *w, uint32_t mask)
{
	put(w, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

static void check_mode(struct writer *w, unsigned arg)
{
	load_arg(w, arg);
	ret_if_any(w, SETID_BITS, REFUSE);
	ret(w, ALLOW);
}

/* The mode counts only when a file is made; otherwise the register holds anything. */
static void check_open(struct writer *w, unsigned flags_arg)
{
	load_arg(w, flags_arg);
	put(w, BPF_JMP | BPF_JSET | BPF_K, 1, 0, MAKES_FILE);
	ret(w, ALLOW);
	check_mode(w, flags_arg + 1);
}

static void check_node(struct writer *w, unsigned arg)
{
	load_arg(w, arg);
	ret_if_any(w, SETID_BITS, REFUSE);
	mask_with(w, S_IFMT);
	ret_if(w, 0, ALLOW); /* a plain file, as mknod(2) says */
	ret_if(w, S_IFREG, ALLOW);
	ret_if(w, S_IFIFO, ALLOW);
	ret_if(w, S_IFSOCK, ALLOW);
	ret(w, REFUSE);
}

static void check_clone(struct writer *w, int nr)
{
	load_arg(w, 0);
	ret_if_any(w, nr == __NR_unshare ? NAMESPACES | NEW_TIME : NAMESPACES, REFUSE);
	ret(w, ALLOW);
}

/*
 * Families: unix and inet with the plan, of inet plain TCP and UDP only (no MPTCP, UDP-Lite, SCTP, raw
 * or ping sockets); netlink for routes only, with which runtimes list interfaces.
 */
static void check_socket(struct writer *w)
{
	load_arg(w, 0);
	if (w->options->has_unix)
		ret_if(w, AF_UNIX, ALLOW);
	if (!w->options->has_inet) {
		ret(w, NO_FAMILY);
		return;
	}
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, AF_NETLINK);
	load_arg(w, 2);
	ret_if(w, 0 /* NETLINK_ROUTE */, ALLOW);
	ret(w, NO_FAMILY);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, AF_INET);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET6);
	ret(w, NO_FAMILY);
	load_arg(w, 1);
	mask_with(w, SOCKET_TYPE);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SOCK_STREAM);
	/* Landlock knows TCP only. */
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, w->options->is_lesser ? SOCK_STREAM : SOCK_DGRAM);
	ret(w, REFUSE);
	load_arg(w, 2);
	ret_if(w, 0, ALLOW);
	ret_if(w, IPPROTO_TCP, ALLOW);
	ret_if(w, IPPROTO_UDP, ALLOW); /* which the kernel refuses for a stream */
	ret(w, REFUSE);
}

/* Pairs that stay pairs: a datagram one could be pointed at a path after all. */
static void check_socketpair(struct writer *w)
{
	load_arg(w, 0);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_UNIX);
	ret(w, NO_FAMILY);
	if (!w->options->has_unix) {
		load_arg(w, 1);
		mask_with(w, SOCKET_TYPE);
		ret_if(w, SOCK_STREAM, ALLOW);
		ret_if(w, SOCK_SEQPACKET, ALLOW);
		ret(w, REFUSE);
	} else {
		ret(w, ALLOW);
	}
}

/* Huge pages come from a pool that the host has set aside, and no limit on memory counts them. */
static void check_huge(struct writer *w, int nr)
{
	load_arg(w, nr == __NR_mmap ? 3 : nr == __NR_shmget ? 2 : 1);
	ret_if_any(w,
		   nr == __NR_mmap     ? MAP_HUGETLB
		   : nr == __NR_shmget ? SHM_HUGETLB
				       : MFD_HUGETLB,
		   REFUSE);
	ret(w, ALLOW);
}

/* A lease on a file that is only read would keep its writers outside waiting. */
static void check_fcntl(struct writer *w)
{
	load_arg(w, 1);
	ret_if(w, F_SETLEASE, REFUSE);
	ret_if(w, F_NOTIFY, REFUSE);
	ret(w, ALLOW);
}

/*
 * A file that is only read can hold futexes that processes outside wait at.  To move them to another one takes no right to write, and nobody would find them
 * there; within one process it is that one's own affair, and has a flag of its own.
 */
static void check_futex(struct writer *w)
{
	load_arg(w, 1);
	ret_if(w, FUTEX_REQUEUE, REFUSE);
	ret_if(w, FUTEX_CMP_REQUEUE, REFUSE);
	ret_if(w, FUTEX_CMP_REQUEUE_PI, REFUSE);
	ret(w, ALLOW);
}

/* Linux 6.16: memory of the kernel's, as much as is asked for, which only a cgroup sees. */
static void check_prctl(struct writer *w)
{
	load_arg(w, 0);
	ret_if(w, RF_PR_FUTEX_HASH, REFUSE);
	ret(w, ALLOW);
}

static void check_socket_option(struct writer *w)
{
	load_arg(w, 1);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, IPPROTO_IPV6);
	ret(w, ALLOW);
	load_arg(w, 2);
	ret_if(w, FLOWLABEL_MGR, REFUSE);
	ret(w, ALLOW);
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
static void check_ioctl(struct writer *w)
{
	load_arg(w, 1);
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
	ret(w, NO_IOCTL);
}

/*
 * The urgent byte of a unix stream is kept beside its queue (Linux 5.15), and freed memory could be
 * read and written by way of it (CVE-2025-38236).  A filter does not see which socket it is, so it
 * goes for all; TCP's is used by nobody but the abort of an old FTP client.
 */
static void check_message(struct writer *w, int nr)
{
	load_arg(w, nr == __NR_sendmsg || nr == __NR_recvmsg ? 2 : 3);
	ret_if_any(w, MSG_OOB, LACKING);
	ret(w, ALLOW);
}

/*
 * A domain that a program makes for itself refuses before ours does, and by its flags the kernel logs
 * nothing of it: what a box was refused would not be seen.  Answered as by a kernel that does not know
 * them (before 6.15).  The one flag that logs more is let through.
 */
static void check_landlock(struct writer *w)
{
	load_arg(w, 1);
	ret_if_any(w, ~RF_LANDLOCK_LOG_NEW_EXEC_ON, NO_FLAG);
	ret(w, ALLOW);
}

/* What Debian's programs ask for: plain Linux, the 32-bit uname, no address randomisation, a query. */
static void check_personality(struct writer *w)
{
	load_arg(w, 0);
	ret_if(w, 0x0, ALLOW);
	ret_if(w, 0x8, ALLOW);
	ret_if(w, 0x0040000, ALLOW);
	ret_if(w, 0xffffffff, ALLOW);
	ret(w, REFUSE);
}

static void check_rename(struct writer *w)
{
	load_arg(w, 4);
	ret_if_any(w, RENAME_WHITEOUT, REFUSE);
	ret(w, ALLOW);
}

/* Answered as if it had been done: programs that switch core files off find them off. */
static void check_setrlimit(struct writer *w)
{
	load_arg(w, 0);
	ret_if(w, RLIMIT_CORE, FAKE);
	ret(w, ALLOW);
}

/* The same for prlimit64(pid, resource, new, old); a call without `new` only asks. */
static void check_prlimit(struct writer *w)
{
	load_arg(w, 0);
	if (w->options->is_lesser) {
		put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
		ret(w, REFUSE); /* another process, perhaps not of the box */
	} else {
		ret_if(w, 1, REFUSE);
	}
	load_arg(w, 1);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, RLIMIT_CORE);
	ret(w, ALLOW);
	load_arg(w, 2);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
	ret(w, FAKE);
	load_high(w, 2);
	ret_if(w, 0, ALLOW);
	ret(w, FAKE);
}

/*
 * A pid 1 that never runs can't end the box.  It has threads, a group and a session of its own, all of
 * number 1, and its uid in common with all others.
 */
static void check_spares_init(struct writer *w)
{
	load_arg(w, 0);
	ret_if(w, 1, REFUSE);
	ret(w, ALLOW);
}

static void check_spares_inits(struct writer *w, int nr)
{
	load_arg(w, 0);
	ret_if(w, nr == __NR_setpriority ? PRIO_USER : IOPRIO_USER, REFUSE);
	load_arg(w, 1);
	ret_if(w, 1, REFUSE);
	ret(w, ALLOW);
}

static void check_own_pid(struct writer *w)
{
	load_arg(w, 0);
	ret_if(w, 0, ALLOW);
	ret(w, REFUSE);
}

/* (which, who): the caller or its group, and never the whole user, whom "0" names too. */
static void check_own_priority(struct writer *w, int nr)
{
	load_arg(w, 0);
	ret_if(w, nr == __NR_setpriority ? PRIO_USER : IOPRIO_USER, REFUSE);
	load_arg(w, 1);
	ret_if(w, 0, ALLOW);
	ret(w, REFUSE);
}

/* A unix socket's name without a path is its network's, and that is the host's. */
static void check_name(struct writer *w)
{
	ret(w, w->options->has_inet ? ALLOW : REFUSE);
}

/* The table's own verdict. */
static void put_verdict(struct writer *w, const struct leaf *leaf)
{
	switch (leaf->check) {
	case RF_CHECK_NONE:
		ret(w, leaf->action);
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

/* ------------------------------------------------------------- profiles */

/* Where a jump goes whose distance is known only later. */
#define TO_NEXT UINT8_MAX       /* the condition does not hold: to the next rule */
#define TO_HOLD (UINT8_MAX - 1) /* it does: behind it */

/* Compares both halves of an argument, the upper one first, since a filter loads only 32 bits. */
static void put_order(struct writer *w, const struct rf_ruleset_cond *cond)
{
	bool is_or_equal = cond->op == RF_RULESET_GE || cond->op == RF_RULESET_LT;
	bool is_less = cond->op == RF_RULESET_LT || cond->op == RF_RULESET_LE;
	uint8_t yes = is_less ? TO_NEXT : TO_HOLD, no = is_less ? TO_HOLD : TO_NEXT;
	uint32_t high = (uint32_t)(cond->value >> 32), low = (uint32_t)cond->value;

	load_high(w, cond->arg);
	put(w, BPF_JMP | BPF_JGT | BPF_K, yes, 0, high);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, no, high);
	load_arg(w, cond->arg);
	put(w, BPF_JMP | (is_or_equal ? BPF_JGE : BPF_JGT) | BPF_K, yes, no, low);
}

static void put_half(struct writer *w, uint32_t mask, uint32_t value, uint8_t yes, uint8_t no)
{
	if (mask != UINT32_MAX)
		mask_with(w, mask);
	put(w, BPF_JMP | BPF_JEQ | BPF_K, yes, no, value);
}

static void put_cond(struct writer *w, const struct rf_ruleset_cond *cond)
{
	uint64_t mask = cond->op == RF_RULESET_MASKED_EQ ? cond->value : UINT64_MAX;
	uint64_t value = cond->op == RF_RULESET_MASKED_EQ ? cond->two : cond->value;
	bool is_not = cond->op == RF_RULESET_NE;

	switch (cond->op) {
	case RF_RULESET_LT:
	case RF_RULESET_LE:
	case RF_RULESET_GE:
	case RF_RULESET_GT:
		put_order(w, cond);
		return;
	default:
		break;
	}
	if (mask >> 32) {
		load_high(w, cond->arg);
		put_half(w, (uint32_t)(mask >> 32), (uint32_t)(value >> 32), 0,
			 is_not ? TO_HOLD : TO_NEXT);
	}
	if ((uint32_t)mask) {
		load_arg(w, cond->arg);
		put_half(w, (uint32_t)mask, (uint32_t)value, is_not ? TO_NEXT : TO_HOLD,
			 is_not ? TO_HOLD : TO_NEXT);
	}
}

/* Turns the jumps `to` within [from, len) into ones that lead to `target`. */
static void settle(struct writer *w, size_t from, uint8_t to, size_t target)
{
	for (size_t i = from; i < w->filter->len && !w->is_full; i++) {
		struct sock_filter *in = &w->filter->code[i];
		uint8_t distance = (uint8_t)(target - i - 1);

		if (BPF_CLASS(in->code) != BPF_JMP || in->code == (BPF_JMP | BPF_JA))
			continue;
		if (in->jt == to)
			in->jt = distance;
		if (in->jf == to)
			in->jf = distance;
	}
}

/* Jumps that all lead to one place: each holds the index of the one before it, until it is known. */
struct jumps {
	size_t last; /* SIZE_MAX: none */
};

static void jump(struct writer *w, struct jumps *jumps)
{
	size_t at = w->filter->len;

	put(w, BPF_JMP | BPF_JA, 0, 0, (uint32_t)jumps->last);
	if (!w->is_full)
		jumps->last = at;
}

static void land(struct writer *w, const struct jumps *jumps)
{
	size_t at = jumps->last;

	while (at != SIZE_MAX && !w->is_full) {
		uint32_t before = w->filter->code[at].k;

		w->filter->code[at].k = (uint32_t)(w->filter->len - at - 1);
		at = before == UINT32_MAX ? SIZE_MAX : before;
	}
}

/* True if the table refuses a call whatever its arguments are.  To ask or to fake is something else. */
static bool is_refused(const struct leaf *leaf)
{
	return leaf->check == RF_CHECK_NONE && leaf->action != FAKE &&
	       (leaf->action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

/* What is left of the way of one call through the profiles. */
struct way {
	const struct leaf *leaf;
	size_t stage; /* the profile whose turn it is */
	struct jumps allowed, logged;
};

/* One instruction: the end, or a jump to where the call's way goes on. */
static void act(struct writer *w, struct way *way, uint32_t action)
{
	const struct leaf *leaf = way->leaf;
	bool is_ours = is_refused(leaf);

	/* Where both refuse, the table answers: ENOSYS makes programs fall back. */
	if (action == ALLOW || (is_ours && rf_ruleset_rank(action) == rf_ruleset_rank(REFUSE)))
		jump(w, &way->allowed);
	else if (action == SECCOMP_RET_LOG)
		jump(w, &way->logged);
	else
		ret(w, action);
}

static void put_stage(struct writer *w, const struct leaf *leaf, size_t stage);

/* Goes on behind the profile, for those who came here by `jumps`. */
static void go_on(struct writer *w, const struct way *way, const struct jumps *jumps,
		  uint32_t allow)
{
	uint32_t before = w->allow;

	if (jumps->last == SIZE_MAX || w->is_full)
		return;
	land(w, jumps);
	if (allow)
		w->allow = allow;
	put_stage(w, way->leaf, way->stage + 1);
	w->allow = before;
}

/* The rules of one profile for one call, the strictest first, then its default, then the rest. */
static void put_stage(struct writer *w, const struct leaf *leaf, size_t stage)
{
	struct way way = { leaf, stage, { SIZE_MAX }, { SIZE_MAX } };
	const struct rf_ruleset_rule *rules;
	size_t count;

	if (stage == w->ruleset_count) {
		put_verdict(w, leaf);
		return;
	}
	rules = rf_ruleset_rules(w->rulesets[stage], leaf->nr, &count);
	for (size_t i = 0; i < count && !w->is_full; i++) {
		size_t from = w->filter->len;

		for (uint32_t k = 0; k < rules[i].cond_count; k++) {
			size_t cond = w->filter->len;

			put_cond(w, &rules[i].conds[k]);
			settle(w, cond, TO_HOLD, w->filter->len);
		}
		act(w, &way, rules[i].action);
		settle(w, from, TO_NEXT, w->filter->len);
	}
	if (count == 0 || rules[count - 1].cond_count > 0)
		act(w, &way, w->rulesets[stage]->fallback);
	go_on(w, &way, &way.allowed, 0);
	go_on(w, &way, &way.logged, SECCOMP_RET_LOG);
}

/* Joins what the profiles say of a number into its leaf, as far as arguments have no part in it. */
static void join_rulesets(const struct writer *w, struct leaf *leaf)
{
	bool is_ours = is_refused(leaf);
	bool is_logged = false;

	for (size_t i = 0; i < w->ruleset_count; i++) {
		uint32_t action;

		if (!rf_ruleset_is_plain(w->rulesets[i], leaf->nr, &action)) {
			leaf->has_rules = true;
			return;
		}
		if (action == SECCOMP_RET_LOG) {
			is_logged = true;
		} else if (action != ALLOW &&
			   !(is_ours && rf_ruleset_rank(action) == rf_ruleset_rank(REFUSE))) {
			leaf->action = action;
			leaf->check = RF_CHECK_NONE;
			return;
		}
	}
	if (is_logged && leaf->check != RF_CHECK_NONE)
		leaf->has_rules = true;
	else if (is_logged && leaf->action == ALLOW)
		leaf->action = SECCOMP_RET_LOG;
}

static void put_leaf(struct writer *w, const struct leaf *leaf)
{
	if (leaf->has_rules)
		put_stage(w, leaf, 0);
	else
		put_verdict(w, leaf);
}

/* ------------------------------------------------------------- the tree of numbers */

/*
 * Writes a balanced tree over leaves[0..count): each leaf rules the numbers from its own up to the
 * next one's.  A node jumps over its left half; where that is more than a conditional jump can
 * reach (255), a plain jump does it.
 */
static void put_tree(struct writer *w, const struct leaf *leaves, size_t count)
{
	struct sock_filter *code = w->filter->code;
	size_t half = count / 2, node = w->filter->len, left;

	if (count == 1) {
		put_leaf(w, leaves);
		return;
	}
	put(w, BPF_JMP | BPF_JGE | BPF_K, 0, 0, (uint32_t)leaves[half].nr);
	put_tree(w, leaves, half);
	left = w->filter->len - node - 1;
	if (left > UINT8_MAX) {
		put(w, BPF_JMP | BPF_JA, 0, 0, 0);
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
static void look_up_all(const struct rf_call_options *options, struct leaf *by_nr)
{
	for (int nr = 0; nr < CALLS; nr++)
		by_nr[nr] = (struct leaf){ .nr = nr, .action = ABSENT };
	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, options);

		for (size_t i = 0; i < group->count; i++) {
			struct leaf *leaf = &by_nr[group->calls[i].nr];

			leaf->action = action_of(verdict);
			leaf->check = verdict == RF_CALL_ALLOW ? rf_call_check(group, options)
							       : RF_CHECK_NONE;
		}
	}
}

/* True if two neighbours share one fate; what looks at arguments is always its own leaf. */
static bool is_same(const struct leaf *a, const struct leaf *b)
{
	return a->action == b->action && a->check == RF_CHECK_NONE && b->check == RF_CHECK_NONE &&
	       !a->has_rules && !b->has_rules;
}

/* Lays the table out as ranges: neighbours with one fate are one range. */
static size_t lay_out(const struct writer *w, struct leaf *leaves)
{
	struct leaf by_nr[CALLS], beyond = { .nr = CALLS, .action = ABSENT };
	size_t n = 0;

	look_up_all(w->options, by_nr);
	for (int nr = 0; nr < CALLS; nr++) {
		join_rulesets(w, &by_nr[nr]);
		if (n == 0 || !is_same(&by_nr[nr], &leaves[n - 1]))
			leaves[n++] = by_nr[nr];
	}
	join_rulesets(w, &beyond);
	leaves[n++] = beyond;
	leaves[n++] = (struct leaf){ .nr = RF_FILTER_PROOF_NR,
				     .action = SECCOMP_RET_ERRNO | RF_FILTER_PROOF_ERRNO };
	beyond.nr = RF_FILTER_PROOF_NR + 1;
	leaves[n++] = beyond;
	return n;
}

int rf_filter_build(const struct rf_call_options *options, const struct rf_ruleset *const *rulesets,
		    size_t count, struct rf_filter *ret_filter, struct rf_err *err)
{
	struct writer w = {
		.filter = ret_filter,
		.options = options,
		.rulesets = rulesets,
		.ruleset_count = count,
	};
	struct leaf leaves[CALLS + 3] = { 0 };
	size_t leaf_count = lay_out(&w, leaves);

	ret_filter->len = 0;
	put(&w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(arch));
	put(&w, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, RF_FILTER_ARCH);
	ret(&w, SECCOMP_RET_KILL_PROCESS);
	put(&w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
#ifdef __x86_64__
	put(&w, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
	ret(&w, SECCOMP_RET_KILL_PROCESS);
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
