/*
 * What the front's process gives up: see confine.h.
 *
 * A list of calls that are left, and not of those that are denied: the process does few things, and what a new kernel brings is nothing of them.  A call that
 * is not on the list fails with EPERM, so that a library that tries one for its own comfort goes on.
 */
#include "server/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

_Static_assert((SOCK_SEQPACKET & SOCK_STREAM) == SOCK_STREAM && !(SOCK_DGRAM & SOCK_STREAM),
	       "the filter tells kinds of sockets apart by a bit");

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the front's filter knows x86-64 and 64-bit ARM"
#endif

/* Nobody's: beneath the boxes' range and above systemd's; and where a container has no such, the last of its own. */
#define OWN_ID  1879048191u
#define LAST_ID 65534u

/* ------------------------------------------------------------- root's rights */

int rf_confine_become_nobody(struct rf_err *err)
{
	static const uid_t ids[] = { OWN_ID, LAST_ID };

	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0)
		return rf_fail(err, -errno, "give up root's groups");
	for (size_t i = 0; i < RF_LEN(ids); i++)
		if (setresgid(ids[i], ids[i], ids[i]) == 0 &&
		    setresuid(ids[i], ids[i], ids[i]) == 0)
			return 0;
	return rf_fail(err, -errno, "become nobody");
}

/* ------------------------------------------------------------- files */

/* Rights newer than the distribution's header: see jail/landlock.c. */
#define FS_ALL_1     0x1fffull
#define FS_REFER     (1ull << 13)
#define FS_TRUNCATE  (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define NET_ALL      3ull
#define SCOPES       3ull

/* None at all: a ruleset without a rule. */
static int give_up_files(struct rf_err *err)
{
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct {
		uint64_t files, net, scopes;
	} all = { FS_ALL_1, 0, 0 };
	RF_AUTO_FD int ruleset = -1;

	if (abi < 1)
		return 0; /* this kernel has none; the calls are denied all the same */
	all.files |= (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
		     (abi >= 5 ? FS_IOCTL_DEV : 0);
	all.net = abi >= 4 ? NET_ALL : 0;
	all.scopes = abi >= 6 ? SCOPES : 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all,
			       sizeof(uint64_t) * (abi >= 6   ? 3u
						   : abi >= 4 ? 2u
							      : 1u),
			       0);
	if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return rf_fail(err, -errno, "give up files");
	return 0;
}

/* ------------------------------------------------------------- calls */

/* clang-format off */
static const int left[] = {
	/* the loop and its connections */
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_accept4, SYS_getsockopt,
	SYS_setsockopt, SYS_getsockname, SYS_getpeername, SYS_shutdown, SYS_recvmsg, SYS_recvfrom,
	/* what descriptors can do */
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_close, SYS_dup, SYS_pipe2,
	SYS_fstat, SYS_lseek, SYS_memfd_create, SYS_ftruncate, SYS_splice, SYS_tee,
	/* memory, time, the process itself */
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_clock_gettime, SYS_clock_nanosleep,
	SYS_gettimeofday, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
	SYS_getpriority, SYS_getcwd, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall,
	SYS_exit, SYS_exit_group, SYS_sched_yield,
#ifdef __x86_64__
	SYS_epoll_wait, SYS_poll, SYS_time,
#endif
};

/* Calls of which an argument decides: its lower half, but for `mask`, must be `value`, in one of its rows. */
static const struct { int call, argument; uint32_t mask, value; } looked_at[] = {
	/* That sends to nobody else: packets or a stream, which differ in one bit, and no datagrams. */
	{ SYS_socketpair, 1, SOCK_CLOEXEC | SOCK_NONBLOCK | (SOCK_SEQPACKET & ~SOCK_STREAM), SOCK_STREAM },
	{ SYS_ioctl,      1, 0, FIONREAD },                                  /* what lies in a pipe */
	{ SYS_ioctl,      1, 0, TIOCSWINSZ },                                /* the size of a terminal */
	/* Copies, flags and locks; F_SETOWN, by which a socket sends signals, is 8. */
	{ SYS_fcntl,      1, 7, 0 },
	{ SYS_fcntl,      1, 1, F_DUPFD_CLOEXEC },                           /* and F_SETPIPE_SZ, the next one */
	{ SYS_fcntl,      1, 0, F_GET_SEALS },
	{ SYS_sendto,     3, ~(uint32_t)MSG_FASTOPEN, 0 },                   /* that dials */
	{ SYS_sendmsg,    2, ~(uint32_t)MSG_FASTOPEN, 0 },
	{ SYS_prlimit64,  0, 0, 0 },                                         /* of itself */
	{ SYS_mmap,       2, PROT_READ | PROT_WRITE, 0 },                    /* no code */
	{ SYS_mprotect,   2, PROT_READ | PROT_WRITE, 0 },
};
/* clang-format on */

#define LOAD(field)                                                                                \
	(struct sock_filter)                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (what))
#define IF(value, yes, no)                                                                         \
	(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)

static int give_up_calls(struct rf_err *err)
{
	struct sock_filter code[16 + 2 * RF_LEN(left) + 8 * RF_LEN(looked_at)];
	struct sock_fprog program = { 0, code };
	size_t n = 0;

	code[n++] = LOAD(arch);
	code[n++] = IF(ARCH, 1, 0);
	code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	code[n++] = LOAD(nr); /* x32's are none of the list */
	for (size_t i = 0; i < RF_LEN(left); i++) {
		code[n++] = IF(left[i], 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < RF_LEN(looked_at); i++) {
		code[n++] = IF(looked_at[i].call, 0, 5);
		code[n++] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args) +
							  (uint32_t)looked_at[i].argument * 8);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~looked_at[i].mask);
		code[n++] = IF(looked_at[i].value, 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
		code[n++] = LOAD(nr);
	}
	code[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	program.len = (unsigned short)n;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return rf_fail(err, -errno, "filter the front's system calls");
	return 0;
}

/* ------------------------------------------------------------- its time */

/*
 * Who has taken it over may not care that its server is gone, and would have the ports that it listens on until somebody finds it.  The kernel forgets the wish when ids
 * change, so it is uttered after that; and the filter leaves no call to take it back, nor one to make a process without it.
 */
static int die_with(pid_t parent, struct rf_err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "die with the server");
	if (getppid() != parent) /* it was too late to wish */
		return rf_fail_say(err, -ESRCH, "its server is gone");
	return 0;
}

int rf_confine_raise(pid_t parent, struct rf_err *err)
{
	const struct rlimit none = { 0, 0 };

	if (rf_confine_become_nobody(err) < 0)
		return err->code;
	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "harden the front");
	if (give_up_files(err) < 0 || die_with(parent, err) < 0)
		return err->code;
	return give_up_calls(err);
}
