/* What the key that is shown is good for. */
#include "server/ask-clerk.h"
#include "server/handlers.h"

void rf_serve_key(struct rf_api_call *call)
{
	rf_ask_clerk_json(call, RF_CLERK_KEY, NULL, false);
}
