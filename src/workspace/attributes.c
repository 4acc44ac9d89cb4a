/* The extended attributes that are part of a tree: see attributes.h. */
#include "workspace/attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define USERS "user."
#define NOTES "user.overlay."     /* overlayfs's own */
#define LISTS "system.posix_acl_" /* access and default */

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

bool rf_attributes_count(const char *name)
{
	return (begins(name, USERS) && !begins(name, NOTES)) || begins(name, LISTS);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rf_attribute *)a)->name,
		      ((const struct rf_attribute *)b)->name);
}

/* Adds one with its value.  One that is gone by now, or can't be read, is none. */
static int add(int file, const char *name, struct rf_attributes *attributes)
{
	ssize_t len = fgetxattr(file, name, NULL, 0);
	struct rf_attribute *one, *more;

	if (len < 0)
		return 0;
	more = realloc(attributes->items, (attributes->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	attributes->items = more;
	one = &more[attributes->count];
	*one = (struct rf_attribute){ strdup(name), malloc((size_t)len + 1), 0 };
	attributes->count++;
	if (!one->name || !one->value)
		return -ENOMEM;
	len = fgetxattr(file, name, one->value, (size_t)len);
	if (len < 0) /* it has just been changed */
		return -EAGAIN;
	one->len = (size_t)len;
	return 0;
}

int rf_attributes_read(int file, struct rf_attributes *ret_attributes)
{
	ssize_t len = flistxattr(file, NULL, 0);
	char *names;
	int code = 0;

	*ret_attributes = (struct rf_attributes){ 0 };
	if (len <= 0)
		return len == 0 || errno == ENOTSUP ? 0 : -errno;
	names = malloc((size_t)len);
	if (!names)
		return -ENOMEM;
	len = flistxattr(file, names, (size_t)len);
	for (const char *name = names; name < names + len && code == 0; name += strlen(name) + 1)
		if (rf_attributes_count(name))
			code = add(file, name, ret_attributes);
	free(names);
	if (ret_attributes->count > 1 && code == 0)
		qsort(ret_attributes->items, ret_attributes->count, sizeof(struct rf_attribute),
		      by_name);
	return code;
}

void rf_attributes_done(struct rf_attributes *attributes)
{
	for (size_t i = 0; i < attributes->count; i++) {
		free(attributes->items[i].name);
		free(attributes->items[i].value);
	}
	free(attributes->items);
	*attributes = (struct rf_attributes){ 0 };
}

const struct rf_attribute *rf_attributes_find(const struct rf_attributes *attributes,
					      const char *name)
{
	for (size_t i = 0; i < attributes->count; i++)
		if (strcmp(attributes->items[i].name, name) == 0)
			return &attributes->items[i];
	return NULL;
}

bool rf_attributes_are_same(const struct rf_attribute *a, const struct rf_attribute *b)
{
	return strcmp(a->name, b->name) == 0 && a->len == b->len &&
	       memcmp(a->value, b->value, a->len) == 0;
}

bool rf_attributes_match(int one, int two)
{
	struct rf_attributes a, b = { 0 };
	bool match = rf_attributes_read(one, &a) == 0 && rf_attributes_read(two, &b) == 0 &&
		     a.count == b.count;

	for (size_t i = 0; match && i < a.count; i++)
		match = rf_attributes_are_same(&a.items[i], &b.items[i]);
	rf_attributes_done(&a);
	rf_attributes_done(&b);
	return match;
}

int rf_attributes_write(int file, const struct rf_attributes *attributes)
{
	struct rf_attributes old;
	int code = rf_attributes_read(file, &old);

	for (size_t i = 0; i < old.count && code == 0; i++)
		if (!rf_attributes_find(attributes, old.items[i].name) &&
		    fremovexattr(file, old.items[i].name) < 0 && errno != ENODATA)
			code = -errno;
	for (size_t i = 0; i < attributes->count && code == 0; i++) {
		const struct rf_attribute *one = &attributes->items[i];

		if (fsetxattr(file, one->name, one->value, one->len, 0) < 0)
			code = -errno;
	}
	rf_attributes_done(&old);
	return code;
}
