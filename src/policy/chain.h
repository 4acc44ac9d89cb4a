/*
 * A chain: the sources that one policy is built from, in the order in which they are merged.
 *
 * A policy may extend others (`extends: [python, ./team.yaml]`).  What it extends comes before it,
 * depth first, and each source once, however many others extend it.  Where a name leads is not for
 * this folder to know: a loader finds the texts.  Without one there are the built-in profiles and
 * nothing else, which is how a policy from a stranger is read.
 */
#ifndef RF_POLICY_CHAIN_H
#define RF_POLICY_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"
#include "policy/policy.h"

/* One source as a loader gives it.  Owns its strings. */
struct rf_chain_text {
	char *name; /* as it was asked for: a profile's name, a file's path */
	char *path; /* of the file that it stands in, or NULL where lines mean nothing to a reader */
	char *id;   /* the same for one text, whatever name led to it */
	char *folder; /* from which relative paths in it count, or NULL */
	char *text;
	size_t len;
	bool is_own; /* read unasked, so its loader looked whom it belongs to */
};

void rf_chain_text_done(struct rf_chain_text *text);

/*
 * Gives the text that `name` means within `from` (NULL: on the command line).  A name for which
 * rf_chain_is_path() holds is a file, counted from from->folder; any other is a profile.
 */
typedef int rf_chain_load(void *context, const char *name, const struct rf_chain_text *from,
			  struct rf_chain_text *ret_text, struct rf_err *err);

/* One source, read. */
struct rf_chain_link {
	char *name, *path, *id;
	struct rf_policy *policy;
};

struct rf_chain {
	rf_chain_load *load; /* or NULL: only the built-in profiles */
	void *context;
	const char *home; /* what `~` is, or NULL; borrowed */
	struct rf_chain_link links[RF_MAX_CHAIN];
	size_t count;
	const struct rf_chain_text *open[RF_MAX_CHAIN_DEPTH]; /* being read, outermost first */
	size_t depth;
	char *file; /* that an error speaks of, or NULL */
};

/* Ends a chain that began as { .load, .context, .home }. */
void rf_chain_done(struct rf_chain *chain);

/*
 * Adds a source and before it all that it extends, unless they are there.  The first takes a name
 * as `extends` does, the second a text that the caller has read (takes, whatever comes of it).  On
 * failure chain->file names the file that the error and its line are about, or is NULL.
 */
int rf_chain_add(struct rf_chain *chain, const char *name, struct rf_err *err);
int rf_chain_add_text(struct rf_chain *chain, struct rf_chain_text *text, struct rf_err *err);

/* Merges all sources into `base`, in order. */
int rf_chain_merge(struct rf_chain *chain, struct rf_policy *base, struct rf_err *err);

/* True if an element of `extends` is a file: it has a slash, or ends as policy files do. */
bool rf_chain_is_path(const char *name);

/* Refuses what can't be a profile's name: 1 to 40 of a-z, 0-9, `.`, `_`, `-`, a letter or digit first. */
int rf_chain_check_name(const char *name, struct rf_err *err);

#endif
