/* What the herald's process gives up: see herald-stance.h. */
#include "server/herald-stance.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/confine.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define FS_ALL_1  0x1fffull /* what the first version of Landlock knows */
#define FS_REFER  (1ull << 13)
#define FS_TRUNC  (1ull << 14)
#define FS_IOCTL  (1ull << 15)
#define FS_LOOKED (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Where names lead, and whom to trust: read, and nothing else. */
static const char *const read_beneath[] = { "/etc", "/usr/share/ca-certificates",
					    "/usr/local/share/ca-certificates", "/usr/lib/ssl",
					    "/run/systemd/resolve" };

static int give_up_files(struct rf_err *err)
{
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr all = { .handled_access_fs = FS_ALL_1 };
	RF_AUTO_FD int rules = -1;

	if (abi < 1)
		return 0; /* this kernel has none; writing and starting are denied all the same */
	all.handled_access_fs |=
		(abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNC : 0) | (abi >= 5 ? FS_IOCTL : 0);
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(uint64_t), 0);
	for (size_t i = 0; rules >= 0 && i < RF_LEN(read_beneath); i++) {
		RF_AUTO_FD int folder = open(read_beneath[i], O_PATH | O_CLOEXEC);
		const struct landlock_path_beneath_attr rule = { FS_LOOKED, folder };

		if (folder >= 0 &&
		    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
			return rf_fail(err, -errno, "give up files");
	}
	if (rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return rf_fail(err, -errno, "give up files");
	return 0;
}

/* clang-format off */
static const int left[] = {
	/* the loop and its connections */
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_getpeername,
	SYS_shutdown, SYS_connect, SYS_bind, SYS_recvmsg, SYS_sendmsg, SYS_sendmmsg, SYS_recvmmsg, SYS_recvfrom, SYS_sendto,
	/* what descriptors can do; files are Landlock's to judge, and only read */
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_close, SYS_dup, SYS_openat, SYS_newfstatat, SYS_statx,
	SYS_fstat, SYS_lseek, SYS_getdents64, SYS_readlinkat, SYS_memfd_create, SYS_ftruncate,
	/* memory, time, the process itself */
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_clock_gettime, SYS_clock_nanosleep,
	SYS_gettimeofday, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_sysinfo,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit, SYS_exit_group, SYS_sched_yield,
#ifdef __x86_64__
	SYS_epoll_wait, SYS_poll, SYS_time, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink,
#endif
};
/* What is asked of a descriptor: nothing by which a socket sends signals. */
static const struct { int call; uint32_t value; } commands[] = {
	{ SYS_fcntl, F_GETFD }, { SYS_fcntl, F_SETFD }, { SYS_fcntl, F_GETFL }, { SYS_fcntl, F_SETFL },
	{ SYS_fcntl, F_DUPFD_CLOEXEC }, { SYS_fcntl, F_GET_SEALS }, { SYS_ioctl, FIONREAD }, { SYS_ioctl, FIONBIO },
};
static const int families[] = { AF_INET, AF_INET6, AF_NETLINK }; /* the last: which addresses this machine has */
/* clang-format on */

#define LOAD(field)                                                                                \
	(struct sock_filter)                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (what))
#define IF(value, yes, no)                                                                         \
	(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)

static int give_up_calls(struct rf_err *err)
{
	static const int mapping[] = { SYS_mmap, SYS_mprotect };
	struct sock_filter code[64 + 2 * RF_LEN(left) + 5 * RF_LEN(commands)];
	struct sock_fprog program = { 0, code };
	size_t n = 0;

	code[n++] = LOAD(arch);
	code[n++] = IF(ARCH, 1, 0);
	code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	code[n++] = LOAD(nr);
	for (size_t i = 0; i < RF_LEN(left); i++) {
		code[n++] = IF(left[i], 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < RF_LEN(mapping); i++) { /* no code */
		code[n++] = IF(mapping[i], 0, 5);
		code[n++] = LOAD(args[2]);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 4);
		code[n++] = IF(0, 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
		code[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	}
	for (size_t i = 0; i < RF_LEN(commands); i++) {
		code[n++] = IF(commands[i].call, 0, 4);
		code[n++] = LOAD(args[1]);
		code[n++] = IF(commands[i].value, 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
		code[n++] = LOAD(nr);
	}
	code[n++] = IF(SYS_socket, 1, 0);
	code[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[n++] = LOAD(args[0]);
	for (size_t i = 0; i < RF_LEN(families); i++) {
		code[n++] = IF(families[i], 0, 1);
		code[n++] = RETURN(SECCOMP_RET_ALLOW);
	}
	code[n++] = RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	program.len = (unsigned short)n;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return rf_fail(err, -errno, "filter the herald's system calls");
	return 0;
}

int rf_herald_stance_take(struct rf_err *err)
{
	const struct rlimit none = { 0, 0 };

	if (rf_confine_become_nobody(err) < 0)
		return err->code;
	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "harden the herald");
	if (give_up_files(err) < 0)
		return err->code;
	return give_up_calls(err);
}
