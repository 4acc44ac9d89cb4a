/*
 * Secrets whose form says what they are: rules for what well-known issuers hand out.
 *
 * A rule is an anchor ("ghp_") and a shape behind it, and a look at what was found, so that an example in a manual or a name in a
 * program is not taken for a key.  High precision is the aim: what a rule finds is masked in what a program reads, and a wrong
 * mask is a bug that its author can't see.
 *
 * Pure, and the same wherever the bytes are cut: what can't be decided before more bytes are there is said to be open, and
 * is asked for again.  Only the anchor stays to be seen of what was found.
 */
#ifndef RF_FILTER_TOKENS_H
#define RF_FILTER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#define RF_TOKENS_MAX    80          /* rules */
#define RF_TOKENS_BEHIND 3           /* bytes before a place that a rule looks at */
#define RF_TOKENS_KEY    (64 * 1024) /* bytes of a private key's text, at most */

/* How many rules there are, and what the one with this number is called, and what it finds. */
unsigned rf_tokens_count(void);
const char *rf_tokens_name(unsigned rule);
const char *rf_tokens_what(unsigned rule);

/* The rule of private keys, which are found in their own way: see rf_tokens_key(). */
unsigned rf_tokens_key_rule(void);

/* Is told of the bytes to be masked, in order. */
typedef void rf_tokens_found(void *context, size_t at, size_t len, unsigned rule);

/*
 * Tells of what begins at `from` or later, and returns where the first thing begins that is not decided yet: nothing from there on
 * was told, and the next call begins there.  `len` if everything is, which it is when `is_end` says that no more comes.
 * Up to RF_TOKENS_BEHIND bytes before `from` are looked at.
 */
size_t rf_tokens_scan(const char *data, size_t len, size_t from, bool is_end,
		      rf_tokens_found *found, void *context);

/* The first line of a private key begins so; rf_tokens_key() tells if it is one. */
#define RF_TOKENS_KEY_MARK "-----BEGIN "

/*
 * Looks at bytes that begin with RF_TOKENS_KEY_MARK.  Returns 1 if a private key's text follows, and where it begins; 0 if not;
 * -1 if more bytes have to be seen.
 */
int rf_tokens_key(const char *data, size_t len, bool is_end, size_t *ret_text);

/* How a byte belongs to a private key's text, whose last byte was `before`. */
enum rf_tokens_part {
	RF_TOKENS_SECRET, /* to be masked */
	RF_TOKENS_BREAK,  /* between lines; stays */
	RF_TOKENS_OVER,   /* no part of it */
};
enum rf_tokens_part rf_tokens_key_part(char c, char before);

#endif
