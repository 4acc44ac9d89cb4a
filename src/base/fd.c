/* Descriptors that close themselves: see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

void rf_fd_done(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int rf_fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

int rf_fd_open(const char *path, int flags)
{
	return openat(AT_FDCWD, path, flags | O_CLOEXEC);
}

int rf_fd_copy(int fd, int least)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

int rf_fd_write(int fd, const void *data, size_t len)
{
	const char *next = data;

	while (len > 0) {
		ssize_t n = write(fd, next, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		next += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t rf_fd_read(int fd, void *data, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, (char *)data + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

/* These two leave errno alone: they are used beside others who look at it (jail/hands.h). */

ssize_t rf_fd_read_text(int dir, const char *path, char *text, size_t size)
{
	long fd = RF_KERNEL_RAW(SYS_openat, dir, (long)path, O_RDONLY | O_CLOEXEC, 0), n;
	size_t have = 0;

	if (fd < 0)
		return fd;
	do {
		n = RF_KERNEL_RAW(SYS_read, fd, (long)(text + have), (long)(size - 1 - have));
		have += n > 0 ? (size_t)n : 0;
	} while (n == -EINTR || (n > 0 && have < size - 1));
	RF_KERNEL_RAW(SYS_close, fd);
	if (n < 0)
		return n;
	text[have] = '\0';
	return (ssize_t)have;
}

int rf_fd_write_text(int dir, const char *path, const char *text)
{
	long fd = RF_KERNEL_RAW(SYS_openat, dir, (long)path, O_WRONLY | O_CLOEXEC, 0);
	size_t len = strlen(text);
	long n;

	if (fd < 0)
		return (int)fd;
	n = RF_KERNEL_RAW(SYS_write, fd, (long)text, (long)len);
	RF_KERNEL_RAW(SYS_close, fd);
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EIO;
}

ssize_t rf_fd_sendmsg(int socket, const struct msghdr *message, int flags)
{
	ssize_t n = sendmsg(socket, message, flags);
	struct rlimit usual, most;
	int code;

	if (n >= 0 || errno != ETOOMANYREFS || getrlimit(RLIMIT_NOFILE, &usual) < 0)
		return n;
	most = (struct rlimit){ usual.rlim_max, usual.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &most) < 0) {
		errno = ETOOMANYREFS;
		return -1;
	}
	n = sendmsg(socket, message, flags);
	code = errno;
	setrlimit(RLIMIT_NOFILE, &usual);
	errno = code;
	return n;
}
