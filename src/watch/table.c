/* Things found by what they are about: see table.h. */
#include "watch/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define FIRST_PLACES 64

static const char *const kinds[RF_TABLE_KINDS] = {
	[RF_TABLE_AGENT] = "agent",
	[RF_TABLE_HOST] = "host",
	[RF_TABLE_TOOL] = "tool",
	[RF_TABLE_CREDENTIAL] = "credential",
};

/* ------------------------------------------------------------- the hash */

static uint64_t turn(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turn(v[1], 13) ^ v[0];
		v[3] = turn(v[3], 16) ^ v[2];
		v[0] = turn(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = turn(v[1], 17) ^ v[2];
		v[3] = turn(v[3], 21) ^ v[0];
		v[2] = turn(v[2], 32);
	}
}

/* Up to eight bytes as one number, the first the lowest. */
static uint64_t word_of(const unsigned char *data, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)data[i] << (8 * i);
	return word;
}

uint64_t rf_table_hash(const uint64_t key[2], const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575,
		key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573,
	};
	uint64_t last = (uint64_t)len << 56, word;

	for (; len >= 8; at += 8, len -= 8) {
		word = word_of(at, 8);
		v[3] ^= word;
		mix(v, 2);
		v[0] ^= word;
	}
	last |= word_of(at, len);
	v[3] ^= last;
	mix(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The same name is another thing as a host than as a tool. */
static uint64_t hash_of(const struct rf_table *table, enum rf_table_kind kind, const char *name)
{
	return rf_table_hash(table->key, name, strlen(name)) ^ (uint64_t)kind;
}

/* ------------------------------------------------------------- the table */

void rf_table_init(struct rf_table *table, const uint64_t key[2])
{
	*table = (struct rf_table){ .key = { key[0], key[1] } };
}

void rf_table_done(struct rf_table *table)
{
	free(table->places);
	table->places = NULL;
	table->place_count = table->node_count = 0;
}

/* What a terminal would take for an order: C0, delete, and C1 as UTF-8 has it (U+0080 to U+009F). */
static bool is_control(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;

	return c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

bool rf_table_takes(const char *name)
{
	size_t len = strnlen(name, RF_TABLE_NAME);

	if (len == 0 || len == RF_TABLE_NAME || !rf_json_is_utf8(name, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == ' ' || is_control(name + i))
			return false;
	return true;
}

const char *rf_table_kind_name(enum rf_table_kind kind)
{
	return kind < RF_TABLE_KINDS ? kinds[kind] : "?";
}

enum rf_table_kind rf_table_kind_parse(const char *text)
{
	int kind = 0;

	while (kind < RF_TABLE_KINDS && strcmp(kinds[kind], text) != 0)
		kind++;
	return (enum rf_table_kind)kind;
}

static struct rf_table_node **place_of(const struct rf_table *table, uint64_t hash)
{
	return &table->places[hash & (table->place_count - 1)];
}

struct rf_table_node *rf_table_find(const struct rf_table *table, enum rf_table_kind kind,
				    const char *name)
{
	uint64_t hash = hash_of(table, kind, name);
	struct rf_table_node *node = table->place_count > 0 ? *place_of(table, hash) : NULL;

	while (node && (node->hash != hash || node->kind != kind || strcmp(node->name, name) != 0))
		node = node->next;
	return node;
}

/* Twice the places.  Where there is no memory the old ones do, a little slower. */
static int grow(struct rf_table *table)
{
	size_t count = table->place_count > 0 ? table->place_count * 2 : FIRST_PLACES;
	struct rf_table_node **old = table->places;
	size_t old_count = table->place_count;
	struct rf_table_node **places = calloc(count, sizeof(struct rf_table_node *));

	if (!places)
		return old ? 0 : -ENOMEM;
	table->places = places;
	table->place_count = count;
	for (size_t i = 0; i < old_count; i++)
		for (struct rf_table_node *node = old[i], *next; node; node = next) {
			struct rf_table_node **place = place_of(table, node->hash);

			next = node->next;
			node->next = *place;
			*place = node;
		}
	free(old);
	return 0;
}

int rf_table_add(struct rf_table *table, struct rf_table_node *node, enum rf_table_kind kind,
		 const char *name)
{
	struct rf_table_node **place;

	if (table->node_count >= table->place_count && grow(table) < 0)
		return -ENOMEM;
	node->kind = kind;
	node->hash = hash_of(table, kind, name);
	memcpy(node->name, name, strlen(name) + 1);
	place = place_of(table, node->hash);
	node->next = *place;
	*place = node;
	table->node_count++;
	return 0;
}

void rf_table_remove(struct rf_table *table, struct rf_table_node *node)
{
	struct rf_table_node **at = place_of(table, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	table->node_count--;
}

struct rf_table_node *rf_table_next(const struct rf_table *table, const struct rf_table_node *node)
{
	size_t i = node ? (size_t)(node->hash & (table->place_count - 1)) + 1 : 0;

	if (node && node->next)
		return node->next;
	while (i < table->place_count && !table->places[i])
		i++;
	return i < table->place_count ? table->places[i] : NULL;
}

size_t rf_table_count(const struct rf_table *table, enum rf_table_kind kind, const char *prefix,
		      size_t len)
{
	size_t count = 0;

	for (const struct rf_table_node *node = rf_table_next(table, NULL); node;
	     node = rf_table_next(table, node))
		count += node->kind == kind && strncmp(node->name, prefix, len) == 0;
	return count;
}
