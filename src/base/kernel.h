/*
 * Kernel calls and constants newer than the distributions' headers, each with its version.
 *
 * Thin wrappers in the manner of libc: -1 and errno on failure.  Names follow the kernel's, with
 * our prefix, so that a libc that learns them later does not collide.
 */
#ifndef RF_BASE_KERNEL_H
#define RF_BASE_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The new mount API, Linux 5.2; numbers are the same on every architecture. */
#define RF_NR_OPEN_TREE     428
#define RF_NR_MOVE_MOUNT    429
#define RF_NR_FSOPEN        430
#define RF_NR_FSCONFIG      431
#define RF_NR_FSMOUNT       432
#define RF_NR_CLONE3        435 /* 5.3 */
#define RF_NR_CLOSE_RANGE   436 /* 5.9 */
#define RF_NR_OPENAT2       437 /* 5.6 */
#define RF_NR_MOUNT_SETATTR 442 /* 5.12 */
#define RF_NR_QUOTACTL_FD   443 /* 5.14 */
#define RF_NR_LANDLOCK_NEW  444 /* 5.13 */
#define RF_NR_LANDLOCK_RULE 445
#define RF_NR_LANDLOCK_SELF 446

#define RF_LANDLOCK_LOG_NEW_EXEC_ON 2u /* 6.15: LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON */

#define RF_OPEN_TREE_CLONE         1u
#define RF_OPEN_TREE_CLOEXEC       ((unsigned)O_CLOEXEC)
#define RF_AT_RECURSIVE            0x8000u
#define RF_MOVE_MOUNT_F_EMPTY_PATH 0x04u
#define RF_MOVE_MOUNT_T_EMPTY_PATH 0x40u
#define RF_FSOPEN_CLOEXEC          1u
#define RF_FSMOUNT_CLOEXEC         1u
#define RF_FSCONFIG_SET_FLAG       0u
#define RF_FSCONFIG_SET_STRING     1u
#define RF_FSCONFIG_CMD_CREATE     6u
#define RF_MOUNT_ATTR_RDONLY       0x01u
#define RF_MOUNT_ATTR_NOSUID       0x02u
#define RF_MOUNT_ATTR_NODEV        0x04u
#define RF_MOUNT_ATTR_NOEXEC       0x08u
#define RF_MOUNT_ATTR_IDMAP        0x100000u

#define RF_RESOLVE_NO_XDEV       0x01u
#define RF_RESOLVE_NO_MAGICLINKS 0x02u
#define RF_RESOLVE_NO_SYMLINKS   0x04u
#define RF_RESOLVE_BENEATH       0x08u
#define RF_RESOLVE_IN_ROOT       0x10u

#define RF_PR_FUTEX_HASH 78 /* 6.16 */

#define RF_CLOSE_RANGE_CLOEXEC 4u
#define RF_CLONE_PIDFD         0x1000ull      /* 5.2 */
#define RF_CLONE_INTO_CGROUP   0x200000000ull /* 5.7 */

struct rf_kernel_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

struct rf_kernel_open_how {
	uint64_t flags, mode, resolve;
};

struct rf_kernel_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	uint64_t set_tid, set_tid_size, cgroup;
};

/*
 * A system call that leaves errno alone, for a process that shares our memory while we go on working.
 * Returns what the kernel does: a negative errno on failure.
 */
static inline long rf_kernel_raw(long nr, const long args[6])
{
#if defined(__x86_64__)
	/* cppcheck-suppress constStatement */
	register long fourth __asm__("r10") = args[3];
	/* cppcheck-suppress constStatement */
	register long fifth __asm__("r8") = args[4];
	/* cppcheck-suppress constStatement */
	register long sixth __asm__("r9") = args[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(fourth),
			   "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long number __asm__("x8") = nr;
	register long first __asm__("x0") = args[0];
	register long second __asm__("x1") = args[1];
	register long third __asm__("x2") = args[2];
	register long fourth __asm__("x3") = args[3];
	register long fifth __asm__("x4") = args[4];
	register long sixth __asm__("x5") = args[5];

	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "memory");
	return first;
#else
#error "a raw system call is not written for this architecture"
#endif
}

#define RF_KERNEL_RAW(nr, ...) rf_kernel_raw(nr, (const long[6]){ __VA_ARGS__ })

static inline int rf_kernel_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(RF_NR_OPEN_TREE, dir, path, flags);
}

static inline int rf_kernel_move_mount(int from, const char *path, int to, const char *to_path,
				       unsigned flags)
{
	return (int)syscall(RF_NR_MOVE_MOUNT, from, path, to, to_path, flags);
}

static inline int rf_kernel_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(RF_NR_FSOPEN, type, flags);
}

static inline int rf_kernel_fsconfig(int fs, unsigned command, const char *key, const char *value)
{
	return (int)syscall(RF_NR_FSCONFIG, fs, command, key, value, 0);
}

static inline int rf_kernel_fsmount(int fs, unsigned flags, unsigned attrs)
{
	return (int)syscall(RF_NR_FSMOUNT, fs, flags, attrs);
}

static inline int rf_kernel_mount_setattr(int dir, const char *path, unsigned flags,
					  const struct rf_kernel_mount_attr *attr)
{
	return (int)syscall(RF_NR_MOUNT_SETATTR, dir, path, flags, attr, sizeof(*attr));
}

static inline int rf_kernel_openat2(int dir, const char *path, const struct rf_kernel_open_how *how)
{
	return (int)syscall(RF_NR_OPENAT2, dir, path, how, sizeof(*how));
}

static inline int rf_kernel_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(RF_NR_CLOSE_RANGE, first, last, flags);
}

/*
 * A signal for a child of ours that nobody has waited for yet, by its descriptor; where a filter around
 * us hides that call (5.1), by its number, which is still the child's.
 */
static inline int rf_kernel_signal(int pidfd, pid_t pid, int signal)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0)
		return 0;
	return (errno == ENOSYS || errno == EPERM) && pid > 0 ? kill(pid, signal) : -1;
}

/*
 * clone3 for a child that runs `fn(data)` on a stack of its own (args->stack, args->stack_size) and
 * never returns: what a child that shares our memory needs, and libc does not offer with clone3.
 * Returns the child's pid or a negative errno.
 */
static inline long rf_kernel_clone3(const struct rf_kernel_clone_args *args, void (*fn)(void *),
				    void *data)
{
#if defined(__x86_64__)
	register void (*call)(void *) __asm__("r12") = fn;
	register void *argument __asm__("r13") = data;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(RF_NR_CLONE3), "D"(args), "S"(sizeof(*args)), "r"(call),
			   "r"(argument)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long nr __asm__("x8") = RF_NR_CLONE3;
	register long first __asm__("x0") = (long)args;
	register long second __asm__("x1") = sizeof(*args);
	register void (*call)(void *) __asm__("x20") = fn;
	register void *argument __asm__("x21") = data;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, x21\n\t"
			 "blr x20\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(first)
			 : "r"(nr), "r"(second), "r"(call), "r"(argument)
			 : "memory", "x30");
	return first;
#else
#error "clone3 on a stack of its own is not written for this architecture"
#endif
}

#endif
