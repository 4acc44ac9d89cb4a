/*
 * The API keys of this user, in $STATE/keys: a file each, ID.json.
 *
 * A key is there as a whole or not at all; the secret is given out once, when the key is made, and is nowhere afterwards.
 */
#ifndef RF_SERVER_KEYRING_H
#define RF_SERVER_KEYRING_H

#include "server/api-key.h"

/* Makes a key with these words (its id, hash and time are set here) and gives its token. */
int rf_keyring_make(struct rf_api_key *key, char ret_token[RF_API_KEY_TOKEN], struct rf_err *err);

/* The key with this id; gives `*ret_key`.  -ENOENT: there is none. */
int rf_keyring_find(const char *id, struct rf_api_key *ret_key, struct rf_err *err);

/* Calls `fn` with each, the oldest first; one that can't be read is an error.  Gives their number. */
int rf_keyring_each(int (*fn)(void *data, const struct rf_api_key *key), void *data,
		    struct rf_err *err);

int rf_keyring_remove(const char *id, struct rf_err *err);

#endif
