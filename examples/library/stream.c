/* Output as it comes, by a function that is called with it; input from memory. */
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <string.h>

struct count {
	size_t calls, bytes[3];
};

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct count *count = data;

	count->calls++;
	count->bytes[stream] += len;
	printf("%s| %.*s", stream == 1 ? "out" : "err", (int)len, bytes);
	fflush(stdout);
}

int main(void)
{
	static const char script[] = "while read -r word; do echo \"got $word\"; sleep 0.1; done\n"
				     "echo done >&2\n";
	const char *argv[] = { "sh", "-c", script, NULL };
	struct ringfort_error error = RINGFORT_ERROR_INIT;
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct ringfort_result result = RINGFORT_RESULT_INIT;
	struct count count = { 0 };
	struct ringfort *fort;
	struct ringfort_box *box;

	run.argv = argv;
	run.input = "one\ntwo\nthree\n";
	run.input_len = strlen(run.input);
	run.on_output = on_output;
	run.data = &count;
	if (ringfort_open(NULL, &fort, &error) < 0 ||
	    ringfort_start(fort, NULL, &run, &box, &error) < 0) {
		fprintf(stderr, "%s\n  %s\n", error.message, error.remedy);
		return 1;
	}
	ringfort_wait(box, -1, NULL);
	ringfort_result(box, &result);
	printf("%s after %zu calls: %zu bytes and %zu\n", ringfort_status_name(result.status),
	       count.calls, count.bytes[1], count.bytes[2]);
	ringfort_free(box);
	ringfort_close(fort);
	return result.status != RINGFORT_OK;
}
