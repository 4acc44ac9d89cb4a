/*
 * File rules: which path of the host shows where in the box, and with which right.
 *
 * A rule maps a source on the host to a place in the box; what lies beneath comes along.  Where two
 * rules overlap, the one with the longer place governs, so `write: [/w]` with `read: [/w/data]`
 * leaves a read-only hole.  Paths are compared as text and never looked up: they are absolute,
 * without "//", "/./" and a trailing slash, and ".." is refused because its meaning depends on
 * symbolic links.
 */
#ifndef RF_POLICY_FILES_H
#define RF_POLICY_FILES_H

#include <stddef.h>

#include "base/err.h"
#include "policy/list.h"

#define RF_FILES_PATH 4096 /* room for one path, as PATH_MAX */

/* Where relative paths and `~` lead.  Either may be NULL: such paths are then refused. */
struct rf_files_base {
	const char *folder, *home; /* absolute */
};

enum rf_files_right {
	RF_FILES_NONE,
	RF_FILES_READ,
	RF_FILES_WRITE
}; /* each one includes those before it */

/* Writes an absolute path in its normal form.  `path` has room for RF_FILES_PATH bytes. */
int rf_files_normal(const char *text, char *path, struct rf_err *err);

/* Makes a path absolute by way of the base, and normal.  `path` has room for RF_FILES_PATH bytes. */
int rf_files_resolve(const char *text, const struct rf_files_base *base, char *path,
		     struct rf_err *err);

/* Takes "SRC[:DEST]" apart; both come back absolute and normal, in RF_FILES_PATH bytes each. */
int rf_files_parse(const char *text, const struct rf_files_base *base, char *source, char *dest,
		   struct rf_err *err);

/* What the two lists grant to `source` showing at `dest`. */
enum rf_files_right rf_files_look(const struct rf_list *read, const struct rf_list *write,
				  const char *source, const char *dest);

#endif
