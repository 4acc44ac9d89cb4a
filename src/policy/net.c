/*
 * The network of a box, compiled and asked: see net.h.
 *
 * A question walks the hashes that its host can be found under (net-index.h), looks at the few rules there, and stops at
 * the first that denies.  Rules that are about requests never decide about a host as a whole, but for those that allow:
 * who may be asked something may be connected to.
 */
#include "policy/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/address.h"
#include "policy/arena.h"
#include "policy/key.h"
#include "policy/net-credential.h"
#include "policy/net-index.h"
#include "policy/net-place.h"

#define KIB  1024ULL
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)
#define TIB  (1024 * GIB)
#define SEC  1000ULL
#define DAY  (24 * 3600 * SEC)
#define NONE RF_LIMIT_NONE

/* clang-format off */
const struct rf_limit_info rf_net_limit_table[RF_NET_LIMIT_COUNT] = {
	[RF_NET_CONNECTIONS] =
		{ "connections",    "denied", RF_UNIT_COUNT, true, 1, 1000000, 64, 64,
		  "connections at one time" },
	[RF_NET_PENDING] =
		{ "pending",        "denied", RF_UNIT_COUNT, true, 1, 1000000, 256, 256,
		  "connections that may wait for one of these" },
	[RF_NET_RATE] =
		{ "rate",           "denied", RF_UNIT_RATE,  true,
		  UINT64_C(1) << RF_LIMIT_BURST_BITS | 1,
		  UINT64_C(10000000) * 86400 << RF_LIMIT_BURST_BITS | 10000000, NONE, NONE,
		  "requests, and connections that are not looked into" },
	[RF_NET_BANDWIDTH] =
		{ "bandwidth",      "denied", RF_UNIT_BYTES, true, KIB, TIB, NONE, NONE,
		  "bytes a second, each way" },
	[RF_NET_BANDWIDTH_UP] =
		{ "bandwidth_up",   "denied", RF_UNIT_BYTES, true, KIB, TIB, NONE, NONE,
		  "bytes a second out of the box" },
	[RF_NET_BANDWIDTH_DOWN] =
		{ "bandwidth_down", "denied", RF_UNIT_BYTES, true, KIB, TIB, NONE, NONE,
		  "bytes a second into the box" },
	[RF_NET_REQUEST_SIZE] =
		{ "request_size",   "denied", RF_UNIT_BYTES, true, 1, 16 * TIB, NONE, NONE,
		  "bytes of one request's body" },
	[RF_NET_RESPONSE_SIZE] =
		{ "response_size",  "denied", RF_UNIT_BYTES, true, 1, 16 * TIB, NONE, NONE,
		  "bytes of one response's body" },
	[RF_NET_CONNECT_TIME] =
		{ "connect_time",   "denied", RF_UNIT_MS,    true, 1, DAY, 10 * SEC, 10 * SEC,
		  "time until a server has accepted a connection" },
	[RF_NET_IDLE_TIME] =
		{ "idle_time",      "denied", RF_UNIT_MS,    true, 1, DAY, 300 * SEC, 300 * SEC,
		  "time that a connection may stay silent" },
	[RF_NET_TOTAL_TIME] =
		{ "total_time",     "denied", RF_UNIT_MS,    true, 1, 365 * DAY, NONE, NONE,
		  "time that a connection may last" },
	[RF_NET_APPROVAL_TIME] =
		{ "approval_time",  "denied", RF_UNIT_MS,    false, SEC, 30 * DAY, 3600 * SEC, 3600 * SEC,
		  "time that a request may wait to be approved" },
};
/* clang-format on */

/* --- Making --- */

struct maker {
	const struct rf_policy *policy;
	struct rf_arena *arena;
	struct rf_net *net;
	struct rf_err *err;
};

static int fail_memory(const struct maker *m)
{
	return rf_fail(m->err, -ENOMEM, "compile the network's rules");
}

int rf_net_rule_keep(struct rf_arena *arena, const char *text, bool is_deny,
		     struct rf_net_rule *ret_rule, struct rf_err *err)
{
	struct rf_net_rule_room room;
	struct rf_net_rule rule;

	if (rf_net_rule_parse(text, is_deny, &room, &rule, err) < 0)
		return err->code;
	rule.text = rf_arena_copy(arena, rule.text);
	rule.host = rule.host ? rf_arena_copy(arena, rule.host) : NULL;
	rule.path = rule.path ? rf_arena_copy(arena, rule.path) : NULL;
	if (arena->has_failed)
		return rf_fail(err, -ENOMEM, "keep a rule");
	*ret_rule = rule;
	return 0;
}

static int make_rules(struct maker *m)
{
	const struct rf_list *allow = &m->policy->values[RF_KEY_NET_ALLOW].list;
	const struct rf_list *deny = &m->policy->values[RF_KEY_NET_DENY].list;
	size_t count = allow->count + deny->count;
	struct rf_net_rule *rules = rf_arena_alloc(m->arena, (count + 1) * sizeof(*rules));

	if (!rules)
		return fail_memory(m);
	for (size_t i = 0; i < count; i++) {
		bool is_deny = i >= allow->count;
		const struct rf_list_item *item =
			is_deny ? &deny->items[i - allow->count] : &allow->items[i];

		if (rf_net_rule_keep(m->arena, item->name, is_deny, &rules[i], m->err) < 0)
			return rf_fail_in(m->err, is_deny ? "network.deny" : "network.allow");
	}
	m->net->rules = rules;
	m->net->rule_count = count;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rf_net_alias *)a)->name,
		      ((const struct rf_net_alias *)b)->name);
}

static int make_aliases(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_NET_HOSTS].list;
	struct rf_net_alias *aliases =
		rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*aliases));

	if (!aliases)
		return fail_memory(m);
	for (size_t i = 0; i < list->count; i++) {
		aliases[i].name = rf_arena_copy(m->arena, list->items[i].name);
		if (!aliases[i].name)
			return fail_memory(m);
		if (rf_net_place_read(list->items[i].value, aliases[i].address, &aliases[i].port,
				      m->err) < 0)
			return rf_fail_in(m->err, "network.hosts");
	}
	qsort(aliases, list->count, sizeof(*aliases), by_name);
	m->net->aliases = aliases;
	m->net->alias_count = list->count;
	return 0;
}

static int make_publish(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_NET_PUBLISH].list;
	struct rf_net_publish *publish =
		rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*publish));

	if (!publish)
		return fail_memory(m);
	for (size_t i = 0; i < list->count; i++)
		if (rf_net_place_publish(list->items[i].name, &publish[i], m->err) < 0)
			return rf_fail_in(m->err, "network.publish");
	m->net->publish = publish;
	m->net->publish_count = list->count;
	return 0;
}

static int make_credentials(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_GRANTS].list;
	struct rf_net_credential *credentials =
		rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*credentials));

	if (!credentials)
		return fail_memory(m);
	for (size_t i = 0; i < list->count; i++)
		if (rf_net_credential_make(m->arena, list->items[i].name, list->items[i].value,
					   &credentials[i], m->err) < 0)
			return rf_fail_in(m->err, "credentials.%s", list->items[i].name);
	m->net->credentials = credentials;
	m->net->credential_count = list->count;
	return 0;
}

static int copy_names(struct maker *m, enum rf_key key, const char *const **ret_names,
		      size_t *ret_count)
{
	const struct rf_list *list = &m->policy->values[key].list;
	const char **names = rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*names));

	if (!names)
		return fail_memory(m);
	for (size_t i = 0; i < list->count; i++) {
		names[i] = rf_arena_copy(m->arena, list->items[i].name);
		if (!names[i])
			return fail_memory(m);
	}
	*ret_names = names;
	*ret_count = list->count;
	return 0;
}

static void make_limits(struct maker *m)
{
	uint64_t *limits = m->net->limits;

	for (int i = 0; i < RF_NET_LIMIT_COUNT; i++)
		limits[i] = rf_key_number(m->policy, (enum rf_key)(RF_KEY_NET_LIMIT + i));
	for (int i = RF_NET_BANDWIDTH_UP; i <= RF_NET_BANDWIDTH_DOWN; i++)
		if (limits[i] > limits[RF_NET_BANDWIDTH])
			limits[i] = limits[RF_NET_BANDWIDTH];
}

static int make(struct maker *m)
{
	m->net = rf_arena_alloc(m->arena, sizeof(*m->net));
	if (!m->net)
		return fail_memory(m);
	m->net->memory = m->arena;
	m->net->link = (enum rf_link)m->policy->values[RF_KEY_LINK].number;
	m->net->mode = (enum rf_net_mode)m->policy->values[RF_KEY_NET_MODE].number;
	make_limits(m);
	if (make_rules(m) < 0 || make_aliases(m) < 0 || make_publish(m) < 0 ||
	    make_credentials(m) < 0 ||
	    copy_names(m, RF_KEY_NET_MASK, &m->net->masks, &m->net->mask_count) < 0 ||
	    copy_names(m, RF_KEY_NET_ROOTS, &m->net->roots, &m->net->root_count) < 0)
		return m->err->code;
	m->net->index = rf_net_index_make(m->arena, m->net);
	if (!m->net->index)
		return fail_memory(m);
	m->net->filters_answers =
		m->policy->values[RF_KEY_NET_FILTER].number == (uint64_t)RF_SWITCH_ON;
	m->net->holds_writes =
		m->policy->values[RF_KEY_NET_WRITES].number == (uint64_t)RF_NET_WRITES_HOLD;
	m->net->looks_everywhere = m->net->holds_writes;
	m->net->needs_tls = m->net->index->inside.rules[0] != NULL || m->net->filters_answers ||
			    m->net->mask_count > 0 || m->net->holds_writes;
	return 0;
}

int rf_net_make(const struct rf_policy *policy, struct rf_net **ret_net, struct rf_err *err)
{
	struct maker m = { .policy = policy, .arena = rf_arena_new(), .err = err };

	if (!m.arena)
		return fail_memory(&m);
	if (make(&m) < 0) {
		rf_arena_free(m.arena);
		return err->code;
	}
	*ret_net = m.net;
	return 0;
}

void rf_net_free(struct rf_net *net)
{
	if (net)
		rf_arena_free(net->memory);
}

/* --- Asking --- */

static struct rf_net_verdict denied(const struct rf_net_rule *rule, const char *reason)
{
	return (struct rf_net_verdict){ false, false, rule, reason };
}

static struct rf_net_verdict allowed(const struct rf_net_rule *rule)
{
	return (struct rf_net_verdict){ true, false, rule, "a rule allows it" };
}

/* What no rule allows. */
static struct rf_net_verdict by_mode(const struct rf_net *net, const char *reason)
{
	if (net->mode == RF_NET_ENFORCE)
		return denied(NULL, reason);
	return (struct rf_net_verdict){ true, net->mode == RF_NET_REPORT, NULL, reason };
}

/*
 * The first rule in a table by hosts that denies, or if none does, that allows; or NULL.  `is_raw`: of those that allow, only
 * one that lets pass what is neither HTTP nor TLS.
 */
static const struct rf_net_rule *first_with(const struct rf_net_runs *runs,
					    const struct rf_net_trail *trail,
					    const struct rf_host *host, uint16_t port, bool is_raw)
{
	const struct rf_net_rule *found = NULL;

	for (unsigned i = 0; i < trail->count; i++) {
		struct rf_net_run run = rf_net_index_find(runs, trail->hashes[i]);

		for (uint32_t j = 0; j < run.count; j++) {
			const struct rf_net_rule *rule = runs->rules[run.first + j];

			if ((found && !rule->is_deny) || !rf_net_rule_has_host(rule, host) ||
			    !rf_net_rule_has_port(rule, port))
				continue;
			if (is_raw && !rule->is_deny && !rf_net_rule_has_raw(rule, port))
				continue;
			/* Who asks for any port is not refused by a rule about some. */
			if (rule->is_deny && port == 0 &&
			    (rule->ports[0].first != 1 || rule->ports[0].last != UINT16_MAX))
				continue;
			found = rule;
			if (rule->is_deny)
				return found;
		}
	}
	return found;
}

static const struct rf_net_rule *first_of(const struct rf_net_runs *runs,
					  const struct rf_net_trail *trail,
					  const struct rf_host *host, uint16_t port)
{
	return first_with(runs, trail, host, port, false);
}

struct rf_net_verdict rf_net_judge_host(const struct rf_net *net, const struct rf_host *host,
					uint16_t port)
{
	const struct rf_net_rule *rule;
	struct rf_net_trail trail;

	rf_net_index_trail(net->index, host, &trail);
	rule = first_of(&net->index->hosts, &trail, host, port);
	if (!rule)
		return by_mode(net, host->kind == RF_HOST_NAME ? "no rule allows this host"
							       : "no rule allows this address");
	return rule->is_deny ? denied(rule, "a rule denies this host") : allowed(rule);
}

struct rf_net_verdict rf_net_judge_raw(const struct rf_net *net, const struct rf_host *host,
				       uint16_t port)
{
	struct rf_net_verdict whole = rf_net_judge_host(net, host, port);
	const struct rf_net_rule *rule;
	struct rf_net_trail trail;

	/* Refused anyway, or by the mode alone. */
	if (!whole.is_allowed || !whole.rule)
		return whole;
	rf_net_index_trail(net->index, host, &trail);
	rule = first_with(&net->index->hosts, &trail, host, port, true);
	if (!rule)
		return by_mode(net, "rules allow HTTP and TLS there, and this is neither");
	return allowed(rule);
}

struct rf_net_verdict rf_net_judge_address(const struct rf_net *net, const uint8_t address[16],
					   uint16_t port)
{
	struct rf_host host = { .kind = RF_HOST_IPV6 };
	const struct rf_net_rule *rule;
	struct rf_net_trail trail;

	memcpy(host.address, address, sizeof(host.address));
	rf_net_index_trail(net->index, &host, &trail);
	rule = first_of(&net->index->hosts, &trail, &host, port);
	if (!rule)
		return denied(NULL, "no rule names this address");
	return rule->is_deny ? denied(rule, "a rule denies this address") : allowed(rule);
}

static bool is_denied(const struct rf_net_verdict *verdict)
{
	return verdict->rule && verdict->rule->is_deny;
}

struct rf_net_verdict rf_net_judge_dial(const struct rf_net *net, const struct rf_address *address,
					uint16_t port, bool is_alias, bool is_own)
{
	struct rf_net_verdict verdict = rf_net_judge_address(net, address->octets, port), inner;
	enum rf_address_kind kind = rf_address_kind(address);
	struct rf_address within;

	/* What denies an address denies every way to it. */
	if (!is_denied(&verdict) && rf_address_within(address, &within)) {
		inner = rf_net_judge_address(net, within.octets, port);
		if (is_denied(&inner))
			verdict = inner;
	}
	if (is_denied(&verdict))
		return verdict;
	if (!is_alias && is_own && kind == RF_ADDRESS_PUBLIC)
		return denied(NULL, "an address of this machine");
	/* Of several rules the narrowest was found: if that one does not name it, none does. */
	if (!is_alias && !rf_address_is_granted(verdict.rule ? verdict.rule->bits : 0,
						address->octets, RF_ADDRESS_BITS))
		return denied(NULL, rf_address_words(kind));
	return allowed(verdict.rule);
}

/* Rules about paths of this host and port deny what can be read in different ways. */
static const struct rf_net_rule *odd_deny(const struct rf_net *net,
					  const struct rf_net_trail *trail,
					  const struct rf_host *host, uint16_t port)
{
	const struct rf_net_runs *runs = &net->index->inside;

	for (unsigned i = 0; i < trail->count; i++) {
		struct rf_net_run run = rf_net_index_find(runs, trail->hashes[i]);

		for (uint32_t j = 0; j < run.count; j++) {
			const struct rf_net_rule *rule = runs->rules[run.first + j];

			if (rule->is_deny && rule->path && rf_net_rule_has_host(rule, host) &&
			    rf_net_rule_has_port(rule, port))
				return rule;
		}
	}
	return NULL;
}

struct request {
	const struct rf_host *host;
	uint16_t port;
	uint32_t method;
	const struct rf_url_path *path;
};

static bool matches(const struct rf_net_rule *rule, const struct request *request)
{
	return rf_net_rule_has_method(rule, request->method) &&
	       rf_net_rule_has_port(rule, request->port) &&
	       rf_net_rule_has_host(rule, request->host) &&
	       (!rule->path ||
		(!request->path->odd && rf_net_path_match(rule->path, request->path->text)));
}

/* As first_of(), for a whole request. */
static const struct rf_net_rule *
first_for(const struct rf_net *net, const struct rf_net_trail *trail, const struct request *request)
{
	const struct rf_net_runs *runs = &net->index->paths;
	const struct rf_net_rule *found = NULL;
	uint64_t hashes[RF_NET_DEPTH + 2];
	unsigned count = rf_net_index_path(net->index, request->path->text, hashes);

	for (unsigned i = 0; i < trail->count; i++) {
		for (unsigned k = 0; k < count; k++) {
			struct rf_net_run run = rf_net_index_find(
				runs, rf_net_index_with(trail->hashes[i], hashes[k]));

			for (uint32_t j = 0; j < run.count; j++) {
				const struct rf_net_rule *rule = runs->rules[run.first + j];

				if ((found && !rule->is_deny) || !matches(rule, request))
					continue;
				found = rule;
				if (rule->is_deny)
					return found;
			}
		}
	}
	return found;
}

struct rf_net_verdict rf_net_judge_request(const struct rf_net *net, const struct rf_host *host,
					   uint16_t port, struct rf_span method,
					   const struct rf_url_path *path)
{
	struct request request = { host, port, rf_net_method_bit(method), path };
	const struct rf_net_rule *rule;
	struct rf_net_trail trail;

	rf_net_index_trail(net->index, host, &trail);
	rule = path->odd ? odd_deny(net, &trail, host, port) : NULL;
	if (rule)
		return denied(rule, "servers read this path in different ways, and a rule is about "
				    "paths here");
	rule = first_for(net, &trail, &request);
	if (rule)
		return rule->is_deny ? denied(rule, "a rule denies this request") : allowed(rule);
	rule = first_of(&net->index->hosts, &trail, host, port);
	if (rule && rule->is_deny) /* can't be, but for a method that no rule can name */
		return denied(rule, "a rule denies this host");
	if (rule && path->odd)
		return by_mode(net, "servers read this path in different ways, and rules are about "
				    "paths here");
	return by_mode(net, rule                         ? "no rule allows this method and path"
			    : host->kind == RF_HOST_NAME ? "no rule allows this host"
							 : "no rule allows this address");
}

bool rf_net_looks_inside(const struct rf_net *net, const struct rf_host *host, uint16_t port)
{
	struct rf_net_trail trail;

	if (net->looks_everywhere || net->filters_answers || net->mask_count > 0)
		return true;
	rf_net_index_trail(net->index, host, &trail);
	return first_of(&net->index->inside, &trail, host, port) != NULL;
}

bool rf_net_is_bound(const struct rf_net *net, const struct rf_net_credential *credential,
		     const struct rf_net_verdict *verdict, const struct rf_host *host,
		     uint16_t port, struct rf_span method, const struct rf_url_path *path)
{
	struct request request = { host, port, rf_net_method_bit(method), path };

	if (net->mode == RF_NET_OPEN || !verdict->is_allowed || verdict->is_reported ||
	    !verdict->rule)
		return false;
	for (size_t i = 0; i < credential->rule_count; i++)
		if (matches(&credential->rules[i], &request))
			return true;
	return false;
}

const struct rf_net_alias *rf_net_alias_of(const struct rf_net *net, const struct rf_host *host)
{
	struct rf_net_alias key = { .name = host->text };

	if (host->kind != RF_HOST_NAME)
		return NULL;
	return bsearch(&key, net->aliases, net->alias_count, sizeof(key), by_name);
}
