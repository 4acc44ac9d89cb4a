/* Eight boxes at once in one thread, for programs that have a loop of their own: poll(2). */
#include <poll.h>
#include <ringfort/ringfort.h>
#include <stdio.h>

#define COUNT 8

int main(void)
{
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort *fort;
	struct ringfort_box *boxes[COUNT];
	struct pollfd polls[COUNT];
	int left = COUNT, sum = 0;

	if (ringfort_open(NULL, &fort, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	for (int i = 0; i < COUNT; i++) {
		char code[64];
		const char *argv[] = { "sh", "-c", code, NULL };
		struct ringfort_run run = RINGFORT_RUN_INIT;

		snprintf(code, sizeof(code), "sleep 0.%d; exit %d", COUNT - i, i);
		run.argv = argv;
		if (ringfort_start(fort, NULL, &run, &boxes[i], &error) < 0) {
			fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
			return 1;
		}
		polls[i] = (struct pollfd){ .fd = ringfort_fd(boxes[i]), .events = POLLIN };
	}
	while (left > 0 && poll(polls, COUNT, -1) > 0)
		for (int i = 0; i < COUNT; i++) {
			struct ringfort_result result = RINGFORT_RESULT_INIT;

			if (!polls[i].revents || ringfort_wait(boxes[i], 0, NULL) == 0)
				continue;
			ringfort_result(boxes[i], &result);
			printf("box %d: %s, exit code %d\n", i, ringfort_status_name(result.status),
			       result.exit_code);
			sum += result.exit_code;
			ringfort_free(boxes[i]);
			polls[i].fd = -1; /* poll leaves it out */
			left--;
		}
	printf("all eight: %d\n", sum);
	ringfort_close(fort);
	return sum != 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7;
}
