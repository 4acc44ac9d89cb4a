/*
 * Meet: the bound between what one side allows and what another asks for.
 *
 * Both sides are first completed with the defaults of `run`, so a ceiling that is silent about
 * memory bounds it by the default, not by nothing.  Then each key takes the stricter value, and:
 *
 *   files      A rule of either side is kept with the lesser of the two rights that the sides grant
 *              it.  A kept rule above a place where the sides disagree about what shows there is
 *              dropped, since it would bring to light what one of them had covered.
 *   denials    What either side hides is hidden.
 *   variables  A side sets a variable, passes it, or has nothing to do with it.  Pass meets pass:
 *              passed.  Set meets pass or the same content: set.  Anything else: not there.  So a
 *              ceiling lets a request choose the content of exactly those that it passes.
 *   network    A rule meets a rule in what both match.  A side on the host's network bounds nothing; a side
 *              whose mode lets everything pass, and a rule that is wider than one kind of address, let pass
 *              public addresses alone, so what the other side names of the rest is gone (net-meet.c).  A name
 *              leads where the ceiling says; where only the request says so, or says otherwise, it is denied.
 *   credentials  Those that both sides have from the same source, bound to what both bind them to; none where
 *              a side's mode is `open`, which never adds one.
 *   filters    Those of both sides apply.
 *   commands   A list meets a list in what stands on both; no list is all programs.
 *
 * The result never allows more than either side, and but for taste (hostname, workdir) the order of
 * the sides does not matter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "policy/files.h"
#include "policy/key.h"
#include "policy/net-credential.h"
#include "policy/net-place.h"
#include "policy/pattern.h"
#include "policy/value.h"

static const struct rf_list *list_of(const struct rf_policy *policy, enum rf_key key)
{
	return &policy->values[key].list;
}

static enum rf_files_right right_of(const struct rf_policy *policy, const struct rf_list_item *rule)
{
	return rf_files_look(list_of(policy, RF_KEY_READ), list_of(policy, RF_KEY_WRITE),
			     rule->name, rule->value);
}

/* A file rule of either side, with the lesser of the rights that the sides grant it. */
struct candidate {
	const struct rf_list_item *rule;
	enum rf_files_right right;
	bool is_half_denied; /* by one side alone, where its place shows what lies beneath */
};

/* True if a side denies a file as a whole: no rule of that side shows it. */
static bool is_denied(const struct rf_policy *side, const char *source)
{
	const struct rf_list *deny = list_of(side, RF_KEY_DENY);

	for (size_t i = 0; i < deny->count; i++) {
		struct rf_pattern pattern;

		rf_pattern_init(&pattern, deny->items[i].name);
		if (rf_pattern_covers(&pattern, source))
			return true;
	}
	return false;
}

/* True if a rule shows a file at the place of another one, and so covers that one. */
static bool is_elsewhere(const struct rf_list_item *rule)
{
	return strcmp(rule->name, rule->value) != 0;
}

/*
 * Where a side denies what the rule shows elsewhere, the place would be empty in the meet and show what lies beneath: that
 * is a dispute, too.  What a rule shows at its own place is denied there beneath it as well, unless another file lies there.
 */
static size_t gather(const struct rf_policy *from, const struct rf_policy *with,
		     struct candidate *list)
{
	static const enum rf_key keys[] = { RF_KEY_READ, RF_KEY_WRITE };
	size_t count = 0;

	for (size_t k = 0; k < RF_LEN(keys); k++) {
		const struct rf_list *rules = list_of(from, keys[k]);

		for (size_t i = 0; i < rules->count; i++) {
			const struct rf_list_item *rule = &rules->items[i];
			enum rf_files_right x = right_of(from, rule), y = right_of(with, rule);

			bool here = is_denied(from, rule->name),
			     there = is_denied(with, rule->name);

			if (is_elsewhere(rule) && (here || there))
				x = RF_FILES_NONE;
			list[count++] = (struct candidate){ rule, x < y ? x : y, here != there };
		}
	}
	return count;
}

/* True if beneath `rule` there is a place that the two sides fill differently. */
static bool covers_dispute(const struct candidate *all, size_t count,
			   const struct rf_list_item *rule)
{
	for (size_t i = 0; i < count; i++)
		if ((all[i].right == RF_FILES_NONE ||
		     (all[i].is_half_denied && is_elsewhere(rule))) &&
		    rf_path_is_beneath(all[i].rule->value, rule->value))
			return true;
	return false;
}

/*
 * A rule that is gone may have covered a part of the current directory with another file of the host.  Which directory that
 * is nobody knows here, so it does not show by itself; who wants it names it.
 */
static void hide_current(struct rf_policy *out)
{
	out->values[RF_KEY_CURRENT].number = RF_CURRENT_NONE;
	out->set |= RF_KEY_BIT(RF_KEY_CURRENT);
}

static int meet_files(struct rf_policy *out, const struct rf_policy *a, const struct rf_policy *b)
{
	size_t count = list_of(a, RF_KEY_READ)->count + list_of(a, RF_KEY_WRITE)->count +
		       list_of(b, RF_KEY_READ)->count + list_of(b, RF_KEY_WRITE)->count;
	struct candidate *all = calloc(count + 1, sizeof(*all));
	int r = 0;

	if (!all)
		return -ENOMEM;
	gather(b, a, all + gather(a, b, all));
	for (size_t i = 0; i < count && r >= 0; i++) {
		enum rf_key to = all[i].right == RF_FILES_WRITE ? RF_KEY_WRITE : RF_KEY_READ;
		const struct rf_list_item *rule = all[i].rule;

		if (all[i].right != RF_FILES_NONE && !covers_dispute(all, count, rule))
			r = rf_list_unite(&out->values[to].list, rule->name, rule->value);
		else if (is_elsewhere(rule))
			hide_current(out);
	}
	free(all);
	return r;
}

/* Passed, and not overruled by a content of its own. */
static bool is_passed(const struct rf_policy *policy, const char *name)
{
	return rf_list_find(list_of(policy, RF_KEY_PASS), name) &&
	       !rf_list_find(list_of(policy, RF_KEY_SET), name);
}

/* Takes from the variables of `from` what `with` allows, too. */
static int meet_variables(struct rf_policy *out, const struct rf_policy *from,
			  const struct rf_policy *with)
{
	const struct rf_list *pass = list_of(from, RF_KEY_PASS), *set = list_of(from, RF_KEY_SET);
	int r = 0;

	for (size_t i = 0; i < pass->count && r >= 0; i++)
		if (is_passed(from, pass->items[i].name) && is_passed(with, pass->items[i].name))
			r = rf_list_unite(&out->values[RF_KEY_PASS].list, pass->items[i].name,
					  NULL);
	for (size_t i = 0; i < set->count && r >= 0; i++) {
		const char *name = set->items[i].name, *value = set->items[i].value;

		if (is_passed(with, name) || rf_list_has(list_of(with, RF_KEY_SET), name, value))
			r = rf_list_unite(&out->values[RF_KEY_SET].list, name, value);
	}
	return r;
}

static bool is_on_host(const struct rf_policy *side)
{
	return side->values[RF_KEY_LINK].number == RF_LINK_HOST;
}

/* How much passes a side that no rule of its own allows. */
static enum rf_net_mode mode_of(const struct rf_policy *side)
{
	return side->values[RF_KEY_LINK].number == RF_LINK_NONE
		       ? RF_NET_ENFORCE
		       : (enum rf_net_mode)side->values[RF_KEY_NET_MODE].number;
}

static int unite(struct rf_list *out, const struct rf_list *from)
{
	int r = 0;

	if (from->max)
		out->max = from->max;
	for (size_t i = 0; i < from->count && r >= 0; i++)
		r = rf_list_unite(out, from->items[i].name, from->items[i].value);
	return r;
}

static int meet_rules(struct rf_policy *out, const struct rf_policy *a, const struct rf_policy *b)
{
	struct rf_list *list = &out->values[RF_KEY_NET_ALLOW].list;
	struct rf_list *deny = &out->values[RF_KEY_NET_DENY].list;
	int r = unite(deny, list_of(a, RF_KEY_NET_DENY));

	if (r >= 0)
		r = unite(deny, list_of(b, RF_KEY_NET_DENY));
	if (r < 0)
		return r;
	/* The host's own network reaches all that a rule could name. */
	if (is_on_host(a) || is_on_host(b))
		return unite(list, list_of(is_on_host(a) ? b : a, RF_KEY_NET_ALLOW));
	/* A mode that lets pass what no rule allows lets public addresses pass alone. */
	r = rf_net_rules_meet(list_of(a, RF_KEY_NET_ALLOW), list_of(b, RF_KEY_NET_ALLOW), list);
	if (r >= 0 && mode_of(a) != mode_of(b))
		r = rf_net_rules_public(list_of(mode_of(a) > mode_of(b) ? b : a, RF_KEY_NET_ALLOW),
					list);
	return r;
}

/* Where names lead is the ceiling's to say; what is published, both must. */
static int meet_hosts(struct rf_policy *out, const struct rf_policy *ceiling,
		      const struct rf_policy *request)
{
	const struct rf_list *mine = list_of(ceiling, RF_KEY_NET_HOSTS);
	const struct rf_list *theirs = list_of(request, RF_KEY_NET_HOSTS);
	const struct rf_list *ports = list_of(request, RF_KEY_NET_PUBLISH);
	int r = unite(&out->values[RF_KEY_NET_HOSTS].list, mine);

	for (size_t i = 0; i < theirs->count && r >= 0; i++)
		if (!rf_list_has(mine, theirs->items[i].name, theirs->items[i].value)) {
			r = rf_list_unite(&out->values[RF_KEY_NET_DENY].list, theirs->items[i].name,
					  NULL);
			out->set |= RF_KEY_BIT(RF_KEY_NET_DENY);
		}
	for (size_t i = 0; i < ports->count && r >= 0; i++)
		if (rf_list_find(list_of(ceiling, RF_KEY_NET_PUBLISH), ports->items[i].name))
			r = rf_list_unite(&out->values[RF_KEY_NET_PUBLISH].list,
					  ports->items[i].name, NULL);
	return r;
}

/* Binds a credential (takes `*text`) to the rules of a list, too; gives NULL if nothing is left. */
static int bind_to(char **text, const struct rf_list *rules)
{
	RF_AUTO_BUF struct rf_buf bounds = { 0 };
	struct rf_span field, value;
	const char *at = *text;
	char *bound = NULL;
	int r;

	rf_buf_init(&bounds, RF_MAX_POLICY_BYTES);
	while (rf_net_credential_next(&at, &field, &value))
		if (!rf_span_is(field, RF_SPAN("hosts")))
			rf_buf_printf(&bounds, "%.*s %.*s\n", RF_SPAN_ARG(field),
				      RF_SPAN_ARG(value));
	for (size_t i = 0; i < rules->count; i++)
		rf_buf_printf(&bounds, "hosts %s\n", rules->items[i].name);
	r = bounds.has_failed ? -ENOMEM : rf_net_credential_meet(*text, bounds.data, &bound);
	free(*text);
	*text = bound;
	return r;
}

/*
 * A side adds a credential only to what a rule of its own allows, and in mode `open` none.  The rules that are left may be
 * the other side's alone, where a mode let them pass: so the credential is bound to the rules of the side with that mode.
 */
static int meet_grants(struct rf_policy *out, const struct rf_policy *ceiling,
		       const struct rf_policy *request)
{
	const struct rf_policy *loose = mode_of(ceiling) > mode_of(request) ? ceiling : request;
	const struct rf_list *list = list_of(ceiling, RF_KEY_GRANTS);
	const struct rf_list *most = NULL;
	int r = 0;

	if (!is_on_host(loose) && mode_of(loose) == RF_NET_OPEN)
		return 0;
	if (mode_of(loose) == RF_NET_REPORT)
		most = list_of(loose, RF_KEY_NET_ALLOW);
	for (size_t i = 0; i < list->count && r >= 0; i++) {
		const struct rf_list_item *mine = &list->items[i];
		const struct rf_list_item *theirs =
			rf_list_find(list_of(request, RF_KEY_GRANTS), mine->name);
		char *both = NULL;

		if (theirs)
			r = rf_net_credential_meet(mine->value, theirs->value, &both);
		if (both && most)
			r = bind_to(&both, most);
		if (both)
			r = rf_list_assign(&out->values[RF_KEY_GRANTS].list, mine->name, both);
		free(both);
	}
	return r;
}

static int meet_commands(struct rf_policy *out, const struct rf_policy *ceiling,
			 const struct rf_policy *request)
{
	const rf_key_set bit = RF_KEY_BIT(RF_KEY_COMMANDS);
	const struct rf_policy *from = ceiling->set & bit ? ceiling : request;
	const struct rf_list *list = list_of(from, RF_KEY_COMMANDS);
	int r = 0;

	for (size_t i = 0; i < list->count && r >= 0; i++)
		if (from == request || !(request->set & bit) ||
		    rf_list_find(list_of(request, RF_KEY_COMMANDS), list->items[i].name))
			r = rf_list_unite(&out->values[RF_KEY_COMMANDS].list, list->items[i].name,
					  NULL);
	return r;
}

/* What either side hides. */
static int meet_denials(struct rf_policy *out, const struct rf_policy *from)
{
	const struct rf_list *deny = list_of(from, RF_KEY_DENY);
	int r = 0;

	for (size_t i = 0; i < deny->count && r >= 0; i++)
		r = rf_list_unite(&out->values[RF_KEY_DENY].list, deny->items[i].name, NULL);
	return r;
}

/* A scalar: the stricter value, or for a matter of taste the request's if it named one. */
static int meet_scalar(struct rf_policy *out, const struct rf_policy *ceiling,
		       const struct rf_policy *request, enum rf_key key, bool is_asked)
{
	const rf_key_set bit = RF_KEY_BIT(key);
	bool is_request = false;

	switch (rf_key_table[key].strict) {
	case RF_KEY_STRICT_NEITHER:
		is_request = is_asked;
		break;
	case RF_KEY_STRICT_FIRST:
		is_request = !(ceiling->set & bit);
		break;
	default:
		is_request = rf_key_is_as_strict(key, rf_key_number(request, key),
						 rf_key_number(ceiling, key));
		break;
	}
	/* Of two that say the same, the one that was written down: some keys ask for a watcher by being there. */
	if (!((is_request ? request : ceiling)->set & bit) &&
	    rf_key_table[key].strict <= RF_KEY_STRICT_MORE &&
	    rf_key_number(request, key) == rf_key_number(ceiling, key))
		is_request = !is_request;
	/* Where the stricter one is a default that nobody wrote down, it is written down now. */
	if ((ceiling->set | request->set) & bit && rf_key_figure(key)) {
		uint64_t number = rf_key_number(is_request ? request : ceiling, key);

		/* Of a rate, each number may be the other side's. */
		if (rf_key_table[key].strict == RF_KEY_STRICT_LESS)
			number = rf_limit_lesser(rf_key_figure(key), rf_key_number(ceiling, key),
						 rf_key_number(request, key));
		out->values[key].number = number;
		out->set |= bit;
		return 0;
	}
	return (is_request ? request : ceiling)->set & bit
		       ? rf_value_join(out, is_request ? request : ceiling, key)
		       : 0;
}

/* Filters of both sides apply: what either refuses is refused.  Too many of them is -E2BIG. */
static int meet_filters(struct rf_policy *out, const struct rf_policy *a, const struct rf_policy *b)
{
	struct rf_list *list = &out->values[RF_KEY_SECCOMP].list;
	const struct rf_list *sides[] = { list_of(a, RF_KEY_SECCOMP), list_of(b, RF_KEY_SECCOMP) };
	int r = 0;

	for (size_t s = 0; s < RF_LEN(sides); s++)
		for (size_t i = 0; i < sides[s]->count && r >= 0; i++)
			r = rf_list_unite(list, sides[s]->items[i].name, NULL);
	return r >= 0 && list->count > RF_MAX_FILTERS ? -E2BIG : r;
}

/* Whom one side trusts more than the system does, the other must, too. */
static int meet_roots(struct rf_policy *out, const struct rf_policy *a, const struct rf_policy *b)
{
	const struct rf_list *list = list_of(a, RF_KEY_NET_ROOTS);
	int r = 0;

	for (size_t i = 0; i < list->count && r >= 0; i++)
		if (rf_list_find(list_of(b, RF_KEY_NET_ROOTS), list->items[i].name))
			r = rf_list_unite(&out->values[RF_KEY_NET_ROOTS].list, list->items[i].name,
					  NULL);
	return r;
}

/* Both sides' elements of a list of which one more is stricter: canaries are planted, expressions masked. */
static int meet_both(struct rf_policy *out, const struct rf_policy *a, const struct rf_policy *b,
		     enum rf_key key)
{
	struct rf_list *list = &out->values[key].list;
	int r = unite(list, list_of(a, key));

	return r < 0 ? r : unite(list, list_of(b, key));
}

/* The defaults with `policy` on top; what is final in it binds its sources, not this copy.  The host's network is an open one. */
static int complete(const struct rf_policy *policy, struct rf_policy **ret_whole)
{
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	int r = whole ? 0 : -ENOMEM;

	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++)
		if (policy->set & RF_KEY_BIT(i))
			r = rf_value_join(whole, policy, (enum rf_key)i);
	if (r < 0) {
		rf_policy_free(whole);
		return r;
	}
	if (whole->values[RF_KEY_LINK].number == RF_LINK_HOST) {
		whole->values[RF_KEY_NET_MODE].number = RF_NET_OPEN;
		whole->set |= RF_KEY_BIT(RF_KEY_NET_MODE);
	}
	*ret_whole = whole;
	return 0;
}

static int meet_all(struct rf_policy *out, const struct rf_policy *ceiling,
		    const struct rf_policy *request, rf_key_set asked)
{
	int r = 0;

	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++) {
		if (rf_key_table[i].strict != RF_KEY_STRICT_LISTS)
			r = meet_scalar(out, ceiling, request, (enum rf_key)i,
					asked & RF_KEY_BIT(i));
		else if ((ceiling->set | request->set) & RF_KEY_BIT(i))
			out->set |= RF_KEY_BIT(i);
	}
	out->finals = ceiling->finals | request->finals;

	/* The ceiling's rules come first, so the order of the lists is the ceiling's. */
	if (r >= 0)
		r = meet_files(out, ceiling, request);
	if (r >= 0)
		r = meet_denials(out, ceiling);
	if (r >= 0)
		r = meet_denials(out, request);
	if (r >= 0)
		r = meet_variables(out, ceiling, request);
	if (r >= 0)
		r = meet_variables(out, request, ceiling);
	if (r >= 0)
		r = meet_filters(out, ceiling, request);
	if (r >= 0)
		r = meet_both(out, ceiling, request, RF_KEY_CANARIES);
	if (r >= 0)
		r = meet_both(out, ceiling, request, RF_KEY_NET_MASK);
	if (r >= 0)
		r = meet_roots(out, ceiling, request);
	if (r >= 0)
		r = meet_commands(out, ceiling, request);
	if (r >= 0)
		r = meet_rules(out, ceiling, request);
	if (r >= 0)
		r = meet_hosts(out, ceiling, request);
	if (r >= 0)
		r = meet_grants(out, ceiling, request);
	if (out->values[RF_KEY_LINK].number == RF_LINK_HOST) {
		out->set &= ~RF_KEY_BIT(RF_KEY_NET_MODE);
		out->values[RF_KEY_NET_MODE].number = 0;
	}
	if (out->values[RF_KEY_READ].list.count)
		out->set |= RF_KEY_BIT(RF_KEY_READ); /* both sides may have had it as writable */
	if (out->values[RF_KEY_SET].list.count)
		out->set |= RF_KEY_BIT(RF_KEY_SET);
	return r;
}

int rf_policy_meet(const struct rf_policy *ceiling, const struct rf_policy *request,
		   struct rf_policy **ret_policy, struct rf_err *err)
{
	struct rf_policy *out = rf_policy_new_empty(), *a = NULL, *b = NULL;
	int r = out ? 0 : -ENOMEM;

	if ((ceiling->set | request->set) & RF_KEY_BIT(RF_KEY_EXTENDS)) {
		rf_policy_free(out);
		return rf_fail_say(err, -EINVAL, "extends: must be resolved before a meet");
	}
	if (r >= 0)
		r = complete(ceiling, &a);
	if (r >= 0)
		r = complete(request, &b);
	if (r >= 0)
		r = meet_all(out, a, b, request->set);
	rf_policy_free(a);
	rf_policy_free(b);
	if (r < 0) {
		rf_policy_free(out);
		return rf_fail(err, r, "meet two policies");
	}
	*ret_policy = out;
	return 0;
}
