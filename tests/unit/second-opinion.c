/* A second opinion on system calls: see second-opinion.h. */
#include "second-opinion.h"

#include <asm/unistd.h>
#include <stdbool.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

static bool has_setid(uint64_t mode)
{
	return (mode >> 10 & 1) != 0 || (mode >> 11 & 1) != 0;
}

static uint32_t opinion_on_open(uint64_t flags, uint64_t mode)
{
	bool makes_file = (flags >> 6 & 1) != 0 || (flags >> 22 & 1) != 0; /* O_CREAT, O_TMPFILE */

	return makes_file && has_setid(mode) ? REFUSE : ALLOW;
}

static uint32_t opinion_on_node(uint64_t mode)
{
	uint64_t type = mode >> 12 & 15; /* fifo 1, regular 8 or unsaid 0, socket 12 */

	return !has_setid(mode) && (type == 0 || type == 1 || type == 8 || type == 12) ? ALLOW
										       : REFUSE;
}

static uint32_t opinion_on_clone(int nr, uint64_t flags)
{
	/* mnt, cgroup, uts, ipc, user, pid, net */
	static const unsigned bits[] = { 17, 25, 26, 27, 28, 29, 30 };

	for (size_t i = 0; i < RF_LEN(bits); i++)
		if (flags >> bits[i] & 1)
			return REFUSE;
	return nr == __NR_unshare && flags >> 7 & 1 ? REFUSE : ALLOW; /* time */
}

static uint32_t opinion_on_socket(const struct rf_call_options *options, uint32_t family,
				  uint32_t type, uint32_t protocol)
{
	if (family == 1)
		return options->has_unix ? ALLOW : NO_FAMILY;
	if (!options->has_inet || (family != 2 && family != 10 && family != 16))
		return NO_FAMILY;
	if (family == 16)
		return protocol == 0 ? ALLOW : NO_FAMILY;
	if (type % 16 != 1 && (type % 16 != 2 || options->is_lesser))
		return REFUSE;
	return protocol == 0 || protocol == 6 || protocol == 17 ? ALLOW : REFUSE;
}

static uint32_t opinion_on_ioctl(const struct rf_call_options *options, uint32_t request)
{
	/* TCGETS2, TCSETS2, TCSETSW2, TCSETSF2, FICLONE, FICLONERANGE, FS_IOC_GETFLAGS */
	static const uint32_t known[] = { 0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d,
					  0x40049409, 0x4020940d, 0x80086601 };

	/* TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS */
	if (request == 0x5412 || request == 0x541c || request == 0x5423 || request == 0x541d)
		return REFUSE;
	if (request >> 8 == 0x54 || request >> 8 == 0x89)
		return ALLOW;
	if (request >> 8 == 0xb7) /* what namespaces there are above */
		return REFUSE;
	for (size_t i = 0; i < RF_LEN(known); i++)
		if (request == known[i])
			return ALLOW;
	/* TIOCGPTN, TIOCSPTLCK */
	return !options->is_lesser && (request == 0x80045430 || request == 0x40045431) ? ALLOW
										       : NO_IOCTL;
}

/* Flags are the third argument of a call with a header, and the fourth of the others. */
static uint32_t opinion_on_message(const struct seccomp_data *data)
{
	unsigned at = data->nr == __NR_sendmsg || data->nr == __NR_recvmsg ? 2 : 3;

	return data->args[at] & 1 ? SECCOMP_RET_ERRNO | EOPNOTSUPP : ALLOW; /* MSG_OOB */
}

/* Of the flags only the one that logs what programs do that are started. */
static uint32_t opinion_on_landlock(uint32_t flags)
{
	return flags == 0 || flags == 2 ? ALLOW : SECCOMP_RET_ERRNO | EINVAL;
}

/* What a lesser box is not given, whatever else is asked for: by name, not by the table's groups. */
static bool opinion_on_lesser(const struct seccomp_data *data, bool has_deputy, uint32_t *ret_fate)
{
	int nr = data->nr;

	/* clang-format off */
	static const int asked[] = {
		__NR_fchmod, __NR_fchmodat, 452 /* fchmodat2 */, __NR_utimensat,
#ifdef __x86_64__
		__NR_chmod,
#endif
	}, lacking[] = {
		__NR_setxattr, __NR_lsetxattr, __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr,
		__NR_fremovexattr,
	}, refused[] = {
		__NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, __NR_pidfd_getfd,
		__NR_process_madvise, 448 /* process_mrelease */, __NR_migrate_pages, __NR_move_pages,
		__NR_get_robust_list,
		__NR_fchown, __NR_fchownat, __NR_mq_open, __NR_mq_unlink,
		__NR_mq_timedsend, __NR_mq_timedreceive, __NR_mq_notify, __NR_mq_getsetattr,
		__NR_semget, __NR_semop, __NR_semctl, __NR_semtimedop, __NR_msgget, __NR_msgsnd,
		__NR_msgrcv, __NR_msgctl, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_shmdt,
		__NR_userfaultfd, __NR_vmsplice, 451 /* cachestat */,
#ifdef __x86_64__
		__NR_futimesat, __NR_utime, __NR_utimes, __NR_chown, __NR_lchown,
#endif
	}, absent[] = {
		463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */,
		__NR_inotify_init1, __NR_inotify_add_watch, __NR_inotify_rm_watch,
#ifdef __x86_64__
		__NR_inotify_init,
#endif
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(asked); i++)
		if (nr == asked[i])
			return *ret_fate = has_deputy ? ASK : REFUSE, true;
	for (size_t i = 0; i < RF_LEN(refused); i++)
		if (nr == refused[i])
			return *ret_fate = REFUSE, true;
	for (size_t i = 0; i < RF_LEN(lacking); i++)
		if (nr == lacking[i])
			return *ret_fate = SECCOMP_RET_ERRNO | EOPNOTSUPP, true;
	for (size_t i = 0; i < RF_LEN(absent); i++)
		if (nr == absent[i])
			return *ret_fate = ABSENT, true;
	*ret_fate = opinion_on_landlock((uint32_t)data->args[1]);
	return nr == 446; /* landlock_restrict_self, with which pid 1 walls the program in */
}

/* Who else is of the same uid is none of a lesser box's business. */
static uint32_t opinion_on_others(const struct seccomp_data *data)
{
	uint32_t first = (uint32_t)data->args[0], second = (uint32_t)data->args[1];

	switch (data->nr) {
	case __NR_sched_setaffinity:
	case __NR_sched_setparam:
	case __NR_sched_setscheduler:
	case __NR_sched_setattr:
	case __NR_prlimit64:
		return first == 0 ? ALLOW : REFUSE;
	case __NR_setpriority: /* PRIO_USER */
		return first != 2 && second == 0 ? ALLOW : REFUSE;
	case __NR_ioprio_set: /* IOPRIO_WHO_USER */
		return first != 3 && second == 0 ? ALLOW : REFUSE;
	default:
		return ALLOW;
	}
}

static uint32_t opinion_on_personality(uint32_t persona)
{
	return persona == 0 || persona == 8 || persona == 0x40000 || persona == UINT32_MAX ? ALLOW
											   : REFUSE;
}

/* RLIMIT_CORE is 4; a limit that is only asked for has no new value. */
static uint32_t opinion_on_limit(uint32_t resource, bool is_set)
{
	return resource == 4 && is_set ? FAKE : ALLOW;
}

/* Streams and packets stay pairs; a datagram socket can be pointed elsewhere. */
static uint32_t opinion_on_pair(const struct rf_call_options *options, uint32_t family,
				uint32_t type)
{
	if (family != 1)
		return NO_FAMILY;
	return options->has_unix || (type & 15) == 1 || (type & 15) == 5 ? ALLOW : REFUSE;
}

static uint32_t opinion_on_arguments(const struct seccomp_data *data, enum rf_call_check check,
				     const struct rf_call_options *options)
{
	const __u64 *args = data->args;

	switch (check) {
	case RF_CHECK_NONE:
		return ALLOW;
	case RF_CHECK_MODE_1:
		return has_setid(args[1]) ? REFUSE : ALLOW;
	case RF_CHECK_MODE_2:
		return has_setid(args[2]) ? REFUSE : ALLOW;
	case RF_CHECK_OPEN:
		return opinion_on_open(args[1], args[2]);
	case RF_CHECK_OPENAT:
		return opinion_on_open(args[2], args[3]);
	case RF_CHECK_NODE_1:
		return opinion_on_node(args[1]);
	case RF_CHECK_NODE_2:
		return opinion_on_node(args[2]);
	case RF_CHECK_CLONE:
		return opinion_on_clone(data->nr, args[0]);
	case RF_CHECK_SOCKET:
		return opinion_on_socket(options, (uint32_t)args[0], (uint32_t)args[1],
					 (uint32_t)args[2]);
	case RF_CHECK_SOCKETPAIR:
		return opinion_on_pair(options, (uint32_t)args[0], (uint32_t)args[1]);
	case RF_CHECK_IOCTL:
		return opinion_on_ioctl(options, (uint32_t)args[1]);
	case RF_CHECK_PERSONALITY:
		return opinion_on_personality((uint32_t)args[0]);
	case RF_CHECK_RENAME:
		return args[4] >> 2 & 1 ? REFUSE : ALLOW;
	case RF_CHECK_FCNTL: /* F_SETLEASE and F_NOTIFY */
		return (uint32_t)args[1] == 1024 || (uint32_t)args[1] == 1026 ? REFUSE : ALLOW;
	case RF_CHECK_HUGE: /* MAP_HUGETLB, SHM_HUGETLB, MFD_HUGETLB */
		return data->nr == __NR_mmap     ? (args[3] & 0x40000 ? REFUSE : ALLOW)
		       : data->nr == __NR_shmget ? (args[2] & 04000 ? REFUSE : ALLOW)
		       : args[1] & 4             ? REFUSE
						 : ALLOW;
	case RF_CHECK_FUTEX: /* REQUEUE, CMP_REQUEUE and CMP_REQUEUE_PI between processes */
		return (uint32_t)args[1] == 3 || (uint32_t)args[1] == 4 || (uint32_t)args[1] == 12
			       ? REFUSE
			       : ALLOW;
	case RF_CHECK_PRCTL: /* PR_FUTEX_HASH */
		return (uint32_t)args[0] == 78 ? REFUSE : ALLOW;
	case RF_CHECK_SOCKET_OPTION: /* IPPROTO_IPV6, IPV6_FLOWLABEL_MGR */
		return (uint32_t)args[1] == 41 && (uint32_t)args[2] == 32 ? REFUSE : ALLOW;
	case RF_CHECK_MESSAGE:
		return opinion_on_message(data);
	case RF_CHECK_LANDLOCK:
		return opinion_on_landlock((uint32_t)args[1]);
	case RF_CHECK_SETRLIMIT:
		return opinion_on_limit((uint32_t)args[0], true);
	case RF_CHECK_SPARES_INIT:
		return (uint32_t)args[0] == 1 ? REFUSE : ALLOW;
	case RF_CHECK_SPARES_INITS: /* a whole user is 2 for setpriority and 3 for ioprio_set */
		return (uint32_t)args[0] == (data->nr == __NR_setpriority ? 2 : 3) ||
				       (uint32_t)args[1] == 1
			       ? REFUSE
			       : ALLOW;
	case RF_CHECK_PRLIMIT:
		if ((uint32_t)args[0] == 1)
			return REFUSE;
		return opinion_on_limit((uint32_t)args[1], args[2] != 0);
	case RF_CHECK_OWN_PID: /* in a lesser box only */
	case RF_CHECK_OWN_PRIORITY:
	case RF_CHECK_NAME:
		break;
	}
	return KILL;
}

static const struct rf_call_group *group_of(int nr)
{
	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++)
			if (rf_call_groups[g].calls[i].nr == nr)
				return &rf_call_groups[g];
	return NULL;
}

/* What leaves in a tree of the host what nobody outside expects: by name. */
static bool is_lacking(const struct rf_call_options *options, int nr)
{
	switch (nr) {
	case __NR_setxattr:
	case __NR_lsetxattr:
	case __NR_fsetxattr:
	case __NR_removexattr:
	case __NR_lremovexattr:
	case __NR_fremovexattr:
	case 463: /* setxattrat */
	case 466: /* removexattrat */
	case 469: /* file_setattr */
		return options->lacks_attributes;
	case __NR_fallocate:
		return options->lacks_allocation;
	case 444: /* landlock_create_ruleset */
	case 445: /* landlock_add_rule */
		return options->lacks_holding;
	default:
		return false;
	}
}

uint32_t rf_opinion(const struct rf_call_options *options, const struct seccomp_data *data)
{
	const struct rf_call_group *group = group_of(data->nr);
	enum rf_call_verdict verdict = RF_CALL_ABSENT;
	uint32_t fate;

	if (data->arch != OUR_ARCH)
		return KILL;
#ifdef __x86_64__
	if (data->nr < 0 || data->nr >= 0x40000000)
		return KILL;
#endif
	if (data->nr == RF_FILTER_PROOF_NR)
		return PROOF;
	if (options->is_lesser && opinion_on_lesser(data, options->has_deputy, &fate))
		return fate;
	if (group)
		verdict = options->syscalls == RF_SYSCALLS_STRICT  ? group->in_strict
			  : options->syscalls == RF_SYSCALLS_FLOOR ? group->in_floor
								   : group->verdict;
	/* What only a sampler would have to see is what the default allows and sampled does not. */
	if (group && options->is_sampled && group->verdict == RF_CALL_ALLOW &&
	    group->in_sampled != RF_CALL_ALLOW)
		verdict = group->in_sampled;
	if (verdict == RF_CALL_ALLOW && is_lacking(options, data->nr))
		return LACKING;
	switch (verdict) {
	case RF_CALL_ALLOW:
		if (options->is_lesser && opinion_on_others(data) != ALLOW)
			return REFUSE;
		if (options->is_lesser && data->nr == __NR_bind && !options->has_inet)
			return REFUSE;
		return opinion_on_arguments(data, group->check, options);
	case RF_CALL_FAKE:
		return FAKE;
	case RF_CALL_REFUSE:
		return REFUSE;
	case RF_CALL_ABSENT:
		return ABSENT;
	case RF_CALL_LACKING: /* in a lesser box only */
	case RF_CALL_ASK:
		break;
	}
	return KILL;
}

uint32_t rf_opinion_run(const struct rf_filter *filter, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < filter->len; pc++) {
		const struct sock_filter *in = &filter->code[pc];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			RF_REQUIRE(in->k % 4 == 0 && in->k < sizeof(*data), "loads %u", in->k);
			memcpy(&a, (const char *)data + in->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += in->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & in->k ? in->jt : in->jf;
			break;
		case BPF_RET | BPF_K:
			return in->k;
		default:
			RF_REQUIRE(false, "instruction %zu is %#x", pc, in->code);
		}
	}
	RF_REQUIRE(false, "ran past the end");
	return KILL;
}
