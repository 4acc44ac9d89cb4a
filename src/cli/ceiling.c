/* A ceiling for a program that ringfort becomes: see ceiling.h. */
#include "cli/ceiling.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "cli/shelf.h"

int rf_ceiling_open(const char *what, char **ret_file, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	RF_AUTO_FD int fd = -1;
	struct rf_policy *policy = NULL;
	struct rf_shelf shelf;
	int code;

	if (rf_shelf_init(&shelf, NULL, err) < 0)
		return err->code;
	code = rf_shelf_policy(&shelf, what, &policy, ret_file, err);
	rf_shelf_done(&shelf);
	if (code < 0)
		return code;
	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_policy_format(policy, &text);
	rf_policy_free(policy);
	fd = memfd_create("ceiling", 0); /* passed on by exec */
	if (fd < 0 || text.has_failed)
		return rf_fail(err, fd < 0 ? -errno : -ENOMEM, "pass the ceiling on");
	code = rf_fd_write(fd, text.data, text.len);
	if (code < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return rf_fail(err, code < 0 ? code : -errno, "pass the ceiling on");
	return rf_fd_take(&fd);
}
