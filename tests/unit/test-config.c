/* The configuration: what is read, what is refused, and where the error points. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/config.h"
#include "harness.h"
#include "policy/policy.h"

static int parse(const char *text, struct rf_config *config, struct rf_err *err)
{
	*config = (struct rf_config){ 0 };
	*err = RF_ERR_INIT;
	return rf_config_parse(text, strlen(text), "/srv/c", "/home/ada", config, err);
}

static const struct rf_lang *find(const struct rf_config *config, const char *name)
{
	const struct rf_langs langs = { config->langs, config->lang_count };
	const struct rf_lang *lang = NULL;
	struct rf_err err;

	RF_REQUIRE(rf_lang_find(&langs, name, &lang, &err) == 0, "%s: %s", name, err.msg);
	return lang;
}

RF_TEST(every_key_is_read)
{
	struct rf_config config;
	struct rf_err err;

	RF_REQUIRE(parse("version: 1\nprofile: [python, strict]\npolicy: ./p.yaml\n"
			 "colour: never\nlanguages: {}\n",
			 &config, &err) == 0,
		   "%s", err.msg);
	RF_CHECK(strcmp(config.profiles[0], "python") == 0, "as it was written");
	RF_CHECK(strcmp(config.profiles[1], "strict") == 0, "as it was written");
	RF_CHECK(config.profiles[2] == NULL, "as it was written");
	RF_CHECK(strcmp(config.policy, "/srv/c/p.yaml") == 0, "%s", config.policy);
	RF_CHECK(config.colour == RF_STYLE_NEVER, "as it was written");
	RF_CHECK(config.lang_count == 0, "as it was written");
	rf_config_done(&config);
}

RF_TEST(nothing_is_a_configuration_too)
{
	static const char *const texts[] = { "", "# nothing\n", "---\n", "{}", "\xef\xbb\xbf" };

	for (size_t i = 0; i < RF_LEN(texts); i++) {
		struct rf_config config;
		struct rf_err err;

		RF_CHECK(parse(texts[i], &config, &err) == 0, "%zu: %s", i, err.msg);
		RF_CHECK(!config.profiles && !config.policy && config.lang_count == 0,
			 "as it was written");
		rf_config_done(&config);
	}
}

RF_TEST(a_language_of_ones_own_has_all_columns)
{
	struct rf_config config;
	struct rf_err err;
	const struct rf_lang *lang;

	RF_REQUIRE(parse("languages:\n"
			 "  zig:\n"
			 "    aliases: [ziglang]\n"
			 "    extensions: [zig]\n"
			 "    program: [zig run, ~/zig/zig]\n"
			 "    needs: [cc]\n"
			 "    build: 'x'\n"
			 "    run: 'y'\n"
			 "    version: [version]\n"
			 "    package: zig\n"
			 "    wants_extension: true\n"
			 "    limits: { memory: 1G, time: 90s }\n"
			 "    env: { A: b }\n",
			 &config, &err) == 0,
		   "%s", err.msg);
	lang = find(&config, "ZIGLANG");
	RF_CHECK(strcmp(lang->name, "zig") == 0 && lang->is_own && lang->is_picky,
		 "as it was written");
	RF_CHECK(strcmp(lang->programs[0], "zig run") == 0 && !lang->programs[2],
		 "as it was written");
	RF_CHECK(strcmp(lang->needs[0], "cc") == 0, "as it was written");
	RF_CHECK(strcmp(lang->build, "x") == 0 && strcmp(lang->run, "y") == 0, "as it was written");
	RF_CHECK(strcmp(lang->defaults[0].key, "limits.memory") == 0, "as it was written");
	RF_CHECK(strcmp(lang->defaults[1].value, "90s") == 0, "as it was written");
	RF_CHECK(strcmp(lang->defaults[2].value, "A=b") == 0 && !lang->defaults[3].key,
		 "as it was written");
	rf_config_done(&config);
}

RF_TEST(a_known_language_keeps_what_is_not_said)
{
	struct rf_config config;
	struct rf_err err;
	const struct rf_lang *lang;
	size_t count = 0;

	RF_REQUIRE(parse("languages: { go: { program: [/opt/go/bin/go] } }", &config, &err) == 0,
		   "%s", err.msg);
	lang = find(&config, "golang");
	RF_CHECK(strcmp(lang->programs[0], "/opt/go/bin/go") == 0 && !lang->programs[1],
		 "as it was written");
	RF_CHECK(strstr(lang->build, "build -buildvcs=false") != NULL && lang->is_picky,
		 "as it was written");
	RF_CHECK(strcmp(lang->package, "golang-go") == 0, "as it was written");
	/* It hides the one of the table. */
	for (size_t i = 0; (lang = rf_lang_at(&(struct rf_langs){ config.langs, 1 }, i)); i++)
		count += strcmp(lang->name, "go") == 0;
	RF_CHECK(count == 1, "as it was written");
	rf_config_done(&config);
}

RF_TEST(an_error_has_its_place_and_a_remedy)
{
	/* clang-format off */
	static const struct { const char *text; int line, column; const char *msg, *hint; } cases[] = {
		{ "# note\xe2\x80\xa8policy: /x",    1, 7, "U+2028",                          "double quotes" },
		{ "version: 1\n# note\rpolicy: /x", 2, 7, "a carriage return",               "LF" },
		{ "coluor: auto",                   1, 1, "coluor: unknown key",             "\"colour\"" },
		{ "version: 1\nlimits: {}",         2, 1, "limits: unknown key",             "policy" },
		{ "version: 2",                     1, 10, "version 1",                      "version: 1" },
		{ "profile: python",                1, 10, "a list is needed",               "[one, two]" },
		{ "profile: [[a]]",                 1, 11, "plain text is needed",           "" },
		{ "colour: blue",                   1, 9, "none of auto, always, never",     "" },
		{ "colour: auto\ncolour: auto",     2, 1, "here twice",                      "" },
		{ "policy: ../x",                   1, 9, "\"..\"",                          "without" },
		{ "policy: ''",                     1, 9, "empty",                           "" },
		{ "languages: [a]",                 1, 12, "a mapping is needed",            "" },
		{ "languages:\n  a b: {}",          2, 3, "no name of a language",           "32 letters" },
		{ "languages:\n  zig: {}",          2, 3, "has no program",                  "program: [zig]" },
		{ "languages:\n  zig: { programm: [a] }", 2, 10, "programm: unknown key",    "\"program\"" },
		{ "languages:\n  zig: { program: a }", 2, 19, "a list is needed",            "" },
		{ "languages:\n  zig: { program: [] }", 2, 20, "names no program",           "" },
		{ "languages:\n  zig: { program: [./a] }", 2, 20, "a relative path",         "PATH" },
		{ "languages:\n  zig: { program: [a], extensions: [.zig] }", 2, 37, "no extension", "point" },
		{ "languages:\n  zig: { program: [a], limits: { memory: 1X } }", 2, 42, "limits.memory", "" },
		{ "languages:\n  zig: { program: [a], limits: { memroy: 1G } }", 2, 42, "unknown key", "memory" },
		{ "languages:\n  zig: { program: [a], env: { A B: x } }", 2, 36, "env", "" },
		{ "languages:\n  zig: { program: [a], wants_extension: maybe }", 2, 41, "neither true nor false", "" },
		{ "languages:\n  zig: { program: [a] }\n  zig: { program: [a] }", 3, 3, "here twice", "" },
		{ "a: &x b",                        1, 1, "unknown key",                     "" },
		{ "profile: [&x b]",                1, 11, "anchors",                        "" },
		{ "version: 1\n---\nversion: 1",    2, 1, "second document",                 "" },
		{ "[a]",                            1, 1, "a mapping of keys",               "version: 1" },
		{ "version: \"1\\0\"",              1, 10, "NUL",                            "" },
		{ "profile: [",                     2, 1, "not YAML",                        "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_config config;
		struct rf_err err;

		RF_CHECK(parse(cases[i].text, &config, &err) < 0, "%s", cases[i].text);
		RF_CHECK(err.line == cases[i].line && err.column == cases[i].column,
			 "%s: at %d:%d, not %d:%d", cases[i].text, err.line, err.column,
			 cases[i].line, cases[i].column);
		RF_CHECK(strstr(err.msg, cases[i].msg) != NULL, "%s: %s", cases[i].text, err.msg);
		RF_CHECK(strstr(err.hint, cases[i].hint) != NULL, "%s: %s", cases[i].text,
			 err.hint);
		rf_config_done(&config);
	}
}

RF_TEST(every_known_language_is_whole)
{
	const struct rf_langs none = { NULL, 0 };
	const struct rf_lang *lang, *found;
	struct rf_err err;

	for (size_t i = 0; (lang = rf_lang_at(&none, i)); i++) {
		struct rf_policy *policy = rf_policy_new_empty();

		RF_CHECK(lang->programs[0] && lang->extensions[0] && lang->run, "%s", lang->name);
		RF_CHECK(rf_lang_known(lang->name) == lang, "%s", lang->name);
		/* No name and no alias means two languages. */
		RF_CHECK(rf_lang_find(&none, lang->name, &found, &err) == 0 && found == lang, "%s",
			 lang->name);
		for (const char *const *alias = lang->aliases; *alias; alias++)
			RF_CHECK(rf_lang_find(&none, *alias, &found, &err) == 0 && found == lang,
				 "%s", *alias);
		for (const struct rf_lang_default *d = lang->defaults; d->key; d++)
			RF_CHECK(rf_policy_set(policy, d->key, d->value, NULL, NULL, &err) == 0,
				 "%s: %s", lang->name, err.msg);
		rf_policy_free(policy);
	}
}
