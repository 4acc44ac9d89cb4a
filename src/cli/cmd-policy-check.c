/* ringfort policy check: what is wrong in policies. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/jsonread.h"
#include "base/limits.h"
#include "base/slurp.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/shelf.h"
#include "jail/ruleset.h"
#include "policy/net-credential-hosts.h"

/* True for a system call profile: JSON with a key that every one of them has and no policy. */
static bool is_profile(const char *path)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	struct rf_jsonread *json = NULL;
	struct rf_err err = RF_ERR_INIT;
	bool is = false;

	if (rf_slurp(path, RF_MAX_JSON_READ, &text, &err) >= 0 &&
	    rf_jsonread_parse(text.data, text.len, &json, &err) >= 0)
		is = rf_jsonread_member(rf_jsonread_root(json), "defaultAction") != NULL;
	rf_jsonread_free(json);
	return is;
}

static bool check_profile(const char *path, bool is_alone)
{
	struct rf_ruleset *ruleset = NULL;
	struct rf_err err = RF_ERR_INIT;
	bool is_right = rf_ruleset_load(path, &ruleset, &err) >= 0;

	if (!is_right)
		rf_cmd_complain(NULL, &err);
	else if (ruleset->unknown_count > 0)
		printf("%s: passed over %zu unknown system call%s: %s\n", path,
		       ruleset->unknown_count, ruleset->unknown_count == 1 ? "" : "s",
		       ruleset->unknown);
	if (is_right && is_alone)
		printf("%s: ok\n", path);
	rf_ruleset_free(ruleset);
	return is_right;
}

/* Reads one file and all that it extends, and joins them, since `final` may object. */
static bool check(struct rf_shelf *shelf, const char *path)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	char *file = NULL;
	bool is_right;

	if (is_profile(path))
		return check_profile(path, true);
	is_right = rf_shelf_policy_file(shelf, path, &policy, &file, &err) >= 0 &&
		   rf_net_credential_hosts_check(policy, NULL, &err) == 0;
	if (is_right) {
		for (size_t i = 0; rf_policy_filter(policy, i); i++)
			is_right &= check_profile(rf_policy_filter(policy, i), false);
		if (is_right)
			printf("%s: ok\n", path);
	} else {
		rf_cmd_complain(file ? file : path, &err);
	}
	rf_policy_free(policy);
	free(file);
	return is_right;
}

int rf_cmd_policy_check(int argc, char **argv)
{
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	struct rf_shelf shelf = { 0 };
	int at = 1, got, code = 0;

	got = rf_option_next(RF_CMD_POLICY_CHECK, argc, argv, &at, &option, &value, &err);
	if (got < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	if (got > 0 || at == argc) { /* --help, or nothing to check */
		rf_command_help(RF_CMD_POLICY_CHECK, got > 0 ? stdout : stderr);
		return got > 0 ? 0 : RF_EXIT_FAILED;
	}
	if (rf_shelf_init(&shelf, NULL, &err) < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	for (; at < argc; at++)
		if (!check(&shelf, argv[at]))
			code = 1;
	rf_shelf_done(&shelf);
	return code;
}
