/*
 * What two rules about the network have in common.
 *
 * Of hosts, addresses, ports, methods and TCP that is exact.  Of two paths with stars it is exact where each part of one is
 * within the other's, which is how people write them; where it could not be written as one pattern, it is nothing: the
 * result may allow less than both, and never more than either.
 *
 * Of addresses that are not public the narrower rule is not the answer: 0.0.0.0/0 means the Internet, and a request's
 * 127.0.0.1 beneath it would be taken for the operator's word by the gateway.  So the narrower rule is kept only if the
 * wider one names the same space, by the function that the gateway asks (http/address.h).  A prefix that straddles public
 * and other space names nothing, here and there: it grants its public addresses alone and is kept as it is written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "http/address.h"
#include "policy/key.h"
#include "policy/net-place.h"

/* True if `name` ends in `.above`. */
static bool is_below(const char *name, const char *above)
{
	size_t len = strlen(name), tail = strlen(above);

	return len > tail && name[len - tail - 1] == '.' && strcmp(name + len - tail, above) == 0;
}

/* The lesser of two sorts of hosts goes into `out`.  False if they have none in common. */
static bool meet_hosts(const struct rf_net_rule *a, const struct rf_net_rule *b,
		       struct rf_net_rule *out)
{
	const struct rf_net_rule *deep = a, *high = b;

	if (a->who == RF_NET_ANY || b->who == RF_NET_ANY) {
		deep = a->who == RF_NET_ANY ? b : a;
		out->who = deep->who;
		out->host = deep->host;
		return true;
	}
	if (strcmp(a->host, b->host) == 0) {
		bool has_apex = a->who != RF_NET_BELOW && b->who != RF_NET_BELOW;
		bool has_below = a->who != RF_NET_NAME && b->who != RF_NET_NAME;

		out->host = a->host;
		out->who = has_apex ? (has_below ? RF_NET_TREE : RF_NET_NAME) : RF_NET_BELOW;
		return has_apex || has_below;
	}
	if (is_below(b->host, a->host)) {
		deep = b;
		high = a;
	}
	if (!is_below(deep->host, high->host) || high->who == RF_NET_NAME)
		return false;
	out->who = deep->who;
	out->host = deep->host;
	return true;
}

/* A rule that denies does so whatever the kind of an address. */
static bool meet_addresses(const struct rf_net_rule *a, const struct rf_net_rule *b,
			   struct rf_net_rule *out)
{
	const struct rf_net_rule *narrow = a->bits >= b->bits ? a : b, *wide = narrow == a ? b : a;

	if (!rf_net_rule_has_address(wide, narrow->address))
		return false;
	if (!wide->is_deny && !rf_address_is_granted(wide->bits, narrow->address, narrow->bits))
		return false;
	out->who = RF_NET_CIDR;
	memcpy(out->address, narrow->address, sizeof(out->address));
	out->bits = narrow->bits;
	return true;
}

static uint16_t least(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static size_t meet_ports(const struct rf_net_rule *a, const struct rf_net_rule *b,
			 struct rf_net_ports *ports)
{
	size_t count = 0;

	for (uint8_t i = 0; i < a->port_count; i++)
		for (uint8_t j = 0; j < b->port_count; j++) {
			const struct rf_net_ports *x = &a->ports[i], *y = &b->ports[j];
			uint16_t first = x->first > y->first ? x->first : y->first;
			uint16_t last = least(x->last, y->last);

			if (first <= last)
				ports[count++] = (struct rf_net_ports){ first, last };
		}
	return count;
}

/* --- Paths --- */

static struct rf_span part_of(const char *path)
{
	return (struct rf_span){ path + 1, strcspn(path + 1, "/") };
}

static bool is_tree(struct rf_span part)
{
	return rf_span_is(part, RF_SPAN("**"));
}

/* True if whatever `inner` matches within a part, `outer` matches: its stars are taken for letters that only a star takes. */
static bool covers_part(struct rf_span outer, struct rf_span inner)
{
	size_t p = 0, at = 0, star = SIZE_MAX, star_at = 0;

	for (;;) {
		if (p < outer.len && outer.at[p] == '*') {
			star = ++p;
			star_at = at;
		} else if (p < outer.len && at < inner.len && inner.at[at] != '*' &&
			   outer.at[p] == inner.at[at]) {
			p++;
			at++;
		} else if (p == outer.len && at == inner.len) {
			return true;
		} else if (star != SIZE_MAX && star_at < inner.len) {
			p = star;
			at = ++star_at;
		} else {
			return false;
		}
	}
}

/*
 * Walks two patterns part by part and writes what both match; `**` only as the last part of either.  Without one
 * pattern the other is the answer.  False if there is nothing, or nothing that could be written.
 */
static bool meet_paths(const char *a, const char *b, char path[RF_NET_PATH])
{
	size_t len = 0;

	/* A path without stars is in the other or not, whatever that has. */
	for (int i = 0; i < 2; i++) {
		const char *plain = i ? a : b, *other = i ? b : a;

		if (strchr(plain, '*'))
			continue;
		memcpy(path, plain, strlen(plain) + 1);
		return rf_net_path_match(other, rf_span_of(plain));
	}
	for (;;) {
		struct rf_span x = part_of(a), y = part_of(b), less;
		bool is_last_a = !x.at[x.len], is_last_b = !y.at[y.len];
		const char *rest = NULL;

		if (is_tree(x) && is_last_a)
			rest = b;
		else if (is_tree(y) && is_last_b)
			rest = a;
		if (rest) {
			if (len + strlen(rest) >= RF_NET_PATH)
				return false;
			memcpy(path + len, rest, strlen(rest) + 1);
			return true;
		}
		if (is_tree(x) || is_tree(y) || is_last_a != is_last_b)
			break;
		less = covers_part(x, y) ? y : x;
		if (!covers_part(x, y) && !covers_part(y, x))
			return false;
		if (len + less.len + 2 > RF_NET_PATH)
			return false;
		path[len++] = '/';
		memcpy(path + len, less.at, less.len);
		len += less.len;
		path[len] = '\0';
		if (is_last_a)
			return true;
		a = x.at + x.len;
		b = y.at + y.len;
	}
	return false;
}

/* --- The whole --- */

size_t rf_net_rule_meet(const struct rf_net_rule *a, const struct rf_net_rule *b,
			struct rf_net_rule_room *rooms, struct rf_net_rule *rules, size_t max)
{
	struct rf_net_ports ports[RF_NET_PORTS * RF_NET_PORTS];
	struct rf_net_rule both = { .is_deny = a->is_deny && b->is_deny };
	size_t count, made = 0;
	char path[RF_NET_PATH];

	if ((a->who == RF_NET_CIDR) != (b->who == RF_NET_CIDR) ||
	    !(a->who == RF_NET_CIDR ? meet_addresses(a, b, &both) : meet_hosts(a, b, &both)))
		return 0;
	count = meet_ports(a, b, ports);
	both.methods = a->methods && b->methods ? a->methods & b->methods : a->methods | b->methods;
	if (a->methods && b->methods && !both.methods)
		return 0;
	/* One that does not say TCP allows it at ports where that is meant, and so does what is made of both. */
	both.is_tcp = a->is_tcp && b->is_tcp;
	both.path = a->path ? a->path : b->path;
	if (a->path && b->path) {
		if (strcmp(a->path, b->path) == 0) {
			both.path = a->path;
		} else {
			if (!meet_paths(a->path, b->path, path))
				return 0;
			both.path = path;
		}
	}
	for (size_t at = 0; at < count && made < max; at += both.port_count) {
		struct rf_net_rule_room *room = &rooms[made];

		both.port_count = (uint8_t)(count - at < RF_NET_PORTS ? count - at : RF_NET_PORTS);
		memset(both.ports, 0, sizeof(both.ports));
		memcpy(both.ports, ports + at, both.port_count * sizeof(ports[0]));
		if (rf_net_rule_format(&both, room->text) < 0)
			continue;
		rules[made] = both;
		rules[made].text = room->text;
		if (both.host) {
			memcpy(room->host, both.host, strlen(both.host) + 1);
			rules[made].host = room->host;
		}
		if (both.path) {
			memcpy(room->path, both.path, strlen(both.path) + 1);
			rules[made].path = room->path;
		}
		made++;
	}
	return made;
}

/* `both` is written as a rule that allows, unless both deny; so it can be compared with `inner`. */
bool rf_net_rule_covers(const struct rf_net_rule *outer, const struct rf_net_rule *inner)
{
	struct rf_net_rule_room rooms[RF_NET_MEET];
	struct rf_net_rule rules[RF_NET_MEET];

	return rf_net_rule_meet(outer, inner, rooms, rules, RF_NET_MEET) == 1 &&
	       strcmp(rules[0].text, inner->text) == 0;
}

/* The rules of a list, read; or NULL when memory is gone. */
struct read_rules {
	struct rf_arena *arena;
	struct rf_net_rule *rules;
	size_t count;
};

static bool read_all(const struct rf_list *list, bool is_deny, struct read_rules *all)
{
	struct rf_err err;

	*all = (struct read_rules){ .arena = rf_arena_new() };
	if (!all->arena)
		return false;
	all->rules = rf_arena_alloc(all->arena, (list->count + 1) * sizeof(*all->rules));
	for (size_t i = 0; all->rules && i < list->count; i++)
		if (rf_net_rule_keep(all->arena, list->items[i].name, is_deny,
				     &all->rules[all->count], &err) >= 0)
			all->count++;
	return !all->arena->has_failed;
}

bool rf_net_rules_cover(const struct rf_list *outer, const struct rf_list *inner)
{
	struct read_rules a, b = { NULL };
	bool is_covered = read_all(outer, false, &a) && read_all(inner, false, &b);

	for (size_t i = 0; is_covered && i < b.count; i++) {
		is_covered = false;
		for (size_t j = 0; j < a.count && !is_covered; j++)
			is_covered = rf_net_rule_covers(&a.rules[j], &b.rules[i]);
	}
	rf_arena_free(a.arena);
	rf_arena_free(b.arena);
	return is_covered;
}

/* Rules with addresses that lie wholly in space that is not public; of others nothing is taken. */
static bool is_public(const struct rf_net_rule *rule)
{
	return rule->who != RF_NET_CIDR || rf_address_is_granted(0, rule->address, rule->bits);
}

int rf_net_rules_public(const struct rf_list *list, struct rf_list *out)
{
	struct read_rules all;
	int r = read_all(list, false, &all) ? 0 : -ENOMEM;

	out->max = RF_MAX_NET_RULES;
	for (size_t i = 0; i < all.count && r >= 0; i++)
		if (is_public(&all.rules[i]))
			r = rf_list_unite(out, all.rules[i].text, NULL);
	rf_arena_free(all.arena);
	return r;
}

/* --- A ceiling and the rules of a request --- */

struct rf_net_ceiling {
	enum rf_net_mode mode;
	enum rf_link link;
	struct read_rules allow, deny;
};

static bool are_apart(const struct rf_net_rule *a, const struct rf_net_rule *b)
{
	struct rf_net_rule_room rooms[RF_NET_MEET];
	struct rf_net_rule rules[RF_NET_MEET], x = *a, y = *b;

	x.is_deny = y.is_deny = true; /* whether they touch, whatever the kind of an address */
	return rf_net_rule_meet(&x, &y, rooms, rules, RF_NET_MEET) == 0;
}

/* A rule that covers `piece`, which has one port, and up to which port it does so; or NULL. */
static const struct rf_net_rule *find_at(const struct read_rules *all,
					 const struct rf_net_rule *piece, uint16_t *ret_last)
{
	uint16_t port = piece->ports[0].first;

	for (size_t i = 0; i < all->count; i++)
		for (uint8_t k = 0; k < all->rules[i].port_count; k++) {
			struct rf_net_rule part;

			if (port < all->rules[i].ports[k].first ||
			    port > all->rules[i].ports[k].last)
				continue;
			part = all->rules[i];
			part.ports[0] = part.ports[k];
			part.port_count = 1;
			*ret_last = part.ports[0].last;
			if (rf_net_rule_covers(&part, piece))
				return &all->rules[i];
		}
	return NULL;
}

/* True if rules cover every port of `rule` for one of its methods (0: it names none). */
static bool covers_method(const struct read_rules *all, const struct rf_net_rule *rule,
			  uint32_t method)
{
	struct rf_net_rule piece = *rule;
	char text[RF_NET_RULE_TEXT];

	piece.methods = method;
	piece.port_count = 1;
	piece.text = text;
	for (uint8_t i = 0; i < rule->port_count; i++) {
		uint32_t port = rule->ports[i].first;

		while (port <= rule->ports[i].last) {
			uint16_t last = 0;

			piece.ports[0] = (struct rf_net_ports){ (uint16_t)port, (uint16_t)port };
			if (rf_net_rule_format(&piece, text) < 0 || !find_at(all, &piece, &last))
				return false;
			port = (uint32_t)last + 1;
		}
	}
	return true;
}

/* Several rules may cover one together: a.test:80 and a.test:443, or GET and POST. */
static bool cover_together(const struct read_rules *all, const struct rf_net_rule *rule)
{
	uint32_t left = rule->methods;

	do {
		if (!covers_method(all, rule, left & (~left + 1)))
			return false;
		left &= left - (left != 0);
	} while (left);
	return true;
}

/* What the rules of a list say of `rule`: one that covers it, or else one that touches it; or NULL. */
static const struct rf_net_rule *find_bound(const struct read_rules *all,
					    const struct rf_net_rule *rule, bool *ret_covers)
{
	const struct rf_net_rule *touches = NULL;

	*ret_covers = true;
	for (size_t i = 0; i < all->count; i++) {
		if (rf_net_rule_covers(&all->rules[i], rule))
			return &all->rules[i];
		if (!touches && !are_apart(&all->rules[i], rule))
			touches = &all->rules[i];
	}
	*ret_covers = touches && cover_together(all, rule);
	return touches;
}

static bool is_covered(const struct rf_net_ceiling *ceiling, const struct rf_net_rule *rule,
		       char bound[RF_NET_BOUND])
{
	const struct rf_net_rule *by;
	bool covers;

	if (ceiling->link == RF_LINK_NONE) {
		snprintf(bound, RF_NET_BOUND, "network.link: none");
		return false;
	}
	by = find_bound(&ceiling->deny, rule, &covers);
	if (by && covers) {
		snprintf(bound, RF_NET_BOUND, "network.deny: %s", by->text);
		return false;
	}
	if (ceiling->link == RF_LINK_HOST)
		return true;
	by = find_bound(&ceiling->allow, rule, &covers);
	if (by && covers)
		return true;
	if (ceiling->mode != RF_NET_ENFORCE && is_public(rule))
		return true;
	if (by)
		snprintf(bound, RF_NET_BOUND, "network.allow: %s", by->text);
	else if (ceiling->mode != RF_NET_ENFORCE)
		snprintf(bound, RF_NET_BOUND, "network.mode: %s",
			 ceiling->mode == RF_NET_OPEN ? "open" : "report");
	else
		snprintf(bound, RF_NET_BOUND, "network.allow");
	return false;
}

/* Leaves out of the rules that deny those that a list has, too. */
static void leave_out(struct read_rules *all, const struct rf_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		if (!rf_list_find(list, all->rules[i].text))
			all->rules[count++] = all->rules[i];
	all->count = count;
}

int rf_net_ceiling_new(const struct rf_policy *ceiling, const struct rf_policy *request,
		       struct rf_net_ceiling **ret_ceiling, struct rf_err *err)
{
	struct rf_net_ceiling *out = calloc(1, sizeof(*out));

	if (!out || !read_all(&ceiling->values[RF_KEY_NET_ALLOW].list, false, &out->allow) ||
	    !read_all(&ceiling->values[RF_KEY_NET_DENY].list, true, &out->deny)) {
		rf_net_ceiling_free(out);
		return rf_fail(err, -ENOMEM, "compare with a ceiling");
	}
	out->mode = (enum rf_net_mode)ceiling->values[RF_KEY_NET_MODE].number;
	out->link = (enum rf_link)ceiling->values[RF_KEY_LINK].number;
	leave_out(&out->deny, &request->values[RF_KEY_NET_DENY].list);
	*ret_ceiling = out;
	return 0;
}

void rf_net_ceiling_free(struct rf_net_ceiling *ceiling)
{
	if (!ceiling)
		return;
	rf_arena_free(ceiling->allow.arena);
	rf_arena_free(ceiling->deny.arena);
	free(ceiling);
}

int rf_net_ceiling_covers(const struct rf_net_ceiling *ceiling, const char *text, bool *ret_covers,
			  char bound[RF_NET_BOUND], struct rf_err *err)
{
	struct rf_net_rule_room room;
	struct rf_net_rule rule;

	bound[0] = '\0';
	if (rf_net_rule_parse(text, false, &room, &rule, err) < 0)
		return err->code;
	*ret_covers = is_covered(ceiling, &rule, bound);
	return 0;
}

int rf_net_rules_meet(const struct rf_list *a, const struct rf_list *b, struct rf_list *out)
{
	struct rf_net_rule_room rooms[RF_NET_MEET];
	struct rf_net_rule rules[RF_NET_MEET];
	struct read_rules x, y = { NULL };
	int r = read_all(a, false, &x) && read_all(b, false, &y) ? 0 : -ENOMEM;

	out->max = RF_MAX_NET_RULES;
	for (size_t i = 0; i < x.count; i++)
		for (size_t j = 0; j < y.count && r >= 0; j++) {
			size_t count = rf_net_rule_meet(&x.rules[i], &y.rules[j], rooms, rules,
							RF_NET_MEET);

			for (size_t k = 0; k < count && r >= 0; k++)
				r = rf_list_unite(out, rules[k].text, NULL);
		}
	rf_arena_free(x.arena);
	rf_arena_free(y.arena);
	return r;
}

/* True if what stands between two commas belongs to the ports in front of it. */
static bool is_ports(const char *text)
{
	size_t len = strspn(text, "0123456789-");

	return len > 0 && (text[len] == ',' || text[len] == '/' || !text[len]);
}

bool rf_net_rule_next(const char **text, struct rf_span *ret_rule)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
	const char *begin = *text, *at = begin + strspn(begin, capitals);

	if (!*begin)
		return false;
	if (*at != ' ') /* no methods, so the first comma counts */
		at = begin;
	for (at += strcspn(at, ","); *at == ',' && is_ports(at + 1); at += strcspn(at, ","))
		at++;
	*ret_rule = (struct rf_span){ begin, (size_t)(at - begin) };
	*text = *at ? at + 1 : at;
	return true;
}
