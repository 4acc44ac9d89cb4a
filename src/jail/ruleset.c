/*
 * A ruleset, once read: see ruleset.h.
 *
 * Put in order, checked against itself and against what pid 1 needs, and asked.
 */
#include "jail/ruleset.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "init/needs.h"
#include "init/orders.h"

#ifndef __NR_landlock_restrict_self /* 5.13 */
#define __NR_landlock_restrict_self 446
#endif

#define CONDS 256 /* conditions that are allocated at a time */

struct rf_ruleset_memory {
	struct rf_ruleset_memory *next;
	size_t used;
	struct rf_ruleset_cond conds[CONDS];
};

/* ------------------------------------------------------------- memory */

struct rf_ruleset_cond *rf_ruleset_conds(struct rf_ruleset *ruleset, size_t count)
{
	struct rf_ruleset_memory *block = ruleset->memory;

	if (!block || block->used + count > CONDS) {
		block = calloc(1, sizeof(*block));
		if (!block)
			return NULL;
		block->next = ruleset->memory;
		ruleset->memory = block;
	}
	block->used += count;
	return &block->conds[block->used - count];
}

int rf_ruleset_add(struct rf_ruleset *ruleset, const struct rf_ruleset_rule *rule,
		   struct rf_err *err)
{
	if (ruleset->count == RF_MAX_RULES)
		return rf_fail_at(err, rule->line, rule->column,
				  "more than %d rules, each name counted", RF_MAX_RULES);
	if (ruleset->count == ruleset->room) {
		size_t room = ruleset->room ? ruleset->room * 2 : 512;
		struct rf_ruleset_rule *rules =
			realloc(ruleset->rules, room * sizeof(*ruleset->rules));

		if (!rules)
			return rf_fail(err, -ENOMEM, "read the profile");
		ruleset->rules = rules;
		ruleset->room = room;
	}
	ruleset->rules[ruleset->count++] = *rule;
	return 0;
}

void rf_ruleset_free(struct rf_ruleset *ruleset)
{
	if (!ruleset)
		return;
	while (ruleset->memory) {
		struct rf_ruleset_memory *block = ruleset->memory;

		ruleset->memory = block->next;
		free(block);
	}
	free(ruleset->rules);
	free(ruleset->path);
	free(ruleset);
}

/* ------------------------------------------------------------- actions */

bool rf_ruleset_lets(uint32_t action)
{
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* The kernel compares actions as signed numbers; killing the process is the smallest. */
int rf_ruleset_rank(uint32_t action)
{
	static const uint32_t order[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
					  SECCOMP_RET_TRAP,         SECCOMP_RET_ERRNO,
					  SECCOMP_RET_LOG,          SECCOMP_RET_ALLOW };
	int rank = 0;

	while (rank < (int)RF_LEN(order) - 1 && order[rank] != (action & SECCOMP_RET_ACTION_FULL))
		rank++;
	return rank;
}

void rf_ruleset_spell(uint32_t action, char *text, size_t size)
{
	static const char *const words[] = {
		"kills the process",   "kills the thread", "SIGSYS", NULL,
		"allowed, and logged", "allowed"
	};
	const char *word = words[rf_ruleset_rank(action)];
	int number = (int)(action & SECCOMP_RET_DATA);

	if (word)
		snprintf(text, size, "%s", word);
	else if (number == 0)
		snprintf(text, size, "answered, not made");
	else if (strcmp(rf_err_name(number), "EOTHER") != 0)
		snprintf(text, size, "%s", rf_err_name(number));
	else
		snprintf(text, size, "errno %d", number);
}

/* ------------------------------------------------------------- order */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_conds(const struct rf_ruleset_rule *a, const struct rf_ruleset_rule *b)
{
	int order = compare_u64(a->cond_count, b->cond_count);

	for (uint32_t i = 0; i < a->cond_count && order == 0; i++) {
		const struct rf_ruleset_cond *x = &a->conds[i], *y = &b->conds[i];

		order = compare_u64(x->arg, y->arg);
		if (order == 0)
			order = compare_u64(x->op, y->op);
		if (order == 0)
			order = compare_u64(x->value, y->value);
		if (order == 0)
			order = compare_u64(x->two, y->two);
	}
	return order;
}

static int compare_places(const struct rf_ruleset_rule *a, const struct rf_ruleset_rule *b)
{
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

/* Equal conditions of one call side by side, in the order of the text. */
static int by_conds(const void *a, const void *b)
{
	const struct rf_ruleset_rule *x = a, *y = b;
	int order = x->nr < y->nr ? -1 : x->nr > y->nr;

	if (order == 0)
		order = compare_conds(x, y);
	return order ? order : compare_places(x, y);
}

static int by_strictness(const void *a, const void *b)
{
	const struct rf_ruleset_rule *x = a, *y = b;
	int order = x->nr < y->nr ? -1 : x->nr > y->nr;

	if (order == 0)
		order = rf_ruleset_rank(x->action) - rf_ruleset_rank(y->action);
	return order ? order : compare_places(x, y);
}

static int fail_contradiction(const struct rf_ruleset_rule *a, const struct rf_ruleset_rule *b,
			      const char *how, struct rf_err *err)
{
	const struct rf_ruleset_rule *first = compare_places(a, b) < 0 ? a : b;
	const struct rf_ruleset_rule *second = first == a ? b : a;
	char one[40], two[40];

	rf_ruleset_spell(first->action, one, sizeof(one));
	rf_ruleset_spell(second->action, two, sizeof(two));
	rf_fail_at(err, second->line, second->column,
		   "`%s` has two fates%s: \"%s\" in line %d, column %d, and \"%s\" here",
		   rf_call_name(second->nr), how, one, first->line, first->column, two);
	return rf_fail_hint(err, "keep the rule that is meant");
}

/* Drops what is said twice; the same said differently is an error. */
static int drop_repeats(struct rf_ruleset *ruleset, struct rf_err *err)
{
	struct rf_ruleset_rule *rules = ruleset->rules;
	size_t kept = 0;

	if (ruleset->count > 1)
		qsort(rules, ruleset->count, sizeof(*rules), by_conds);
	for (size_t i = 0; i < ruleset->count; i++) {
		const struct rf_ruleset_rule *last = kept ? &rules[kept - 1] : NULL;

		if (last && last->nr == rules[i].nr && compare_conds(last, &rules[i]) == 0) {
			if (last->action != rules[i].action && !last->is_special &&
			    !rules[i].is_special)
				return fail_contradiction(last, &rules[i], "", err);
			if (rf_ruleset_rank(rules[i].action) < rf_ruleset_rank(last->action))
				rules[kept - 1] = rules[i];
			continue;
		}
		rules[kept++] = rules[i];
	}
	ruleset->count = kept;
	return 0;
}

/*
 * An unconditional rule ends the list of its call: what is as strict or less can't be reached.  A
 * rule that would let more through, and never gets to, was meant otherwise.
 */
static int drop_unreachable(struct rf_ruleset *ruleset, struct rf_err *err)
{
	struct rf_ruleset_rule *rules = ruleset->rules;
	const struct rf_ruleset_rule *end = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < ruleset->count; i++) {
		struct rf_ruleset_rule rule = rules[i];

		if (end && end->nr == rule.nr) {
			if (end->action != rule.action && !end->is_special && !rule.is_special)
				return fail_contradiction(end, &rule,
							  " where the arguments of one fit", err);
			continue;
		}
		rules[kept] = rule;
		if (rule.cond_count == 0)
			end = &rules[kept];
		kept++;
	}
	ruleset->count = kept;
	return 0;
}

static void index_numbers(struct rf_ruleset *ruleset)
{
	size_t at = 0;

	for (int nr = 0; nr <= RF_CALL_NUMBERS; nr++) {
		while (at < ruleset->count && ruleset->rules[at].nr < nr)
			at++;
		ruleset->first[nr] = at;
	}
}

const struct rf_ruleset_rule *rf_ruleset_rules(const struct rf_ruleset *ruleset, int nr,
					       size_t *ret_count)
{
	*ret_count = 0;
	if (nr >= 0 && nr < RF_CALL_NUMBERS)
		*ret_count = ruleset->first[nr + 1] - ruleset->first[nr];
	return *ret_count ? ruleset->rules + ruleset->first[nr] : NULL;
}

bool rf_ruleset_is_plain(const struct rf_ruleset *ruleset, int nr, uint32_t *ret_action)
{
	size_t count;
	const struct rf_ruleset_rule *rules = rf_ruleset_rules(ruleset, nr, &count);
	uint32_t action = ruleset->fallback;

	if (count > 0 && rules[count - 1].cond_count == 0)
		action = rules[--count].action;
	for (size_t i = 0; i < count; i++)
		if (rules[i].action != action)
			return false;
	*ret_action = action;
	return true;
}

bool rf_ruleset_holds(const struct rf_ruleset_cond *cond, uint64_t arg)
{
	switch (cond->op) {
	case RF_RULESET_NE:
		return arg != cond->value;
	case RF_RULESET_LT:
		return arg < cond->value;
	case RF_RULESET_LE:
		return arg <= cond->value;
	case RF_RULESET_EQ:
		return arg == cond->value;
	case RF_RULESET_GE:
		return arg >= cond->value;
	case RF_RULESET_GT:
		return arg > cond->value;
	case RF_RULESET_MASKED_EQ:
		return (arg & cond->value) == cond->two;
	}
	return false;
}

/* ------------------------------------------------------------- what pid 1 needs */

struct need {
	int nr;
	bool has_first; /* its first argument is known */
	uint64_t first;
};

/* 1: the rule fits whatever the unknown arguments are; 0: it may; -1: it does not. */
static int fits(const struct rf_ruleset_rule *rule, const struct need *need)
{
	int sure = 1;

	for (uint32_t i = 0; i < rule->cond_count; i++) {
		const struct rf_ruleset_cond *cond = &rule->conds[i];

		if (cond->arg != 0 || !need->has_first)
			sure = 0;
		else if (!rf_ruleset_holds(cond, need->first))
			return -1;
	}
	return sure;
}

/* True if nothing that pid 1 can pass would be let through. */
static bool is_refused(const struct rf_ruleset *ruleset, const struct need *need)
{
	size_t count;
	const struct rf_ruleset_rule *rules = rf_ruleset_rules(ruleset, need->nr, &count);

	for (size_t i = 0; i < count; i++) {
		int fit = fits(&rules[i], need);

		if (fit >= 0 && rf_ruleset_lets(rules[i].action))
			return false;
		if (fit > 0)
			return true;
	}
	return !rf_ruleset_lets(ruleset->fallback);
}

/* clang-format off */
#define CALL(name)             { __NR_##name, false, 0 },
#define CALL_WITH(name, first) { __NR_##name, true, (uint64_t)(first) },
static const struct need box_needs[] = {
	RF_NEEDS_CHILD(CALL, CALL_WITH)
	RF_NEEDS_INIT(CALL, CALL_WITH)
};
static const struct need terminal_needs[] = { RF_NEEDS_TERMINAL(CALL, CALL_WITH) };
static const struct need lesser_needs[] = { RF_NEEDS_LESSER(CALL, CALL_WITH) };
#undef CALL
#undef CALL_WITH
/* clang-format on */

static int check_needs(const struct rf_ruleset *ruleset, const struct need *needs, size_t count,
		       struct rf_err *err)
{
	bool is_named[RF_CALL_NUMBERS] = { false };
	char names[112] = "";
	size_t len = 0, more = 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = rf_call_name(needs[i].nr);

		if (is_named[needs[i].nr] || !is_refused(ruleset, &needs[i]))
			continue;
		is_named[needs[i].nr] = true;
		if (len + strlen(name) + 2 > sizeof(names))
			more++;
		else
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? " " : "", name);
	}
	if (len == 0)
		return 0;
	if (more > 0)
		rf_fail_say(err, -EINVAL, "the box's own pid 1 needs %s and %zu more", names, more);
	else
		rf_fail_say(err, -EINVAL, "the box's own pid 1 needs %s", names);
	return rf_fail_hint(err, "allow them in the profile, no box starts without; "
				 "docs/seccomp.md has the whole list");
}

/* ------------------------------------------------------------- the whole */

int rf_ruleset_parse(const char *text, size_t len, const struct rf_ruleset_facts *facts,
		     struct rf_ruleset **ret_ruleset, struct rf_err *err)
{
	struct rf_ruleset *ruleset = calloc(1, sizeof(*ruleset));

	if (!ruleset)
		return rf_fail(err, -ENOMEM, "read the profile");
	if (rf_ruleset_read(ruleset, text, len, facts, err) < 0 || drop_repeats(ruleset, err) < 0)
		goto fail;
	if (ruleset->count > 1)
		qsort(ruleset->rules, ruleset->count, sizeof(*ruleset->rules), by_strictness);
	if (drop_unreachable(ruleset, err) < 0)
		goto fail;
	index_numbers(ruleset);
	if (check_needs(ruleset, box_needs, RF_LEN(box_needs), err) < 0)
		goto fail;
	*ret_ruleset = ruleset;
	return 0;
fail:
	rf_ruleset_free(ruleset);
	return err->code;
}

int rf_ruleset_check(const struct rf_ruleset *ruleset, bool is_lesser, bool has_terminal,
		     struct rf_err *err)
{
	if ((is_lesser && check_needs(ruleset, lesser_needs, RF_LEN(lesser_needs), err) < 0) ||
	    (has_terminal && check_needs(ruleset, terminal_needs, RF_LEN(terminal_needs), err) < 0))
		return rf_fail_in(err, "%.120s", ruleset->path);
	return 0;
}

/* The kernel's version, for rules that ask for one. */
static struct rf_ruleset_facts find_facts(void)
{
	struct rf_ruleset_facts facts = { 0 };
	struct utsname name;

	if (uname(&name) == 0 &&
	    sscanf(name.release, "%u.%u", &facts.kernel_major, &facts.kernel_minor) != 2)
		facts = (struct rf_ruleset_facts){ 0 };
	return facts;
}

static int slurp(const char *path, struct rf_buf *text, struct rf_err *err)
{
	RF_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char part[16384];
	struct stat st;
	ssize_t n;

	if (fd < 0) {
		rf_fail(err, -errno, "can't read it");
		return rf_fail_hint(err, "it must be a file that you can read");
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return rf_fail_say(err, -EINVAL, "it is not a regular file");
	rf_buf_init(text, RF_MAX_JSON_READ);
	while ((n = rf_fd_read(fd, part, sizeof(part))) > 0)
		rf_buf_add(text, part, (size_t)n);
	if (n < 0)
		return rf_fail(err, (int)n, "can't read it");
	if (text->has_failed)
		return rf_fail_say(err, -EFBIG, "it is larger than %d bytes", RF_MAX_JSON_READ);
	rf_buf_add(text, "", 0);
	return text->data ? 0 : rf_fail(err, -ENOMEM, "can't read it");
}

int rf_ruleset_load(const char *path, struct rf_ruleset **ret_ruleset, struct rf_err *err)
{
	const struct rf_ruleset_facts facts = find_facts();
	RF_AUTO_BUF struct rf_buf text = { 0 };
	char *copy = strdup(path);
	int line, column;

	if (!copy)
		return rf_fail(err, -ENOMEM, "read the profile");
	if (slurp(path, &text, err) < 0 ||
	    rf_ruleset_parse(text.data, text.len, &facts, ret_ruleset, err) < 0) {
		free(copy);
		line = err->line;
		column = err->column;
		err->line = err->column = 0; /* they are of this file, and not of the policy's */
		return line ? rf_fail_in(err, "%.120s:%d:%d", path, line, column)
			    : rf_fail_in(err, "%.120s", path);
	}
	(*ret_ruleset)->path = copy;
	return 0;
}
