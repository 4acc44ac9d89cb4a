/*
 * Languages: what `--lang NAME` means.
 *
 * One table of those that are known, and rows of the same shape from the configuration.  A row says
 * how the language is called, what runs it and what it needs; where that lies on this machine is
 * cli/toolchain.c, and how code gets into the box cli/launch.c.
 */
#ifndef RF_POLICY_LANG_H
#define RF_POLICY_LANG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A key of the policy and its text, as a flag would set it: the weakest source of a run. */
struct rf_lang_default {
	const char *key, *value;
};

/* Lists end with NULL and are never NULL themselves in a row that was found. */
struct rf_lang {
	const char *name;
	const char *const *aliases;
	const char *const *extensions; /* without the point; code without a file gets the first */
	/* Commands to try in order, each a program and what stands before the file: "deno run". */
	const char *const *programs;
	const char *const *needs; /* further programs, without which the first is of no use */
	/*
	 * For /bin/sh, or NULL where the program runs the file itself: makes "$out/main" (or what
	 * `run` wants) of "$source" with "$program".
	 */
	const char *build;
	const char *run;                        /* for /bin/sh, after the build */
	const char *const *version;             /* arguments that make it tell its version */
	const char *package;                    /* of Debian, or NULL */
	const struct rf_lang_default *defaults; /* ended by a NULL key */
	bool is_picky;                          /* a file must have one of the extensions */
	bool is_own;                            /* from the configuration */
};

/* The languages of a run: `own` come before the table's, and hide those of the same name. */
struct rf_langs {
	const struct rf_lang *own; /* borrowed */
	size_t own_count;
};

/* The rows one after the other, from 0 on; NULL past the last. */
const struct rf_lang *rf_lang_at(const struct rf_langs *langs, size_t index);

/* Finds a language by name or alias, whatever the case.  On failure the hint has the nearest name. */
int rf_lang_find(const struct rf_langs *langs, const char *name, const struct rf_lang **ret_lang,
		 struct rf_err *err);

/* The language whose files end like `path`, or NULL. */
const struct rf_lang *rf_lang_of_file(const struct rf_langs *langs, const char *path);

/* True if `path` ends with one of the language's extensions. */
bool rf_lang_has_extension(const struct rf_lang *lang, const char *path);

/* The row of the table with this very name, or NULL. */
const struct rf_lang *rf_lang_known(const char *name);

/* Fills the columns that `lang` leaves open, from `from` or (NULL) with what is usual. */
void rf_lang_complete(struct rf_lang *lang, const struct rf_lang *from);

#endif
