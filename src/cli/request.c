/* A request: see request.h. */
#include "cli/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "cli/option.h"
#include "cli/slurp.h"

/* The sources as they come in; merged at the end in their own order. */
struct sources {
	struct rf_policy *profiles[16];
	size_t profile_count;
	struct rf_policy *file;
	struct rf_policy *flags;
};

static void free_sources(struct sources *sources)
{
	for (size_t i = 0; i < sources->profile_count; i++)
		rf_policy_free(sources->profiles[i]);
	rf_policy_free(sources->file);
	rf_policy_free(sources->flags);
}

/* ------------------------------------------------------------- facts about the caller */

/* The home of `uid` in passwd; read by hand, because a static program has no name services. */
static char *find_home(uid_t uid)
{
	FILE *passwd = fopen("/etc/passwd", "re");
	char *line = NULL, *home = NULL;
	size_t size = 0;

	while (passwd && !home && getline(&line, &size, passwd) > 0) {
		char *at = line, *fields[7] = { 0 };

		for (size_t i = 0; i < RF_LEN(fields) && at; i++)
			fields[i] = strsep(&at, ":");
		if (fields[5] && fields[5][0] == '/' && strtoul(fields[2], NULL, 10) == uid)
			home = strdup(fields[5]);
	}
	free(line);
	if (passwd)
		fclose(passwd);
	return home ? home : strdup("/");
}

/* ------------------------------------------------------------- files */

/* The folder of a path, absolute: relative paths in a policy count from there. */
static char *folder_of(const char *path)
{
	char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL, *folder;

	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	folder = copy ? realpath(slash ? copy : ".", NULL) : NULL;
	free(copy);
	return folder;
}

int rf_request_read_policy(const char *path, const char *home, struct rf_policy **ret_policy,
			   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	char *folder;
	int code;

	if (rf_slurp(path, RF_MAX_POLICY_BYTES, &text, err) < 0)
		return err->code;
	folder = folder_of(path);
	if (!folder)
		return rf_fail(err, -errno, "find the folder of %s", path);
	code = rf_policy_parse(text.data, text.len, folder, home, ret_policy, err);
	free(folder);
	return code;
}

static int read_env_file(const char *path, struct rf_policy *flags,
			 const struct rf_request *request, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	int number = 0;

	if (rf_slurp(path, RF_MAX_ENV_FILE, &text, err) < 0)
		return rf_fail_in(err, "%s", path);
	if (!text.data || strlen(text.data) != text.len)
		return rf_fail_say(err, -EINVAL, "%s holds a NUL byte", path);
	for (char *line = text.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line += strspn(line, " \t");
		line[strcspn(line, "\r")] = '\0'; /* as Windows ends its lines */
		if (*line == '#' || *line == '\0')
			continue;
		if (!strchr(line, '=')) {
			rf_fail_say(err, -EINVAL, "%s:%d: not of the form K=V", path, number);
			return rf_fail_hint(err, "comments begin with #");
		}
		if (rf_policy_set(flags, "env.set", line, request->cwd, request->home, err) < 0)
			return rf_fail_in(err, "%s:%d", path, number);
	}
	return 0;
}

/* ------------------------------------------------------------- options */

static int add_profiles(const char *names, struct sources *sources, struct rf_err *err)
{
	while (*names) {
		size_t len = strcspn(names, ",");
		char name[64];

		if (sources->profile_count == RF_LEN(sources->profiles))
			return rf_fail_say(err, -E2BIG, "more than %zu profiles",
					   RF_LEN(sources->profiles));
		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		if (rf_policy_profile(name, &sources->profiles[sources->profile_count], err) < 0)
			return err->code;
		sources->profile_count++;
		names += len + (names[len] == ',');
	}
	return 0;
}

static int add_file(const char *path, struct sources *sources, struct rf_request *request,
		    struct rf_err *err)
{
	if (sources->file) {
		rf_fail_say(err, -EINVAL, "--policy was given twice");
		return rf_fail_hint(err, "put the rules into one file, or use flags for the rest");
	}
	request->file = path;
	if (rf_request_read_policy(path, request->home, &sources->file, err) < 0)
		return err->code;
	request->file = NULL;
	return 0;
}

static int take_option(const struct rf_option *option, const char *value, struct sources *sources,
		       struct rf_request *request, struct rf_err *err)
{
	switch (option->id) {
	case RF_OPTION_KEY:
		if (rf_policy_set(sources->flags, option->key, value, request->cwd, request->home,
				  err) < 0)
			return rf_fail_in(err, "--%s", option->name);
		return 0;
	case RF_OPTION_PROFILE:
		return add_profiles(value, sources, err);
	case RF_OPTION_POLICY:
		return add_file(value, sources, request, err);
	case RF_OPTION_ENV_FILE:
		return read_env_file(value, sources->flags, request, err);
	case RF_OPTION_JSON:
		request->is_json = true;
		return 0;
	case RF_OPTION_STATS:
		request->wants_stats = true;
		return 0;
	case RF_OPTION_HELP:
		request->wants_help = true;
		return 0;
	case RF_OPTION_VERSION:
		request->wants_version = true;
		return 0;
	}
	return 0;
}

static int merge_all(struct sources *sources, struct rf_request *request, struct rf_err *err)
{
	request->policy = rf_policy_new(RF_COMMAND_RUN);
	if (!request->policy)
		return rf_fail(err, -ENOMEM, "a policy");
	for (size_t i = 0; i < sources->profile_count; i++)
		if (rf_policy_merge(request->policy, sources->profiles[i], err) < 0)
			return err->code;
	if (sources->file && rf_policy_merge(request->policy, sources->file, err) < 0)
		return err->code;
	return rf_policy_merge(request->policy, sources->flags, err);
}

static int read_line(enum rf_cmd_id id, int argc, char **argv, struct sources *sources,
		     struct rf_request *request, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	/* Known before anything can go wrong, so that errors come in the form asked for. */
	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) != 0)
		request->is_json |= got > 0 && option->id == RF_OPTION_JSON;
	at = 1;
	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) > 0)
		if (take_option(option, value, sources, request, err) < 0)
			return err->code;
	request->argv = argv + at;
	return got;
}

int rf_request_read(enum rf_cmd_id id, int argc, char **argv, bool needs_program,
		    struct rf_request *ret_request, struct rf_err *err)
{
	static char any_name[] = "true";
	char *any_program[] = { any_name, NULL };
	struct sources sources = { .flags = rf_policy_new_empty() };
	struct rf_facts facts = { .uid = geteuid(), .gid = getegid(), .env = environ };
	int code;

	*ret_request = (struct rf_request){ .cwd = getcwd(NULL, 0), .home = find_home(geteuid()) };
	if (!sources.flags || !ret_request->home)
		code = rf_fail(err, -ENOMEM, "read the command line");
	else
		code = read_line(id, argc, argv, &sources, ret_request, err);
	if (code == 0 && !ret_request->wants_help && !ret_request->wants_version) {
		if (needs_program && !ret_request->argv[0]) {
			code = rf_fail_say(err, -EINVAL, "there is no program to run");
			rf_fail_hint(err, "for example: ringfort run -- python3 -c 'print(6 * 7)'");
		}
		if (code == 0)
			code = merge_all(&sources, ret_request, err);
		facts.cwd = ret_request->cwd;
		facts.home = ret_request->home;
		facts.argv = ret_request->argv[0] ? ret_request->argv : any_program;
		if (code == 0)
			code = rf_plan_make(ret_request->policy, &facts, &ret_request->plan, err);
	}
	free_sources(&sources);
	return code;
}

void rf_request_done(struct rf_request *request)
{
	rf_plan_free(request->plan);
	rf_policy_free(request->policy);
	free(request->cwd);
	free(request->home);
	*request = (struct rf_request){ 0 };
}
