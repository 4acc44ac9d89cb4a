/* Pages of other origins that may ask: see cors.h. */
#include "server/cors.h"

#include "base/fd.h"
#include "server/api-call-inside.h"
#include "server/front.h"

#define MAX_AGE "600" /* seconds for which a browser need not ask again */

/* What a script may send besides what any page may. */
#define MAY_SEND                                                                                   \
	"Authorization, X-API-Key, Content-Type, Accept, Range, Idempotency-Key, X-Request-Id, "   \
	"traceparent, tracestate, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, "           \
	"Mcp-Method, Mcp-Name"

/* What it may read of an answer besides that. */
#define MAY_READ                                                                                   \
	"X-Request-Id, Retry-After, traceparent, Location, Content-Range, Accept-Ranges, "         \
	"Content-Disposition, Allow, Mcp-Session-Id, X-Ringfort-Location"

void rf_cors_note(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span origin = rf_api_call_value(head, RF_SPAN("Origin"));

	for (char **at = call->front->rules.origins; origin.at && at && *at; at++)
		if (rf_span_is(origin, rf_span_of(*at)))
			call->origin = *at;
}

bool rf_cors_answer(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span wanted = rf_api_call_value(head, RF_SPAN("Access-Control-Request-Method"));
	struct rf_span sends = rf_api_call_value(head, RF_SPAN("Access-Control-Request-Headers"));
	struct rf_api_error error = { 0 };
	const struct rf_route *route;
	struct rf_route_parts parts;
	struct rf_field fields[3];
	bool is_relayed;

	if (!call->origin || !wanted.at || !rf_span_is(head->start.method, RF_SPAN("OPTIONS")))
		return false;
	/* A program behind a port may be asked for its own: by who has a key, which a browser does not send with this. */
	route = rf_route_find(RF_SPAN("OPTIONS"), head->start.url.path, &parts, &error);
	is_relayed = route && route->how & RF_ROUTE_RELAYED;
	if (is_relayed && (rf_api_call_value(head, RF_SPAN("Authorization")).at ||
			   rf_api_call_value(head, RF_SPAN("X-API-Key")).at))
		return false;
	/* No route has this method: the error says which ones there are. */
	rf_route_find(RF_SPAN("-"), head->start.url.path, &parts, &error);
	if (error.code != RF_API_NO_METHOD)
		return false;
	fields[0] = (struct rf_field){ RF_SPAN("Access-Control-Allow-Methods"),
				       rf_span_of(error.allow) };
	/* What a program understands is for its pages to know. */
	fields[1] = (struct rf_field){ RF_SPAN("Access-Control-Allow-Headers"),
				       is_relayed && sends.at ? sends : RF_SPAN(MAY_SEND) };
	fields[2] = (struct rf_field){ RF_SPAN("Access-Control-Max-Age"), RF_SPAN(MAX_AGE) };
	rf_api_call_answer_empty(call, 204, (struct rf_fields){ fields, RF_LEN(fields) });
	return true;
}

size_t rf_cors_put(const struct rf_api_call *call, struct rf_field *fields)
{
	if (!call->origin)
		return 0;
	fields[0] = (struct rf_field){ RF_SPAN("Access-Control-Allow-Origin"),
				       rf_span_of(call->origin) };
	fields[1] =
		(struct rf_field){ RF_SPAN("Access-Control-Expose-Headers"), RF_SPAN(MAY_READ) };
	fields[2] = (struct rf_field){ RF_SPAN("Vary"), RF_SPAN("Origin") };
	return 3;
}
