/* Writable trees in which nobody counts: see uncounted.h. */
#include "jail/uncounted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/path.h"

/* By the name in mountinfo (which may go on: fuse.sshfs, fuseblk) and by what statfs() calls it. */
/* clang-format off */
static const struct {
	const char *name;
	long magic;
} types[] = {
	{ "tmpfs",     0x01021994 },
	{ "devtmpfs",  0x01021994 },
	{ "ramfs",     0x858458f6 },
	{ "hugetlbfs", 0x958458f6 },
	{ "fuse",      0x65735546 },
	{ "virtiofs",  0x65735546 },
	{ "9p",        0x01021997 },
};
/* clang-format on */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Spaces and backslashes in paths are written as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
		    is_octal(from[3])) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

bool rf_uncounted_line(char *line, const char *source, char *path, size_t size,
		       const char **ret_type)
{
	char *rest = strstr(line, " - "), *type = rest ? rest + 3 : NULL, *point = line;

	if (!type)
		return false;
	for (int i = 0; i < 4; i++) { /* the mount point is the fifth word */
		point = strchr(point, ' ');
		if (!point || point >= rest)
			return false;
		point++;
	}
	point[strcspn(point, " ")] = '\0';
	unescape(point);
	if (!rf_path_is_beneath(point, source) || strcmp(point, source) == 0)
		return false;
	for (size_t i = 0; i < RF_LEN(types); i++)
		if (strncmp(type, types[i].name, strlen(types[i].name)) == 0) {
			snprintf(path, size, "%s", point);
			*ret_type = types[i].name;
			return true;
		}
	return false;
}

/* What is mounted within the tree, which the box gets with it. */
static bool find_within(const char *source, char *path, size_t size, const char **ret_type)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;

	while (mounts && !is_found && getline(&line, &room, mounts) > 0)
		is_found = rf_uncounted_line(line, source, path, size, ret_type);
	free(line);
	if (mounts) {
		fclose(mounts);
		return is_found;
	}
	snprintf(path, size, "%s", source);
	*ret_type = "unknown";
	return true;
}

static const char *type_of(const struct statfs *fs)
{
	for (size_t i = 0; i < RF_LEN(types); i++)
		if ((uint32_t)fs->f_type == (uint32_t)types[i].magic)
			return types[i].name;
	return NULL;
}

bool rf_uncounted_find(const struct rf_plan *plan, char *path, size_t size, const char **ret_type)
{
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];
		struct statfs fs;

		if (!rf_plan_is_written(place) || statfs(place->source, &fs) < 0)
			continue; /* what is not there is not shown, or the box fails for it */
		*ret_type = type_of(&fs);
		if (*ret_type) {
			snprintf(path, size, "%s", place->source);
			return true;
		}
		if (find_within(place->source, path, size, ret_type))
			return true;
	}
	return false;
}
