/*
 * Configurations from hostile text: what is read is whole, every language in it can be found by its
 * names, and what is refused says why.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "policy/policy.h"
#include "replay.h"

static void demand(bool holds)
{
	if (!holds)
		abort();
}

static void check_lang(const struct rf_langs *langs, const struct rf_lang *lang)
{
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;
	const struct rf_lang *found = NULL;

	demand(policy && lang->programs[0] && lang->programs[0][0]);
	demand(lang->aliases && lang->extensions && lang->needs && lang->run && lang->version);
	demand(rf_lang_find(langs, lang->name, &found, &err) == 0);
	for (const struct rf_lang_default *d = lang->defaults; d->key; d++)
		demand(rf_policy_set(policy, d->key, d->value, NULL, NULL, &err) == 0);
	rf_policy_free(policy);
}

RF_FUZZ(data, size)
{
	struct rf_config config = { 0 };
	struct rf_err err = RF_ERR_INIT;

	if (rf_config_parse((const char *)data, size, "/srv/c", "/home/ada", &config, &err) < 0) {
		demand(err.code < 0 && err.msg[0] != '\0');
	} else {
		const struct rf_langs langs = { config.langs, config.lang_count };

		demand(!config.policy || config.policy[0] == '/');
		for (size_t i = 0; i < config.lang_count; i++)
			check_lang(&langs, &config.langs[i]);
	}
	rf_config_done(&config);
	return 0;
}
