/* $RUN: see rundir.h. */
#include "base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

bool rf_rundir_path(char *path, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[32];
	struct stat st;

	if (geteuid() == 0)
		return snprintf(path, size, RF_RUNDIR_OF_ROOT) > 0;
	/* Not set by su, cron and services, though the directory is mostly there. */
	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)geteuid());
	if (!runtime)
		runtime = usual;
	if (runtime[0] != '/' || lstat(runtime, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_mode & 077)
		return false;
	return snprintf(path, size, "%s/ringfort", runtime) < (int)size;
}

int rf_rundir_open(bool may_make)
{
	char path[4096];
	RF_AUTO_FD int run = -1;
	struct stat st;

	if (!rf_rundir_path(path, sizeof(path)))
		return -ENOENT;
	run = rf_fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	/* Mostly it is there; and another launcher may have been as far. */
	if (run < 0 && errno == ENOENT && may_make && (mkdir(path, 0700) == 0 || errno == EEXIST))
		run = rf_fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (run < 0 || fstat(run, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;
	return rf_fd_take(&run);
}
