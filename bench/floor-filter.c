/*
 * The filter of bench/floor's boxes: see floor-filter.h.
 *
 * The kernel runs a filter over every call's number when it is loaded, so what that costs is the length of the way to each
 * answer as much as the length of the whole.  A balanced tree has the shortest.
 */
#include "floor-filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/kernel.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define LEN(array)   (sizeof(array) / sizeof((array)[0]))
#define NUMBERS      512 /* from here on every call is refused */
#define LEAVES       131
#define HEAD         4
#define INSTRUCTIONS (HEAD + 2 * LEAVES - 1)

static const unsigned short refused[] = {
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_ptrace,
	SYS_bpf,
	SYS_kexec_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_acct,
	SYS_quotactl,
	SYS_syslog,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_vhangup,
	SYS_personality,
	SYS_kcmp,
	SYS_sethostname,
	SYS_setdomainname,
	RF_NR_OPEN_TREE,
	RF_NR_MOVE_MOUNT,
	RF_NR_FSOPEN,
	RF_NR_FSCONFIG,
	RF_NR_FSMOUNT,
	RF_NR_MOUNT_SETATTR,
	RF_NR_QUOTACTL_FD,
};

/* A leaf rules the numbers from its own up to the next one's. */
static struct leaf {
	unsigned first;
	bool is_refused;
} leaves[LEAVES];
static size_t leaf_count;

static struct sock_filter code[INSTRUCTIONS];
static unsigned short length;

static bool is_refused(unsigned number)
{
	for (size_t i = 0; i < LEN(refused); i++)
		if (refused[i] == number)
			return true;
	return number >= NUMBERS;
}

static void put_leaf(size_t at, unsigned first)
{
	for (size_t i = leaf_count++; i > at; i--)
		leaves[i] = leaves[i - 1];
	leaves[at] = (struct leaf){ first, is_refused(first) };
}

/* Cuts the widest in two, as the rules of a real filter would. */
static void cut_widest(void)
{
	size_t widest = 0;
	unsigned width = 0;

	for (size_t i = 0; i + 1 < leaf_count; i++)
		if (leaves[i + 1].first - leaves[i].first > width) {
			widest = i;
			width = leaves[i + 1].first - leaves[i].first;
		}
	put_leaf(widest + 1, leaves[widest].first + width / 2);
}

static void put_tree(const struct leaf *first, size_t count)
{
	size_t half = count / 2;
	unsigned short node = length;

	if (count == 1) {
		code[length++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K,
			first->is_refused ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
		return;
	}
	length++;
	put_tree(first, half);
	code[node] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first[half].first,
						  (unsigned char)(length - node - 1), 0);
	put_tree(first + half, count - half);
}

static void write_filter(void)
{
	static const struct sock_filter head[HEAD] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};

	for (unsigned number = 0; number <= NUMBERS; number++)
		if (leaf_count == 0 || is_refused(number) != leaves[leaf_count - 1].is_refused)
			put_leaf(leaf_count, number);
	while (leaf_count < LEAVES)
		cut_widest();
	while (length < HEAD) {
		code[length] = head[length];
		length++;
	}
	put_tree(leaves, leaf_count);
}

const struct sock_fprog *floor_filter(void)
{
	static struct sock_fprog program = { .filter = code };

	if (!length)
		write_filter();
	program.len = length;
	return &program;
}
