/*
 * What the front asks the clerk about agents of its tenant's (wire/tenant-agent.h), and what it gets of one that is to be used.
 */
#ifndef RF_SERVER_AGENT_ASK_H
#define RF_SERVER_AGENT_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/tenant-agent.h"

#define RF_AGENT_ASK_MOST (RF_MAX_POLICY_BYTES + 16 * 1024) /* bytes of a question */

/* One to be made. */
struct rf_agent_ask_new {
	const char *name, *about; /* about: or "" */
	const char *workspace;    /* one that there is; "": one of its own */
	char **labels;            /* NULL-ended "NAME=VALUE" */
	const char *policy;       /* text */
};

/* A page of a list. */
struct rf_agent_ask_page {
	uint32_t limit;
	const char *cursor;        /* behind which name, or "" */
	const char *label, *value; /* "": any */
};

/* One to be removed. */
struct rf_agent_ask_end {
	const char *name;
	bool keeps_workspace;
};

/* One that a box is to be for: asked with the box's own policy, and answered with its workspace and both policies in one. */
struct rf_agent_ask_use {
	const char *name; /* or, of the answer, of its workspace */
	const char *policy;
	const char *
		agent; /* of the answer: the agent's policy alone, which bounds the request; else "" */
};

void rf_agent_ask_put_new(const struct rf_agent_ask_new *ask, struct rf_buf *out);
void rf_agent_ask_put_page(const struct rf_agent_ask_page *ask, struct rf_buf *out);
void rf_agent_ask_put_end(const struct rf_agent_ask_end *ask, struct rf_buf *out);
void rf_agent_ask_put_use(const struct rf_agent_ask_use *ask, struct rf_buf *out);

/* Each borrows from `data`, but for the labels, which are to be freed with free().  Fails with -EBADMSG. */
int rf_agent_ask_take_new(const void *data, size_t len, struct rf_agent_ask_new *ret_ask,
			  struct rf_err *err);
int rf_agent_ask_take_page(const void *data, size_t len, struct rf_agent_ask_page *ret_ask,
			   struct rf_err *err);
int rf_agent_ask_take_end(const void *data, size_t len, struct rf_agent_ask_end *ret_ask,
			  struct rf_err *err);
int rf_agent_ask_take_use(const void *data, size_t len, struct rf_agent_ask_use *ret_ask,
			  struct rf_err *err);

#endif
