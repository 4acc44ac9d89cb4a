/*
 * An API key: who a stranger is, what it may ask for, and how much of it.
 *
 * What is shown to a server is a token, `rfk_ID_SECRET`: the id finds the key, and 256 random bits prove it.  Only their SHA-256 is kept: a secret
 * that nobody can guess needs no slow hash.  Pure: no system call.
 */
#ifndef RF_SERVER_API_KEY_H
#define RF_SERVER_API_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "wire/terms.h"

#define RF_API_KEY_MARK   "rfk_"            /* what every token begins with */
#define RF_API_KEY_ID     13                /* bytes of an id, with a NUL: 12 hex digits */
#define RF_API_KEY_SECRET 32                /* bytes */
#define RF_API_KEY_TOKEN  82                /* bytes of a token, with a NUL */
#define RF_API_KEY_BYTES  (2 * 1024 * 1024) /* of one that is written down */

/* What a key is good for: each covers those before it but for RUN, which READ does not. */
enum rf_scope {
	RF_SCOPE_READ = 1,  /* see what there is */
	RF_SCOPE_RUN = 2,   /* make boxes and run programs; and see */
	RF_SCOPE_ADMIN = 4, /* that, and what is of the server as a whole */
	RF_SCOPE_OPERATOR =
		8 /* no key's: whose server it is, about writes of all tenants (office.h) */
};

struct rf_api_key {
	char id[RF_API_KEY_ID];
	uint8_t hash[RF_SHA256_BYTES]; /* of the secret */
	unsigned scopes;               /* enum rf_scope bits, at least one */
	char tenant[RF_TERMS_NAME];    /* keys of one tenant share what they make */
	char name[RF_TERMS_NAME];      /* for people, or "" */
	char *ceiling;                 /* a policy's text; owned */
	uint32_t boxes;                /* at once */
	struct rf_terms_sums sums;     /* that they have together; 0: any */
	uint32_t rate;   /* requests that start something, a minute; 0: as many as they like */
	int64_t created; /* seconds since 1970 */
};

/* What keys have where nothing else was said. */
#define RF_API_KEY_BOXES 64
extern const char rf_api_key_ceiling[];

void rf_api_key_done(struct rf_api_key *key);

/* Takes a token apart; strictly: there is one spelling of each.  False if it is none. */
bool rf_api_key_take_token(const char *text, size_t len, char ret_id[RF_API_KEY_ID],
			   uint8_t ret_secret[RF_API_KEY_SECRET]);

/* Puts one together. */
void rf_api_key_put_token(const char *id, const uint8_t secret[RF_API_KEY_SECRET],
			  char ret_token[RF_API_KEY_TOKEN]);

/* Whether the secret is this key's; takes as long whatever is wrong with it. */
bool rf_api_key_is_proven(const struct rf_api_key *key, const uint8_t secret[RF_API_KEY_SECRET]);
void rf_api_key_hash(const uint8_t secret[RF_API_KEY_SECRET], uint8_t ret_hash[RF_SHA256_BYTES]);

/* "run,read" into bits, and back; `text` of at least 32 bytes. */
int rf_api_key_parse_scopes(const char *text, unsigned *ret_scopes, struct rf_err *err);
const char *rf_api_key_format_scopes(unsigned set, char *text);

/* Letters, digits, `-`, `_` and `.`, up to 63 of them. */
bool rf_api_key_is_name(const char *text);

/* As JSON, for a file; `is_whole`: with hash and ceiling.  And back, strictly: gives `*ret_key`. */
void rf_api_key_format(const struct rf_api_key *key, bool is_whole, struct rf_buf *out);
int rf_api_key_read(const char *text, size_t len, struct rf_api_key *ret_key, struct rf_err *err);

#endif
