/* Options of the command line: src/cli/option.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/option.h"
#include "harness.h"

#define MAX_ARGS 6

/* A NULL-ended argv of its own, as the real one is writable. */
static int count_of(const char *const *args)
{
	int count = 0;

	while (count < MAX_ARGS && args[count])
		count++;
	return count;
}

static int next(const char *const *args, int *at, const struct rf_option **ret_option,
		const char **ret_value, struct rf_err *err)
{
	char *argv[MAX_ARGS + 1] = { NULL };
	int argc = count_of(args);

	for (int i = 0; i < argc; i++)
		memcpy(&argv[i], &args[i], sizeof(argv[i]));
	return rf_option_next(RF_CMD_RUN, argc, argv, at, ret_option, ret_value, err);
}

RF_TEST(a_value_may_stand_apart_or_close_in_long_and_short_forms)
{
	/* clang-format off */
	static const struct { const char *args[MAX_ARGS], *name, *value; int at; } cases[] = {
		{ { "--memory", "64M" },        "memory",  "64M",  2 },
		{ { "--memory=64M" },           "memory",  "64M",  1 },
		{ { "-m64M" },                  "memory",  "64M",  1 },
		{ { "-m", "64M", "prog" },      "memory",  "64M",  2 },
		{ { "-m=64M" },                 "memory",  "=64M", 1 }, /* as getopt does */
		{ { "--memory=" },              "memory",  "",     1 },
		{ { "--memory", "" },           "memory",  "",     2 },
		{ { "--env=A=B=C" },            "env",     "A=B=C", 1 },
		{ { "-eA=B" },                  "env",     "A=B",  1 },
		{ { "--env", "--json" },        "env",     "--json", 2 },
		{ { "--read", "--" },           "read",    "--",   2 },
		{ { "--time=-1" },              "time",    "-1",   1 },
		{ { "--json", "64M" },          "json",    NULL,   1 },
		{ { "-h", "x" },                "help",    NULL,   1 },
		{ { "--cpu-time=1s" },          "cpu-time", "1s",  1 }, /* not --cpu */
		{ { "--cpu=50%" },              "cpu",     "50%",  1 },
		{ { "--env-file", "f" },        "env-file", "f",   2 },
		{ { "-p", "strict" },           "profile", "strict", 2 },
		{ { "-r/a:/b" },                "read",    "/a:/b", 1 },
		{ { "-w", "-" },                "write",   "-",    2 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_option *option = NULL;
		const char *value = "unset", *first = cases[i].args[0];
		struct rf_err err = RF_ERR_INIT;
		int at = 0;

		RF_REQUIRE(next(cases[i].args, &at, &option, &value, &err) == 1, "%s: %s", first,
			   err.msg);
		RF_CHECK(strcmp(option->name, cases[i].name) == 0, "%s is --%s", first,
			 option->name);
		RF_CHECK(at == cases[i].at, "%s: went on to %d", first, at);
		RF_CHECK(!value == !cases[i].value, "%s: '%s'", first, value);
		if (value && cases[i].value)
			RF_CHECK(strcmp(value, cases[i].value) == 0, "%s: '%s'", first, value);
	}
}

RF_TEST(options_end_at_two_dashes_or_at_the_first_other_word)
{
	/* clang-format off */
	static const struct { const char *args[MAX_ARGS]; int at; } cases[] = {
		{ { NULL },                     0 },
		{ { "prog", "--json" },         0 },
		{ { "--", "prog" },             1 }, /* passed over */
		{ { "--", "--json" },           1 },
		{ { "--" },                     1 },
		{ { "-", "--json" },            0 }, /* standard input, say */
		{ { "" },                       0 },
		{ { "memory=64M" },             0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_option *option = NULL;
		const char *value = NULL;
		struct rf_err err = RF_ERR_INIT;
		int at = 0;

		RF_CHECK(next(cases[i].args, &at, &option, &value, &err) == 0, "case %zu", i);
		RF_CHECK(at == cases[i].at && !option && !value, "case %zu: at %d", i, at);
	}
}

RF_TEST(options_are_read_one_after_the_other)
{
	static const char *const args[] = { "-m1G", "--json", "--time", "2s", "--", "prog" };
	static const char *const names[] = { "memory", "json", "time" };
	const struct rf_option *option = NULL;
	const char *value = NULL;
	struct rf_err err = RF_ERR_INIT;
	int at = 0;

	for (size_t i = 0; i < RF_LEN(names); i++) {
		RF_REQUIRE(next(args, &at, &option, &value, &err) == 1, "%zu: %s", i, err.msg);
		RF_CHECK(strcmp(option->name, names[i]) == 0, "%zu: --%s", i, option->name);
	}
	RF_CHECK(next(args, &at, &option, &value, &err) == 0 && at == 5, "ended at %d", at);
}

RF_TEST(mistakes_are_named_and_come_with_a_remedy)
{
	/* clang-format off */
	static const struct { const char *args[MAX_ARGS], *msg, *hint; } cases[] = {
		{ { "--memroy", "1" },    "there is no option `--memroy`",   "did you mean `--memory`?" },
		{ { "--memroy=1" },       "there is no option `--memroy=1`", "did you mean `--memory`?" },
		{ { "--jsn" },            "there is no option `--jsn`",      "did you mean `--json`?" },
		{ { "--Time" },           "there is no option `--Time`",     "did you mean `--time`?" },
		{ { "--wholly-unlike" },  "there is no option `--wholly-unlike`",
		  "`ringfort run --help` lists them; the program comes after `--`" },
		{ { "-q" },               "there is no option `-q`",         "" },
		{ { "-memory" },          NULL,                              NULL }, /* is -m emory */
		{ { "--=x" },             "there is no option `--=x`",       "" },
		{ { "---" },              "there is no option `---`",        "" },
		{ { "--memory" },         "`--memory` needs a value",        "for example: --memory 64M" },
		{ { "-m" },               "`--memory` needs a value",        "for example: --memory 64M" },
		{ { "--json=yes" },       "`--json` takes no value",         "" },
		{ { "--json=" },          "`--json` takes no value",         "" },
		{ { "-hx" },              "`--help` takes no value",         "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_option *option = NULL;
		const char *value = NULL, *first = cases[i].args[0];
		struct rf_err err = RF_ERR_INIT;
		int at = 0, code = next(cases[i].args, &at, &option, &value, &err);

		RF_CHECK(code == (cases[i].msg ? -EINVAL : 1), "%s: %d", first, code);
		if (code >= 0)
			continue;
		RF_CHECK(!option && !value, "%s: something came back", first);
		RF_CHECK(err.code == code && strcmp(err.msg, cases[i].msg) == 0, "%s: '%s'", first,
			 err.msg);
		RF_CHECK(cases[i].hint[0] ? strcmp(err.hint, cases[i].hint) == 0
					  : !strstr(err.hint, "did you mean"),
			 "%s: '%s'", first, err.hint);
	}
}

RF_TEST(a_very_long_mistake_is_cut_and_not_fatal)
{
	static char long_name[5000];
	const char *args[MAX_ARGS] = { long_name };
	const struct rf_option *option = NULL;
	const char *value = NULL;
	struct rf_err err = RF_ERR_INIT;
	int at = 0;

	memset(long_name, 'm', sizeof(long_name) - 1);
	long_name[0] = long_name[1] = '-';
	RF_CHECK(next(args, &at, &option, &value, &err) == -EINVAL, "%s", err.msg);
	RF_CHECK(strlen(err.msg) < 120, "it takes %zu bytes to say", strlen(err.msg));
}

RF_TEST(distance_counts_changed_added_and_missing_letters)
{
	/* clang-format off */
	static const struct { const char *a, *b; int want; } cases[] = {
		{ "",        "",        0 },
		{ "memory",  "memory",  0 },
		{ "",        "abc",     3 },
		{ "abc",     "",        3 },
		{ "memroy",  "memory",  2 },
		{ "memry",   "memory",  1 },
		{ "memoryy", "memory",  1 },
		{ "kitten",  "sitting", 3 },
		{ "flaw",    "lawn",    2 },
		{ "abc",     "xyz",     3 },
		{ "a",       "b",       1 },
		{ "ab",      "ba",      2 },
		{ "intention", "execution", 5 },
	};
	/* clang-format on */
	static char long_word[400];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		int there = rf_option_distance(cases[i].a, cases[i].b);
		int back = rf_option_distance(cases[i].b, cases[i].a);

		RF_CHECK(there == cases[i].want, "%s to %s: %d", cases[i].a, cases[i].b, there);
		RF_CHECK(back == cases[i].want, "%s to %s: %d", cases[i].b, cases[i].a, back);
	}
	memset(long_word, 'x', sizeof(long_word) - 1);
	for (size_t len = 60; len < 70; len++) {
		char word[80] = "";

		memset(word, 'y', len);
		RF_CHECK(rf_option_distance(word, "net") >= (int)len - 3, "%zu letters", len);
		RF_CHECK(rf_option_distance("net", word) >= (int)len - 3, "%zu letters", len);
	}
	RF_CHECK(rf_option_distance(long_word, "net") > 200, "a long word");
	RF_CHECK(rf_option_distance("net", long_word) > 200, "a long word");
}

RF_TEST(help_names_every_option_on_lines_that_fit)
{
	static const char *const words[] = { "--memory 64M", "-m --memory",   "--json",
					     "--version",    "what it sees:", "what it may use:" };
	char *text = NULL, *rest = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	RF_REQUIRE(out, "no memory");
	rf_option_help(RF_CMD_RUN, out);
	fclose(out);
	for (size_t i = 0; i < RF_LEN(words); i++)
		RF_CHECK(strstr(text, words[i]), "no '%s'", words[i]);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		RF_CHECK(strlen(line) <= 100, "too long: %s", line);
	free(text);
}
