/*
 * Well-known credentials: names under which people keep keys, tokens and passwords.
 *
 * A folder that is shown to a box is looked at for these, at its top alone: a fixed number of names,
 * never a walk.  What is there is hidden unless the policy names it itself or says
 * `files.credentials: show`.  Deeper ones are for `files.deny`.
 */
#ifndef RF_POLICY_CREDENTIAL_H
#define RF_POLICY_CREDENTIAL_H

#include <stddef.h>

/* One folder and the names to look for in it. */
struct rf_credential_folder {
	const char *folder;       /* beneath the top; "" is the top itself */
	const char *const *names; /* NULL-ended */
};

extern const struct rf_credential_folder rf_credential_table[];
extern const size_t rf_credential_count;

#endif
