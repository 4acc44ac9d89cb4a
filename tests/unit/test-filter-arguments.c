/* What the system call filter looks at in arguments, beyond files, clones and sockets: src/jail/filter.c. */
#include <asm/unistd.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "filter-run.h"

RF_TEST(memory_is_not_of_the_hosts_pool_of_huge_pages)
{
	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (unsigned n = 0; n < 2 * 32; n++) {
			uint64_t flags = (n % 2 ? HIGH : 0) | 1ull << n / 2;
			uint32_t want = n / 2 == 18 ? REFUSE : ALLOW; /* MAP_HUGETLB */

			RF_CHECK(fate(&filter, __NR_mmap, 0, 4096, 3, flags) == want, "mmap %u",
				 n / 2);
		}
		/* Where they are not allowed at all, there is nothing to look at. */
		if (fate(&filter, __NR_memfd_create, 0, 0, 0, 0) == ALLOW)
			RF_CHECK(fate(&filter, __NR_memfd_create, 0, 4, 0, 0) == REFUSE, "memfd");
		if (fate(&filter, __NR_shmget, 0, 4096, 0, 0) == ALLOW)
			RF_CHECK(fate(&filter, __NR_shmget, 0, 4096, 04000, 0) == REFUSE, "shmget");
	}
}

RF_TEST(descriptors_take_no_leases_and_send_no_directory_signals)
{
	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (uint32_t n = 0; n < 2 * 1100; n++) {
			uint32_t command = n / 2; /* F_SETLEASE is 1024, F_NOTIFY 1026 */
			uint32_t want = command == 1024 || command == 1026 ? REFUSE : ALLOW;
			uint64_t above = n % 2 ? HIGH : 0;

			RF_CHECK(fate(&filter, __NR_fcntl, 0, above | command, 0, 0) == want,
				 "fcntl %u", command);
		}
	}
}

RF_TEST(terminals_can_be_used_but_not_typed_into_or_given_a_line_discipline)
{
	/* clang-format off */
	static const struct { const char *name; uint32_t request, want; } cases[] = {
		{ "TIOCSTI",    0x5412, REFUSE }, { "TIOCLINUX",  0x541c, REFUSE },
		{ "TIOCCONS",   0x541d, REFUSE }, { "TIOCSETD",   0x5423, REFUSE },
		{ "TCGETS",     0x5401, ALLOW },  { "TCSETS",     0x5402, ALLOW },
		{ "TIOCGWINSZ", 0x5413, ALLOW },  { "TIOCGPGRP",  0x540f, ALLOW },
		{ "FIONREAD",   0x541b, ALLOW },  { "FIONBIO",    0x5421, ALLOW },
		{ "TIOCGETD",   0x5424, ALLOW },  { "FICLONE", 0x40049409, ALLOW },
		{ "FIOCLEX",    0x5451, ALLOW },  { "SIOCGIFCONF", 0x8912, ALLOW },
		{ "TCGETS2", 0x802c542a, ALLOW }, { "TCSETSF2", 0x402c542d, ALLOW },
		{ "FICLONERANGE", 0x4020940d, ALLOW }, { "FS_IOC_GETFLAGS", 0x80086601, ALLOW },
		/* What a file system does beyond its calls. */
		{ "BTRFS_IOC_SNAP_CREATE",    0x50009401, NO_IOCTL },
		{ "BTRFS_IOC_SNAP_CREATE_V2", 0x50009417, NO_IOCTL },
		{ "BTRFS_IOC_SUBVOL_CREATE",  0x5000940e, NO_IOCTL },
		{ "FS_IOC_SETFLAGS",          0x40086602, NO_IOCTL },
		{ "FS_IOC_FSSETXATTR",        0x401c5820, NO_IOCTL },
		{ "FS_IOC_ENABLE_VERITY",     0x40806685, NO_IOCTL },
		{ "FIDEDUPERANGE",            0xc0189436, NO_IOCTL },
		{ "FITRIM",                   0xc0185879, NO_IOCTL },
		{ "TIOCGPTN's neighbour",     0x80045432, NO_IOCTL },
		{ "none",                     0,          NO_IOCTL },
		{ "NS_GET_USERNS",            0xb701,     REFUSE },
	};
	/* clang-format on */

	for (unsigned c = 0; c < ALL; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (size_t i = 0; i < RF_LEN(cases); i++)
			for (int bit = 31; bit < 64; bit++) {
				uint64_t above = bit > 31 ? 1ull << bit : 0;

				RF_CHECK(fate(&filter, __NR_ioctl, 0, above | cases[i].request, 0,
					      0) == cases[i].want,
					 "%s with %#llx above", cases[i].name,
					 (unsigned long long)above);
			}
	}
}

RF_TEST(where_a_tree_of_the_host_is_writable_it_gets_no_attributes_and_no_unwritten_space)
{
	/* clang-format off */
	static const struct { const char *name; int nr; bool is_new; } calls[] = {
		{ "setxattr", __NR_setxattr, false }, { "lsetxattr", __NR_lsetxattr, false },
		{ "fsetxattr", __NR_fsetxattr, false }, { "removexattr", __NR_removexattr, false },
		{ "lremovexattr", __NR_lremovexattr, false },
		{ "fremovexattr", __NR_fremovexattr, false }, { "fallocate", __NR_fallocate, false },
		{ "landlock_create_ruleset", 444, false }, { "landlock_add_rule", 445, false },
		{ "setxattrat", 463, true }, { "removexattrat", 466, true },
	};
	/* clang-format on */
	const uint32_t lacking = SECCOMP_RET_ERRNO | EOPNOTSUPP;
	struct rf_filter with, without, floor;

	build(TREES, &with);
	build(0, &without);
	build(TREES | FLOOR, &floor);
	for (size_t i = 0; i < RF_LEN(calls); i++) {
		uint32_t got = fate(&with, calls[i].nr, 3, 0, 0, 0);

		RF_CHECK(got == (calls[i].is_new ? ABSENT : lacking), "%s: %#x", calls[i].name,
			 got);
		got = fate(&without, calls[i].nr, 3, 0, 0, 0);
		RF_CHECK(got == (calls[i].is_new ? ABSENT : ALLOW), "%s: %#x", calls[i].name, got);
		got = fate(&floor, calls[i].nr, 3, 0, 0, 0);
		RF_CHECK(got == lacking, "%s under floor: %#x", calls[i].name, got);
	}
	RF_CHECK(fate(&with, __NR_getxattr, 3, 0, 0, 0) == ALLOW, "to read them is no harm");
	/* fallocate by its older names. */
	RF_CHECK(fate(&with, __NR_ioctl, 3, 0x40305828, 0, 0) == NO_IOCTL, "FS_IOC_RESVSP");
	RF_CHECK(fate(&with, __NR_ioctl, 3, HIGH | 0x4030582a, 0, 0) == NO_IOCTL, "RESVSP64");
	RF_CHECK(fate(&with, __NR_ioctl, 3, 0x40305839, 0, 0) == NO_IOCTL, "FS_IOC_ZERO_RANGE");
}

RF_TEST(a_full_box_has_terminals_of_its_own)
{
	for (unsigned c = 0; c < ALL; c++) {
		uint32_t want = options_of(c).is_lesser ? NO_IOCTL : ALLOW;
		struct rf_filter filter;

		build(c, &filter);
		RF_CHECK(fate(&filter, __NR_ioctl, 0, 0x80045430, 0, 0) == want, "TIOCGPTN");
		RF_CHECK(fate(&filter, __NR_ioctl, 0, 0x40045431, 0, 0) == want, "TIOCSPTLCK");
	}
}

RF_TEST(no_message_has_an_urgent_byte)
{
	static const int calls[] = { __NR_sendto,  __NR_recvfrom, __NR_sendmsg,
				     __NR_recvmsg, __NR_sendmmsg, __NR_recvmmsg };

	for (unsigned c = 0; c < ALL; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (size_t i = 0; i < RF_LEN(calls); i++)
			for (unsigned bit = 0; bit < 64; bit++) {
				bool is_third =
					calls[i] == __NR_sendmsg || calls[i] == __NR_recvmsg;
				uint64_t flags = 1ull << bit;
				uint32_t got =
					fate(&filter, calls[i], 3, 4096, is_third ? flags : 4096,
					     is_third ? 4097 : flags);

				/* Those of many at once are not in a short list. */
				RF_CHECK(got == (bit ? ALLOW : SECCOMP_RET_ERRNO | EOPNOTSUPP) ||
						 (i > 3 && got == ABSENT &&
						  options_of(c).syscalls == RF_SYSCALLS_STRICT),
					 "%s, bit %u: %#x", rf_call_name(calls[i]), bit, got);
			}
	}
}

RF_TEST(a_domain_of_its_own_hides_nothing_that_a_box_is_refused)
{
	for (unsigned c = 0; c < ALL; c++) {
		struct rf_filter filter;

		build(c, &filter);
		if (fate(&filter, 446, 3, 0, 0, 0) == ABSENT)
			continue;
		for (unsigned flags = 0; flags < 32; flags++)
			for (int above = 0; above < 2; above++)
				RF_CHECK(fate(&filter, 446, 3, (above ? HIGH : 0) | flags, 0, 0) ==
						 (flags == 0 || flags == 2
							  ? ALLOW
							  : SECCOMP_RET_ERRNO | EINVAL),
					 "flags %#x", flags);
	}
}

RF_TEST(personalities_are_the_ordinary_ones)
{
	/* clang-format off */
	static const struct { uint64_t persona; uint32_t want; } cases[] = {
		{ 0,          ALLOW }, { 8,         ALLOW }, { 0x40000,   ALLOW },
		{ 0xffffffff, ALLOW }, { HIGH | 8,  ALLOW }, { UINT64_MAX, ALLOW },
		{ 0x0400000,  REFUSE }, /* READ_IMPLIES_EXEC */
		{ 0x0100000,  REFUSE }, /* MMAP_PAGE_ZERO */
		{ 0x0200000,  REFUSE }, /* ADDR_COMPAT_LAYOUT */
		{ 0x0440000,  REFUSE }, { 1, REFUSE }, { 0x40008, REFUSE }, { 0xfffffffe, REFUSE },
		{ HIGH | 0x0400000, REFUSE },
	};
	/* clang-format on */

	for (unsigned c = 0; c < COMBINATION; c++) {
		bool is_strict = options_of(c).syscalls == RF_SYSCALLS_STRICT;
		struct rf_filter filter;

		build(c, &filter);
		for (size_t i = 0; i < RF_LEN(cases); i++)
			RF_CHECK(fate(&filter, __NR_personality, cases[i].persona, 0, 0, 0) ==
					 (is_strict ? REFUSE : cases[i].want),
				 "%#llx", (unsigned long long)cases[i].persona);
	}
}

RF_TEST(a_rename_leaves_no_whiteout)
{
	/* RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT and all the rest */
	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (int bit = 0; bit < 64; bit++) {
			const uint64_t args[6] = { [4] = 1ull << bit };
			struct seccomp_data data = call_of(__NR_renameat2, args);

			RF_CHECK(rf_opinion_run(&filter, &data) == (bit == 2 ? REFUSE : ALLOW),
				 "bit %d", bit);
			data.args[4] |= 4;
			RF_CHECK(rf_opinion_run(&filter, &data) == REFUSE, "bit %d and whiteout",
				 bit);
		}
	}
}

RF_TEST(the_limit_of_core_files_can_be_asked_for_but_not_set)
{
	static const uint64_t values[] = { 0, 1, 0x7fff00000000, 0x7fffffffe000, HIGH, UINT64_MAX };

	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (uint64_t n = 0; n < 2 * 20 * RF_LEN(values); n++) {
			uint64_t resource = n / 2 % 20, value = values[n / 40];
			uint64_t above = n % 2 ? HIGH : 0;
			uint32_t want = resource == 4 && value ? FAKE : ALLOW;

			RF_CHECK(fate(&filter, __NR_prlimit64, 0, above | resource, value, 1) ==
					 want,
				 "prlimit64 of %u to %#llx", (unsigned)resource,
				 (unsigned long long)value);
			RF_CHECK(fate(&filter, __NR_setrlimit, above | resource, value, 0, 0) ==
					 (resource == 4 ? FAKE : ALLOW),
				 "setrlimit of %u", (unsigned)resource);
		}
	}
}
