/*
 * Signed heads: who holds the store's key says how far a chain went.
 *
 * What is signed (Ed25519) is the chain's name, a record's number and its hash; since a hash stands for all
 * that came before, one signature answers for the whole log up to there.  The key is made when a store
 * first is, and lies beside the log with mode 0600.
 */
#ifndef RF_AUDIT_SIGN_H
#define RF_AUDIT_SIGN_H

#include <stdint.h>

#include "audit/frame.h"
#include "base/err.h"

#define RF_SIGN_FILE   "key"     /* the private half: 32 bytes */
#define RF_SIGN_PUBLIC "key.pub" /* the public half, in hexadecimal digits */

/* A record that answers for all before it. */
struct rf_sign_head {
	uint8_t chain[RF_AUDIT_HASH];
	uint64_t seq;
	uint8_t hash[RF_AUDIT_HASH];
};

struct rf_sign; /* a key, or the public half of one */

/* Opens the key in `dir`, made if there is none; -EPERM if others could read it.  Gives `*ret_key`. */
int rf_sign_open(int dir, struct rf_sign **ret_key, struct rf_err *err);

/* The public half, for looking at signatures; from its bytes, or from key.pub. */
int rf_sign_public(const uint8_t key[RF_FRAME_KEY], struct rf_sign **ret_key, struct rf_err *err);
int rf_sign_read_public(int dir, uint8_t ret_key[RF_FRAME_KEY], struct rf_err *err);

void rf_sign_free(struct rf_sign *key);

/* Its public half. */
const uint8_t *rf_sign_key(const struct rf_sign *key);

int rf_sign(const struct rf_sign *key, const struct rf_sign_head *head,
	    uint8_t signature[RF_FRAME_SIGNED], struct rf_err *err);

bool rf_sign_is_good(const struct rf_sign *key, const struct rf_sign_head *head,
		     const uint8_t signature[RF_FRAME_SIGNED]);

#endif
