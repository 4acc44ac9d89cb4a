/*
 * Anchors: how far a log went, told to somebody who does not keep the log.
 *
 * A hash chain shows every change but one: cut its end off, and what is left is a chain.  So every signed
 * head also goes as a line of text to a place that the store's owner can't take it back from: the
 * machine's syslog, or a file of another owner.  `audit verify` holds the log against these lines.
 */
#ifndef RF_AUDIT_ANCHOR_H
#define RF_AUDIT_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/sign.h"
#include "base/err.h"

#define RF_ANCHOR_LINE   512 /* bytes of a line */
#define RF_ANCHOR_SYSLOG "syslog"

struct rf_anchor_line {
	struct rf_sign_head head;
	uint8_t key[RF_FRAME_KEY];
	uint8_t signature[RF_FRAME_SIGNED];
};

/* One line, with its newline; at least RF_ANCHOR_LINE bytes.  Gives its length. */
size_t rf_anchor_format(const struct rf_anchor_line *line, char *text);

/* Finds one in a line of text, whatever a logger has put before it.  False if there is none. */
bool rf_anchor_parse(const char *text, size_t len, struct rf_anchor_line *ret_line);

/* Tells it to `where`: RF_ANCHOR_SYSLOG, or a file, to whose end it goes.  0 or a negative errno. */
int rf_anchor_tell(const char *where, const struct rf_anchor_line *line);

/* What a file says of the chain and the key (NULL: any): its heads by their numbers, to be freed with free(). */
struct rf_anchor_heads {
	struct rf_sign_head *heads;
	size_t count;
	size_t others; /* good lines of other chains or keys */
	size_t forged; /* lines whose signature is not good */
};

int rf_anchor_read(const char *path, const uint8_t chain[RF_AUDIT_HASH], const struct rf_sign *key,
		   struct rf_anchor_heads *ret_heads, struct rf_err *err);

#endif
