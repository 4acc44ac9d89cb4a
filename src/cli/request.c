/* A request: see request.h. */
#include "cli/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/slurp.h"
#include "base/style.h"
#include "cli/dots.h"
#include "cli/home.h"
#include "cli/in-workspace.h"
#include "cli/option.h"
#include "cli/shelf.h"
#include "cli/shell.h"
#include "policy/net-credential-hosts.h"
#include "policy/protected.h"
#include "workspace/agent.h"
#include "workspace/visit.h"

/* The sources as they come in; merged at the end in their own order. */
struct rf_request_sources {
	struct rf_shelf shelf;
	struct rf_chain chain; /* the profiles, then the file */
	bool has_profiles;     /* some were named on the line */
	const char *file;      /* of --policy, or NULL; borrowed */
	bool is_unasked;       /* it is the configuration that names the file */
	struct rf_policy *flags;
	bool is_closed; /* the line says `--net none` */
};

static void free_sources(struct rf_request_sources *sources)
{
	rf_chain_done(&sources->chain);
	rf_shelf_done(&sources->shelf);
	rf_policy_free(sources->flags);
}

static int init_sources(struct rf_request_sources *sources, const struct rf_request *request,
			struct rf_err *err)
{
	sources->flags = rf_policy_new_empty();
	if (!sources->flags || !request->home)
		return rf_fail(err, -ENOMEM, "read the command line");
	if (rf_shelf_init(&sources->shelf, request->home, err) < 0)
		return err->code;
	sources->chain.load = rf_shelf_load;
	sources->chain.context = &sources->shelf;
	sources->chain.home = request->home;
	return 0;
}

/* ------------------------------------------------------------- files */

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

static int add_profiles(const char *names, struct rf_request_sources *sources, struct rf_err *err)
{
	for (;;) {
		size_t len = strcspn(names, ",");
		char *name = strndup(names, len);
		int code = name ? rf_chain_add(&sources->chain, name, err)
				: rf_fail(err, -ENOMEM, "--profile");

		free(name);
		if (code < 0)
			return code;
		if (!names[len])
			return 0;
		names += len + 1;
	}
}

static int note_file(const char *path, struct rf_request_sources *sources, struct rf_err *err)
{
	if (sources->file) {
		rf_fail_say(err, -EINVAL, "--policy was given twice");
		return rf_fail_hint(err, "put the rules into one file, or use flags for the rest; "
					 "a file may extend others");
	}
	sources->file = path;
	return 0;
}

/* The file's rules come after those of the profiles, wherever it stands on the line. */
static int add_file(struct rf_request_sources *sources, struct rf_request *request,
		    struct rf_err *err)
{
	struct rf_chain_text text = { 0 };

	if (sources->is_unasked && rf_shelf_load_own(sources->file, &text, err) < 0)
		return rf_fail_in(err, "configuration: policy");
	if (!sources->is_unasked && rf_shelf_load_file(sources->file, &text, err) < 0) {
		request->file = strdup(sources->file);
		return err->code;
	}
	return rf_chain_add_text(&sources->chain, &text, err);
}

static int set_key(const struct rf_option *option, const char *value,
		   struct rf_request_sources *sources, const struct rf_request *request,
		   struct rf_err *err)
{
	char *found = NULL;
	int code = 0;

	if (strncmp(option->arg, "SRC", 3) == 0)
		code = rf_dots_resolve(value, &found, err);
	if (code == 0)
		code = rf_policy_set(sources->flags, option->key, found ? found : value,
				     request->cwd, request->home, err);
	free(found);
	return code;
}

/* Hosts of --net and --net-deny, each a rule; --net also says that there is no network, or all of the host's. */
static int set_rules(const struct rf_option *option, const char *value,
		     struct rf_request_sources *sources, const struct rf_request *request,
		     struct rf_err *err)
{
	bool is_allow = strcmp(option->name, "net") == 0;
	struct rf_span rule;

	if (is_allow)
		sources->is_closed = strcmp(value, "none") == 0;
	if (is_allow && (strcmp(value, "none") == 0 || strcmp(value, "host") == 0))
		return rf_policy_set(sources->flags, "network.link", value, request->cwd,
				     request->home, err);
	if (!*value)
		return rf_fail_say(err, -EINVAL, "there is no host");
	if (is_allow && rf_policy_set(sources->flags, "network.link", "gateway", request->cwd,
				      request->home, err) < 0)
		return err->code;
	while (rf_net_rule_next(&value, &rule)) {
		char *text = strndup(rule.at, rule.len);
		int code = text ? rf_policy_set(sources->flags, option->key, text, request->cwd,
						request->home, err)
				: rf_fail(err, -ENOMEM, "read a rule");

		free(text);
		if (code < 0)
			return code;
	}
	return 0;
}

/*
 * A credential of the line brings the rules for its hosts, and with them the network: nothing else would use it.  What the line
 * says of the network besides stands: `--net none` contradicts it, and `--net host` does in the plan.
 */
static int allow_credentials(struct rf_request_sources *sources, const struct rf_request *request,
			     struct rf_err *err)
{
	struct rf_policy *flags = sources->flags;

	if (rf_policy_line(flags, "credentials", NULL, NULL) < 0)
		return 0;
	if (sources->is_closed) {
		rf_fail_say(err, -EINVAL, "--credential: --net none leaves nowhere to send it");
		return rf_fail_hint(err, "leave --net out: --credential allows its own host");
	}
	if (rf_policy_line(flags, "network.link", NULL, NULL) < 0 &&
	    rf_policy_set(flags, "network.link", "gateway", request->cwd, request->home, err) < 0)
		return rf_fail_in(err, "--credential");
	return rf_net_credential_hosts_allow(flags, err) < 0 ? rf_fail_in(err, "--credential") : 0;
}

static int add_word(const struct rf_option *option, const char *word, const char **words,
		    int *count, struct rf_err *err)
{
	if (!*word)
		return rf_fail_say(err, -EINVAL, "--%s is empty", option->name);
	if (*count == RF_REQUEST_WORDS)
		return rf_fail_say(err, -E2BIG, "--%s was given more than %d times", option->name,
				   RF_REQUEST_WORDS);
	words[(*count)++] = word;
	return 0;
}

static int take_option(const struct rf_option *option, const char *value,
		       struct rf_request_sources *sources, struct rf_request *request,
		       struct rf_err *err)
{
	switch (option->id) {
	case RF_OPTION_KEY:
		if (strncmp(option->arg, "HOST", 4) == 0) {
			if (set_rules(option, value, sources, request, err) < 0)
				return rf_fail_in(err, "--%s", option->name);
			return 0;
		}
		if (set_key(option, value, sources, request, err) < 0)
			return rf_fail_in(err, "--%s", option->name);
		return 0;
	case RF_OPTION_PROFILE:
		sources->has_profiles = true;
		return add_profiles(value, sources, err);
	case RF_OPTION_POLICY:
		return note_file(value, sources, err);
	case RF_OPTION_ENV_FILE:
		return read_env_file(value, sources->flags, request, err);
	case RF_OPTION_LANG:
		request->lang = value;
		return 0;
	case RF_OPTION_CODE:
		request->code = value;
		return 0;
	case RF_OPTION_WORKSPACE:
		request->workspace = value;
		return 0;
	case RF_OPTION_VERIFY:
		return add_word(option, value, request->shadow.verify,
				&request->shadow.verify_count, err);
	case RF_OPTION_ALLOW:
		while (strncmp(value, "./", 2) == 0 && value[2])
			value += 2;
		return add_word(option, value, request->shadow.allow, &request->shadow.allow_count,
				err);
	case RF_OPTION_ASK:
		request->shadow.asks = true;
		return 0;
	case RF_OPTION_SYNC:
		request->shadow.is_durable = true;
		return 0;
	case RF_OPTION_LIST_LANGS:
		request->wants_langs = true;
		return 0;
	case RF_OPTION_CONFIG:
		request->config_name = value;
		return 0;
	case RF_OPTION_NO_CONFIG:
		request->has_no_config = true;
		return 0;
	case RF_OPTION_JSON:
		request->is_json = true;
		return 0;
	case RF_OPTION_TO:
		request->to = value;
		return 0;
	case RF_OPTION_PATHS:
		request->has_paths = true;
		return 0;
	case RF_OPTION_TTY:
		request->has_terminal = true;
		return 0;
	case RF_OPTION_PLAIN:
		request->is_plain = true;
		return 0;
	case RF_OPTION_STATS:
		request->wants_stats = true;
		return 0;
	case RF_OPTION_NO_WARDEN:
		request->has_no_warden = true;
		return 0;
	case RF_OPTION_NO_GATEWAY:
		request->has_no_gateway = true;
		return 0;
	case RF_OPTION_CEILING: /* of `warden`, `mcp` and `key create` alone */
	case RF_OPTION_AHEAD:
	case RF_OPTION_SCOPE:
	case RF_OPTION_TENANT:
	case RF_OPTION_BOXES:
	case RF_OPTION_RATE:
	case RF_OPTION_SUM_MEMORY:
	case RF_OPTION_SUM_CPU:
	case RF_OPTION_SUM_DISK:
	case RF_OPTION_STORAGE:
	case RF_OPTION_FILES:
	case RF_OPTION_STATUS:
	case RF_OPTION_FOR:
	case RF_OPTION_REASON:
	case RF_OPTION_NAMES:
	case RF_OPTION_NAME: /* of workspaces alone */
	case RF_OPTION_TIMES:
	case RF_OPTION_ONLY:
	case RF_OPTION_STOP:
	case RF_OPTION_LIVE:
	case RF_OPTION_OURS:
	case RF_OPTION_THEIRS:
	case RF_OPTION_STAT:
	case RF_OPTION_PATCH:
	case RF_OPTION_AT:
	case RF_OPTION_CONTENT:
	case RF_OPTION_RECURSIVE:
	case RF_OPTION_LONG:
	case RF_OPTION_MAX_BYTES:
	case RF_OPTION_MAX_FILES:
	case RF_OPTION_SERVICE: /* of `help` alone */
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

/* Whose defaults apply. */
static enum rf_command command_of(enum rf_cmd_id id, const struct rf_request *request)
{
	if (id == RF_CMD_SHELL)
		return RF_COMMAND_SHELL;
	return request->has_terminal ? RF_COMMAND_TERMINAL : RF_COMMAND_RUN;
}

static int merge_all(enum rf_cmd_id id, struct rf_request_sources *sources,
		     struct rf_request *request, struct rf_err *err)
{
	request->policy = rf_policy_new(command_of(id, request));
	if (!request->policy)
		return rf_fail(err, -ENOMEM, "a policy");
	if (request->launch &&
	    rf_policy_merge(request->policy, rf_launch_policy(request->launch), err) < 0)
		return err->code;
	if (rf_chain_merge(&sources->chain, request->policy, err) < 0)
		return err->code;
	return rf_policy_merge(request->policy, sources->flags, err);
}

/* The first word is the workspace, or the agent, whose is called as it is; the program comes after it, or after `--`. */
static int take_workspace(enum rf_cmd_id id, struct rf_request *request, struct rf_err *err)
{
	bool is_agent = id == RF_CMD_AGENT_RUN;

	if (!request->argv[0]) {
		rf_fail_say(err, -EINVAL, "there is no %s",
			    is_agent ? "agent to run for" : "workspace to run in");
		return rf_fail_hint(err, "for example: ringfort %s -- make test",
				    is_agent ? "agent run fixer" : "exec fix-bug");
	}
	request->workspace = *request->argv++;
	request->is_kept = true;
	request->agent = is_agent ? request->workspace : NULL;
	request->has_no_config |= is_agent; /* its policy is its own, whoever asks */
	if (request->argv[0] && strcmp(request->argv[0], "--") == 0)
		request->argv++;
	return 0;
}

static int read_line(enum rf_cmd_id id, int argc, char **argv, struct rf_request_sources *sources,
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
			return err->hint[0] ? err->code : rf_option_hint(option, err);
	request->argv = argv + at;
	if (id == RF_CMD_AGENT_CREATE && !request->workspace)
		request->workspace = ".";
	if (got < 0 || request->wants_help || (id != RF_CMD_EXEC && id != RF_CMD_AGENT_RUN))
		return got;
	return take_workspace(id, request, err);
}

/* ------------------------------------------------------------- settings and languages */

/* Reads the caller's settings, and takes from them what the line does not say. */
static int read_config(struct rf_request_sources *sources, struct rf_request *request,
		       struct rf_err *err)
{
	struct rf_config *config = &request->config;
	struct rf_config_where where = { request->config_name, request->cwd, request->home };

	if (request->has_no_config) {
		rf_style_set_wish(RF_STYLE_AUTO);
		return 0;
	}
	if (!where.named)
		where.named = rf_config_variable();
	if (rf_config_load(&where, config, err) < 0) {
		request->file = config->path ? strdup(config->path) : NULL;
		return err->code;
	}
	rf_style_set_wish(config->colour);
	if (rf_protected_set(config->protects, config->unprotects) < 0)
		return rf_fail(err, -ENOMEM, "read the configuration");
	if (!sources->file) {
		sources->file = config->policy;
		sources->is_unasked = true;
	}
	for (size_t i = 0; config->profiles && config->profiles[i] && !sources->has_profiles; i++)
		if (rf_chain_add(&sources->chain, config->profiles[i], err) < 0)
			return rf_fail_in(err, "configuration: profile");
	return 0;
}

/* Finds the language, if the line names one. */
static int choose_lang(struct rf_request *request, bool is_dry, struct rf_err *err)
{
	const struct rf_launch_request what = {
		.lang = request->lang,
		.code = request->code,
		.argv = request->argv,
		.home = request->home,
		.langs = { request->config.langs, request->config.lang_count },
		.is_dry = is_dry,
	};

	if (request->lang)
		return rf_launch_new(&what, &request->launch, err);
	if (!request->code)
		return 0;
	rf_fail_say(err, -EINVAL, "-c is code, and needs the language that it is in");
	return rf_fail_hint(err, "for example: --lang python -c 'print(6 * 7)'");
}

/* ------------------------------------------------------------- the whole */

static void note_facts(const struct rf_request *request, struct rf_facts *facts)
{
	*facts = (struct rf_facts){ .uid = geteuid(),
				    .gid = getegid(),
				    .cwd = request->cwd,
				    .home = request->home,
				    .env = environ };
}

/* Makes a plan, once more with random bytes where there are canaries. */
static int make_seeded(const struct rf_request *request, struct rf_facts *facts,
		       struct rf_plan **ret_plan, struct rf_err *err)
{
	if (rf_plan_make(request->policy, facts, ret_plan, err) < 0)
		return err->code;
	if (!(*ret_plan)->canaries)
		return 0;
	rf_plan_free(*ret_plan);
	*ret_plan = NULL;
	if (getrandom(facts->seed, sizeof(facts->seed), 0) != (ssize_t)sizeof(facts->seed))
		return rf_fail(err, -errno, "random bytes for canaries");
	return rf_plan_make(request->policy, facts, ret_plan, err);
}

int rf_request_plan_to_look(struct rf_request *request, char *const *argv,
			    const struct rf_place *layered, struct rf_err *err)
{
	struct rf_plan *plan = NULL;
	int code;

	request->plan = NULL;
	request->extras = request->brought = NULL;
	request->extra_count = 0;
	note_facts(request, &request->facts);
	request->facts.argv = argv;
	request->facts.layered = layered;
	request->facts.only_looks = true;
	code = make_seeded(request, &request->facts, &plan, err);
	request->plan = plan;
	return code;
}

static int make_plan(struct rf_request *request, struct rf_err *err)
{
	static char any_name[] = "true";
	static char *any_program[] = { any_name, NULL };
	struct rf_facts facts;
	struct rf_plan *plan = NULL;

	note_facts(request, &facts);
	facts.argv = request->argv[0] && !request->launch ? request->argv : any_program;
	facts.has_terminal = request->has_terminal;
	facts.layered = request->visit ? &request->visit->place : NULL;
	if (make_seeded(request, &facts, &plan, err) < 0)
		return err->code;
	/* Whether the box shows the code's file anyway is a question to the plan without it. */
	if (request->launch) {
		struct rf_plan *without = plan;
		int code = rf_launch_prepare(request->launch, without, &facts, err);

		rf_plan_free(without);
		if (code < 0 || rf_plan_make(request->policy, &facts, &plan, err) < 0)
			return err->code;
	}
	request->extras = facts.extras;
	request->extra_count = facts.extra_count;
	request->facts = facts;
	request->plan = plan;
	return 0;
}

int rf_request_bring(struct rf_request *request, const struct rf_place *more, size_t count,
		     struct rf_err *err)
{
	/* What came earlier in this way is replaced. */
	size_t before = request->brought ? request->own_extra_count : request->extra_count;
	struct rf_place *all = calloc(before + count + 1, sizeof(*all));
	struct rf_plan *plan = NULL;

	if (!all)
		return rf_fail(err, -ENOMEM, "what is brought along");
	if (before > 0)
		memcpy(all, request->extras, before * sizeof(*all));
	memcpy(all + before, more, count * sizeof(*all));
	request->facts.extras = all;
	request->facts.extra_count = before + count;
	if (rf_plan_make(request->policy, &request->facts, &plan, err) < 0) {
		free(all);
		return err->code;
	}
	free(request->brought);
	request->extras = request->brought = all;
	request->own_extra_count = before;
	request->extra_count = before + count;
	rf_plan_free(request->plan);
	request->plan = plan;
	return 0;
}

/* The agent's policy alone; and what does not depend on where its run is started from. */
static int add_agent(struct rf_request_sources *sources, struct rf_request *request,
		     struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_chain_text text = { 0 };

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	if (rf_agent_read(request->agent, &policy, err) < 0)
		return err->code;
	text = (struct rf_chain_text){ .name = strdup(request->agent),
				       .id = strdup(request->agent),
				       .folder = strdup("/"),
				       .text = strdup(policy.data ? policy.data : ""),
				       .len = policy.len };
	if (!text.name || !text.id || !text.folder || !text.text) {
		rf_chain_text_done(&text);
		return rf_fail(err, -ENOMEM, "read the policy of agent %s", request->agent);
	}
	if (rf_chain_add_text(&sources->chain, &text, err) < 0)
		return rf_fail_in(err, "agent %s", request->agent);
	if (rf_policy_set(sources->flags, "agent", request->agent, "/", request->home, err) < 0)
		return err->code;
	return rf_policy_set(sources->flags, "files.current", "none", "/", request->home, err);
}

/* Who learns lets everything pass that no rule denies; to see methods and paths, it must be looked into. */
static int open_network(struct rf_request_sources *sources, const struct rf_request *request,
			struct rf_err *err)
{
	static const char inside[] = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS *";

	if (rf_policy_set(sources->flags, "network.mode", "report", "/", request->home, err) < 0)
		return err->code;
	return request->has_paths ? rf_policy_set(sources->flags, "network.allow", inside, "/",
						  request->home, err)
				  : 0;
}

/* Refuses a credential that would never be sent, and says which source it stands in. */
static int check_credentials(const struct rf_request *request, struct rf_err *err)
{
	const char *name = NULL;
	char origin[512];

	if (rf_net_credential_hosts_check(request->policy, &name, err) == 0)
		return 0;
	rf_request_origin(request, "credentials", name, NULL, origin, sizeof(origin));
	return origin[0] ? rf_fail_in(err, "%s", origin) : err->code;
}

/* Reads the values of credentials, where they will be used; before the plan, which has to know what stands for them. */
static int fill_purse(enum rf_cmd_id id, bool needs_program, struct rf_request *request,
		      struct rf_err *err)
{
	if ((!needs_program && id != RF_CMD_SHELL) ||
	    rf_policy_line(request->policy, "credentials", NULL, NULL) < 0)
		return 0;
	if (rf_net_make(request->policy, &request->net, err) < 0)
		return err->code;
	if (request->net->link != RF_LINK_GATEWAY)
		return 0;
	if (rf_purse_fill(&request->purse, request->net, err) < 0)
		return err->code;
	return rf_purse_hide(&request->purse, err);
}

/* From what was read to what will be done. */
static int settle(enum rf_cmd_id id, struct rf_request_sources *sources, bool needs_program,
		  struct rf_request *request, struct rf_err *err)
{
	if (allow_credentials(sources, request, err) < 0 || read_config(sources, request, err) < 0)
		return err->code;
	if (request->wants_langs)
		return 0;
	if (choose_lang(request, !needs_program, err) < 0)
		return err->code;
	if (needs_program && !request->argv[0] && !request->launch) {
		rf_fail_say(err, -EINVAL, "there is no program to run");
		return rf_fail_hint(err, "for example: ringfort run -- python3 -c 'print(6 * 7)'");
	}
	if (sources->file && add_file(sources, request, err) < 0)
		return err->code;
	if (request->agent && add_agent(sources, request, err) < 0)
		return err->code;
	if (id == RF_CMD_POLICY_LEARN && open_network(sources, request, err) < 0)
		return err->code;
	if (merge_all(id, sources, request, err) < 0 || check_credentials(request, err) < 0)
		return err->code;
	if (id == RF_CMD_SHELL && rf_shell_choose(request, err) < 0)
		return err->code;
	if (rf_in_workspace_open(request, err) < 0)
		return err->code;
	if (fill_purse(id, needs_program, request, err) < 0 || make_plan(request, err) < 0)
		return err->code;
	return rf_purse_check(&request->purse, request->plan->env, err);
}

int rf_request_read(enum rf_cmd_id id, int argc, char **argv, bool needs_program,
		    struct rf_request *ret_request, struct rf_err *err)
{
	struct rf_request_sources *sources = calloc(1, sizeof(*sources));
	int code;

	*ret_request = (struct rf_request){ .cwd = getcwd(NULL, 0),
					    .home = rf_home_find(geteuid()),
					    .is_directory = id == RF_CMD_SHADOW ||
							    id == RF_CMD_AGENT_CREATE };
	if (!sources)
		return rf_fail(err, -ENOMEM, "read the command line");
	ret_request->sources = sources;
	code = init_sources(sources, ret_request, err);
	if (code == 0)
		code = read_line(id, argc, argv, sources, ret_request, err);
	if (code == 0 && !ret_request->wants_help && !ret_request->wants_version)
		code = settle(id, sources, needs_program, ret_request, err);
	if (sources->chain.file) {
		free(ret_request->file);
		ret_request->file = sources->chain.file;
		sources->chain.file = NULL;
	}
	return code;
}

void rf_request_origin(const struct rf_request *request, const char *key, const char *name,
		       const char *value, char *text, size_t size)
{
	const struct rf_request_sources *sources = request->sources;
	const struct rf_chain *chain = &sources->chain;

	text[0] = '\0';
	if (rf_policy_line(sources->flags, key, name, value) >= 0) {
		snprintf(text, size, "the command line");
		return;
	}
	for (size_t i = chain->count; i-- > 0;) {
		const struct rf_chain_link *link = &chain->links[i];
		int line = rf_policy_line(link->policy, key, name, value);

		if (line < 0)
			continue;
		if (link->path)
			snprintf(text, size, "%s:%d", link->path, line);
		else
			snprintf(text, size, "profile %s, line %d", link->name, line);
		return;
	}
}

void rf_request_done(struct rf_request *request)
{
	if (request->sources)
		free_sources(request->sources);
	free(request->sources);
	rf_in_workspace_done(request);
	rf_purse_done(&request->purse);
	rf_net_free(request->net);
	rf_plan_free(request->plan);
	free(request->brought);
	rf_policy_free(request->policy);
	rf_launch_free(request->launch);
	rf_config_done(&request->config);
	free(request->file);
	free(request->cwd);
	free(request->home);
	*request = (struct rf_request){ 0 };
}
