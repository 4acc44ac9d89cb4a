/* What the clerk knows of who asks. */
#include "server/clerk-desk.h"

#include <stdio.h>

#include "base/json.h"
#include "server/api-key.h"

int rf_clerk_desk_key(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
		      struct rf_err *err)
{
	static const struct {
		unsigned scope;
		const char *name;
	} scopes[] = { { RF_SCOPE_READ, "read" },
		       { RF_SCOPE_RUN, "run" },
		       { RF_SCOPE_ADMIN, "admin" } };
	struct rf_json json;

	(void)err;
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "id", who->key);
	rf_json_string(&json, "tenant", who->tenant);
	rf_json_open_array(&json, "scopes");
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (who->scopes & scopes[i].scope)
			rf_json_string(&json, NULL, scopes[i].name);
	rf_json_close_array(&json);
	rf_json_string(&json, "ceiling", who->ceiling);
	rf_json_int(&json, "boxes", who->boxes);
	if (who->rate)
		rf_json_int(&json, "rate", who->rate);
	else
		rf_json_null(&json, "rate");
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	return 0;
}
