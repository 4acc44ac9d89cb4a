/*
 * System call profiles from strangers: what is read is in order, does not stop pid 1, and becomes a
 * filter or too long a one; what is refused is told.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "jail/filter.h"
#include "jail/ruleset.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_rules(const struct rf_ruleset *ruleset, int nr)
{
	size_t count;
	const struct rf_ruleset_rule *rules = rf_ruleset_rules(ruleset, nr, &count);

	for (size_t i = 0; i < count; i++) {
		require(rules[i].nr == nr && rules[i].cond_count <= RF_RULESET_ARGS);
		require(rules[i].cond_count > 0 || i + 1 == count);
		if (i > 0)
			require(rf_ruleset_rank(rules[i - 1].action) <=
				rf_ruleset_rank(rules[i].action));
		for (uint32_t k = 0; k < rules[i].cond_count; k++)
			require(rules[i].conds[k].arg < RF_RULESET_ARGS &&
				(k == 0 || rules[i].conds[k - 1].arg < rules[i].conds[k].arg));
	}
}

/* Every jump goes forward and ends within the program, as the kernel demands, and the end returns. */
static void check_code(const struct rf_filter *filter)
{
	require(filter->len > 0 && filter->len <= RF_FILTER_MAX);
	for (size_t i = 0; i < filter->len; i++) {
		const struct sock_filter *in = &filter->code[i];

		if (BPF_CLASS(in->code) != BPF_JMP)
			continue;
		if (BPF_OP(in->code) == BPF_JA)
			require(in->k < filter->len - i - 1);
		else
			require(i + 1 + in->jt < filter->len && i + 1 + in->jf < filter->len);
	}
	require(BPF_CLASS(filter->code[filter->len - 1].code) == BPF_RET);
}

RF_FUZZ(data, size)
{
	static const struct rf_ruleset_facts facts = { 5, 10 };
	const struct rf_call_options options = { .syscalls = RF_SYSCALLS_DEFAULT };
	static struct rf_filter filter;
	struct rf_err err = RF_ERR_INIT;
	struct rf_ruleset *ruleset = NULL;
	const struct rf_ruleset *both[2];

	if (rf_ruleset_parse((const char *)data, size, &facts, &ruleset, &err) < 0) {
		require(err.code < 0 && err.msg[0] && !ruleset);
		return 0;
	}
	for (int nr = -1; nr <= RF_CALL_NUMBERS; nr++)
		check_rules(ruleset, nr);
	both[0] = both[1] = ruleset;
	for (size_t count = 1; count <= 2; count++) {
		int code = rf_filter_build(&options, both, count, &filter, &err);

		require(code == 0 || code == -E2BIG);
		if (code == 0)
			check_code(&filter);
	}
	rf_ruleset_free(ruleset);
	return 0;
}
