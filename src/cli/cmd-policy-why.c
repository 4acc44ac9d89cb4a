/*
 * ringfort policy why: may the box do this, which rule says so, and what would change it.
 *
 * The plan decides (policy/why.c, jail/calls.c); what the host has under a name is looked at here,
 * with the eyes of the box's user.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/request.h"
#include "http/url-path.h"
#include "http/url.h"
#include "jail/box.h"
#include "jail/calls.h"
#include "jail/hidden.h"
#include "jail/program.h"
#include "jail/ruleset.h"
#include "policy/why.h"

#define MAX_OUTPUT (64 * 1024)
#define OVERLAYFS  0x794c7630

/* Exit codes of this command. */
enum {
	EXIT_YES = 0,
	EXIT_NO = 1,
	EXIT_DEPENDS = 2
};

/* ------------------------------------------------------------- the host, seen by the box's user */

struct eyes {
	bool is_root;   /* the box gets a uid of its own ... */
	bool has_owner; /* ... or, to write where ids can't be mapped, that of the files' owner */
	uid_t owner_uid;
	gid_t owner_gid;
	struct rf_program_set *programs; /* that `commands` leave, or NULL: all */
	struct rf_box box;               /* never made; knows what would be hidden in it */
};

static bool is_named(const struct rf_place *place)
{
	return place->kind == RF_PLACE_HOST && strcmp(place->rule, "default") != 0 &&
	       strcmp(place->rule, "network.link") != 0;
}

static bool can_be_mapped(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type != OVERLAYFS;
}

/* Whom root's box runs as: see jail/source.c. */
static int open_eyes(const struct rf_plan *plan, struct eyes *eyes, struct rf_err *err)
{
	struct stat st;

	eyes->is_root = geteuid() == 0;
	for (size_t i = 0; eyes->is_root && i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (is_named(place) && place->rights & RF_RIGHT_WRITE &&
		    !can_be_mapped(place->source) && stat(place->source, &st) == 0) {
			eyes->has_owner = true;
			eyes->owner_uid = st.st_uid;
			eyes->owner_gid = st.st_gid;
		}
	}
	rf_box_init(&eyes->box, plan);
	if (plan->commands && rf_program_find(plan, &eyes->programs, err) < 0)
		return err->code;
	return rf_hidden_find(&eyes->box, err);
}

static void close_eyes(struct eyes *eyes)
{
	rf_program_free(eyes->programs);
	rf_hidden_done(&eyes->box.hidden);
}

/* What root's box, which is nobody on the host, may do with a file of a tree. */
static unsigned rights_as_nobody(const struct eyes *eyes, const struct rf_place *place,
				 const struct stat *st)
{
	bool is_mapped = is_named(place) && can_be_mapped(place->source);
	unsigned bits = st->st_mode & 7, can = 0;
	struct stat tree = { 0 };
	bool is_owner = eyes->has_owner && eyes->owner_uid == st->st_uid;
	bool is_group = eyes->has_owner && eyes->owner_gid == st->st_gid;

	if (is_mapped && stat(place->source, &tree) == 0) {
		is_owner = tree.st_uid == st->st_uid;
		is_group = tree.st_gid == st->st_gid;
	}
	if (is_owner)
		bits = st->st_mode >> 6 & 7;
	else if (is_group)
		bits = st->st_mode >> 3 & 7;
	can |= bits & 4 ? RF_RIGHT_READ : 0;
	can |= bits & 1 ? RF_RIGHT_EXEC : 0;
	/* Through a mapped mount, files whose owner or group has no name inside are not written. */
	if (bits & 2 && (!is_mapped || (is_owner && is_group)))
		can |= RF_RIGHT_WRITE;
	return can;
}

static unsigned rights_as_caller(const char *path)
{
	/* clang-format off */
	static const struct { int mode; unsigned right; } modes[] = {
		{ R_OK, RF_RIGHT_READ }, { W_OK, RF_RIGHT_WRITE }, { X_OK, RF_RIGHT_EXEC },
	};
	/* clang-format on */
	unsigned can = 0;

	for (size_t i = 0; i < RF_LEN(modes); i++)
		if (faccessat(AT_FDCWD, path, modes[i].mode, AT_EACCESS) == 0)
			can |= modes[i].right;
	return can;
}

/* True if `path` is `what`, or one of them lies beneath the other. */
static bool is_on_the_way(const char *path, const char *what)
{
	return rf_path_is_beneath(path, what) || rf_path_is_beneath(what, path);
}

/* True if a folder of programs does not show this one, because nobody named it. */
static bool is_left_out(const struct rf_program_set *set, const char *path)
{
	bool is_covered = false;

	for (size_t i = 0; i < set->folder_count; i++)
		is_covered |= strcmp(set->folders[i], path) != 0 &&
			      rf_path_is_beneath(path, set->folders[i]);
	for (size_t i = 0; is_covered && i < set->program_count; i++)
		is_covered = !is_on_the_way(path, set->programs[i].path);
	for (size_t i = 0; is_covered && i < set->link_count; i++)
		is_covered = !is_on_the_way(path, set->links[i].path);
	return is_covered;
}

/* The rule that hides a path of the box, or NULL. */
static const char *hidden_by(const struct eyes *eyes, const char *path)
{
	const struct rf_hidden_list *list = &eyes->box.hidden;

	for (size_t i = 0; i < list->count; i++)
		if (rf_path_is_beneath(path, list->items[i].path))
			return list->items[i].rule;
	return NULL;
}

static void look(void *data, const struct rf_place *place, const char *path,
		 struct rf_view_sight *ret_sight)
{
	const struct eyes *eyes = data;
	char inside[2 * RF_FILES_PATH];
	struct stat st;
	ssize_t len;

	snprintf(inside, sizeof(inside), "%s%s", place->path, path + strlen(place->source));
	if (eyes->programs && is_left_out(eyes->programs, inside))
		return;
	ret_sight->rule = hidden_by(eyes, inside);
	if (ret_sight->rule) {
		ret_sight->kind = RF_VIEW_HIDDEN;
		return;
	}
	if (lstat(path, &st) < 0) {
		ret_sight->kind = errno == EACCES ? RF_VIEW_CLOSED : RF_VIEW_NOTHING;
		return;
	}
	ret_sight->kind = S_ISREG(st.st_mode)   ? RF_VIEW_FILE
			  : S_ISDIR(st.st_mode) ? RF_VIEW_FOLDER
			  : S_ISLNK(st.st_mode) ? RF_VIEW_LINK
						: RF_VIEW_OTHER;
	if (ret_sight->kind == RF_VIEW_LINK) {
		len = readlink(path, ret_sight->target, sizeof(ret_sight->target) - 1);
		ret_sight->target[len < 0 ? 0 : len] = '\0';
		return;
	}
	ret_sight->can =
		eyes->is_root ? rights_as_nobody(eyes, place, &st) : rights_as_caller(path);
}

/* ------------------------------------------------------------- questions */

/* What was asked of which plan. */
struct question {
	const char *verb, *what;
	char joined[4096]; /* `what`, where it was two words */
	const struct rf_request *request;
	const struct rf_plan *plan;
	struct eyes eyes;
	struct rf_why why;
};

typedef int ask_fn(struct question *question, struct rf_err *err);

/* The path as the box has it: a relative one counts from where its program would start. */
static int inside(const struct question *question, char *path, struct rf_err *err)
{
	const char *what = question->what;
	int len = what[0] == '/'
			  ? snprintf(path, RF_FILES_PATH, "%s", what)
			  : snprintf(path, RF_FILES_PATH, "%s/%s", question->plan->workdir, what);

	if (len >= RF_FILES_PATH)
		return rf_fail_say(err, -ENAMETOOLONG, "the path is too long");
	return 0;
}

static int ask_read(struct question *question, struct rf_err *err)
{
	const struct rf_view_host host = { look, &question->eyes };
	char path[RF_FILES_PATH];

	if (inside(question, path, err) < 0)
		return err->code;
	rf_why_read(question->plan, &host, path, &question->why);
	return 0;
}

static int ask_write(struct question *question, struct rf_err *err)
{
	const struct rf_view_host host = { look, &question->eyes };
	char path[RF_FILES_PATH];

	if (inside(question, path, err) < 0)
		return err->code;
	rf_why_write(question->plan, &host, path, &question->why);
	return 0;
}

/* Where the policy names programs: whether this is one.  True if that answers the question. */
static bool answer_by_commands(struct question *question, const char *path)
{
	const struct rf_program_set *set = question->eyes.programs;
	struct rf_why *why = &question->why;
	char real[PATH_MAX];
	const struct rf_program *program = rf_program_look(set, question->plan, path, real);

	if (!real[0])
		return false; /* there is no such program: another rule says why */
	*why = (struct rf_why){ .verdict = program ? RF_WHY_YES : RF_WHY_NO, .rule = "commands" };
	if (program) {
		snprintf(why->reason, sizeof(why->reason), "%s may be executed: %s", real,
			 program->why);
		return true;
	}
	snprintf(why->reason, sizeof(why->reason),
		 "%s is not one of the programs that the policy names", real);
	snprintf(why->flag, sizeof(why->flag), "--command %s", question->what);
	snprintf(why->line, sizeof(why->line), "commands: [\"%s\"]", question->what);
	return true;
}

static int ask_exec(struct question *question, struct rf_err *err)
{
	const struct rf_view_host host = { look, &question->eyes };
	char path[RF_FILES_PATH];

	if (!strchr(question->what, '/'))
		snprintf(path, sizeof(path), "%s", question->what);
	else if (inside(question, path, err) < 0)
		return err->code;
	if (question->eyes.programs && answer_by_commands(question, path))
		return 0;
	rf_why_exec(question->plan, &host, path, &question->why);
	return 0;
}

/* "host", "host:port" or "[::1]:port". */
static int read_place(const char *what, struct rf_authority *where, struct rf_err *err)
{
	const char *colon = strchr(what, ':');
	char bracketed[256];
	enum rf_fault fault;

	if (what[0] != '[' && colon && strchr(colon + 1, ':')) { /* an IPv6 address as it is */
		snprintf(bracketed, sizeof(bracketed), "[%.250s]", what);
		what = bracketed;
	}
	fault = rf_url_parse_authority(rf_span_of(what), where);
	if (!fault)
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not a host: %s", what, rf_fault_words(fault));
	return rf_fail_hint(err, "for example: example.com:443");
}

/* As above, "unix:/path" or "/path". */
static int ask_connect(struct question *question, struct rf_err *err)
{
	const char *what = question->what;
	struct rf_authority where;

	if (what[0] == '/' || strncmp(what, "unix:", 5) == 0) {
		rf_why_unix(question->plan, &question->why);
		return 0;
	}
	if (read_place(what, &where, err) < 0)
		return err->code;
	rf_why_connect(question->plan, &where.host, where.port, &question->why);
	return 0;
}

/* "host:port", behind TCP. */
static int ask_raw(struct question *question, const char *what, struct rf_err *err)
{
	struct rf_authority where;

	if (read_place(what, &where, err) < 0)
		return err->code;
	if (where.port == 0) {
		rf_fail_say(err, -EINVAL, "\"TCP %.60s\" has no port", what);
		return rf_fail_hint(err,
				    "for example: ringfort policy why net TCP db.example:5433");
	}
	rf_why_raw(question->plan, &where.host, where.port, &question->why);
	return 0;
}

/* "[METHOD ]URL", or "TCP host:port". */
static int ask_net(struct question *question, struct rf_err *err)
{
	const char *url = strrchr(question->what, ' ');
	char method[32] = "GET", room[RF_URL_PATH_ROOM(4096)];
	struct rf_url_path path;
	struct rf_url where;
	enum rf_fault fault;

	if (url && (size_t)(url - question->what) < sizeof(method))
		snprintf(method, sizeof(method), "%.*s", (int)(url - question->what),
			 question->what);
	url = url ? url + 1 : question->what;
	if (strcmp(method, "TCP") == 0)
		return ask_raw(question, url, err);
	fault = rf_url_parse(rf_span_of(url), &where);
	if (!fault && where.path.len <= 4096)
		fault = rf_url_path_read(where.path, room, sizeof(room), &path);
	if (fault || where.path.len > 4096) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" is not a URL: %s", url,
			    fault ? rf_fault_words(fault) : "its path is too long");
		return rf_fail_hint(err, "for example: ringfort policy why net GET "
					 "https://api.github.com/repos");
	}
	rf_why_request(question->plan, &where.authority.host, where.authority.port,
		       where.scheme == RF_URL_HTTPS, method, &path, &question->why);
	return 0;
}

static int ask_env(struct question *question, struct rf_err *err)
{
	(void)err;
	rf_why_env(question->plan, question->what, &question->why);
	return 0;
}

/* Finds a call and its group, or NULL. */
static const struct rf_call_group *group_of(const char *name, const struct rf_call **ret_call)
{
	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++)
			if (strcmp(rf_call_groups[g].calls[i].name, name) == 0) {
				*ret_call = &rf_call_groups[g].calls[i];
				return &rf_call_groups[g];
			}
	return NULL;
}

static int fail_no_call(const char *name, struct rf_err *err)
{
	const char *near = NULL;
	int best = 3;

	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++) {
			const char *other = rf_call_groups[g].calls[i].name;
			int distance = rf_option_distance(name, other);

			if (distance < best) {
				best = distance;
				near = other;
			}
		}
	rf_fail_say(err, -EINVAL, "\"%.40s\" is no system call that Ringfort knows", name);
	if (near)
		return rf_fail_hint(err, "did you mean \"%s\"?", near);
	return rf_fail_hint(err, "calls that it does not know are answered with ENOSYS");
}

/* What the plan's own profiles make of a call that the table lets through. */
static int ask_profiles(struct question *question, int nr, struct rf_err *err)
{
	struct rf_why *why = &question->why;

	for (char **path = question->plan->seccomp; path && *path; path++) {
		struct rf_ruleset *ruleset = NULL;
		char action[40];
		uint32_t plain = 0;

		if (rf_ruleset_load(*path, &ruleset, err) < 0)
			return rf_fail_in(err, "seccomp");
		if (!rf_ruleset_is_plain(ruleset, nr, &plain)) {
			why->verdict = RF_WHY_DEPENDS;
			snprintf(why->reason, sizeof(why->reason), "by its arguments, says %s",
				 *path);
		} else if (!rf_ruleset_lets(plain)) {
			rf_ruleset_spell(plain, action, sizeof(action));
			why->verdict = RF_WHY_NO;
			snprintf(why->reason, sizeof(why->reason), "refused by %s (%s)", *path,
				 action);
		}
		rf_ruleset_free(ruleset);
		if (why->verdict != RF_WHY_YES)
			snprintf(why->rule, sizeof(why->rule), "seccomp");
		if (why->verdict == RF_WHY_NO)
			break;
	}
	return 0;
}

static int ask_syscall(struct question *question, struct rf_err *err)
{
	const struct rf_plan *plan = question->plan;
	const struct rf_call_options options = rf_call_options_of(plan);
	const struct rf_call *call = NULL;
	const struct rf_call_group *group = group_of(question->what, &call);
	struct rf_why *why = &question->why;
	enum rf_call_verdict verdict;
	bool is_strict = plan->syscalls == RF_SYSCALLS_STRICT;

	if (!group)
		return fail_no_call(question->what, err);
	verdict = rf_call_verdict(group, &options);
	*why = (struct rf_why){ .verdict = RF_WHY_YES };
	snprintf(why->rule, sizeof(why->rule), "syscalls");
	if (verdict == RF_CALL_ALLOW && group->in_sampled != RF_CALL_ALLOW) {
		why->verdict = RF_WHY_DEPENDS;
		snprintf(why->reason, sizeof(why->reason),
			 "%s: only where a cgroup limits memory; `ringfort doctor` tells",
			 group->why);
	} else if (verdict == RF_CALL_ALLOW && group->check) {
		why->verdict = RF_WHY_DEPENDS;
		snprintf(why->reason, sizeof(why->reason), "by its arguments: %s", group->why);
	} else if (verdict == RF_CALL_ALLOW) {
		snprintf(why->reason, sizeof(why->reason), "%s", group->why);
	} else {
		why->verdict = RF_WHY_NO;
		snprintf(why->reason, sizeof(why->reason), "%s (%s)", group->why,
			 verdict == RF_CALL_ABSENT    ? "answered with ENOSYS"
			 : verdict == RF_CALL_FAKE    ? "answered with success, and not made"
			 : verdict == RF_CALL_LACKING ? "answered with EOPNOTSUPP, since a tree of "
							"the host is writable"
						      : "answered with EPERM");
		if (verdict == RF_CALL_LACKING && group->effect == RF_EFFECT_ATTRIBUTES) {
			snprintf(why->rule, sizeof(why->rule), "files.attributes");
			snprintf(why->flag, sizeof(why->flag), "--attributes keep");
			snprintf(why->line, sizeof(why->line), "files: {attributes: keep}");
		}
		if (is_strict && group->verdict == RF_CALL_ALLOW) {
			snprintf(why->flag, sizeof(why->flag), "--syscalls default");
			snprintf(why->line, sizeof(why->line), "syscalls: default");
		}
	}
	return why->verdict == RF_WHY_NO ? 0 : ask_profiles(question, call->nr, err);
}

/* clang-format off */
static const struct {
	const char *verb;
	ask_fn *ask;
	const char *can; /* "can't be " ... */
} verbs[] = {
	{ "read",    ask_read,    "read" },
	{ "write",   ask_write,   "written" },
	{ "exec",    ask_exec,    "executed" },
	{ "connect", ask_connect, "connected to" },
	{ "net",     ask_net,     "requested" },
	{ "syscall", ask_syscall, "called" },
	{ "env",     ask_env,     "seen" },
};
/* clang-format on */

/* ------------------------------------------------------------- answers */

static const char *participle(const struct question *question)
{
	for (size_t i = 0; i < RF_LEN(verbs); i++)
		if (strcmp(verbs[i].verb, question->verb) == 0)
			return verbs[i].can;
	return "done";
}

/* Where the rule stands: "agent.yaml:5", or "" for a default. */
static void find_origin(const struct question *question, char *text, size_t size)
{
	const struct rf_place *place = question->why.place;
	const char *rule = question->why.rule;

	text[0] = '\0';
	if (place && strcmp(rule, place->rule) == 0 && strncmp(rule, "files.", 6) == 0)
		rf_request_origin(question->request, rule, place->source, place->path, text, size);
	else if (place && strcmp(rule, "current") == 0)
		rf_request_origin(question->request, "files.current", NULL, NULL, text, size);
	else
		rf_request_origin(question->request, rule, question->why.element, NULL, text, size);
}

static bool is_final(const struct question *question)
{
	return question->why.flag[0] &&
	       rf_policy_is_final(question->request->policy, question->why.rule);
}

/* A line of the answer; what was asked about comes from outside, and is shown, not obeyed. */
static void put_line(const char *label, const char *text, struct rf_buf *out)
{
	rf_buf_printf(out, "  %-7s ", label);
	rf_style_put(RF_STYLE_NONE, RF_STYLE_PLAIN, text, 0, out);
	rf_buf_puts(out, "\n");
}

static void put_text(const struct question *question, const char *origin, struct rf_buf *out)
{
	static const struct {
		const char *opening;
		enum rf_style_role role;
	} verdicts[] = {
		[RF_WHY_NO] = { "can't be", RF_STYLE_BAD },
		[RF_WHY_YES] = { "can be", RF_STYLE_GOOD },
		[RF_WHY_DEPENDS] = { "may be", RF_STYLE_WARNING },
	};
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	const struct rf_why *why = &question->why;

	rf_style_put(style, verdicts[why->verdict].role, rf_why_word(why->verdict), 0, out);
	rf_style_printf(style, RF_STYLE_PLAIN, out, ": %s %s %s", question->what,
			verdicts[why->verdict].opening, participle(question));
	rf_buf_puts(out, "\n");
	put_line("why:", why->reason, out);
	rf_style_printf(style, RF_STYLE_PLAIN, out, "  rule:   %s%s%s%s", why->rule,
			*origin ? " (" : "", origin, *origin ? ")" : "");
	rf_buf_puts(out, "\n");
	if (is_final(question)) {
		put_line("change:", "none; what made the rule final has to be left out", out);
	} else if (why->flag[0]) {
		put_line("change:", why->flag, out);
		rf_style_printf(style, RF_STYLE_PLAIN, out, "          %s   (in a policy)",
				why->line);
		rf_buf_puts(out, "\n");
	}
}

static void put_json(const struct question *question, const char *origin, struct rf_buf *out)
{
	const struct rf_why *why = &question->why;
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "verb", question->verb);
	rf_json_string(&json, "what", question->what);
	rf_json_string(&json, "verdict", rf_why_word(why->verdict));
	rf_json_string(&json, "rule", why->rule);
	rf_json_string(&json, "origin", *origin ? origin : NULL);
	rf_json_string(&json, "reason", why->reason);
	rf_json_string(&json, "flag", why->flag[0] && !is_final(question) ? why->flag : NULL);
	rf_json_string(&json, "line", why->line[0] && !is_final(question) ? why->line : NULL);
	rf_json_bool(&json, "final", is_final(question));
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static int ask(struct question *question, char **argv, struct rf_err *err)
{
	for (size_t i = 0; argv[0] && i < RF_LEN(verbs); i++)
		if (strcmp(verbs[i].verb, argv[0]) == 0) {
			question->verb = verbs[i].verb;
			question->what = argv[1];
			/* A method may stand before the URL as a word of its own. */
			if (verbs[i].ask == ask_net && argv[1] && argv[2] && !argv[3]) {
				snprintf(question->joined, sizeof(question->joined),
					 "%.30s %.4000s", argv[1], argv[2]);
				question->what = question->joined;
			} else if (!argv[1] || !argv[1][0] || argv[2]) {
				rf_fail_say(err, -EINVAL, "why %s wants one thing to ask about",
					    argv[0]);
				return rf_fail_hint(err, "for example: ringfort policy why read "
							 "/etc/shadow");
			}
			if (open_eyes(question->plan, &question->eyes, err) < 0)
				return err->code;
			return verbs[i].ask(question, err);
		}
	rf_fail_say(err, -EINVAL, argv[0] ? "why does not know `%.40s`" : "why wants a question%s",
		    argv[0] ? argv[0] : "");
	return rf_fail_hint(err,
			    "ask about one of: read, write, exec, connect, net, syscall, env; for "
			    "example: ringfort policy why exec git");
}

int rf_cmd_policy_why(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_request request;
	struct question question = { 0 };
	char origin[RF_FILES_PATH] = "";
	struct rf_err err = RF_ERR_INIT;
	int code = rf_request_read(RF_CMD_POLICY_WHY, argc, argv, false, &request, &err);

	rf_buf_init(&out, MAX_OUTPUT);
	if (code == 0 && request.wants_help) {
		rf_command_help(RF_CMD_POLICY_WHY, stdout);
		rf_request_done(&request);
		return 0;
	}
	question.request = &request;
	question.plan = request.plan;
	if (code == 0)
		code = ask(&question, request.argv, &err);
	close_eyes(&question.eyes);
	if (code < 0) {
		rf_cmd_complain(request.file, &err);
		rf_request_done(&request);
		return RF_EXIT_FAILED;
	}
	find_origin(&question, origin, sizeof(origin));
	if (request.is_json)
		put_json(&question, origin, &out);
	else
		put_text(&question, origin, &out);
	rf_request_done(&request);
	code = rf_cmd_print(&out);
	return code                                 ? code
	       : question.why.verdict == RF_WHY_YES ? EXIT_YES
	       : question.why.verdict == RF_WHY_NO  ? EXIT_NO
						    : EXIT_DEPENDS;
}
