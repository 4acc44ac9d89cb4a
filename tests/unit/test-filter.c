/*
 * The system call filter: src/jail/filter.c.
 *
 * The built program is run by a small interpreter and compared with a second opinion.  What the
 * interpreter does not know, the filter must not contain.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "filter-run.h"

/* ------------------------------------------------------------- numbers */

RF_TEST(every_number_meets_the_fate_that_the_table_gives_it)
{
	static const int far[] = {
		RF_FILTER_PROOF_NR - 1,
		RF_FILTER_PROOF_NR,
		RF_FILTER_PROOF_NR + 1,
		0x3fffffff,
		0x40000000,
		0x40000001,
		0x7fffffff,
		-1,
		-2,
		-0x7fffffff - 1,
	};
	static const uint64_t args[][6] = {
		{ 0 },
		{ 1, 1, 1, 1, 1, 1 },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
		{ HIGH, HIGH, HIGH, HIGH, HIGH, HIGH },
	};

	for (unsigned c = 0; c < ALL; c++) {
		struct rf_call_options options = options_of(c);
		struct rf_filter filter;

		build(c, &filter);
		for (int i = 0; i <= 600 + (int)RF_LEN(far); i++)
			for (size_t k = 0; k < RF_LEN(args); k++) {
				struct seccomp_data data =
					call_of(i <= 600 ? i : far[i - 601], args[k]);
				uint32_t got = rf_opinion_run(&filter, &data);

				RF_CHECK(got == rf_opinion(&options, &data), "%s: call %d.%zu: %#x",
					 spoken(&options), data.nr, k, got);
			}
	}
}

RF_TEST(well_known_calls_are_answered_as_programs_expect)
{
	enum {
		DEFAULT = 0,
		STRICT = 1,
		SAMPLED = 4
	};
	/* clang-format off */
	static const struct { const char *name; int nr; unsigned options; uint32_t want; } cases[] = {
		{ "read",           __NR_read,           DEFAULT, ALLOW },
		{ "read",           __NR_read,           STRICT,  ALLOW },
		{ "execve",         __NR_execve,         STRICT,  ALLOW },
		{ "exit_group",     __NR_exit_group,     STRICT,  ALLOW },
		{ "sync",           __NR_sync,           DEFAULT, FAKE },
		{ "sync",           __NR_sync,           STRICT,  FAKE },
		{ "clone3",         __NR_clone3,         DEFAULT, ABSENT }, /* libc tries clone then */
		{ "openat2",        __NR_openat2,        STRICT,  ABSENT },
		{ "io_uring_setup", __NR_io_uring_setup, DEFAULT, ABSENT },
		{ "keyctl",         __NR_keyctl,         DEFAULT, ABSENT },
		{ "mount",          __NR_mount,          DEFAULT, REFUSE },
		{ "ptrace",         __NR_ptrace,         STRICT,  REFUSE },
		{ "ptrace",         __NR_ptrace,         FLOOR,   ALLOW }, /* a profile decides */
		{ "ptrace",         __NR_ptrace,         FLOOR | SAMPLED, ALLOW },
		{ "shmget",         __NR_shmget,         FLOOR | SAMPLED, REFUSE },
		{ "mount",          __NR_mount,          FLOOR,   REFUSE },
		{ "io_uring_setup", __NR_io_uring_setup, FLOOR,   ABSENT }, /* past every look */
		{ "clone3",         __NR_clone3,         FLOOR,   ABSENT },
		{ "keyctl",         __NR_keyctl,         FLOOR,   ABSENT },
		{ "bpf",            __NR_bpf,            SAMPLED, REFUSE },
		{ "shmget",         __NR_shmget,         DEFAULT, ALLOW },
		{ "shmget",         __NR_shmget,         SAMPLED, REFUSE }, /* no sampler sees it */
		{ "shmget",         __NR_shmget,         STRICT,  REFUSE },
		{ "semget",         __NR_semget,         DEFAULT, ALLOW },
		{ "semget",         __NR_semget,         SAMPLED, ABSENT }, /* nor the kernel's memory */
		{ "msgget",         __NR_msgget,         SAMPLED, ABSENT },
		{ "mq_open",        __NR_mq_open,        DEFAULT, ABSENT }, /* as where there are none */
		{ "mq_open",        __NR_mq_open,        FLOOR | SAMPLED, ALLOW }, /* RLIMIT_MSGQUEUE holds it */
		{ "get_mempolicy",  __NR_get_mempolicy,  DEFAULT, ABSENT }, /* libnuma knows what to do */
		{ "inotify_init1",  __NR_inotify_init1,  DEFAULT, ALLOW },
		{ "inotify_init1",  __NR_inotify_init1,  STRICT,  ABSENT },
		{ "memfd_create",   __NR_memfd_create,   DEFAULT, ALLOW },
		{ "memfd_create",   __NR_memfd_create,   SAMPLED, ABSENT }, /* nor this */
		{ "mknodat",        __NR_mknodat,        DEFAULT, ALLOW },
		{ "mknodat",        __NR_mknodat,        STRICT,  REFUSE },
		{ "no call",        599,                 DEFAULT, ABSENT },
		{ "the proof",      RF_FILTER_PROOF_NR,  DEFAULT, PROOF },
		{ "the proof",      RF_FILTER_PROOF_NR,  STRICT | SAMPLED, PROOF },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_filter filter;
		uint32_t got;

		build(cases[i].options, &filter);
		got = fate(&filter, cases[i].nr, 0, 0, 0, 0);
		RF_CHECK(got == cases[i].want, "%s under %u: %#x", cases[i].name, cases[i].options,
			 got);
	}
}

RF_TEST(other_architectures_and_the_x32_entry_are_killed)
{
	static const uint32_t others[] = {
		AUDIT_ARCH_I386,    AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64,    0,
		UINT32_MAX,         OUR_ARCH ^ 1,   OUR_ARCH ^ (1u << 31),
#ifdef __x86_64__
		AUDIT_ARCH_AARCH64,
#else
		AUDIT_ARCH_X86_64,
#endif
	};

	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (int nr = 0; nr <= 600; nr++) {
			struct seccomp_data data = call_of(nr, NULL);

			for (size_t i = 0; i < RF_LEN(others); i++) {
				data.arch = others[i];
				RF_CHECK(rf_opinion_run(&filter, &data) == KILL,
					 "arch %#x, call %d", others[i], nr);
			}
#ifdef __x86_64__
			RF_CHECK(fate(&filter, nr | 0x40000000, 0, 0, 0, 0) == KILL, "x32 %d", nr);
#endif
		}
	}
}

/* ------------------------------------------------------------- arguments */

RF_TEST(a_setuid_or_setgid_bit_is_refused_wherever_a_mode_is_passed)
{
	/* clang-format off */
	static const struct { const char *name; int nr; unsigned mode_arg; uint64_t flags; } cases[] = {
		{ "fchmod",    __NR_fchmod,   1, 0 },
		{ "fchmodat",  __NR_fchmodat, 2, 0 },
		{ "fchmodat2", 452,           2, 0 },
		{ "mkdirat",   __NR_mkdirat,  2, 0 },
		{ "mknodat",   __NR_mknodat,  2, 0 },
		{ "openat with O_CREAT",   __NR_openat, 3, 0100 },
		{ "openat with O_TMPFILE", __NR_openat, 3, 020000000 },
		{ "openat with both and more", __NR_openat, 3, 020000000 | 0100 | 02 | 02000000 },
#ifdef __x86_64__
		{ "chmod",     __NR_chmod,    1, 0 },
		{ "mkdir",     __NR_mkdir,    1, 0 },
		{ "creat",     __NR_creat,    1, 0 },
		{ "mknod",     __NR_mknod,    1, 0 },
		{ "open with O_CREAT",     __NR_open,   2, 0100 },
		{ "open with O_TMPFILE",   __NR_open,   2, 020000000 },
#endif
	};
	/* clang-format on */
	struct rf_filter filter;

	build(0, &filter);
	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (uint32_t mode = 0; mode < 010000; mode++)
			for (int high = 0; high < 2; high++) {
				uint32_t want = mode & 06000 ? REFUSE : ALLOW;
				uint64_t args[6] = { 0 };
				struct seccomp_data data;

				args[cases[i].mode_arg] = mode | (high ? HIGH : 0);
				if (cases[i].flags)
					args[cases[i].mode_arg - 1] =
						cases[i].flags | (high ? HIGH : 0);
				data = call_of(cases[i].nr, args);
				RF_CHECK(rf_opinion_run(&filter, &data) == want, "%s: %04o%s",
					 cases[i].name, mode, high ? " with bits above" : "");
			}
}

RF_TEST(the_mode_of_an_open_that_makes_no_file_is_not_looked_at)
{
	/* O_DIRECTORY, which O_TMPFILE contains, makes none by itself. */
	static const uint64_t flags[] = { 0,       01,      02,        02000000, 0200000,
					  0400000, 0100000, 010000000, 01002000 };
	static const uint64_t garbage[] = { 06777, 04000, 02000, UINT64_MAX, HIGH | 06000 };
	struct rf_filter filter;

	build(0, &filter);
	for (size_t i = 0; i < RF_LEN(flags); i++)
		for (size_t k = 0; k < RF_LEN(garbage); k++) {
			RF_CHECK(fate(&filter, __NR_openat, 0, 0, flags[i], garbage[k]) == ALLOW,
				 "openat with flags %#llo", (unsigned long long)flags[i]);
#ifdef __x86_64__
			RF_CHECK(fate(&filter, __NR_open, 0, flags[i], garbage[k], 0) == ALLOW,
				 "open with flags %#llo", (unsigned long long)flags[i]);
#endif
		}
}

RF_TEST(only_plain_files_pipes_and_sockets_can_be_made_as_nodes)
{
	/* clang-format off */
	static const struct { uint32_t type, want; } cases[] = {
		{ 0,       ALLOW },  { 0010000, ALLOW },  { 0100000, ALLOW },  { 0140000, ALLOW },
		{ 0020000, REFUSE }, { 0060000, REFUSE }, { 0040000, REFUSE }, { 0120000, REFUSE },
		{ 0030000, REFUSE }, { 0050000, REFUSE }, { 0070000, REFUSE }, { 0170000, REFUSE },
	};
	/* clang-format on */
	struct rf_filter filter;

	build(0, &filter);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		uint64_t mode = cases[i].type | 0666;

		for (int high = 0; high < 2; high++, mode |= HIGH) {
			RF_CHECK(fate(&filter, __NR_mknodat, 0, 0, mode, 0) == cases[i].want,
				 "mknodat %#o", cases[i].type);
#ifdef __x86_64__
			RF_CHECK(fate(&filter, __NR_mknod, 0, mode, 0, 0) == cases[i].want,
				 "mknod %#o", cases[i].type);
#endif
		}
		RF_CHECK(fate(&filter, __NR_mknodat, 0, 0, cases[i].type | 04000, 0) == REFUSE,
			 "a setuid node of type %#o", cases[i].type);
	}
}

RF_TEST(no_bit_of_clone_or_unshare_makes_a_namespace)
{
	/* mnt, cgroup, uts, ipc, user, pid, net; and time, which for clone is part of a signal */
	static const uint32_t namespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 |
					   0x10000000 | 0x20000000 | 0x40000000;
	static const uint32_t thread = 0x003d0f00; /* what a libc passes for one */

	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (int bit = 0; bit < 32; bit++) {
			uint32_t flag = 1u << bit;
			uint32_t want = flag & namespaces ? REFUSE : ALLOW;
			uint32_t want_unshare = flag == 0x80 ? REFUSE : want;

			for (int high = 0; high < 2; high++) {
				uint64_t above = high ? HIGH : 0;

				RF_CHECK(fate(&filter, __NR_clone, above | flag, 0, 0, 0) == want,
					 "clone %#x", flag);
				RF_CHECK(fate(&filter, __NR_clone, above | thread | flag, 0, 0,
					      0) == want,
					 "clone of a thread with %#x", flag);
				RF_CHECK(fate(&filter, __NR_unshare, above | flag, 0, 0, 0) ==
						 want_unshare,
					 "unshare %#x", flag);
			}
		}
		RF_CHECK(fate(&filter, __NR_unshare, 0x400 | 0x200, 0, 0, 0) == ALLOW, "files, fs");
		RF_CHECK(fate(&filter, __NR_clone, 17 | 0x4100, 0, 0, 0) == ALLOW, "vfork");
	}
}

RF_TEST(sockets_are_those_of_the_plan_plain_tcp_and_udp_and_route_netlink)
{
	static const uint32_t flags[] = { 0, 02000000, 04000, 02004000 };
	/* ICMP, TCP, UDP, SCTP, UDP-Lite, raw, MPTCP; for netlink, those of its own */
	static const uint32_t protocols[] = {
		0, 1, 2, 4, 6, 9, 12, 15, 16, 17, 132, 136, 255, 262
	};

	for (unsigned c = 0; c < COMBINATION; c++) {
		bool has_inet = options_of(c).has_inet, has_unix = options_of(c).has_unix;
		struct rf_filter filter;

		build(c, &filter);
		for (uint32_t n = 0; n < 51 * 16 * RF_LEN(flags) * RF_LEN(protocols) * 2; n++) {
			uint64_t above = n % 2 ? HIGH : 0;
			uint32_t family = n / 2 % 51, type = n / 102 % 16;
			uint32_t with = flags[n / 1632 % RF_LEN(flags)];
			uint32_t protocol = protocols[n / 6528 % RF_LEN(protocols)];
			uint32_t got = fate(&filter, __NR_socket, above | family,
					    above | type | with, above | protocol, 0);
			bool is_inet = has_inet && (family == 2 || family == 10);
			bool is_plain = (type == 1 || type == 2) &&
					(protocol == 0 || protocol == 6 || protocol == 17);
			uint32_t want = is_inet ? REFUSE : NO_FAMILY;

			if ((has_unix && family == 1) || (is_inet && is_plain) ||
			    (has_inet && family == 16 && protocol == 0))
				want = ALLOW;
			RF_CHECK(got == want, "socket(%u, %u|%#x, %u): %#x", family, type, with,
				 protocol, got);
		}
	}
}

RF_TEST(pairs_of_sockets_are_unix_only_and_stay_pairs)
{
	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;

		build(c, &filter);
		for (uint32_t n = 0; n < 51 * 16 * 2; n++) {
			uint64_t above = n % 2 ? HIGH : 0;
			uint32_t family = n / 2 % 51, type = n / 102;
			bool is_pair = type == SOCK_STREAM || type == SOCK_SEQPACKET;
			uint32_t want = family != AF_UNIX ? NO_FAMILY : ALLOW;

			if (family == AF_UNIX && !is_pair && !options_of(c).has_unix)
				want = REFUSE;
			RF_CHECK(fate(&filter, __NR_socketpair, above | family, above | type, 0,
				      0) == want,
				 "family %u, type %u", family, type);
		}
	}
}

/* ------------------------------------------------------------- at random */

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Mostly values that some check knows, as pure noise would never meet one. */
static uint64_t random_argument(uint64_t *state)
{
	static const uint64_t known[] = {
		0,       1,       2,          6,       8,       10,         16,
		17,      0x5412,  0x541c,     0x541d,  0x5423,  0x40000,    020000000,
		0100,    0x80,    UINT32_MAX, 04755,   02755,   0755,       0644,
		0100644, 0020666, 0060660,    0140777, 0010600, 0x003d0f00,
	};
	uint64_t r = random_next(state), value = known[r / 16 % RF_LEN(known)];

	if (r % 16 == 0)
		return random_next(state);
	if (r % 16 == 1)
		value |= 1ull << random_next(state) % 32;
	if (r % 16 == 2)
		value ^= 1ull << random_next(state) % 64;
	if (r % 16 < 6)
		value |= random_next(state) << 32;
	return value;
}

static int random_number(uint64_t *state)
{
	uint64_t r = random_next(state);
	const struct rf_call_group *group = &rf_call_groups[r / 8 % rf_call_group_count];

	switch (r % 8) {
	case 0:
		return (int)(r >> 32);
	case 1:
		return (int)(r >> 32 & 1023);
	case 2:
		return RF_FILTER_PROOF_NR - 1 + (int)(r >> 32) % 2;
	default:
		return group->calls[(r >> 32) % group->count].nr;
	}
}

RF_TEST(random_calls_meet_the_fate_of_the_second_opinion)
{
	const char *given = getenv("RF_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) << 20 ^ getpid();
	static struct rf_filter filters[ALL];
	uint64_t state = seed;

	printf("RF_SEED=%llu\n", (unsigned long long)seed);
	for (unsigned c = 0; c < ALL; c++)
		build(c, &filters[c]);
	for (int n = 0; n < 400000; n++) {
		unsigned c = random_next(&state) % ALL;
		struct rf_call_options options = options_of(c);
		struct seccomp_data data = call_of(random_number(&state), NULL);
		uint32_t got, want;

		for (int i = 0; i < 6; i++)
			data.args[i] = random_argument(&state);
		if (random_next(&state) % 100 == 0)
			data.arch = (uint32_t)random_next(&state);
		got = rf_opinion_run(&filters[c], &data);
		want = rf_opinion(&options, &data);
		RF_REQUIRE(got == want,
			   "%s: arch %#x, call %d(%#llx, %#llx, %#llx, %#llx): %#x not %#x",
			   spoken(&options), data.arch, data.nr, (unsigned long long)data.args[0],
			   (unsigned long long)data.args[1], (unsigned long long)data.args[2],
			   (unsigned long long)data.args[3], got, want);
	}
}

/* ------------------------------------------------------------- as the kernel sees it */

RF_TEST(programs_pass_the_rules_of_the_kernels_checker_and_leave_room)
{
	for (unsigned c = 0; c < ALL; c++) {
		static bool is_reached[RF_FILTER_MAX + 1];
		struct rf_filter filter;

		build(c, &filter);
		printf("combination %u: %zu instructions\n", c, filter.len);
		RF_REQUIRE(filter.len > 0 && filter.len + MARGIN <= 1024, "%zu instructions",
			   filter.len);
		memset(is_reached, 0, sizeof(is_reached));
		is_reached[0] = true;
		for (size_t pc = 0; pc < filter.len; pc++) {
			const struct sock_filter *in = &filter.code[pc];
			size_t left = filter.len - pc - 1; /* instructions behind this one */
			bool is_jump = BPF_CLASS(in->code) == BPF_JMP;

			RF_CHECK(is_reached[pc], "%zu can't be reached", pc);
			if (in->code == (BPF_JMP | BPF_JA)) {
				RF_REQUIRE(in->k < left, "%zu jumps by %u", pc, in->k);
				is_reached[pc + 1 + in->k] = true;
			} else if (is_jump) {
				RF_REQUIRE(in->jt < left && in->jf < left, "%zu jumps out", pc);
				is_reached[pc + 1 + in->jt] = is_reached[pc + 1 + in->jf] = true;
			} else if (in->code != (BPF_RET | BPF_K)) {
				RF_REQUIRE(left > 0, "%zu runs out", pc);
				is_reached[pc + 1] = true;
			}
			if (BPF_CLASS(in->code) == BPF_LD)
				RF_CHECK(in->k % 4 == 0 && in->k < sizeof(struct seccomp_data),
					 "%zu loads %u", pc, in->k);
		}
		RF_CHECK(filter.code[filter.len - 1].code == (BPF_RET | BPF_K), "no end");
	}
}

/* In a child: loads the program and asks for the proof.  Ends with what went wrong. */
static int load_and_prove(const struct rf_filter *filter)
{
	struct sock_filter code[RF_FILTER_MAX];
	struct sock_fprog program = { .len = (unsigned short)filter->len, .filter = code };

	memcpy(code, filter->code, sizeof(code));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 2;
	if (syscall(RF_FILTER_PROOF_NR) != -1 || errno != RF_FILTER_PROOF_ERRNO)
		return 3;
	if (syscall(__NR_mount, "none", "/proc", "tmpfs", 0, NULL) != -1 || errno != EPERM)
		return 4;
	if (syscall(__NR_openat2, -1, "", NULL, 0) != -1 || errno != ENOSYS)
		return 5;
	if (syscall(__NR_sync) != 0)
		return 6;
	return 0;
}

RF_TEST(the_kernel_takes_the_program_and_answers_as_it_says)
{
	static const char *const failures[] = {
		"no_new_privs",    "loading the program", "the proof",
		"a refused mount", "an absent call",      "a faked call",
	};
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		RF_SKIP("no seccomp filters with KILL_PROCESS here: %s", strerror(errno));
	for (unsigned c = 0; c < COMBINATION; c++) {
		struct rf_filter filter;
		int status = -1;
		pid_t pid;

		build(c, &filter);
		pid = fork();
		if (pid == 0)
			_exit(load_and_prove(&filter));
		RF_REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
		RF_CHECK(WIFEXITED(status), "combination %u: killed by %d", c, WTERMSIG(status));
		RF_CHECK(WEXITSTATUS(status) == 0, "combination %u: %s", c,
			 failures[(WEXITSTATUS(status) - 1) % (int)RF_LEN(failures)]);
	}
}
