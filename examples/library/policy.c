/* A policy from text: one with a mistake, which is named with its place and its remedy, and one that holds. */
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <string.h>

static const char mistaken[] = "extends: [python]\n"
			       "limits:\n"
			       "  memroy: 64M\n";
static const char right[] = "extends: [python]\n"
			    "limits:\n"
			    "  memory: 64M\n"
			    "  time: 10s\n";

int main(void)
{
	const char *argv[] = { "python3", "-c", "x = bytearray(256 << 20)", NULL };
	const char *env[] = { "WHO=the library", NULL };
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct ringfort_policy *policy;
	struct ringfort *fort;
	struct ringfort_box *box;

	if (ringfort_policy_parse(mistaken, strlen(mistaken), NULL, &policy, &error) == 0)
		return 1;
	printf("line %d, column %d: %s\n  %s\n", error.line, error.column, error.message,
	       error.remedy);

	run.argv = argv;
	run.env = env;
	if (ringfort_policy_parse(right, strlen(right), NULL, &policy, &error) < 0 ||
	    ringfort_open(NULL, &fort, &error) < 0 ||
	    ringfort_start(fort, policy, &run, &box, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	ringfort_policy_free(policy); /* what was started goes on */
	ringfort_wait(box, -1, NULL);
	ringfort_result(box, &result);
	printf("256 MiB where 64 MiB are allowed: %s\n", ringfort_status_name(result.status));
	ringfort_free(box);
	ringfort_close(fort);
	return result.status == RINGFORT_OK;
}
