/*
 * The variables of a box: what every box has, what is passed on, what is set, and what stands for a credential.
 *
 * The value of a credential never becomes part of a plan.  A variable that one is read from is passed on by no rule; in its
 * place there is what stands for it, or in a plan that is only looked at, a word that says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "policy/arena.h"
#include "policy/key.h"
#include "policy/list.h"
#include "policy/plan.h"

const char *rf_plan_caller_env(const struct rf_facts *facts, const char *name)
{
	size_t len = strlen(name);

	for (char *const *env = facts->env; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* The kind of the caller's terminal, as a box may be told; a name and nothing else. */
static const char *terminal_name(const struct rf_facts *facts)
{
	const char *name = rf_plan_caller_env(facts, "TERM");
	size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789+-._")
			  : 0;

	return len > 0 && len <= 64 && !name[len] && name[0] != '.' ? name : "dumb";
}

/* True if the value of a credential is in it. */
static bool is_secret(const struct rf_plan *plan, const char *name)
{
	for (size_t i = 0; plan->net && i < plan->net->credential_count; i++)
		if (plan->net->credentials[i].from == RF_NET_FROM_ENV &&
		    strcmp(plan->net->credentials[i].source, name) == 0)
			return true;
	return false;
}

static const char *stand_in(const struct rf_facts *facts, const char *name)
{
	char whole[256];
	const char *value;

	snprintf(whole, sizeof(whole), RF_PLAN_STAND_IN "%s", name);
	value = rf_plan_caller_env(facts, whole);
	return value ? value : "(placeholder)";
}

static int assign_own(struct rf_list *env, const char *variable)
{
	const char *sign = strchr(variable, '=');
	char name[256];

	if (!sign || (size_t)(sign - variable) >= sizeof(name))
		return -EINVAL;
	memcpy(name, variable, (size_t)(sign - variable));
	name[sign - variable] = '\0';
	return rf_list_assign(env, name, sign + 1);
}

/* What a box has, then what is passed, then what is set, then the program's own; a later one replaces an earlier. */
static int gather(const struct rf_policy *policy, const struct rf_facts *facts,
		  const struct rf_plan *plan, struct rf_list *env)
{
	/* clang-format off */
	const struct { const char *name, *value; } own[] = {
		{ "PATH",    "/usr/local/bin:/usr/bin:/bin" },
		{ "HOME",    plan->home },
		{ "USER",    plan->user },
		{ "LOGNAME", plan->user },
		{ "SHELL",   "/bin/sh" },
		{ "TMPDIR",  "/tmp" },
		{ "LANG",    "C.UTF-8" },
		{ "PWD",     plan->workdir },
	};
	/* clang-format on */
	const struct rf_list *pass = &policy->values[RF_KEY_PASS].list;
	const struct rf_list *set = &policy->values[RF_KEY_SET].list;
	int r = 0;

	for (size_t i = 0; i < RF_LEN(own) && r >= 0; i++)
		r = rf_list_assign(env, own[i].name, own[i].value);
	if (plan->has_terminal && r >= 0)
		r = rf_list_assign(env, "TERM", terminal_name(facts));
	for (size_t i = 0; i < pass->count && r >= 0; i++) {
		const char *value = rf_plan_caller_env(facts, pass->items[i].name);

		if (value && !is_secret(plan, pass->items[i].name))
			r = rf_list_assign(env, pass->items[i].name, value);
	}
	for (size_t i = 0; i < set->count && r >= 0; i++)
		r = rf_list_assign(env, set->items[i].name, set->items[i].value);
	for (size_t i = 0; plan->net && i < plan->net->credential_count && r >= 0; i++) {
		const char *name = plan->net->credentials[i].variable;

		if (name)
			r = rf_list_assign(env, name, stand_in(facts, name));
	}
	for (char *const *own_set = facts->set; own_set && *own_set && r >= 0; own_set++)
		r = assign_own(env, *own_set);
	return r;
}

int rf_plan_env(const struct rf_policy *policy, const struct rf_facts *facts, struct rf_plan *plan,
		struct rf_err *err)
{
	struct rf_list env = { 0 };
	int r = gather(policy, facts, plan, &env);
	char **strings = rf_arena_alloc(plan->memory, (env.count + 1) * sizeof(*strings));

	for (size_t i = 0; strings && i < env.count; i++)
		strings[i] = rf_arena_printf(plan->memory, "%s=%s", env.items[i].name,
					     env.items[i].value);
	plan->env = strings;
	rf_list_done(&env);
	return r < 0 ? rf_fail(err, r, "env") : 0;
}
