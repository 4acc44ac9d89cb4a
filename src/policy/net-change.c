/* What of a box's network can change while it lives: see net-change.h. */
#include "policy/net-change.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "policy/beyond-ceiling.h"
#include "policy/key.h"
#include "policy/value.h"

/* clang-format off */
static const enum rf_key fixed[] = { RF_KEY_LOOPBACK, RF_KEY_UNIX, RF_KEY_NET_PUBLISH, RF_KEY_NET_FILTER,
				     RF_KEY_NET_MASK, RF_KEY_NET_ROOTS, RF_KEY_NET_WRITES, RF_KEY_GRANTS };
/* clang-format on */

#define KEYS(first, count) ((((rf_key_set)1 << (count)) - 1) << (first))

static const rf_key_set changing = RF_KEY_BIT(RF_KEY_NET_MODE) | RF_KEY_BIT(RF_KEY_NET_ALLOW) |
				   RF_KEY_BIT(RF_KEY_NET_DENY) | RF_KEY_BIT(RF_KEY_NET_HOSTS) |
				   KEYS(RF_KEY_NET_LIMIT, RF_NET_LIMIT_COUNT);

static int fail_fixed(enum rf_key key, struct rf_err *err)
{
	rf_fail_say(err, -EOPNOTSUPP, "%s stays as it is while a box lives",
		    rf_key_table[key].path);
	return rf_fail_hint(err, "start another one with what you want");
}

/* Takes a key out. */
static void clear(struct rf_policy *policy, enum rf_key key)
{
	size_t max = policy->values[key].list.max;

	rf_list_done(&policy->values[key].list);
	policy->values[key].list = (struct rf_list){ .max = max };
	policy->set &= ~RF_KEY_BIT(key);
}

void rf_net_change_format(const struct rf_policy *policy, struct rf_buf *out)
{
	struct rf_policy part = *policy; /* shares what it points to, and is only read */

	part.set &= changing;
	part.finals = 0;
	rf_policy_format(&part, out);
}

bool rf_net_change_is_final(const struct rf_policy *policy)
{
	return policy->finals & (changing | RF_KEY_BIT(RF_KEY_LINK));
}

/* What is neither the network's nor can change is a mistake, and told. */
static int check(const struct rf_policy *policy, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(fixed); i++)
		if (policy->set & RF_KEY_BIT(fixed[i]))
			return fail_fixed(fixed[i], err);
	if (policy->set & RF_KEY_BIT(RF_KEY_LINK) &&
	    policy->values[RF_KEY_LINK].number == RF_LINK_HOST)
		return rf_fail_say(err, -EOPNOTSUPP,
				   "a box that has begun behind a gateway can't "
				   "be given the host's network");
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (policy->set & ~(changing | RF_KEY_BIT(RF_KEY_LINK)) & RF_KEY_BIT(i)) {
			rf_fail_say(err, -EOPNOTSUPP, "%s is not of the network",
				    rf_key_table[i].path);
			return rf_fail_hint(err, "only `network` can change while a box lives");
		}
	return 0;
}

static int refuse_beyond(const struct rf_policy *most, const struct rf_policy *named,
			 struct rf_err *err)
{
	struct rf_beyond_ceiling *beyond = NULL;
	int code = rf_beyond_ceiling_new(most, named, &beyond, err);

	if (code == 0)
		code = rf_beyond_ceiling_fail(beyond, "the ceiling of this box", err);
	rf_beyond_ceiling_free(beyond);
	return code;
}

int rf_net_change_make(const struct rf_policy *opened, const char *text, size_t len,
		       const struct rf_policy *most, bool is_whole, struct rf_policy **ret_policy,
		       struct rf_err *err)
{
	struct rf_policy *policy = NULL, *met = NULL;
	int code;

	if (rf_policy_parse(text, len, "/", "/", &policy, err) < 0)
		return rf_fail_in(err, "the new policy");
	code = check(policy, err);
	if (code == 0 && most && is_whole)
		code = refuse_beyond(most, policy, err);
	for (size_t i = 0; i < RF_LEN(fixed) && code == 0; i++)
		if (opened->set & RF_KEY_BIT(fixed[i]))
			code = rf_value_join(policy, opened, fixed[i]);
	policy->values[RF_KEY_LINK].number = RF_LINK_GATEWAY;
	policy->set |= RF_KEY_BIT(RF_KEY_LINK);
	if (code == 0 && most) {
		code = rf_policy_meet(most, policy, &met, err);
		rf_policy_free(policy);
		policy = met;
	} else if (code < 0 && !err->code) {
		rf_fail(err, code, "a policy");
	}
	if (code < 0) {
		rf_policy_free(policy);
		return err->code ? err->code : code;
	}
	*ret_policy = policy;
	return 0;
}

int rf_net_change_replace(struct rf_policy *policy, const struct rf_policy *over,
			  struct rf_err *err)
{
	if (check(over, err) < 0)
		return err->code;
	if (over->set & RF_KEY_BIT(RF_KEY_LINK) && over->values[RF_KEY_LINK].number == RF_LINK_NONE)
		clear(policy, RF_KEY_NET_ALLOW);
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		if (!(over->set & changing & RF_KEY_BIT(i)))
			continue;
		clear(policy, (enum rf_key)i);
		if (rf_value_join(policy, over, (enum rf_key)i) < 0)
			return rf_fail(err, -ENOMEM, "a policy");
	}
	return 0;
}

int rf_net_change_add(struct rf_policy *policy, const struct rf_policy *over, struct rf_err *err)
{
	const struct rf_list *allowed = &over->values[RF_KEY_NET_ALLOW].list;

	if (check(over, err) < 0)
		return err->code;
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (over->set & changing & RF_KEY_BIT(i) &&
		    rf_value_join(policy, over, (enum rf_key)i) < 0)
			return rf_fail(err, -ENOMEM, "a policy");
	for (size_t i = 0; i < allowed->count; i++)
		rf_list_remove(&policy->values[RF_KEY_NET_DENY].list, allowed->items[i].name,
			       allowed->items[i].value);
	return 0;
}

const char *rf_net_change_missing(const struct rf_policy *policy, const struct rf_policy *over)
{
	const struct rf_list *allowed = &over->values[RF_KEY_NET_ALLOW].list;

	for (size_t i = 0; over->set & RF_KEY_BIT(RF_KEY_NET_ALLOW) && i < allowed->count; i++)
		if (!rf_list_find(&policy->values[RF_KEY_NET_ALLOW].list, allowed->items[i].name))
			return allowed->items[i].name;
	return NULL;
}
