/*
 * What either of two policies refuses alone, their meet refuses: src/policy/meet.c.
 *
 * Random pairs are asked of the deciders that really run: the plan of a box, the gateway's judge of
 * hosts, requests, addresses and credentials.  A pair is made from a number of its own, which a failure
 * prints: RF_SEED=NUMBER RF_PAIRS=1 makes that one again.  RF_PAIRS is how many there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "harness.h"
#include "policy-generator.h"
#include "policy/key.h"
#include "policy/plan.h"
#include "policy/view.h"

#ifdef __SANITIZE_ADDRESS__
#define PAIRS 2000
#else
#define PAIRS 20000
#endif
#define QUESTIONS 24 /* about the network, of each pair */
#define TRIES     50 /* until a policy is found that could run by itself */

/* A policy with what is made of it. */
struct side {
	struct rf_policy *policy;
	struct rf_plan *plan;
};

struct pair {
	uint64_t seed;
	struct side ceiling, request, met; /* met.plan: NULL where nothing can be run */
};

static unsigned pair_count(void)
{
	const char *given = getenv("RF_PAIRS");

	return given ? (unsigned)strtoul(given, NULL, 10) : PAIRS;
}

/* What the two sides are, for a failure's message. */
static void print_pair(const struct pair *pair)
{
	const struct side *sides[] = { &pair->ceiling, &pair->request, &pair->met };
	static const char *const titles[] = { "ceiling", "request", "meet" };

	for (size_t i = 0; i < RF_LEN(sides); i++) {
		struct rf_buf buf;
		char *text, *line, *rest;

		rf_buf_init(&buf, RF_MAX_POLICY_BYTES);
		rf_policy_format(sides[i]->policy, &buf);
		text = rest = rf_buf_take(&buf);
		printf("# %s:\n", titles[i]);
		while (rest && (line = strsep(&rest, "\n")) && (*line || rest))
			printf("#   %s\n", line);
		free(text);
	}
}

/* Fails with the pair's number; what the sides are is printed once. */
#define EXPECT(pair, cond, format, ...)                                                            \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_pair(pair);                                                          \
			RF_REQUIRE(cond, "RF_SEED=%llu RF_PAIRS=1: " format,                       \
				   (unsigned long long)(pair)->seed, __VA_ARGS__);                 \
		}                                                                                  \
	} while (0)

static int plan_of(struct side *side, struct rf_err *err)
{
	static char a[] = "A=caller", b[] = "B=caller", c[] = "C=caller", program[] = "git";
	static char *env[] = { a, b, c, NULL }, *argv[] = { program, NULL };
	static const struct rf_facts facts = {
		.uid = 1000, .gid = 1000, .cwd = "/w", .home = "/home/u", .env = env, .argv = argv
	};

	return rf_plan_make(side->policy, &facts, &side->plan, err);
}

static void free_side(struct side *side)
{
	rf_plan_free(side->plan);
	rf_policy_free(side->policy);
	*side = (struct side){ 0 };
}

/* A side could run by itself, and so refuses what its plan refuses. */
static void make_side(struct rf_generator *g, struct side *side)
{
	struct rf_err err = RF_ERR_INIT;

	for (int i = 0; i < TRIES; i++) {
		side->policy = rf_generator_policy(g);
		RF_REQUIRE(side->policy, "no memory");
		err = RF_ERR_INIT;
		if (plan_of(side, &err) == 0)
			return;
		free_side(side);
	}
	RF_REQUIRE(false, "no policy that could run: %s", err.msg);
}

/* --- Files --- */

/* What a plan shows at a path of the box, of the host; false if it shows nothing of the host there. */
static bool find_shown(const struct rf_plan *plan, const char *path, char source[64],
		       unsigned *ret_rights)
{
	const struct rf_place *place = rf_view_place(plan, path);

	if (!place || place->kind != RF_PLACE_HOST)
		return false;
	snprintf(source, 64, "%s%s", place->source, path + strlen(place->path));
	for (size_t i = 0; i < plan->deny_count; i++)
		if (rf_pattern_covers(&plan->deny[i], source))
			return false;
	*ret_rights = place->rights & (RF_RIGHT_READ | RF_RIGHT_WRITE);
	return true;
}

static void check_files(const struct pair *pair, const struct side *side)
{
	for (const char *const *path = rf_generator_paths; *path; path++) {
		char met[64], own[64] = "nothing";
		unsigned most = 0, rights = 0;

		if (!find_shown(pair->met.plan, *path, met, &most))
			continue;
		EXPECT(pair,
		       find_shown(side->plan, *path, own, &rights) && strcmp(met, own) == 0 &&
			       (most & ~rights) == 0,
		       "%s shows %s (%u), alone %s (%u)", *path, met, most, own, rights);
	}
	EXPECT(pair, pair->met.plan->hides_credentials || !side->plan->hides_credentials, "%s",
	       "credential files show");
}

/* --- Variables and programs --- */

static bool is_on_list(char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static const char *variable_of(const struct rf_plan *plan, const char *name)
{
	size_t len = strlen(name);

	for (char *const *at = plan->env; *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

/* A side that passes a variable lets it have any content. */
static void check_variables(const struct pair *pair, const struct side *side)
{
	for (const char *const *name = rf_generator_variables; *name; name++) {
		const char *met = variable_of(pair->met.plan, *name);
		const char *own = variable_of(side->plan, *name);
		bool is_passed = own && strcmp(own, "caller") == 0;

		EXPECT(pair, !met || is_passed || (own && strcmp(own, met) == 0),
		       "%s is %s, alone %s", *name, met, own ? own : "not there");
	}
}

static void check_programs(const struct pair *pair, const struct side *side)
{
	for (const char *const *name = rf_generator_programs; *name; name++)
		EXPECT(pair,
		       !side->plan->commands || is_on_list(side->plan->commands, *name) ||
			       (pair->met.plan->commands &&
				!is_on_list(pair->met.plan->commands, *name)),
		       "%s can be run", *name);
}

/* --- Figures, choices and lists of which one more is stricter --- */

static void check_strictness(const struct pair *pair, const struct side *side)
{
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	const struct rf_plan *met = pair->met.plan, *own = side->plan;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(whole && rf_policy_merge(whole, side->policy, &err) == 0, "%s", err.msg);
	for (int k = 0; k < RF_KEY_COUNT; k++)
		/* Beside the host's network there is no gateway that could keep a figure. */
		if (rf_key_table[k].strict <= RF_KEY_STRICT_MORE && k != RF_KEY_NET_MODE)
			EXPECT(pair,
			       rf_key_is_as_strict((enum rf_key)k,
						   rf_key_number(pair->met.policy, (enum rf_key)k),
						   rf_key_number(whole, (enum rf_key)k)),
			       "%s is looser", rf_key_table[k].path);
	rf_policy_free(whole);
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		EXPECT(pair, met->limits[i] <= own->limits[i], "limits.%s is more",
		       rf_limit_table[i].key);
	EXPECT(pair,
	       met->link <= own->link && met->has_unix <= own->has_unix &&
		       met->has_loopback <= own->has_loopback,
	       "%s", "the network's link, loopback or unix");
	EXPECT(pair, met->keeps_attributes <= own->keeps_attributes, "%s", "files.attributes");
	EXPECT(pair, met->may_be_weaker <= own->may_be_weaker && met->needs_hard >= own->needs_hard,
	       "%s", "weaker, or limits.require");
	EXPECT(pair,
	       met->syscalls >= own->syscalls && met->isolation >= own->isolation &&
		       met->recorded >= own->recorded && met->needs_watch >= own->needs_watch,
	       "%s", "syscalls, isolation, audit or a watcher");
	for (char *const *at = own->seccomp; at && *at; at++)
		EXPECT(pair, is_on_list(met->seccomp, *at), "%s does not apply", *at);
	for (char *const *at = own->canaries; at && *at; at++)
		EXPECT(pair, is_on_list(met->canaries, *at), "%s is not planted", *at);
	if (side == &pair->ceiling && own->agent)
		EXPECT(pair, met->agent && strcmp(met->agent, own->agent) == 0, "agent %s",
		       met->agent);
}

/* --- The network --- */

/* False if a name of a plan's own leads to another address or port. */
static bool leads_to(const struct rf_net *net, const struct rf_generator_question *q,
		     const struct rf_address *address, uint16_t dialled)
{
	const struct rf_net_alias *alias = rf_net_alias_of(net, &q->host);

	return !alias || (memcmp(alias->address, address->octets, sizeof(address->octets)) == 0 &&
			  (alias->port ? alias->port : q->port) == dialled);
}

/*
 * Whether the gateway lets a request pass and dials, as src/gateway does.  `address` is where a name
 * leads, `is_alias` because `network.hosts` says so.
 */
static bool passes(const struct rf_plan *plan, const struct rf_generator_question *q,
		   const struct rf_url_path *path, const struct rf_address *address,
		   uint16_t dialled, bool is_alias, struct rf_net_verdict *ret_verdict)
{
	*ret_verdict = (struct rf_net_verdict){ .is_allowed = plan->link == RF_LINK_HOST };
	if (plan->link != RF_LINK_GATEWAY || !plan->net)
		return plan->link == RF_LINK_HOST;
	if (!rf_net_judge_host(plan->net, &q->host, q->port).is_allowed ||
	    !leads_to(plan->net, q, address, dialled))
		return false;
	*ret_verdict =
		rf_net_judge_request(plan->net, &q->host, q->port, rf_span_of(q->method), path);
	/* What need not be looked into is joined as it is. */
	if (!ret_verdict->is_allowed && rf_net_looks_inside(plan->net, &q->host, q->port))
		return false;
	return rf_net_judge_dial(plan->net, address, dialled, is_alias, q->is_own).is_allowed;
}

/*
 * Whether bytes that are neither HTTP nor TLS pass, as src/gateway lets them.  A side may read requests
 * for a credential that is gone from the meet, or for a rule that refuses nothing in its mode: then its
 * rules alone are asked.
 */
static bool passes_raw(const struct rf_plan *plan, const struct rf_generator_question *q,
		       const struct rf_address *address, uint16_t dialled, bool is_alias,
		       bool is_met)
{
	const struct rf_net *net = plan->net;
	bool must_read;

	if (plan->link != RF_LINK_GATEWAY || !net)
		return plan->link == RF_LINK_HOST;
	must_read = rf_net_looks_inside(net, &q->host, q->port) &&
		    (is_met || (net->mode == RF_NET_ENFORCE && net->credential_count == 0));
	return !must_read && rf_net_judge_raw(net, &q->host, q->port).is_allowed &&
	       rf_net_judge_dial(net, address, dialled, is_alias, q->is_own).is_allowed;
}

static const struct rf_net_credential *credential_of(const struct rf_plan *plan, const char *name)
{
	for (size_t i = 0; plan->net && i < plan->net->credential_count; i++)
		if (strcmp(plan->net->credentials[i].name, name) == 0)
			return &plan->net->credentials[i];
	return NULL;
}

/* What the meet adds to a request, the side adds to it. */
static void check_credentials(const struct pair *pair, const struct side *side,
			      const struct rf_generator_question *q, const struct rf_url_path *path,
			      const struct rf_net_verdict *met, const struct rf_net_verdict *own)
{
	const struct rf_net *net = pair->met.plan->net;

	for (size_t i = 0; net && i < net->credential_count; i++) {
		const struct rf_net_credential *mine = &net->credentials[i];
		const struct rf_net_credential *theirs = credential_of(side->plan, mine->name);

		if (!rf_net_is_bound(net, mine, met, &q->host, q->port, rf_span_of(q->method),
				     path))
			continue;
		EXPECT(pair,
		       theirs && theirs->from == mine->from &&
			       strcmp(theirs->source, mine->source) == 0 &&
			       rf_net_is_bound(side->plan->net, theirs, own, &q->host, q->port,
					       rf_span_of(q->method), path),
		       "credential %s is added to %s %s:%u%s", mine->name, q->method, q->host.text,
		       q->port, q->path);
	}
}

/*
 * One question: what passes the meet passes both sides.  Where a name leads is the ceiling's word, so the
 * request is asked about the address that the meet dials, which is not that of another name of its own.
 * True if it passes; adds to `*ret_raw` if other bytes than HTTP and TLS do.
 */
static bool check_question(const struct pair *pair, const struct rf_generator_question *q,
			   unsigned *ret_raw)
{
	const struct side *sides[] = { &pair->ceiling, &pair->request };
	const struct rf_plan *met = pair->met.plan;
	const struct rf_net_alias *alias = met->net ? rf_net_alias_of(met->net, &q->host) : NULL;
	struct rf_address address = q->resolved;
	struct rf_net_verdict verdict, alone;
	uint16_t dialled = q->port;
	struct rf_url_path path;
	char room[RF_URL_PATH_ROOM(64)], text[RF_ADDRESS_TEXT];

	RF_REQUIRE(rf_url_path_read(rf_span_of(q->path), room, sizeof(room), &path) ==
			   RF_FAULT_NONE,
		   "%s", q->path);
	if (alias) {
		memcpy(address.octets, alias->address, sizeof(address.octets));
		dialled = alias->port ? alias->port : q->port;
	}
	rf_address_format(&address, text);
	if (passes_raw(met, q, &address, dialled, alias, true)) {
		(*ret_raw)++;
		for (size_t i = 0; i < RF_LEN(sides); i++)
			EXPECT(pair, passes_raw(sides[i]->plan, q, &address, dialled, alias, false),
			       "TCP %s:%u at %s%s passes", q->host.text, q->port, text,
			       q->is_own ? ", this machine's," : "");
	}
	if (!passes(met, q, &path, &address, dialled, alias, &verdict))
		return false;
	for (size_t i = 0; i < RF_LEN(sides); i++) {
		EXPECT(pair, passes(sides[i]->plan, q, &path, &address, dialled, alias, &alone),
		       "%s %s:%u%s at %s%s passes", q->method, q->host.text, q->port, q->path, text,
		       q->is_own ? ", this machine's," : "");
		check_credentials(pair, sides[i], q, &path, &verdict, &alone);
	}
	return true;
}

/* An alias of the meet is the ceiling's; where the ceiling has another network than a gateway, there is none. */
static void check_aliases(const struct pair *pair)
{
	const struct rf_net *net = pair->met.plan->net, *own = pair->ceiling.plan->net;

	for (size_t i = 0; net && i < net->alias_count; i++) {
		struct rf_host host;
		const struct rf_net_alias *alias;

		RF_REQUIRE(!rf_host_parse(rf_span_of(net->aliases[i].name), &host), "a name");
		alias = own ? rf_net_alias_of(own, &host) : NULL;
		EXPECT(pair,
		       alias && memcmp(alias->address, net->aliases[i].address, 16) == 0 &&
			       alias->port == net->aliases[i].port,
		       "%s leads elsewhere", net->aliases[i].name);
	}
}

static bool publishes(const struct rf_net *net, const struct rf_net_publish *publish)
{
	for (size_t i = 0; net && i < net->publish_count; i++)
		if (memcmp(&net->publish[i], publish, sizeof(*publish)) == 0)
			return true;
	return false;
}

static bool has_text(const char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

static void check_network(const struct pair *pair, const struct side *side)
{
	const struct rf_net *met = pair->met.plan->net, *own = side->plan->net;

	if (pair->met.plan->link != RF_LINK_GATEWAY || !met)
		return;
	for (size_t i = 0; i < met->publish_count; i++)
		EXPECT(pair, publishes(own, &met->publish[i]), "port %u is published",
		       met->publish[i].port);
	for (size_t i = 0; i < met->root_count; i++)
		EXPECT(pair, own && has_text(own->roots, own->root_count, met->roots[i]),
		       "%s is trusted", met->roots[i]);
	if (!own)
		return;
	for (size_t i = 0; i < own->mask_count; i++)
		EXPECT(pair, has_text(met->masks, met->mask_count, own->masks[i]),
		       "%s is not masked", own->masks[i]);
	EXPECT(pair,
	       met->mode <= own->mode && met->filters_answers >= own->filters_answers &&
		       met->holds_writes >= own->holds_writes,
	       "%s", "mode, filter or writes");
	for (int i = 0; i < RF_NET_LIMIT_COUNT; i++)
		EXPECT(pair,
		       rf_limit_is_within(&rf_net_limit_table[i], met->limits[i], own->limits[i]),
		       "network.%s is more", rf_net_limit_table[i].key);
	for (size_t i = 0; i < met->credential_count; i++) {
		const struct rf_net_credential *mine = &met->credentials[i];
		const struct rf_net_credential *theirs = credential_of(side->plan, mine->name);

		EXPECT(pair,
		       theirs && mine->budget <= theirs->budget && mine->cost >= theirs->cost &&
			       mine->money <= theirs->money,
		       "credential %s: its budget", mine->name);
	}
}

/* --- The whole --- */

/* What is left of what both allow, so that no meet is sound by allowing nothing. */
struct sums {
	unsigned pairs, plans, asked, passed, raw;
};

static void check_pair(struct pair *pair, struct rf_generator *g, struct sums *sums)
{
	const struct side *sides[] = { &pair->ceiling, &pair->request };
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_meet(pair->ceiling.policy, pair->request.policy, &pair->met.policy,
				  &err) == 0,
		   "RF_SEED=%llu: %s", (unsigned long long)pair->seed, err.msg);
	sums->pairs++;
	if (plan_of(&pair->met, &err) < 0) /* as an empty list of programs: nothing is run at all */
		return;
	sums->plans++;
	check_aliases(pair);
	for (size_t i = 0; i < RF_LEN(sides); i++) {
		check_files(pair, sides[i]);
		check_variables(pair, sides[i]);
		check_programs(pair, sides[i]);
		check_strictness(pair, sides[i]);
		check_network(pair, sides[i]);
	}
	for (int i = 0; i < QUESTIONS; i++) {
		struct rf_generator_question q;

		rf_generator_ask(g, &q);
		sums->passed += check_question(pair, &q, &sums->raw);
		sums->asked++;
	}
}

static uint64_t seed; /* of the first pair */

static void test_pairs(const void *arg)
{
	unsigned count = pair_count();
	struct sums sums = { 0 };

	(void)arg;
	for (unsigned i = 0; i < count; i++) {
		struct rf_generator g = { (seed + i) * 0x9e3779b97f4a7c15ULL };
		struct pair pair = { .seed = seed + i };

		make_side(&g, &pair.ceiling);
		make_side(&g, &pair.request);
		check_pair(&pair, &g, &sums);
		free_side(&pair.ceiling);
		free_side(&pair.request);
		free_side(&pair.met);
	}
	if (count < 100)
		return;
	/* Sound, and not by allowing nothing. */
	RF_CHECK(sums.plans * 10 >= sums.pairs * 8, "%u of %u can run", sums.plans, sums.pairs);
	RF_CHECK(sums.passed * 50 >= sums.asked, "%u of %u pass", sums.passed, sums.asked);
	RF_CHECK(sums.raw * 100 >= sums.asked, "TCP: %u of %u pass", sums.raw, sums.asked);
}

/* The start is chosen here, in the harness's process, so that it is printed whatever comes of the test. */
__attribute__((constructor)) static void add_pairs(void)
{
	const char *given = getenv("RF_SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000000;
	fprintf(stderr, "meet of %u pairs of policies, from RF_SEED=%llu\n", pair_count(),
		(unsigned long long)seed);
	rf_harness_add(__FILE__, "what_either_side_refuses_alone_the_meet_refuses", test_pairs,
		       NULL, 60 + pair_count() / 200);
}

RF_TEST(every_key_of_the_language_has_a_row_in_the_generator)
{
	RF_CHECK(!rf_generator_missing(), "%s has no row in policy-generator.c",
		 rf_generator_missing());
}
