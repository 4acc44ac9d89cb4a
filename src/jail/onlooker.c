/* The onlooker: see onlooker.h. */
#include "jail/onlooker.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/deputy.h"
#include "jail/filter.h"
#include "policy/footprint.h"
#include "policy/view.h"

#define WAIT_KILLABLE (1u << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
#define FACCESSAT2    439       /* Linux 5.8 */
#define FCHMODAT2     452       /* Linux 6.6 */
#define NONE          (-1)

/* ------------------------------------------------------------- the calls */

enum deed {
	LOOKS,  /* at a name */
	OPENS,  /* as the flags say */
	MAKES,  /* a name, or replaces one */
	FOLDS,  /* makes a folder, if it is not there */
	TAKES,  /* a name away */
	WRITES, /* to what is there */
	STARTS, /* a program */
};

/* Which argument is a path, and what is done with it; a call with two paths has two rows. */
/* clang-format off */
static const struct call {
	int nr, dir, path, flags; /* arguments, or NONE */
	enum deed deed;
} calls[] = {
	{ __NR_openat,     0,    1, 2,    OPENS },
	{ __NR_newfstatat, 0,    1, 3,    LOOKS },
	{ __NR_statx,      0,    1, 2,    LOOKS },
	{ __NR_faccessat,  0,    1, NONE, LOOKS },
	{ FACCESSAT2,      0,    1, 3,    LOOKS },
	{ __NR_readlinkat, 0,    1, NONE, LOOKS },
	{ __NR_execve,     NONE, 0, NONE, STARTS },
	{ __NR_execveat,   0,    1, 4,    STARTS },
	{ __NR_mkdirat,    0,    1, NONE, FOLDS },
	{ __NR_mknodat,    0,    1, NONE, MAKES },
	{ __NR_unlinkat,   0,    1, NONE, TAKES },
	{ __NR_symlinkat,  1,    2, NONE, MAKES },
	{ __NR_linkat,     0,    1, NONE, LOOKS },
	{ __NR_linkat,     2,    3, NONE, MAKES },
	{ __NR_renameat2,  0,    1, NONE, TAKES },
	{ __NR_renameat2,  2,    3, NONE, MAKES },
	{ __NR_truncate,   NONE, 0, NONE, WRITES },
	{ __NR_fchmodat,   0,    1, NONE, WRITES },
	{ FCHMODAT2,       0,    1, NONE, WRITES },
	{ __NR_fchownat,   0,    1, NONE, WRITES },
	{ __NR_utimensat,  0,    1, NONE, WRITES },
#ifdef __x86_64__
	{ __NR_open,       NONE, 0, 1,    OPENS },
	{ __NR_creat,      NONE, 0, NONE, MAKES },
	{ __NR_stat,       NONE, 0, NONE, LOOKS },
	{ __NR_lstat,      NONE, 0, NONE, LOOKS },
	{ __NR_access,     NONE, 0, NONE, LOOKS },
	{ __NR_readlink,   NONE, 0, NONE, LOOKS },
	{ __NR_mkdir,      NONE, 0, NONE, FOLDS },
	{ __NR_mknod,      NONE, 0, NONE, MAKES },
	{ __NR_rmdir,      NONE, 0, NONE, TAKES },
	{ __NR_unlink,     NONE, 0, NONE, TAKES },
	{ __NR_symlink,    NONE, 1, NONE, MAKES },
	{ __NR_link,       NONE, 0, NONE, LOOKS },
	{ __NR_link,       NONE, 1, NONE, MAKES },
	{ __NR_rename,     NONE, 0, NONE, TAKES },
	{ __NR_rename,     NONE, 1, NONE, MAKES },
	{ __NR_chmod,      NONE, 0, NONE, WRITES },
	{ __NR_chown,      NONE, 0, NONE, WRITES },
	{ __NR_lchown,     NONE, 0, NONE, WRITES },
	{ __NR_utimes,     NONE, 0, NONE, WRITES },
	{ __NR_utime,      NONE, 0, NONE, WRITES },
#endif
#ifdef __NR_renameat
	{ __NR_renameat,   0,    1, NONE, TAKES },
	{ __NR_renameat,   2,    3, NONE, MAKES },
#endif
};
/* clang-format on */

/* ------------------------------------------------------------- the filter */

#define LOAD(field)                                                                                \
	(struct sock_filter)                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action)
#define SKIP_UNLESS(value, count)                                                                  \
	(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, count)

/*
 * Whoever has flags may mean a descriptor (AT_EMPTY_PATH): nothing to see there; and so the child of ours, for whose exec the
 * launcher waits, becomes pid 1 unseen.
 */
static size_t put_call(struct sock_filter *code, const struct call *call)
{
	size_t n = 0, at = call->flags == NONE
				   ? 0
				   : offsetof(struct seccomp_data, args) + 8 * (size_t)call->flags;

	if (call->flags == NONE || call->deed == OPENS) {
		code[n++] = SKIP_UNLESS(call->nr, 1);
		code[n++] = RETURN(SECCOMP_RET_USER_NOTIF);
		return n;
	}
	code[n++] = SKIP_UNLESS(call->nr, 4);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 1, 0);
	code[n++] = RETURN(SECCOMP_RET_USER_NOTIF);
	code[n++] = RETURN(SECCOMP_RET_ALLOW);
	return n;
}

bool rf_onlooker_is_wanted(const struct rf_box *box)
{
	return box->footprint && !box->is_lesser && !box->plan->has_terminal;
}

int rf_onlooker_raise(const struct rf_box *box, struct rf_err *err)
{
	struct sock_filter code[8 + 5 * RF_LEN(calls)];
	struct sock_fprog program = { .filter = code };
	size_t n = 0;
	long listener;

	code[n++] = LOAD(arch);
	code[n++] = SKIP_UNLESS(RF_FILTER_ARCH, 1);
	code[n++] = LOAD(nr);
	/* (Of another entry the accumulator holds no call's number; the wall's filter kills it.) */
	for (size_t i = 0; i < RF_LEN(calls); i++)
		if (i == 0 || calls[i].nr != calls[i - 1].nr)
			n += put_call(code + n, &calls[i]);
	/* A page that the box fills when it likes would keep us, who read it, waiting. */
	code[n++] = SKIP_UNLESS(__NR_userfaultfd, 1);
	code[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[n++] = RETURN(SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			   SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE, &program);
	if (listener < 0 && errno == EINVAL)
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				   SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		return 0; /* somebody else's listener around us: the run goes on unwatched */
	box->shared->is_watched = true;
	return rf_deputy_send(box, (int)listener, err);
}

/* ------------------------------------------------------------- what a path leads to */

/* A name as it was said, and what it leads to in the box. */
struct sight {
	char named[PATH_MAX]; /* absolute, normal */
	char real[PATH_MAX];  /* without links; of what is not there: as far as something is */
	bool is_there, has_parent;
	struct stat st;
};

/* Takes "//", "/./" and "/../" out of an absolute path, as text. */
static void make_normal(char *path)
{
	char *to = path;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at + 1, "/");

		if (len == 2 && at[1] == '.' && at[2] == '.') {
			while (to > path && *--to != '/')
				;
		} else if (len > 0 && !(len == 1 && at[1] == '.')) {
			memmove(to, at, len + 1);
			to += len + 1;
		}
		at += len + 1;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* Where a descriptor, or the working directory, of the caller's lies in its box. */
static bool read_base(pid_t pid, int dir, char path[PATH_MAX])
{
	char link[48];
	ssize_t len;

	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dir);
	len = readlink(link, path, PATH_MAX - 1);
	if (len <= 0 || path[0] != '/')
		return false; /* a pipe, a socket */
	path[len] = '\0';
	return true;
}

static int open_in(int root, const char *path, bool is_followed)
{
	struct rf_kernel_open_how how = {
		.flags = O_PATH | O_CLOEXEC | (is_followed ? 0 : O_NOFOLLOW),
		.resolve = RF_RESOLVE_IN_ROOT | RF_RESOLVE_NO_MAGICLINKS,
	};

	return rf_kernel_openat2(root, path, &how);
}

/* What the kernel calls an opened file, as the box's own root has it. */
static bool name_of(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	return path[0] == '/';
}

static void look_up(int root, bool is_followed, struct sight *sight)
{
	RF_AUTO_FD int fd = open_in(root, sight->named, is_followed), parent = -1;
	char folder[PATH_MAX], *slash;

	if (fd >= 0 && fstat(fd, &sight->st) == 0 && name_of(fd, sight->real)) {
		sight->is_there = sight->has_parent = true;
		return;
	}
	memcpy(sight->real, sight->named, sizeof(sight->real));
	memcpy(folder, sight->named, sizeof(folder));
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	parent = open_in(root, folder, true);
	if (parent < 0 || !name_of(parent, folder))
		return;
	sight->has_parent = true;
	slash = strrchr(sight->named, '/');
	if (strlen(folder) + strlen(slash) < PATH_MAX)
		snprintf(sight->real, PATH_MAX, "%s%s", folder[1] ? folder : "", slash);
}

/* ------------------------------------------------------------- what is noted */

static const struct rf_place *shown_by(const struct rf_box *box, const char *path)
{
	const struct rf_place *place = rf_view_place(box->plan, path);

	return rf_footprint_is_granted(place) ? place : NULL;
}

/* True if the host could have shown something of its own there: every box has the rest already. */
static bool is_open_ground(const struct rf_box *box, const char *path)
{
	const struct rf_place *place = rf_view_place(box->plan, path);

	return !place || place->kind == RF_PLACE_SCRATCH || place->kind == RF_PLACE_DIR;
}

static void note_parent(const struct rf_box *box, const char *path, unsigned how)
{
	char folder[PATH_MAX], *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	if (shown_by(box, folder))
		rf_footprint_note(box->footprint, folder, NULL, how | RF_USE_FOLDER);
}

/* A link that was followed lies in a folder that has to be shown for it. */
static void note_links(const struct rf_box *box, int root, const struct sight *sight)
{
	char path[PATH_MAX];

	if (strcmp(sight->named, sight->real) == 0)
		return;
	for (const char *at = sight->named; *at;) {
		RF_AUTO_FD int fd = -1;
		struct stat st;

		at += 1 + strcspn(at + 1, "/");
		snprintf(path, sizeof(path), "%.*s", (int)(at - sight->named), sight->named);
		fd = open_in(root, path, false);
		if (fd < 0 || fstat(fd, &st) < 0)
			return;
		if (S_ISLNK(st.st_mode) && shown_by(box, path))
			note_parent(box, path, RF_USE_LINKS);
		if (S_ISLNK(st.st_mode))
			return; /* what it leads to is noted as the rest of the way */
	}
}

/* What the box does not have, and the host does: under the same name, and to the caller. */
static void note_outside(const struct rf_box *box, const char *path, unsigned how, bool is_made)
{
	char real[PATH_MAX], folder[PATH_MAX], *slash;
	struct stat st;

	if (!is_open_ground(box, path))
		return;
	if (realpath(path, real) && stat(real, &st) == 0) {
		rf_footprint_note(box->footprint, path, real,
				  how | RF_USE_OUTSIDE | (S_ISDIR(st.st_mode) ? RF_USE_FOLDER : 0));
		return;
	}
	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!is_made || slash == folder)
		return;
	*slash = '\0';
	/* (What a box has of its own is made there.) */
	if (!rf_view_place(box->plan, folder) && realpath(folder, real) && stat(real, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		rf_footprint_note(box->footprint, folder, real,
				  RF_USE_MAKE | RF_USE_OUTSIDE | RF_USE_FOLDER);
}

static unsigned how_opened(uint64_t flags)
{
	if (flags & O_PATH)
		return RF_USE_LOOK;
	return (flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC) ? RF_USE_READ : RF_USE_WRITE;
}

/* What a deed is to the file itself; `ret_is_made`: a name in its folder comes, changes or goes. */
static unsigned how_done(enum deed deed, uint64_t flags, bool is_there, bool *ret_is_made)
{
	*ret_is_made = false;
	switch (deed) {
	case OPENS:
		*ret_is_made = !is_there && flags & O_CREAT;
		if ((flags & O_TMPFILE) == O_TMPFILE)
			return RF_USE_MAKE;
		return how_opened(flags);
	case MAKES:
		*ret_is_made = true;
		return RF_USE_WRITE;
	case FOLDS:
		*ret_is_made = !is_there;
		return RF_USE_LOOK;
	case TAKES:
		*ret_is_made = is_there;
		return RF_USE_LOOK;
	case WRITES:
		return RF_USE_WRITE;
	case STARTS:
		return RF_USE_EXEC | RF_USE_READ;
	case LOOKS:
		break;
	}
	return RF_USE_LOOK;
}

/* Code that is loaded from where the box can write: whether programs can be named hangs on it. */
static bool is_own_module(const struct rf_box *box, const char *path)
{
	const struct rf_place *place = rf_view_place(box->plan, path);

	return place && place->kind == RF_PLACE_SCRATCH &&
	       (strstr(path, ".so") || strstr(path, ".node"));
}

static void note(const struct rf_box *box, int root, const struct call *call, uint64_t flags,
		 const struct sight *sight)
{
	bool is_made;
	unsigned how = how_done(call->deed, flags, sight->is_there, &is_made);
	unsigned kind = sight->is_there && S_ISDIR(sight->st.st_mode) ? RF_USE_FOLDER : 0;

	if (!sight->is_there && !(is_made && sight->has_parent && shown_by(box, sight->real))) {
		note_outside(box, sight->real, how, is_made);
		return;
	}
	note_links(box, root, sight);
	if (is_made)
		note_parent(box, sight->real, RF_USE_MAKE);
	if (sight->is_there && (shown_by(box, sight->real) || is_own_module(box, sight->real)))
		rf_footprint_note(box->footprint, sight->real, NULL, how | kind);
	if (call->deed == STARTS && sight->is_there && !kind)
		rf_footprint_note(box->footprint, sight->named, NULL, RF_USE_EXEC);
}

static bool is_followed(const struct call *call, uint64_t flags)
{
	if (call->deed == OPENS)
		return !(flags & O_NOFOLLOW);
	if (call->deed == MAKES || call->deed == FOLDS || call->deed == TAKES)
		return false;
	return !(flags & AT_SYMLINK_NOFOLLOW);
}

/* False if it could not be seen. */
static bool see(const struct rf_box *box, const struct seccomp_notif *asked,
		const struct call *call, struct sight *sight)
{
	const __u64 *args = asked->data.args;
	uint64_t flags = call->flags == NONE ? 0 : args[call->flags], id = asked->id;
	int dir = call->dir == NONE ? AT_FDCWD : (int)args[call->dir];
	char text[PATH_MAX], base[PATH_MAX] = "", link[32];
	RF_AUTO_FD int root = -1;
	ssize_t len = rf_deputy_peek((pid_t)asked->pid, args[call->path], text, sizeof(text));

	if (len < 0)
		return len == -EFAULT; /* the call fails by itself */
	if (!memchr(text, '\0', (size_t)len) || !text[0])
		return true;
	if (text[0] != '/' && !read_base((pid_t)asked->pid, dir, base))
		return true;
	snprintf(link, sizeof(link), "/proc/%d/root", (int)asked->pid);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || ioctl(box->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return root >= 0 || errno == ENOENT; /* it is gone */
	if (strlen(base) + 1 + strlen(text) >= PATH_MAX)
		return true;
	*sight = (struct sight){ .is_there = false };
	snprintf(sight->named, sizeof(sight->named), "%s/%s", base, text);
	/* (A link's ".." is not that of the text; such a name is looked up as it is.) */
	look_up(root, is_followed(call, flags), sight);
	make_normal(sight->named);
	if (!sight->is_there)
		make_normal(sight->real);
	note(box, root, call, flags, sight);
	return true;
}

bool rf_onlooker_serve(const struct rf_box *box)
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
	static struct sight sight; /* too large for a stack; there is one launcher */

	if (poll(&waiting, 1, 0) <= 0 || !(waiting.revents & POLLIN))
		return !(waiting.revents & POLLHUP);
	if (ioctl(box->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
		return true; /* the caller was killed meanwhile */
	for (size_t i = 0; i < RF_LEN(calls); i++)
		if (calls[i].nr == in.call.data.nr && !see(box, &in.call, &calls[i], &sight))
			box->footprint->left_out++;
	out.answer.id = in.call.id;
	out.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return rf_deputy_answer(box->listener, &out.answer);
}
