/* Files of a box that we write: see written.h. */
#include "jail/written.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"

/* Bytes that stand in the plan as base64. */
static int write_data(int fd, const char *text)
{
	int code = 0;

	for (size_t left = strlen(text), n; left > 0 && code == 0; left -= n, text += n) {
		char bytes[3072];
		ssize_t size;

		n = left < 4096 ? left : 4096;
		size = rf_base64_decode(text, n, bytes);
		code = size < 0 ? (int)size : rf_fd_write(fd, bytes, (size_t)size);
	}
	return code;
}

int rf_written_put(int dir, const char *name, const struct rf_place *place, struct rf_err *err)
{
	RF_AUTO_FD int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	int code = -errno;

	if (fd >= 0)
		code = place->kind == RF_PLACE_DATA
			       ? write_data(fd, place->source)
			       : rf_fd_write(fd, place->source, strlen(place->source));
	return code < 0 ? rf_fail(err, code, "write %s", place->path) : 0;
}

size_t rf_written_bytes(const struct rf_plan *plan)
{
	size_t sum = 0;

	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind == RF_PLACE_TEXT || plan->places[i].kind == RF_PLACE_DATA)
			sum += (strlen(plan->places[i].source) | 65535) + 1;
	return sum;
}
