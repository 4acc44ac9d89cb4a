/*
 * A hostile command line: arguments are the input's bytes, cut at each NUL.  Whatever they are, the
 * reader moves on and ends, an option comes with a value exactly if it takes one, the value is one
 * of the arguments' own bytes, and a mistake is told.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"
#include "replay.h"

#define MAX_ARGS 64

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* True if `value` is the end of one of the arguments. */
static bool is_from(char *const *argv, int argc, const char *value)
{
	for (int i = 0; i < argc; i++)
		if (value >= argv[i] && value <= argv[i] + strlen(argv[i]))
			return true;
	return false;
}

static void read_all(int argc, char **argv)
{
	int at = 0;

	for (int rounds = 0; rounds <= argc; rounds++) {
		const struct rf_option *option = NULL;
		const char *value = NULL;
		struct rf_err err = RF_ERR_INIT;
		int before = at,
		    code = rf_option_next(RF_CMD_RUN, argc, argv, &at, &option, &value, &err);

		require(at >= before && at <= argc);
		if (code < 0) {
			require(code == err.code && err.msg[0] && !option && !value);
			return;
		}
		if (code == 0) {
			require(!option && !value);
			require(at == argc || at == before || strcmp(argv[before], "--") == 0);
			return;
		}
		require(at > before && option && option->name);
		require(!option->arg == !value);
		require(!value || is_from(argv, argc, value));
	}
	abort(); /* more options than arguments */
}

/* What holds for every distance between two words that are not too long to measure. */
static void check_distance(const char *a, const char *b)
{
	int a_len = (int)strnlen(a, 64), b_len = (int)strnlen(b, 64);
	int least = a_len > b_len ? a_len - b_len : b_len - a_len;
	int distance = rf_option_distance(a, b);

	if (a_len == 64 || b_len == 64)
		return;
	require(distance == rf_option_distance(b, a));
	require(distance >= least && distance <= (a_len > b_len ? a_len : b_len));
	require((distance == 0) == (strcmp(a, b) == 0));
}

RF_FUZZ(data, size)
{
	char *argv[MAX_ARGS + 1] = { NULL };
	int argc = 0;

	while (size > 0 && argc < MAX_ARGS) {
		size_t len = strnlen((const char *)data, size);

		argv[argc] = malloc(len + 1);
		require(argv[argc]);
		memcpy(argv[argc], data, len);
		argv[argc++][len] = '\0';
		len += len < size; /* the NUL, too */
		data += len;
		size -= len;
	}
	read_all(argc, argv);
	if (argc > 1)
		check_distance(argv[0], argv[1]);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return 0;
}
