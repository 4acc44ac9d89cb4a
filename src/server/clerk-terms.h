/*
 * What is said to who does, for strangers, what takes the operator's rights: whose a connection is, and what is asked on it.
 *
 * Who has the keys makes one connection for each key and says its terms; the front asks on it.  Tenant, ceiling and scopes are the
 * connection's, so nothing that the front says can change them.  docs/protocols/clerk.md tells the conversation.
 */
#ifndef RF_SERVER_CLERK_TERMS_H
#define RF_SERVER_CLERK_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/terms.h"

/* In $RUN, where the operator's own commands are given a connection (office.h); and what is recorded as the key of who comes there: no key has such an id. */
#define RF_CLERK_TERMS_SOCKET   "operator.sock"
#define RF_CLERK_TERMS_OPERATOR "operator"

/* The questions there are; clerk-table.c says of each who may ask it and who answers. */
enum rf_clerk_question {
	RF_CLERK_KEY = 1,  /* what this connection's key is good for */
	RF_CLERK_PASSAGE,  /* a box's way out (fare.h) */
	RF_CLERK_AUDIT,    /* events of its tenant (audit-ask.h) */
	RF_CLERK_BREAKERS, /* of its tenant's agents */
	RF_CLERK_BREAKER,  /* one to be opened or closed (audit-ask.h) */
	RF_CLERK_FIGURES,  /* the watcher's */
	/* Workspaces of its tenant; the body is a packed name, but for the first two and the last two: */
	RF_CLERK_WORKSPACE_MAKE, /* name ("": a sandbox's own), of which, and which checkpoint it begins with */
	RF_CLERK_WORKSPACE_LIST, /* nothing */
	RF_CLERK_WORKSPACE_GET,
	RF_CLERK_WORKSPACE_REMOVE,
	RF_CLERK_WORKSPACE_ROOM,   /* is there room for all of its files once more? */
	RF_CLERK_WORKSPACE_SEND,   /* name, number: what a fork has laid aside goes to its origin */
	RF_CLERK_WORKSPACE_SETTLE, /* the same, and whether it was applied there */
	/* Agents of its tenant (agent-ask.h) */
	RF_CLERK_AGENT_MAKE,
	RF_CLERK_AGENT_LIST,
	RF_CLERK_AGENT_GET, /* the body is a packed name */
	RF_CLERK_AGENT_REMOVE,
	RF_CLERK_AGENT_USE, /* for a box */
	RF_CLERK_AGENT_REPLACE,
	/* Writes of its tenant's boxes that wait (approval-ask.h): */
	RF_CLERK_APPROVALS, /* all of them */
	RF_CLERK_APPROVAL,  /* a packed id: one, with its message */
	RF_CLERK_DECIDE, /* a decision; with a connection on which what is approved is answered */
	RF_CLERK_FOLLOW, /* events of its tenant, for who follows them (audit-ask.h) */
	RF_CLERK_QUESTIONS
};

struct rf_clerk_terms {
	struct rf_terms terms;
	uint32_t scopes; /* enum rf_scope bits */
	uint32_t rate;
};

/* One question: its number, and what is particular to it. */
struct rf_clerk_ask {
	enum rf_clerk_question question;
	const char *body; /* borrowed */
	size_t len;
};

/* Each writes (borrows), or reads and borrows; reading fails with -EBADMSG. */
void rf_clerk_terms_pack(const struct rf_clerk_terms *terms, struct rf_buf *out);
int rf_clerk_terms_unpack(const void *data, size_t len, struct rf_clerk_terms *ret_terms,
			  struct rf_err *err);
void rf_clerk_terms_pack_ask(const struct rf_clerk_ask *ask, struct rf_buf *out);
int rf_clerk_terms_unpack_ask(const void *data, size_t len, struct rf_clerk_ask *ret_ask,
			      struct rf_err *err);

/* Makes a connection on these terms, by way of that to the clerk.  Gives `*ret_fd`: neither end of it waits. */
int rf_clerk_terms_connect(int clerk, const struct rf_clerk_terms *terms, int *ret_fd,
			   struct rf_err *err);

#endif
