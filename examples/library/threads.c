/* Many threads share one fort: no lock is needed, and each has boxes of its own. */
#include <pthread.h>
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 8
#define BOXES   5 /* of each */

static struct ringfort *fort;

static void *work(void *data)
{
	size_t number = (size_t)data, good = 0;

	for (size_t i = 0; i < BOXES; i++) {
		char sum[64];
		const char *argv[] = { "expr", sum, "*", "7", NULL };
		struct ringfort_run run = RINGFORT_RUN_INIT;
		struct ringfort_result result = RINGFORT_RESULT_INIT;
		struct ringfort_error error = RINGFORT_ERROR_INIT;
		struct ringfort_box *box;

		snprintf(sum, sizeof(sum), "%zu", number * 100 + i);
		run.argv = argv;
		if (ringfort_start(fort, NULL, &run, &box, &error) < 0) {
			fprintf(stderr, "%s\n", error.message);
			break;
		}
		ringfort_wait(box, -1, NULL);
		ringfort_result(box, &result);
		good += (size_t)atol(result.output[0]) == (number * 100 + i) * 7;
		ringfort_free(box);
	}
	return (void *)good;
}

int main(void)
{
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	pthread_t threads[THREADS];
	size_t good = 0;

	if (ringfort_open(NULL, &fort, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
			return 1;
	for (size_t i = 0; i < THREADS; i++) {
		void *done;

		pthread_join(threads[i], &done);
		good += (size_t)done;
	}
	ringfort_close(fort);
	printf("%zu of %d answers are right\n", good, THREADS * BOXES);
	return good != THREADS * BOXES;
}
