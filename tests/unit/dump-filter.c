/*
 * Writes the filter of a box to standard output, as the kernel would get it, for tests that compare it
 * with what another compiler makes of the same profile:
 *
 *   dump-filter [PROFILE]    the default table, alone or with a profile
 */
#include <stdio.h>

#include "jail/filter.h"
#include "jail/ruleset.h"

int main(int argc, char **argv)
{
	const struct rf_call_options options = { .syscalls = RF_SYSCALLS_DEFAULT,
						 .has_inet = true };
	static struct rf_filter filter;
	struct rf_err err = RF_ERR_INIT;
	struct rf_ruleset *ruleset = NULL;
	const struct rf_ruleset *profile;
	size_t written;

	if (argc > 1 && rf_ruleset_load(argv[1], &ruleset, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	profile = ruleset;
	if (rf_filter_build(&options, &profile, ruleset ? 1 : 0, &filter, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		rf_ruleset_free(ruleset);
		return 1;
	}
	written = fwrite(filter.code, sizeof(filter.code[0]), filter.len, stdout);
	rf_ruleset_free(ruleset);
	return written == filter.len ? 0 : 1;
}
