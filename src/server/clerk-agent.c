/*
 * Agents of tenants: made, listed, told of, used and taken away (wire/tenant-agent.h says where they lie).
 *
 * Nothing that the front says of an agent is believed: names, labels and words are looked at again, its policy is read here and kept as what it came to, and the tenant is the
 * connection's.  Who makes or removes one holds the folder of all of them; who reads one finds it whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "policy/key.h"
#include "policy/lean.h"
#include "policy/plan.h"
#include "server/agent-ask.h"
#include "server/clerk-agent.h"
#include "server/clerk-desk.h"
#include "server/clerk-watcher.h"
#include "server/clerk-workspace.h"
#include "server/form.h"
#include "wire/tenant-agent.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define BOXES  64         /* of an agent, that are told */
#define ANSWER (8u << 20) /* bytes of the watcher's */

/* ------------------------------------------------------------- all of them */

struct names {
	char of[RF_TENANT_AGENT_MOST][RF_TENANCY_NAME];
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* `all`: their folder, or -ENOENT: there are none. */
static int list_names(int all, struct names *ret_names)
{
	int listed = all < 0 ? all : openat(all, ".", FOLDER);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	*ret_names = (struct names){ 0 };
	if (!dir) {
		rf_fd_done(&listed);
		return all == -ENOENT ? 0 : -EIO;
	}
	while ((entry = readdir(dir)) && ret_names->count < RF_TENANT_AGENT_MOST)
		if (rf_tenancy_is_name(entry->d_name))
			snprintf(ret_names->of[ret_names->count++], RF_TENANCY_NAME, "%s",
				 entry->d_name);
	closedir(dir);
	qsort(ret_names->of, ret_names->count, sizeof(*ret_names->of), by_name);
	return 0;
}

/* 1: it is this agent's; 0: it is not, or the agent is gone by now.  One that can't be read could have any. */
static int is_its(const struct rf_clerk_asker *who, const char *name, const char *workspace,
		  struct rf_err *err)
{
	struct rf_tenant_agent agent = { 0 };
	struct rf_err why = RF_ERR_INIT;
	int code = rf_tenant_agent_read(who->tenant, name, &agent, &why);
	bool has_it = code == 0 && strcmp(agent.workspace, workspace) == 0;

	rf_tenant_agent_done(&agent);
	if (code == 0 || code == -ENOENT)
		return has_it;
	rf_fail_say(err, -EBUSY, "workspace `%s` may be agent `%s`'s, which can't be read: %.80s",
		    workspace, name, why.msg);
	return rf_fail_hint(err, "who keeps the server removes the agent's file, or mends it");
}

int rf_clerk_agent_spares(const struct rf_clerk_asker *who, const char *workspace,
			  const char *besides, struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(who->tenant, false);
	struct names names;

	if (list_names(all, &names) < 0)
		return rf_fail(err, -EIO, "look at the agents");
	for (size_t i = 0; i < names.count; i++) {
		int code = besides && strcmp(names.of[i], besides) == 0
				   ? 0
				   : is_its(who, names.of[i], workspace, err);

		if (code == 0)
			continue;
		if (code < 0)
			return code;
		rf_fail_say(err, -EBUSY, "workspace `%s` is agent `%s`'s", workspace, names.of[i]);
		return rf_fail_hint(err, "remove the agent first: DELETE /v1/agents/%s",
				    names.of[i]);
	}
	return 0;
}

/* ------------------------------------------------------------- how one looks */

static void put_known(struct rf_json *json, const struct rf_tenant_agent *agent)
{
	time_t at = (time_t)agent->created;
	struct tm tm;
	char when[32];

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	rf_json_string(json, "name", agent->name);
	rf_json_string(json, "description", agent->about[0] ? agent->about : NULL);
	rf_json_open_object(json, "labels");
	for (size_t i = 0; i < agent->label_count; i++)
		rf_json_string(json, agent->labels[i].name, agent->labels[i].value);
	rf_json_close_object(json);
	rf_json_string(json, "workspace", agent->workspace);
	rf_json_string(json, "created", when);
}

static bool is_text(const struct rf_jsonread_value *row, const char *member, const char *text)
{
	const struct rf_jsonread_value *value = rf_jsonread_member(row, member);

	return value && value->type == RF_JSONREAD_STRING && strcmp(value->text, text) == 0;
}

static void copy_members(struct rf_json *json, const struct rf_jsonread_value *row,
			 const char *const *members)
{
	for (; *members; members++) {
		const struct rf_jsonread_value *value = rf_jsonread_member(row, *members);

		if (value)
			rf_form_copy(value, *members, json);
		else
			rf_json_null(json, *members);
	}
}

/* What the watcher says, read; or NULL: there is none that answers, and nobody knows. */
static struct rf_jsonread *ask_watcher(const char *const *words, size_t count)
{
	RF_AUTO_BUF struct rf_buf text;
	struct rf_jsonread *read = NULL;
	struct rf_err ignored = RF_ERR_INIT;

	rf_buf_init(&text, ANSWER);
	if (rf_clerk_watcher_ask(words, count, &text, &ignored) < 0 ||
	    rf_jsonread_parse(text.data, text.len, &read, &ignored) < 0)
		return NULL;
	return read;
}

static void put_breaker(struct rf_json *json, const char *whole)
{
	static const char *const words[] = { "breaker", "ls", "json" };
	static const char *const members[] = { "state",  "reason",  "retry_ms", "failures_in_a_row",
					       "failed", "refused", "opened",   NULL };
	struct rf_jsonread *read = ask_watcher(words, RF_LEN(words));
	const struct rf_jsonread_value *row = read ? rf_jsonread_root(read)->first : NULL;

	while (row && !(is_text(row, "kind", "agent") && is_text(row, "name", whole)))
		row = row->next;
	if (row) {
		rf_json_open_object(json, "breaker");
		copy_members(json, row, members);
		rf_json_close_object(json);
	} else {
		rf_json_null(json, "breaker");
	}
	rf_jsonread_free(read);
}

static void put_running(struct rf_json *json, const char *whole)
{
	static const char *const words[] = { "ps", "json" };
	static const char *const members[] = { "id", "state", "program", "started", NULL };
	struct rf_jsonread *read = ask_watcher(words, RF_LEN(words));
	const struct rf_jsonread_value *boxes = NULL;
	size_t told = 0;

	if (read && rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT)
		boxes = rf_jsonread_member(rf_jsonread_root(read), "boxes");
	if (!boxes) {
		rf_json_null(json, "running");
		rf_jsonread_free(read);
		return;
	}
	rf_json_open_array(json, "running");
	for (const struct rf_jsonread_value *row = boxes->first; row && told < BOXES;
	     row = row->next) {
		if (!is_text(row, "agent", whole))
			continue;
		rf_json_open_object(json, NULL);
		copy_members(json, row, members);
		rf_json_close_object(json);
		told++;
	}
	rf_json_close_array(json);
	rf_jsonread_free(read);
}

static int tell_one(const struct rf_clerk_asker *who, const char *name,
		    struct rf_clerk_matter *matter, struct rf_err *err)
{
	struct rf_tenant_agent agent;
	struct rf_policy *policy = NULL;
	struct rf_json json;
	char whole[RF_TERMS_NAME + RF_TENANCY_NAME];

	if (rf_tenant_agent_read(who->tenant, name, &agent, err) < 0)
		return err->code;
	if (rf_policy_parse(agent.policy, strlen(agent.policy), "/", "/", &policy, err) < 0) {
		rf_tenant_agent_done(&agent);
		return rf_fail_in(err, "agent `%s`", name);
	}
	snprintf(whole, sizeof(whole), "%s/%s", who->tenant, name);
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	put_known(&json, &agent);
	rf_policy_json(policy, "policy", &json);
	put_breaker(&json, whole);
	put_running(&json, whole);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	rf_policy_free(policy);
	rf_tenant_agent_done(&agent);
	return 0;
}

int rf_clerk_agent_get(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
		       struct rf_err *err)
{
	char name[RF_TENANCY_NAME];
	struct rf_pack_reader in;

	rf_pack_read_init(&in, matter->body, matter->len);
	rf_pack_read_text(&in, name, sizeof(name));
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EINVAL, "it is no name of an agent");
	return tell_one(who, name, matter, err);
}

static bool has_label(const struct rf_tenant_agent *agent, const struct rf_agent_ask_page *page)
{
	for (size_t i = 0; i < agent->label_count; i++)
		if (strcmp(agent->labels[i].name, page->label) == 0)
			return strcmp(agent->labels[i].value, page->value) == 0;
	return !page->label[0];
}

/* By their names: so a page begins where the last one ended, whatever has come and gone meanwhile. */
int rf_clerk_agent_list(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(who->tenant, false);
	struct rf_agent_ask_page page;
	struct names names;
	struct rf_json json;
	uint32_t told = 0;
	const char *last = NULL;
	bool has_more = false;

	if (rf_agent_ask_take_page(matter->body, matter->len, &page, err) < 0)
		return err->code;
	if (list_names(all, &names) < 0)
		return rf_fail(err, -EIO, "list the agents");
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "agents");
	for (size_t i = 0; i < names.count && !has_more; i++) {
		struct rf_tenant_agent agent = { 0 };
		struct rf_err ignored = RF_ERR_INIT; /* one that is broken is told of by itself */

		if (strcmp(names.of[i], page.cursor) > 0 &&
		    rf_tenant_agent_read(who->tenant, names.of[i], &agent, &ignored) == 0 &&
		    has_label(&agent, &page)) {
			has_more = told == page.limit;
			if (!has_more) {
				rf_json_open_object(&json, NULL);
				put_known(&json, &agent);
				rf_json_close_object(&json);
				last = names.of[i];
				told++;
			}
		}
		rf_tenant_agent_done(&agent);
	}
	rf_json_close_array(&json);
	rf_json_string(&json, "next_cursor", has_more ? last : NULL);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	return 0;
}

/* ------------------------------------------------------------- a key that is an agent's own */

/* The agent that the ceiling of a key names, or NULL: everything that the key does is done for that one.  Gives the ceiling, too. */
static int read_ceiling(const struct rf_clerk_asker *who, struct rf_policy **ret_ceiling,
			struct rf_err *err)
{
	return rf_policy_parse(who->ceiling, strlen(who->ceiling), "/", "/", ret_ceiling, err) < 0
		       ? rf_fail_in(err, "the ceiling of key %s", who->key)
		       : 0;
}

/* Such a key makes and removes none: else it could make its own anew, with another policy. */
static int check_keeper(const struct rf_clerk_asker *who, struct rf_err *err)
{
	struct rf_policy *ceiling = NULL;
	bool is_agents;

	if (read_ceiling(who, &ceiling, err) < 0)
		return err->code;
	is_agents = ceiling->values[RF_KEY_AGENT].text != NULL;
	rf_policy_free(ceiling);
	if (!is_agents)
		return 0;
	rf_fail_say(err, -EPERM, "key %s is an agent's own, and makes and removes none", who->key);
	return rf_fail_hint(err, "use a key whose ceiling names no agent");
}

/* ------------------------------------------------------------- a new one */

static int fail_policy(const char *what, const char *hint, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "policy.%s", what);
	return rf_fail_hint(err, "%s", hint);
}

/* What neither an agent nor a request may say. */
static int check_policy(const struct rf_policy *policy, const char *name, struct rf_err *err)
{
	const char *agent = policy->values[RF_KEY_AGENT].text;

	if (policy->values[RF_KEY_GRANTS].list.count > 0)
		return fail_policy("credentials: it has none of this machine's",
				   "name those of the tenant in `credentials` of a request", err);
	if (agent && strcmp(agent, name) != 0)
		return fail_policy("agent: it is for another one", "leave it out", err);
	return 0;
}

/* Reads what it may do, and gives that as it is kept: under its own name, with nothing to look up any more. */
static int settle_policy(const struct rf_agent_ask_new *ask, char **ret_text, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	struct rf_policy *policy = NULL;
	int code = rf_lean_read(ask->policy, strlen(ask->policy), &policy, err);

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (code < 0)
		return rf_fail_in(err, "policy");
	code = check_policy(policy, ask->name, err);
	if (code == 0 && policy->values[RF_KEY_SECCOMP].list.count > 0)
		code = fail_policy("syscalls: a profile is a file of this machine's",
				   "the key's ceiling can name one; an agent can't", err);
	if (code == 0)
		code = rf_policy_set(policy, "agent", ask->name, "/", "/", err);
	if (code == 0)
		rf_policy_format(policy, &text);
	rf_policy_free(policy);
	if (code == 0 && text.has_failed)
		return rf_fail_say(err, -E2BIG, "policy: it is too long");
	*ret_text = code == 0 ? rf_buf_take(&text) : NULL;
	return code;
}

static int invalid(const char *what, const char *hint, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "%s", what);
	return rf_fail_hint(err, "%s", hint);
}

static bool is_own(const char *name)
{
	return strncmp(name, RF_TENANCY_OWN, strlen(RF_TENANCY_OWN)) == 0;
}

static int take_labels(char *const *labels, struct rf_tenant_agent *agent, struct rf_err *err)
{
	for (; *labels; labels++) {
		const char *sign = strchr(*labels, '=');
		size_t i = agent->label_count;

		if (!sign || i == RF_TENANT_AGENT_LABELS)
			return invalid("labels: there are too many, or one is none", "NAME=VALUE",
				       err);
		snprintf(agent->labels[i].name, RF_TENANCY_LABEL, "%.*s", (int)(sign - *labels),
			 *labels);
		snprintf(agent->labels[i].value, RF_TENANCY_LABEL, "%s", sign + 1);
		if (!rf_tenancy_is_label(agent->labels[i].name) ||
		    (sign[1] && !rf_tenancy_is_label(sign + 1)))
			return invalid("labels: one of them can't be called so",
				       "letters, digits, `-`, `_` and `.`", err);
		agent->label_count++;
	}
	return 0;
}

static int read_new(const struct rf_clerk_asker *who, const struct rf_agent_ask_new *ask,
		    struct rf_tenant_agent *agent, struct rf_err *err)
{
	if (!rf_tenancy_is_name(ask->name) || strlen(ask->name) >= RF_TENANT_AGENT_NAME ||
	    is_own(ask->name))
		return invalid("it is no name of an agent",
			       "up to 51 letters, digits, `-` and `_`, beginning with one of the "
			       "first two",
			       err);
	if (strlen(who->tenant) + 1 + strlen(ask->name) >= RF_PLAN_AGENT)
		return invalid("the name is too long, with that of its tenant",
			       "both together have room for 63 bytes", err);
	if (ask->workspace[0] && (!rf_tenancy_is_name(ask->workspace) || is_own(ask->workspace)))
		return invalid("workspace: it is none that stays", "name another, or leave it out",
			       err);
	if (!rf_tenant_agent_is_about(ask->about))
		return invalid("description: it is no single line of text", "up to 200 characters",
			       err);
	snprintf(agent->name, sizeof(agent->name), "%s", ask->name);
	snprintf(agent->about, sizeof(agent->about), "%s", ask->about);
	agent->owns_workspace = !ask->workspace[0];
	snprintf(agent->workspace, sizeof(agent->workspace), "%s",
		 ask->workspace[0] ? ask->workspace : ask->name);
	agent->created = time(NULL);
	if (take_labels(ask->labels, agent, err) < 0)
		return err->code;
	return settle_policy(ask, &agent->policy, err);
}

/* One that there is, or its own, which is made.  Gives its folder, held as a box holds it: nobody takes it away while the agent is written. */
static int give_workspace(const struct rf_clerk_asker *who, const struct rf_tenant_agent *agent,
			  int *ret_folder, struct rf_err *err)
{
	struct rf_clerk_workspace_wish wish = { 0 };
	RF_AUTO_FD int folder = -1;

	snprintf(wish.name, sizeof(wish.name), "%s", agent->workspace);
	if (agent->owns_workspace && rf_clerk_workspace_new(who, &wish, err) < 0) {
		if (err->code == -EEXIST)
			rf_fail_hint(err, "to give it to the agent, name it: `\"workspace\": "
					  "{\"name\": ...}`");
		return err->code;
	}
	folder = rf_tenancy_open(who->tenant, agent->workspace, err);
	if (folder < 0)
		return err->code;
	if (flock(folder, LOCK_SH | LOCK_NB) < 0)
		return rf_fail_say(err, -EBUSY, "workspace `%s` is being removed",
				   agent->workspace);
	*ret_folder = rf_fd_take(&folder);
	return 0;
}

/* The workspace comes first: what a crash leaves between the two is a workspace, which can be seen and removed. */
static int make(const struct rf_clerk_asker *who, const struct rf_tenant_agent *agent,
		struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(who->tenant, true);
	RF_AUTO_FD int folder = -1;
	struct names names;
	struct rf_err ignored = RF_ERR_INIT;

	if (all < 0 || flock(all, LOCK_EX) < 0 || list_names(all, &names) < 0)
		return rf_fail(err, all < 0 ? all : -EIO, "make an agent");
	if (faccessat(all, agent->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return rf_fail_say(err, -EEXIST, "there is an agent `%s` already", agent->name);
	if (names.count >= RF_TENANT_AGENT_MOST) {
		rf_fail_say(err, -EDQUOT, "the tenant has as many agents as it may");
		return rf_fail_hint(err, "remove one of them");
	}
	if (give_workspace(who, agent, &folder, err) < 0)
		return err->code;
	if (rf_tenant_agent_write(all, agent, err) == 0)
		return 0;
	if (agent->owns_workspace)
		rf_clerk_workspace_end(who, agent->workspace, &ignored);
	return err->code;
}

int rf_clerk_agent_make(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			struct rf_err *err)
{
	struct rf_agent_ask_new ask;
	struct rf_tenant_agent agent = { 0 };
	int code;

	if (rf_agent_ask_take_new(matter->body, matter->len, &ask, err) < 0)
		return err->code;
	code = check_keeper(who, err);
	if (code == 0)
		code = read_new(who, &ask, &agent, err);
	if (code == 0)
		code = make(who, &agent, err);
	if (code == 0)
		code = tell_one(who, ask.name, matter, err);
	free(ask.labels);
	rf_tenant_agent_done(&agent);
	return code;
}

/* ------------------------------------------------------------- another in its place */

/* All that was said of it is said anew; its name, its workspace and when it was made stay. */
static int replace(const struct rf_clerk_asker *who, struct rf_tenant_agent *agent,
		   const char *workspace, struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(who->tenant, false);
	struct rf_tenant_agent old;

	if (all >= 0 && flock(all, LOCK_EX) < 0)
		return rf_fail(err, -errno, "replace agent `%s`", agent->name);
	if (rf_tenant_agent_read(who->tenant, agent->name, &old, err) < 0)
		return err->code;
	agent->created = old.created;
	agent->owns_workspace = old.owns_workspace;
	snprintf(agent->workspace, sizeof(agent->workspace), "%s", old.workspace);
	rf_tenant_agent_done(&old);
	if (workspace[0] && strcmp(workspace, agent->workspace) != 0) {
		rf_fail_say(err, -EBUSY, "workspace: it has another one, `%s`, and keeps it",
			    agent->workspace);
		return rf_fail_hint(err, "leave it out; a request can name another for itself");
	}
	return rf_tenant_agent_replace(all, agent, err);
}

int rf_clerk_agent_replace(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	struct rf_agent_ask_new ask;
	struct rf_tenant_agent agent = { 0 };
	int code;

	if (rf_agent_ask_take_new(matter->body, matter->len, &ask, err) < 0)
		return err->code;
	code = check_keeper(who, err);
	if (code == 0)
		code = read_new(who, &ask, &agent, err);
	if (code == 0)
		code = replace(who, &agent, ask.workspace, err);
	if (code == 0)
		code = tell_one(who, ask.name, matter, err);
	free(ask.labels);
	rf_tenant_agent_done(&agent);
	return code;
}

/* ------------------------------------------------------------- its end */

static int take_out(const struct rf_clerk_asker *who, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(who->tenant, false);
	int code = all < 0 ? all : 0;

	if (code == 0)
		code = flock(all, LOCK_EX) < 0 ? -errno : rf_tenant_agent_remove(all, name);
	return code < 0 ? rf_fail(err, code, "remove agent `%s`", name) : 0;
}

/* The agent goes first: what a crash leaves between the two is a workspace.  Nobody can begin to use it in between, since it is held. */
int rf_clerk_agent_remove(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			  struct rf_err *err)
{
	struct rf_agent_ask_end ask;
	struct rf_tenant_agent agent;
	RF_AUTO_FD int folder = -1;
	bool goes_along;
	int code;

	if (rf_agent_ask_take_end(matter->body, matter->len, &ask, err) < 0 ||
	    check_keeper(who, err) < 0 ||
	    rf_tenant_agent_read(who->tenant, ask.name, &agent, err) < 0)
		return err->code;
	goes_along = agent.owns_workspace && !ask.keeps_workspace;
	code = goes_along ? rf_clerk_workspace_hold(who, agent.workspace, &folder, err) : 0;
	if (code == -EBUSY)
		rf_fail_hint(err, "end it first, or keep the workspace: ?keep_workspace=true");
	/* Whom it is given to from here on finds it held. */
	if (code == 0 && goes_along) {
		code = rf_clerk_agent_spares(who, agent.workspace, ask.name, err);
		if (code == -EBUSY)
			rf_fail_hint(err, "remove that agent first, or keep the workspace: "
					  "?keep_workspace=true");
	}
	if (code == -ENOENT) { /* it is gone already */
		*err = RF_ERR_INIT;
		goes_along = false;
		code = 0;
	}
	if (code == 0)
		code = take_out(who, ask.name, err);
	if (code == 0 && goes_along)
		code = rf_clerk_workspace_end(who, agent.workspace, err);
	rf_tenant_agent_done(&agent);
	return code;
}

/* ------------------------------------------------------------- its use */

static int check_use(const struct rf_clerk_asker *who, const char *name, struct rf_err *err)
{
	struct rf_policy *ceiling = NULL;
	const char *other;
	int code = read_ceiling(who, &ceiling, err);

	if (code < 0)
		return code;
	other = ceiling->values[RF_KEY_AGENT].text;
	if (other && strcmp(other, name) != 0) {
		code = rf_fail_say(err, -EPERM, "key %s is agent `%.60s`'s own", who->key, other);
		rf_fail_hint(err, "name that one, or use another key");
	}
	rf_policy_free(ceiling);
	return code;
}

/*
 * What a box for this agent is asked for with: all that the agent's policy says, as far as the request does not tighten it.  This is how the request is written; that no more is
 * given is seen to by the warden, which reads the agent itself.
 */
int rf_clerk_agent_use(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
		       struct rf_err *err)
{
	struct rf_agent_ask_use ask;
	struct rf_tenant_agent agent;
	struct rf_policy *base = NULL, *request = NULL, *joined = NULL;
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (rf_agent_ask_take_use(matter->body, matter->len, &ask, err) < 0 ||
	    check_use(who, ask.name, err) < 0 ||
	    rf_tenant_agent_read(who->tenant, ask.name, &agent, err) < 0)
		return err->code;
	code = rf_policy_parse(agent.policy, strlen(agent.policy), "/", "/", &base, err);
	if (code == 0)
		code = rf_lean_read(ask.policy, strlen(ask.policy), &request, err);
	if (code == 0)
		code = check_policy(request, ask.name, err);
	if (code == 0)
		code = rf_lean_on(base, request, &joined, err);
	if (code == 0) {
		rf_policy_format(joined, &text);
		rf_agent_ask_put_use(&(struct rf_agent_ask_use){ agent.workspace,
								 text.data ? text.data : "",
								 agent.policy },
				     &matter->out);
		code = text.has_failed ? rf_fail(err, -ENOMEM, "a policy") : 0;
	}
	rf_policy_free(base);
	rf_policy_free(request);
	rf_policy_free(joined);
	rf_tenant_agent_done(&agent);
	return code;
}
