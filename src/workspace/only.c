/* Which changes of an apply are meant: see only.h. */
#include "workspace/only.h"

#include <string.h>
#include <sys/stat.h>

/* A folder may be written with a slash behind it, as a shell completes it. */
bool rf_only_covers(const char *const *only, const char *path)
{
	for (; only && *only; only++) {
		size_t len = strlen(*only);

		while (len > 1 && (*only)[len - 1] == '/')
			len--;
		if (strcmp(*only, ".") == 0 ||
		    (strncmp(path, *only, len) == 0 && (path[len] == '/' || !path[len])))
			return true;
	}
	return false;
}

/* A folder on the way to what is meant has to be there for it; what else became of it is not meant. */
bool rf_only_is_way(const char *const *only, const struct rf_change *change)
{
	size_t len = strlen(change->path);

	if (!S_ISDIR(change->after.mode) || S_ISDIR(change->before.mode))
		return false;
	for (; *only; only++)
		if (strncmp(*only, change->path, len) == 0 && (*only)[len] == '/')
			return true;
	return false;
}

bool rf_only_is(const char *const *only, const char *path)
{
	for (; only && *only; only++)
		if (strcmp(*only, path) == 0)
			return true;
	return false;
}
