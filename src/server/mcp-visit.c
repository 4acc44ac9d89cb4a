/* One message that came to /mcp: see mcp-visit.h. */
#include "server/mcp-visit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/front.h"
#include "server/mcp-session.h"

#define TEXT_MOST (64u << 20)
#define TELL_NS   1000000000ull /* between two words about how far it is */
#define BREATHE_NS                                                                                 \
	15000000000ull /* between two that nobody reads, so that nobody on the way gives up */

void rf_mcp_visit_free(struct rf_mcp_visit *visit)
{
	struct rf_mcp_visit **at;

	if (!visit)
		return;
	if (&rf_mcp_more && rf_mcp_more.gone)
		rf_mcp_more.gone(visit);
	for (at = visit->session ? &visit->session->visits : NULL; at && *at; at = &(*at)->next)
		if (*at == visit) {
			*at = visit->next;
			break;
		}
	rf_event_cancel(visit->timer);
	rf_event_cancel(visit->more_timer);
	rf_mcp_message_done(&visit->message);
	free(visit->head.name);
	free(visit->path);
	free(visit);
}

/* ------------------------------------------------------------- answers */

/* The last word: as events if that is what was begun. */
static void send_last(struct rf_mcp_visit *visit, unsigned status, struct rf_buf *text)
{
	struct rf_api_call *call = visit->call;

	rf_event_cancel(visit->timer);
	visit->timer = NULL;
	if (call->is_stream) {
		rf_api_call_event(call, "message", text);
		rf_api_call_end(call);
		return;
	}
	rf_buf_puts(text, "\n");
	rf_api_call_answer(call, status, text);
}

void rf_mcp_visit_reply(struct rf_mcp_visit *visit, struct rf_buf *object, enum rf_mcp_cache cache)
{
	static const char own[] = ",\"ttlMs\":0,\"cacheScope\":\"private\"";
	static const char all[] = ",\"ttlMs\":60000,\"cacheScope\":\"public\"";
	size_t len = object->len;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, TEXT_MOST);
	if (object->has_failed || !object->data) {
		rf_mcp_visit_refuse(visit, RF_MCP_INTERNAL, NULL,
				    "there is no room for the answer");
		return;
	}
	while (len > 0 && object->data[len - 1] != '}')
		len--;
	rf_buf_puts(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
	rf_mcp_message_put(&out, visit->message.id);
	rf_buf_puts(&out, ",\"result\":");
	rf_buf_add(&out, object->data, len - 1);
	if (visit->is_modern) {
		const char *first = strspn(object->data, "{ \n") >= len - 1 ? "" : ",";

		rf_buf_printf(&out, "%s\"resultType\":\"%s\"", first,
			      visit->needs_input ? "input_required" : "complete");
		rf_buf_puts(&out, cache == RF_MCP_OWN ? own : cache == RF_MCP_FOR_ALL ? all : "");
		rf_buf_puts(&out, ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
				  "\"ringfort\",\"version\":\"" RF_VERSION "\"}}");
	}
	rf_buf_puts(&out, "}}");
	send_last(visit, 200, &out);
}

/* Of the era that begins with 2026-07-28, HTTP says it, too; before, it said nothing of what JSON-RPC says. */
static unsigned status_of(const struct rf_mcp_visit *visit, enum rf_mcp_code code)
{
	if (visit->is_malformed || code == RF_MCP_HEADER || code == RF_MCP_VERSION ||
	    code == RF_MCP_CAPABILITY)
		return 400;
	if (!visit->is_modern)
		return 200;
	return code == RF_MCP_NO_METHOD ? 404 : code == RF_MCP_BAD_PARAMS ? 400 : 200;
}

void rf_mcp_visit_refuse(struct rf_mcp_visit *visit, enum rf_mcp_code code, const char *data,
			 const char *fmt, ...)
{
	char words[512];
	va_list args;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 16 * 1024);
	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	rf_mcp_message_refuse(&out, visit->message.id, code, words, data);
	send_last(visit, status_of(visit, code), &out);
}

/* ------------------------------------------------------------- on the way */

static bool opens_stream(struct rf_mcp_visit *visit)
{
	if (!visit->takes_stream)
		return false;
	if (!visit->call->is_stream) {
		enum rf_api_state state = visit->call->state; /* it may still wait in a line */

		visit->call->more =
			(struct rf_field){ RF_SPAN("X-Accel-Buffering"), RF_SPAN("no") };
		rf_api_call_begin_events(visit->call);
		visit->call->state = state;
	}
	return true;
}

bool rf_mcp_visit_send(struct rf_mcp_visit *visit, const struct rf_buf *message)
{
	if (message->has_failed || !opens_stream(visit))
		return false;
	rf_api_call_event(visit->call, "message", message);
	return true;
}

bool rf_mcp_visit_tell(struct rf_mcp_visit *visit, const char *method, const char *params)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64 * 1024);
	rf_buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", method,
		      params);
	return rf_mcp_visit_send(visit, &out);
}

static void on_turn(void *data, int what)
{
	struct rf_mcp_visit *visit = data;
	uint64_t now = rf_loop_now();
	RF_AUTO_BUF struct rf_buf params;

	(void)what;
	rf_buf_init(&params, 1024);
	if (visit->token) {
		rf_buf_puts(&params, "{\"progressToken\":");
		rf_mcp_message_put(&params, visit->token);
		rf_buf_printf(&params, ",\"progress\":%llu,\"message\":\"%s\"}",
			      (unsigned long long)((now - visit->since_ns) / 1000000000u),
			      visit->call->state == RF_API_LINE ? "waits for a place" : "runs");
		rf_mcp_visit_tell(visit, "notifications/progress", params.data);
	} else if (opens_stream(visit)) {
		rf_api_call_keep_alive(visit->call);
	}
	rf_event_again(visit->timer, now + (visit->token ? TELL_NS : BREATHE_NS));
}

void rf_mcp_visit_watch(struct rf_mcp_visit *visit)
{
	struct rf_err ignored = RF_ERR_INIT;

	visit->since_ns = rf_loop_now();
	if (visit->takes_stream)
		rf_loop_timer(visit->call->front->loop,
			      visit->since_ns + (visit->token ? TELL_NS : BREATHE_NS), on_turn,
			      visit, &visit->timer, &ignored);
}
