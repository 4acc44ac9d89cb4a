/* Requests that were held back: see held.h. */
#include "wire/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_item(struct rf_held *item)
{
	free((void *)(uintptr_t)item->request.place.host);
	free((void *)(uintptr_t)item->request.method);
	free((void *)(uintptr_t)item->request.path);
	free((void *)(uintptr_t)item->request.message);
}

static bool make_room(struct rf_held_list *list)
{
	size_t room = list->room ? 2 * list->room : 8;
	struct rf_held *items;

	if (list->count < list->room)
		return true;
	items = realloc(list->items, room * sizeof(*items));
	if (!items)
		return false;
	list->items = items;
	list->room = room;
	return true;
}

int rf_held_add(struct rf_held_list *list, const struct rf_gate_held *held)
{
	struct rf_held item = { .request = *held };
	char *message;

	if (list->count >= RF_GATE_HELD_COUNT || list->bytes + held->len > RF_GATE_HELD_BYTES)
		return -E2BIG;
	message = malloc(held->len);
	item.request.place.host = strdup(held->place.host);
	item.request.method = strdup(held->method);
	item.request.path = strdup(held->path);
	item.request.message = message;
	if (!message || !item.request.place.host || !item.request.method || !item.request.path ||
	    !make_room(list)) {
		free_item(&item);
		return -ENOMEM;
	}
	memcpy(message, held->message, held->len);
	list->items[list->count++] = item;
	list->bytes += held->len;
	return 0;
}

void rf_held_done(struct rf_held_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_item(&list->items[i]);
	free(list->items);
	*list = (struct rf_held_list){ 0 };
}

const char *rf_held_state_name(enum rf_held_state state)
{
	static const char *const names[] = {
		[RF_HELD_KEPT] = "kept",
		[RF_HELD_SENT] = "sent",
		[RF_HELD_FAILED] = "failed",
	};

	return names[state];
}
