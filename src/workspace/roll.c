/* The names in a folder of ours: see roll.h. */
#include "workspace/roll.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "workspace/ledger.h"

static int is_visible(const struct dirent *entry)
{
	return rf_ledger_is_name(entry->d_name);
}

int rf_roll_each(int folder, const char *what, int (*fn)(void *data, const char *name), void *data,
		 struct rf_err *err)
{
	struct dirent **entries;
	char path[32];
	int count, code = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	count = scandir(path, &entries, is_visible, alphasort);
	if (count < 0)
		return rf_fail(err, -errno, "list the %s", what);
	for (int i = 0; i < count; i++) {
		if (code == 0)
			code = fn(data, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return code;
}
