/* The built-in profiles: see profile.h. */
#include "policy/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/chain.h"
#include "policy/near.h"
#include "policy/policy.h"

const struct rf_profile_text *rf_profile_find(const char *name)
{
	for (const struct rf_profile_text *p = rf_profile_texts; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static int refuse(const char *name, struct rf_err *err)
{
	struct rf_near near = rf_near_init(name);
	char names[128] = "";
	size_t len = 0;

	for (const struct rf_profile_text *p = rf_profile_texts; p->name; p++) {
		rf_near_consider(&near, name, p->name, p->name);
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", p->name);
	}
	rf_fail_say(err, -ENOENT, "there is no profile \"%.40s\"", name);
	if (near.name)
		return rf_fail_hint(err, "did you mean \"%s\"?", near.name);
	return rf_fail_hint(err, "the profiles are: %s", names);
}

int rf_profile_load(const char *name, struct rf_chain_text *ret_text, struct rf_err *err)
{
	const struct rf_profile_text *profile = rf_profile_find(name);
	struct rf_chain_text text = { 0 };

	if (rf_chain_check_name(name, err) < 0)
		return err->code;
	if (!profile)
		return refuse(name, err);
	text = (struct rf_chain_text){
		.name = strdup(name),
		.id = strdup(name),
		.text = strdup(profile->text),
		.len = strlen(profile->text),
	};
	if (!text.name || !text.id || !text.text) {
		rf_chain_text_done(&text);
		return rf_fail(err, -ENOMEM, "profile %s", name);
	}
	*ret_text = text;
	return 0;
}

void rf_profile_summary(const char *text, char *summary, size_t size)
{
	size_t len;

	summary[0] = '\0';
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	text += strspn(text, "\r\n");
	if (*text != '#')
		return;
	text += strspn(text, "# \t");
	len = strcspn(text, "\r\n");
	snprintf(summary, size, "%.*s", (int)(len < size ? len : size - 1), text);
}

int rf_policy_profile(const char *name, struct rf_policy **ret_policy, struct rf_err *err)
{
	struct rf_chain chain = { 0 };
	struct rf_policy *policy = rf_policy_new_empty();
	int code = policy ? rf_chain_add(&chain, name, err) : rf_fail(err, -ENOMEM, "a profile");

	if (code >= 0)
		code = rf_chain_merge(&chain, policy, err);
	rf_chain_done(&chain);
	if (code < 0) {
		rf_policy_free(policy);
		return code;
	}
	*ret_policy = policy;
	return 0;
}
