/* Where to look for the rules that can match: see net-index.h. */
#include "policy/net-index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SEED  UINT64_C(0xcbf29ce484222325) /* FNV-1a: short keys, and nobody gains by a collision */
#define PRIME UINT64_C(0x100000001b3)

static uint64_t step(uint64_t hash, uint8_t octet)
{
	return (hash ^ octet) * PRIME;
}

/* The low bits choose a place in the table, and the last octets must reach them. */
static uint64_t finish(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

uint64_t rf_net_index_with(uint64_t host, uint64_t path)
{
	return finish(host * 3 + path);
}

static uint64_t hash_any(void)
{
	return finish(SEED);
}

static uint64_t hash_address(const uint8_t address[16], unsigned bits)
{
	uint64_t hash = step(SEED, (uint8_t)bits);

	for (unsigned i = 0; i < 16; i++) {
		uint8_t octet = address[i];

		if (i * 8 >= bits)
			octet = 0;
		else if (bits - i * 8 < 8)
			octet &= (uint8_t)(0xff << (8 - (bits - i * 8)));
		hash = step(hash, octet);
	}
	return finish(hash ^ 1);
}

static uint64_t hash_rule(const struct rf_net_rule *rule)
{
	uint64_t hash = SEED;

	if (rule->who == RF_NET_CIDR)
		return hash_address(rule->address, rule->bits);
	if (rule->who == RF_NET_ANY)
		return hash_any();
	for (size_t i = strlen(rule->host); i-- > 0;)
		hash = step(hash, (uint8_t)rule->host[i]);
	return finish(hash);
}

void rf_net_index_trail(const struct rf_net_index *index, const struct rf_host *host,
			struct rf_net_trail *trail)
{
	uint8_t address[16];
	uint64_t hash = SEED;

	trail->count = 0;
	if (rf_net_address_of(host, address)) {
		for (uint8_t i = 0; i < index->width_count; i++)
			trail->hashes[trail->count++] = hash_address(address, index->widths[i]);
		return;
	}
	trail->hashes[trail->count++] = hash_any();
	for (size_t i = host->len; i-- > 0;) { /* at most 127 labels */
		hash = step(hash, (uint8_t)host->text[i]);
		if (i == 0 || host->text[i - 1] == '.')
			trail->hashes[trail->count++] = finish(hash);
	}
}

/*
 * The part of a pattern up to the last slash before its first star, cut at the deepest that is looked for; or all of it.
 * Gives how many parts that are, as a bit of `depths`.
 */
static uint64_t hash_pattern(const char *path, unsigned *ret_depth)
{
	uint64_t hash = SEED, at_slash = SEED;
	unsigned depth = 0;

	for (; *path && *path != '*'; path++) {
		hash = step(hash, (uint8_t)*path);
		if (*path != '/')
			continue;
		at_slash = hash;
		if (++depth == RF_NET_DEPTH - 1)
			break;
	}
	*ret_depth = *path ? depth : RF_NET_WHOLE;
	return *path ? at_slash : hash;
}

unsigned rf_net_index_path(const struct rf_net_index *index, struct rf_span path,
			   uint64_t hashes[RF_NET_DEPTH + 2])
{
	bool has_whole = index->depths & 1U << RF_NET_WHOLE && path.len < RF_NET_PATH;
	unsigned count = 0, depth = 0;
	uint64_t hash = SEED;

	if (index->depths & 1)
		hashes[count++] = SEED;
	for (size_t i = 0; i < path.len; i++) {
		hash = step(hash, (uint8_t)path.at[i]);
		if (path.at[i] != '/' || ++depth >= RF_NET_DEPTH)
			continue;
		if (index->depths & 1U << depth)
			hashes[count++] = hash;
		if (!has_whole && (index->depths & ((1U << RF_NET_WHOLE) - 1)) >> (depth + 1) == 0)
			return count;
	}
	if (has_whole)
		hashes[count++] = hash;
	return count;
}

/* --- Making it --- */

struct entry {
	uint64_t hash;
	const struct rf_net_rule *rule;
};

static int compare(const void *a, const void *b)
{
	const uint64_t x = ((const struct entry *)a)->hash, y = ((const struct entry *)b)->hash;

	return (x > y) - (x < y);
}

/* By all that counts where requests are not looked at, so that repeats stand together. */
static int compare_whole(const void *a, const void *b)
{
	const struct rf_net_rule *x = ((const struct entry *)a)->rule;
	const struct rf_net_rule *y = ((const struct entry *)b)->rule;
	int r = compare(a, b);

	if (r == 0)
		r = (int)x->is_deny - (int)y->is_deny;
	if (r == 0)
		r = (int)x->who - (int)y->who;
	if (r == 0)
		r = (x->path != NULL) - (y->path != NULL);
	/* What lets pass bytes that nobody reads is told from what does not (rf_net_rule_has_raw()). */
	if (r == 0)
		r = (x->methods != 0) - (y->methods != 0);
	if (r == 0)
		r = (int)x->is_tcp - (int)y->is_tcp;
	return r ? r : memcmp(x->ports, y->ports, sizeof(x->ports));
}

static bool make_runs(struct rf_arena *arena, const struct entry *entries, size_t count,
		      struct rf_net_runs *runs)
{
	uint64_t size = 4;

	while (size < 2 * count)
		size *= 2;
	runs->mask = size - 1;
	runs->runs = rf_arena_alloc(arena, size * sizeof(*runs->runs));
	runs->rules = rf_arena_alloc(arena, (count + 1) * sizeof(void *));
	if (!runs->runs || !runs->rules)
		return false;
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t at = entries[i].hash & runs->mask;

		for (end = i; end < count && entries[end].hash == entries[i].hash; end++)
			runs->rules[end] = entries[end].rule;
		while (runs->runs[at].count > 0)
			at = (at + 1) & runs->mask;
		runs->runs[at] =
			(struct rf_net_run){ entries[i].hash, (uint32_t)i, (uint32_t)(end - i) };
	}
	return true;
}

struct rf_net_run rf_net_index_find(const struct rf_net_runs *runs, uint64_t hash)
{
	uint64_t at = hash & runs->mask;

	while (runs->runs[at].count > 0 && runs->runs[at].hash != hash)
		at = (at + 1) & runs->mask;
	return runs->runs[at];
}

/* Sorts, and leaves one of those that say the same of a host. */
static size_t without_repeats(struct entry *entries, size_t count)
{
	size_t kept = 0;

	qsort(entries, count, sizeof(*entries), compare_whole);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_whole(&entries[kept - 1], &entries[i]) != 0)
			entries[kept++] = entries[i];
	return kept;
}

static bool has_request(const struct rf_net_rule *rule)
{
	return rule->methods || rule->path;
}

static bool index_hosts(struct rf_arena *arena, const struct rf_net *net, struct entry *entries,
			struct rf_net_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < net->rule_count; i++) {
		const struct rf_net_rule *rule = &net->rules[i];

		if (!rule->is_deny || !has_request(rule))
			entries[count++] = (struct entry){ hash_rule(rule), rule };
	}
	return make_runs(arena, entries, without_repeats(entries, count), &index->hosts);
}

static bool index_inside(struct rf_arena *arena, const struct rf_net *net, struct entry *entries,
			 struct rf_net_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < net->rule_count; i++)
		if (has_request(&net->rules[i]))
			entries[count++] =
				(struct entry){ hash_rule(&net->rules[i]), &net->rules[i] };
	for (size_t i = 0; i < net->credential_count && net->mode != RF_NET_OPEN; i++)
		for (size_t j = 0; j < net->credentials[i].rule_count; j++)
			entries[count++] = (struct entry){ hash_rule(&net->credentials[i].rules[j]),
							   &net->credentials[i].rules[j] };
	return make_runs(arena, entries, without_repeats(entries, count), &index->inside);
}

static bool index_paths(struct rf_arena *arena, const struct rf_net *net, struct entry *entries,
			struct rf_net_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < net->rule_count; i++) {
		const struct rf_net_rule *rule = &net->rules[i];
		uint64_t hash = SEED;
		unsigned depth = 0;

		if (rule->path)
			hash = hash_pattern(rule->path, &depth);
		index->depths |= 1U << depth;
		entries[count++] = (struct entry){ rf_net_index_with(hash_rule(rule), hash), rule };
	}
	qsort(entries, count, sizeof(*entries), compare);
	return make_runs(arena, entries, count, &index->paths);
}

static void index_widths(const struct rf_net *net, struct rf_net_index *index)
{
	bool has[129] = { false };

	for (size_t i = 0; i < net->rule_count; i++)
		if (net->rules[i].who == RF_NET_CIDR)
			has[net->rules[i].bits] = true;
	for (unsigned bits = 129; bits-- > 0;)
		if (has[bits])
			index->widths[index->width_count++] = (uint8_t)bits;
}

const struct rf_net_index *rf_net_index_make(struct rf_arena *arena, const struct rf_net *net)
{
	struct rf_net_index *index = rf_arena_alloc(arena, sizeof(*index));
	size_t room = net->rule_count + 1;
	struct entry *entries;
	bool is_made;

	static_assert(RF_NET_WHOLE < 32, "one bit for each depth, and one for whole paths");
	for (size_t i = 0; i < net->credential_count; i++)
		room += net->credentials[i].rule_count;
	entries = calloc(room, sizeof(*entries));
	is_made = index && entries && index_hosts(arena, net, entries, index) &&
		  index_inside(arena, net, entries, index) &&
		  index_paths(arena, net, entries, index);
	if (is_made)
		index_widths(net, index);
	free(entries);
	return is_made ? index : NULL;
}
