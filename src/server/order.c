/* What a request orders: see order.h. */
#include "server/order.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/limits.h"
#include "server/order-inside.h"
#include "wire/tenancy.h"
#include "wire/tenant-agent.h"

#define CODE_FOLDER "/code"
#define WORDS       2048
#define OUTPUTS     32

#define AT(member) offsetof(struct rf_order_said, member)

/* clang-format off */
#define PROGRAM \
	{ "argv",           RF_FORM_STRINGS,   AT(argv),           1, WORDS, false }, \
	{ "command",        RF_FORM_STRING,    AT(command),        1, 100000, false }, \
	{ "stdin",          RF_FORM_STRING,    AT(input),          0, RF_MAX_JSON_READ, false }, \
	{ "stdin_base64",   RF_FORM_STRING,    AT(input_base64),   0, RF_MAX_JSON_READ, false }, \
	{ "cwd",            RF_FORM_STRING,    AT(cwd),            1, 4000, false }
#define BOX \
	{ "env",            RF_FORM_VARIABLES, AT(env),            0, 256, false }, \
	{ "timeout",        RF_FORM_NUMBER,    AT(timeout),        1, RF_ORDER_SECONDS, false }
#define BEYOND \
	{ "beyond",         RF_FORM_STRING,    AT(beyond),         1, 10, false }
#define RULES \
	{ "profile",        RF_FORM_NAMES,     AT(profile),        1, RF_MAX_EXTENDS, false }, \
	{ "policy",         RF_FORM_OBJECT,    AT(policy),         0, 64, false }, \
	{ "limits",         RF_FORM_OBJECT,    AT(limits),         0, 32, false }, \
	{ "needs",          RF_FORM_OBJECT,    AT(needs),          0, 16, false }, \
	{ "credentials",    RF_FORM_NAMES,     AT(credentials),    1, RF_MAX_CREDENTIALS, false }, \
	{ "workspace",      RF_FORM_OBJECT,    AT(workspace),      0, 16, false }, \
	{ "agent",          RF_FORM_STRING,    AT(agent),          1, RF_TENANCY_NAME - 1, false }, \
	BEYOND

static const struct rf_form_field run_fields[] = {
	PROGRAM, BOX, RULES,
	{ "code",           RF_FORM_STRING,    AT(code),           0, RF_MAX_CODE, false },
	{ "language",       RF_FORM_STRING,    AT(language),       1, 40, false },
	{ "files",          RF_FORM_OBJECTS,   AT(files),          0, RF_ORDER_FILES, false },
	{ "outputs",        RF_FORM_STRINGS,   AT(outputs),        1, OUTPUTS, false },
};
static const struct rf_form_field sandbox_fields[] = {
	BOX, RULES,
	{ "labels",         RF_FORM_OBJECT,    AT(labels),         0, RF_ORDER_LABELS, false },
	{ "idle_timeout",   RF_FORM_NUMBER,    AT(idle_timeout),   1, RF_ORDER_SECONDS, false },
};
static const struct rf_form_field exec_fields[] = {
	PROGRAM, BOX,
	{ "code",           RF_FORM_STRING,    AT(code),           0, RF_MAX_CODE, false },
	{ "language",       RF_FORM_STRING,    AT(language),       1, 40, false },
	{ "background",     RF_FORM_TRUTH,     AT(is_background),  0, 0, false },
};
static const struct rf_form_field write_fields[] = {
	{ "data",           RF_FORM_STRING,    AT(data),           0, 4096, false },
	{ "data_base64",    RF_FORM_STRING,    AT(data_base64),    0, 8192, false },
	{ "close",          RF_FORM_TRUTH,     AT(is_last),        0, 0, false },
};
static const struct rf_form_field signal_fields[] = {
	{ "signal",         RF_FORM_STRING,    AT(signal),         1, 10, true },
};
static const struct rf_form_field session_fields[] = {
	PROGRAM, BOX,
	{ "terminal",       RF_FORM_OBJECT,    AT(terminal),       0, 3, false },
};
static const struct rf_form_field word_fields[] = {
	{ "data",           RF_FORM_STRING,    AT(data),           0, RF_MAX_JSON_READ, false },
	{ "data_base64",    RF_FORM_STRING,    AT(data_base64),    0, RF_MAX_JSON_READ, false },
	{ "close",          RF_FORM_TRUTH,     AT(is_last),        0, 0, false },
	{ "signal",         RF_FORM_STRING,    AT(signal),         1, 10, false },
	{ "terminal",       RF_FORM_OBJECT,    AT(terminal),       0, 3, false },
};
static const struct rf_form_field network_fields[] = {
	{ "network",        RF_FORM_OBJECT,    AT(network),        0, 32, true },
	BEYOND,
};
static const struct rf_form_field renew_fields[] = {
	{ "timeout",        RF_FORM_NUMBER,    AT(timeout),        1, RF_ORDER_SECONDS, true },
};

static const struct rf_form_field folder_fields[] = {
	{ "path",           RF_FORM_STRING,    AT(path),           1, 3999, true },
};
static const struct rf_form_field move_fields[] = {
	{ "from",           RF_FORM_STRING,    AT(path),           1, 3999, true },
	{ "to",             RF_FORM_STRING,    AT(to),             1, 3999, true },
};

static const struct rf_form_field workspace_fields[] = {
	{ "name",           RF_FORM_STRING,    AT(path),           1, RF_TENANCY_NAME - 1, true },
};
static const struct rf_form_field checkpoint_fields[] = {
	{ "name",           RF_FORM_STRING,    AT(path),           1, RF_TENANCY_NAME - 1, false },
};
static const struct rf_form_field undo_fields[] = {
	{ "to",             RF_FORM_STRING,    AT(to),             1, RF_TENANCY_NAME - 1, true },
};
static const struct rf_form_field agent_fields[] = {
	{ "name",           RF_FORM_STRING,    AT(path),           1, RF_TENANT_AGENT_NAME - 1, true },
	{ "description",    RF_FORM_STRING,    AT(about),          0, RF_TENANT_AGENT_ABOUT - 1, false },
	{ "labels",         RF_FORM_OBJECT,    AT(labels),         0, RF_ORDER_LABELS, false },
	{ "workspace",      RF_FORM_OBJECT,    AT(workspace),      0, 16, false },
	{ "timeout",        RF_FORM_NUMBER,    AT(timeout),        1, RF_ORDER_SECONDS, false },
	{ "profile",        RF_FORM_NAMES,     AT(profile),        1, RF_MAX_EXTENDS, false },
	{ "policy",         RF_FORM_OBJECT,    AT(policy),         0, 64, false },
	{ "limits",         RF_FORM_OBJECT,    AT(limits),         0, 32, false },
	BEYOND,
};
static const struct rf_form_field apply_fields[] = {
	{ "conflicts",      RF_FORM_STRING,    AT(conflicts),      1, 10, false },
	{ "dry_run",        RF_FORM_TRUTH,     AT(is_trial),       0, 0, false },
};

static const struct { const struct rf_form_field *fields; size_t count; } forms[] = {
	[RF_ORDER_RUN]     = { run_fields,     RF_LEN(run_fields) },
	[RF_ORDER_SANDBOX] = { sandbox_fields, RF_LEN(sandbox_fields) },
	[RF_ORDER_EXEC]    = { exec_fields,    RF_LEN(exec_fields) },
	[RF_ORDER_NETWORK] = { network_fields, RF_LEN(network_fields) },
	[RF_ORDER_RENEW]   = { renew_fields,   RF_LEN(renew_fields) },
	[RF_ORDER_WRITE]   = { write_fields,   RF_LEN(write_fields) },
	[RF_ORDER_SIGNAL]  = { signal_fields,  RF_LEN(signal_fields) },
	[RF_ORDER_FOLDER]  = { folder_fields,  RF_LEN(folder_fields) },
	[RF_ORDER_MOVE]    = { move_fields,    RF_LEN(move_fields) },
	[RF_ORDER_SESSION] = { session_fields, RF_LEN(session_fields) },
	[RF_ORDER_WORD]    = { word_fields,    RF_LEN(word_fields) },
	[RF_ORDER_WORKSPACE]  = { workspace_fields,  RF_LEN(workspace_fields) },
	[RF_ORDER_CHECKPOINT] = { checkpoint_fields, RF_LEN(checkpoint_fields) },
	[RF_ORDER_UNDO]       = { undo_fields,       RF_LEN(undo_fields) },
	[RF_ORDER_AGENT]      = { agent_fields,      RF_LEN(agent_fields) },
	[RF_ORDER_APPLY]      = { apply_fields,      RF_LEN(apply_fields) },
};
/* clang-format on */

int rf_order_invalid(const struct rf_order_reading *r, const char *where, const char *what,
		     const char *hint)
{
	rf_api_error_say(r->error, RF_API_INVALID, where, "%s: %s", where, what);
	return rf_api_error_hint(r->error, "%s", hint);
}

int rf_order_no_memory(const struct rf_order_reading *r)
{
	return rf_api_error_say(r->error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
}

/* ------------------------------------------------------------- bytes */

/* Bytes that came as text, or as base64: one of the two, or neither.  Gives them as they are meant. */
static int decode(const struct rf_order_reading *r, const char *text, const char *base64,
		  const char *where, const char **ret_data, size_t *ret_len)
{
	size_t len = base64 ? strlen(base64) : 0;
	char *data;
	ssize_t got;

	if (text && base64)
		return rf_order_invalid(r, where, "it is there as text, too", "say it in one way");
	if (!base64) {
		*ret_data = text;
		*ret_len = text ? strlen(text) : 0;
		return 0;
	}
	data = rf_arena_alloc(r->order->memory, len + 4);
	if (!data)
		return rf_order_no_memory(r);
	got = len % 4 ? -EINVAL : rf_base64_decode(base64, len, data);
	if (got < 0 || strpbrk(base64, "\r\n"))
		return rf_order_invalid(r, where, "it is no base64",
					"with padding, without line breaks");
	*ret_data = data;
	*ret_len = (size_t)got;
	return 0;
}

/* ------------------------------------------------------------- what is brought along */

/* Parts of letters, digits, `_`, `-` and `.`, which begin with one of the first three, or with a dot and one of them. */
static bool is_name(const char *path)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (const char *at = path;; at++) {
		at += *at == '.';
		if (!*at || !strchr(first, *at))
			return false;
		while (*at && (strchr(first, *at) || *at == '-' || *at == '.'))
			at++;
		if (*at != '/')
			return !*at;
	}
}

static int bring(const struct rf_order_reading *r, const char *name, enum rf_place_kind kind,
		 const char *source)
{
	struct rf_order *order = r->order;
	char *path = rf_arena_printf(order->memory, CODE_FOLDER "/%s", name);

	if (!path)
		return rf_order_no_memory(r);
	for (size_t i = 0; i < order->extra_count; i++)
		if (strcmp(order->extras[i].path, path) == 0)
			return rf_api_error_say(r->error, RF_API_CONFLICT, "files",
						"files: %s is there twice", path);
	order->extras[order->extra_count++] = (struct rf_place){
		.kind = kind,
		.path = path,
		.source = source,
		.rights = RF_RIGHT_READ,
		.why = "",
		.rule = "request",
	};
	return 0;
}

struct said_file {
	const char *path, *content, *base64;
};

static int read_file(const struct rf_order_reading *r, const struct rf_jsonread_value *value,
		     size_t index)
{
	struct said_file file = { 0 };
	/* clang-format off */
	const struct rf_form_field fields[] = {
		{ "path",           RF_FORM_STRING, 0,                                                  1, 200, true },
		{ "content",        RF_FORM_STRING, offsetof(struct said_file, content), 0, RF_MAX_JSON_READ, false },
		{ "content_base64", RF_FORM_STRING, offsetof(struct said_file, base64),  0, RF_MAX_JSON_READ, false },
	};
	/* clang-format on */
	char where[40];
	const char *data;
	size_t len;

	snprintf(where, sizeof(where), "files[%zu]", index);
	if (rf_form_read(value, fields, RF_LEN(fields), &file, r->order->memory, where, r->error) <
	    0)
		return -1;
	if (!is_name(file.path))
		return rf_order_invalid(r, where, "the path is none of a file beneath " CODE_FOLDER,
					"for example: data/input.csv");
	if (!file.content && !file.base64)
		return rf_order_invalid(r, where, "it has no content",
					"give content or content_base64");
	if (decode(r, file.content, file.base64, where, &data, &len) < 0)
		return -1;
	return bring(r, file.path, file.content ? RF_PLACE_TEXT : RF_PLACE_DATA,
		     file.content ? file.content : file.base64);
}

static int read_files(const struct rf_order_reading *r)
{
	const struct rf_jsonread_value *at = r->said.files ? r->said.files->first : NULL;

	for (size_t i = 0; at; at = at->next, i++)
		if (read_file(r, at, i) < 0)
			return -1;
	return 0;
}

/* ------------------------------------------------------------- what is run */

/* Builds, then becomes the program: as `ringfort run --lang` does. */
static const char script_form[] =
	"program=$1 source=$2 out=/tmp/.build; shift 2\n"
	"mkdir -p \"$out\" && { %s\n} </dev/null || {\n"
	"code=$?; echo 'ringfort: the build failed, so nothing was run' >&2; exit $code\n"
	"}\n"
	"%s\n";

static char **words_of(const struct rf_order_reading *r, const struct rf_lang *lang,
		       const char *program, const char *path)
{
	struct rf_arena *memory = r->order->memory;
	char **argv = rf_arena_alloc(memory, 16 * sizeof(*argv));
	char *rest = rf_arena_copy(memory, program), *word;
	size_t n = 0;

	if (!argv || !rest)
		return NULL;
	if (lang->build) {
		argv[n++] = rf_arena_copy(memory, "/bin/sh");
		argv[n++] = rf_arena_copy(memory, "-c");
		argv[n++] = rf_arena_printf(memory, script_form, lang->build, lang->run);
		argv[n++] = rf_arena_copy(memory, "sh");
		argv[n++] = rest;
	} else {
		for (word = strtok_r(rest, " ", &rest); word && n < 12;
		     word = strtok_r(NULL, " ", &rest))
			argv[n++] = word;
	}
	argv[n++] = rf_arena_copy(memory, path);
	return memory->has_failed ? NULL : argv;
}

/* In a sandbox there is no /code: what is to be run comes as the input of a shell, which keeps it and becomes the program. */
static const char keep_script[] =
	"f=/tmp/.code.$$; mkdir -p \"$f\" && cat >\"$f/$1\" || exit 126; f=$f/$1; shift\n"
	"exec \"$@\" \"$f\" </dev/null";

static int keep_code(const struct rf_order_reading *r, const char *name, char *const *words)
{
	struct rf_order *order = r->order;
	char **argv = rf_arena_alloc(order->memory, 24 * sizeof(*argv));
	size_t n = 0;

	if (r->said.input || r->said.input_base64)
		return rf_order_invalid(r, "stdin", "code in a sandbox has none",
					"let it read a file");
	if (r->said.is_background)
		return rf_order_invalid(r, "background", "code does not go there",
					"write a file, and run that in the background");
	if (!argv)
		return rf_order_no_memory(r);
	argv[n++] = rf_arena_copy(order->memory, "/bin/sh");
	argv[n++] = rf_arena_copy(order->memory, "-c");
	argv[n++] = rf_arena_copy(order->memory, keep_script);
	argv[n++] = rf_arena_copy(order->memory, "sh");
	argv[n++] = rf_arena_copy(order->memory, name);
	while (words[0] && words[1]) /* but for its path */
		argv[n++] = *words++;
	order->argv = argv;
	order->input = r->said.code;
	order->input_len = strlen(r->said.code);
	return order->memory->has_failed ? rf_order_no_memory(r) : 0;
}

static int read_code(const struct rf_order_reading *r)
{
	const struct rf_langs langs = { 0 };
	const struct rf_lang *lang = NULL;
	struct rf_err err = RF_ERR_INIT;
	const char *program;
	char name[64], path[80];

	if (!r->said.language)
		return rf_order_invalid(r, "language", "it is missing",
					"name the language of the code");
	if (rf_lang_find(&langs, r->said.language, &lang, &err) < 0)
		return rf_api_error_of(r->error, &err, "language");
	program = r->tools->find(lang);
	if (!program) {
		rf_api_error_say(r->error, RF_API_UNSUPPORTED, "language",
				 "language: this machine has nothing that runs %s", lang->name);
		return rf_api_error_hint(r->error, "install %s there, or use another language",
					 lang->package ? lang->package : lang->name);
	}
	snprintf(name, sizeof(name), "main%s%s", lang->extensions[0] ? "." : "",
		 lang->extensions[0] ? lang->extensions[0] : "");
	snprintf(path, sizeof(path), CODE_FOLDER "/%s", name);
	r->order->argv = words_of(r, lang, program, path);
	if (!r->order->argv)
		return rf_order_no_memory(r);
	return r->kind == RF_ORDER_EXEC ? keep_code(r, name, r->order->argv)
					: bring(r, name, RF_PLACE_TEXT, r->said.code);
}

static int read_program(const struct rf_order_reading *r)
{
	const struct rf_order_said *said = &r->said;
	int count = (said->argv != NULL) + (said->command != NULL) + (said->code != NULL);
	char **argv;

	if (count != 1)
		return rf_order_invalid(r, "argv, command or code",
					count ? "more than one of them is there"
					      : "none of them is there",
					"say what to run in one way");
	if (said->language && !said->code)
		return rf_order_invalid(r, "language", "there is no code",
					"leave it out, or give code");
	if (said->cwd && said->cwd[0] != '/')
		return rf_order_invalid(r, "cwd", "it is no absolute path", "for example: /tmp");
	if (said->code)
		return read_code(r);
	if (said->argv) {
		if (!said->argv[0][0])
			return rf_order_invalid(r, "argv", "the first of them is empty",
						"name a program");
		r->order->argv = said->argv;
		return 0;
	}
	argv = rf_arena_alloc(r->order->memory, 4 * sizeof(*argv));
	if (!argv)
		return rf_order_no_memory(r);
	argv[0] = rf_arena_copy(r->order->memory, "/bin/sh");
	argv[1] = rf_arena_copy(r->order->memory, "-c");
	argv[2] = (char *)(uintptr_t)said->command;
	r->order->argv = argv;
	return r->order->memory->has_failed ? rf_order_no_memory(r) : 0;
}

/* ------------------------------------------------------------- needs, and a workspace */

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

struct said_needs {
	const char *isolation;
	bool network;
};

/* What a request can't do without is refused before anything runs. */
static int read_needs(const struct rf_order_reading *r)
{
	static const char *const kinds[] = { "process", "gvisor", "vm", "wasm", NULL };
	struct said_needs needs = { 0 };
	const struct rf_form_field fields[] = {
		{ "isolation", RF_FORM_STRING, 0, 1, 20, false },
		{ "network", RF_FORM_TRUTH, offsetof(struct said_needs, network), 0, 0, false },
	};

	if (!r->said.needs)
		return 0;
	if (rf_form_read(r->said.needs, fields, RF_LEN(fields), &needs, r->order->memory, "needs",
			 r->error) < 0)
		return -1;
	if (needs.isolation && !is_one_of(needs.isolation, kinds))
		return rf_order_invalid(r, "needs.isolation", "there is no such kind",
					"process, gvisor, vm or wasm");
	if (needs.isolation && strcmp(needs.isolation, "process") != 0) {
		rf_api_error_say(r->error, RF_API_UNSUPPORTED, "needs.isolation",
				 "needs.isolation: this server has no `%.20s`", needs.isolation);
		return rf_api_error_hint(r->error, "it has `process`");
	}
	r->order->needs_network = needs.network;
	return 0;
}

/* One that there is, or a sandbox's own: a run's would be gone before anybody could look at it. */
static int read_workspace(const struct rf_order_reading *r)
{
	const struct rf_form_field fields[] = {
		{ "name", RF_FORM_STRING, 0, 1, RF_TENANCY_NAME - 1, r->kind != RF_ORDER_SANDBOX },
	};
	const char *name = NULL;

	if (!r->said.workspace)
		return 0;
	if (rf_form_read(r->said.workspace, fields, RF_LEN(fields), &name, r->order->memory,
			 "workspace", r->error) < 0)
		return -1;
	if (name && !rf_tenancy_is_name(name))
		return rf_order_invalid(
			r, "workspace.name", "it is no name of a workspace",
			"letters, digits, `-` and `_`, beginning with one of the first two");
	r->order->workspace = name ? name : "";
	return 0;
}

bool rf_order_is_label(const char *text)
{
	return rf_tenancy_is_label(text);
}

static int check_labels(const struct rf_order_reading *r)
{
	const struct rf_jsonread_value *at = r->said.labels ? r->said.labels->first : NULL;

	for (; at; at = at->next)
		if (at->type != RF_JSONREAD_STRING || !rf_order_is_label(at->name) ||
		    (at->text[0] && !rf_order_is_label(at->text)))
			return rf_order_invalid(
				r, "labels",
				"names and values are up to 63 letters, digits, `-`, `_` and `.`",
				"for example: {\"project\": \"blue\"}");
	r->order->labels = r->said.labels;
	return 0;
}

/* Beneath the working folder, as patterns of a shell: relative, and not around. */
static int read_outputs(const struct rf_order_reading *r)
{
	for (char **at = r->said.outputs; at && *at; at++) {
		const char *text = *at;

		if (!text[0] || text[0] == '/' || strchr(text, '\n') || strlen(text) > 400 ||
		    strcmp(text, "..") == 0 || strncmp(text, "../", 3) == 0 || strstr(text, "/../"))
			return rf_order_invalid(r, "outputs",
						"one of them is no file beneath the working folder",
						"for example: [\"report.csv\", \"plots/*.png\"]");
	}
	if (r->said.outputs && !r->keeps_output)
		return rf_order_invalid(r, "outputs", "they come with an answer that is a whole",
					"leave `Accept` out, or make a sandbox");
	r->order->outputs = r->said.outputs;
	return 0;
}

/* What something is called, or is to be. */
static int read_names(const struct rf_order_reading *r)
{
	const char *name = r->said.path ? r->said.path : r->said.to;

	r->order->path = r->said.path;
	r->order->to = r->said.to;
	if (!name || rf_tenancy_is_name(name))
		return 0;
	return rf_order_invalid(
		r, r->said.to ? "to" : "name", "it can't be called so",
		"letters, digits, `-` and `_`, beginning with one of the first two");
}

/* For whom a box is, or who is to be made; pure names, which mean something to who keeps them. */
static int read_agent(const struct rf_order_reading *r)
{
	r->order->agent = r->said.agent;
	r->order->about = r->said.about;
	if (r->said.agent && !rf_tenancy_is_name(r->said.agent))
		return rf_order_invalid(r, "agent", "it is no name of an agent",
					"letters, digits, `-` and `_`, beginning with one of the "
					"first two");
	if (r->said.about && !rf_tenant_agent_is_about(r->said.about))
		return rf_order_invalid(r, "description", "it is no single line of text",
					"up to 200 characters, without line breaks");
	return 0;
}

/* Whose word counts: nobody's, if nothing is said. */
static int read_apply(const struct rf_order_reading *r)
{
	static const char *const words[] = { "fail", "fork", "origin", NULL };

	r->order->is_trial = r->said.is_trial;
	r->order->to = r->said.conflicts ? r->said.conflicts : words[0];
	return is_one_of(r->order->to, words)
		       ? 0
		       : rf_order_invalid(r, "conflicts", "there is no such way",
					  "fail, fork (its word counts) or origin");
}

/* What becomes of what is named beyond a ceiling: it is refused, if nothing is said. */
static int read_beyond(const struct rf_order_reading *r)
{
	static const char *const words[] = { "refuse", "drop", NULL };

	r->order->drops_beyond = r->said.beyond && strcmp(r->said.beyond, "drop") == 0;
	return !r->said.beyond || is_one_of(r->said.beyond, words)
		       ? 0
		       : rf_order_invalid(r, "beyond", "there is no such way",
					  "refuse (as if nothing is said) or drop");
}

static int read_paths(const struct rf_order_reading *r)
{
	r->order->path = r->said.path;
	r->order->to = r->said.to;
	if (r->said.path[0] != '/')
		return rf_order_invalid(r, r->kind == RF_ORDER_MOVE ? "from" : "path",
					"it is no absolute path", "for example: /tmp/a");
	if (r->said.to && r->said.to[0] != '/')
		return rf_order_invalid(r, "to", "it is no absolute path", "for example: /tmp/b");
	return 0;
}

static int read_signal(const struct rf_order_reading *r)
{
	/* clang-format off */
	static const struct { const char *name; int number; } signals[] = {
		{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "KILL", SIGKILL }, { "USR1", SIGUSR1 },
		{ "USR2", SIGUSR2 }, { "TERM", SIGTERM }, { "CONT", SIGCONT }, { "STOP", SIGSTOP }, { "WINCH", SIGWINCH },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(signals); i++)
		if (strcmp(signals[i].name, r->said.signal) == 0)
			r->order->signal = signals[i].number;
	return r->order->signal
		       ? 0
		       : rf_order_invalid(
				 r, "signal", "there is no such signal",
				 "HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP or WINCH");
}

struct said_terminal {
	uint64_t rows, columns, keep;
};

static int read_terminal(const struct rf_order_reading *r)
{
	struct said_terminal terminal = { 24, 80, RF_ORDER_KEEP };
	const struct rf_form_field fields[] = {
		{ "rows", RF_FORM_NUMBER, offsetof(struct said_terminal, rows), 1, 4096, false },
		{ "columns", RF_FORM_NUMBER, offsetof(struct said_terminal, columns), 1, 4096,
		  false },
		{ "keep", RF_FORM_NUMBER, offsetof(struct said_terminal, keep), 0, 3600, false },
	};

	if (!r->said.terminal)
		return 0;
	if (rf_form_read(r->said.terminal, fields, RF_LEN(fields), &terminal, r->order->memory,
			 "terminal", r->error) < 0)
		return -1;
	r->order->has_terminal = true;
	r->order->rows = terminal.rows;
	r->order->columns = terminal.columns;
	r->order->keep = terminal.keep;
	return 0;
}

static int read_word(const struct rf_order_reading *r)
{
	const struct rf_order_said *said = &r->said;

	if (!said->data && !said->data_base64 && !said->is_last && !said->signal && !said->terminal)
		return rf_order_invalid(r, "message", "it says nothing",
					"data, data_base64, close, signal or terminal");
	if (read_terminal(r) < 0 || (said->signal && read_signal(r) < 0))
		return -1;
	return decode(r, said->data, said->data_base64, "data_base64", &r->order->input,
		      &r->order->input_len);
}

/* ------------------------------------------------------------- the whole */

static int read_all(struct rf_order_reading *r)
{
	bool runs =
		r->kind == RF_ORDER_RUN || r->kind == RF_ORDER_EXEC || r->kind == RF_ORDER_SESSION;
	bool makes =
		r->kind == RF_ORDER_RUN || r->kind == RF_ORDER_SANDBOX || r->kind == RF_ORDER_AGENT;

	r->order->extras =
		rf_arena_alloc(r->order->memory, (RF_ORDER_FILES + 1) * sizeof(*r->order->extras));
	if (!r->order->extras)
		return rf_order_no_memory(r);
	r->order->env = r->said.env;
	r->order->cwd = r->said.cwd;
	r->order->timeout = r->said.timeout;
	r->order->idle_timeout = r->said.idle_timeout;
	r->order->is_background = r->said.is_background;
	r->order->is_last = r->said.is_last;
	if (r->kind == RF_ORDER_WRITE)
		return decode(r, r->said.data, r->said.data_base64, "data_base64", &r->order->input,
			      &r->order->input_len);
	if (r->kind == RF_ORDER_SIGNAL)
		return read_signal(r);
	if (read_beyond(r) < 0)
		return -1;
	if (r->kind == RF_ORDER_NETWORK)
		return rf_order_policy_put_network(r);
	r->order->credentials = r->said.credentials;
	if (r->kind == RF_ORDER_FOLDER || r->kind == RF_ORDER_MOVE)
		return read_paths(r);
	if (r->kind == RF_ORDER_WORKSPACE || r->kind == RF_ORDER_CHECKPOINT ||
	    r->kind == RF_ORDER_UNDO)
		return read_names(r);
	if (r->kind == RF_ORDER_APPLY)
		return read_apply(r);
	if (r->kind == RF_ORDER_AGENT && read_names(r) < 0)
		return -1;
	if (r->kind == RF_ORDER_WORD)
		return read_word(r);
	if (read_terminal(r) < 0)
		return -1;
	if (runs && (decode(r, r->said.input, r->said.input_base64, "stdin_base64",
			    &r->order->input, &r->order->input_len) < 0 ||
		     read_files(r) < 0 || read_program(r) < 0))
		return -1;
	if (makes && (read_outputs(r) < 0 || read_needs(r) < 0 || read_workspace(r) < 0 ||
		      read_agent(r) < 0 || rf_order_policy_put(r) < 0))
		return -1;
	return check_labels(r);
}

int rf_order_read(enum rf_order_kind kind, const char *text, size_t len, bool keeps_output,
		  const struct rf_order_tools *tools, struct rf_order *ret_order,
		  struct rf_api_error *error)
{
	struct rf_order order = { .memory = rf_arena_new() };
	struct rf_order_reading r = { .kind = kind,
				      .order = &order,
				      .tools = tools,
				      .error = error,
				      .keeps_output = keeps_output };
	struct rf_err err = RF_ERR_INIT;
	int code;

	if (!order.memory)
		return rf_order_no_memory(&r);
	if (rf_jsonread_parse(text, len, &order.json, &err) < 0) {
		rf_order_done(&order);
		rf_api_error_say(error, RF_API_MALFORMED, "body", "body, line %d, column %d: %s",
				 err.line, err.column, err.msg);
		return rf_api_error_hint(error, "%s",
					 err.hint[0] ? err.hint : "send one JSON object");
	}
	code = rf_form_read(rf_jsonread_root(order.json), forms[kind].fields, forms[kind].count,
			    &r.said, order.memory, "", error);
	if (code == 0)
		code = read_all(&r);
	if (code < 0) {
		rf_order_done(&order);
		return -1;
	}
	*ret_order = order;
	return 0;
}

void rf_order_done(struct rf_order *order)
{
	rf_jsonread_free(order->json);
	rf_arena_free(order->memory);
	free(order->policy);
	free(order->named);
	*order = (struct rf_order){ 0 };
}
