/*
 * A list of a policy: names, each with or without a value, in the order they came.
 *
 * One shape serves them all: a file rule is a source with the place where it shows, a variable is a
 * name with its content, a name to pass has no value.  Owns its strings.  Holds at most RF_MAX_LIST
 * elements (rules about the network: more), so the plain searches here stay short.
 */
#ifndef RF_POLICY_LIST_H
#define RF_POLICY_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct rf_list_item {
	char *name;
	char *value;   /* or NULL */
	int line;      /* of the text that it was read from, or 0 */
	unsigned hash; /* of the name */
};

struct rf_list {
	struct rf_list_item *items;
	size_t count, room;
	size_t max; /* 0: RF_MAX_LIST */
};

void rf_list_done(struct rf_list *list);

/* Appends copies of both (`value` may be NULL).  Returns 0, -E2BIG when full, or -ENOMEM. */
int rf_list_add(struct rf_list *list, const char *name, const char *value);

/* The same, unless an equal element is there. */
int rf_list_unite(struct rf_list *list, const char *name, const char *value);

/* The same, but an element of this name only gets the new value. */
int rf_list_assign(struct rf_list *list, const char *name, const char *value);

/* Takes an equal element out, if there is one. */
void rf_list_remove(struct rf_list *list, const char *name, const char *value);

/* The element of this name, or NULL; borrowed until the list changes. */
const struct rf_list_item *rf_list_find(const struct rf_list *list, const char *name);
bool rf_list_has(const struct rf_list *list, const char *name, const char *value);

#endif
