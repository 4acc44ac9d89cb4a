/*
 * Paths beneath a directory descriptor: src/base/path.c.
 *
 * Each case runs three times: with openat2, and with that call taken away by a filter that answers
 * ENOSYS (an older kernel) or EPERM (a container's filter).  The answers must be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "harness.h"

#define NAME_255                                                                                   \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"                         \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"                         \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"                         \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

enum kind {
	END,
	DIRECTORY,
	REGULAR,
	LINK
};

/* The tree: `top` is the directory that is searched, `secret` lies beside it. */
/* clang-format off */
static const struct { enum kind kind; const char *path, *target; } tree[] = {
	{ DIRECTORY, "top",              NULL },
	{ REGULAR,   "secret",           NULL },
	{ REGULAR,   "top/file",         NULL },
	{ REGULAR,   "top/..file",       NULL },
	{ REGULAR,   "top/...",          NULL },
	{ DIRECTORY, "top/dir",          NULL },
	{ REGULAR,   "top/dir/inner",    NULL },
	{ DIRECTORY, "top/dir/deep",     NULL },
	{ REGULAR,   "top/dir/deep/end", NULL },
	{ REGULAR,   "top/" NAME_255,    NULL },
	{ LINK,      "top/to-file",      "file" },
	{ LINK,      "top/to-dir",       "dir" },
	{ LINK,      "top/to-self",      "to-self" },
	{ LINK,      "top/to-nothing",   "nothing" },
	{ LINK,      "top/to-secret",    "../secret" },
	{ LINK,      "top/to-above",     ".." },
	{ LINK,      "top/to-root",      "/" },
	{ LINK,      "top/to-passwd",    "/etc/passwd" },
	{ LINK,      "top/dir/to-above", ".." },
	{ END,       NULL,               NULL },
};
/* clang-format on */

static char place[] = "/tmp/rf-unit-path-XXXXXX";

/* Makes the tree.  Gives `top`. */
static int make_tree(void)
{
	RF_AUTO_FD int dir = -1;
	int top;

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; tree[i].kind != END; i++) {
		int code = 0;

		if (tree[i].kind == DIRECTORY)
			code = mkdirat(dir, tree[i].path, 0700);
		else if (tree[i].kind == REGULAR)
			code = mknodat(dir, tree[i].path, S_IFREG | 0600, 0);
		else
			code = symlinkat(tree[i].target, dir, tree[i].path);
		RF_REQUIRE(code == 0, "%s: %s", tree[i].path, strerror(errno));
	}
	top = openat(dir, "top", O_PATH | O_DIRECTORY | O_CLOEXEC);
	RF_REQUIRE(top >= 0, "top: %s", strerror(errno));
	return top;
}

static void remove_tree(void)
{
	RF_AUTO_FD int dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = RF_LEN(tree) - 1; i-- > 0;)
		unlinkat(dir, tree[i].path, tree[i].kind == DIRECTORY ? AT_REMOVEDIR : 0);
	rmdir(place);
}

/* Takes openat2 away from this process, for good: it answers `code` from now on. */
static void take_openat2_away(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RF_NR_OPENAT2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = RF_LEN(filter), .filter = filter };
	struct rf_kernel_open_how how = { .flags = O_PATH };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		RF_SKIP("no seccomp filter to take a call away with: %s", strerror(errno));
	RF_REQUIRE(rf_kernel_openat2(AT_FDCWD, "/", &how) < 0 && errno == code,
		   "it is still there");
}

static void require_openat2(void)
{
	struct rf_kernel_open_how how = { .flags = O_PATH | O_CLOEXEC };
	RF_AUTO_FD int fd = rf_kernel_openat2(AT_FDCWD, "/", &how);

	if (fd < 0)
		RF_SKIP("no openat2 here (Linux 5.6): %s", strerror(errno));
}

struct opening {
	const char *path;
	int flags;
	int want;         /* 0 or a negative errno */
	const char *file; /* the file that it means, beneath top */
};

static void check_openings(int top, const struct opening *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		RF_AUTO_FD int fd = rf_path_open_beneath(top, cases[i].path, cases[i].flags);
		int got = fd < 0 ? fd : 0;
		struct stat opened, meant;

		RF_CHECK(got == cases[i].want, "'%.40s' with %#x: %d, not %d", cases[i].path,
			 cases[i].flags, got, cases[i].want);
		if (fd < 0 || !cases[i].file)
			continue;
		RF_REQUIRE(fstat(fd, &opened) == 0 && fstatat(top, cases[i].file, &meant, 0) == 0,
			   "stat: %s", strerror(errno));
		RF_CHECK(opened.st_ino == meant.st_ino, "'%.40s' opened another file",
			 cases[i].path);
		RF_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "'%.40s' survives exec", cases[i].path);
		RF_CHECK((fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) ==
				 (cases[i].flags & (O_ACCMODE | O_PATH)),
			 "'%.40s' opened with %#x", cases[i].path, fcntl(fd, F_GETFL));
	}
}

/* clang-format off */
static const struct opening openings[] = {
	{ "file",              O_RDONLY,               0,        "file" },
	{ "file",              O_RDWR,                 0,        "file" },
	{ "file",              O_PATH,                 0,        "file" },
	{ "dir/inner",         O_RDONLY,               0,        "dir/inner" },
	{ "dir/deep/end",      O_WRONLY,               0,        "dir/deep/end" },
	{ "dir",               O_RDONLY | O_DIRECTORY, 0,        "dir" },
	{ "dir",               O_PATH,                 0,        "dir" },
	{ "dir/",              O_PATH,                 0,        "dir" },
	{ "..file",            O_RDONLY,               0,        "..file" },
	{ "...",               O_RDONLY,               0,        "..." },
	{ NAME_255,            O_RDONLY,               0,        NAME_255 },
	/* An absolute path counts from the directory. */
	{ "/file",             O_RDONLY,               0,        "file" },
	{ "//dir//deep///end", O_RDONLY,               0,        "dir/deep/end" },
	{ "./dir/./inner",     O_RDONLY,               0,        "dir/inner" },
	{ "/",                 O_PATH | O_DIRECTORY,   0,        "." },
	{ "///",               O_RDONLY | O_DIRECTORY, 0,        "." },
	{ "",                  O_PATH,                 0,        "." },
	{ ".",                 O_PATH,                 0,        "." },
	{ "/etc/passwd",       O_RDONLY,               -ENOENT,  NULL },
	/* Links: the last, one in the middle, relative, absolute, escaping, broken. */
	{ "to-file",           O_RDONLY,               -ELOOP,   NULL },
	{ "to-file",           O_PATH,                 -ELOOP,   NULL },
	{ "to-dir",            O_RDONLY | O_DIRECTORY, -ELOOP,   NULL },
	{ "to-dir/inner",      O_RDONLY,               -ELOOP,   NULL },
	{ "to-dir/",           O_PATH,                 -ELOOP,   NULL },
	{ "to-self",           O_RDONLY,               -ELOOP,   NULL },
	{ "to-nothing",        O_RDONLY,               -ELOOP,   NULL },
	{ "to-secret",         O_RDONLY,               -ELOOP,   NULL },
	{ "to-above/secret",   O_RDONLY,               -ELOOP,   NULL },
	{ "to-root",           O_PATH,                 -ELOOP,   NULL },
	{ "to-root/etc",       O_PATH,                 -ELOOP,   NULL },
	{ "/to-passwd",        O_RDONLY,               -ELOOP,   NULL },
	{ "dir/to-above/file", O_RDONLY,               -ELOOP,   NULL },
	/* Upwards. */
	{ "..",                O_PATH,                 -EXDEV,   NULL },
	{ "../secret",         O_RDONLY,               -EXDEV,   NULL },
	{ "../top/file",       O_RDONLY,               -EXDEV,   NULL },
	{ "/../secret",        O_RDONLY,               -EXDEV,   NULL },
	{ "./../secret",       O_RDONLY,               -EXDEV,   NULL },
	{ "dir/../../secret",  O_RDONLY,               -EXDEV,   NULL },
	/* Not there, or not what was asked for. */
	{ "nothing",           O_RDONLY,               -ENOENT,  NULL },
	{ "nothing/inner",     O_RDONLY,               -ENOENT,  NULL },
	{ "dir/nothing",       O_PATH,                 -ENOENT,  NULL },
	{ "file/inner",        O_RDONLY,               -ENOTDIR, NULL },
	{ "file",              O_RDONLY | O_DIRECTORY, -ENOTDIR, NULL },
	{ "dir",               O_WRONLY,               -EISDIR,  NULL },
	{ NAME_255 "n",        O_RDONLY,               -ENAMETOOLONG, NULL },
};

/* Promised too, or expected by everyone who knows open(2). */
static const struct opening corners[] = {
	{ "dir/..",            O_PATH,                 -EXDEV,   NULL }, /* `..` on the way is an error */
	{ "dir/../file",       O_RDONLY,               -EXDEV,   NULL },
	{ "file/",             O_RDONLY,               -ENOTDIR, NULL },
	{ "file",              O_RDONLY | O_NOFOLLOW,  0,        "file" },
	{ "to-file",           O_RDONLY | O_NOFOLLOW,  -ELOOP,   NULL },
	{ "to-file",           O_PATH | O_NOFOLLOW,    -ELOOP,   NULL },
};
/* clang-format on */

RF_TEST(a_path_means_one_file_beneath_the_directory)
{
	RF_AUTO_FD int top = make_tree();

	require_openat2();
	check_openings(top, openings, RF_LEN(openings));
	remove_tree();
}

RF_TEST(an_older_kernel_gives_the_same_answers)
{
	RF_AUTO_FD int top = make_tree();

	take_openat2_away(ENOSYS);
	check_openings(top, openings, RF_LEN(openings));
	remove_tree();
}

RF_TEST(a_filter_that_refuses_openat2_gives_the_same_answers)
{
	RF_AUTO_FD int top = make_tree();

	take_openat2_away(EPERM);
	check_openings(top, openings, RF_LEN(openings));
	remove_tree();
}

RF_TEST(dots_and_slashes_and_nofollow_mean_what_they_should)
{
	RF_AUTO_FD int top = make_tree();

	require_openat2();
	check_openings(top, corners, RF_LEN(corners));
	remove_tree();
}

RF_TEST(dots_and_slashes_and_nofollow_mean_the_same_without_openat2)
{
	RF_AUTO_FD int top = make_tree();

	take_openat2_away(ENOSYS);
	check_openings(top, corners, RF_LEN(corners));
	remove_tree();
}

RF_TEST(magic_links_are_not_followed_by_either_way)
{
	/* Of this process: its root, its current directory, a descriptor, its program. */
	static const char *const links[] = { "/root/etc", "/cwd", "/fd/0", "/exe" };
	RF_AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0)
		RF_SKIP("no /proc");
	require_openat2();
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < RF_LEN(links); i++) {
			char path[64];
			const struct opening opening = { path, O_PATH, -ELOOP, NULL };

			snprintf(path, sizeof(path), "%d%s", getpid(), links[i]);
			check_openings(proc, &opening, 1);
		}
		if (round == 0)
			take_openat2_away(ENOSYS);
	}
}

static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

RF_TEST(a_directory_that_is_none_is_an_error_and_leaks_nothing)
{
	RF_AUTO_FD int top = make_tree();
	RF_AUTO_FD int file = openat(top, "file", O_PATH | O_CLOEXEC);
	int before = count_open();

	for (int i = 0; i < 2; i++) {
		if (i == 1)
			take_openat2_away(ENOSYS);
		RF_CHECK(rf_path_open_beneath(file, "x", O_RDONLY) == -ENOTDIR, "a file, %d", i);
		RF_CHECK(rf_path_open_beneath(-1, "x", O_RDONLY) == -EBADF, "none, %d", i);
		for (size_t k = 0; k < RF_LEN(openings); k++)
			if (openings[k].want < 0)
				rf_path_open_beneath(top, openings[k].path, openings[k].flags);
		RF_CHECK(count_open() == before, "%d descriptors are left, %d",
			 count_open() - before, i);
	}
	remove_tree();
}

RF_TEST(beneath_means_the_same_or_below_by_whole_names)
{
	/* clang-format off */
	static const struct { const char *path, *top; bool is_beneath; } cases[] = {
		{ "/a",      "/a",    true },
		{ "/a/b",    "/a",    true },
		{ "/a/b/c",  "/a",    true },
		{ "/ab",     "/a",    false },
		{ "/a",      "/a/b",  false },
		{ "/b",      "/a",    false },
		{ "/",       "/",     true },
		{ "/a",      "/",     true },
		{ "/a/b",    "/",     true },
		{ "/",       "/a",    false },
		{ "/a.b",    "/a",    false },
		{ "/a-b/c",  "/a",    false },
		{ "/A/b",    "/a",    false },
		{ "/home/x", "/home/xy", false },
		{ "/home/xy", "/home/x", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(!rf_path_is_beneath(cases[i].path, cases[i].top) == !cases[i].is_beneath,
			 "%s beneath %s", cases[i].path, cases[i].top);
}
