/* Who is at the other end: see peer.h. */
#include "wire/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rundir.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static const char *const spaces[RF_PEER_SPACES] = { "mnt", "user", "net", "pid", "ipc", "uts" };

static const struct {
	const char *name; /* of a line */
	const char *what; /* it is, for people */
} lines[RF_PEER_LINES] = {
	{ "Uid:", "user ids" },
	{ "Gid:", "group ids" },
	{ "Groups:", "groups" },
	{ "NoNewPrivs:", "no_new_privs" },
	{ "Seccomp:", "system call filters" },
	{ "Seccomp_filters:", "system call filters" },
	{ "CapPrm:", "capabilities" },
	{ "CapEff:", "capabilities" },
	{ "CapBnd:", "capabilities" },
};

/* Copies the line that begins with `name`; "" if there is none. */
static void take_line(const char *text, const char *name, char *line, size_t size)
{
	size_t len = strlen(name);

	line[0] = '\0';
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strncmp(text, name, len) == 0) {
			snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
			return;
		}
}

/* What the process behind `proc`, its folder in /proc, is. */
static int look_at(int proc, struct rf_peer *peer, struct rf_err *err)
{
	char text[8192], path[16];
	struct statx root;
	struct stat st;
	int code;

	for (int i = 0; i < RF_PEER_SPACES; i++) {
		snprintf(path, sizeof(path), "ns/%s", spaces[i]);
		if (fstatat(proc, path, &st, 0) < 0)
			return rf_fail(err, -errno, "look at the other end's namespaces");
		peer->spaces[i] = st.st_ino;
	}
	/* Without asking whoever serves that file system, which may be the other end: it would never answer. */
	if (syscall(SYS_statx, proc, "root", AT_STATX_DONT_SYNC, STATX_INO, &root) < 0)
		return rf_fail(err, -errno, "look at the other end's root");
	peer->root_dev = makedev(root.stx_dev_major, root.stx_dev_minor);
	peer->root_ino = root.stx_ino;
	code = (int)rf_fd_read_text(proc, "status", text, sizeof(text));
	if (code < 0)
		return rf_fail(err, code, "look at the other end");
	for (int i = 0; i < RF_PEER_LINES; i++)
		take_line(text, lines[i].name, peer->lines[i], sizeof(peer->lines[i]));
	if (geteuid() == 0 ||
	    peer->has_any_groups) /* root's boxes lie beneath the client's groups */
		return 0;
	code = (int)rf_fd_read_text(proc, "cgroup", peer->groups, sizeof(peer->groups));
	return code < 0 ? rf_fail(err, code, "look at the other end's groups") : 0;
}

int rf_peer_note_self(struct rf_peer *ret_self, struct rf_err *err)
{
	RF_AUTO_FD int proc = rf_fd_open("/proc/self", O_PATH | O_DIRECTORY);

	return proc < 0 ? rf_fail(err, -errno, "open /proc/self") : look_at(proc, ret_self, err);
}

static int differ(const char *who, const char *what, struct rf_err *err)
{
	return rf_fail_say(err, -EXDEV, "client and %s have different %s", who, what);
}

/* True if that line says anything but 0. */
static bool is_set(const struct rf_peer *peer, const char *name)
{
	for (int i = 0; i < RF_PEER_LINES; i++)
		if (strcmp(lines[i].name, name) == 0) {
			const char *value = peer->lines[i] + strcspn(peer->lines[i], "0123456789");

			return strcmp(value, "0") != 0;
		}
	return true;
}

static int compare(const struct rf_peer *peer, const struct rf_peer *self, const char *who,
		   struct rf_err *err)
{
	char what[32];

	for (int i = 0; i < RF_PEER_SPACES; i++)
		if (peer->spaces[i] != self->spaces[i]) {
			snprintf(what, sizeof(what), "%s namespaces", spaces[i]);
			return differ(who, what, err);
		}
	if (peer->root_dev != self->root_dev || peer->root_ino != self->root_ino)
		return differ(who, "root directories", err);
	for (int i = 0; i < RF_PEER_LINES; i++)
		if (strcmp(peer->lines[i], self->lines[i]) != 0)
			return differ(who, lines[i].what, err);
	if (!self->has_any_groups && strcmp(peer->groups, self->groups) != 0)
		return differ(who, "cgroups", err);
	/* Two filters are not one because there is one each; and who set this may have a domain, too. */
	if (is_set(peer, "NoNewPrivs:") || is_set(peer, "Seccomp:"))
		return rf_fail_say(
			err, -EXDEV,
			"who has no_new_privs or a system call filter may be in a sandbox");
	return 0;
}

bool rf_peer_is_alive(int connection)
{
	RF_AUTO_FD int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0)
		return errno == ENOPROTOOPT; /* an older kernel does not know */
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

/* What is at the other end, while it is there. */
static int look_at_end(int connection, struct rf_peer *peer, pid_t *ret_pid, struct rf_err *err)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	RF_AUTO_FD int proc = -1;
	char path[32];

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    cred.uid != geteuid())
		return rf_fail_say(err, -EACCES, "a connection of another user's");
	snprintf(path, sizeof(path), "/proc/%d", (int)cred.pid);
	proc = rf_fd_open(path, O_PATH | O_DIRECTORY);
	if (proc < 0 || look_at(proc, peer, err) < 0 || !rf_peer_is_alive(connection))
		return rf_fail_say(err, -EACCES, "the other end can't be looked at");
	*ret_pid = cred.pid;
	return 0;
}

int rf_peer_check(int connection, const struct rf_peer *self, const char *who, pid_t *ret_pid,
		  struct rf_err *err)
{
	struct rf_peer peer = { .has_any_groups = self->has_any_groups };
	pid_t pid = 0;

	if (look_at_end(connection, &peer, &pid, err) < 0 || compare(&peer, self, who, err) < 0)
		return err->code;
	*ret_pid = pid;
	return 0;
}

/* ------------------------------------------------------------- whether it is confined */

/* What a line says, without its name; "" if there was none. */
static const char *value_of(const struct rf_peer *peer, const char *name)
{
	for (int i = 0; i < RF_PEER_LINES; i++)
		if (strcmp(lines[i].name, name) == 0 && peer->lines[i][0])
			return peer->lines[i] + strlen(name);
	return "";
}

static uint64_t number_of(const struct rf_peer *peer, const char *name, int base)
{
	return strtoull(value_of(peer, name), NULL, base);
}

/* What is confined around all of us is around pid 1, too.  What we may not look at of it is zero, and like nobody's. */
static void note_first(struct rf_peer *first)
{
	RF_AUTO_FD int proc = rf_fd_open("/proc/1", O_PATH | O_DIRECTORY);
	struct rf_err ignored = RF_ERR_INIT;
	char text[8192];

	*first = (struct rf_peer){ .has_any_groups = true };
	if (proc < 0 || look_at(proc, first, &ignored) == 0)
		return;
	*first = (struct rf_peer){ 0 };
	if (rf_fd_read_text(proc, "status", text, sizeof(text)) < 0)
		return;
	for (int i = 0; i < RF_PEER_LINES; i++)
		take_line(text, lines[i].name, first->lines[i], sizeof(first->lines[i]));
}

static int judge(const struct rf_peer *peer, const struct rf_peer *self, const char *who,
		 struct rf_err *err)
{
	static const char *const sets[] = { "CapPrm:", "CapEff:", "CapBnd:" };
	struct rf_peer first;
	char what[32];
	bool knows_filters = value_of(peer, "Seccomp_filters:")[0]; /* Linux 5.9 */

	note_first(&first);
	for (int i = 0; i < RF_PEER_SPACES; i++)
		if (peer->spaces[i] != self->spaces[i] && peer->spaces[i] != first.spaces[i]) {
			snprintf(what, sizeof(what), "%s namespaces", spaces[i]);
			return differ(who, what, err);
		}
	if ((peer->root_dev != self->root_dev || peer->root_ino != self->root_ino) &&
	    (peer->root_dev != first.root_dev || peer->root_ino != first.root_ino))
		return differ(who, "root directories", err);
	if (strcmp(value_of(peer, "Uid:"), value_of(self, "Uid:")) != 0)
		return differ(who, "user ids", err);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (number_of(self, sets[i], 16) & ~number_of(peer, sets[i], 16))
			return differ(who, "capabilities", err);
	if (is_set(peer, "NoNewPrivs:") ||
	    (knows_filters ? number_of(peer, "Seccomp_filters:", 10) >
				     number_of(&first, "Seccomp_filters:", 10)
			   : is_set(peer, "Seccomp:")))
		return rf_fail_say(
			err, -EXDEV,
			"who has no_new_privs or a filter of system calls of its own may be in a "
			"sandbox");
	return 0;
}

int rf_peer_check_free(int connection, const struct rf_peer *self, const char *who, pid_t *ret_pid,
		       struct rf_err *err)
{
	struct rf_peer peer = { .has_any_groups = true };
	pid_t pid = 0;

	if (look_at_end(connection, &peer, &pid, err) < 0 || judge(&peer, self, who, err) < 0)
		return err->code;
	*ret_pid = pid;
	return 0;
}

/* ------------------------------------------------------------- the proof of a root without a domain */

#define PROOF                                                                                      \
	"mem" /* others are open to whoever may measure a process (CAP_PERFMON), in a domain or not */

int rf_peer_open_proof(int connection)
{
	RF_AUTO_FD int pidfd = -1;
	RF_AUTO_FD int fd = -1;
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred), pidfd_len = sizeof(pidfd);
	char path[32];

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &pidfd_len) < 0) {
		if (errno != ENOPROTOOPT)
			return -errno;
		pidfd = -1; /* an older kernel does not know */
	}
	snprintf(path, sizeof(path), "/proc/%d/" PROOF, (int)cred.pid);
	fd = rf_fd_open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	/* Nobody is lent the memory of another that has the number by now. */
	if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return -ESRCH;
	return rf_fd_take(&fd);
}

/* What a file is, without asking whoever serves its file system: that may never answer. */
static bool is_same_file(int fd, const char *path)
{
	struct statx theirs, ours;
	const unsigned flags = AT_STATX_DONT_SYNC;

	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | flags, STATX_INO, &theirs) == 0 &&
	       syscall(SYS_statx, AT_FDCWD, path, flags, STATX_INO, &ours) == 0 &&
	       theirs.stx_ino == ours.stx_ino && theirs.stx_dev_major == ours.stx_dev_major &&
	       theirs.stx_dev_minor == ours.stx_dev_minor;
}

/* Our own file, really opened; and it reads what only our memory has. */
bool rf_peer_is_proof(int fd)
{
	static unsigned char mark[16];
	unsigned char read[sizeof(mark)];
	char link[32], path[32], name[sizeof(path)] = "";

	if (getrandom(mark, sizeof(mark), 0) != (ssize_t)sizeof(mark))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	snprintf(path, sizeof(path), "/proc/%d/" PROOF, (int)getpid());
	return readlink(link, name, sizeof(name) - 1) > 0 && strcmp(name, path) == 0 &&
	       is_same_file(fd, path) &&
	       pread(fd, read, sizeof(read), (off_t)(uintptr_t)mark) == (ssize_t)sizeof(read) &&
	       memcmp(read, mark, sizeof(mark)) == 0;
}

/* ------------------------------------------------------------- the note */

struct note {
	char version[32];
	int32_t pid;
	uint32_t rest; /* zero */
	struct rf_peer peer;
};

int rf_peer_write(int dir, const char *name, const struct rf_peer *self, struct rf_err *err)
{
	RF_AUTO_FD int file = -1;
	struct note note = { .version = RF_VERSION, .pid = getpid(), .peer = *self };
	char fresh[64];
	int code;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	file = openat(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	code = file < 0 ? -errno : rf_fd_write(file, &note, sizeof(note));
	if (code == 0 && renameat(dir, fresh, dir, name) < 0)
		code = -errno;
	return code < 0 ? rf_fail(err, code, "write %s", name) : 0;
}

int rf_peer_compare(int connection, const char *name, const char *who, const struct rf_peer *self,
		    struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_rundir_open(false);
	RF_AUTO_FD int file = -1;
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	struct note note;

	file = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 || rf_fd_read(file, &note, sizeof(note)) != (ssize_t)sizeof(note) ||
	    getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    note.pid != cred.pid || strncmp(note.version, RF_VERSION, sizeof(note.version)) != 0)
		return rf_fail_say(err, -EXDEV, "the %s is another version", who);
	return compare(&note.peer, self, who, err);
}
