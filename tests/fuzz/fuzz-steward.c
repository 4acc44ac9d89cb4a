/*
 * What is asked of the watcher, and the state that it finds: the first byte says which.  Words, lines of
 * them, are answered, refused or not known; a state is taken whole or not at all.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "watch/steward.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What is noted can be recorded. */
static void note(void *data, const struct rf_audit_event *event)
{
	RF_AUTO_BUF struct rf_buf bytes;
	struct rf_err err = RF_ERR_INIT;

	(void)data;
	rf_buf_init(&bytes, 1 << 20);
	require(rf_audit_event_encode(event, &bytes, &err) == 0);
}

/* One line: words between NULs. */
static void ask(struct rf_steward *steward, const char *line, size_t len, uint64_t ms)
{
	struct rf_steward_now now = { ms, ms };
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;
	const char *words[16];
	size_t count = 0;
	int code;

	for (size_t at = 0; at < len && count < 16; at += strlen(line + at) + 1)
		words[count++] = line + at;
	rf_buf_init(&out, 1 << 20);
	code = rf_steward_ask(steward, words, count, &now, &out, &err);
	require(code == 0 || (code == 1 && out.len > 0) || (code < 0 && err.msg[0]));
}

RF_FUZZ(data, size)
{
	const struct rf_steward_options options = { .cap = 8, .runs = 4, .note = note };
	struct rf_steward *steward = rf_steward_new(&options);
	struct rf_err err = RF_ERR_INIT;
	uint64_t ms = 0;
	char *copy;

	require(steward);
	if (size > 0 && data[0] == 's') {
		if (rf_steward_unpack(steward, "boot", 1000, data + 1, size - 1, &err) == 0)
			ask(steward, "breaker\0ls\0text", 16, 1000);
		else
			require(err.msg[0]);
	} else if (size > 1) {
		copy = calloc(1, size); /* with a NUL at its end */
		require(copy);
		memcpy(copy, data + 1, size - 1);
		for (char *line = copy, *end; *line; line = end) {
			size_t len = strcspn(line, "\n");

			end = line + len + (line[len] == '\n');
			line[len] = '\0';
			for (size_t i = 0; i < len; i++)
				if (line[i] == ' ')
					line[i] = '\0';
			ask(steward, line, len, ms += 7000);
		}
		free(copy);
	}
	rf_steward_free(steward);
	return 0;
}
