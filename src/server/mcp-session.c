/* Sessions of MCP's older eras: see mcp-session.h. */
#include "server/mcp-session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/mcp-visit.h"

static void unlink_session(struct rf_front *front, const struct rf_mcp_session *session)
{
	struct rf_mcp_session **at = &front->mcp_sessions;

	while (*at && *at != session)
		at = &(*at)->next;
	if (*at)
		*at = session->next;
}

void rf_mcp_session_end(struct rf_front *front, struct rf_mcp_session *session)
{
	unlink_session(front, session);
	while (session->visits) {
		struct rf_mcp_visit *visit = session->visits;

		session->visits = visit->next;
		visit->next = NULL;
		visit->session = NULL;
	}
	free(session->key);
	free(session);
}

void rf_mcp_session_end_all(struct rf_front *front)
{
	while (front->mcp_sessions)
		rf_mcp_session_end(front, front->mcp_sessions);
}

/* The last of the list was used longest ago. */
static void make_room(struct rf_front *front, const char *key)
{
	struct rf_mcp_session *oldest = NULL, *oldest_of_key = NULL;
	size_t count = 0, of_key = 0;

	for (struct rf_mcp_session *at = front->mcp_sessions; at; at = at->next) {
		oldest = at;
		count++;
		if (strcmp(at->key, key) == 0) {
			oldest_of_key = at;
			of_key++;
		}
	}
	if (of_key >= RF_MCP_SESSIONS_KEY)
		rf_mcp_session_end(front, oldest_of_key);
	else if (count >= RF_MCP_SESSIONS)
		rf_mcp_session_end(front, oldest);
}

struct rf_mcp_session *rf_mcp_session_new(struct rf_front *front, const struct rf_holder *holder,
					  const char *version)
{
	struct rf_mcp_session *session = calloc(1, sizeof(*session));
	unsigned char chance[16];

	if (!session || getrandom(chance, sizeof(chance), 0) != sizeof(chance) ||
	    !(session->key = strdup(holder->pass.key))) {
		free(session);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(chance); i++)
		snprintf(session->id + 2 * i, 3, "%02x", (unsigned)chance[i]);
	session->version = version;
	make_room(front, session->key);
	session->next = front->mcp_sessions;
	front->mcp_sessions = session;
	return session;
}

struct rf_mcp_session *rf_mcp_session_find(struct rf_front *front, const struct rf_holder *holder,
					   const char *id)
{
	for (struct rf_mcp_session *at = front->mcp_sessions; at; at = at->next) {
		if (strcmp(at->id, id) != 0 || strcmp(at->key, holder->pass.key) != 0)
			continue;
		unlink_session(front, at);
		at->next = front->mcp_sessions;
		front->mcp_sessions = at;
		return at;
	}
	return NULL;
}
