/*
 * One message that came to /mcp, until it is answered: with one object of JSON, or, where something is told meanwhile, with a stream of them.
 *
 * The two eras of the protocol differ in what surrounds a result; who makes one need not know.
 */
#ifndef RF_SERVER_MCP_VISIT_H
#define RF_SERVER_MCP_VISIT_H

#include "server/api-call.h"
#include "server/mcp-message.h"
#include "server/mcp-tool.h"

#define RF_MCP_MODERN "2026-07-28"

struct rf_mcp_session;

/* What its HTTP head says besides; "" where it says nothing. */
struct rf_mcp_head {
	char version[40], method[RF_MCP_METHOD + 1], session[80];
	char *name; /* or NULL */
	bool has_version, has_method;
};

struct rf_mcp_visit {
	struct rf_api_call *call;
	struct rf_mcp_head head;
	struct rf_mcp_message message;
	bool is_modern;
	bool takes_stream;              /* the client reads events, too */
	bool is_malformed;              /* and HTTP is to say so, whatever the era */
	bool needs_input;               /* its result is a question; of tests' tools */
	struct rf_mcp_session *session; /* of the older era, or NULL */
	struct rf_mcp_visit *next;      /* in its list */
	const struct rf_mcp_tool *tool; /* that was called, or NULL */
	const char *uri;                /* that is read, or NULL */
	uint64_t size;                  /* of a file that is read, however much of it is told */
	char *path;                     /* what file a tool is about, for its answer; or NULL */
	const struct rf_jsonread_value *token; /* of who wants to hear how far it is, or NULL */
	struct rf_event *timer;
	uint64_t since_ns;
	struct rf_event *more_timer; /* what tests' tools wait for */
	unsigned step;               /* and how far they are */
};

void rf_mcp_visit_free(struct rf_mcp_visit *visit);

/* What can be kept by whoever asked: for how long, and whether others may be shown it. */
enum rf_mcp_cache {
	RF_MCP_UNTOLD,  /* nothing is said */
	RF_MCP_FOR_ALL, /* a minute, and the same for everybody */
	RF_MCP_OWN,     /* not at all */
};

/* Answers with `object`, the text of an object of JSON, as the result.  Empties it. */
void rf_mcp_visit_reply(struct rf_mcp_visit *visit, struct rf_buf *object, enum rf_mcp_cache cache);

/* Refuses the message itself; `data` is JSON, or NULL. */
void rf_mcp_visit_refuse(struct rf_mcp_visit *visit, enum rf_mcp_code code, const char *data,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A notification on the way to the answer, `params` as JSON.  False: the client reads none, and it is not sent. */
bool rf_mcp_visit_tell(struct rf_mcp_visit *visit, const char *method, const char *params);

/* The same for any message of ours, as JSON. */
bool rf_mcp_visit_send(struct rf_mcp_visit *visit, const struct rf_buf *message);

/* From now on who waits is told now and then that it goes on. */
void rf_mcp_visit_watch(struct rf_mcp_visit *visit);

/* ------------------------------------------------------------- what tests add */

/*
 * Tools, prompts and resources that the conformance suite of MCP asks servers for.  A front that is installed has none of them: they are linked into a program of the tests', and
 * this is their only way in.
 */
struct rf_mcp_more {
	void (*put_tools)(struct rf_buf *out);          /* as in rf_mcp_tool_list */
	const char *capabilities, *modern_capabilities; /* JSON, without braces */
	/* True: it is answered, or will be. */
	bool (*take)(struct rf_mcp_visit *visit);
	/* An answer of the client's, to a question. */
	void (*heard)(const struct rf_mcp_session *session, const struct rf_mcp_message *message);
	/* A visit is over. */
	void (*gone)(struct rf_mcp_visit *visit);
};

extern const struct rf_mcp_more rf_mcp_more __attribute__((weak));

#endif
