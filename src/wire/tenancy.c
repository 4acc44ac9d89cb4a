/* Where the workspaces of a server's tenants lie: see tenancy.h. */
#include "wire/tenancy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"
#include "wire/terms.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define SUM     128 /* bytes of one, as text */
#define FOLDER  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool rf_tenancy_is_name(const char *text)
{
	size_t len = strspn(text, LETTERS "-_");

	return len > 0 && len < RF_TENANCY_NAME && !text[len] && text[0] != '-' && text[0] != '_';
}

bool rf_tenancy_is_label(const char *text)
{
	size_t len = strspn(text, LETTERS "-_.");

	return len > 0 && len < RF_TENANCY_LABEL && !text[len];
}

int rf_tenancy_open_all(const char *tenant, bool may_make)
{
	RF_AUTO_FD int all = rf_statedir_open_in("tenants", may_make);
	char folder[RF_TERMS_NAME + 2];
	int fd;

	if (all < 0)
		return all;
	/* With something in front of it no name is one that means another folder. */
	if (strchr(tenant, '/') ||
	    snprintf(folder, sizeof(folder), "t-%s", tenant) >= (int)sizeof(folder))
		return -EINVAL;
	if (may_make && mkdirat(all, folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(all, folder, FOLDER);
	return fd < 0 ? -errno : fd;
}

int rf_tenancy_read_usage(int all, struct rf_tenancy_sum *ret_sum)
{
	char text[SUM], *end;
	ssize_t len = rf_fd_read_text(all, RF_TENANCY_USAGE, text, sizeof(text));

	if (len < 0)
		return (int)len;
	ret_sum->held.bytes = strtoull(text, &end, 10);
	ret_sum->held.files = strtoull(end, &end, 10);
	ret_sum->counted.bytes = strtoull(end, &end, 10);
	ret_sum->counted.files = strtoull(end, NULL, 10);
	return 0;
}

int rf_tenancy_write_usage(int all, const struct rf_tenancy_sum *sum, const struct timespec *since)
{
	const struct timespec times[2] = { *since, *since };
	RF_AUTO_FD int file = -1;
	char text[SUM], fresh[32];
	int code;

	/* Several may count at once. */
	snprintf(fresh, sizeof(fresh), RF_TENANCY_USAGE "-%d", (int)syscall(SYS_gettid));
	file = openat(all, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	snprintf(text, sizeof(text), "%llu %llu\n%llu %llu\n", (unsigned long long)sum->held.bytes,
		 (unsigned long long)sum->held.files, (unsigned long long)sum->counted.bytes,
		 (unsigned long long)sum->counted.files);
	code = file < 0 ? -errno : rf_fd_write(file, text, strlen(text));
	if (code == 0 &&
	    (futimens(file, times) < 0 || renameat(all, fresh, all, RF_TENANCY_USAGE) < 0))
		code = -errno;
	if (code < 0)
		unlinkat(all, fresh, 0);
	return code;
}

int rf_tenancy_open_used(int all)
{
	return openat(all, RF_TENANCY_USED, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* By the clock that a count's beginning is taken from: the one that files have by themselves is behind it by a tick, so that a count that began too early would seem new enough. */
void rf_tenancy_touch_used(int used)
{
	struct timespec times[2];

	if (used < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[1] = times[0];
	futimens(used, times);
}

int rf_tenancy_hold(int folder)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (flock(folder, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	fcntl(folder, F_OFD_SETLK, &lock); /* of the other kind, which can be asked about */
	return 0;
}

bool rf_tenancy_is_held(int folder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(folder, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int rf_tenancy_open(const char *tenant, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenancy_open_all(tenant, false);
	int fd = -ENOENT;

	if (all >= 0 && rf_tenancy_is_name(name))
		fd = openat(all, name, FOLDER);
	if (fd >= 0)
		return fd;
	if (all >= 0 ? fd == -1 && errno != ENOENT : all != -ENOENT)
		return rf_fail(err, all < 0 ? all : -errno, "open workspace `%.63s`", name);
	rf_fail_say(err, -ENOENT, "there is no workspace `%.63s`", name);
	return rf_fail_hint(err, "GET /v1/workspaces lists them, POST makes one");
}
