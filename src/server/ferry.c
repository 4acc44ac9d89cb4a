/* A box's way out, as the clerk makes it: see ferry.h. */
#include "server/ferry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "egress/passage.h"
#include "egress/trust.h"
#include "policy/key.h"
#include "policy/list.h"
#include "policy/net-credential-hosts.h"
#include "server/custodian.h"
#include "server/fare.h"
#include "server/quay.h"
#include "server/strongbox.h"
#include "wire/gate.h"
#include "wire/tenant-agent.h"

#define READY_MS 20000 /* that a gateway has to start and to read a policy */

/* One crossing, from question to answer. */
struct crossing {
	const struct rf_clerk_asker *who;
	struct rf_fare_ask ask;
	struct rf_policy *request, *ceiling, *met;
	struct rf_net *net;
	struct rf_strongbox_item items[RF_MAX_CREDENTIALS];
	char *placeholders[RF_MAX_CREDENTIALS];
	struct rf_purse purse; /* points to these */
	struct rf_trust *trust;
	bool has_agent; /* of the tenant's, for which it is */
	int fd;
};

static void free_crossing(struct crossing *c)
{
	for (size_t i = 0; i < RF_MAX_CREDENTIALS; i++) {
		rf_strongbox_done(&c->items[i]);
		free(c->placeholders[i]);
	}
	rf_trust_free(c->trust);
	rf_net_free(c->net);
	rf_policy_free(c->request);
	rf_policy_free(c->ceiling);
	rf_policy_free(c->met);
	rf_fd_done(&c->fd);
	free(c->ask.names);
	free(c);
}

/* ------------------------------------------------------------- the policy */

/* A side is replaced by what it has in common with another, which says first where names lead. */
static int bound(const struct rf_policy *ceiling, struct rf_policy **policy, struct rf_err *err)
{
	struct rf_policy *met;

	if (rf_policy_meet(ceiling, *policy, &met, err) < 0)
		return err->code;
	rf_policy_free(*policy);
	*policy = met;
	return 0;
}

/* What is done for an agent of the tenant's leads no further than that may go; nor does the ceiling, which holds when the rules are changed later. */
static int heed_agent(struct crossing *c, struct rf_err *err)
{
	const char *name = c->met->values[RF_KEY_AGENT].text;
	struct rf_tenant_agent agent = { 0 };
	struct rf_policy *own = NULL;
	int code = name ? rf_tenant_agent_find(c->who->tenant, name, &agent, err) : 0;

	if (code == 0) /* it is but a name, or none */
		return 0;
	c->has_agent = true;
	if (code > 0)
		code = rf_policy_parse(agent.policy, strlen(agent.policy), "/", "/", &own, err);
	if (code == 0)
		code = bound(own, &c->request, err);
	if (code == 0)
		code = bound(c->ceiling, &own, err);
	if (code == 0) {
		rf_policy_free(c->ceiling);
		c->ceiling = own;
		own = NULL;
		rf_policy_free(c->met);
		c->met = NULL;
		code = rf_policy_meet(c->ceiling, c->request, &c->met, err);
	}
	rf_policy_free(own);
	rf_tenant_agent_done(&agent);
	return code < 0 ? rf_fail_in(err, "the agent") : 0;
}

static int read_policies(struct crossing *c, struct rf_err *err)
{
	const char *ceiling = c->who->ceiling;

	if (rf_policy_parse(c->ask.policy, strlen(c->ask.policy), "/", "/", &c->request, err) < 0)
		return rf_fail_in(err, "policy");
	if (rf_policy_parse(ceiling, strlen(ceiling), "/", "/", &c->ceiling, err) < 0)
		return rf_fail_in(err, "the ceiling of key %s", c->who->key);
	if (c->request->values[RF_KEY_GRANTS].list.count > 0) {
		rf_fail_say(err, -EINVAL,
			    "policy.credentials: a request has none of this machine's");
		return rf_fail_hint(err, "name those of the tenant in `credentials`; `ringfort "
					 "credential set` keeps them");
	}
	if (rf_policy_meet(c->ceiling, c->request, &c->met, err) < 0)
		return err->code;
	return heed_agent(c, err);
}

/* What a ceiling leaves; a request is told which part of it is not to be had. */
static int check_network(const struct crossing *c, struct rf_err *err)
{
	if (c->met->values[RF_KEY_LINK].number != RF_LINK_GATEWAY) {
		rf_fail_say(err, -EPERM, "the ceiling of key %s%s allows no network", c->who->key,
			    c->has_agent ? ", or its agent's policy," : "");
		return rf_fail_hint(err,
				    "`ringfort key create --ceiling POLICY` makes a key that has "
				    "one: its policy says network.allow");
	}
	if (c->request->values[RF_KEY_NET_PUBLISH].list.count > 0) {
		rf_fail_say(err, -ENOTSUP,
			    "policy.network.publish: boxes of this server publish no ports");
		return rf_fail_hint(err, "leave it out");
	}
	return 0;
}

static int grant(struct rf_policy *policy, const struct rf_strongbox_item *item, struct rf_err *err)
{
	policy->set |= RF_KEY_BIT(RF_KEY_GRANTS);
	return rf_list_assign(&policy->values[RF_KEY_GRANTS].list, item->name, item->text) < 0
		       ? rf_fail(err, -ENOMEM, "a credential")
		       : 0;
}

/* Of this tenant's, by name; what is another's is not there. */
static int take_credential(struct crossing *c, const char *name, struct rf_err *err)
{
	size_t i = c->purse.count;
	struct rf_strongbox_item *item = &c->items[i];
	int code = rf_strongbox_find(c->who->tenant, name, item, err);

	if (code == -ENOENT) {
		rf_fail_say(err, -EINVAL, "credentials: this key's tenant has no `%.40s`", name);
		return rf_fail_hint(err, "`ringfort credential set --tenant %s %.32s` makes one",
				    c->who->tenant, name);
	}
	if (code < 0)
		return code;
	c->placeholders[i] = calloc(1, RF_PURSE_ROOM(strlen(item->value)));
	if (!c->placeholders[i])
		return rf_fail(err, -ENOMEM, "a credential");
	if (!strstr(item->text, "\ncertificate ") && /* which is no text of the program's */
	    rf_purse_placeholder(item->value, c->placeholders[i], err) < 0)
		return err->code;
	c->purse.items[i] = (struct rf_purse_item){ item->name, item->value, c->placeholders[i] };
	c->purse.count++;
	return grant(c->met, item, err) < 0 ? err->code : grant(c->ceiling, item, err);
}

static int take_credentials(struct crossing *c, struct rf_err *err)
{
	/* What a ceiling has of its own is for `ringfort warden`, and names this machine's files: here both sides have just the tenant's. */
	rf_list_done(&c->ceiling->values[RF_KEY_GRANTS].list);
	rf_list_done(&c->met->values[RF_KEY_GRANTS].list);
	c->ceiling->values[RF_KEY_GRANTS].list = (struct rf_list){ .max = RF_MAX_CREDENTIALS };
	c->met->values[RF_KEY_GRANTS].list = (struct rf_list){ .max = RF_MAX_CREDENTIALS };
	c->ceiling->set &= ~RF_KEY_BIT(RF_KEY_GRANTS);
	c->met->set &= ~RF_KEY_BIT(RF_KEY_GRANTS);
	for (char **at = c->ask.names; *at; at++)
		if (take_credential(c, *at, err) < 0)
			return err->code;
	if (rf_net_credential_hosts_check_some(c->met, err) < 0)
		return rf_fail_hint(err,
				    "name its host in policy.network.allow, within the ceiling "
				    "of this key, or leave the credential out");
	return rf_net_make(c->met, &c->net, err);
}

/* ------------------------------------------------------------- the gateway */

static int open_way(struct crossing *c, struct rf_err *err)
{
	char id[RF_PASSAGE_ID];
	const struct rf_passage_wish wish = { .id = id, .policy = c->met, .purse = &c->purse };
	RF_AUTO_BUF struct rf_buf in, most;
	const char *pem, *agent = c->met->values[RF_KEY_AGENT].text;

	rf_buf_init(&in, RF_WIRE_ROOM);
	rf_buf_init(&most, RF_MAX_POLICY_BYTES);
	rf_policy_format_net(c->ceiling, &most);
	if (most.has_failed)
		return rf_fail(err, -ENOMEM, "a ceiling's text");
	if (rf_quay_reach(c->who->tenant, c->net->mask_count > 0, &c->fd, err) < 0 ||
	    rf_passage_name(id, err) < 0 || rf_passage_ask(c->fd, &wish, err) < 0 ||
	    rf_gate_await(c->fd, RF_PASSAGE_BOX, READY_MS, &in, &pem, err) < 0 ||
	    (c->net->holds_writes && rf_custodian_adopt(c->fd, c->who, agent, err) < 0) ||
	    rf_gate_seal(c->fd, RF_PASSAGE_BOX, most.data, err) < 0)
		return err->code;
	return pem[0] ? rf_trust_new(pem, &c->trust, err) : 0;
}

/* One that died a moment ago is found dead here: the next is another. */
static int reach_out(struct crossing *c, struct rf_err *err)
{
	int code = open_way(c, err);

	if (code != -ECONNRESET && code != -EPIPE)
		return code < 0 ? rf_fail_in(err, "the network") : 0;
	rf_fd_done(&c->fd);
	*err = RF_ERR_INIT;
	return open_way(c, err) < 0 ? rf_fail_in(err, "the network") : 0;
}

/* ------------------------------------------------------------- the answer */

/* What the policy sets or passes by itself stays as it is. */
static bool is_taken(const struct crossing *c, const char *name)
{
	return rf_list_find(&c->request->values[RF_KEY_SET].list, name) ||
	       rf_list_find(&c->request->values[RF_KEY_PASS].list, name);
}

static int add(char **set, size_t *count, const char *name, const char *value, struct rf_err *err)
{
	if (*count == RF_FARE_SET)
		return rf_fail_say(err, -E2BIG, "the network: too many variables");
	if (asprintf(&set[*count], "%s=%s", name, value) < 0) {
		set[*count] = NULL;
		return rf_fail(err, -ENOMEM, "a variable");
	}
	++*count;
	return 0;
}

static int list_variables(const struct crossing *c, char **set, struct rf_err *err)
{
	struct rf_policy *trusted = rf_policy_new_empty();
	const struct rf_list *list = trusted ? &trusted->values[RF_KEY_SET].list : NULL;
	size_t count = 0;
	int code = trusted ? 0 : rf_fail(err, -ENOMEM, "variables");

	if (code == 0 && c->trust)
		code = rf_trust_set(c->trust, trusted, err);
	for (size_t i = 0; code == 0 && i < list->count; i++)
		if (!is_taken(c, list->items[i].name))
			code = add(set, &count, list->items[i].name, list->items[i].value, err);
	for (size_t i = 0; code == 0 && i < c->net->credential_count; i++) {
		const struct rf_net_credential *credential = &c->net->credentials[i];

		for (size_t j = 0; credential->variable && code == 0 && j < c->purse.count; j++)
			if (strcmp(c->purse.items[j].name, credential->name) == 0)
				code = add(set, &count, credential->variable, c->placeholders[j],
					   err);
	}
	rf_policy_free(trusted);
	return code;
}

static int answer(const struct crossing *c, struct rf_buf *out, struct rf_err *err)
{
	char *set[RF_FARE_SET + 1] = { 0 };
	struct rf_fare fare = { .set = set };
	const struct rf_place *places;
	int code = list_variables(c, set, err);

	if (code == 0 && c->trust) {
		places = rf_trust_places(c->trust, &fare.place_count);
		if (fare.place_count > RF_FARE_PLACES)
			code = rf_fail_say(err, -E2BIG, "the network: too many files");
		else
			memcpy(fare.places, places, fare.place_count * sizeof(*places));
	}
	if (code == 0)
		rf_fare_put(&fare, out);
	for (char **at = set; *at; at++)
		free(*at);
	return code;
}

int rf_ferry_cross(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
		   struct rf_err *err)
{
	struct crossing *c = calloc(1, sizeof(*c));
	int code;

	if (!c)
		return rf_fail(err, -ENOMEM, "a way out");
	c->who = who;
	c->fd = -1;
	code = rf_fare_take_ask(matter->body, matter->len, &c->ask, err);
	if (code == 0)
		code = read_policies(c, err);
	if (code == 0)
		code = check_network(c, err);
	if (code == 0)
		code = take_credentials(c, err);
	if (code == 0)
		code = reach_out(c, err);
	if (code == 0)
		code = answer(c, &matter->out, err);
	if (code == 0) {
		matter->out_fds[0] = rf_fd_take(&c->fd);
		matter->out_fd_count = 1;
	}
	free_crossing(c);
	return code;
}
