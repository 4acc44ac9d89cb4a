/* Where the workspaces of a server's tenants lie: see tenancy.h. */
#include "wire/tenancy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"
#include "wire/terms.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define FOLDER  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool rf_tenancy_is_name(const char *text)
{
	size_t len = strspn(text, LETTERS "-_");

	return len > 0 && len < RF_TENANCY_NAME && !text[len] && text[0] != '-' && text[0] != '_';
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
