/* Policies of libringfort: read, and checked to the plan, before anything is started. */
#include <errno.h>
#include <ringfort/ringfort.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/passwd.h"
#include "lib/fort.h"
#include "policy/chain.h"
#include "policy/net-credential-hosts.h"
#include "policy/plan.h"

/* The text with the built-in profiles that it extends: none of the caller's files. */
static int read_text(const char *text, size_t len, const char *folder, const char *home,
		     struct rf_policy *base, struct rf_err *err)
{
	struct rf_chain *chain = calloc(1, sizeof(*chain)); /* too large for a small stack */
	struct rf_chain_text source = {
		.name = strdup("the policy"),
		.path = strdup("the policy"),
		.id = strdup("the policy"),
		.folder = strdup(folder),
		.text = malloc(len + 1),
		.len = len,
	};
	int code;

	if (!chain || !source.name || !source.path || !source.id || !source.folder ||
	    !source.text) {
		rf_chain_text_done(&source);
		free(chain);
		return rf_fail(err, -ENOMEM, "read a policy");
	}
	memcpy(source.text, text, len);
	source.text[len] = '\0';
	chain->home = home;
	code = rf_chain_add_text(chain, &source, err);
	if (code == 0)
		code = rf_chain_merge(chain, base, err);
	rf_chain_done(chain);
	free(chain);
	return code;
}

static char *format(const struct rf_policy *policy)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&out, "");
	rf_policy_format(policy, &out);
	return rf_buf_take(&out);
}

/* Rules that contradict each other show when a plan is made of them: so one is made, of any program. */
static int try_plan(struct ringfort_policy *policy, const char *folder, const char *home,
		    struct rf_err *err)
{
	char any[] = "true", *argv[] = { any, NULL };
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	const struct rf_facts facts = {
		.uid = geteuid(),
		.gid = getegid(),
		.cwd = folder,
		.home = home,
		.env = environ,
		.argv = argv,
	};
	struct rf_plan *plan = NULL;
	int code = whole ? rf_policy_merge(whole, policy->policy, err)
			 : rf_fail(err, -ENOMEM, "a policy");

	if (code == 0)
		code = rf_net_credential_hosts_check(whole, NULL, err);
	if (code == 0)
		code = rf_plan_make(whole, &facts, &plan, err);
	if (code == 0 && plan->link == RF_LINK_GATEWAY) {
		code = rf_net_make(whole, &policy->net, err);
		policy->agent = plan->agent ? strdup(plan->agent) : NULL;
		if (code == 0 && plan->agent && !policy->agent)
			code = rf_fail(err, -ENOMEM, "a policy");
	}
	if (code == 0) {
		policy->output_limit = plan->limits[RF_LIMIT_OUTPUT];
		policy->whole = format(whole);
		policy->request = format(policy->policy);
		if (!policy->whole || !policy->request)
			code = rf_fail(err, -ENOMEM, "a policy");
	}
	rf_plan_free(plan);
	if (policy->net)
		policy->full = whole;
	else
		rf_policy_free(whole);
	return code;
}

int ringfort_policy_parse(const char *text, size_t len, const char *folder,
			  struct ringfort_policy **ret_policy, struct ringfort_error *error)
{
	struct ringfort_policy *policy = calloc(1, sizeof(*policy));
	char *home = rf_passwd_home(geteuid());
	char *from = folder ? strdup(folder) : getcwd(NULL, 0);
	struct rf_err err = RF_ERR_INIT;

	if (policy)
		policy->policy = rf_policy_new_empty();
	if (!policy || !policy->policy || !home)
		rf_fail(&err, -ENOMEM, "a policy");
	else if (!from)
		rf_fail(&err, -errno, "the working directory");
	else if (from[0] != '/')
		rf_fail_say(&err, -EINVAL, "the folder must be an absolute path: %.80s", from);
	else if (len > RF_MAX_POLICY_BYTES)
		rf_fail_say(&err, -E2BIG, "a policy of more than 1 MiB");
	else if (read_text(text, len, from, home, policy->policy, &err) == 0)
		try_plan(policy, from, home, &err);
	free(from);
	free(home);
	if (err.code) {
		ringfort_policy_free(policy);
		return rf_fort_tell(error, &err);
	}
	*ret_policy = policy;
	return 0;
}

const char *ringfort_policy_text(const struct ringfort_policy *policy)
{
	return policy->whole;
}

void ringfort_policy_free(struct ringfort_policy *policy)
{
	if (!policy)
		return;
	rf_policy_free(policy->policy);
	rf_policy_free(policy->full);
	rf_net_free(policy->net);
	free(policy->agent);
	free(policy->request);
	free(policy->whole);
	free(policy);
}
