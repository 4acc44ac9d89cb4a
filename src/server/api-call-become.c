/* A request that stands for another one: see api-call.h. */
#include <stdlib.h>
#include <string.h>

#include "server/api-call-inside.h"
#include "server/api-key.h"

static void refuse_scope(struct rf_api_call *call, const struct rf_route *route)
{
	struct rf_api_error error;
	char text[32];

	rf_api_error_say(&error, RF_API_FORBIDDEN, "Authorization",
			 "this key is not good for that");
	rf_api_error_hint(&error, "it takes a key with scope %s",
			  rf_api_key_format_scopes(route->scope, text));
	rf_api_call_fail(call, &error);
}

void rf_api_call_become(struct rf_api_call *call, const char *method, const char *path,
			struct rf_buf *query, struct rf_buf *body,
			void (*serve)(struct rf_api_call *call),
			void (*on_answer)(struct rf_api_call *call, unsigned status,
					  const struct rf_buf *bytes,
					  const struct rf_api_error *error))
{
	const struct rf_route *route;
	struct rf_api_error error;

	call->on_answer = on_answer;
	call->wants_stream = call->wants_raw = false;
	route = rf_route_find(rf_span_of(method), rf_span_of(path), &call->parts, &error);
	if (!route) {
		rf_api_call_fail(call, &error);
		return;
	}
	call->route = route;
	free(call->query);
	call->query = query->len ? rf_buf_take(query) : NULL;
	rf_buf_done(&call->body);
	call->body = *body;
	*body = (struct rf_buf){ 0 };
	if (route->scope && !(call->holder->pass.scopes & route->scope))
		refuse_scope(call, route);
	else if (rf_api_call_check_query(call, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		(serve ? serve : route->serve)(call);
}
