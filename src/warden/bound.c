/* What bounds a connection that is somebody else's: see bound.h. */
#include "warden/bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "policy/key.h"
#include "wire/tenant-agent.h"

/* What the boxes of a key have together, whichever connections they came by: also of a server before this one. */
struct account {
	struct account *next;
	unsigned users;
	char *key;
	uint32_t boxes;
	struct rf_terms_sums sums;
};

struct rf_bound {
	unsigned users;
	char *key, *tenant, *ceiling;
	size_t filters; /* system call profiles that the ceiling names */
	bool is_recorded;
	uint32_t most;
	struct rf_terms_sums sums; /* at most; 0: any */
	struct account *account;
};

static struct account *accounts;

static struct account *open_account(const char *key)
{
	struct account *account = accounts;

	while (account && strcmp(account->key, key) != 0)
		account = account->next;
	if (!account) {
		account = calloc(1, sizeof(*account));
		if (account)
			account->key = strdup(key);
		if (!account || !account->key) {
			free(account);
			return NULL;
		}
		account->next = accounts;
		accounts = account;
	}
	account->users++;
	return account;
}

static void close_account(struct account *account)
{
	struct account **at = &accounts;

	if (!account || --account->users > 0)
		return;
	while (*at != account)
		at = &(*at)->next;
	*at = account->next;
	free(account->key);
	free(account);
}

static int read_ceiling(struct rf_bound *bound, struct rf_err *err)
{
	struct rf_policy *policy;

	if (rf_policy_parse(bound->ceiling, strlen(bound->ceiling), "/", "/", &policy, err) < 0)
		return rf_fail_in(err, "the ceiling of key %s", bound->key);
	bound->filters = policy->values[RF_KEY_SECCOMP].list.count;
	rf_policy_free(policy);
	return 0;
}

int rf_bound_new(const struct rf_terms *terms, struct rf_bound **ret_bound, struct rf_err *err)
{
	struct rf_bound *bound = calloc(1, sizeof(*bound));

	if (!bound)
		return rf_fail(err, -ENOMEM, "the terms of a connection");
	*bound = (struct rf_bound){
		.users = 1,
		.key = strdup(terms->key),
		.tenant = strdup(terms->tenant),
		.ceiling = strdup(terms->ceiling),
		.most = terms->boxes,
		.is_recorded = terms->is_recorded,
		.sums = terms->sums,
		.account = open_account(terms->key),
	};
	if (!bound->key || !bound->tenant || !bound->ceiling || !bound->account)
		rf_fail(err, -ENOMEM, "the terms of a connection");
	else if (read_ceiling(bound, err) == 0) {
		*ret_bound = bound;
		return 0;
	}
	rf_bound_unref(bound);
	return err->code;
}

struct rf_bound *rf_bound_ref(struct rf_bound *bound)
{
	if (bound)
		bound->users++;
	return bound;
}

void rf_bound_unref(struct rf_bound *bound)
{
	if (!bound || --bound->users > 0)
		return;
	close_account(bound->account);
	free(bound->key);
	free(bound->tenant);
	free(bound->ceiling);
	free(bound);
}

const char *rf_bound_key(const struct rf_bound *bound)
{
	return bound->key;
}

const char *rf_bound_tenant(const struct rf_bound *bound)
{
	return bound->tenant;
}

const struct rf_terms_sums *rf_bound_sums(const struct rf_bound *bound)
{
	return &bound->sums;
}

bool rf_bound_sees(const struct rf_bound *client, const struct rf_bound *keeper)
{
	return !client || (keeper && strcmp(client->tenant, keeper->tenant) == 0);
}

/* Beneath a folder (which ends with a slash), by a path of one spelling. */
static bool is_in(const char *path, const char *folder)
{
	for (const char *at = strstr(path, "/."); at; at = strstr(at + 1, "/."))
		if (strcmp(at, "/.") == 0 || strncmp(at, "/./", 3) == 0 || strcmp(at, "/..") == 0 ||
		    strncmp(at, "/../", 4) == 0)
			return false;
	return !strstr(path, "//") && strncmp(path, folder, strlen(folder)) == 0 &&
	       path[strlen(path) - 1] != '/';
}

/* Where a box finds the certificates that it trusts: with a gateway it has texts of its own there. */
static bool is_trust(const char *path)
{
	static const char *const folders[] = { "/etc/ringfort/",
					       "/etc/ssl/",
					       "/etc/pki/",
					       "/etc/ca-certificates/",
					       "/etc/chromium/policies/managed/",
					       "/etc/opt/chrome/policies/managed/" };

	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (is_in(path, folders[i]))
			return true;
	return false;
}

/* Texts, in the folders that are for them: never a file of the host's. */
static int check_extras(const struct rf_errand *errand, struct rf_err *err)
{
	for (size_t i = 0; i < errand->extra_count; i++) {
		const struct rf_place *extra = &errand->extras[i];

		if (extra->kind != RF_PLACE_HOST &&
		    (is_in(extra->path, RF_BOUND_CODE "/") || is_trust(extra->path)))
			continue;
		rf_fail_say(err, -EPERM, "%.80s can't be brought along", extra->path);
		return rf_fail_hint(err, "what is brought along lies beneath " RF_BOUND_CODE);
	}
	return 0;
}

int rf_bound_errand(const struct rf_bound *bound, struct rf_errand *errand, bool is_kept,
		    struct rf_err *err)
{
	if (!bound) {
		errand->origin = (struct rf_plan_origin){ 0 }; /* nobody's key asks */
		errand->drops_beyond = !is_kept; /* a run's result says what it was not given */
		return 0;
	}
	if (check_extras(errand, err) < 0)
		return err->code;
	errand->ceiling = bound->ceiling;
	errand->folder = "/";
	errand->home = "/";
	errand->cwd = NULL;
	/* The result names a program that the caller's PATH leads to and the box's does not: a PATH of
	 * the front's choice would make that an answer about any folder of the host. */
	errand->caller_path = "/usr/local/bin:/usr/bin:/bin";
	errand->wants_denials = false;
	errand->umask = 022;
	errand->origin.tenant = bound->tenant;
	errand->origin.key = bound->key;
	errand->is_recorded = bound->is_recorded;
	errand->nice = 0;
	for (size_t i = 0; i < RF_ERRAND_RLIMITS; i++) /* those of who made the connection hold */
		errand->rlimits[i].soft = errand->rlimits[i].hard = UINT64_MAX;
	return 0;
}

int rf_bound_agent(const struct rf_bound *bound, const struct rf_policy *policy, char **ret_text,
		   struct rf_err *err)
{
	const char *name = policy->values[RF_KEY_AGENT].text;
	struct rf_tenant_agent agent;
	int code;

	if (!bound || !name)
		return 0;
	code = rf_tenant_agent_find(bound->tenant, name, &agent, err);
	if (code > 0)
		*ret_text = agent.policy;
	return code;
}

int rf_bound_check(const struct rf_bound *bound, const struct rf_policy *policy, bool has_gateway,
		   struct rf_err *err)
{
	if (has_gateway && policy->values[RF_KEY_LINK].number != RF_LINK_GATEWAY) {
		if (!bound) {
			rf_fail_say(err, -EPERM,
				    "the warden's ceiling leaves no network to this box");
			return rf_fail_hint(err, "ask for none, or start the warden with a "
						 "--ceiling that has one");
		}
		rf_fail_say(err, -EPERM, "the ceiling of key %s leaves no network to this box",
			    bound->key);
		return rf_fail_hint(err, "`ringfort key create --ceiling POLICY` makes a key that "
					 "has one");
	}
	if (!bound || policy->values[RF_KEY_SECCOMP].list.count <= bound->filters)
		return 0;
	rf_fail_say(err, -EPERM, "syscalls: a profile is a file of this machine's");
	return rf_fail_hint(err, "the key's ceiling can name one; a request can't");
}

/* One that fits in no case is refused for good; one that does not fit now may wait. */
static int check_sum(const char *key, const char *what, uint64_t share, uint64_t used,
		     uint64_t most, struct rf_err *err)
{
	if (!most)
		return 0;
	if (share > most) {
		rf_fail_say(err, -EPERM, "limits.%s: all boxes of key %s together have less", what,
			    key);
		return rf_fail_hint(err, "ask for a smaller `limits.%s`", what);
	}
	if (used <= most && share <= most - used)
		return 0;
	rf_fail_say(err, -EDQUOT, "limits.%s: the boxes of key %s have what they may together",
		    what, key);
	return rf_fail_hint(err, "end one of them, ask for less, or try again later");
}

int rf_bound_enter(struct rf_bound *bound, const struct rf_policy *policy,
		   struct rf_terms_sums *ret_share, struct rf_err *err)
{
	struct rf_terms_sums share;
	struct account *account;

	*ret_share = (struct rf_terms_sums){ 0 };
	if (!bound)
		return 0;
	account = bound->account;
	share = (struct rf_terms_sums){
		.memory = policy->values[RF_KEY_LIMIT + RF_LIMIT_MEMORY].number,
		.cpu = policy->values[RF_KEY_LIMIT + RF_LIMIT_CPU].number,
		.disk = policy->values[RF_KEY_LIMIT + RF_LIMIT_DISK].number,
	};
	if (account->boxes >= bound->most) {
		rf_fail_say(err, -EDQUOT, "key %s has %u boxes, and may have no more", bound->key,
			    account->boxes);
		return rf_fail_hint(err, "end one of them, or try again later");
	}
	if (check_sum(bound->key, "memory", share.memory, account->sums.memory, bound->sums.memory,
		      err) < 0 ||
	    check_sum(bound->key, "cpu", share.cpu, account->sums.cpu, bound->sums.cpu, err) < 0 ||
	    check_sum(bound->key, "disk", share.disk, account->sums.disk, bound->sums.disk, err) <
		    0)
		return err->code;
	/* What is not bounded is not counted: it may be `none`. */
	*ret_share = (struct rf_terms_sums){ bound->sums.memory ? share.memory : 0,
					     bound->sums.cpu ? share.cpu : 0,
					     bound->sums.disk ? share.disk : 0 };
	account->boxes++;
	account->sums.memory += ret_share->memory;
	account->sums.cpu += ret_share->cpu;
	account->sums.disk += ret_share->disk;
	return 0;
}

void rf_bound_leave(struct rf_bound *bound, const struct rf_terms_sums *share)
{
	if (!bound)
		return;
	bound->account->boxes--;
	bound->account->sums.memory -= share->memory;
	bound->account->sums.cpu -= share->cpu;
	bound->account->sums.disk -= share->disk;
}
