/*
 * /proc/self/cgroup as no kernel would write it: the first byte says which group is looked for and
 * what is mounted, the rest is the text.  Whatever it is, a path that is found lies beneath
 * /sys/fs/cgroup, is one line, and fits.  The same text as a limit of a group: what is read as one has a digit, or is
 * "max" or negative, and so none.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

static int fake_statfs(const char *path, struct statfs *ret_fs);
#define statfs(path, fs) fake_statfs(path, fs)
#include "jail/cgroup.c"
#undef statfs
#include "jail/cgroup-limits.c"

#include "replay.h"

static bool is_unified;

static int fake_statfs(const char *path, struct statfs *ret_fs)
{
	(void)path;
	*ret_fs = (struct statfs){ 0 };
	ret_fs->f_type = is_unified ? CGROUP2_TYPE : 0;
	return 0;
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	static const size_t rooms[] = { 256, 64, 16, 1 };
	enum rf_group group = size ? (enum rf_group)(data[0] % 8 % RF_GROUP_COUNT) : 0;
	size_t room = rooms[size ? data[0] / 8 % RF_LEN(rooms) : 0];
	char *text = calloc(1, size + 1), *path = malloc(room);

	require(text && path);
	if (size > 1)
		memcpy(text, data + 1, size - 1); /* up to the first NUL, as a text is read */
	is_unified = size && data[0] / 64 % 2;
	if (own_path(text, group, path, room)) {
		require(memchr(path, '\0', room));
		require(strncmp(path, CGROUP_ROOT, strlen(CGROUP_ROOT)) == 0);
		require(!strchr(path, '\n'));
	}
	for (int i = RF_GROUP_MEMORY; i < RF_GROUP_COUNT; i++) {
		bool is_named = names(text, strlen(text), controllers[i]);

		require(!is_named || strstr(text, controllers[i]));
	}
	for (int i = 0; i < 2; i++) {
		uint64_t value = 0;

		if (i == 0 ? parse_amount(text, &value) : parse_share(text, &value))
			require(text[0] >= '0' && text[0] <= '9'
					? strpbrk(text, "0123456789") != NULL
					: value == UINT64_MAX);
	}
	free(path);
	free(text);
	return 0;
}
