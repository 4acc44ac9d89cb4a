/*
 * The program of a box that looks at its walls from inside: `inside OUTSIDE PORT [more | stay]`.
 *
 * Prints a line for everything that it tries, with what the kernel said.  What the walls are from
 * outside is looked at by inject; this shows that they hold: paths that must not open, calls that must
 * be refused, and what must work.  OUTSIDE is a folder of the host that the box is not shown, with a
 * file `secret` in it; PORT is one on which somebody listens on the host's 127.0.0.1.
 *
 * Whatever it tries does no harm where it succeeds: the arguments of dangerous calls are senseless.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static void say(const char *what, const char *of, long result)
{
	printf("%s %s: %s\n", what, of, result < 0 ? strerrorname_np(errno) : "done");
}

static void open_paths(const char *outside)
{
	static const char *const paths[] = {
		"/etc/shadow",
		"/root",
		"/home",
		"/var/log",
		"/boot",
		"/sys/kernel",
		"/proc/kcore",
		"/proc/1/environ",
		"/proc/1/root/etc",
		"/proc/1/fd",
		"/proc/kallsyms",
		"/proc/keys",
		"/dev/mem",
		"/dev/kmsg",
		"/dev/tty",
		"/dev/sda",
		"/dev/vda",
		"/.ringfort/sentinel",
		"/.ringfort",
		"/old",
		"/run/ringfort",
		"/sys/fs/cgroup",
	};
	static const char *const writable[] = {
		"/usr/inside",
		"/etc/inside",
		"/inside",
		"/proc/sys/kernel/core_pattern",
		"/proc/sysrq-trigger",
		"/proc/self/oom_score_adj",
		"/proc/1/oom_score_adj",
		"/dev/inside",
		"/bin/inside",
		"inside.new",
	};
	char path[4096];

	for (size_t i = 0; i < LEN(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_NONBLOCK | O_NOCTTY);

		if (fd >= 0 && !isatty(fd) && read(fd, path, 1) == 0)
			printf("read %s: nothing\n", paths[i]);
		else
			say("read", paths[i], fd);
		if (fd >= 0)
			close(fd);
	}
	snprintf(path, sizeof(path), "%s/secret", outside);
	say("read", "secret", open(path, O_RDONLY));
	say("list", "outside", open(outside, O_RDONLY | O_DIRECTORY));
	snprintf(path, sizeof(path), "%s/planted", outside);
	say("write", "outside", open(path, O_WRONLY | O_CREAT, 0600));
	for (size_t i = 0; i < LEN(writable); i++) {
		int fd = open(writable[i], O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);

		say("write", writable[i], fd);
		if (fd < 0)
			continue;
		close(fd);
		if (strstr(writable[i], "inside"))
			unlink(writable[i]);
	}
	say("write", "/tmp/inside", open("/tmp/inside", O_WRONLY | O_CREAT, 0600));
	say("device", "/tmp/device", mknod("/tmp/device", S_IFCHR | 0600, 0x0103));
	say("setuid", "/tmp/inside", chmod("/tmp/inside", 04755));
}

/* Calls that a filter, a namespace or a lack of capabilities refuses. */
static void make_calls(void)
{
	struct utsname name;

	say("call", "mount", mount("none", "/nowhere", "none", 0, NULL));
	say("call", "remount", mount(NULL, "/nowhere", NULL, MS_REMOUNT, NULL));
	say("call", "umount", umount2("/nowhere", MNT_DETACH));
	say("call", "chroot", chroot("/nowhere"));
	say("call", "pivot_root", syscall(SYS_pivot_root, "/nowhere", "/nowhere"));
	say("call", "unshare user", unshare(CLONE_NEWUSER));
	say("call", "unshare mounts", unshare(CLONE_NEWNS));
	say("call", "setns", setns(0, 0));
	say("call", "open_tree", syscall(428, AT_FDCWD, "/", 1));
	say("call", "fsopen", syscall(430, "tmpfs", 0));
	say("call", "bpf", syscall(SYS_bpf, 0, NULL, 0));
	say("call", "perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	say("call", "io_uring_setup", syscall(425, 1, NULL));
	say("call", "userfaultfd", syscall(SYS_userfaultfd, 0x7fffffff));
	say("call", "add_key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
	say("call", "keyctl", syscall(SYS_keyctl, 0, -3, 0));
	say("call", "open_by_handle_at", syscall(SYS_open_by_handle_at, -1, NULL, 0));
	say("call", "kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, ~0ul));
	say("call", "init_module", syscall(SYS_init_module, NULL, 0, ""));
	say("call", "reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	say("call", "swapon", syscall(SYS_swapon, "/nowhere", ~0));
	say("call", "sethostname", syscall(SYS_sethostname, "", -1));
	say("call", "settimeofday", syscall(SYS_settimeofday, NULL, NULL));
	say("call", "personality", syscall(SYS_personality, 0x0400000));
	say("call", "ptrace", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	say("call", "process_vm_readv", syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
	say("call", "kill 1", kill(1, 0));
	say("call", "kill parent", kill(getppid(), 0));
	say("call", "setuid 0", setresuid(0, 0, 0));
	say("call", "setgid 0", setresgid(0, 0, 0));
	say("call", "chown", chown("/tmp/inside", 0, 0));
	say("call", "shmget", syscall(SYS_shmget, 0x5246, 1, 0));
	say("call", "filter's own", syscall(0xff5246));
	say("call", "hostname", uname(&name));
	printf("hostname %s\n", name.nodename);
}

static void open_sockets(int port)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },    { "inet", AF_INET, SOCK_STREAM, 0 },
		{ "inet6", AF_INET6, SOCK_DGRAM, 0 },   { "raw", AF_INET, SOCK_RAW, 1 },
		{ "netlink", AF_NETLINK, SOCK_RAW, 0 }, { "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "alg", 38, SOCK_SEQPACKET, 0 },       { "vsock", 40, SOCK_STREAM, 0 },
	};
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((unsigned short)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd;

	for (size_t i = 0; i < LEN(kinds); i++) {
		fd = socket(kinds[i].family, kinds[i].type, kinds[i].protocol);
		say("socket", kinds[i].name, fd);
		if (fd >= 0)
			close(fd);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	say("connect", "host", fd < 0 ? fd : connect(fd, (struct sockaddr *)&at, sizeof(at)));
}

/* Numbers of the process itself. */
static void look_at_self(void)
{
	unsigned processes = 0, bounding = 0, capabilities = 0;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct rlimit limit;
	char cwd[4096];

	for (int cap = 0; cap < 64; cap++)
		bounding += prctl(PR_CAPBSET_READ, cap, 0, 0, 0) > 0;
	if (syscall(SYS_capget, &header, sets) == 0)
		for (int i = 0; i < 2; i++)
			capabilities += (unsigned)__builtin_popcount(
				sets[i].effective | sets[i].permitted | sets[i].inheritable);
	printf("capabilities %u, bounding %u, no_new_privs %d, seccomp %d, dumpable %d\n",
	       capabilities, bounding, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_SECCOMP, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("uid is root: %s, leads a session: %s, working directory %s\n",
	       getuid() == 0 ? "yes" : "no", getsid(0) == getpid() ? "yes" : "no",
	       getcwd(cwd, sizeof(cwd)) ? cwd : "none");
	while (dir && (entry = readdir(dir)))
		processes += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	printf("processes in sight: %s\n", !dir             ? "none"
					   : processes <= 2 ? "the box's"
							    : "others'");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		printf("open files %lu %lu\n", limit.rlim_cur, limit.rlim_max);
	if (getrlimit(RLIMIT_CORE, &limit) == 0)
		printf("core %lu %lu\n", limit.rlim_cur, limit.rlim_max);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	look_at_self();
	open_paths(argv[1]);
	open_sockets(atoi(argv[2]));
	make_calls();
	printf("all tried\n");
	fflush(stdout);
	if (argc > 3 && strcmp(argv[3], "stay") == 0)
		usleep(40000);
	while (argc > 3 && strcmp(argv[3], "more") == 0) /* until a limit ends it */
		puts("more");
	return 0;
}
