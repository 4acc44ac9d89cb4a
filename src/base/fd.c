/* Descriptors that close themselves: see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

ssize_t rf_fd_read_text(int dir, const char *path, char *text, size_t size)
{
	RF_AUTO_FD int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = rf_fd_read(fd, text, size - 1);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

int rf_fd_write_text(int dir, const char *path, const char *text)
{
	RF_AUTO_FD int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}
