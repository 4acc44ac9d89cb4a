/*
 * The credentials of a server's tenants, in $STATE/credentials: a file each, TENANT@NAME, which is its owner's alone.
 *
 * What a credential is bound to and how it is sent is the text of policy/net-credential.h; its value stands behind it.  A request names one, and says nothing
 * of it: so nobody who may use it can have it sent elsewhere, or in another way.
 */
#ifndef RF_SERVER_STRONGBOX_H
#define RF_SERVER_STRONGBOX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/terms.h"

#define RF_STRONGBOX_NAME  33          /* bytes of a credential's name, with a NUL */
#define RF_STRONGBOX_BYTES (32 * 1024) /* of a file */

struct rf_strongbox_item {
	char tenant[RF_TERMS_NAME], name[RF_STRONGBOX_NAME];
	int64_t changed; /* seconds since 1970 */
	char *text;      /* as rf_net_credential_end() gives it */
	char *value;     /* or NULL, where it was not asked for */
};

/* Ends one; its value is wiped.  Accepts NULLs. */
void rf_strongbox_done(struct rf_strongbox_item *item);

/* Writes one, in place of another with its name. */
int rf_strongbox_put(const struct rf_strongbox_item *item, struct rf_err *err);

/* The one of this tenant with this name, value and all; gives `*ret_item`.  -ENOENT: there is none. */
int rf_strongbox_find(const char *tenant, const char *name, struct rf_strongbox_item *ret_item,
		      struct rf_err *err);

/* Calls `fn` with each of a tenant's (NULL: of everybody's) by their names, without their values.  Gives their number. */
int rf_strongbox_each(const char *tenant,
		      int (*fn)(void *data, const struct rf_strongbox_item *item), void *data,
		      struct rf_err *err);

int rf_strongbox_remove(const char *tenant, const char *name, struct rf_err *err);

#endif
