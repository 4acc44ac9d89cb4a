/* A list of a policy: see list.h. */
#include "policy/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

void rf_list_done(struct rf_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].value);
	}
	free(list->items);
	*list = (struct rf_list){ 0 };
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* So that a search looks at few names: a list of thousands is read without a pause. */
static unsigned hash_of(const char *name)
{
	unsigned hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return hash;
}

/* Makes room for one more.  Returns 0 or a negative errno. */
static int reserve(struct rf_list *list)
{
	size_t room = list->room ? list->room * 2 : 8;
	struct rf_list_item *items;

	if (list->count >= (list->max ? list->max : RF_MAX_LIST))
		return -E2BIG;
	if (list->count < list->room)
		return 0;
	items = realloc(list->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	list->room = room;
	return 0;
}

int rf_list_add(struct rf_list *list, const char *name, const char *value)
{
	struct rf_list_item item = { 0 };
	int r = reserve(list);

	if (r < 0)
		return r;
	item.name = strdup(name);
	item.value = value ? strdup(value) : NULL;
	item.hash = hash_of(name);
	if (!item.name || (value && !item.value)) {
		free(item.name);
		free(item.value);
		return -ENOMEM;
	}
	list->items[list->count++] = item;
	return 0;
}

int rf_list_unite(struct rf_list *list, const char *name, const char *value)
{
	return rf_list_has(list, name, value) ? 0 : rf_list_add(list, name, value);
}

int rf_list_assign(struct rf_list *list, const char *name, const char *value)
{
	for (size_t i = 0; i < list->count; i++) {
		char *copy;

		if (strcmp(list->items[i].name, name) != 0)
			continue;
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
		free(list->items[i].value);
		list->items[i].value = copy;
		return 0;
	}
	return rf_list_add(list, name, value);
}

void rf_list_remove(struct rf_list *list, const char *name, const char *value)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct rf_list_item item = list->items[i];

		if (strcmp(item.name, name) == 0 && is_same(item.value, value)) {
			free(item.name);
			free(item.value);
		} else {
			list->items[kept++] = item;
		}
	}
	list->count = kept;
}

const struct rf_list_item *rf_list_find(const struct rf_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	return NULL;
}

bool rf_list_has(const struct rf_list *list, const char *name, const char *value)
{
	unsigned hash = hash_of(name);

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].hash == hash && strcmp(list->items[i].name, name) == 0 &&
		    is_same(list->items[i].value, value))
			return true;
	return false;
}
