/*
 * Shorter filters that say the same: src/jail/tighten.c.
 *
 * Random programs are run by the interpreter before and after.
 */
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/tighten.h"
#include "second-opinion.h"

#define PROGRAMS 3000
#define CALLS    60

/* The same sequence in every run, so that what fails can be repeated. */
static uint32_t pick(void)
{
	static uint32_t state = 20261116;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static struct sock_filter random_return(void)
{
	static const uint32_t actions[] = { ALLOW, REFUSE, ABSENT, KILL };

	return (struct sock_filter){ BPF_RET | BPF_K, 0, 0, actions[pick() % RF_LEN(actions)] };
}

static struct sock_filter random_load(void)
{
	uint32_t offset = (uint32_t)offsetof(struct seccomp_data, args) + 8u * (pick() % 3);

	if (pick() % 2)
		offset = offsetof(struct seccomp_data, nr);
	return (struct sock_filter){ BPF_LD | BPF_W | BPF_ABS, 0, 0, offset };
}

/* `left`: how many instructions come behind it. */
static struct sock_filter random_jump(size_t left)
{
	static const uint16_t kinds[] = { BPF_JEQ, BPF_JGE, BPF_JSET };
	size_t reach = left < 256 ? left : 256;

	if (pick() % 8 == 0)
		return (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, pick() % (uint32_t)left };
	return (struct sock_filter){ (uint16_t)(BPF_JMP | kinds[pick() % 3] | BPF_K),
				     (uint8_t)((size_t)pick() % reach),
				     (uint8_t)((size_t)pick() % reach), pick() % 8 };
}

static void make_program(struct rf_filter *filter, size_t len)
{
	filter->len = len;
	filter->code[0] = (struct sock_filter){ BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 };
	for (size_t i = 1; i + 1 < len; i++)
		filter->code[i] = pick() % 4 == 0   ? random_return()
				  : pick() % 4 == 0 ? random_load()
						    : random_jump(len - i - 1);
	filter->code[len - 1] = random_return();
}

static struct seccomp_data random_call(void)
{
	struct seccomp_data data = { .nr = (int)(pick() % 8), .arch = OUR_ARCH };

	for (int i = 0; i < 3; i++)
		data.args[i] = (uint64_t)pick() % 8;
	return data;
}

RF_TEST(a_tightened_program_answers_every_call_as_before)
{
	static struct rf_filter loose, tight;

	for (int i = 0; i < PROGRAMS; i++) {
		make_program(&loose, 2 + (size_t)pick() % (i % 10 == 0 ? 3000 : 60));
		tight = loose;
		rf_tighten_filter(&tight);
		RF_REQUIRE(tight.len > 0 && tight.len <= loose.len, "%zu of %zu", tight.len,
			   loose.len);
		for (int k = 0; k < CALLS; k++) {
			struct seccomp_data data = random_call();

			RF_REQUIRE(rf_opinion_run(&tight, &data) == rf_opinion_run(&loose, &data),
				   "program %d, number %d", i, data.nr);
		}
	}
}

RF_TEST(what_is_there_twice_stays_once)
{
	static struct rf_filter filter = { .code = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), /* a look at an argument... */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 6, 5, 0),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), /* ...and the same again */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 6, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
		BPF_STMT(BPF_RET | BPF_K, REFUSE),
	}, .len = 10 };

	rf_tighten_filter(&filter);
	RF_CHECK(filter.len == 7, "%zu instructions", filter.len);
}
