/* What profiles say of a call, written in front of the table's own verdict: see filter-writer.h. */
#include <errno.h>
#include <linux/seccomp.h>

#include "jail/filter-writer.h"

#define ALLOW  SECCOMP_RET_ALLOW
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define FAKE   SECCOMP_RET_ERRNO

/* Where a jump goes whose distance is known only later. */
#define TO_NEXT UINT8_MAX       /* the condition does not hold: to the next rule */
#define TO_HOLD (UINT8_MAX - 1) /* it does: behind it */

/* Compares both halves of an argument, the upper one first, since a filter loads only 32 bits. */
static void put_order(struct rf_filter_writer *w, const struct rf_ruleset_cond *cond)
{
	bool is_or_equal = cond->op == RF_RULESET_GE || cond->op == RF_RULESET_LT;
	bool is_less = cond->op == RF_RULESET_LT || cond->op == RF_RULESET_LE;
	uint8_t yes = is_less ? TO_NEXT : TO_HOLD, no = is_less ? TO_HOLD : TO_NEXT;
	uint32_t high = (uint32_t)(cond->value >> 32), low = (uint32_t)cond->value;

	rf_filter_load_high(w, cond->arg);
	rf_filter_put(w, BPF_JMP | BPF_JGT | BPF_K, yes, 0, high);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, 0, no, high);
	rf_filter_load_arg(w, cond->arg);
	rf_filter_put(w, BPF_JMP | (is_or_equal ? BPF_JGE : BPF_JGT) | BPF_K, yes, no, low);
}

static void put_half(struct rf_filter_writer *w, uint32_t mask, uint32_t value, uint8_t yes,
		     uint8_t no)
{
	if (mask != UINT32_MAX)
		rf_filter_put(w, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	rf_filter_put(w, BPF_JMP | BPF_JEQ | BPF_K, yes, no, value);
}

static void put_cond(struct rf_filter_writer *w, const struct rf_ruleset_cond *cond)
{
	uint64_t mask = cond->op == RF_RULESET_MASKED_EQ ? cond->value : UINT64_MAX;
	uint64_t value = cond->op == RF_RULESET_MASKED_EQ ? cond->two : cond->value;
	bool is_not = cond->op == RF_RULESET_NE;

	switch (cond->op) {
	case RF_RULESET_LT:
	case RF_RULESET_LE:
	case RF_RULESET_GE:
	case RF_RULESET_GT:
		put_order(w, cond);
		return;
	default:
		break;
	}
	if (mask >> 32) {
		rf_filter_load_high(w, cond->arg);
		put_half(w, (uint32_t)(mask >> 32), (uint32_t)(value >> 32), 0,
			 is_not ? TO_HOLD : TO_NEXT);
	}
	if ((uint32_t)mask) {
		rf_filter_load_arg(w, cond->arg);
		put_half(w, (uint32_t)mask, (uint32_t)value, is_not ? TO_NEXT : TO_HOLD,
			 is_not ? TO_HOLD : TO_NEXT);
	}
}

/* Turns the jumps `to` within [from, len) into ones that lead to `target`. */
static void settle(struct rf_filter_writer *w, size_t from, uint8_t to, size_t target)
{
	for (size_t i = from; i < w->filter->len && !w->is_full; i++) {
		struct sock_filter *in = &w->filter->code[i];
		uint8_t distance = (uint8_t)(target - i - 1);

		if (BPF_CLASS(in->code) != BPF_JMP || in->code == (BPF_JMP | BPF_JA))
			continue;
		if (in->jt == to)
			in->jt = distance;
		if (in->jf == to)
			in->jf = distance;
	}
}

/* Jumps that all lead to one place: each holds the index of the one before it, until it is known. */
struct jumps {
	size_t last; /* SIZE_MAX: none */
};

static void jump(struct rf_filter_writer *w, struct jumps *jumps)
{
	size_t at = w->filter->len;

	rf_filter_put(w, BPF_JMP | BPF_JA, 0, 0, (uint32_t)jumps->last);
	if (!w->is_full)
		jumps->last = at;
}

static void land(struct rf_filter_writer *w, const struct jumps *jumps)
{
	size_t at = jumps->last;

	while (at != SIZE_MAX && !w->is_full) {
		uint32_t before = w->filter->code[at].k;

		w->filter->code[at].k = (uint32_t)(w->filter->len - at - 1);
		at = before == UINT32_MAX ? SIZE_MAX : before;
	}
}

/* True if the table refuses a call whatever its arguments are.  To ask or to fake is something else. */
static bool is_refused(const struct rf_filter_leaf *leaf)
{
	return leaf->check == RF_CHECK_NONE && leaf->action != FAKE &&
	       (leaf->action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

/* What is left of the way of one call through the profiles. */
struct way {
	const struct rf_filter_leaf *leaf;
	size_t stage; /* the profile whose turn it is */
	struct jumps allowed, logged;
};

/* One instruction: the end, or a jump to where the call's way goes on. */
static void act(struct rf_filter_writer *w, struct way *way, uint32_t action)
{
	const struct rf_filter_leaf *leaf = way->leaf;
	bool is_ours = is_refused(leaf);

	/* Where both refuse, the table answers: ENOSYS makes programs fall back. */
	if (action == ALLOW || (is_ours && rf_ruleset_rank(action) == rf_ruleset_rank(REFUSE)))
		jump(w, &way->allowed);
	else if (action == SECCOMP_RET_LOG)
		jump(w, &way->logged);
	else
		rf_filter_ret(w, action);
}

static void put_stage(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf, size_t stage);

/* Goes on behind the profile, for those who came here by `jumps`. */
static void go_on(struct rf_filter_writer *w, const struct way *way, const struct jumps *jumps,
		  uint32_t allow)
{
	uint32_t before = w->allow;

	if (jumps->last == SIZE_MAX || w->is_full)
		return;
	land(w, jumps);
	if (allow)
		w->allow = allow;
	put_stage(w, way->leaf, way->stage + 1);
	w->allow = before;
}

/* The rules of one profile for one call, the strictest first, then its default, then the rest. */
static void put_stage(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf, size_t stage)
{
	struct way way = { leaf, stage, { SIZE_MAX }, { SIZE_MAX } };
	const struct rf_ruleset_rule *rules;
	size_t count;

	if (stage == w->ruleset_count) {
		rf_filter_put_verdict(w, leaf);
		return;
	}
	rules = rf_ruleset_rules(w->rulesets[stage], leaf->nr, &count);
	for (size_t i = 0; i < count && !w->is_full; i++) {
		size_t from = w->filter->len;

		for (uint32_t k = 0; k < rules[i].cond_count; k++) {
			size_t cond = w->filter->len;

			put_cond(w, &rules[i].conds[k]);
			settle(w, cond, TO_HOLD, w->filter->len);
		}
		act(w, &way, rules[i].action);
		settle(w, from, TO_NEXT, w->filter->len);
	}
	if (count == 0 || rules[count - 1].cond_count > 0)
		act(w, &way, w->rulesets[stage]->fallback);
	go_on(w, &way, &way.allowed, 0);
	go_on(w, &way, &way.logged, SECCOMP_RET_LOG);
}

void rf_filter_join_profiles(const struct rf_filter_writer *w, struct rf_filter_leaf *leaf)
{
	bool is_ours = is_refused(leaf);
	bool is_logged = false;

	for (size_t i = 0; i < w->ruleset_count; i++) {
		uint32_t action;

		if (!rf_ruleset_is_plain(w->rulesets[i], leaf->nr, &action)) {
			leaf->has_rules = true;
			return;
		}
		if (action == SECCOMP_RET_LOG) {
			is_logged = true;
		} else if (action != ALLOW &&
			   !(is_ours && rf_ruleset_rank(action) == rf_ruleset_rank(REFUSE))) {
			leaf->action = action;
			leaf->check = RF_CHECK_NONE;
			return;
		}
	}
	if (is_logged && leaf->check != RF_CHECK_NONE)
		leaf->has_rules = true;
	else if (is_logged && leaf->action == ALLOW)
		leaf->action = SECCOMP_RET_LOG;
}

void rf_filter_put_profiles(struct rf_filter_writer *w, const struct rf_filter_leaf *leaf)
{
	put_stage(w, leaf, 0);
}
