/* The built-in profiles: see profile.h. */
#include "policy/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/policy.h"

int rf_policy_profile(const char *name, struct rf_policy **ret_policy, struct rf_err *err)
{
	char names[128] = "";
	size_t len = 0;

	for (const struct rf_profile_text *p = rf_profile_texts; p->name; p++) {
		if (strcmp(p->name, name) == 0) {
			if (rf_policy_parse(p->text, strlen(p->text), NULL, NULL, ret_policy, err) <
			    0)
				return rf_fail_in(err, "profile %s", name);
			return 0;
		}
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", p->name);
	}
	rf_fail_say(err, -ENOENT, "there is no profile \"%.40s\"", name);
	return rf_fail_hint(err, "the profiles are: %s", names);
}
