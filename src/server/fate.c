/* Why there is no such sandbox: see fate.h. */
#include "server/fate.h"

#include <stdlib.h>
#include <string.h>

#include "server/front.h"
#include "server/wicket.h"

#define PATH "/v1/sandboxes/{id}"

/* A word of the warden's, or a sentence of the server's. */
static const struct {
	const char *word, *sentence;
} words[] = {
	{ "deleted", "it was deleted" },         { "idle", "nobody used it for its idle_timeout" },
	{ "timeout", "its timeout was over" },   { "memory", "it reached limits.memory" },
	{ "cpu", "it reached limits.cpu_time" }, { "disk", "it reached limits.disk" },
	{ "killed", "it was killed" },           { "failed", "it failed" },
};

static const char *sentence_of(const char *why)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, why) == 0)
			return words[i].sentence;
	return why;
}

static void on_told(struct rf_api_call *call, const struct rf_pass_told *told)
{
	struct rf_api_error error = *call->fated;

	if (told->verdict == RF_PASS_STORED && told->text[0]) {
		rf_api_error_say(&error, RF_API_NOT_FOUND, "id", "sandbox `%.24s` has ended: %s",
				 call->parts.part[0], sentence_of(told->text));
		rf_api_error_hint(&error, "make another one");
	}
	rf_api_call_fail(call, &error);
}

bool rf_fate_ask(struct rf_api_call *call, const struct rf_api_error *error)
{
	struct rf_pass_question question = { .asked = RF_PASS_FATE, .name = call->parts.part[0] };

	if (error->code != RF_API_NOT_FOUND || strcmp(error->where, "id") != 0 || call->fated ||
	    !call->holder || !call->x || call->is_stream || call->on_answer || call->on_told ||
	    call->route->how & RF_ROUTE_STREAMED ||
	    strncmp(call->route->path, PATH, strlen(PATH)) != 0)
		return false;
	call->fated = malloc(sizeof(*call->fated));
	if (!call->fated)
		return false;
	*call->fated = *error;
	return rf_wicket_ask(call, &question, on_told);
}
