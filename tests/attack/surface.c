/* More of the kernel's surface: what acts on the whole machine, and other ways into the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static int load_module_file(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_finit_module, -1, "", 0));
}

static int unload_module(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_delete_module, "rf-no-such-module", O_NONBLOCK));
}

static int load_kernel_file(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_kexec_file_load, -1, -1, 0ul, NULL, ~0ul));
}

static int swap_off(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_swapoff, "no-such"));
}

static int change_quota_of(char **args)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	(void)args;
	return attack_reached(
		syscall(443 /* quotactl_fd */, fd, QCMD(Q_GETFMT, USRQUOTA), 0, NULL));
}

/* Asks for nothing to be changed */
static int adjust_a_clock(char **args)
{
	struct timex change = { 0 };

	(void)args;
	return attack_result(syscall(SYS_clock_adjtime, 0, &change));
}

static int name_domain(char **args)
{
	return attack_result(setdomainname(args[0], strlen(args[0])));
}

/* The kernel would ask a program of the host for a key that is not there. */
static int ask_for_key(char **args)
{
	(void)args;
	return attack_reached(
		syscall(SYS_request_key, "user", "rf-no-such-key", NULL, KEY_SPEC_PROCESS_KEYRING));
}

static int hang_up(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_vhangup));
}

static int hide_memory(char **args)
{
	(void)args;
	return attack_result(syscall(447 /* memfd_secret */, 0));
}

/* Of the pool that the host has set aside, empty or not; none is touched */
static int take_huge_pages(char **args)
{
	void *pages = mmap(NULL, 2ul << 20, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	(void)args;
	return attack_reached(pages == MAP_FAILED ? -1 : 0);
}

static int name_huge_pages(char **args)
{
	(void)args;
	return attack_reached(memfd_create("huge", MFD_HUGETLB));
}

static int mark_files(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_fanotify_mark, -1, 1, 0ull, AT_FDCWD, "."));
}

static int enter_ring(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
}

static int register_ring(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_io_uring_register, -1, 0, NULL, 0));
}

/*
 * A program of 84 bytes for the 32-bit machine: exit(77) by int 0x80.  Whether the kernel would run its
 * calls past a filter that knows 64-bit numbers only.
 */
static const uint8_t tiny[] = {
	0x7f, 'E',  'L', 'F', 1,  1,    1,  0, 0, 0, 0,    0,    0, 0, 0, 0,  2,    0, 3,  0, 1,
	0,    0,    0, /* head */
	0x54, 0x80, 4,   8,   52, 0,    0,  0, 0, 0, 0,    0,    0, 0, 0, 0,  52,   0, 32, 0, 1,
	0,    0,    0,   0,   0,  0,    0,  1, 0, 0, 0,    0,    0, 0, 0, 0,  0x80, 4, 8,  0, 0x80,
	4,    8,    96,  0,   0,  0,    96, 0, 0, 0, 5,    0,    0, 0, 0, 16, 0,    0, /* one segment */
	0xb8, 1,    0,   0,   0,  0xbb, 77, 0, 0, 0, 0xcd, 0x80, /* mov eax,1; mov ebx,77; int 0x80 */
};

static int run_32_bit(char **args)
{
	int fd = open("planted-tiny", O_WRONLY | O_CREAT | O_TRUNC, 0755), status;
	pid_t pid;

	(void)args;
	if (fd < 0 || write(fd, tiny, sizeof(tiny)) < 0)
		return -errno;
	close(fd);
	pid = fork();
	if (pid == 0) {
		execl("./planted-tiny", "tiny", NULL);
		_exit(errno);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status) == 77 ? 0 : -WEXITSTATUS(status);
}

/* A table of futexes: of these 64 bytes each, and there may be millions */
static int size_futex_table(char **args)
{
	(void)args;
	return attack_reached(prctl(78 /* PR_FUTEX_HASH */, 1 /* SET_SLOTS */, 2, 0, 0));
}

/* With a request that is too short to be one */
static int take_flow_label(char **args)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)args;
	if (fd < 0)
		return -errno;
	return attack_reached(setsockopt(fd, IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */, &fd, 1));
}

/* An urgent byte on a pair of one's own, by each of the calls that have flags */
static int send_urgent(char **args)
{
	char byte = 'x';
	struct iovec data = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &data, .msg_iovlen = 1 } };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (strcmp(args[0], "sendmsg") == 0)
		return attack_result(sendmsg(pair[0], &message.msg_hdr, MSG_OOB));
	if (strcmp(args[0], "sendmmsg") == 0)
		return attack_result(sendmmsg(pair[0], &message, 1, MSG_OOB));
	/* With bits above those that the kernel looks at */
	return attack_result(
		syscall(SYS_sendto, pair[0], &byte, 1, 0xdead00000000ul | MSG_OOB, NULL, 0));
}

/* What a file system does beyond its calls; this one changes nothing but a mark for backups */
static int mark_by_ioctl(char **args)
{
	int fd = open(args[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600), flags = FS_NODUMP_FL;

	return fd < 0 ? -errno : attack_result(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

/* And this one only asks, and is answered by the kernel for every file */
static int ask_by_ioctl(char **args)
{
	int fd = open(args[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600), size;

	return fd < 0 ? -errno : attack_result(ioctl(fd, FIGETBSZ, &size));
}

/* A domain of one's own, of whose refusals the kernel's log has nothing (Linux 6.15) */
static int refuse_in_silence(char **args)
{
	uint64_t handled[3] = { 1 << 2 /* to read files */ };
	long ruleset;

	if (syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) < 7)
		return -ENOSYS;
	ruleset = syscall(444, handled, sizeof(handled), 0);
	if (ruleset < 0)
		return -errno;
	return attack_result(syscall(446 /* landlock_restrict_self */, ruleset, atoi(args[0])));
}

const struct attack attack_surface[] = {
	{ "send-urgent", send_urgent },
	{ "mark-by-ioctl", mark_by_ioctl },
	{ "ask-by-ioctl", ask_by_ioctl },
	{ "refuse-in-silence", refuse_in_silence },
	{ "finit-module", load_module_file },
	{ "delete-module", unload_module },
	{ "kexec-file", load_kernel_file },
	{ "swapoff", swap_off },
	{ "quotactl-fd", change_quota_of },
	{ "clock-adjtime", adjust_a_clock },
	{ "setdomainname", name_domain },
	{ "request-key", ask_for_key },
	{ "vhangup", hang_up },
	{ "memfd-secret", hide_memory },
	{ "huge-pages", take_huge_pages },
	{ "huge-memfd", name_huge_pages },
	{ "futex-table", size_futex_table },
	{ "flow-label", take_flow_label },
	{ "fanotify-mark", mark_files },
	{ "io-uring-enter", enter_ring },
	{ "io-uring-register", register_ring },
	{ "run-32-bit", run_32_bit },
	{ NULL, NULL },
};
