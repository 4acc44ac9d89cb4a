/* Whether the system's names lead where they led: src/warden/stamp.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "warden/stamp.h"

static char top[] = "/tmp/rf-stamp-XXXXXX";
static char sources[3][64];
static struct rf_place places[] = {
	{ .kind = RF_PLACE_SYSTEM, .source = sources[0] },
	{ .kind = RF_PLACE_SYSTEM, .source = sources[1] },
	{ .kind = RF_PLACE_SYSTEM, .source = sources[2] },
};
static const struct rf_plan plan = { .places = places, .place_count = RF_LEN(places) };

static const char *at(const char *name)
{
	static char paths[4][96];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void settle(void)
{
	usleep(60000);
}

/* Others use the folder that ours is in, and a try during which they did says nothing. */
static int64_t time_of_common(void)
{
	struct stat st = { 0 };

	stat("/tmp", &st);
	return (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

/* A tree with a folder, a link, and a name in a folder that is not there. */
static void make_tree(void)
{
	RF_REQUIRE(mkdtemp(top), "a folder");
	snprintf(sources[0], sizeof(sources[0]), "%s/etc/certs", top);
	snprintf(sources[1], sizeof(sources[1]), "%s/lib", top);
	snprintf(sources[2], sizeof(sources[2]), "%s/pki/tls", top);
	RF_REQUIRE(mkdir(at("etc"), 0755) == 0 && mkdir(at("etc/certs"), 0755) == 0 &&
			   symlink("usr/lib", at("lib")) == 0,
		   "a tree");
}

static int remove_tree(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command); /* NOLINT(concurrency-mt-unsafe, cert-env33-c) */
}

static int replace_link(void)
{
	return symlink("elsewhere", at("new")) < 0 ? -1 : rename(at("new"), at("lib"));
}

static int replace_folder(void)
{
	return mkdir(at("etc/new"), 0755) < 0 ? -1 : rename(at("etc/new"), at("etc/certs"));
}

static int replace_parent(void)
{
	return rename(at("etc"), at("old")) < 0 || mkdir(at("etc"), 0755) < 0
		       ? -1
		       : mkdir(at("etc/certs"), 0755);
}

static int make_missing(void)
{
	return mkdir(at("pki"), 0755);
}

static int fill_folder(void)
{
	return mkdir(at("etc/certs/one"), 0755); /* which a box that shows the folder sees */
}

static int touch_nothing(void)
{
	return access(at("etc"), R_OK);
}

RF_TEST(a_name_that_leads_elsewhere_is_noticed)
{
	static const struct {
		const char *what;
		int (*change)(void);
		bool holds;
	} cases[] = {
		{ "nothing", touch_nothing, true },
		{ "another link", replace_link, false },
		{ "another folder", replace_folder, false },
		{ "another folder above it", replace_parent, false },
		{ "one that was missing", make_missing, false },
		{ "something inside", fill_folder, true },
	};

	for (size_t i = 0, tries = 0; i < RF_LEN(cases); tries++) {
		struct rf_stamp stamp;
		int64_t common;
		bool held, holds, is_changed;

		RF_REQUIRE(tries < 500, "/tmp is never left alone");
		snprintf(top, sizeof(top), "/tmp/rf-stamp-XXXXXX");
		make_tree();
		settle();
		common = time_of_common();
		rf_stamp_take(&stamp, &plan);
		held = rf_stamp_holds(&stamp);
		is_changed = cases[i].change() == 0;
		holds = rf_stamp_holds(&stamp);
		if (stamp.is_sure && common == time_of_common()) {
			RF_CHECK(held && is_changed && holds == cases[i].holds, "%s: %d %d %d",
				 cases[i].what, held, is_changed, holds);
			i++;
		}
		RF_CHECK(remove_tree() == 0, "the tree is gone");
	}
}

RF_TEST(what_was_changed_a_moment_ago_is_not_relied_on)
{
	struct rf_stamp stamp;

	make_tree();
	rf_stamp_take(&stamp, &plan);
	RF_CHECK(!rf_stamp_holds(&stamp), "it may change again within one tick");
	settle();
	RF_CHECK(!rf_stamp_holds(&stamp), "and this one does not get better");
	RF_CHECK(remove_tree() == 0, "the tree is gone");
}

RF_TEST(too_many_folders_are_not_relied_on)
{
	static struct rf_place deep[] = {
		{ .kind = RF_PLACE_SYSTEM, .source = "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r" },
	};
	const struct rf_plan many = { .places = deep, .place_count = 1 };
	struct rf_stamp stamp;

	rf_stamp_take(&stamp, &many);
	RF_CHECK(stamp.count == RF_STAMP_FOLDERS && !rf_stamp_holds(&stamp), "not sure");
}
