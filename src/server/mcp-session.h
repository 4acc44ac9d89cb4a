/*
 * Sessions of MCP's older eras: what `initialize` began, until DELETE, or until others need the room.
 *
 * A session is its key's: with another key there is none of that id.  It holds little that counts (a version, which requests are under way), and a client whose session is gone is told
 * so, and begins another.  So there is a most, and the one that was used longest ago makes room.
 */
#ifndef RF_SERVER_MCP_SESSION_H
#define RF_SERVER_MCP_SESSION_H

#include "server/front.h"

#define RF_MCP_SESSIONS     1024 /* of all keys */
#define RF_MCP_SESSIONS_KEY 128  /* of one */

struct rf_mcp_visit;

struct rf_mcp_session {
	struct rf_mcp_session *next; /* the one that was used last comes first */
	char id[33];
	char *key;                   /* whose it is */
	const char *version;         /* that was agreed upon */
	bool can_sample, can_elicit; /* what the client has said that it can do */
	struct rf_mcp_visit *visits; /* requests that are under way */
};

/* Gives a new one; NULL without memory or chance. */
struct rf_mcp_session *rf_mcp_session_new(struct rf_front *front, const struct rf_holder *holder,
					  const char *version);

/* The one of that id, if it is this key's; NULL: there is none. */
struct rf_mcp_session *rf_mcp_session_find(struct rf_front *front, const struct rf_holder *holder,
					   const char *id);

/* Ends it; what is under way is answered all the same. */
void rf_mcp_session_end(struct rf_front *front, struct rf_mcp_session *session);
void rf_mcp_session_end_all(struct rf_front *front);

#endif
