/* What the gateway's process gives up: see lockdown.h. */
#include "gateway/lockdown.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the gateway's filter knows x86-64 and 64-bit ARM"
#endif

/* ------------------------------------------------------------- files */

/* What is read: names, and certificates.  A folder is read with all beneath it. */
static const char *const readable[] = {
	"/etc/resolv.conf",
	"/etc/hosts",
	"/etc/host.conf",
	"/etc/nsswitch.conf",
	"/etc/localtime",
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/usr/lib/ssl",
	"/usr/share/ca-certificates",
	"/usr/share/zoneinfo",
	"/usr/local/share/ca-certificates",
	"/dev/null",
	"/dev/urandom",
};

/* Rights newer than the distribution's header: see jail/landlock.c. */
#define FS_ALL_1     0x1fffull
#define FS_REFER     (1ull << 13)
#define FS_TRUNCATE  (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define NET_BIND     (1ull << 0)
#define SCOPES       3ull

struct attributes {
	uint64_t files, net, scopes;
};

static uint64_t files_of(int abi)
{
	return FS_ALL_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
	       (abi >= 5 ? FS_IOCTL_DEV : 0);
}

static void allow(int ruleset, const char *path)
{
	RF_AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
	RF_AUTO_FD int as_folder = fd < 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
				  (as_folder >= 0 ? LANDLOCK_ACCESS_FS_READ_DIR : 0),
		.parent_fd = fd,
	};

	if (fd >= 0) /* what is not allowed is missing later, and said so then */
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

__attribute__((unused)) static int limit_files(struct rf_err *err)
{
	struct attributes attributes = { 0 };
	RF_AUTO_FD int ruleset = -1;
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1)
		return 0; /* this kernel has none */
	attributes.files = files_of(abi);
	attributes.net = abi >= 4 ? NET_BIND : 0;
	attributes.scopes = abi >= 6 ? SCOPES : 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes,
			       abi >= 6   ? sizeof(attributes)
			       : abi >= 4 ? offsetof(struct attributes, scopes)
					  : offsetof(struct attributes, net),
			       0);
	if (ruleset < 0)
		return rf_fail(err, -errno, "make Landlock's rules");
	for (size_t i = 0; i < RF_LEN(readable); i++)
		allow(ruleset, readable[i]);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return rf_fail(err, -errno, "raise Landlock");
	return 0;
}

/* ------------------------------------------------------------- calls */

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define DENY(call)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_##call, 0, 1),                           \
		RETURN(SECCOMP_RET_ERRNO | EPERM)

/* No other program, no other process, nobody else's memory, no namespaces, no modules: what breaking in would be good for. */
__attribute__((unused)) static int limit_calls(struct rf_err *err)
{
	static struct sock_filter code[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
#ifdef __x86_64__
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), /* x32 */
		RETURN(SECCOMP_RET_KILL_PROCESS),
		DENY(fork),
		DENY(vfork),
		DENY(ioperm),
		DENY(iopl),
		DENY(modify_ldt),
		DENY(chmod),
		DENY(chown),
		DENY(lchown),
		DENY(utime),
		DENY(utimes),
		DENY(futimesat),
		DENY(mknod),
#endif
		/* What Landlock says nothing about. */
		DENY(fchmodat),
		DENY(fchmod),
		DENY(fchownat),
		DENY(fchown),
		DENY(utimensat),
		DENY(mknodat),
		DENY(setxattr),
		DENY(lsetxattr),
		DENY(fsetxattr),
		DENY(removexattr),
		DENY(lremovexattr),
		DENY(fremovexattr),
		DENY(kill),
		DENY(tkill),
		DENY(rt_sigqueueinfo),
		DENY(rt_tgsigqueueinfo),
		DENY(pidfd_open),
		DENY(pidfd_send_signal),
		DENY(execve),
		DENY(execveat),
		DENY(clone),
		DENY(clone3),
		DENY(unshare),
		DENY(setns),
		DENY(ptrace),
		DENY(process_vm_readv),
		DENY(process_vm_writev),
		DENY(process_madvise),
		DENY(pidfd_getfd),
		DENY(kcmp),
		DENY(mount),
		DENY(umount2),
		DENY(pivot_root),
		DENY(chroot),
		DENY(move_mount),
		DENY(open_tree),
		DENY(fsopen),
		DENY(fsconfig),
		DENY(fsmount),
		DENY(open_by_handle_at),
		DENY(init_module),
		DENY(finit_module),
		DENY(delete_module),
		DENY(kexec_load),
		DENY(bpf),
		DENY(perf_event_open),
		DENY(userfaultfd),
		DENY(io_uring_setup),
		DENY(io_uring_enter),
		DENY(io_uring_register),
		DENY(keyctl),
		DENY(add_key),
		DENY(request_key),
		DENY(setuid),
		DENY(setgid),
		DENY(setreuid),
		DENY(setregid),
		DENY(setresuid),
		DENY(setresgid),
		DENY(setgroups),
		DENY(capset),
		DENY(personality),
		DENY(reboot),
		DENY(swapon),
		DENY(acct),
		DENY(quotactl),
		/* Sockets lead to servers, and tell this machine's addresses: none to other programs of this machine. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_socket, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
		RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { RF_LEN(code), code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return rf_fail(err, -errno, "filter the gateway's system calls");
	return 0;
}

/* Started by root, it could do what root can: its sockets were made for it, and the rest is nothing that it needs. */
static int drop_capabilities(struct rf_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return rf_fail(err, -errno, "give up capabilities");
	return 0;
}

int rf_lockdown_raise(struct rf_err *err)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(err, -errno, "harden the gateway");
#ifdef __SANITIZE_ADDRESS__ /* whose runtime reads /proc and starts a process: never what is installed */
	return 0;
#else
	if (limit_files(err) < 0 || drop_capabilities(err) < 0)
		return err->code;
	return limit_calls(err);
#endif
}
