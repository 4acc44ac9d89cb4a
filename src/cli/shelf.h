/*
 * The shelf of profiles: those that come with the program, those of this machine
 * (/etc/ringfort/profiles/NAME.yaml) and those of the caller (~/.config/ringfort/profiles/NAME.yaml).
 *
 * A name means one profile.  Where it would mean two it is refused, so that nobody gets a laxer
 * profile than the one that was meant.  Profiles in files are read as rf_own_file_read() does.
 */
#ifndef RF_CLI_SHELF_H
#define RF_CLI_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/chain.h"

struct rf_shelf {
	char *home;   /* what `~` is */
	char *folder; /* of the caller's own profiles */
};

/* Prepares a shelf for a caller who is at home in `home` (borrows), or NULL: to be found. */
int rf_shelf_init(struct rf_shelf *shelf, const char *home, struct rf_err *err);
void rf_shelf_done(struct rf_shelf *shelf);

/* The loader of a chain whose context is a shelf: profiles by name, files beside those that name them. */
int rf_shelf_load(void *context, const char *name, const struct rf_chain_text *from,
		  struct rf_chain_text *ret_text, struct rf_err *err);

/* Reads a policy file that the caller named, whoever owns it. */
int rf_shelf_load_file(const char *path, struct rf_chain_text *ret_text, struct rf_err *err);

/* Reads one that is used unasked: it must be the caller's own, and an error names it. */
int rf_shelf_load_own(const char *path, struct rf_chain_text *ret_text, struct rf_err *err);

/*
 * The policy that a file comes to, or `what`: a profile's name, a file's path (see
 * rf_chain_is_path()) or `-` for nothing at all; with all that it extends, over the defaults.
 * Gives `*ret_policy`; on failure gives `*ret_file`, the file that the error is about, or NULL.
 */
int rf_shelf_policy_file(struct rf_shelf *shelf, const char *path, struct rf_policy **ret_policy,
			 char **ret_file, struct rf_err *err);
int rf_shelf_policy(struct rf_shelf *shelf, const char *what, struct rf_policy **ret_policy,
		    char **ret_file, struct rf_err *err);

/* One profile of the list. */
struct rf_shelf_item {
	char *name;
	char *path;        /* of its file; NULL: built in */
	char summary[128]; /* its first comment, once looked at */
	char problem[256]; /* why it can't be used, or "" */
};

struct rf_shelf_list {
	struct rf_shelf_item *items;
	size_t count;
};

/* Every profile there is: the built-in ones, then this machine's, then the caller's, by name. */
int rf_shelf_list(struct rf_shelf *shelf, struct rf_shelf_list *ret_list, struct rf_err *err);

/* Reads them all, and fills in what each says about itself and what is wrong with it. */
void rf_shelf_list_look(struct rf_shelf *shelf, struct rf_shelf_list *list);
void rf_shelf_list_done(struct rf_shelf_list *list);

#endif
