/* Code in a language: see launch.h. */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/slurp.h"
#include "cli/toolchain.h"
#include "policy/arena.h"
#include "policy/pattern.h"

#define RULE "lang" /* what `explain` names as the reason */

/* Where code is written to; the second, where somebody's folder shows at the first. */
static const char *const folders[] = { "/code", "/ringfort-code" };

/*
 * Builds, then becomes the program.  Nothing of the caller's is part of the script: paths come as
 * arguments.  The compiler does not get the program's input.
 */
static const char script_form[] =
	"program=$1 source=$2 out=/tmp/.build; shift 2\n"
	"mkdir -p \"$out\" && { %s\n} </dev/null || {\n"
	"code=$?; echo 'ringfort: the build failed, so nothing was run' >&2; exit $code\n"
	"}\n"
	"%s\n";

struct rf_launch {
	struct rf_launch_request request;
	const struct rf_lang *lang;
	struct rf_toolchain toolchain;
	struct rf_policy *policy;
	struct rf_buf code;        /* what is written into the box */
	struct rf_place places[3]; /* the toolchain, and the code with its folder */
	char path[PATH_MAX];       /* of the code, inside */
	char **argv;
	struct rf_arena *memory;
};

/* ------------------------------------------------------------- the language */

/* The file that holds the code, or NULL: -c, standard input. */
static const char *file_of(const struct rf_launch_request *request)
{
	const char *first = request->argv[0];

	return request->code || !first || strcmp(first, "-") == 0 ? NULL : first;
}

static int choose_lang(struct rf_launch *launch, struct rf_err *err)
{
	const struct rf_launch_request *request = &launch->request;
	const char *file = file_of(request);

	if (strcmp(request->lang, "auto") != 0)
		return rf_lang_find(&request->langs, request->lang, &launch->lang, err);
	launch->lang = file ? rf_lang_of_file(&request->langs, file) : NULL;
	if (launch->lang)
		return 0;
	if (file)
		rf_fail_say(err, -EINVAL, "no language has files like %.100s", file);
	else
		rf_fail_say(err, -EINVAL, "`--lang auto` goes by the name of a file");
	return rf_fail_hint(err, "name the language; `ringfort run --list-langs` lists them");
}

/* The language's own wishes, as flags would have set them. */
static int make_policy(struct rf_launch *launch, struct rf_err *err)
{
	const struct rf_lang_default *wish = launch->lang->defaults;
	const char *folder = launch->toolchain.folder;

	launch->policy = rf_policy_new_empty();
	if (!launch->policy)
		return rf_fail(err, -ENOMEM, "a policy");
	for (; wish->key; wish++)
		if (rf_policy_set(launch->policy, wish->key, wish->value, NULL, NULL, err) < 0)
			return rf_fail_in(err, "language %s", launch->lang->name);
	if (!*folder)
		return 0;
	/* Scripts and helpers of the same toolchain are found by name, too. */
	folder = rf_arena_printf(launch->memory, "PATH=%s:" RF_TOOLCHAIN_BOX_PATH, folder);
	return folder ? rf_policy_set(launch->policy, "env.set", folder, NULL, NULL, err)
		      : rf_fail(err, -ENOMEM, "a policy");
}

int rf_launch_new(const struct rf_launch_request *request, struct rf_launch **ret_launch,
		  struct rf_err *err)
{
	const struct rf_toolchain_caller caller = { getenv("PATH"), request->home };
	struct rf_launch *launch = calloc(1, sizeof(*launch));

	if (!launch)
		return rf_fail(err, -ENOMEM, "read the command line");
	launch->request = *request;
	launch->memory = rf_arena_new();
	if (!launch->memory)
		rf_fail(err, -ENOMEM, "read the command line");
	else if (choose_lang(launch, err) == 0 &&
		 rf_toolchain_find(launch->lang, &caller, &launch->toolchain, err) == 0 &&
		 make_policy(launch, err) == 0) {
		*ret_launch = launch;
		return 0;
	}
	rf_launch_free(launch);
	return err->code;
}

void rf_launch_free(struct rf_launch *launch)
{
	if (!launch)
		return;
	rf_policy_free(launch->policy);
	rf_buf_done(&launch->code);
	rf_arena_free(launch->memory);
	free(launch);
}

const struct rf_policy *rf_launch_policy(const struct rf_launch *launch)
{
	return launch->policy;
}

/* ------------------------------------------------------------- the code */

static int check_code(const struct rf_buf *code, const char *what, struct rf_err *err)
{
	if (memchr(code->data, '\0', code->len)) {
		rf_fail_say(err, -EINVAL, "%s: the code holds a NUL byte", what);
		return rf_fail_hint(err, "code is text; a program that was built is run with "
					 "`ringfort run -- PROGRAM`");
	}
	return 0;
}

static int fail_large(const char *what, struct rf_err *err)
{
	rf_fail_say(err, -EFBIG, "%s: more than %d MiB of code", what, RF_MAX_CODE >> 20);
	return rf_fail_hint(err, "keep it in a file in the current directory or show it with "
				 "--read: then it is not copied");
}

/* All of standard input; the program then gets an empty one. */
static int read_stdin(struct rf_launch *launch, struct rf_err *err)
{
	RF_AUTO_FD int null = -1;

	if (launch->request.is_dry) {
		rf_buf_init(&launch->code, 1);
		rf_buf_add(&launch->code, "", 0);
		return launch->code.data ? 0 : rf_fail(err, -ENOMEM, "standard input");
	}
	if (isatty(STDIN_FILENO))
		fprintf(stderr, "ringfort: reading %s code from the terminal; end it with Ctrl-D\n",
			launch->lang->name);
	if (rf_slurp_fd(STDIN_FILENO, RF_MAX_CODE, &launch->code, err) < 0)
		return err->code == -EFBIG ? fail_large("standard input", err)
					   : rf_fail_in(err, "standard input");
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return rf_fail(err, -errno, "empty standard input");
	return check_code(&launch->code, "standard input", err);
}

/* A pipe is waited for, as a shell's <(command) is one. */
static int read_file(struct rf_launch *launch, const char *file, struct rf_err *err)
{
	RF_AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return rf_fail(err, -errno, "can't read %.120s", file);
	if (rf_slurp_fd(fd, RF_MAX_CODE, &launch->code, err) < 0)
		return err->code == -EFBIG ? fail_large(file, err)
					   : rf_fail_in(err, "%.120s", file);
	return check_code(&launch->code, file, err);
}

/* The name that code gets in the box: its own, if that says what it is. */
static const char *name_for(struct rf_launch *launch, const char *file)
{
	const struct rf_lang *lang = launch->lang;
	const char *slash = file ? strrchr(file, '/') : NULL;
	const char *name = slash ? slash + 1 : file;

	for (const char *at = name; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			name = NULL;
	if (name && strlen(name) < 200 && *name != '-' && rf_lang_has_extension(lang, name))
		return name;
	return rf_arena_printf(launch->memory, "main%s%s", lang->extensions[0] ? "." : "",
			       lang->extensions[0] ? lang->extensions[0] : "");
}

/* Has the code written into the box. */
static int bring(struct rf_launch *launch, const struct rf_plan *plan, const char *file,
		 struct rf_facts *facts, struct rf_err *err)
{
	const char *folder = NULL, *name = name_for(launch, file);

	for (size_t i = 0; i < RF_LEN(folders) && !folder; i++)
		if (rf_plan_is_free(plan, folders[i]))
			folder = folders[i];
	if (!folder)
		return rf_fail_say(err, -EEXIST, "the policy shows folders at %s and %s",
				   folders[0], folders[1]);
	if (!name)
		return rf_fail(err, -ENOMEM, "write the code");
	snprintf(launch->path, sizeof(launch->path), "%s/%s", folder, name);
	launch->places[facts->extra_count++] = (struct rf_place){
		.kind = RF_PLACE_TEXT,
		.path = launch->path,
		.source = launch->code.data,
		.rights = RF_RIGHT_READ,
		.why = "the code to run",
		.rule = RULE,
	};
	return 0;
}

/* A file is run where it is, if the box shows it there and the language takes it by that name. */
static bool is_at_home(struct rf_launch *launch, const struct rf_plan *plan, const char *file)
{
	char real[PATH_MAX];

	return realpath(file, real) && rf_plan_where(plan, real, launch->path) &&
	       (!launch->lang->is_picky || rf_lang_has_extension(launch->lang, real));
}

static int check_file(const char *file, struct rf_err *err)
{
	struct stat st;

	if (stat(file, &st) < 0) {
		rf_fail(err, -errno, "can't read %.120s", file);
		return rf_fail_hint(err, "the first argument is the file of code; to give the "
					 "code itself, use -c");
	}
	if (S_ISDIR(st.st_mode)) {
		rf_fail_say(err, -EISDIR, "%.120s is a directory", file);
		return rf_fail_hint(err, "name the file that holds the code");
	}
	if (access(file, R_OK) < 0)
		return rf_fail(err, -errno, "can't read %.120s", file);
	return 0;
}

/* What the policy hides is not carried past it. */
static int check_denied(const struct rf_plan *plan, const char *file, struct rf_err *err)
{
	char real[PATH_MAX];

	if (!realpath(file, real))
		return rf_fail(err, -errno, "can't read %.120s", file);
	for (size_t i = 0; i < plan->deny_count; i++) {
		if (!rf_pattern_covers(&plan->deny[i], real))
			continue;
		rf_fail_say(err, -EPERM, "%.120s is hidden by files.deny", file);
		return rf_fail_hint(err, "the pattern is %.120s", plan->deny[i].text);
	}
	return 0;
}

static int place_code(struct rf_launch *launch, const struct rf_plan *plan, struct rf_facts *facts,
		      struct rf_err *err)
{
	const char *code = launch->request.code, *file = file_of(&launch->request);

	if (file) {
		if (check_file(file, err) < 0 || check_denied(plan, file, err) < 0)
			return err->code;
		if (is_at_home(launch, plan, file))
			return 0;
		if (read_file(launch, file, err) < 0)
			return err->code;
	} else if (code) {
		rf_buf_init(&launch->code, RF_MAX_CODE);
		rf_buf_add(&launch->code, code, strlen(code));
		if (launch->code.has_failed)
			return fail_large("-c", err);
	} else if (read_stdin(launch, err) < 0) {
		return err->code;
	}
	return bring(launch, plan, file, facts, err);
}

/* ------------------------------------------------------------- the program */

struct words {
	struct rf_launch *launch;
	char **words;
	size_t count;
};

static void add_word(struct words *words, const char *word, size_t len)
{
	char *copy = rf_arena_alloc(words->launch->memory, len + 1);

	if (copy)
		memcpy(copy, word, len);
	words->words[words->count++] = copy;
}

/* The words of the language's command, without its program. */
static void add_arguments(struct words *words)
{
	for (const char *at = words->launch->toolchain.arguments; *at;) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, " ");
		if (len)
			add_word(words, at, len);
		at += len;
	}
}

static void add_text(struct words *words, const char *text)
{
	add_word(words, text, strlen(text));
}

static int make_argv(struct rf_launch *launch, struct rf_err *err)
{
	const struct rf_lang *lang = launch->lang;
	const struct rf_launch_request *request = &launch->request;
	char *const *rest = request->argv + (!request->code && request->argv[0] ? 1 : 0);
	size_t count = strlen(launch->toolchain.arguments) + 8;
	struct words words = { .launch = launch };

	for (char *const *at = rest; *at; at++)
		count++;
	words.words = rf_arena_alloc(launch->memory, count * sizeof(*words.words));
	if (!words.words)
		return rf_fail(err, -ENOMEM, "read the command line");
	if (lang->build) {
		RF_AUTO_BUF struct rf_buf script = { 0 };

		rf_buf_init(&script, RF_MAX_CONFIG_BYTES * 2);
		rf_buf_printf(&script, script_form, lang->build, lang->run);
		if (script.has_failed)
			return rf_fail(err, -ENOMEM, "write the build script");
		add_text(&words, "/bin/sh");
		add_text(&words, "-c");
		add_text(&words, script.data);
		add_text(&words, lang->name);
		add_text(&words, launch->toolchain.program);
	} else {
		add_text(&words, launch->toolchain.program);
		add_arguments(&words);
	}
	add_text(&words, launch->path);
	for (char *const *at = rest; *at; at++)
		add_text(&words, *at);
	launch->argv = words.words;
	return launch->memory->has_failed ? rf_fail(err, -ENOMEM, "read the command line") : 0;
}

int rf_launch_prepare(struct rf_launch *launch, const struct rf_plan *plan, struct rf_facts *facts,
		      struct rf_err *err)
{
	facts->extras = launch->places;
	facts->extra_count = 0;
	if (*launch->toolchain.shown)
		launch->places[facts->extra_count++] = (struct rf_place){
			.kind = RF_PLACE_HOST,
			.path = launch->toolchain.shown,
			.source = launch->toolchain.shown,
			.rights = RF_RIGHT_READ | RF_RIGHT_EXEC,
			.why = "what runs the language",
			.rule = RULE,
		};
	if (place_code(launch, plan, facts, err) < 0 || make_argv(launch, err) < 0)
		return err->code;
	facts->argv = launch->argv;
	return 0;
}
