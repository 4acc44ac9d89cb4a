/*
 * Attacks with setuid and setgid bits: a file planted in a writable directory of the host would run
 * with its owner's rights outside.  Each takes the MODE, in octal; the suite looks at the directory
 * from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

#define NAME         "planted"
#define NR_FCHMODAT2 452 /* Linux 6.6 */

/* Only the older architectures have these; the catalogue knows. */
#ifndef SYS_open
#define SYS_open  (-1)
#define SYS_creat (-1)
#define SYS_chmod (-1)
#define SYS_mkdir (-1)
#define SYS_mknod (-1)
#endif

static unsigned mode_of(char **args)
{
	return (unsigned)strtoul(args[0], NULL, 8);
}

/* A plain file to begin with. */
static void plain(void)
{
	close(open(NAME, O_WRONLY | O_CREAT, 0755));
}

/* What came of it: some calls drop the bits in silence. */
static int judge(long result, const char *name)
{
	struct stat st;

	if (result < 0 || stat(name, &st) < 0)
		return -errno;
	return st.st_mode & (S_ISUID | S_ISGID) ? 0 : -ENODATA;
}

static int by_chmod(char **args)
{
	plain();
	return judge(syscall(SYS_chmod, NAME, mode_of(args)), NAME);
}

/* The kernel looks at 16 bits of the register; a filter that compares 64 is passed by. */
static int by_chmod_high(char **args)
{
	plain();
	return judge(syscall(SYS_chmod, NAME, (1ul << 40) | mode_of(args)), NAME);
}

static int by_fchmod(char **args)
{
	plain();
	return judge(syscall(SYS_fchmod, open(NAME, O_RDONLY), mode_of(args)), NAME);
}

static int by_fchmodat(char **args)
{
	plain();
	return judge(syscall(SYS_fchmodat, AT_FDCWD, NAME, mode_of(args)), NAME);
}

static int by_fchmodat2(char **args)
{
	plain();
	return judge(syscall(NR_FCHMODAT2, AT_FDCWD, NAME, mode_of(args), 0), NAME);
}

static int by_open(char **args)
{
	return judge(syscall(SYS_open, NAME, O_WRONLY | O_CREAT, mode_of(args)), NAME);
}

static int by_openat(char **args)
{
	return judge(syscall(SYS_openat, AT_FDCWD, NAME, O_WRONLY | O_CREAT, mode_of(args)), NAME);
}

static int by_openat2(char **args)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = mode_of(args) };

	return judge(syscall(SYS_openat2, AT_FDCWD, NAME, &how, sizeof(how)), NAME);
}

static int by_creat(char **args)
{
	return judge(syscall(SYS_creat, NAME, mode_of(args)), NAME);
}

static int by_tmpfile(char **args)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, ".", O_WRONLY | O_TMPFILE, mode_of(args));
	char path[32];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return judge(linkat(AT_FDCWD, path, AT_FDCWD, NAME, AT_SYMLINK_FOLLOW), NAME);
}

static int by_mknod(char **args)
{
	return judge(syscall(SYS_mknod, NAME, S_IFREG | mode_of(args), 0), NAME);
}

static int by_mknodat(char **args)
{
	return judge(syscall(SYS_mknodat, AT_FDCWD, NAME, S_IFREG | mode_of(args), 0), NAME);
}

/* mkdir() itself drops the bits on Linux; the filter refuses them all the same. */
static int by_mkdir(char **args)
{
	return attack_result(syscall(SYS_mkdir, NAME, mode_of(args)));
}

/* PATH: a setuid program that is there already, changed through a mapping, which keeps the bit */
static int by_mapping(char **args)
{
	int fd = open(args[0], O_RDWR);
	char *bytes =
		fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		return -errno;
	bytes[0] ^= 0x55;
	return judge(msync(bytes, 4096, MS_SYNC), args[0]);
}

const struct attack attack_setid[] = {
	{ "setid-chmod", by_chmod },
	{ "setid-chmod-high", by_chmod_high },
	{ "setid-fchmod", by_fchmod },
	{ "setid-fchmodat", by_fchmodat },
	{ "setid-fchmodat2", by_fchmodat2 },
	{ "setid-open", by_open },
	{ "setid-openat", by_openat },
	{ "setid-openat2", by_openat2 },
	{ "setid-creat", by_creat },
	{ "setid-tmpfile", by_tmpfile },
	{ "setid-mknod", by_mknod },
	{ "setid-mknodat", by_mknodat },
	{ "setid-mkdir", by_mkdir },
	{ "setid-mapping", by_mapping },
	{ NULL, NULL },
};
