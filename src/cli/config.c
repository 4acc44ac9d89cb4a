/*
 * The configuration: see config.h.
 *
 * Two tables of keys, one for the top and one for a language, and a function for each shape of
 * value.  Everything is checked while it is read, so that each error has its place.
 */
#include "cli/config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/own-file.h"
#include "base/rune.h"
#include "cli/home.h"
#include "policy/arena.h"
#include "policy/files.h"
#include "policy/markup.h"
#include "policy/near.h"
#include "policy/policy.h"
#include "policy/protected.h"
#include "workspace/merge.h"

struct reader {
	struct rf_markup markup;
	struct rf_files_base base;
	struct rf_config *config;
	struct rf_lang *lang; /* the one that is being read */
	struct rf_err *err;
	char path[96]; /* of the key that is being read: "languages.zig.program" */
};

/* ------------------------------------------------------------- shapes of values */

static bool is(const struct reader *r, yaml_event_type_t type)
{
	return rf_markup_is(&r->markup, type);
}

static int next(struct reader *r)
{
	return rf_markup_next(&r->markup);
}

static int fail_memory(struct reader *r)
{
	return rf_fail(r->err, -ENOMEM, "read the configuration");
}

/* The current event as text that stays; NULL if it is none, with the error told. */
static const char *take_text(struct reader *r)
{
	const char *text;

	if (!is(r, YAML_SCALAR_EVENT)) {
		rf_markup_fail(&r->markup, "%s: plain text is needed here, not %s", r->path,
			       rf_markup_kind(&r->markup));
		return NULL;
	}
	text = rf_arena_copy(r->config->memory, rf_markup_scalar(&r->markup));
	if (!text)
		fail_memory(r);
	if (text && !*text) {
		rf_markup_fail(&r->markup, "%s: empty", r->path);
		return NULL;
	}
	return text;
}

/* Reads a list of words up to its end; `check` looks at each, or is NULL. */
static int take_list(struct reader *r, int (*check)(struct reader *r, const char *word),
		     const char *const **ret_list)
{
	const char *words[RF_MAX_CONFIG_LIST] = { NULL };
	const char **list;
	size_t count = 0;

	if (!is(r, YAML_SEQUENCE_START_EVENT)) {
		rf_markup_fail(&r->markup, "%s: a list is needed here, not %s", r->path,
			       rf_markup_kind(&r->markup));
		return rf_fail_hint(r->err, "write [one, two], or [] for none");
	}
	for (;;) {
		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_SEQUENCE_END_EVENT))
			break;
		if (count == RF_LEN(words))
			return rf_markup_fail(&r->markup, "%s: more than %zu elements", r->path,
					      RF_LEN(words));
		words[count] = take_text(r);
		if (!words[count] || (check && check(r, words[count]) < 0))
			return r->err->code;
		count++;
	}
	list = rf_arena_alloc(r->config->memory, (count + 1) * sizeof(*list));
	if (!list)
		return fail_memory(r);
	for (size_t i = 0; i < count; i++)
		list[i] = words[i];
	*ret_list = list;
	return 0;
}

static int take_switch(struct reader *r, bool *ret_is_on)
{
	const char *text = take_text(r);

	if (!text)
		return r->err->code;
	*ret_is_on = strcmp(text, "true") == 0 || strcmp(text, "on") == 0;
	if (*ret_is_on || strcmp(text, "false") == 0 || strcmp(text, "off") == 0)
		return 0;
	rf_markup_fail(&r->markup, "%s: \"%.40s\" is neither true nor false", r->path, text);
	return r->err->code;
}

/* ------------------------------------------------------------- keys by table */

struct key {
	const char *name;
	int (*read)(struct reader *r);
};

static int fail_unknown(struct reader *r, const struct key *keys, size_t count, const char *name)
{
	struct rf_near near = rf_near_init(name);

	for (size_t i = 0; i < count; i++)
		rf_near_consider(&near, name, keys[i].name, keys[i].name);
	rf_markup_fail(&r->markup, "%s%s%.60s: unknown key", r->path, *r->path ? "." : "", name);
	if (near.name)
		return rf_fail_hint(r->err, "did you mean \"%s\"?", near.name);
	return rf_fail_hint(r->err, "docs/config.md has all keys; rules of a box go into a policy");
}

/* Reads a mapping whose keys stand in a table, up to its end.  At most 64 keys. */
static int read_keys(struct reader *r, const struct key *keys, size_t count)
{
	size_t len = strlen(r->path);
	uint64_t seen = 0;

	for (;;) {
		const char *name;
		size_t i;

		r->path[len] = '\0';
		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		if (!is(r, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->markup, "a key is needed here, not %s",
					      rf_markup_kind(&r->markup));
		name = rf_markup_scalar(&r->markup);
		for (i = 0; i < count && strcmp(keys[i].name, name) != 0; i++)
			continue;
		if (i == count)
			return fail_unknown(r, keys, count, name);
		snprintf(r->path + len, sizeof(r->path) - len, "%s%s", len ? "." : "",
			 keys[i].name);
		if (seen & UINT64_C(1) << i)
			return rf_markup_fail(&r->markup, "%s: the key is here twice", r->path);
		seen |= UINT64_C(1) << i;
		if (next(r) < 0 || keys[i].read(r) < 0)
			return r->err->code;
	}
}

/* ------------------------------------------------------------- one language */

/* Letters, digits and a few signs: what can be typed, and looked at in a table. */
static bool is_word(const char *word, const char *signs, size_t longest)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789";
	size_t len = strlen(word);

	if (len == 0 || len > longest)
		return false;
	for (; *word; word++)
		if (!strchr(letters, *word) && !strchr(signs, *word))
			return false;
	return true;
}

static int check_name(struct reader *r, const char *word)
{
	if (is_word(word, "+#_-.", 32) && word[0] != '-')
		return 0;
	rf_markup_fail(&r->markup, "%s: \"%.40s\" is no name of a language", r->path, word);
	return rf_fail_hint(r->err, "up to 32 letters, digits and + # . _ -");
}

static int check_extension(struct reader *r, const char *word)
{
	if (is_word(word, "+_-", 16))
		return 0;
	rf_markup_fail(&r->markup, "%s: \"%.40s\" is no extension", r->path, word);
	return rf_fail_hint(r->err, "up to 16 letters and digits, without the point");
}

static int check_program(struct reader *r, const char *word)
{
	size_t len = strcspn(word, " ");
	bool is_path = memchr(word, '/', len) != NULL;

	if (len == 0 || len > 200 || word[0] == '-')
		return rf_markup_fail(&r->markup, "%s: \"%.40s\" begins with no program", r->path,
				      word);
	if (is_path && word[0] != '/' && strncmp(word, "~/", 2) != 0) {
		rf_markup_fail(&r->markup, "%s: \"%.40s\" is a relative path", r->path, word);
		return rf_fail_hint(r->err, "write a name to be found on PATH, or the whole path");
	}
	return 0;
}

static int read_aliases(struct reader *r)
{
	return take_list(r, check_name, &r->lang->aliases);
}

static int read_extensions(struct reader *r)
{
	return take_list(r, check_extension, &r->lang->extensions);
}

static int read_program(struct reader *r)
{
	if (take_list(r, check_program, &r->lang->programs) < 0)
		return r->err->code;
	if (!r->lang->programs[0])
		return rf_markup_fail(&r->markup, "%s: names no program", r->path);
	return 0;
}

static int read_needs(struct reader *r)
{
	return take_list(r, check_program, &r->lang->needs);
}

static int read_build(struct reader *r)
{
	r->lang->build = take_text(r);
	return r->lang->build ? 0 : r->err->code;
}

static int read_run(struct reader *r)
{
	r->lang->run = take_text(r);
	return r->lang->run ? 0 : r->err->code;
}

static int read_version_words(struct reader *r)
{
	return take_list(r, NULL, &r->lang->version);
}

static int read_package(struct reader *r)
{
	r->lang->package = take_text(r);
	return r->lang->package ? 0 : r->err->code;
}

static int read_picky(struct reader *r)
{
	return take_switch(r, &r->lang->is_picky);
}

/* Adds one default of the policy, after the policy has looked at it. */
static int add_default(struct reader *r, const char *key, const char *value)
{
	const struct rf_lang_default *old = r->lang->defaults;
	struct rf_policy *trial = rf_policy_new_empty();
	struct rf_lang_default *all;
	size_t count = 0;
	int code;

	code = trial ? rf_policy_set(trial, key, value, NULL, NULL, r->err) : fail_memory(r);
	rf_policy_free(trial);
	if (code < 0) {
		rf_fail_in(r->err, "%s", r->path);
		return rf_markup_at(&r->markup);
	}
	while (old && old[count].key)
		count++;
	if (count == RF_MAX_CONFIG_LIST)
		return rf_markup_fail(&r->markup, "%s: more than %d elements", r->path,
				      RF_MAX_CONFIG_LIST);
	all = rf_arena_alloc(r->config->memory, (count + 2) * sizeof(*all));
	if (!all)
		return fail_memory(r);
	for (size_t i = 0; i < count; i++)
		all[i] = old[i];
	all[count] = (struct rf_lang_default){ rf_arena_copy(r->config->memory, key),
					       rf_arena_copy(r->config->memory, value) };
	r->lang->defaults = all;
	return all[count].key && all[count].value ? 0 : fail_memory(r);
}

/* Reads a mapping of names to text; `form` says how the two become a default of the policy. */
static int read_defaults(struct reader *r, bool is_env)
{
	if (!is(r, YAML_MAPPING_START_EVENT))
		return rf_markup_fail(&r->markup, "%s: a mapping is needed here, not %s", r->path,
				      rf_markup_kind(&r->markup));
	for (;;) {
		char *name, *value;

		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		if (!is(r, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->markup, "%s: a name is needed here, not %s",
					      r->path, rf_markup_kind(&r->markup));
		name = rf_arena_printf(r->config->memory, "%s%s", is_env ? "" : "limits.",
				       rf_markup_scalar(&r->markup));
		if (next(r) < 0)
			return r->err->code;
		if (!is(r, YAML_SCALAR_EVENT))
			return rf_markup_fail(&r->markup, "%s: plain text is needed here, not %s",
					      r->path, rf_markup_kind(&r->markup));
		value = rf_arena_printf(r->config->memory, "%s%s%s", is_env && name ? name : "",
					is_env ? "=" : "", rf_markup_scalar(&r->markup));
		if (!name || !value)
			return fail_memory(r);
		if (add_default(r, is_env ? "env.set" : name, value) < 0)
			return r->err->code;
	}
}

static int read_limits(struct reader *r)
{
	return read_defaults(r, false);
}

static int read_env(struct reader *r)
{
	return read_defaults(r, true);
}

/* clang-format off */
static const struct key lang_keys[] = {
	{ "aliases",         read_aliases },
	{ "extensions",      read_extensions },
	{ "program",         read_program },
	{ "needs",           read_needs },
	{ "build",           read_build },
	{ "run",             read_run },
	{ "version",         read_version_words },
	{ "package",         read_package },
	{ "wants_extension", read_picky },
	{ "limits",          read_limits },
	{ "env",             read_env },
};
/* clang-format on */

/* Room for one language more. */
static struct rf_lang *add_lang(struct reader *r)
{
	struct rf_config *config = r->config;
	struct rf_lang *langs;

	langs = rf_arena_alloc(config->memory, (config->lang_count + 1) * sizeof(*langs));
	if (!langs)
		return NULL;
	for (size_t i = 0; i < config->lang_count; i++)
		langs[i] = config->langs[i];
	config->langs = langs;
	return &langs[config->lang_count++];
}

static int read_lang(struct reader *r, const char *name)
{
	const struct rf_lang *known = rf_lang_known(name);
	struct rf_markup *markup = &r->markup;
	int line = (int)markup->event.start_mark.line + 1;
	int column = (int)markup->event.start_mark.column + 1;

	for (size_t i = 0; i < r->config->lang_count; i++)
		if (strcmp(r->config->langs[i].name, name) == 0)
			return rf_markup_fail(markup, "%s: the language is here twice", r->path);
	if (r->config->lang_count == RF_MAX_CONFIG_LIST)
		return rf_markup_fail(markup, "more than %d languages", RF_MAX_CONFIG_LIST);
	r->lang = add_lang(r);
	if (!r->lang)
		return fail_memory(r);
	*r->lang = (struct rf_lang){ .name = name, .is_own = true };
	if (next(r) < 0)
		return r->err->code;
	if (!is(r, YAML_MAPPING_START_EVENT))
		return rf_markup_fail(markup, "%s: a mapping is needed here, not %s", r->path,
				      rf_markup_kind(markup));
	if (read_keys(r, lang_keys, RF_LEN(lang_keys)) < 0)
		return r->err->code;
	rf_lang_complete(r->lang, known);
	if (!known)
		rf_lang_complete(r->lang, NULL);
	if (r->lang->programs[0])
		return 0;
	rf_fail_at(r->err, line, column, "%s has no program", r->path);
	return rf_fail_hint(r->err, "name what runs it: program: [%.40s]", name);
}

static int read_languages(struct reader *r)
{
	size_t len = strlen(r->path);

	if (!is(r, YAML_MAPPING_START_EVENT))
		return rf_markup_fail(&r->markup, "%s: a mapping is needed here, not %s", r->path,
				      rf_markup_kind(&r->markup));
	for (;;) {
		const char *name;

		r->path[len] = '\0';
		if (next(r) < 0)
			return r->err->code;
		if (is(r, YAML_MAPPING_END_EVENT))
			return 0;
		name = take_text(r);
		if (!name || check_name(r, name) < 0)
			return r->err->code;
		snprintf(r->path + len, sizeof(r->path) - len, ".%s", name);
		if (read_lang(r, name) < 0)
			return r->err->code;
	}
}

/* ------------------------------------------------------------- the top */

static int read_version(struct reader *r)
{
	const char *text = take_text(r);

	if (!text)
		return r->err->code;
	if (strcmp(text, "1") == 0)
		return 0;
	rf_markup_fail(&r->markup, "version: this Ringfort reads version 1, not \"%.20s\"", text);
	return rf_fail_hint(r->err, "write `version: 1`");
}

static int read_profile(struct reader *r)
{
	return take_list(r, NULL, &r->config->profiles);
}

static int read_policy(struct reader *r)
{
	char source[RF_FILES_PATH], place[RF_FILES_PATH];
	const char *text = take_text(r);

	if (!text)
		return r->err->code;
	if (rf_files_parse(text, &r->base, source, place, r->err) < 0) {
		rf_fail_in(r->err, "policy");
		return rf_markup_at(&r->markup);
	}
	r->config->policy = rf_arena_copy(r->config->memory, source);
	return r->config->policy ? 0 : fail_memory(r);
}

static int read_colour(struct reader *r)
{
	static const char *const words[] = {
		[RF_STYLE_AUTO] = "auto",
		[RF_STYLE_ALWAYS] = "always",
		[RF_STYLE_NEVER] = "never",
	};
	const char *text = take_text(r);

	if (!text)
		return r->err->code;
	for (size_t i = 0; i < RF_LEN(words); i++)
		if (strcmp(words[i], text) == 0) {
			r->config->colour = (enum rf_style_wish)i;
			return 0;
		}
	rf_markup_fail(&r->markup, "colour: \"%.40s\" is none of auto, always, never", text);
	return r->err->code;
}

static int read_points(struct reader *r)
{
	const char *text = take_text(r);
	unsigned long points;
	char *end;

	if (!text)
		return r->err->code;
	points = strtoul(text, &end, 10);
	if (*end || text[0] < '0' || text[0] > '9' || points < RF_MERGE_LEAST ||
	    points > RF_MERGE_MOST) {
		rf_markup_fail(&r->markup, "points: \"%.40s\" is no number from %d to %d", text,
			       RF_MERGE_LEAST, RF_MERGE_MOST);
		return r->err->code;
	}
	r->config->points = (unsigned)points;
	return 0;
}

static int check_row(struct reader *r, const char *word)
{
	if (rf_protected_is_row(word))
		return 0;
	rf_markup_fail(&r->markup, "%s: \"%.60s\" names no file of a directory", r->path, word);
	return rf_fail_hint(r->err, "as Makefile, deploy/**, or *.tf: at most one * in a name, and "
				    "** for any names");
}

static int read_protected(struct reader *r)
{
	return take_list(r, check_row, &r->config->protects);
}

static int read_unprotected(struct reader *r)
{
	return take_list(r, check_row, &r->config->unprotects);
}

/* clang-format off */
static const struct key top_keys[] = {
	{ "version",   read_version },
	{ "profile",   read_profile },
	{ "policy",    read_policy },
	{ "colour",    read_colour },
	{ "points",    read_points },
	{ "protected", read_protected },
	{ "unprotected", read_unprotected },
	{ "languages", read_languages },
};
/* clang-format on */

int rf_config_parse(const char *text, size_t len, const char *folder, const char *home,
		    struct rf_config *ret_config, struct rf_err *err)
{
	struct reader r = { .base = { folder, home }, .config = ret_config, .err = err };
	int code;

	if (!ret_config->memory)
		*ret_config = (struct rf_config){ .memory = rf_arena_new() };
	if (!ret_config->memory)
		return fail_memory(&r);
	if (rf_markup_init(&r.markup, text, len, RF_MAX_CONFIG_BYTES, "configuration", err) < 0)
		return err->code;
	code = rf_markup_begin(&r.markup);
	if (code > 0)
		code = read_keys(&r, top_keys, RF_LEN(top_keys)) < 0 ? err->code
								     : rf_markup_end(&r.markup);
	rf_markup_done(&r.markup);
	if (code < 0)
		rf_rune_tidy(err);
	return code;
}

/* ------------------------------------------------------------- the file */

/* The path of the file, in the arena; NULL when memory is gone. */
static const char *choose(const struct rf_config_where *where, struct rf_arena *memory)
{
	const char *path;
	char *usual;

	if (where->named && where->named[0] == '/')
		return rf_arena_copy(memory, where->named);
	if (where->named)
		return rf_arena_printf(memory, "%s/%s", where->cwd ? where->cwd : "", where->named);
	usual = rf_home_config(where->home, "config.yaml");
	path = usual ? rf_arena_copy(memory, usual) : NULL;
	free(usual);
	return path;
}

int rf_config_load(const struct rf_config_where *where, struct rf_config *ret_config,
		   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	char *folder, *slash;
	int code;

	*ret_config = (struct rf_config){ .memory = rf_arena_new() };
	ret_config->path = ret_config->memory ? choose(where, ret_config->memory) : NULL;
	if (!ret_config->path)
		return rf_fail(err, -ENOMEM, "find the configuration");
	code = rf_own_file_read(ret_config->path, RF_MAX_CONFIG_BYTES, &text, err);
	if (code < 0) {
		ret_config->path = NULL; /* the error names it */
		if (code == -ENOENT && !where->named)
			return 0;
		if (!err->hint[0])
			rf_fail_hint(err, "`--no-config` goes without");
		return rf_fail_in(err, "configuration");
	}
	folder = rf_arena_copy(ret_config->memory, ret_config->path);
	slash = folder ? strrchr(folder, '/') : NULL;
	if (!slash)
		return rf_fail(err, -ENOMEM, "read the configuration");
	slash[slash == folder ? 1 : 0] = '\0';
	return rf_config_parse(text.data, text.len, folder, where->home, ret_config, err);
}

void rf_config_done(struct rf_config *config)
{
	rf_arena_free(config->memory);
	*config = (struct rf_config){ 0 };
}

const char *rf_config_variable(void)
{
	const char *name = getenv("RINGFORT_CONFIG");

	return name && *name ? name : NULL;
}

static int load_named(struct rf_config *ret_config, struct rf_err *err)
{
	char *cwd = getcwd(NULL, 0), *home = rf_home_find(geteuid());
	const struct rf_config_where where = { rf_config_variable(), cwd, home };
	int code;

	*ret_config = (struct rf_config){ 0 };
	code = home ? rf_config_load(&where, ret_config, err) : 0;
	free(cwd);
	free(home);
	return code;
}

/* The caller's settings, or none where they can't be read.  To be freed. */
static void load_usual(struct rf_config *ret_config)
{
	struct rf_err ignored;

	if (load_named(ret_config, &ignored) < 0)
		rf_config_done(ret_config);
}

int rf_config_protect(struct rf_err *err)
{
	static struct rf_config config; /* its names are needed to the end */

	if (load_named(&config, err) < 0)
		return err->code;
	if (rf_protected_set(config.protects, config.unprotects) < 0)
		return rf_fail(err, -ENOMEM, "read the configuration");
	return 0;
}

enum rf_style_wish rf_config_colour(void)
{
	struct rf_config config;
	enum rf_style_wish wish;

	load_usual(&config);
	wish = config.memory ? config.colour : RF_STYLE_AUTO;
	rf_config_done(&config);
	return wish;
}

unsigned rf_config_points(void)
{
	struct rf_config config;
	unsigned points;

	load_usual(&config);
	points = config.points ? config.points : RF_MERGE_POINTS;
	rf_config_done(&config);
	return points;
}
