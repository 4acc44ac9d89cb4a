/*
 * The deputy: see deputy.h.
 *
 * What the caller says is copied once (numbers from the kernel's copy of its registers, the path and
 * times from its memory) and never looked at again.  The file is opened once, and everything after
 * that is about the opened file: where the kernel says it lies, whose it is, its new mode.  A caller
 * that changes its memory, its links or its directories meanwhile changes which file is found, and
 * the file that is found is judged.
 */
#include "jail/deputy.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"

#define SETID_BITS (S_ISUID | S_ISGID)
#define FCHMODAT2  452 /* Linux 6.6 */

/* ------------------------------------------------------------- the listener's way out */

int rf_deputy_send(const struct rf_box *box, int listener, struct rf_err *err)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = sizeof(control.room) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&msg);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &listener, sizeof(listener));
	if (rf_fd_sendmsg(box->channel[1], &msg, MSG_NOSIGNAL) != 1)
		return rf_fail(err, -errno, "hand the filter's listener over");
	return 0;
}

int rf_deputy_take(struct rf_box *box, struct rf_err *err)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = sizeof(control.room) };
	struct cmsghdr *rights;

	if (recvmsg(box->channel[0], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1 ||
	    !(rights = CMSG_FIRSTHDR(&msg)) || rights->cmsg_type != SCM_RIGHTS)
		return rf_fail_say(err, -EPROTO, "the filter's listener did not arrive");
	memcpy(&box->listener, CMSG_DATA(rights), sizeof(box->listener));
	return 0;
}

/* ------------------------------------------------------------- what the caller says */

/* A call, in the words of fchmodat2 or utimensat. */
struct wish {
	pid_t pid;
	int dir;
	uint64_t path; /* in the caller's memory; 0: `dir` itself */
	bool is_nofollow, is_empty_allowed;
	bool is_mode; /* or times */
	mode_t mode;
	uint64_t times; /* in the caller's memory; 0: now */
};

static int read_call(const struct seccomp_notif *call, struct wish *wish)
{
	const __u64 *args = call->data.args;
	unsigned flags = 0;

	*wish = (struct wish){ .pid = (pid_t)call->pid, .dir = AT_FDCWD, .is_mode = true };
	switch (call->data.nr) {
#ifdef __NR_chmod
	case __NR_chmod:
		wish->path = args[0];
		wish->mode = (mode_t)args[1];
		return wish->path ? 0 : -EFAULT;
#endif
	case __NR_fchmod:
		wish->dir = (int)args[0];
		wish->mode = (mode_t)args[1];
		return wish->dir < 0 ? -EBADF : 0;
	case FCHMODAT2:
		flags = (unsigned)args[3];
		__attribute__((fallthrough));
	case __NR_fchmodat:
		wish->dir = (int)args[0];
		wish->path = args[1];
		wish->mode = (mode_t)args[2];
		break;
	case __NR_utimensat:
		wish->dir = (int)args[0];
		wish->path = args[1];
		wish->times = args[2];
		wish->is_mode = false;
		flags = (unsigned)args[3];
		if (!wish->path)
			return wish->dir < 0 || flags ? -EINVAL : 0;
		break;
	default:
		return -EPERM;
	}
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	wish->is_nofollow = flags & AT_SYMLINK_NOFOLLOW;
	wish->is_empty_allowed = flags & AT_EMPTY_PATH;
	return wish->path ? 0 : -EFAULT;
}

/*
 * Reads a caller's memory.  Root's deputy can do so by /proc/PID/mem alone (`memory`), which asks for
 * the ids that it has for files: its real uid is never the box's (become_box()), and that is what
 * process_vm_readv() asks for.  A user's launcher has that uid, and can't always open the file.
 */
static ssize_t read_memory(pid_t pid, int memory, uint64_t from, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };

	return memory >= 0 ? pread(memory, to, size, (off_t)from)
			   : process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

ssize_t rf_deputy_peek(pid_t pid, uint64_t from, void *to, size_t size)
{
	size_t len = 0, page = 4096;
	RF_AUTO_FD int memory = -1;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	memory = open(name, O_RDONLY | O_CLOEXEC);
	while (len < size) {
		size_t part = page - (from + len) % page;
		char *at = (char *)to + len;
		ssize_t n = read_memory(pid, memory, from + len, at,
					part < size - len ? part : size - len);

		if (n <= 0 && len > 0)
			return (ssize_t)len;
		if (n <= 0) /* of the file: EIO, or EINVAL for what is no address at all */
			return memory < 0 && n < 0 ? -errno : -EFAULT;
		if (memchr(at, '\0', (size_t)n) && size == PATH_MAX)
			return (ssize_t)(len + (size_t)n);
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* ------------------------------------------------------------- the file */

static int open_link(pid_t pid, int dir)
{
	char link[48];
	int fd;

	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dir);
	fd = open(link, O_PATH | O_CLOEXEC);
	return fd < 0 ? errno == ENOENT ? -EBADF : -errno : fd;
}

/* Opens what the caller means.  Magic links would lead through our own /proc/self. */
static int open_meant(const struct wish *wish)
{
	struct rf_kernel_open_how how = {
		.flags = O_PATH | O_CLOEXEC | (wish->is_nofollow ? O_NOFOLLOW : 0),
		.resolve = RF_RESOLVE_NO_MAGICLINKS,
	};
	RF_AUTO_FD int base = -1;
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	if (!wish->path)
		return open_link(wish->pid, wish->dir);
	path[0] = '\0';
	len = rf_deputy_peek(wish->pid, wish->path, path, sizeof(path));
	if (len < 0)
		return (int)len;
	if (!memchr(path, '\0', (size_t)len))
		return len == PATH_MAX ? -ENAMETOOLONG : -EFAULT;
	if (!path[0] && !wish->is_empty_allowed)
		return -ENOENT;
	if (path[0] != '/') {
		base = open_link(wish->pid, wish->dir);
		if (base < 0 || !path[0])
			return rf_fd_take(&base);
	}
	fd = rf_kernel_openat2(base, path, &how);
	return fd < 0 ? -errno : fd;
}

/* True if the kernel says that the file lies where the plan lets the box write. */
static bool is_writable(const struct rf_box *box, int fd)
{
	char link[32], path[PATH_MAX], room[sizeof(box->scratch) + 8];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	for (const char *const *name = (const char *const[]){ "home", "tmp", NULL }; *name;
	     name++) {
		snprintf(room, sizeof(room), "%s/%s", box->scratch, *name);
		if (rf_path_is_beneath(path, room))
			return true;
	}
	for (size_t i = 0; i < box->plan->place_count; i++) {
		const struct rf_place *place = &box->plan->places[i];

		if (place->kind == RF_PLACE_HOST && place->rights & RF_RIGHT_WRITE &&
		    rf_path_is_beneath(path, place->source))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------- the deed */

static int change(const struct wish *wish, int fd, const struct stat *st,
		  const struct timespec *times)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (wish->is_mode && S_ISLNK(st->st_mode))
		return -EOPNOTSUPP;
	if (wish->is_mode)
		return chmod(link, wish->mode & 07777) < 0 ? -errno : 0;
	if (S_ISLNK(st->st_mode))
		return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
	return utimensat(AT_FDCWD, link, times, 0) < 0 ? -errno : 0;
}

/* Who we were before we were the box; `is_changed` if we are. */
struct self {
	bool is_changed;
	uid_t uid; /* for files, as the next one */
	gid_t gid;
	struct __user_cap_data_struct caps[2];
	int death_signal;
};

static bool set_caps(const struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, caps) == 0;
}

/* These do not say whether they did it. */
static bool set_file_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

/*
 * Root acts as the box's own user: its process can then be looked at without CAP_SYS_PTRACE, which
 * containers lack, and nothing is found that the box could not find.  For files alone: of a process
 * that had its real uid the box could be a signal's sender or a tracer, and before Linux 6.12 Landlock
 * does not keep signals inside.
 */
static int become_box(const struct rf_box *box, struct self *self)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	*self = (struct self){ .is_changed = box->is_root && box->host_uid != 0,
			       .uid = (uid_t)setfsuid((uid_t)-1),
			       .gid = (gid_t)setfsgid((gid_t)-1) };
	if (!self->is_changed)
		return 0;
	if (syscall(SYS_capget, &header, self->caps) < 0 ||
	    prctl(PR_GET_PDEATHSIG, &self->death_signal, 0, 0, 0) < 0) {
		self->is_changed = false;
		return -errno;
	}
	memcpy(none, self->caps, sizeof(none));
	none[0].effective = none[1].effective = 0; /* the permitted ones stay, for the way back */
	return set_file_ids(box->host_uid, box->host_gid) && set_caps(none) ? 0 : -EPERM;
}

/* (The kernel forgets the signal.) */
static bool come_back(const struct self *self)
{
	return set_file_ids(self->uid, self->gid) && set_caps(self->caps) &&
	       prctl(PR_SET_PDEATHSIG, self->death_signal, 0, 0, 0) == 0;
}

/* Nothing that follows may be done as someone else: who can't come back ends, and the box with it. */
static void become_self(const struct self *self)
{
	static const char farewell[] = "ringfort: can't be root again after a deed for the box\n";

	for (int tries = 0; self->is_changed && !come_back(self); tries++)
		if (tries == 3) {
			rf_fd_write(STDERR_FILENO, farewell, sizeof(farewell) - 1);
			_exit(125);
		}
}

bool rf_deputy_answer(int listener, struct seccomp_notif_resp *answer)
{
	int code;

	do
		code = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer);
	while (code < 0 && errno == EINTR);
	return code == 0 || errno == ENOENT; /* the caller was killed meanwhile */
}

static int grant(const struct rf_box *box, const struct seccomp_notif *call)
{
	struct timespec times[2] = { 0 };
	struct wish wish;
	struct stat st;
	RF_AUTO_FD int fd = -1;
	uint64_t id = call->id;
	int code = read_call(call, &wish);

	if (code < 0)
		return code;
	if (wish.is_mode && wish.mode & SETID_BITS)
		return -EPERM;
	fd = open_meant(&wish);
	if (fd < 0)
		return box->is_root ? -ENOENT : fd;
	if (wish.times &&
	    rf_deputy_peek(wish.pid, wish.times, times, sizeof(times)) != (ssize_t)sizeof(times))
		return -EFAULT;
	/* Still the process that asked, and not another with its number. */
	if (ioctl(box->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return -ESRCH;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* What root finds and the box could not is not there. */
	if (!is_writable(box, fd))
		return box->is_root ? -ENOENT : -EPERM;
	if (st.st_uid != box->host_uid)
		return -EPERM;
	return change(&wish, fd, &st, wish.times ? times : NULL);
}

bool rf_deputy_serve(const struct rf_box *box)
{
	struct pollfd waiting = { .fd = box->listener, .events = POLLIN };
	union { /* a newer kernel may have more to say */
		struct seccomp_notif call;
		char room[512];
	} in = { 0 };
	union {
		struct seccomp_notif_resp answer;
		char room[256];
	} out = { 0 };
	struct self self;

	/* Before Linux 6.11 whoever asks when all callers are gone waits for ever. */
	if (poll(&waiting, 1, 0) <= 0 || !(waiting.revents & POLLIN))
		return !(waiting.revents & POLLHUP);
	if (ioctl(box->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
		return true; /* the caller was killed meanwhile */
	out.answer.id = in.call.id;
	out.answer.error = become_box(box, &self);
	if (out.answer.error == 0)
		out.answer.error = grant(box, &in.call);
	become_self(&self);
	return rf_deputy_answer(box->listener, &out.answer);
}
