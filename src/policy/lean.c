/* A request that leans on a base: see lean.h. */
#include "policy/lean.h"

#include <errno.h>
#include <string.h>

#include "policy/chain.h"
#include "policy/key.h"
#include "policy/value.h"

int rf_lean_read(const char *text, size_t len, struct rf_policy **ret_policy, struct rf_err *err)
{
	struct rf_chain chain = { .home = "/" };
	struct rf_chain_text own = {
		.name = strdup("the policy"),
		.id = strdup("the policy"),
		.folder = strdup("/"),
		.text = strndup(text, len),
		.len = len,
	};
	struct rf_policy *policy = rf_policy_new_empty();
	int code;

	if (!own.name || !own.id || !own.folder || !own.text || !policy) {
		rf_chain_text_done(&own);
		rf_policy_free(policy);
		return rf_fail(err, -ENOMEM, "read a policy");
	}
	code = rf_chain_add_text(&chain, &own, err);
	if (code == 0)
		code = rf_chain_merge(&chain, policy, err);
	rf_chain_done(&chain);
	if (code < 0) {
		rf_policy_free(policy);
		return code;
	}
	*ret_policy = policy;
	return 0;
}

/* A request that wants no network has nothing to say about one. */
static bool is_moot(const struct rf_policy *request, int key)
{
	return request->set & RF_KEY_BIT(RF_KEY_LINK) &&
	       request->values[RF_KEY_LINK].number == RF_LINK_NONE && key >= RF_KEY_NET_MODE &&
	       key <= RF_KEY_GRANTS;
}

int rf_lean_on(const struct rf_policy *base, const struct rf_policy *request,
	       struct rf_policy **ret_policy, struct rf_err *err)
{
	struct rf_policy *whole = rf_policy_new_empty();
	int r = whole ? 0 : -ENOMEM;

	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++)
		if (request->set & RF_KEY_BIT(i))
			r = rf_value_join(whole, request, (enum rf_key)i);
		else if (base->set & RF_KEY_BIT(i) && !is_moot(request, i))
			r = rf_value_join(whole, base, (enum rf_key)i);
	r = r < 0 ? rf_fail(err, r, "join two policies")
		  : rf_policy_meet(base, whole, ret_policy, err);
	rf_policy_free(whole);
	return r;
}
