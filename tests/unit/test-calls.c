/* The table of system calls: src/jail/calls.c. */
#include <asm/unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/calls.h"

#define COMBINATION 16
#define MAX_STRICT  180 /* half of the 364 that Docker's default profile allows */
#define MAX_DEFAULT 250

/* Numbers newer than the headers of the oldest distribution that builds us. */
/* clang-format off */
static const struct rf_call newer[] = {
	{ "mount_setattr", 442 }, { "quotactl_fd", 443 }, { "landlock_create_ruleset", 444 },
	{ "landlock_add_rule", 445 }, { "landlock_restrict_self", 446 }, { "memfd_secret", 447 },
	{ "process_mrelease", 448 }, { "futex_waitv", 449 }, { "set_mempolicy_home_node", 450 },
	{ "cachestat", 451 }, { "fchmodat2", 452 }, { "map_shadow_stack", 453 }, { "futex_wake", 454 },
	{ "futex_wait", 455 }, { "futex_requeue", 456 }, { "statmount", 457 }, { "listmount", 458 },
	{ "lsm_get_self_attr", 459 }, { "lsm_set_self_attr", 460 }, { "lsm_list_modules", 461 },
	{ "mseal", 462 }, { "setxattrat", 463 }, { "getxattrat", 464 }, { "listxattrat", 465 },
	{ "removexattrat", 466 }, { "open_tree_attr", 467 }, { "file_getattr", 468 },
	{ "file_setattr", 469 },
#ifdef __x86_64__
	{ "uretprobe", 335 },
#endif
};
/* clang-format on */

static struct rf_call_options options_of(unsigned i)
{
	return (struct rf_call_options){
		.syscalls = i & 1 ? RF_SYSCALLS_STRICT : RF_SYSCALLS_DEFAULT,
		.has_inet = i & 2,
		.is_sampled = i & 4,
		.has_unix = i & 8,
	};
}

/* True if the table lets the call through, whatever it then looks at. */
static bool is_allowed(const char *name, unsigned combination)
{
	struct rf_call_options options = options_of(combination);

	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++)
			if (strcmp(rf_call_groups[g].calls[i].name, name) == 0)
				return rf_call_verdict(&rf_call_groups[g], &options) ==
				       RF_CALL_ALLOW;
	return false;
}

static size_t count_allowed(unsigned combination)
{
	struct rf_call_options options = options_of(combination);
	size_t count = 0;

	for (size_t g = 0; g < rf_call_group_count; g++)
		if (rf_call_verdict(&rf_call_groups[g], &options) == RF_CALL_ALLOW)
			count += rf_call_groups[g].count;
	return count;
}

RF_TEST(no_number_and_no_name_stands_in_the_table_twice)
{
	static const char *by_number[512]; /* what filter.c has room for */

	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];

		RF_CHECK(group->count > 0 && group->why[0], "group %zu says nothing", g);
		for (size_t i = 0; i < group->count; i++) {
			const struct rf_call *call = &group->calls[i];

			RF_REQUIRE(call->nr >= 0 && call->nr < (int)RF_LEN(by_number), "%s is %d",
				   call->name, call->nr);
			RF_CHECK(!by_number[call->nr], "%s and %s are both %d", call->name,
				 by_number[call->nr], call->nr);
			for (size_t k = 0; k < RF_LEN(by_number); k++)
				RF_CHECK(!by_number[k] || strcmp(by_number[k], call->name) != 0,
					 "%s is there twice", call->name);
			by_number[call->nr] = call->name;
		}
	}
}

/* The number that the kernel's headers give `name`, or -1. */
static int number_in(FILE *header, const char *name)
{
	char line[256], found[128];
	int nr;

	rewind(header);
	while (fgets(line, sizeof(line), header))
		if (sscanf(line, "#define __NR_%127s %d", found, &nr) == 2 &&
		    strcmp(found, name) == 0)
			return nr;
	return -1;
}

RF_TEST(names_and_numbers_are_those_of_the_kernels_headers)
{
	static const char *const headers[] = {
#ifdef __x86_64__
		"/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
		"/usr/include/asm/unistd_64.h",
#else
		"/usr/include/asm-generic/unistd.h",
#endif
	};
	FILE *header = NULL;

	for (size_t i = 0; i < RF_LEN(headers) && !header; i++)
		header = fopen(headers[i], "re");
	if (!header)
		RF_SKIP("the kernel's headers are not installed");
	RF_REQUIRE(number_in(header, "read") == __NR_read, "is this the right header?");
	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++) {
			const struct rf_call *call = &rf_call_groups[g].calls[i];
			int nr = number_in(header, call->name);

			for (size_t k = 0; k < RF_LEN(newer) && nr < 0; k++)
				if (strcmp(newer[k].name, call->name) == 0)
					nr = newer[k].nr;
#ifndef __x86_64__
			if (nr < 0) /* spelled through another macro there */
				continue;
#endif
			RF_CHECK(nr == call->nr, "%s is %d here and %d there", call->name, call->nr,
				 nr);
		}
	for (size_t k = 0; k < RF_LEN(newer); k++) {
		int nr = number_in(header, newer[k].name);

		RF_CHECK(nr < 0 || nr == newer[k].nr, "%s is %d", newer[k].name, nr);
	}
	fclose(header);
}

RF_TEST(tighter_options_never_allow_what_the_default_does_not)
{
	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		bool is_in_default = group->verdict == RF_CALL_ALLOW;

		RF_CHECK(is_in_default || group->in_strict != RF_CALL_ALLOW, "strict: %s",
			 group->why);
		RF_CHECK(is_in_default || group->in_sampled != RF_CALL_ALLOW, "sampled: %s",
			 group->why);
		RF_CHECK(is_in_default || group->in_floor == RF_CALL_ALLOW ||
				 group->check == RF_CHECK_NONE,
			 "checks what is refused: %s", group->why);
		for (unsigned c = 0; c < COMBINATION; c++) {
			struct rf_call_options options = options_of(c),
					       loose = options_of(c & (2 | 8));
			bool is_strict = options.syscalls == RF_SYSCALLS_STRICT;
			bool is_in = rf_call_verdict(group, &options) == RF_CALL_ALLOW;

			RF_CHECK(!is_in || rf_call_verdict(group, &loose) == RF_CALL_ALLOW,
				 "combination %u: %s", c, group->why);
			RF_CHECK(is_in == (is_in_default &&
					   (!is_strict || group->in_strict == RF_CALL_ALLOW) &&
					   (!options.is_sampled ||
					    group->in_sampled == RF_CALL_ALLOW)),
				 "combination %u: %s", c, group->why);
		}
	}
}

RF_TEST(the_table_allows_few_calls)
{
	size_t by_default = count_allowed(0), strict = count_allowed(1);

	printf("allowed: %zu by default, %zu strict, %zu sampled\n", by_default, strict,
	       count_allowed(4));
	RF_CHECK(by_default <= MAX_DEFAULT, "%zu by default", by_default);
	RF_CHECK(strict <= MAX_STRICT, "%zu under strict", strict);
	RF_CHECK(strict < by_default, "strict is no less");
	RF_CHECK(count_allowed(4) < by_default && count_allowed(5) <= strict, "sampled is no less");
}

/* Landlock does not see these, or they reach what is not the box's. */
RF_TEST(a_lesser_box_is_given_nothing_more_and_these_not_freely)
{
	static const char *const names[] = {
		"chmod",         "fchmod",    "fchmodat",
		"fchmodat2",     "utimensat", "utime",
		"utimes",        "chown",     "fchown",
		"fchownat",      "setxattr",  "fsetxattr",
		"mq_open",       "semget",    "msgget",
		"shmget",        "shmat",     "inotify_add_watch",
		"inotify_init1", "lsetxattr", "lremovexattr",
	};
	struct rf_call_options lesser = { .is_lesser = true }, with = lesser, full = { 0 };

	with.has_deputy = true;
	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, &lesser);

		RF_CHECK(verdict != RF_CALL_ASK, "nobody to ask: %s", group->why);
		RF_CHECK(verdict != RF_CALL_ALLOW || rf_call_verdict(group, &full) == RF_CALL_ALLOW,
			 "more than in a full box: %s", group->why);
		for (size_t i = 0; i < group->count; i++)
			for (size_t k = 0; k < RF_LEN(names); k++)
				RF_CHECK(strcmp(names[k], group->calls[i].name) != 0 ||
						 (verdict != RF_CALL_ALLOW &&
						  rf_call_verdict(group, &with) != RF_CALL_ALLOW),
					 "%s", names[k]);
	}
}

RF_TEST(dangerous_calls_are_allowed_under_no_options)
{
	/* clang-format off */
	static const char *const dangerous[] = {
		"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
		"fsconfig", "fsmount", "fspick", "mount_setattr", "open_tree_attr", "statmount",
		"listmount", "setns", "clone3", "name_to_handle_at", "open_by_handle_at", "bpf",
		"perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "process_vm_writev",
		"process_madvise", "process_mrelease", "pidfd_getfd", "kcmp", "migrate_pages",
		"move_pages", "get_robust_list", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter",
		"io_uring_register", "kexec_load", "kexec_file_load", "init_module", "finit_module",
		"delete_module", "create_module", "query_module", "get_kernel_syms", "reboot", "swapon",
		"swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "clock_settime",
		"settimeofday", "stime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname",
		"vhangup", "iopl", "ioperm", "modify_ldt", "uselib", "ustat", "sysfs", "_sysctl",
		"nfsservctl", "lookup_dcookie", "vmsplice", "fanotify_init", "fanotify_mark",
		"memfd_secret", "openat2", "map_shadow_stack", "lsm_set_self_attr", "sync",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(dangerous); i++)
		for (unsigned c = 0; c < COMBINATION; c++)
			RF_CHECK(!is_allowed(dangerous[i], c), "%s under combination %u",
				 dangerous[i], c);
}

RF_TEST(the_floor_allows_what_the_default_does_and_nothing_that_another_wall_stands_on)
{
	/* clang-format off */
	static const char *const never[] = {
		"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
		"fsconfig", "fsmount", "fspick", "mount_setattr", "open_tree_attr", "statmount",
		"listmount", "setns", "clone3", "openat2", "name_to_handle_at", "open_by_handle_at",
		"keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter",
		"io_uring_register", "bpf", "perf_event_open", "fanotify_init", "memfd_secret",
		"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
		"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
		"clock_settime", "settimeofday", "clock_adjtime", "adjtimex", "sethostname",
		"setdomainname", "vhangup", "iopl", "ioperm", "sync", "syncfs", "lsm_set_self_attr",
	};
	static const char *const more[] = { "ptrace", "process_vm_readv", "userfaultfd", "io_setup" };
	/* clang-format on */
	const struct rf_call_options floor = { .syscalls = RF_SYSCALLS_FLOOR };

	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		bool is_allowed = rf_call_verdict(group, &floor) == RF_CALL_ALLOW;

		RF_CHECK(is_allowed || group->verdict != RF_CALL_ALLOW, "%s", group->why);
		for (size_t i = 0; i < group->count; i++) {
			for (size_t k = 0; k < RF_LEN(never); k++)
				RF_CHECK(!is_allowed || strcmp(group->calls[i].name, never[k]) != 0,
					 "%s", never[k]);
			for (size_t k = 0; k < RF_LEN(more); k++)
				RF_CHECK(is_allowed || strcmp(group->calls[i].name, more[k]) != 0,
					 "%s", more[k]);
		}
	}
}

RF_TEST(names_are_found_by_number_and_numbers_by_name)
{
	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++) {
			const struct rf_call *call = &rf_call_groups[g].calls[i];

			RF_CHECK(rf_call_find(call->name) == call->nr, "%s", call->name);
			RF_CHECK(strcmp(rf_call_name(call->nr), call->name) == 0, "%d", call->nr);
			RF_CHECK(!rf_call_is_foreign(call->name), "%s is ours", call->name);
		}
	RF_CHECK(rf_call_find("") < 0 && rf_call_find("reed") < 0 && rf_call_find("READ") < 0,
		 "none");
	RF_CHECK(strcmp(rf_call_name(-1), "?") == 0 && strcmp(rf_call_name(511), "?") == 0, "none");
	RF_CHECK(rf_call_is_foreign("socketcall") && !rf_call_is_foreign("reed"), "foreign");
	RF_CHECK(rf_call_nearest("mkdirr") && strcmp(rf_call_nearest("mkdirr"), "mkdir") == 0,
		 "near");
	RF_CHECK(!rf_call_nearest("entirely_different_thing"), "far");
}

RF_TEST(exactly_the_calls_whose_arguments_matter_are_looked_at)
{
	/* clang-format off */
	static const struct { const char *name; enum rf_call_check want; } cases[] = {
		{ "fchmod",    RF_CHECK_MODE_1 },     { "chmod",       RF_CHECK_MODE_1 },
		{ "mkdir",     RF_CHECK_MODE_1 },     { "creat",       RF_CHECK_MODE_1 },
		{ "fchmodat",  RF_CHECK_MODE_2 },     { "fchmodat2",   RF_CHECK_MODE_2 },
		{ "mkdirat",   RF_CHECK_MODE_2 },     { "open",        RF_CHECK_OPEN },
		{ "openat",    RF_CHECK_OPENAT },     { "mknod",       RF_CHECK_NODE_1 },
		{ "mknodat",   RF_CHECK_NODE_2 },     { "clone",       RF_CHECK_CLONE },
		{ "unshare",   RF_CHECK_CLONE },      { "socket",      RF_CHECK_SOCKET },
		{ "socketpair", RF_CHECK_SOCKETPAIR }, { "ioctl",      RF_CHECK_IOCTL },
		{ "personality", RF_CHECK_PERSONALITY }, { "renameat2", RF_CHECK_RENAME },
		{ "fcntl",     RF_CHECK_FCNTL },      { "mmap",        RF_CHECK_HUGE },
		{ "memfd_create", RF_CHECK_HUGE },    { "shmget",      RF_CHECK_HUGE },
		{ "sched_setscheduler", RF_CHECK_SPARES_INIT }, { "sched_setaffinity", RF_CHECK_SPARES_INIT },
		{ "sched_setparam", RF_CHECK_SPARES_INIT }, { "sched_setattr", RF_CHECK_SPARES_INIT },
		{ "setpriority", RF_CHECK_SPARES_INITS }, { "ioprio_set", RF_CHECK_SPARES_INITS },
		{ "futex",     RF_CHECK_FUTEX },      { "prctl",       RF_CHECK_PRCTL },
		{ "setsockopt", RF_CHECK_SOCKET_OPTION },
		{ "sendto",    RF_CHECK_MESSAGE },    { "recvfrom",    RF_CHECK_MESSAGE },
		{ "sendmsg",   RF_CHECK_MESSAGE },    { "recvmsg",     RF_CHECK_MESSAGE },
		{ "sendmmsg",  RF_CHECK_MESSAGE },    { "recvmmsg",    RF_CHECK_MESSAGE },
		{ "landlock_restrict_self", RF_CHECK_LANDLOCK },
		{ "setrlimit", RF_CHECK_SETRLIMIT },  { "prlimit64",   RF_CHECK_PRLIMIT },
	};
	/* clang-format on */
	size_t looked_at = 0;

	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++) {
			const char *name = rf_call_groups[g].calls[i].name;
			enum rf_call_check want = RF_CHECK_NONE;

			for (size_t k = 0; k < RF_LEN(cases); k++)
				if (strcmp(cases[k].name, name) == 0)
					want = cases[k].want;
			RF_CHECK(rf_call_groups[g].check == want, "%s", name);
			RF_CHECK(rf_call_groups[g].check_in_lesser == RF_CHECK_NONE ||
					 strncmp(name, "sched_set", 9) == 0 ||
					 strcmp(name, "setpriority") == 0 ||
					 strcmp(name, "bind") == 0 ||
					 strcmp(name, "ioprio_set") == 0,
				 "a closer look at %s", name);
			looked_at += want != RF_CHECK_NONE;
		}
#ifdef __x86_64__
	RF_CHECK(looked_at == RF_LEN(cases), "%zu of %zu", looked_at, RF_LEN(cases));
#else
	RF_CHECK(looked_at > 0, "none");
#endif
}
