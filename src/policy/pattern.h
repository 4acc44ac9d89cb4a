/*
 * Patterns of `files.deny`: which paths of the host a box must not see.
 *
 * A pattern is a list of parts between slashes.  Within a part `*` stands for any characters, `?` for
 * one and `[a-z]` for one of several; a leading dot is a character like any other.  A part `**` stands
 * for any number of folders, none included; at the end it stands for at least one name.  A backslash
 * takes a character's meaning away.  Matching is of text alone: a set of states, one for each part
 * that could come next, is moved forward by one name at a time, so a walk through a tree carries its
 * states along and never matches a whole path again.  Nothing backtracks beyond one part.
 */
#ifndef RF_POLICY_PATTERN_H
#define RF_POLICY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/files.h"

#define RF_PATTERN_PARTS 62  /* a bit for each, and one for the end */
#define RF_PATTERN_NAME  256 /* room for one name, as NAME_MAX */

struct rf_pattern {
	const char *text; /* normal, borrowed */
	size_t count;
	struct {
		const char *at;
		size_t len;
		bool is_any;     /* `**` */
		bool is_literal; /* stands for one name only */
		bool is_plain;   /* and that is how it is written */
	} parts[RF_PATTERN_PARTS];
};

/*
 * Writes a pattern in its normal form: absolute, without "//" and "/./", with backslashes only where
 * they are needed.  A relative one counts from the folder, whose own name is taken literally; one that
 * begins with `**` counts from the root of all files.  `pattern` has room for RF_FILES_PATH bytes.
 */
int rf_pattern_normal(const char *text, const struct rf_files_base *base, char *pattern,
		      struct rf_err *err);

/* Takes a normal pattern apart (borrows it). */
void rf_pattern_init(struct rf_pattern *pattern, const char *text);

/* The states at the root of all files, and those behind one more name.  0: it can't match any more. */
uint64_t rf_pattern_start(const struct rf_pattern *pattern);
uint64_t rf_pattern_step(const struct rf_pattern *pattern, uint64_t states, const char *name,
			 size_t len);

/* The states behind all names of an absolute path; stops at the first match. */
uint64_t rf_pattern_walk(const struct rf_pattern *pattern, const char *path);

/* True if the names so far are a match; true if further ones could lead to one. */
bool rf_pattern_is_match(const struct rf_pattern *pattern, uint64_t states);
bool rf_pattern_is_alive(const struct rf_pattern *pattern, uint64_t states);

/* True if the pattern matches `path` (absolute, normal) or a folder above it. */
bool rf_pattern_covers(const struct rf_pattern *pattern, const char *path);

/* If part `i` stands for one name only, writes it to `name` (RF_PATTERN_NAME bytes). */
bool rf_pattern_name(const struct rf_pattern *pattern, size_t i, char *name);

#endif
