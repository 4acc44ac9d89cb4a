/* Languages: see lang.h. */
#include "policy/lang.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "policy/near.h"

/* clang-format off */
#define WORDS(...)    (const char *const[]){ __VA_ARGS__, NULL }
#define DEFAULTS(...) (const struct rf_lang_default[]){ __VA_ARGS__, { NULL, NULL } }

#define RUN_MAIN "exec \"$out/main\" \"$@\""

/*
 * Flags are those that a judge of programs would use.  Defaults are there for compilers: what a
 * program of the language needs beyond them is for its caller to say.
 */
static const struct rf_lang table[] = {
	{
		.name = "python", .aliases = WORDS("py", "python3"), .extensions = WORDS("py"),
		.programs = WORDS("python3", "python"), .version = WORDS("--version"),
		.package = "python3",
		.defaults = DEFAULTS({ "env.set", "PYTHONDONTWRITEBYTECODE=1" }),
	},
	{
		.name = "node", .aliases = WORDS("js", "javascript", "nodejs"),
		.extensions = WORDS("js", "mjs", "cjs"), .programs = WORDS("node", "nodejs"),
		.version = WORDS("--version"), .package = "nodejs",
	},
	{
		.name = "typescript", .aliases = WORDS("ts"), .extensions = WORDS("ts", "mts", "cts"),
		.programs = WORDS("deno run --allow-all --no-remote", "tsx", "bun run", "ts-node"),
		.version = WORDS("--version"), .is_picky = true,
	},
	{
		.name = "deno", .extensions = WORDS("ts", "js", "mjs", "tsx", "jsx"),
		.programs = WORDS("deno run --allow-all --no-remote"), .version = WORDS("--version"),
		.is_picky = true,
	},
	{
		.name = "bash", .extensions = WORDS("sh", "bash"), .programs = WORDS("bash"),
		.version = WORDS("--version"), .package = "bash",
	},
	{
		.name = "sh", .aliases = WORDS("shell", "dash"), .extensions = WORDS("sh"),
		.programs = WORDS("sh"), .package = "dash",
	},
	{
		.name = "ruby", .aliases = WORDS("rb"), .extensions = WORDS("rb"),
		.programs = WORDS("ruby"), .version = WORDS("--version"), .package = "ruby",
	},
	{
		.name = "perl", .aliases = WORDS("pl"), .extensions = WORDS("pl", "pm"),
		.programs = WORDS("perl"), .version = WORDS("-e", "print \"perl $^V\\n\""),
		.package = "perl",
	},
	{
		.name = "lua", .extensions = WORDS("lua"),
		.programs = WORDS("lua5.4", "lua", "lua5.3", "lua5.1", "luajit"),
		.version = WORDS("-v"), .package = "lua5.4",
	},
	{
		.name = "php", .extensions = WORDS("php"), .programs = WORDS("php"),
		.version = WORDS("--version"), .package = "php-cli",
	},
	{
		.name = "r", .aliases = WORDS("rscript"), .extensions = WORDS("R", "r"),
		.programs = WORDS("Rscript --vanilla"), .version = WORDS("--version"),
		.package = "r-base-core",
	},
	{
		.name = "c", .extensions = WORDS("c"), .programs = WORDS("gcc", "clang", "cc"),
		.build = "\"$program\" -O2 -x c -o \"$out/main\" \"$source\" -lm -pthread",
		.version = WORDS("--version"), .package = "gcc",
	},
	{
		.name = "cpp", .aliases = WORDS("c++", "cxx", "cplusplus"),
		.extensions = WORDS("cpp", "cc", "cxx", "C"),
		.programs = WORDS("g++", "clang++", "c++"),
		.build = "\"$program\" -O2 -x c++ -o \"$out/main\" \"$source\" -pthread",
		.version = WORDS("--version"), .package = "g++",
	},
	{
		.name = "go", .aliases = WORDS("golang"), .extensions = WORDS("go"),
		.programs = WORDS("go"), .is_picky = true,
		.build = "\"$program\" build -buildvcs=false -o \"$out/main\" \"$source\"",
		.version = WORDS("version"), .package = "golang-go",
		/* Its cache is empty in each box: the library is compiled along. */
		.defaults = DEFAULTS({ "limits.memory", "1G" }, { "limits.disk", "1G" },
				     { "limits.cpu", "200%" }, { "limits.time", "2m" },
				     { "limits.cpu_time", "2m" }, { "env.set", "CGO_ENABLED=0" },
				     { "env.set", "GOTOOLCHAIN=local" },
				     { "env.set", "GOTELEMETRY=off" }),
	},
	{
		.name = "rust", .aliases = WORDS("rs", "rustc"), .extensions = WORDS("rs"),
		.programs = WORDS("rustc"), .needs = WORDS("cc"),
		.build = "\"$program\" --edition 2021 --crate-name main -C opt-level=2 "
			 "-o \"$out/main\" \"$source\"",
		.version = WORDS("--version"), .package = "rustc",
		.defaults = DEFAULTS({ "limits.memory", "1G" }, { "limits.disk", "512M" }),
	},
	{
		/* The source launcher compiles in memory and takes any class name. */
		.name = "java", .extensions = WORDS("java"), .programs = WORDS("java -XX:+UseSerialGC"),
		.needs = WORDS("javac"), .is_picky = true, .version = WORDS("-version"),
		.package = "default-jdk-headless",
		.defaults = DEFAULTS({ "limits.memory", "1G" }),
	},
};
/* clang-format on */

void rf_lang_complete(struct rf_lang *lang, const struct rf_lang *from)
{
	static const char *const none[] = { NULL };
	static const struct rf_lang_default nothing[] = { { NULL, NULL } };
	static const struct rf_lang usual = {
		.aliases = none,
		.extensions = none,
		.programs = none,
		.needs = none,
		.run = RUN_MAIN,
		.version = none,
		.defaults = nothing,
	};

	if (!from)
		from = &usual;
	lang->aliases = lang->aliases ? lang->aliases : from->aliases;
	lang->extensions = lang->extensions ? lang->extensions : from->extensions;
	lang->programs = lang->programs ? lang->programs : from->programs;
	lang->needs = lang->needs ? lang->needs : from->needs;
	lang->build = lang->build ? lang->build : from->build;
	lang->run = lang->run ? lang->run : from->run;
	lang->version = lang->version ? lang->version : from->version;
	lang->package = lang->package ? lang->package : from->package;
	lang->defaults = lang->defaults ? lang->defaults : from->defaults;
	lang->is_picky |= from->is_picky;
}

/* The table with every column filled. */
static const struct rf_lang *known(size_t index)
{
	static struct rf_lang rows[RF_LEN(table)];

	if (index >= RF_LEN(rows))
		return NULL;
	if (!rows[index].name) {
		rows[index] = table[index];
		rf_lang_complete(&rows[index], NULL);
	}
	return &rows[index];
}

const struct rf_lang *rf_lang_known(const char *name)
{
	for (size_t i = 0; i < RF_LEN(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return known(i);
	return NULL;
}

static bool is_hidden(const struct rf_langs *langs, const char *name)
{
	for (size_t i = 0; i < langs->own_count; i++)
		if (strcmp(langs->own[i].name, name) == 0)
			return true;
	return false;
}

const struct rf_lang *rf_lang_at(const struct rf_langs *langs, size_t index)
{
	if (index < langs->own_count)
		return &langs->own[index];
	index -= langs->own_count;
	for (size_t i = 0; i < RF_LEN(table); i++)
		if (!is_hidden(langs, table[i].name) && index-- == 0)
			return known(i);
	return NULL;
}

static bool has_word(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcasecmp(*words, word) == 0)
			return true;
	return false;
}

int rf_lang_find(const struct rf_langs *langs, const char *name, const struct rf_lang **ret_lang,
		 struct rf_err *err)
{
	const struct rf_lang *lang;
	struct rf_near near = rf_near_init(name);

	/* Names before aliases: an alias of one may be the name of another. */
	for (size_t i = 0; (lang = rf_lang_at(langs, i)); i++)
		if (strcasecmp(lang->name, name) == 0) {
			*ret_lang = lang;
			return 0;
		}
	for (size_t i = 0; (lang = rf_lang_at(langs, i)); i++)
		if (has_word(lang->aliases, name)) {
			*ret_lang = lang;
			return 0;
		}
	for (size_t i = 0; (lang = rf_lang_at(langs, i)); i++) {
		rf_near_consider(&near, name, lang->name, lang->name);
		for (const char *const *alias = lang->aliases; *alias; alias++)
			rf_near_consider(&near, name, *alias, *alias);
	}
	rf_fail_say(err, -EINVAL, "there is no language `%.60s`", name);
	if (near.name)
		return rf_fail_hint(err,
				    "did you mean `%s`? `ringfort run --list-langs` lists them",
				    near.name);
	return rf_fail_hint(err, "`ringfort run --list-langs` lists them; the configuration can "
				 "add others (languages:)");
}

bool rf_lang_has_extension(const struct rf_lang *lang, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *point = strrchr(name, '.');

	if (!point || point == name)
		return false;
	for (const char *const *extension = lang->extensions; *extension; extension++)
		if (strcmp(*extension, point + 1) == 0)
			return true;
	return false;
}

const struct rf_lang *rf_lang_of_file(const struct rf_langs *langs, const char *path)
{
	const struct rf_lang *lang;

	for (size_t i = 0; (lang = rf_lang_at(langs, i)); i++)
		if (rf_lang_has_extension(lang, path))
			return lang;
	return NULL;
}
