/*
 * Where a box's groups lie, read from what the kernel says: src/jail/cgroup.c.
 *
 * The file is included for its static functions, with a statfs() that says which version of cgroups
 * is mounted, so that every machine can play every other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

static int fake_statfs(const char *path, struct statfs *ret_fs);
#define statfs(path, fs) fake_statfs(path, fs)
#include "jail/cgroup.c"
#undef statfs

#include "harness.h"

static long mounted; /* what is mounted on /sys/fs/cgroup; 0: nothing */

static int fake_statfs(const char *path, struct statfs *ret_fs)
{
	RF_CHECK(strcmp(path, "/sys/fs/cgroup") == 0, "asked about %s", path);
	*ret_fs = (struct statfs){ 0 };
	ret_fs->f_type = (__typeof__(ret_fs->f_type))mounted;
	errno = ENOENT;
	return mounted ? 0 : -1;
}

#define VERSION_1 0x01021994 /* a tmpfs that holds the hierarchies */
#define VERSION_2 0x63677270

#define HYBRID                                                                                     \
	"12:pids:/user.slice/user-0.slice/session-1.scope\n"                                       \
	"11:memory:/user.slice/user-0.slice\n"                                                     \
	"10:cpu,cpuacct:/user.slice\n"                                                             \
	"9:net_cls,net_prio:/\n"                                                                   \
	"1:name=systemd:/user.slice/user-0.slice/session-1.scope\n"                                \
	"0::/user.slice/user-0.slice/session-1.scope\n"
#define CONTAINER_1                                                                                \
	"13:memory:/docker/0123abcd\n"                                                             \
	"5:cpuacct,cpu:/docker/0123abcd\n"                                                         \
	"2:pids:/docker/0123abcd\n"
#define SPLIT "4:cpuacct:/\n3:cpu:/a\n2:memory:/b:c\n1:cpuset:/\n"
#define NAMED "3:name=memory:/wrong\n2:memory_hotplug:/wrong\n1:xmemory,hugetlb:/wrong\n"

RF_TEST(the_callers_own_group_is_found_in_every_kind_of_hierarchy)
{
	/* clang-format off */
	static const struct { const char *text; long mounted; enum rf_group group; const char *want; } cases[] = {
		/* version 2 alone */
		{ "0::/\n",                  VERSION_2, RF_GROUP_UNIFIED, "/sys/fs/cgroup" },
		{ "0::/user.slice/x.scope\n", VERSION_2, RF_GROUP_UNIFIED, "/sys/fs/cgroup/user.slice/x.scope" },
		{ "0::/init.scope",          VERSION_2, RF_GROUP_UNIFIED, "/sys/fs/cgroup/init.scope" },
		{ "0::/a b/\xc3\xbc\n",      VERSION_2, RF_GROUP_UNIFIED, "/sys/fs/cgroup/a b/\xc3\xbc" },
		{ "0::/with:colons:in\n",    VERSION_2, RF_GROUP_UNIFIED, "/sys/fs/cgroup/with:colons:in" },
		{ "0::/x\n",                 VERSION_2, RF_GROUP_MEMORY,  NULL },
		{ "0::/memory\n",            VERSION_2, RF_GROUP_MEMORY,  NULL },
		/* both: version 2 has no controllers there, and lies in a folder of its own */
		{ HYBRID, VERSION_1, RF_GROUP_UNIFIED, "/sys/fs/cgroup/unified/user.slice/user-0.slice/session-1.scope" },
		{ HYBRID, VERSION_1, RF_GROUP_MEMORY,  "/sys/fs/cgroup/memory/user.slice/user-0.slice" },
		{ HYBRID, VERSION_1, RF_GROUP_PIDS,    "/sys/fs/cgroup/pids/user.slice/user-0.slice/session-1.scope" },
		{ HYBRID, VERSION_1, RF_GROUP_CPU,     "/sys/fs/cgroup/cpu,cpuacct/user.slice" },
		{ HYBRID, VERSION_1, RF_GROUP_CPUACCT, "/sys/fs/cgroup/cpu,cpuacct/user.slice" },
		{ "0::/x\n", 0,      RF_GROUP_UNIFIED, "/sys/fs/cgroup/unified/x" },
		/* version 1 in a container */
		{ CONTAINER_1, VERSION_1, RF_GROUP_UNIFIED, NULL },
		{ CONTAINER_1, VERSION_1, RF_GROUP_MEMORY,  "/sys/fs/cgroup/memory/docker/0123abcd" },
		{ CONTAINER_1, VERSION_1, RF_GROUP_PIDS,    "/sys/fs/cgroup/pids/docker/0123abcd" },
		{ CONTAINER_1, VERSION_1, RF_GROUP_CPU,     "/sys/fs/cgroup/cpuacct,cpu/docker/0123abcd" },
		/* each controller by itself, in the root and elsewhere */
		{ SPLIT, VERSION_1, RF_GROUP_CPU,     "/sys/fs/cgroup/cpu/a" },
		{ SPLIT, VERSION_1, RF_GROUP_CPUACCT, "/sys/fs/cgroup/cpuacct" },
		{ SPLIT, VERSION_1, RF_GROUP_MEMORY,  "/sys/fs/cgroup/memory/b:c" },
		{ SPLIT, VERSION_1, RF_GROUP_PIDS,    NULL },
		/* names that only look like ours */
		{ NAMED, VERSION_1, RF_GROUP_MEMORY,  NULL },
		{ "1:cpuset:/a\n", VERSION_1, RF_GROUP_CPU, NULL },
		/* nothing, and what no kernel writes */
		{ "",            VERSION_2, RF_GROUP_UNIFIED, NULL },
		{ "\n",          VERSION_2, RF_GROUP_UNIFIED, NULL },
		{ "0",           VERSION_2, RF_GROUP_UNIFIED, NULL },
		{ "0:",          VERSION_2, RF_GROUP_UNIFIED, NULL },
		{ "garbage\n",   VERSION_1, RF_GROUP_MEMORY,  NULL },
		{ ":::::\n",     VERSION_1, RF_GROUP_MEMORY,  NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char path[256] = "unset";
		bool is_found;

		mounted = cases[i].mounted;
		is_found = own_path(cases[i].text, cases[i].group, path, sizeof(path));
		RF_CHECK(is_found == (cases[i].want != NULL), "case %zu: %s", i, path);
		if (is_found && cases[i].want)
			RF_CHECK(strcmp(path, cases[i].want) == 0, "case %zu: %s", i, path);
	}
}

RF_TEST(a_path_that_does_not_fit_is_no_path)
{
	static const char root[] = "/sys/fs/cgroup";

	mounted = VERSION_2;
	for (size_t len = 1; len < 600; len++) {
		char text[700] = "0::/", path[256];
		bool is_found, fits = strlen(root) + len < sizeof(path);

		memset(text + 4, 'x', len - 1);
		text[3 + len] = '\n';
		is_found = own_path(text, RF_GROUP_UNIFIED, path, sizeof(path));
		RF_CHECK(is_found == fits, "a path of %zu bytes", len);
		if (is_found)
			RF_CHECK(strlen(path) == strlen(root) + (len > 1 ? len : 0), "%s", path);
	}
}

/* A process outside of its cgroup namespace's root is told a path with `..` in front. */
RF_TEST(a_path_that_leads_out_of_the_hierarchy_is_no_path)
{
	/* clang-format off */
	static const struct { const char *text; enum rf_group group; } cases[] = {
		{ "0::/..\n",                    RF_GROUP_UNIFIED },
		{ "0::/../other\n",              RF_GROUP_UNIFIED },
		{ "0::/../../system.slice/x\n",  RF_GROUP_UNIFIED },
		{ "4:memory:/../../..\n",        RF_GROUP_MEMORY },
		{ "4:pids:/a/../../../tmp\n",    RF_GROUP_PIDS },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char path[256] = "";

		mounted = cases[i].group == RF_GROUP_UNIFIED ? VERSION_2 : VERSION_1;
		RF_CHECK(!own_path(cases[i].text, cases[i].group, path, sizeof(path)), "%s", path);
	}
}

RF_TEST(a_list_names_whole_words_only)
{
	/* clang-format off */
	static const struct { const char *list, *word; bool is_named; } cases[] = {
		{ "cpu,cpuacct",         "cpu",     true },
		{ "cpu,cpuacct",         "cpuacct", true },
		{ "cpuacct,cpu",         "cpu",     true },
		{ "cpuacct",             "cpu",     false },
		{ "cpuset",              "cpu",     false },
		{ "cpu",                 "cpuacct", false },
		{ "memory",              "memory",  true },
		{ "cpuset cpu memory pids\n", "pids",   true }, /* cgroup.subtree_control */
		{ "cpuset cpu memory pids\n", "memory", true },
		{ "cpuset cpu memory pids\n", "io",     false },
		{ "",                    "memory",  false },
		{ "\n",                  "memory",  false },
		{ ",,memory",            "memory",  true },
		{ "name=memory",         "memory",  false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		/* On the heap and without room behind, so that the sanitizer sees a step too far. */
		char *list = strdup(cases[i].list);

		RF_CHECK(names(list, strlen(list), cases[i].word) == cases[i].is_named,
			 "'%s' in '%s'", cases[i].word, cases[i].list);
		free(list);
	}
	RF_CHECK(!names("cpuset:/memory", 6, "memory"), "it read past the list");
	RF_CHECK(names("cpu,memory:/x", 10, "memory"), "it missed the last of a list");
}

RF_TEST(figures_are_read_from_files_by_name)
{
	static const char text[] = "low 1\nhigh 2\nmax 30\noom 4\noom_kill 18446744073709551614\n"
				   "oom_group_kill 6\nempty \n";
	/* clang-format off */
	static const struct { const char *key; uint64_t want; } cases[] = {
		{ "low",            1 },
		{ "max",            30 },
		{ "oom",            4 },
		{ "oom_kill",       18446744073709551614ull },
		{ "oom_group_kill", 6 },
		{ "kill",           UINT64_MAX }, /* not the start of a line */
		{ "oom_",           UINT64_MAX },
		{ "nothing",        UINT64_MAX },
		{ "",               UINT64_MAX },
	};
	/* clang-format on */
	char place[] = "/tmp/rf-unit-cgroup-XXXXXX", file[64];
	RF_AUTO_FD int dir = -1, fd = -1;

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir, "events", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	RF_REQUIRE(rf_fd_write(fd, text, strlen(text)) == 0, "write");
	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(read_field(dir, "events", cases[i].key) == cases[i].want, "%s",
			 cases[i].key);
	RF_CHECK(read_field(dir, "absent", "low") == UINT64_MAX, "a file that is not there");
	RF_CHECK(read_field(-1, "events", "low") == UINT64_MAX, "a group that is not there");

	RF_CHECK(read_number(dir, "events") == UINT64_MAX, "no number at the start");
	RF_CHECK(read_number(-1, "events") == UINT64_MAX, "a group that is not there");
	RF_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, "4096\n", 5, 0) == 5, "write");
	RF_CHECK(read_number(dir, "events") == 4096, "a number");
	RF_CHECK(ftruncate(fd, 0) == 0, "write");
	RF_CHECK(read_number(dir, "events") == UINT64_MAX, "an empty file");
	RF_CHECK(read_field(dir, "events", "low") == UINT64_MAX, "an empty file");
	snprintf(file, sizeof(file), "%s/events", place);
	unlink(file);
	rmdir(place);
}

RF_TEST(one_directory_serves_two_controllers_only_if_it_is_the_same)
{
	/* clang-format off */
	static const struct { const char *group, *parent; bool is_shared; } cases[] = {
		{ "/sys/fs/cgroup/cpu,cpuacct/a/ringfort-1", "/sys/fs/cgroup/cpu,cpuacct/a",  true },
		{ "/sys/fs/cgroup/cpu/a/ringfort-1",         "/sys/fs/cgroup/cpuacct/a",      false },
		{ "/sys/fs/cgroup/cpu/ab/ringfort-1",        "/sys/fs/cgroup/cpu/a",          false },
		{ "",                                        "/sys/fs/cgroup/cpuacct",        false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(shares_directory(cases[i].group, cases[i].parent) == cases[i].is_shared,
			 "case %zu", i);
}

RF_TEST(a_box_without_groups_counts_nothing_and_ends_quietly)
{
	struct rf_cgroup cgroup;
	struct rf_cgroup_usage usage;

	rf_cgroup_init(&cgroup);
	rf_cgroup_usage(&cgroup, &usage);
	RF_CHECK(usage.memory_peak == UINT64_MAX && usage.cpu_ns == UINT64_MAX &&
			 usage.pids_peak == UINT64_MAX && usage.oom_kills == UINT64_MAX &&
			 usage.pids_refused == UINT64_MAX,
		 "figures from nowhere");
	RF_CHECK(rf_cgroup_cpu_ns(&cgroup) == UINT64_MAX, "processor time from nowhere");
	rf_cgroup_done(&cgroup);
	rf_cgroup_done(&cgroup);
}

/* ------------------------------------------------------------- groups that are passed */

/* A file of a group that a test makes in a folder of its own. */
static void put(const char *group, const char *file, const char *text)
{
	char path[512];
	RF_AUTO_FD int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	RF_REQUIRE(fd >= 0 && rf_fd_write(fd, text, strlen(text)) == 0, "write %s", path);
}

/* A group of version 2 as the kernel shows it; `procs` are those that live in it. */
static void make(const char *group, const char *procs)
{
	RF_REQUIRE(mkdir(group, 0700) == 0 || errno == EEXIST, "make %s", group);
	put(group, "cgroup.procs", procs);
	put(group, "cgroup.type", "domain\n");
	put(group, "cgroup.controllers", "cpuset cpu io memory pids\n");
	put(group, "cgroup.subtree_control", "");
	put(group, "memory.max", "max\n");
	put(group, "memory.high", "max\n");
	put(group, "pids.max", "max\n");
	put(group, "cpu.max", "max 100000\n");
}

static void remove_tree(const char *place)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	RF_CHECK(system(command) == 0, "%s", command);
}

RF_TEST(a_box_that_lies_outside_of_a_group_has_the_least_that_the_group_allows)
{
	/* clang-format off */
	static const struct {
		const char *group, *file, *text;
		struct rf_cgroup_limits want;
	} cases[] = {
		/* What is passed: the caller's own group, which has processes, and the one above it. */
		{ "a/b", "memory.max",  "67108864\n",    { 67108864, UINT64_MAX, UINT64_MAX, UINT64_MAX, false } },
		{ "a",   "memory.max",  "67108864\n",    { 67108864, UINT64_MAX, UINT64_MAX, UINT64_MAX, false } },
		{ "a/b", "memory.high", "4096\n",        { UINT64_MAX, 4096, UINT64_MAX, UINT64_MAX, false } },
		{ "a/b", "pids.max",    "7\n",           { UINT64_MAX, UINT64_MAX, 7, UINT64_MAX, false } },
		{ "a/b", "pids.max",    "0\n",           { UINT64_MAX, UINT64_MAX, 0, UINT64_MAX, false } },
		{ "a/b", "cpu.max",     "50000 100000\n", { UINT64_MAX, UINT64_MAX, UINT64_MAX, 50000, false } },
		{ "a",   "cpu.max",     "20000 10000\n",  { UINT64_MAX, UINT64_MAX, UINT64_MAX, 200000, false } },
		{ "a/b", "cpu.max",     "max 100000\n",   { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false } },
		/* What is not passed holds the box by itself. */
		{ "",    "memory.max",  "4096\n",        { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false } },
		/* What can't be understood may be a limit. */
		{ "a/b", "memory.max",  "",              { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "memory.max",  "much\n",        { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "pids.max",    "7 8\n",         { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "pids.max",    "99999999999999999999\n", { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "cpu.max",     "50000\n",       { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "cpu.max",     "50000 0\n",     { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
		{ "a/b", "cpu.max",     "50000 max\n",   { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
	};
	/* clang-format on */
	char place[] = "/tmp/rf-unit-cgroup-XXXXXX", group[300], path[256];

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_cgroup_limits passed;

		make(place, "");
		snprintf(group, sizeof(group), "%s/a", place);
		make(group, "12\n");
		snprintf(group, sizeof(group), "%s/a/b", place);
		make(group, "34\n");
		snprintf(group, sizeof(group), "%s/%s", place, cases[i].group);
		put(group, cases[i].file, cases[i].text);
		snprintf(path, sizeof(path), "%s/a/b", place);
		RF_CHECK(find_nearest(path, strlen(place), false, &passed), "case %zu", i);
		RF_CHECK(strcmp(path, place) == 0, "case %zu: %s", i, path);
		RF_CHECK(passed.memory_bytes == cases[i].want.memory_bytes &&
				 passed.high_bytes == cases[i].want.high_bytes &&
				 passed.pids == cases[i].want.pids &&
				 passed.cpu_us == cases[i].want.cpu_us &&
				 passed.is_unknown == cases[i].want.is_unknown,
			 "case %zu: %llu %llu %llu %llu %d", i,
			 (unsigned long long)passed.memory_bytes,
			 (unsigned long long)passed.high_bytes, (unsigned long long)passed.pids,
			 (unsigned long long)passed.cpu_us, passed.is_unknown);
		remove_tree(place);
	}
}

RF_TEST(of_several_groups_that_are_passed_the_least_counts_and_absent_controllers_do_not)
{
	char place[] = "/tmp/rf-unit-cgroup-XXXXXX", group[300], path[256], gone[320];
	struct rf_cgroup_limits passed;

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	make(place, "");
	snprintf(group, sizeof(group), "%s/a", place);
	make(group, "12\n");
	put(group, "memory.max", "1000\n");
	put(group, "pids.max", "5\n");
	snprintf(group, sizeof(group), "%s/a/b", place);
	make(group, "34\n");
	put(group, "memory.max", "2000\n");
	put(group, "pids.max", "3\n");
	snprintf(gone, sizeof(gone), "%s/cpu.max", group);
	RF_CHECK(unlink(gone) == 0, "unlink");
	snprintf(path, sizeof(path), "%s/a/b", place);
	RF_CHECK(find_nearest(path, strlen(place), false, &passed), "a group");
	RF_CHECK(passed.memory_bytes == 1000 && passed.pids == 3 && passed.cpu_us == UINT64_MAX &&
			 !passed.is_unknown,
		 "the least");
	/* A group that can't be looked at. */
	snprintf(path, sizeof(path), "%s/a/nowhere", place);
	RF_CHECK(find_nearest(path, strlen(place), false, &passed) && passed.is_unknown, "unknown");
	/* One that may have children itself is not passed, and neither is what lies above it. */
	put(group, "cgroup.procs", "");
	snprintf(path, sizeof(path), "%s/a/b", place);
	RF_CHECK(find_nearest(path, strlen(place), false, &passed) &&
			 !rf_cgroup_limits_are_set(&passed) && strcmp(path, group) == 0,
		 "%s", path);
	remove_tree(place);
}

RF_TEST(a_boxs_own_group_gets_the_lower_of_both)
{
	char place[] = "/tmp/rf-unit-cgroup-XXXXXX", text[64];
	struct rf_plan plan = { 0 };
	struct rf_cgroup cgroup;

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	make(place, "");
	rf_cgroup_init(&cgroup);
	cgroup.dirs[RF_GROUP_UNIFIED] = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	plan.limits[RF_LIMIT_MEMORY] = 1 << 20;
	plan.limits[RF_LIMIT_PIDS] = 10;
	plan.limits[RF_LIMIT_CPU] = RF_LIMIT_NONE;
	cgroup.passed = (struct rf_cgroup_limits){ 4096, 2048, 5, 50000, false };
	limit_unified(&cgroup, &plan);
	RF_CHECK(cgroup.has_memory && cgroup.has_pids && cgroup.has_cpu, "kept");
	RF_CHECK(read_number(cgroup.dirs[0], "memory.max") == 4096, "memory.max");
	RF_CHECK(read_number(cgroup.dirs[0], "memory.high") == 2048, "memory.high");
	RF_CHECK(read_number(cgroup.dirs[0], "pids.max") == 5, "pids.max");
	rf_fd_read_text(cgroup.dirs[0], "cpu.max", text, sizeof(text));
	RF_CHECK(strncmp(text, "50000 100000", 12) == 0, "cpu.max: %s", text);
	remove_tree(place);
	make(place, "");
	rf_fd_done(&cgroup.dirs[0]);
	cgroup.dirs[RF_GROUP_UNIFIED] = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	plan.limits[RF_LIMIT_CPU] = 20;
	cgroup.passed = (struct rf_cgroup_limits){ UINT64_MAX, UINT64_MAX, 100, 50000, false };
	limit_unified(&cgroup, &plan);
	RF_CHECK(read_number(cgroup.dirs[0], "memory.max") == 1 << 20, "the plan's");
	RF_CHECK(read_number(cgroup.dirs[0], "pids.max") == 11, "the plan's, and pid 1");
	rf_fd_read_text(cgroup.dirs[0], "cpu.max", text, sizeof(text));
	RF_CHECK(strncmp(text, "20000 100000", 12) == 0, "cpu.max: %s", text);
	rf_fd_done(&cgroup.dirs[0]);
	remove_tree(place);
}

RF_TEST(limits_of_version_1_are_read_as_well)
{
	char place[] = "/tmp/rf-unit-cgroup-XXXXXX";
	struct rf_cgroup_limits limits = RF_CGROUP_LIMITS_NONE;

	RF_REQUIRE(mkdtemp(place), "mkdtemp: %s", strerror(errno));
	put(place, "memory.limit_in_bytes", "9223372036854771712\n");
	put(place, "pids.max", "max\n");
	put(place, "cpu.cfs_quota_us", "-1\n");
	put(place, "cpu.cfs_period_us", "100000\n");
	for (int i = RF_GROUP_MEMORY; i <= RF_GROUP_CPU; i++)
		rf_cgroup_limits_note_v1(&limits, (enum rf_group)i, place);
	RF_CHECK(!rf_cgroup_limits_are_set(&limits), "none");
	put(place, "memory.limit_in_bytes", "4096\n");
	put(place, "pids.max", "3\n");
	put(place, "cpu.cfs_quota_us", "5000\n");
	put(place, "cpu.cfs_period_us", "10000\n");
	for (int i = RF_GROUP_MEMORY; i <= RF_GROUP_CPU; i++)
		rf_cgroup_limits_note_v1(&limits, (enum rf_group)i, place);
	RF_CHECK(limits.memory_bytes == 4096 && limits.pids == 3 && limits.cpu_us == 50000 &&
			 !limits.is_unknown,
		 "all of them");
	put(place, "cpu.cfs_period_us", "0\n");
	rf_cgroup_limits_note_v1(&limits, RF_GROUP_CPU, place);
	RF_CHECK(limits.is_unknown, "a period of nothing");
	remove_tree(place);
}

RF_TEST(two_texts_say_whether_a_group_is_the_same)
{
	/* clang-format off */
	static const struct { const char *theirs, *ours; enum rf_group group; bool is_same; } cases[] = {
		{ "4:memory:/a\n",  "4:memory:/a\n",   RF_GROUP_MEMORY,  true },
		{ "4:memory:/a\n",  "4:memory:/b\n",   RF_GROUP_MEMORY,  false },
		{ "4:memory:/a\n",  "4:memory:/ab\n",  RF_GROUP_MEMORY,  false },
		{ "4:memory:/..\n", "4:memory:/\n",    RF_GROUP_MEMORY,  false },
		{ "4:memory:/a\n",  "",                RF_GROUP_MEMORY,  false },
		{ "3:pids:/a\n",    "3:pids:/b\n",     RF_GROUP_MEMORY,  true }, /* there is none */
		{ "0::/a\n",        "0::/a\n",         RF_GROUP_UNIFIED, true },
		{ "0::/a\n",        "0::/b\n",         RF_GROUP_UNIFIED, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(is_same_group(cases[i].theirs, cases[i].ours, cases[i].group) ==
				 cases[i].is_same,
			 "case %zu", i);
}
