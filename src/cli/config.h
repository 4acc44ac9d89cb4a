/*
 * The configuration: what one user wants of every run, in a file of their own.
 *
 * It is read from $XDG_CONFIG_HOME/ringfort/config.yaml (~/.config without that variable), from the
 * file that RINGFORT_CONFIG or --config names instead, or not at all (--no-config).  Since it is
 * read unasked it counts only if nobody else could have written it: see base/own-file.h.  It holds
 * defaults and languages; no rule of a box but by way of profiles and a policy, which say what they
 * are.  docs/config.md describes it.
 */
#ifndef RF_CLI_CONFIG_H
#define RF_CLI_CONFIG_H

#include <stddef.h>

#include "base/err.h"
#include "base/style.h"
#include "policy/lang.h"

struct rf_arena;

/* Empty (all zero) where there is no file. */
struct rf_config {
	const char *path;            /* of the file that was read, or NULL */
	const char *const *profiles; /* ended by NULL, or NULL: used where no --profile is given */
	const char *policy;          /* absolute, or NULL: used where no --policy is given */
	enum rf_style_wish colour;
	const char *const *protects;   /* further names that act later; NULL-ended, or NULL */
	const char *const *unprotects; /* names that do not, to this user */
	unsigned points;               /* that a workspace keeps at most, or 0: the default */
	struct rf_lang *langs;
	size_t lang_count;
	struct rf_arena *memory; /* owns everything above */
};

/* Which file to read; all borrowed. */
struct rf_config_where {
	const char *named; /* by --config or RINGFORT_CONFIG, or NULL: the usual one */
	const char *cwd;   /* that a relative name counts from; may be NULL */
	const char *home;  /* from passwd */
};

/*
 * Finds, reads and checks the file.  A file that was named and is missing is an error; the usual
 * one may be missing.  `ret_config` is to be freed in any case; on failure its path tells which
 * file the error's line and column speak of.
 */
int rf_config_load(const struct rf_config_where *where, struct rf_config *ret_config,
		   struct rf_err *err);
void rf_config_done(struct rf_config *config);

/* The colour that the caller's settings ask for; one that can't be read says nothing. */
enum rf_style_wish rf_config_colour(void);

/* How many points the caller's settings let a workspace keep, or the default. */
unsigned rf_config_points(void);

/*
 * Has the caller's settings say which names are protected, for the rest of the program's life.  Settings that can't be
 * read are an error: without them something would be let through.
 */
int rf_config_protect(struct rf_err *err);

/* The file that RINGFORT_CONFIG names, or NULL.  Borrowed from the environment. */
const char *rf_config_variable(void);

/*
 * Reads a configuration from `len` bytes of `text` (borrows); relative paths count from `folder`,
 * `~` is `home`.  Pure.  `ret_config` is to be freed in any case.
 */
int rf_config_parse(const char *text, size_t len, const char *folder, const char *home,
		    struct rf_config *ret_config, struct rf_err *err);

#endif
