/*
 * The names of system calls: see calls.h.
 *
 * A profile of four hundred names is read at the start of a box, so a name is found by a hash, which
 * is filled from the table of calls when the first one is looked for.
 */
#include <stdint.h>
#include <string.h>

#include "base/fd.h"
#include "jail/calls.h"
#include "policy/near.h"

#define SLOTS 1024 /* a power of two, more than twice the calls there are */

/*
 * What only other architectures have, 32-bit x86 among them.  A profile for several machines names
 * them, and a rule about what can't be called here is no mistake.
 */
/* clang-format off */
static const char *const foreign[] = {
	"_llseek", "_newselect", "arm_fadvise64_64", "arm_sync_file_range", "bdflush", "break",
	"breakpoint", "cachectl", "cacheflush", "chown32", "clock_adjtime64", "clock_getres_time64",
	"clock_gettime64", "clock_nanosleep_time64", "clock_settime64", "fadvise64_64", "fchown32",
	"fcntl64", "fstat64", "fstatat64", "fstatfs64", "ftime", "ftruncate64", "futex_time64",
	"get_tls", "getegid32", "geteuid32", "getgid32", "getgroups32", "getresgid32", "getresuid32",
	"getuid32", "gtty", "idle", "io_pgetevents_time64", "ipc", "lchown32", "lock", "lstat64",
	"mmap2", "mpx", "mq_timedreceive_time64", "mq_timedsend_time64", "multiplexer", "nice",
	"oldfstat", "oldlstat", "oldolduname", "oldstat", "olduname", "pciconfig_iobase",
	"pciconfig_read", "pciconfig_write", "ppoll_time64", "prof", "profil", "pselect6_time64",
	"readdir", "recv", "recvmmsg_time64", "riscv_flush_icache", "riscv_hwprobe",
	"rt_sigtimedwait_time64", "rtas", "s390_guarded_storage", "s390_pci_mmio_read",
	"s390_pci_mmio_write", "s390_runtime_instr", "s390_sthyi", "sched_rr_get_interval_time64",
	"semtimedop_time64", "send", "sendfile64", "set_tls", "setfsgid32", "setfsuid32", "setgid32",
	"setgroups32", "setregid32", "setresgid32", "setresuid32", "setreuid32", "setuid32",
	"sgetmask", "sigaction", "signal", "sigpending", "sigprocmask", "sigreturn", "sigsuspend",
	"socketcall", "spu_create", "spu_run", "ssetmask", "stat64", "statfs64", "stime", "stty",
	"subpage_prot", "swapcontext", "switch_endian", "sync_file_range2", "sys_debug_setcontext",
	"syscall", "sysmips", "timer_gettime64", "timer_settime64", "timerfd", "timerfd_gettime64",
	"timerfd_settime64", "truncate64", "ugetrlimit", "ulimit", "umount", "usr26", "usr32",
	"utimensat_time64", "vm86", "vm86old", "waitpid",
#ifndef __x86_64__
	"access", "afs_syscall", "alarm", "arch_prctl", "chmod", "chown", "creat", "create_module",
	"dup2", "epoll_create", "epoll_ctl_old", "epoll_wait", "epoll_wait_old", "eventfd", "fork",
	"futimesat", "get_kernel_syms", "get_thread_area", "getdents", "getpgrp", "getpmsg",
	"inotify_init", "ioperm", "iopl", "lchown", "link", "lstat", "mkdir", "mknod", "modify_ldt",
	"open", "pause", "pipe", "poll", "putpmsg", "query_module", "readlink", "rename", "rmdir",
	"security", "select", "set_thread_area", "signalfd", "stat", "symlink", "_sysctl", "sysfs",
	"time", "tuxcall", "unlink", "uretprobe", "uselib", "ustat", "utime", "utimes", "vfork",
	"vserver",
#endif
};
/* clang-format on */

static const struct rf_call *by_name[SLOTS];
static const struct rf_call *by_number[RF_CALL_NUMBERS];

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

/* The slot of a name: its own, or the free one where it would go. */
static const struct rf_call **slot_of(const char *name)
{
	uint32_t at = hash(name);

	while (by_name[at % SLOTS] && strcmp(by_name[at % SLOTS]->name, name) != 0)
		at++;
	return &by_name[at % SLOTS];
}

static void fill(void)
{
	static bool is_filled;

	for (size_t g = 0; !is_filled && g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++) {
			const struct rf_call *call = &rf_call_groups[g].calls[i];

			*slot_of(call->name) = call;
			by_number[call->nr] = call;
		}
	is_filled = true;
}

int rf_call_find(const char *name)
{
	const struct rf_call *call;

	fill();
	call = *slot_of(name);
	return call ? call->nr : -1;
}

const char *rf_call_name(int nr)
{
	fill();
	return nr >= 0 && nr < RF_CALL_NUMBERS && by_number[nr] ? by_number[nr]->name : "?";
}

bool rf_call_is_foreign(const char *name)
{
	for (size_t i = 0; i < RF_LEN(foreign); i++)
		if (strcmp(foreign[i], name) == 0)
			return true;
	return false;
}

const char *rf_call_nearest(const char *word)
{
	struct rf_near best = rf_near_init(word);

	fill();
	for (int nr = 0; nr < RF_CALL_NUMBERS; nr++)
		if (by_number[nr])
			rf_near_consider(&best, word, by_number[nr]->name, by_number[nr]->name);
	return best.name;
}
