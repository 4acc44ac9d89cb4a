/* $STATE: see statedir.h. */
#include "base/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passwd.h"

bool rf_statedir_path(char *path, size_t size)
{
	const char *xdg = secure_getenv("XDG_STATE_HOME");
	char *home;
	bool is_good;

	if (geteuid() == 0)
		return snprintf(path, size, RF_STATEDIR_OF_ROOT) > 0;
	if (xdg && xdg[0] == '/') /* others are to be ignored, says the specification */
		return snprintf(path, size, "%s/ringfort", xdg) < (int)size;
	home = rf_passwd_home(geteuid());
	is_good = home && strcmp(home, "/") != 0 &&
		  snprintf(path, size, "%s/.local/state/ringfort", home) < (int)size;
	free(home);
	return is_good;
}

static int open_own(int dir, const char *path)
{
	RF_AUTO_FD int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;
	return rf_fd_take(&fd);
}

/* Makes what leads to `path`, and it; what is there already stays as it is. */
static int make_all(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int rf_statedir_open(bool may_make)
{
	char path[4096];
	int code = 0;

	if (!rf_statedir_path(path, sizeof(path)))
		return -ENOENT;
	if (may_make && access(path, F_OK) < 0)
		code = make_all(path);
	return code < 0 ? code : open_own(AT_FDCWD, path);
}

int rf_statedir_open_in(const char *name, bool may_make)
{
	RF_AUTO_FD int state = rf_statedir_open(may_make);

	if (state < 0)
		return state;
	if (may_make && mkdirat(state, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open_own(state, name);
}
