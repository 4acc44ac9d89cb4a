/* The addresses that stand for names inside one box: see names.h. */
#include "gateway/names.h"

#include <stdlib.h>
#include <string.h>

#include "watch/table.h"

struct entry {
	struct entry *newer, *older;          /* by when it was last used */
	struct entry *next_name, *next_place; /* in the same place of either table */
	uint64_t hash;
	uint32_t address;
	char name[];
};

struct rf_names {
	struct entry **by_name, **by_address; /* each of `places`, a power of two */
	size_t places, count, most;
	struct entry *newest, *oldest;
	uint64_t key[2];
	uint32_t first; /* of the addresses that were given, as a place among all */
	uint32_t given;
	uint64_t forgotten;
};

struct rf_names *rf_names_new(size_t most, const uint64_t key[2])
{
	struct rf_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->most = most;
	memcpy(names->key, key, sizeof(names->key));
	names->first = (uint32_t)(rf_table_hash(key, "first", 5) % RF_NAMES_COUNT);
	return names;
}

void rf_names_free(struct rf_names *names)
{
	struct entry *older;

	if (!names)
		return;
	for (struct entry *entry = names->newest; entry; entry = older) {
		older = entry->older;
		free(entry);
	}
	free(names->by_name);
	free(names->by_address);
	free(names);
}

static struct entry **name_place(const struct rf_names *names, uint64_t hash)
{
	return &names->by_name[hash & (names->places - 1)];
}

/* Addresses are given one after the other, so their last bits spread them. */
static struct entry **address_place(const struct rf_names *names, uint32_t address)
{
	return &names->by_address[address & (names->places - 1)];
}

static void link_tables(struct rf_names *names, struct entry *entry)
{
	struct entry **name = name_place(names, entry->hash);
	struct entry **address = address_place(names, entry->address);

	entry->next_name = *name;
	*name = entry;
	entry->next_place = *address;
	*address = entry;
}

static bool grow(struct rf_names *names)
{
	size_t places = names->places ? 2 * names->places : 16;
	struct entry **by_name, **by_address;

	if (names->count < names->places)
		return true;
	by_name = calloc(places, sizeof(struct entry *));
	by_address = calloc(places, sizeof(struct entry *));
	if (!by_name || !by_address) {
		free(by_name);
		free(by_address);
		return false;
	}
	free(names->by_name);
	free(names->by_address);
	names->by_name = by_name;
	names->by_address = by_address;
	names->places = places;
	for (struct entry *entry = names->newest; entry; entry = entry->older)
		link_tables(names, entry);
	return true;
}

static void unlink_age(struct rf_names *names, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &names->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &names->oldest) = entry->newer;
}

static void link_newest(struct rf_names *names, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = names->newest;
	*(names->newest ? &names->newest->newer : &names->oldest) = entry;
	names->newest = entry;
}

static void forget_oldest(struct rf_names *names)
{
	struct entry *entry = names->oldest, **at;

	for (at = name_place(names, entry->hash); *at != entry; at = &(*at)->next_name)
		continue;
	*at = entry->next_name;
	for (at = address_place(names, entry->address); *at != entry; at = &(*at)->next_place)
		continue;
	*at = entry->next_place;
	unlink_age(names, entry);
	free(entry);
	names->count--;
	names->forgotten++;
}

static struct entry *use(struct rf_names *names, struct entry *entry)
{
	unlink_age(names, entry);
	link_newest(names, entry);
	return entry;
}

static struct entry *add(struct rf_names *names, const char *name, uint64_t hash)
{
	size_t size = strlen(name) + 1;
	struct entry *entry;

	if (names->given == RF_NAMES_COUNT || names->most == 0)
		return NULL;
	if (names->count == names->most)
		forget_oldest(names);
	entry = grow(names) ? malloc(sizeof(*entry) + size) : NULL;
	if (!entry)
		return NULL;
	entry->hash = hash;
	entry->address = RF_NAMES_FIRST +
			 (uint32_t)(((uint64_t)names->first + names->given++) % RF_NAMES_COUNT);
	memcpy(entry->name, name, size);
	link_tables(names, entry);
	link_newest(names, entry);
	names->count++;
	return entry;
}

uint32_t rf_names_give(struct rf_names *names, const char *name)
{
	uint64_t hash = rf_table_hash(names->key, name, strlen(name));
	struct entry *entry = names->places ? *name_place(names, hash) : NULL;

	while (entry && (entry->hash != hash || strcmp(entry->name, name) != 0))
		entry = entry->next_name;
	entry = entry ? use(names, entry) : add(names, name, hash);
	return entry ? entry->address : 0;
}

const char *rf_names_find(struct rf_names *names, uint32_t address)
{
	struct entry *entry = names->places ? *address_place(names, address) : NULL;

	while (entry && entry->address != address)
		entry = entry->next_place;
	return entry ? use(names, entry)->name : NULL;
}

bool rf_names_holds(uint32_t address)
{
	return address - RF_NAMES_FIRST < RF_NAMES_COUNT;
}

size_t rf_names_count(const struct rf_names *names)
{
	return names->count;
}

uint64_t rf_names_forgotten(const struct rf_names *names)
{
	return names->forgotten;
}
