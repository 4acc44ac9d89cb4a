/* Whole files: see slurp.h. */
#include "base/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"

int rf_slurp_fd(int fd, size_t max, struct rf_buf *text, struct rf_err *err)
{
	char part[8192]; /* a library has callers with small stacks */
	struct stat st;
	ssize_t n;

	rf_buf_init(text, max);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return rf_fail(err, -EISDIR, "can't read it");
	while ((n = rf_fd_read(fd, part, sizeof(part))) > 0 && !text->has_failed)
		rf_buf_add(text, part, (size_t)n);
	if (n < 0)
		return rf_fail(err, (int)n, "can't read it");
	if (text->has_failed)
		return rf_fail_say(err, -EFBIG, "it is larger than %zu bytes", max);
	rf_buf_add(text, "", 0);
	return text->data ? 0 : rf_fail(err, -ENOMEM, "can't read it");
}

int rf_slurp(const char *path, size_t max, struct rf_buf *text, struct rf_err *err)
{
	RF_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	rf_buf_init(text, max);
	if (fd < 0) {
		rf_fail(err, -errno, "can't read it");
		if (err->code == -ENOENT || err->code == -ENOTDIR || err->code == -ENAMETOOLONG)
			rf_fail_hint(err, "is the path right?  A relative one counts from the "
					  "current directory");
		return err->code;
	}
	fcntl(fd, F_SETFL, 0); /* opening a pipe waits for nobody, but its writer may take time */
	return rf_slurp_fd(fd, max, text, err);
}
