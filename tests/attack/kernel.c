/* Attacks on the kernel's surface, and on the machine as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define X32_BIT            0x40000000
#define USER_MODE_ONLY     1 /* UFFD_USER_MODE_ONLY, Linux 5.11 */
#define ACTION_SIZE_BUFFER 10
#define READ_IMPLIES_EXEC  0x0400000ul

/* Only x86 has these; the catalogue knows. */
#ifndef SYS_iopl
#define SYS_iopl       (-1)
#define SYS_modify_ldt (-1)
#endif

static int load_map(char **args)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};

	(void)args;
	return attack_result(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int watch_counters(char **args)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
	};

	(void)args;
	return attack_result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int handle_faults(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_userfaultfd, USER_MODE_ONLY));
}

/* Takes a share of the machine's kernel AIO. */
static int take_aio(char **args)
{
	unsigned long context = 0;

	(void)args;
	return attack_result(syscall(SYS_io_setup, 128, &context));
}

static int make_ring(char **args)
{
	struct io_uring_params params = { 0 };

	(void)args;
	return attack_result(syscall(SYS_io_uring_setup, 4, &params));
}

static int watch_files(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, 0));
}

static int gift_pages(char **args)
{
	static char page[4096] __attribute__((aligned(4096)));
	const struct iovec vector = { page, sizeof(page) };
	int ends[2];

	(void)args;
	if (pipe(ends) < 0)
		return -errno;
	return attack_result(vmsplice(ends[1], &vector, 1, 0));
}

static int legacy_entry(char **args)
{
	(void)args;
#ifdef __x86_64__
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
	return result > 0 ? 0 : (int)result;
#else
	return -ENOTSUP;
#endif
}

static int x32_entry(char **args)
{
	(void)args;
	return attack_result(syscall(X32_BIT | 39 /* getpid */));
}

static int read_descriptors(char **args)
{
	char table[64];

	(void)args;
	return attack_result(syscall(SYS_modify_ldt, 0, table, sizeof(table)));
}

static int use_ports(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_iopl, 0));
}

static int executable_stack(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_personality, READ_IMPLIES_EXEC));
}

static int name_host(char **args)
{
	return attack_result(sethostname(args[0], strlen(args[0])));
}

/* NAME: is this the host's own? */
static int read_host_name(char **args)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) < 0)
		return -errno;
	return strcmp(name, args[0]) == 0 ? 0 : -ENODATA;
}

/* Times that are none */
static int set_time(char **args)
{
	const struct timeval time = { .tv_sec = 1, .tv_usec = 5000000 };

	(void)args;
	return attack_reached(syscall(SYS_settimeofday, &time, NULL));
}

static int set_clock(char **args)
{
	const struct timespec time = { .tv_sec = 1, .tv_nsec = -1 };

	(void)args;
	return attack_reached(syscall(SYS_clock_settime, CLOCK_REALTIME, &time));
}

/* Asks for nothing to be changed */
static int adjust_clock(char **args)
{
	struct timex change = { 0 };

	(void)args;
	return attack_result(syscall(SYS_adjtimex, &change));
}

static int swap_on(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_swapon, "no-such", 0));
}

static int account(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_acct, "no-such/file"));
}

/* With numbers that are not the magic ones */
static int restart(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_reboot, 1, 2, 3, NULL));
}

static int load_module(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_init_module, NULL, 0, NULL));
}

static int load_kernel(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_kexec_load, 0, 99, NULL, ~0ul));
}

static int change_quota(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_quotactl, QCMD(Q_GETFMT, USRQUOTA), "no-such", 0, NULL));
}

/* How long the kernel's log is */
static int read_log(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_syslog, ACTION_SIZE_BUFFER, NULL, 0));
}

const struct attack attack_kernel[] = {
	{ "bpf", load_map },
	{ "perf", watch_counters },
	{ "userfaultfd", handle_faults },
	{ "io-uring", make_ring },
	{ "aio", take_aio },
	{ "fanotify", watch_files },
	{ "vmsplice", gift_pages },
	{ "int80", legacy_entry },
	{ "x32", x32_entry },
	{ "modify-ldt", read_descriptors },
	{ "iopl", use_ports },
	{ "personality", executable_stack },
	{ "sethostname", name_host },
	{ "read-hostname", read_host_name },
	{ "settimeofday", set_time },
	{ "clock-settime", set_clock },
	{ "adjtimex", adjust_clock },
	{ "swapon", swap_on },
	{ "acct", account },
	{ "reboot", restart },
	{ "init-module", load_module },
	{ "kexec", load_kernel },
	{ "quotactl", change_quota },
	{ "syslog", read_log },
	{ NULL, NULL },
};
