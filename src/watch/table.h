/*
 * Things found by what they are about: an agent, a host, a tool, a credential.
 *
 * A table of nodes that live inside somebody else's structs.  Names come from whoever is watched, so
 * the hash is keyed (SipHash-2-4): nobody who does not know the key can make all of them meet in
 * one place.  It makes no system call and owns nothing but its own array.
 */
#ifndef RF_WATCH_TABLE_H
#define RF_WATCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a breaker or a budget is about.  The numbers are stored: a new one goes to the end. */
enum rf_table_kind {
	RF_TABLE_AGENT,
	RF_TABLE_HOST,
	RF_TABLE_TOOL,
	RF_TABLE_CREDENTIAL,
	RF_TABLE_KINDS
};

#define RF_TABLE_NAME 128 /* bytes of a name, with its NUL */

struct rf_table_node {
	struct rf_table_node *next; /* in the same place */
	uint64_t hash;
	enum rf_table_kind kind;
	char name[RF_TABLE_NAME];
};

struct rf_table {
	struct rf_table_node **places;
	size_t place_count, node_count; /* places: a power of two, or none yet */
	uint64_t key[2];
};

void rf_table_init(struct rf_table *table, const uint64_t key[2]);

/* Frees the array; nodes are their owners'. */
void rf_table_done(struct rf_table *table);

/* Whether a name can be one: 1 to 127 bytes of UTF-8, no blanks, no control characters. */
bool rf_table_takes(const char *name);

/* "agent" and so on; and back, or RF_TABLE_KINDS. */
const char *rf_table_kind_name(enum rf_table_kind kind);
enum rf_table_kind rf_table_kind_parse(const char *text);

struct rf_table_node *rf_table_find(const struct rf_table *table, enum rf_table_kind kind,
				    const char *name);

/* Adds a node that is not in it, under a name that it takes.  Returns 0 or -ENOMEM. */
int rf_table_add(struct rf_table *table, struct rf_table_node *node, enum rf_table_kind kind,
		 const char *name);

void rf_table_remove(struct rf_table *table, struct rf_table_node *node);

/* The node after `node`, or the first after NULL; NULL at the end.  In no order that means anything. */
struct rf_table_node *rf_table_next(const struct rf_table *table, const struct rf_table_node *node);

/* How many of a kind have names that begin with the first `len` bytes of `prefix`. */
size_t rf_table_count(const struct rf_table *table, enum rf_table_kind kind, const char *prefix,
		      size_t len);

/* The keyed hash: for tests, against the reference values of its authors. */
uint64_t rf_table_hash(const uint64_t key[2], const void *data, size_t len);

#endif
