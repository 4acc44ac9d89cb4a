/*
 * A tenant's events as they are written, for who follows them: GET /v1/audit with Accept: text/event-stream.
 *
 * The log is the watcher's, which knows nobody who follows; so the clerk is asked for what came behind a cursor, again and again: soon where something came, more and more seldom
 * where nothing does, once a second at least.  Such a question costs the clerk a look at the end of one file (clerk-audit.c remembers where it has read), and a
 * key has few of them.  Waking followers by a message for each event was weighed: it costs something for every event of every tenant, and a page must be read for it all the same.
 */
#ifndef RF_SERVER_FOLLOW_H
#define RF_SERVER_FOLLOW_H

#include "server/api-call.h"
#include "server/audit-ask.h"

/* Begins, with what the request asks for; a Last-Event-ID that was heeded counts more than its cursor. */
void rf_follow_begin(struct rf_api_call *call, const struct rf_audit_ask_events *ask);

#endif
