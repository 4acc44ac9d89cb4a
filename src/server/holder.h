/*
 * Who asks: a key that was shown, and the connections to the warden and to the clerk that were made on its terms.
 *
 * Counted: a request that is under way keeps its holder, also when the key was removed meanwhile.
 */
#ifndef RF_SERVER_HOLDER_H
#define RF_SERVER_HOLDER_H

#include <stdbool.h>

#include "base/sha256.h"
#include "server/admit.h"
#include "server/pass.h"
#include "server/petition.h"

struct ringfort;
struct rf_api_call;
struct rf_policy;

struct rf_holder {
	struct rf_holder *next; /* in the front's list */
	unsigned users;
	struct rf_pass_holder pass; /* without the ceiling's text: */
	struct rf_policy *ceiling;
	char *within; /* what the last request named that was not beyond it, or NULL */
	uint8_t token_hash[RF_SHA256_BYTES]; /* of the token that it was shown with */
	struct ringfort *fort;
	struct rf_petition_line clerk; /* the connection to the clerk */
	struct rf_admit admit;
	struct rf_api_call *first, **last; /* who waits for room */
	uint32_t waiting;
	size_t owed;        /* bytes of answers that clients have not read */
	bool is_withdrawn;  /* its connections are good for nothing: nothing more is begun */
	bool is_removed;    /* for its key was removed */
	size_t port_count;  /* connections of its to ports of sandboxes */
	size_t held;        /* bytes of its requests' bodies that are kept */
	unsigned watches;   /* folders that are watched for it */
	unsigned followers; /* of its tenant's events */
	unsigned sendings;  /* decisions of its about approvals that are under way */
};

/* Takes `*line`, the connection to the warden, and that to the clerk (or -1), also on failure.  NULL without memory, or without a ceiling that is one. */
struct rf_holder *rf_holder_new(const struct rf_pass_holder *pass, int *line, int *clerk,
				struct rf_err *err);
struct rf_holder *rf_holder_ref(struct rf_holder *holder);
void rf_holder_unref(struct rf_holder *holder);

/* Whether the token is the one that it was shown with; takes as long whatever differs. */
bool rf_holder_is_of(const struct rf_holder *holder, const uint8_t token_hash[RF_SHA256_BYTES]);

#endif
