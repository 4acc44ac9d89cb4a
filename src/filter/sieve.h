/*
 * Bytes on their way to a box, with secrets masked.
 *
 * What passes keeps its length: each byte of a secret becomes a `*`, so a length that was announced still holds, and JSON and
 * HTML stay what they were.  Nothing is dropped.  Bytes are held back only while they may be the beginning of a secret, however they
 * are cut: the same bytes in other pieces give the same bytes and the same counts.  Where held bytes wait too long for the rest,
 * rf_sieve_flush() lets them go: what a rule holds, and of a known secret's first bytes a few (rf_exact_loose()).
 */
#ifndef RF_FILTER_SIEVE_H
#define RF_FILTER_SIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "filter/exact.h"
#include "filter/tokens.h"

#define RF_SIEVE_PIECE (32 * 1024) /* bytes looked at in one go: they stay in the cache */
#define RF_SIEVE_IDS   1024        /* ids of known secrets that are counted one by one */

struct rf_own;

/* What is looked for.  Shared by many streams; borrowed, and stays as it is. */
struct rf_sieve_set {
	struct rf_exact *exact;
	struct rf_own *own; /* or NULL */
	bool has_rules;
};

struct rf_sieve_secret {
	const void *value;
	size_t len;
};

struct rf_sieve_config {
	const struct rf_sieve_secret *secrets;
	unsigned secret_count; /* at most RF_SIEVE_IDS; the number of one is its id */
	bool has_rules;        /* the rules of tokens.h */
	const char *const *own_rules;
	unsigned own_count; /* at most RF_OWN_MAX */
};

/*
 * Gives a set that is to be freed with rf_sieve_set_free(), which wipes the secrets.  `config` is borrowed for the call.
 * Secrets shorter than RF_EXACT_MIN are passed over: `*ret_skipped` is how many.
 */
int rf_sieve_set_new(const struct rf_sieve_config *config, struct rf_sieve_set **ret_set,
		     unsigned *ret_skipped, struct rf_err *err);
void rf_sieve_set_free(struct rf_sieve_set *set);

/* How often something was masked in one stream. */
struct rf_sieve_counts {
	uint64_t secrets;              /* known secrets, in any form */
	uint64_t rules[RF_TOKENS_MAX]; /* by number: rf_tokens_name() */
	uint64_t own;                  /* all of the policy's own rules */
	uint64_t bytes;                /* that became a mask */
};

struct rf_sieve;

/* Borrows `set`. */
int rf_sieve_new(const struct rf_sieve_set *set, struct rf_sieve **ret_sieve, struct rf_err *err);
void rf_sieve_free(struct rf_sieve *sieve);

/* Appends to `out` what may pass.  Returns 0 or a negative errno, after which the stream must end. */
int rf_sieve_feed(struct rf_sieve *sieve, const char *data, size_t len, struct rf_buf *out);

/* Lets go of what a rule holds back, masked as far as it is a match already; and of what may begin a known secret, the first bytes. */
int rf_sieve_flush(struct rf_sieve *sieve, struct rf_buf *out);

/* The end: everything passes. */
int rf_sieve_finish(struct rf_sieve *sieve, struct rf_buf *out);

/* How many bytes are held back. */
size_t rf_sieve_held(const struct rf_sieve *sieve);

const struct rf_sieve_counts *rf_sieve_counted(const struct rf_sieve *sieve);

#endif
