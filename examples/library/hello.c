/* One program in a box, and what it came to. */
#include <ringfort/ringfort.h>
#include <stdio.h>

int main(void)
{
	const char *argv[] = { "python3", "-c", "import os; print(6 * 7, os.listdir('/home/box'))",
			       NULL };
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct ringfort *fort;
	struct ringfort_box *box;

	if (ringfort_open(NULL, &fort, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	run.argv = argv;
	if (ringfort_start(fort, NULL, &run, &box, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		ringfort_close(fort);
		return 1;
	}
	ringfort_wait(box, -1, NULL);
	ringfort_result(box, &result);
	printf("%s, exit code %d, %.1f ms, said: %s", ringfort_status_name(result.status),
	       result.exit_code, (double)result.wall_ns / 1e6, result.output[0]);
	ringfort_free(box);
	ringfort_close(fort);
	return result.status != RINGFORT_OK;
}
