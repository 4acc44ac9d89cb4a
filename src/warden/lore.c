/* Policies that were read before: see lore.h. */
#include "warden/lore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "policy/beyond-ceiling.h"
#include "policy/chain.h"
#include "policy/key.h"

#define ROOM  16  /* policies that are remembered */
#define WORDS 160 /* bytes of what is beyond; of the rest the number */

struct known {
	enum rf_command command;
	char *text, *folder, *home;
	char *ceiling;            /* of the request's own, or NULL */
	char *agent;              /* that of the agent that it is done for, or NULL */
	bool drops_beyond;        /* as the errand says */
	struct rf_policy *policy; /* NULL: the place is free */
	struct rf_buf beyond;     /* what it names beyond the warden's ceiling, in words */
	struct rf_buf told;       /* its text, once somebody wanted it */
	uint64_t used;
};

struct rf_lore {
	const struct rf_policy *ceiling;
	uint64_t used; /* counts calls */
	struct known known[ROOM];
};

static void forget(struct known *known)
{
	free(known->text);
	free(known->folder);
	free(known->home);
	free(known->ceiling);
	free(known->agent);
	rf_policy_free(known->policy);
	rf_buf_done(&known->told);
	rf_buf_done(&known->beyond);
	*known = (struct known){ 0 };
}

int rf_lore_new(const struct rf_policy *ceiling, struct rf_lore **ret_lore, struct rf_err *err)
{
	struct rf_lore *lore = calloc(1, sizeof(*lore));

	if (!lore)
		return rf_fail(err, -ENOMEM, "remember policies");
	lore->ceiling = ceiling;
	*ret_lore = lore;
	return 0;
}

void rf_lore_free(struct rf_lore *lore)
{
	for (size_t i = 0; lore && i < ROOM; i++)
		forget(&lore->known[i]);
	free(lore);
}

static bool is_same(const char *a, const char *b)
{
	return !a == !b && (!a || strcmp(a, b) == 0);
}

static bool is_known(const struct known *known, const struct rf_errand *errand)
{
	return known->policy && known->command == errand->command &&
	       strcmp(known->text, errand->policy) == 0 &&
	       strcmp(known->folder, errand->folder) == 0 &&
	       strcmp(known->home, errand->home) == 0 && is_same(known->ceiling, errand->ceiling) &&
	       is_same(known->agent, errand->agent) && known->drops_beyond == errand->drops_beyond;
}

/* Reads the text with what it extends, over the defaults of the command. */
static int read_text(const struct known *known, struct rf_policy *base, struct rf_err *err)
{
	struct rf_chain chain = { .home = known->home };
	struct rf_chain_text text = {
		.name = strdup("the request"),
		.id = strdup("the request"),
		.folder = strdup(known->folder),
		.text = strdup(known->text),
		.len = strlen(known->text),
	};
	int code;

	if (!text.name || !text.id || !text.folder || !text.text) {
		rf_chain_text_done(&text);
		return rf_fail(err, -ENOMEM, "read a policy");
	}
	code = rf_chain_add_text(&chain, &text, err);
	if (code == 0)
		code = rf_chain_merge(&chain, base, err);
	rf_chain_done(&chain);
	return code;
}

/* Bounds what is known by a ceiling (borrows). */
static int bound(struct known *known, const struct rf_policy *ceiling, const char *whose,
		 struct rf_err *err)
{
	struct rf_policy *bounded;

	if (rf_policy_meet(ceiling, known->policy, &bounded, err) < 0)
		return rf_fail_in(err, "%s ceiling", whose);
	rf_policy_free(known->policy);
	known->policy = bounded;
	return 0;
}

/* Leaves out what is as the command has it by itself: `ringfort run` writes all of it down. */
static int leave_out_defaults(enum rf_command command, struct rf_policy *named)
{
	struct rf_policy *usual = rf_policy_new(command);

	for (int i = 0; usual && i < RF_KEY_COUNT; i++)
		if (rf_key_table[i].strict <= RF_KEY_STRICT_MORE &&
		    rf_key_number(usual, (enum rf_key)i) == named->values[i].number)
			named->set &= ~RF_KEY_BIT(i);
	rf_policy_free(usual);
	return usual ? 0 : -ENOMEM;
}

/* Compares what the text itself names with a ceiling (borrows). */
static int compare(const struct known *known, const struct rf_policy *ceiling, bool has_defaults,
		   struct rf_beyond_ceiling **ret_beyond, struct rf_err *err)
{
	struct rf_policy *named = NULL;
	int code;

	if (rf_policy_parse(known->text, strlen(known->text), known->folder, known->home, &named,
			    err) < 0)
		return err->code;
	if (has_defaults && leave_out_defaults(known->command, named) < 0)
		code = rf_fail(err, -ENOMEM, "compare with a ceiling");
	else
		code = rf_beyond_ceiling_new(ceiling, named, ret_beyond, err);
	rf_policy_free(named);
	return code;
}

/*
 * Refuses what the text itself names beyond a ceiling (borrows), so that no client is given less than it
 * asked for without a word.  The front has done so by then, with the field; a client that speaks here
 * directly hears it here.
 */
static int refuse_beyond(const struct known *known, const struct rf_policy *ceiling,
			 const char *whose, struct rf_err *err)
{
	struct rf_beyond_ceiling *beyond = NULL;
	char words[64];
	int code;

	if (known->drops_beyond)
		return 0;
	snprintf(words, sizeof(words), "%s ceiling", whose);
	code = compare(known, ceiling, false, &beyond, err);
	if (code == 0)
		code = rf_beyond_ceiling_fail(beyond, words, err);
	rf_beyond_ceiling_free(beyond);
	return code;
}

/* Notes what the text names beyond the warden's ceiling: who runs by it is told with the result. */
static int note_beyond(struct known *known, const struct rf_policy *ceiling, struct rf_err *err)
{
	struct rf_beyond_ceiling *beyond = NULL;
	const struct rf_beyond_ceiling_item *item;
	size_t count = 0, more = 0;

	if (compare(known, ceiling, true, &beyond, err) < 0)
		return err->code;
	rf_buf_init(&known->beyond, 64 * 1024);
	for (; (item = rf_beyond_ceiling_item(beyond, count)); count++)
		if (known->beyond.len < WORDS)
			rf_buf_printf(&known->beyond, "%s%s: %.60s", count ? ", " : "", item->key,
				      item->asked);
		else
			more++;
	if (more > 0)
		rf_buf_printf(&known->beyond, " and %zu more", more);
	rf_beyond_ceiling_free(beyond);
	return known->beyond.has_failed ? rf_fail(err, -ENOMEM, "remember a policy") : 0;
}

static int bound_by_text(struct known *known, const char *text, const char *whose,
			 struct rf_err *err)
{
	struct rf_policy *ceiling;
	int code;

	if (rf_policy_parse(text, strlen(text), "/", "/", &ceiling, err) < 0)
		return rf_fail_in(err, "%s ceiling", whose);
	code = refuse_beyond(known, ceiling, whose, err);
	if (code == 0)
		code = bound(known, ceiling, whose, err);
	rf_policy_free(ceiling);
	return code;
}

static int learn(const struct rf_lore *lore, struct known *known, struct rf_err *err)
{
	struct rf_policy *base = rf_policy_new(known->command);

	if (!base)
		return rf_fail(err, -ENOMEM, "read a policy");
	if (read_text(known, base, err) < 0) {
		rf_policy_free(base);
		return err->code;
	}
	known->policy = base;
	/* The agent's comes first, as a part of what is asked for: where names lead is for the key's ceiling to say. */
	if (known->agent && bound_by_text(known, known->agent, "the agent's", err) < 0)
		return err->code;
	if (known->ceiling && bound_by_text(known, known->ceiling, "the request's", err) < 0)
		return err->code;
	if (!lore->ceiling)
		return 0;
	if (refuse_beyond(known, lore->ceiling, "the warden's", err) < 0 ||
	    note_beyond(known, lore->ceiling, err) < 0)
		return err->code;
	return bound(known, lore->ceiling, "the warden's", err);
}

int rf_lore_find(struct rf_lore *lore, const struct rf_errand *errand,
		 const struct rf_policy **ret_policy, struct rf_err *err)
{
	struct known *oldest = lore->known;

	for (size_t i = 0; i < ROOM; i++) {
		struct known *known = &lore->known[i];

		if (is_known(known, errand)) {
			known->used = ++lore->used;
			*ret_policy = known->policy;
			return 0;
		}
		if (known->used < oldest->used)
			oldest = known;
	}
	forget(oldest);
	oldest->command = errand->command;
	oldest->text = strdup(errand->policy);
	oldest->folder = strdup(errand->folder);
	oldest->home = strdup(errand->home);
	oldest->ceiling = errand->ceiling ? strdup(errand->ceiling) : NULL;
	oldest->agent = errand->agent ? strdup(errand->agent) : NULL;
	oldest->drops_beyond = errand->drops_beyond;
	if (!oldest->text || !oldest->folder || !oldest->home ||
	    !oldest->ceiling != !errand->ceiling || !oldest->agent != !errand->agent) {
		forget(oldest);
		return rf_fail(err, -ENOMEM, "remember a policy");
	}
	if (learn(lore, oldest, err) < 0) {
		forget(oldest);
		return err->code;
	}
	oldest->used = ++lore->used;
	*ret_policy = oldest->policy;
	return 0;
}

int rf_lore_find_within(struct rf_lore *lore, const struct rf_bound *bound,
			const struct rf_errand *errand, const struct rf_policy **ret_policy,
			struct rf_err *err)
{
	struct rf_errand own = *errand;
	char *agent = NULL;
	int code;

	if (rf_lore_find(lore, errand, ret_policy, err) < 0)
		return err->code;
	code = rf_bound_agent(bound, *ret_policy, &agent, err);
	if (code <= 0)
		return code;
	own.agent = agent;
	code = rf_lore_find(lore, &own, ret_policy, err);
	free(agent);
	return code;
}

bool rf_lore_is_bounded(const struct rf_lore *lore, const struct rf_errand *errand)
{
	return lore->ceiling || errand->ceiling;
}

const char *rf_lore_told(struct rf_lore *lore, const struct rf_policy *policy)
{
	for (size_t i = 0; i < ROOM; i++) {
		struct known *known = &lore->known[i];

		if (known->policy != policy)
			continue;
		if (!known->told.data) {
			rf_buf_init(&known->told, RF_MAX_POLICY_BYTES);
			rf_policy_format_told(policy, &known->told);
		}
		return known->told.has_failed ? NULL : known->told.data;
	}
	return NULL;
}

void rf_lore_warn(const struct rf_lore *lore, const struct rf_policy *policy,
		  struct rf_result *result)
{
	for (size_t i = 0; i < ROOM; i++)
		if (lore->known[i].policy == policy && lore->known[i].beyond.len > 0)
			rf_result_warn(result, "beyond the warden's ceiling, and not given: %s",
				       lore->known[i].beyond.data);
}
