/* Which mounts within a tree are not counted. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/uncounted.h"

RF_TEST(mounts_in_memory_and_of_other_processes_are_found_within_a_tree_and_nowhere_else)
{
	/* clang-format off */
	static const struct { const char *line, *path, *type; } cases[] = {
		{ "36 35 0:40 / /srv/t/shm rw,nosuid shared:1 - tmpfs tmpfs rw", "/srv/t/shm", "tmpfs" },
		{ "36 35 0:40 / /srv/t/a\\040b rw - tmpfs none rw", "/srv/t/a b", "tmpfs" },
		{ "36 35 0:40 / /srv/t/back\\134slash rw - ramfs none rw", "/srv/t/back\\slash", "ramfs" },
		{ "36 35 0:40 / /srv/t/far rw - fuse.sshfs host:/ rw", "/srv/t/far", "fuse" },
		{ "36 35 0:40 / /srv/t/far rw - 9p share rw", "/srv/t/far", "9p" },
		{ "36 35 8:1 / /srv/t/disk rw - ext4 /dev/sda1 rw", NULL, NULL },
		{ "36 35 0:40 / /srv/t rw - tmpfs none rw", NULL, NULL },       /* the tree itself: statfs tells */
		{ "36 35 0:40 / /srv/tree rw - tmpfs none rw", NULL, NULL },
		{ "36 35 0:40 / /srv rw - tmpfs none rw", NULL, NULL },
		{ "36 35 0:40 / /srv/t/x", NULL, NULL },
		{ " - tmpfs", NULL, NULL },
		{ "1 2 3 - tmpfs", NULL, NULL },
		{ "", NULL, NULL },
		{ "36 35 0:40 / /srv/t/\\0 rw - tmpfs none rw", "/srv/t/\\0", "tmpfs" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char line[256], path[64] = "";
		const char *type = NULL;
		bool is_found;

		snprintf(line, sizeof(line), "%s", cases[i].line);
		is_found = rf_uncounted_line(line, "/srv/t", path, sizeof(path), &type);
		RF_CHECK(is_found == (cases[i].path != NULL), "%s", cases[i].line);
		RF_CHECK(!is_found || (strcmp(path, cases[i].path) == 0 &&
				       strcmp(type, cases[i].type) == 0),
			 "%s: %s, %s", cases[i].line, path, type);
	}
}
