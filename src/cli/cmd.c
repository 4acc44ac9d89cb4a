/* What the commands share: see cmd.h. */
#include "cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void rf_cmd_complain(const char *file, const struct rf_err *err)
{
	fputs("ringfort: ", stderr);
	if (file && err->line)
		fprintf(stderr, "%s:%d:%d: ", file, err->line, err->column);
	else if (file)
		fprintf(stderr, "%s: ", file);
	fprintf(stderr, "%s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
}

void rf_cmd_find_init(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		snprintf(slash + 1, size - (size_t)(slash + 1 - path), "ringfort-init");
		if (access(path, F_OK) == 0)
			return;
	}
	snprintf(path, size, RF_LIBEXECDIR "/ringfort-init");
}

int rf_cmd_print(const struct rf_buf *out)
{
	int code = out->has_failed ? -ENOMEM : rf_fd_write(STDOUT_FILENO, out->data, out->len);
	struct rf_err err;

	if (code == 0)
		return 0;
	rf_fail(&err, code, "write to standard output");
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}
