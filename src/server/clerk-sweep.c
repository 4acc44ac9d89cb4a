/* What a clerk that was killed has left: see clerk-sweep.h. */
#include "server/clerk-sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"
#include "server/clerk-quota.h"
#include "wire/tenancy.h"
#include "workspace/clear.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DIGITS 16
#define MOST   65536 /* at a time: the rest is for the next clerk */

/* One that is to go. */
struct rest {
	struct rest *next;
	int folder;   /* of its tenant */
	bool is_last; /* of those that share it, and closes it */
	char name[32];
};

/* clang-format off */
static const struct kind {
	const char *before, *digits;
	size_t least, most;
} kinds[] = {
	{ RF_CLERK_SWEEP_NEW,   "0123456789abcdef", DIGITS, DIGITS },
	{ RF_CLERK_SWEEP_GONE,  "0123456789abcdef", DIGITS, DIGITS },
	{ RF_TENANCY_USAGE "-", "0123456789",       1,      10     }, /* of a thread's number */
};
/* clang-format on */

static bool is_rest(const char *name)
{
	for (size_t i = 0; i < RF_LEN(kinds); i++) {
		const char *number = name + strlen(kinds[i].before);
		size_t len;

		if (strncmp(name, kinds[i].before, strlen(kinds[i].before)) != 0)
			continue;
		len = strspn(number, kinds[i].digits);
		if (len >= kinds[i].least && len <= kinds[i].most && !number[len])
			return true;
	}
	return false;
}

/* NULL where it can't be read: what is there stays. */
static DIR *open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, FOLDER);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);

	if (!opened && fd >= 0)
		close(fd);
	return opened;
}

/* All of one tenant's share a descriptor; the first that is listed is the last that goes. */
static void list_tenant(int tenants, const char *name, struct rest **rests, size_t *count)
{
	DIR *dir = open_dir(tenants, name);
	const struct dirent *entry;
	int folder = -1;

	while (dir && *count < MOST && (entry = readdir(dir))) {
		struct rest *rest = is_rest(entry->d_name) ? calloc(1, sizeof(*rest)) : NULL;

		if (!rest)
			continue;
		rest->is_last = folder < 0;
		if (folder < 0)
			folder = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0);
		rest->folder = folder;
		memcpy(rest->name, entry->d_name, strlen(entry->d_name) + 1);
		rest->next = *rests;
		*rests = rest;
		(*count)++;
	}
	if (dir)
		closedir(dir);
}

static struct rest *list_all(int tenants)
{
	DIR *dir = open_dir(tenants, ".");
	const struct dirent *entry;
	struct rest *rests = NULL;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "t-", 2) == 0)
			list_tenant(tenants, entry->d_name, &rests, &count);
	if (dir)
		closedir(dir);
	return rests;
}

static void *sweep(void *data)
{
	struct rest *rest = data;

	while (rest) {
		struct rest *next = rest->next;

		if (rest->folder >= 0)
			rf_clear(rest->folder, rest->name);
		if (rest->is_last && rest->folder >= 0) {
			rf_clerk_quota_again(rest->folder, NULL);
			close(rest->folder);
		}
		free(rest);
		rest = next;
	}
	return NULL;
}

/*
 * What is found while nobody else is there is nobody's: a name is never given again.  So the lock is had alone only for as long as it takes to list them.
 */
void rf_clerk_sweep_begin(void)
{
	static int lock = -1; /* until the process ends */
	struct rest *rests = NULL;
	pthread_t thread;

	lock = rf_statedir_open_in("tenants", true);
	if (lock < 0)
		return;
	if (flock(lock, LOCK_EX | LOCK_NB) == 0)
		rests = list_all(lock);
	flock(lock, LOCK_SH); /* whoever lists now is done in a moment */
	if (!rests)
		return;
	if (pthread_create(&thread, NULL, sweep, rests) == 0)
		pthread_detach(thread);
	else
		sweep(rests);
}
