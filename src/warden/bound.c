/* What bounds a connection that is somebody else's: see bound.h. */
#include "warden/bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "policy/key.h"

struct rf_bound {
	unsigned users;
	char *key, *tenant, *ceiling;
	size_t filters; /* system call profiles that the ceiling names */
	uint32_t most, boxes;
	bool is_recorded;
};

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
	};
	if (!bound->key || !bound->tenant || !bound->ceiling)
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

int rf_bound_errand(const struct rf_bound *bound, struct rf_errand *errand, struct rf_err *err)
{
	if (!bound) {
		errand->origin = (struct rf_plan_origin){ 0 }; /* nobody's key asks */
		return 0;
	}
	if (check_extras(errand, err) < 0)
		return err->code;
	errand->ceiling = bound->ceiling;
	errand->folder = "/";
	errand->home = "/";
	errand->cwd = NULL;
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

int rf_bound_check(const struct rf_bound *bound, const struct rf_policy *policy, bool has_gateway,
		   struct rf_err *err)
{
	if (bound && has_gateway && policy->values[RF_KEY_LINK].number != RF_LINK_GATEWAY) {
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

int rf_bound_enter(struct rf_bound *bound, struct rf_err *err)
{
	if (!bound)
		return 0;
	if (bound->boxes >= bound->most) {
		rf_fail_say(err, -EDQUOT, "key %s has %u boxes, and may have no more", bound->key,
			    bound->boxes);
		return rf_fail_hint(err, "end one of them, or try again later");
	}
	bound->boxes++;
	return 0;
}

void rf_bound_leave(struct rf_bound *bound)
{
	if (bound)
		bound->boxes--;
}
