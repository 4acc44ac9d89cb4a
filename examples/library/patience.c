/* Waiting no longer than one wants to: asks it to stop, then kills all of it. */
#include <ringfort/ringfort.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
	const char *argv[] = { "sh", "-c", "trap 'echo not yet' TERM; while :; do sleep 0.1; done",
			       NULL };
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct ringfort *fort;
	struct ringfort_box *box;

	run.argv = argv;
	if (ringfort_open(NULL, &fort, &error) < 0 ||
	    ringfort_start(fort, NULL, &run, &box, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	if (ringfort_wait(box, 500, NULL) == 0) {
		puts("half a second is over: asking it to stop");
		ringfort_signal(box, SIGTERM, NULL);
	}
	if (ringfort_wait(box, 500, NULL) == 0) {
		puts("another one: killing it");
		ringfort_kill(box, NULL);
	}
	ringfort_wait(box, -1, NULL);
	ringfort_result(box, &result);
	printf("%s, signal %d, its last words: %s", ringfort_status_name(result.status),
	       result.signal, result.output[0]);
	ringfort_free(box);
	ringfort_close(fort);
	return result.status != RINGFORT_KILLED;
}
