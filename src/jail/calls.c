/*
 * The table of system calls: see calls.h.
 *
 * What decided: fifty real programs were measured, from interpreters to databases and browsers, and
 * what they need is allowed (docs/seccomp.md has the figures, `make calls` measures again); what the
 * kernel's past holes had in common (new namespaces, the mount API, io_uring, bpf, perf,
 * userfaultfd, keyrings, odd socket families) is out of reach; nothing that acts on the host as a
 * whole is let through, whatever the capabilities say.
 */
#include "jail/calls.h"

#include <asm/unistd.h> /* the kernel's own numbers: a libc may know fewer */

#include "base/fd.h"

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, __NR_##name                                                                 \
	}
#define CALL_AT(name, nr)                                                                          \
	{                                                                                          \
#name, nr                                                                          \
	}

/* clang-format off */
static const struct rf_call open_files[] = {
	CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(lseek), CALL(pread64),
	CALL(pwrite64), CALL(readv), CALL(writev), CALL(sendfile), CALL(flock), CALL(fsync),
	CALL(fdatasync), CALL(ftruncate), CALL(fadvise64), CALL(dup), CALL(dup3),
	CALL(pipe2), CALL(close_range), CALL(getdents64), CALL(fstatfs),
};

/* Space that is claimed and not written: no counter of written bytes sees it. */
static const struct rf_call allocations[] = { CALL(fallocate) };

static const struct rf_call named_files[] = {
	CALL(truncate), CALL(getcwd), CALL(chdir), CALL(fchdir), CALL(umask), CALL(statfs),
	CALL(newfstatat), CALL(statx), CALL(unlinkat), CALL(linkat), CALL(symlinkat),
	CALL(readlinkat), CALL(faccessat), CALL(faccessat2), CALL(getxattr),
	CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr), CALL(llistxattr), CALL(flistxattr),
};

static const struct rf_call memory[] = {
	CALL(mprotect), CALL(munmap), CALL(brk), CALL(mremap), CALL(madvise),
	CALL(msync), CALL(mlock), CALL(munlock), CALL(membarrier),
};

static const struct rf_call processes[] = {
	CALL(execve), CALL(execveat), CALL(exit), CALL(exit_group), CALL(wait4), CALL(waitid),
	CALL(kill), CALL(tkill), CALL(tgkill), CALL(getpid), CALL(gettid), CALL(getppid),
	CALL(setpgid), CALL(getpgid), CALL(setsid), CALL(getsid),
	CALL(set_tid_address), CALL(set_robust_list), CALL(rseq), CALL(getrusage),
	CALL(sched_yield),
	CALL(sched_getaffinity), CALL(sched_getscheduler),
	CALL(sched_get_priority_max), CALL(sched_get_priority_min), CALL(getcpu),
};

static const struct rf_call signals_and_time[] = {
	CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(rt_sigtimedwait),
	CALL(rt_sigsuspend), CALL(sigaltstack), CALL(restart_syscall), CALL(nanosleep),
	CALL(clock_nanosleep), CALL(clock_gettime), CALL(clock_getres), CALL(gettimeofday),
	CALL(getitimer), CALL(setitimer), CALL(timer_create), CALL(timer_settime),
	CALL(timer_delete), CALL(timer_gettime), CALL(timer_getoverrun), CALL(rt_sigpending),
	CALL(timerfd_create), CALL(timerfd_settime), CALL(signalfd4),
	CALL(eventfd2), CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait),
	CALL(pselect6), CALL(ppoll),
};

static const struct rf_call identity[] = {
	CALL(getuid), CALL(getgid), CALL(geteuid), CALL(getegid), CALL(getresuid), CALL(getresgid),
	CALL(getgroups), CALL(capget), CALL(uname), CALL(sysinfo), CALL(getrandom),
	CALL(getrlimit), CALL(getpriority), CALL(times),
};

/* To oneself: make gives up what it never had before each program that it starts. */
static const struct rf_call own_ids[] = {
	CALL(setuid), CALL(setgid), CALL(setresuid), CALL(setresgid),
};

static const struct rf_call messages[] = {
	CALL(sendto), CALL(recvfrom), CALL(sendmsg), CALL(recvmsg),
};
static const struct rf_call many_messages[] = {
	CALL(sendmmsg), CALL(recvmmsg),
};
static const struct rf_call socket_states[] = {
	CALL(shutdown), CALL(getsockname), CALL(getsockopt),
};

static const struct rf_call conveniences[] = {
	CALL(accept), CALL(setreuid), CALL(setregid), CALL(setgroups), CALL(capset),
	CALL(readahead), CALL(sync_file_range), CALL(ioprio_get),
	CALL(seccomp),
};
/* A rule holds the file that it is of, also once that has no name and no descriptor. */
static const struct rf_call file_rules[] = {
	CALL_AT(landlock_create_ruleset, 444), CALL_AT(landlock_add_rule, 445),
};

/* What programs use now and then, and can do without where the list must be short. */
static const struct rf_call now_and_then[] = {
	CALL(preadv), CALL(pwritev), CALL(splice), CALL(copy_file_range), CALL(mincore),
	CALL(pkey_mprotect), CALL(pkey_alloc), CALL(pkey_free), CALL(sched_getparam),
	CALL(pidfd_open), CALL(pidfd_send_signal), CALL(rt_sigqueueinfo), CALL(connect),
	CALL(listen), CALL(accept4), CALL(getpeername), CALL(timerfd_gettime),
};

/*
 * What no program needed that was measured (docs/seccomp.md), and for which those that do ask have
 * an answer: they run on kernels that are too old for it or were built without it, or in containers
 * that refuse it.
 */
static const struct rf_call too_new[] = {
	CALL(preadv2), CALL(pwritev2), CALL(epoll_pwait2), CALL_AT(futex_waitv, 449),
	CALL_AT(futex_wake, 454), CALL_AT(futex_wait, 455), CALL_AT(mseal, 462),
};
static const struct rf_call unasked[] = {
	CALL(get_mempolicy), CALL(set_mempolicy), CALL(mbind), CALL(mlock2), CALL(mlockall),
	CALL(munlockall), CALL(remap_file_pages), CALL(tee), CALL(setfsuid), CALL(setfsgid),
	CALL(sched_getattr), CALL(sched_rr_get_interval), CALL(rt_tgsigqueueinfo),
};

/* What Landlock does not see, or what reaches others of the same uid: a lesser box does without. */
static const struct rf_call times[] = {
	CALL(utimensat),
};
static const struct rf_call xattrs[] = {
	CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr),
	CALL(lremovexattr), CALL(fremovexattr),
};
static const struct rf_call owners[] = {
	CALL(fchown), CALL(fchownat),
};
static const struct rf_call queues[] = {
	CALL(mq_open), CALL(mq_unlink), CALL(mq_timedsend), CALL(mq_timedreceive),
	CALL(mq_notify), CALL(mq_getsetattr),
};
static const struct rf_call sysv_queues[] = {
	CALL(semget), CALL(semop), CALL(semctl), CALL(semtimedop), CALL(msgget), CALL(msgsnd),
	CALL(msgrcv), CALL(msgctl),
};
static const struct rf_call watches[] = {
	CALL(inotify_init1), CALL(inotify_add_watch), CALL(inotify_rm_watch),
};
static const struct rf_call schedulers[] = {
	CALL(sched_setscheduler),
};
static const struct rf_call unasked_schedulers[] = {
	CALL(sched_setparam), CALL(sched_setattr),
};
static const struct rf_call affinities[] = {
	CALL(sched_setaffinity),
};
static const struct rf_call ioprios[] = {
	CALL(ioprio_set),
};
static const struct rf_call priorities[] = {
	CALL(setpriority),
};
static const struct rf_call names[] = {
	CALL(bind),
};
static const struct rf_call rulesets[] = {
	CALL_AT(landlock_restrict_self, 446),
};

/* Pages of the host's own pool would be nobody's memory: no group counts them. */
static const struct rf_call mappings[] = { CALL(mmap) };
static const struct rf_call memfds[] = { CALL(memfd_create) };
static const struct rf_call segments[] = { CALL(shmget) };

static const struct rf_call shared_memory[] = {
	CALL(shmat), CALL(shmctl), CALL(shmdt),
};

static const struct rf_call modes_1[] = { CALL(fchmod) };
static const struct rf_call modes_2[] = { CALL(fchmodat), CALL_AT(fchmodat2, 452) };
static const struct rf_call folders_2[] = { CALL(mkdirat) };
static const struct rf_call opens_at[] = { CALL(openat) };
static const struct rf_call nodes_2[] = { CALL(mknodat) };
static const struct rf_call clones[] = { CALL(clone), CALL(unshare) };
static const struct rf_call sockets[] = { CALL(socket) };
static const struct rf_call socketpairs[] = { CALL(socketpair) };
static const struct rf_call ioctls[] = { CALL(ioctl) };
static const struct rf_call personalities[] = { CALL(personality) };
static const struct rf_call renames[] = { CALL(renameat2) };
static const struct rf_call setrlimits[] = { CALL(setrlimit) };
static const struct rf_call prlimits[] = { CALL(prlimit64) };
static const struct rf_call syncs[] = { CALL(sync), CALL(syncfs) };
static const struct rf_call fcntls[] = { CALL(fcntl) };
static const struct rf_call futexes[] = { CALL(futex) };
static const struct rf_call prctls[] = { CALL(prctl) };
static const struct rf_call socket_options[] = { CALL(setsockopt) };
static const struct rf_call opaque[] = {
	CALL(clone3), CALL(openat2), CALL_AT(futex_requeue, 456),
};

static const struct rf_call namespaces[] = {
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(setns), CALL(open_tree),
	CALL(move_mount), CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick),
	CALL(mount_setattr), CALL_AT(statmount, 457), CALL_AT(listmount, 458),
	CALL_AT(open_tree_attr, 467), CALL(name_to_handle_at), CALL(open_by_handle_at),
};

static const struct rf_call others_memory[] = {
	CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp),
	CALL(pidfd_getfd), CALL(process_madvise), CALL_AT(process_mrelease, 448),
	CALL(migrate_pages), CALL(move_pages), CALL(get_robust_list),
};

static const struct rf_call kernel_surface[] = {
	CALL(bpf), CALL(perf_event_open), CALL(fanotify_init), CALL(fanotify_mark),
	CALL_AT(memfd_secret, 447),
};

/* The same, but of the process's own: what a profile may decide about. */
static const struct rf_call own_surface[] = {
	CALL(userfaultfd), CALL(vmsplice), CALL_AT(cachestat, 451),
};

static const struct rf_call whole_machine[] = {
	CALL(reboot), CALL(kexec_load), CALL(init_module), CALL(finit_module), CALL(delete_module),
	CALL(swapon), CALL(swapoff), CALL(acct), CALL(quotactl), CALL_AT(quotactl_fd, 443),
	CALL(syslog), CALL(settimeofday), CALL(clock_settime), CALL(adjtimex), CALL(clock_adjtime),
	CALL(sethostname), CALL(setdomainname), CALL(vhangup),
};

/* A ring opens files and makes sockets past every look at arguments; keyrings are the host's. */
static const struct rf_call ring_and_keys[] = {
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(add_key),
	CALL(request_key), CALL(keyctl), CALL(lookup_dcookie), CALL(nfsservctl),
	CALL_AT(lsm_set_self_attr, 460),
};

static const struct rf_call spare[] = {
	CALL(io_setup), CALL(io_destroy), CALL(io_getevents), CALL(io_submit), CALL(io_cancel),
	CALL(io_pgetevents), CALL_AT(set_mempolicy_home_node, 450), CALL_AT(map_shadow_stack, 453),
	CALL_AT(lsm_get_self_attr, 459), CALL_AT(lsm_list_modules, 461), CALL_AT(getxattrat, 464),
	CALL_AT(listxattrat, 465), CALL_AT(file_getattr, 468),
};

/* Changes files by their names, which a lesser box must not. */
static const struct rf_call newer_attributes[] = {
	CALL_AT(setxattrat, 463), CALL_AT(removexattrat, 466), CALL_AT(file_setattr, 469),
};

#ifdef __x86_64__
/* What only the older architectures still have. */
static const struct rf_call legacy[] = {
	CALL(stat), CALL(lstat), CALL(access), CALL(poll), CALL(select), CALL(pipe), CALL(dup2),
	CALL(fork), CALL(vfork), CALL(rename), CALL(rmdir), CALL(link), CALL(unlink),
	CALL(symlink), CALL(readlink), CALL(getpgrp), CALL(time), CALL(epoll_wait),
	CALL(arch_prctl), CALL(alarm), CALL(pause), CALL(renameat),
};
static const struct rf_call legacy_spare[] = {
	CALL(epoll_create),
};
/* A libc uses the newer spelling, or there is nothing of it in a 64-bit kernel. */
static const struct rf_call legacy_unasked[] = {
	CALL(signalfd), CALL(eventfd), CALL(getdents), CALL(get_thread_area),
	CALL(set_thread_area),
};
static const struct rf_call legacy_modes_1[] = { CALL(mkdir), CALL(creat) };
static const struct rf_call legacy_chmods[] = { CALL(chmod) };
static const struct rf_call legacy_times[] = {
	CALL(utime), CALL(utimes),
};
static const struct rf_call legacy_unasked_times[] = {
	CALL(futimesat),
};
static const struct rf_call legacy_owners[] = {
	CALL(chown), CALL(lchown),
};
static const struct rf_call legacy_watches[] = {
	CALL(inotify_init),
};

static const struct rf_call legacy_opens[] = { CALL(open) };
static const struct rf_call legacy_nodes[] = { CALL(mknod) };
static const struct rf_call legacy_ldt[] = { CALL(modify_ldt) };
static const struct rf_call legacy_surface[] = {
	CALL(iopl), CALL(ioperm), CALL(kexec_file_load), CALL(ustat),
	CALL(sysfs), CALL(uselib), CALL(_sysctl), CALL(create_module), CALL(get_kernel_syms),
	CALL(query_module), CALL(getpmsg), CALL(putpmsg), CALL(afs_syscall), CALL(tuxcall),
	CALL(security), CALL(vserver), CALL(epoll_ctl_old), CALL(epoll_wait_old),
	CALL_AT(uretprobe, 335),
};
#endif

#define YES RF_CALL_ALLOW
#define NO  RF_CALL_REFUSE
#define OLD RF_CALL_ABSENT
#define ASK RF_CALL_ASK
#define ROW(why, verdict, strict, sampled, floor, check, calls) \
	{ why, verdict, strict, sampled, floor, check, calls, RF_LEN(calls), YES, RF_CHECK_NONE, false, RF_EFFECT_NONE }
/* The same with a fate, or a closer look, in a lesser box. */
#define LESS(why, verdict, strict, sampled, floor, lesser, check, closer, calls) \
	{ why, verdict, strict, sampled, floor, check, calls, RF_LEN(calls), lesser, closer, false, RF_EFFECT_NONE }
/* The same with what it does to a tree of the host. */
#define TREE(why, verdict, strict, sampled, floor, lesser, effect, calls) \
	{ why, verdict, strict, sampled, floor, RF_CHECK_NONE, calls, RF_LEN(calls), lesser, RF_CHECK_NONE, false, effect }

const struct rf_call_group rf_call_groups[] = {
	/*   why                                     default strict sampled floor  check     calls */
	ROW("work on open files",                       YES, YES, YES, YES, RF_CHECK_NONE, open_files),
	TREE("space of files, where it is counted",     YES, YES, YES, YES, YES, RF_EFFECT_ALLOCATION, allocations),
	ROW("name files, within the visible tree",      YES, YES, YES, YES, RF_CHECK_NONE, named_files),
	ROW("the process's own memory",                 YES, YES, YES, YES, RF_CHECK_NONE, memory),
	ROW("no huge pages of the host's pool",         YES, YES, YES, YES, RF_CHECK_HUGE, mappings),
	ROW("processes and threads of the box",         YES, YES, YES, YES, RF_CHECK_NONE, processes),
	ROW("signals, clocks, waiting",                 YES, YES, YES, YES, RF_CHECK_NONE, signals_and_time),
	ROW("ask who and where one is",                 YES, YES, YES, YES, RF_CHECK_NONE, identity),
	ROW("identities, of which a box has one",       YES, YES, YES, YES, RF_CHECK_NONE, own_ids),
	ROW("use sockets that could be made",           YES, YES, YES, YES, RF_CHECK_NONE, socket_states),
	ROW("messages without an urgent byte",          YES, YES, YES, YES, RF_CHECK_MESSAGE, messages),
	ROW("messages without an urgent byte",          YES, OLD, YES, YES, RF_CHECK_MESSAGE, many_messages),
	ROW("harmless without capabilities",            YES, OLD, YES, YES, RF_CHECK_NONE, conveniences),
	TREE("rules of one's own, which hold files",    YES, OLD, YES, YES, YES, RF_EFFECT_HOLDING, file_rules),
	ROW("now and then, and not in a short list",    YES, OLD, YES, YES, RF_CHECK_NONE, now_and_then),
	LESS("times of files",                          YES, YES, YES, YES, ASK, RF_CHECK_NONE, RF_CHECK_NONE, times),
	TREE("attributes of files",                     YES, OLD, YES, YES, RF_CALL_LACKING, RF_EFFECT_ATTRIBUTES, xattrs),
	LESS("owners of files",                         YES, OLD, YES, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, owners),
	LESS("message queues, which programs do without", OLD, OLD, OLD, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, queues),
	LESS("System V queues and semaphores, which only a cgroup sees", YES, OLD, OLD, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE,
	     sysv_queues),
	LESS("news of files",                           YES, OLD, YES, YES, OLD, RF_CHECK_NONE, RF_CHECK_NONE, watches),
	LESS("how the box's processes are scheduled, but for pid 1",   YES, OLD, YES, YES, YES, RF_CHECK_SPARES_INIT, RF_CHECK_OWN_PID, schedulers),
	LESS("where the box's processes run",           YES, YES, YES, YES, YES, RF_CHECK_SPARES_INIT, RF_CHECK_OWN_PID, affinities),
	LESS("priorities of the box's processes",       YES, OLD, YES, YES, YES, RF_CHECK_SPARES_INITS, RF_CHECK_OWN_PRIORITY, ioprios),
	LESS("priorities of the box's processes",       YES, OLD, YES, YES, YES, RF_CHECK_SPARES_INITS, RF_CHECK_OWN_PRIORITY, priorities),
	LESS("names of sockets, which are the host's",  YES, OLD, YES, YES, YES, RF_CHECK_NONE, RF_CHECK_NAME, names),
	LESS("programs do without it, so far",          OLD, OLD, OLD, YES, YES, RF_CHECK_SPARES_INIT, RF_CHECK_OWN_PID,
	     unasked_schedulers),
	{ "restrict oneself further, and hide nothing", YES, OLD, YES, YES, RF_CHECK_LANDLOCK, rulesets, RF_LEN(rulesets), YES,
	  RF_CHECK_NONE, true, RF_EFFECT_NONE },
	ROW("memory without a name, which only a cgroup sees", YES, YES, OLD, YES, RF_CHECK_HUGE, memfds),
	LESS("System V memory, which only a cgroup sees", YES, NO, NO, YES, NO, RF_CHECK_HUGE, RF_CHECK_NONE, segments),
	LESS("System V memory, which only a cgroup sees", YES, NO, NO, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, shared_memory),
	LESS("no setuid or setgid bit",                 YES, YES, YES, YES, ASK, RF_CHECK_MODE_1, RF_CHECK_NONE, modes_1),
	LESS("no setuid or setgid bit",                 YES, YES, YES, YES, ASK, RF_CHECK_MODE_2, RF_CHECK_NONE, modes_2),
	ROW("no setuid or setgid bit",                  YES, YES, YES, YES, RF_CHECK_MODE_2, folders_2),
	ROW("no setuid or setgid file made",            YES, YES, YES, YES, RF_CHECK_OPENAT, opens_at),
	ROW("no device, setuid or setgid node",         YES, NO,  YES, YES, RF_CHECK_NODE_2, nodes_2),
	ROW("no new namespace",                         YES, YES, YES, YES, RF_CHECK_CLONE, clones),
	ROW("only the plan's families and protocols",   YES, YES, YES, YES, RF_CHECK_SOCKET, sockets),
	ROW("unix pairs only",                          YES, YES, YES, YES, RF_CHECK_SOCKETPAIR, socketpairs),
	ROW("ioctls of terminals and sockets, and few others", YES, YES, YES, YES, RF_CHECK_IOCTL, ioctls),
	ROW("ordinary Linux personalities",             YES, NO,  YES, YES, RF_CHECK_PERSONALITY, personalities),
	ROW("no waiters of others moved away",          YES, YES, YES, YES, RF_CHECK_FUTEX, futexes),
	ROW("no table of futexes of any size",          YES, YES, YES, YES, RF_CHECK_PRCTL, prctls),
	ROW("no flow labels, of which a machine has few", YES, YES, YES, YES, RF_CHECK_SOCKET_OPTION, socket_options),
	ROW("no leases, which make others wait",        YES, YES, YES, YES, RF_CHECK_FCNTL, fcntls),
	ROW("no whiteout, which is a device node",      YES, YES, YES, YES, RF_CHECK_RENAME, renames),
	ROW("any limit but that of core files",         YES, YES, YES, YES, RF_CHECK_SETRLIMIT, setrlimits),
	ROW("any limit but that of core files",         YES, YES, YES, YES, RF_CHECK_PRLIMIT, prlimits),
	ROW("would stall the whole machine",            RF_CALL_FAKE, RF_CALL_FAKE, RF_CALL_FAKE,
	    RF_CALL_FAKE, RF_CHECK_NONE, syncs),
	ROW("arguments in memory that a filter can't read", OLD, OLD, OLD, OLD, RF_CHECK_NONE, opaque),
	ROW("changes what the box can see",             NO,  NO,  NO,  NO,  RF_CHECK_NONE, namespaces),
	LESS("reaches into other processes",            NO,  NO,  NO,  YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, others_memory),
	ROW("kernel surface with a history",            NO,  NO,  NO,  NO,  RF_CHECK_NONE, kernel_surface),
	/* A page of a box that is filled when it likes would keep the deputy, who reads it, waiting. */
	LESS("kernel surface with a history, the process's own", NO, NO, NO, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE,
	     own_surface),
	ROW("acts on the whole machine",                NO,  NO,  NO,  NO,  RF_CHECK_NONE, whole_machine),
	ROW("kernel surface programs do without",       OLD, OLD, OLD, OLD, RF_CHECK_NONE, ring_and_keys),
	ROW("programs do without it, so far",           OLD, OLD, OLD, YES, RF_CHECK_NONE, spare),
	ROW("programs do without it, so far",           OLD, OLD, OLD, YES, RF_CHECK_NONE, unasked),
	ROW("newer than what programs must run on",     OLD, OLD, OLD, YES, RF_CHECK_NONE, too_new),
	TREE("programs do without it, so far",          OLD, OLD, OLD, YES, OLD, RF_EFFECT_ATTRIBUTES, newer_attributes),
#ifdef __x86_64__
	ROW("older spellings of allowed calls",         YES, YES, YES, YES, RF_CHECK_NONE, legacy),
	ROW("older spellings, rarely used",             YES, OLD, YES, YES, RF_CHECK_NONE, legacy_spare),
	ROW("older spellings that no libc uses",        OLD, OLD, OLD, YES, RF_CHECK_NONE, legacy_unasked),
	ROW("no setuid or setgid bit",                  YES, YES, YES, YES, RF_CHECK_MODE_1, legacy_modes_1),
	LESS("no setuid or setgid bit",                 YES, YES, YES, YES, ASK, RF_CHECK_MODE_1, RF_CHECK_NONE, legacy_chmods),
	LESS("times of files",                          YES, OLD, YES, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, legacy_times),
	LESS("older spellings that no libc uses",       OLD, OLD, OLD, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE,
	     legacy_unasked_times),
	LESS("owners of files",                         YES, OLD, YES, YES, NO, RF_CHECK_NONE, RF_CHECK_NONE, legacy_owners),
	LESS("news of files",                           YES, OLD, YES, YES, OLD, RF_CHECK_NONE, RF_CHECK_NONE, legacy_watches),
	ROW("no setuid or setgid file made",            YES, YES, YES, YES, RF_CHECK_OPEN, legacy_opens),
	ROW("no device, setuid or setgid node",         YES, NO,  YES, YES, RF_CHECK_NODE_1, legacy_nodes),
	ROW("obsolete kernel surface",                  NO,  NO,  NO,  NO,  RF_CHECK_NONE, legacy_surface),
	ROW("segments of its own, for emulators",       NO,  NO,  NO,  YES, RF_CHECK_NONE, legacy_ldt),
#endif
};
/* clang-format on */

const size_t rf_call_group_count = RF_LEN(rf_call_groups);

struct rf_call_options rf_call_options_of(const struct rf_plan *plan)
{
	bool writes_host = rf_plan_writes_host(plan);

	return (struct rf_call_options){
		.syscalls = plan->syscalls,
		.has_inet = plan->link == RF_LINK_HOST || plan->has_loopback,
		.has_unix = plan->has_unix,
		.lacks_attributes = writes_host && !plan->keeps_attributes,
		.lacks_allocation = writes_host,
	};
}

enum rf_call_check rf_call_check(const struct rf_call_group *group,
				 const struct rf_call_options *options)
{
	return options->is_lesser && group->check_in_lesser != RF_CHECK_NONE
		       ? group->check_in_lesser
		       : group->check;
}

static enum rf_call_verdict verdict_of(const struct rf_call_group *group,
				       const struct rf_call_options *options)
{
	if (options->is_lesser && group->is_for_lesser_init)
		return RF_CALL_ALLOW;
	if (options->is_lesser && group->in_lesser == RF_CALL_ASK && !options->has_deputy)
		return RF_CALL_REFUSE;
	if (options->is_lesser && group->in_lesser != RF_CALL_ALLOW)
		return group->in_lesser;
	if (options->is_sampled && group->verdict == RF_CALL_ALLOW &&
	    group->in_sampled != RF_CALL_ALLOW)
		return group->in_sampled;
	switch (options->syscalls) {
	case RF_SYSCALLS_STRICT:
		return group->in_strict;
	case RF_SYSCALLS_FLOOR:
		return group->in_floor;
	default:
		return group->verdict;
	}
}

/* What no other rule refuses already, and would leave in the host's tree what nobody outside expects. */
static bool is_lacking(const struct rf_call_group *group, const struct rf_call_options *options)
{
	return (group->effect == RF_EFFECT_ATTRIBUTES && options->lacks_attributes) ||
	       (group->effect == RF_EFFECT_ALLOCATION && options->lacks_allocation) ||
	       (group->effect == RF_EFFECT_HOLDING && options->lacks_holding);
}

enum rf_call_verdict rf_call_verdict(const struct rf_call_group *group,
				     const struct rf_call_options *options)
{
	enum rf_call_verdict verdict = verdict_of(group, options);

	return verdict == RF_CALL_ALLOW && is_lacking(group, options) ? RF_CALL_LACKING : verdict;
}
