/* What was seen of a workspace's directory: src/workspace/seen.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/seen.h"

static struct rf_seen_list list;

static void set(const char *path, uint64_t ino)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", path);
	RF_REQUIRE(rf_seen_set(&list, &(struct rf_seen){ .path = copy,
							 .mode = S_IFREG | 0644,
							 .ino = ino }) == 0,
		   "no memory");
}

RF_TEST(of_several_for_one_path_the_last_holds)
{
	static const struct {
		const char *path;
		uint64_t ino;
	} cases[] = { { "a", 5 }, { "b", 4 }, { "c", 3 } };

	set("b", 1);
	set("a", 2);
	set("c", 3);
	set("b", 4);
	set("a", 5);
	rf_seen_settle(&list);
	RF_CHECK(list.count == RF_LEN(cases), "%zu paths", list.count);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_seen *found = rf_seen_find(&list, cases[i].path);

		RF_CHECK(found && found->ino == cases[i].ino, "%s", cases[i].path);
	}
	RF_CHECK(!rf_seen_find(&list, "d") && !rf_seen_find(&list, ""), "one that is not there");
	rf_seen_done(&list);
}

RF_TEST(half_a_million_paths_in_the_worst_order_are_quick)
{
	char path[32];

	alarm(30); /* one by one it would be minutes */
	for (int i = 500000; i-- > 0;) {
		snprintf(path, sizeof(path), "folder/%06d", i);
		set(path, (uint64_t)i);
	}
	rf_seen_settle(&list);
	RF_CHECK(list.count == 500000 && rf_seen_find(&list, "folder/012345")->ino == 12345,
		 "%zu paths", list.count);
	rf_seen_done(&list);
}

RF_TEST(what_is_saved_is_loaded_again)
{
	struct rf_seen_list again;
	struct rf_err err = RF_ERR_INIT;
	char top[] = "/tmp/ringfort-seen-XXXXXX";
	RF_AUTO_FD int folder = -1;

	RF_REQUIRE(mkdtemp(top), "no folder");
	folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	set("z\n \xff%", 7);
	set("a", 9);
	list.items[0].since = 12;
	list.items[0].is_unsure = true;
	RF_CHECK(rf_seen_load(folder, "seen", &again, &err) == 0 && again.count == 0,
		 "a file that is not there");
	RF_REQUIRE(rf_seen_save(folder, "seen", &list, &err) == 0 &&
			   rf_seen_load(folder, "seen", &again, &err) == 0,
		   "%s", err.msg);
	RF_CHECK(again.count == 2 && strcmp(again.items[1].path, "z\n \xff%") == 0 &&
			 again.items[1].since == 12 && again.items[1].is_unsure &&
			 again.items[0].ino == 9,
		 "%zu paths", again.count);
	rf_seen_done(&again);
	rf_seen_done(&list);
	RF_CHECK(unlinkat(folder, "seen", 0) == 0 && rmdir(top) == 0, "%s stays", top);
}
