/* The sampler: what it sees of a process, and how long a box can go without a look. */
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/sample.h"

#define MS  1000000ull
#define MIB ((uint64_t)1 << 20)

RF_TEST(a_box_is_looked_at_before_it_can_have_filled_what_is_left)
{
	/* clang-format off */
	static const struct { uint64_t left, age; unsigned processors; uint64_t pause; } cases[] = {
		{ 0,           10000 * MS, 1,  10 * MS },  /* at the limit: as often as ever */
		{ 64 * MIB,    10000 * MS, 2,  10 * MS },
		{ 1024 * MIB,  10000 * MS, 1,  67108864 }, /* 16 bytes a nanosecond */
		{ 1024 * MIB,  10000 * MS, 2,  33554432 },
		{ 1024 * MIB,  10000 * MS, 64, 10 * MS },
		{ 1024 * MIB,  10000 * MS, 0,  67108864 },
		{ UINT64_MAX,  10000 * MS, 64, 100 * MS },
		{ UINT64_MAX,  800 * MS,   1,  50 * MS },  /* young: what it used is told afterwards */
		{ UINT64_MAX,  100 * MS,   1,  10 * MS },
		{ UINT64_MAX,  0,          1,  10 * MS },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_sample_pause(cases[i].left, cases[i].age, cases[i].processors) ==
				 cases[i].pause,
			 "case %zu", i);
}

/* A child that is in so many groups besides, has touched so much and waits. */
static pid_t start_with(uint64_t bytes, size_t groups)
{
	gid_t list[512];
	pid_t pid = fork();
	void *memory;

	if (pid != 0)
		return pid;
	for (size_t i = 0; i < groups; i++)
		list[i] = (gid_t)(1000000000 + i);
	if (groups > 0 && setgroups(groups, list) < 0)
		_exit(1);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, bytes);
	raise(SIGSTOP);
	_exit(0);
}

RF_TEST(memory_is_an_upper_bound_or_exact)
{
	const uint64_t bytes = 32 * MIB;
	pid_t pid = start_with(bytes, 0);
	struct rf_sample bound, exact;
	int status;

	RF_CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it waits");
	rf_sample_take(&(struct rf_sample_look){ .init = pid, .exact_above = UINT64_MAX }, &bound);
	rf_sample_take(&(struct rf_sample_look){ .init = pid }, &exact);
	RF_CHECK(exact.memory_bytes >= bytes && exact.memory_bytes < bytes + 8 * MIB, "exact: %llu",
		 (unsigned long long)exact.memory_bytes);
	RF_CHECK(bound.memory_bytes >= exact.memory_bytes, "bound: %llu",
		 (unsigned long long)bound.memory_bytes);
	kill(pid, SIGKILL);
	RF_CHECK(waitpid(pid, &status, 0) == pid, "it is gone");
	rf_sample_take(&(struct rf_sample_look){ .init = pid }, &exact);
	RF_CHECK(exact.memory_bytes == 0 && exact.pids == 0, "nothing is left");
}

/* A child that takes so much whenever it is let go, and waits. */
static pid_t start_greedy(uint64_t bytes)
{
	pid_t pid = fork();

	while (pid == 0) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory == MAP_FAILED)
			_exit(1);
		raise(SIGSTOP);
	}
	return pid;
}

RF_TEST(who_sleeps_is_known_and_who_works_is_looked_at)
{
	const uint64_t bytes = 8 * MIB;
	struct rf_sample_memo memo = { 0 };
	pid_t pid = start_greedy(bytes);
	const struct rf_sample_look look = { .init = pid,
					     .exact_above = UINT64_MAX,
					     .memo = &memo };
	struct rf_sample first, again, later;
	int status;

	RF_CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it waits");
	rf_sample_take(&look, &first);
	RF_CHECK(memo.count == 1 && memo.known[0].pid == pid && memo.known[0].own_ns > 0, "noted");
	memo.sample.pids = 77; /* tells a memory from a look */
	rf_sample_take(&look, &again);
	RF_CHECK(again.pids == 0 && memo.is_trusted, "once is not enough");
	memo.sample.pids = 77;
	rf_sample_take(&look, &again);
	RF_CHECK(again.pids == 77 && again.memory_bytes == first.memory_bytes, "remembered");
	kill(pid, SIGCONT);
	RF_CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it waits again");
	rf_sample_take(&look, &later);
	RF_CHECK(later.pids == 0 && later.memory_bytes >= first.memory_bytes + bytes,
		 "looked at: %llu after %llu", (unsigned long long)later.memory_bytes,
		 (unsigned long long)first.memory_bytes);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	rf_sample_take(&look, &later);
	RF_CHECK(later.memory_bytes == 0, "who has ended is not remembered");
}

/* Who is gone may have left something to somebody whose children were counted before: see sample.h. */
RF_TEST(where_somebody_is_about_to_be_gone_nothing_is_remembered)
{
	struct rf_sample_memo memo = { 0 };
	pid_t pid = fork();
	const struct rf_sample_look look = { .init = pid,
					     .exact_above = UINT64_MAX,
					     .memo = &memo };
	struct rf_sample sample;
	int status;

	if (pid == 0) {
		pid_t child = fork();
		siginfo_t info;

		if (child == 0)
			_exit(0);
		waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
		raise(SIGSTOP);
		_exit(0);
	}
	RF_CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it waits");
	for (int i = 0; i < 3; i++) {
		rf_sample_take(&look, &sample);
		RF_CHECK(!memo.is_trusted, "look %d", i);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

RF_TEST(who_is_in_many_groups_has_memory_too)
{
	const uint64_t bytes = 32 * MIB;
	struct rf_sample sample;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		RF_SKIP("only root chooses its groups");
	pid = start_with(bytes, 512);
	RF_CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it waits");
	rf_sample_take(&(struct rf_sample_look){ .init = pid, .exact_above = UINT64_MAX }, &sample);
	RF_CHECK(sample.memory_bytes >= bytes, "bound: %llu",
		 (unsigned long long)sample.memory_bytes);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
