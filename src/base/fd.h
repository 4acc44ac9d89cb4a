/*
 * Descriptors that close themselves, and the few calls on them that everyone needs.
 *
 * Every descriptor of ours is born close-on-exec.  RF_AUTO_FD closes at the end of the scope,
 * rf_fd_take() hands a descriptor on.
 */
#ifndef RF_BASE_FD_H
#define RF_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RF_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define RF_AUTO_FD    __attribute__((cleanup(rf_fd_done)))

/* Closes `*fd` if it is open, and marks it closed.  errno survives. */
void rf_fd_done(int *fd);

/* Gives the descriptor in `*fd` to the caller and leaves -1 behind. */
int rf_fd_take(int *fd);

/*
 * open() and a copy not below `least`, both close-on-exec, each in one system call.  (musl's open() and fcntl()
 * set the flag a second time, for kernels that did not know it.)  Return -1 and errno.
 */
int rf_fd_open(const char *path, int flags);
int rf_fd_copy(int fd, int least);

/* Writes all `len` bytes, whatever the kernel cuts.  Returns 0 or a negative errno. */
int rf_fd_write(int fd, const void *data, size_t len);

/* Reads until the end or until `size` bytes are in.  Returns the number of bytes or a negative errno. */
ssize_t rf_fd_read(int fd, void *data, size_t size);

/*
 * Reads a small file beneath `dir` (or AT_FDCWD) as text, cut at `size` - 1 bytes and ended by a
 * NUL.  Returns its length or a negative errno.
 */
ssize_t rf_fd_read_text(int dir, const char *path, char *text, size_t size);

/* Writes `text` to an existing file beneath `dir` in one write.  Returns 0 or a negative errno. */
int rf_fd_write_text(int dir, const char *path, const char *text);

struct msghdr;

/*
 * sendmsg(2), for descriptors.  The kernel counts those that a user has on their way between processes, wherever these live, against the sender's soft limit of open files: one
 * box could so keep all others of its user from passing any.  So that limit is raised for the moment of a second try.
 */
ssize_t rf_fd_sendmsg(int socket, const struct msghdr *message, int flags);

#endif
