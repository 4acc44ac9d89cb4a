/*
 * Other file systems within a directory.
 *
 * Overlayfs shows what lies beneath a mount, which nobody was meant to see, and what is applied would be written into
 * the mount, which nobody changed.  So a directory with mounts in it is no workspace.  Which mounts there are says
 * /proc/self/mountinfo, for bind mounts of the same file system, too; those that other mounts hide have another parent
 * than the one our directory lies on, and don't count.
 */
#include "workspace/submount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"

#define FDINFO_MAX 1024

/* The mount that a descriptor lies on, or -1. */
static int64_t mount_of(int dir)
{
	char path[48], text[FDINFO_MAX];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dir);
	if (rf_fd_read_text(-1, path, text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, "mnt_id:");
	return at ? strtoll(at + strlen("mnt_id:"), NULL, 10) : -1;
}

/* Takes \040 and its like out of a path, in place. */
static void decode(char *path)
{
	char *to = path;

	for (const char *c = path; *c; c++) {
		if (*c == '\\' && strspn(c + 1, "01234567") >= 3) {
			*to++ = (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0'));
			c += 3;
		} else {
			*to++ = *c;
		}
	}
	*to = '\0';
}

/* The place of a mount that hangs on mount `on`, cut out of its line; NULL for others. */
static char *place_on(char *line, int64_t on)
{
	int64_t parent;
	int at = 0;

	if (sscanf(line, "%*u %" SCNd64 " %*s %*s %n", &parent, &at) != 1 || at == 0 ||
	    parent != on)
		return NULL;
	line[at + (int)strcspn(line + at, " ")] = '\0';
	decode(line + at);
	return line + at;
}

int rf_submount_refuse(int dir, const char *path, struct rf_err *err)
{
	int64_t on = mount_of(dir);
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	int code = 0;

	if (on < 0 || !mounts) {
		if (mounts)
			fclose(mounts);
		return rf_fail(err, -EIO, "see what is mounted in %s", path);
	}
	while (getline(&line, &room, mounts) > 0) {
		const char *place = place_on(line, on);

		if (!place || strcmp(place, path) == 0 || !rf_path_is_beneath(place, path))
			continue;
		rf_fail_say(err, -EXDEV, "another file system is mounted in it: %.150s", place);
		code = rf_fail_hint(err, "unmount it, or choose a directory beside it");
		break;
	}
	free(line);
	fclose(mounts);
	return code;
}
