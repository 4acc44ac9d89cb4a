/* Credentials of requests whose policy changes under way: src/gateway/credentials.c. */
#include "gateway/credentials.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/note.h"
#include "harness.h"
#include "policy/net.h"

static char told[64]; /* the last event's reason */

static void note_reason(struct rf_note *note, struct rf_gate_event *event)
{
	(void)note;
	snprintf(told, sizeof(told), "%s", event->reason ? event->reason : "");
}

#define rf_note_tell note_reason
#include "gateway/credentials.c"

#define HEAD "version: 1\nnetwork: {allow: [POST api.example.org]}\n"
#define KEY                                                                                        \
	"credentials: {key: {from: \"env:KEY\", hosts: [api.example.org], header: \"X-Key: "       \
	"{}\"}}\n"

static struct rf_net *make_net(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_net *net = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0 &&
			   rf_net_make(policy, &net, &err) == 0,
		   "%s", err.msg);
	rf_policy_free(policy);
	return net;
}

/* A request that was looked at before its body came, and again when it had come: by another policy. */
static enum rf_forward_wish send_over_a_change(const char *later, bool has_placeholder,
					       struct rf_forward_message *ret_request)
{
	static const struct rf_gate_credential one = { "key", "the-value",
						       "RF-PLACEHOLDER-1234567890" };
	static struct rf_forward_place place = { .port = 443, .is_tls = true };
	static struct rf_field fields[8];
	const struct rf_gate_open open = { .credentials = &one, .credential_count = 1 };
	struct rf_outlet outlet = { .net = make_net(HEAD KEY) };
	struct rf_refusal refusal;
	struct rf_err err = RF_ERR_INIT;
	enum rf_forward_wish wish;
	void *all = NULL, *own = NULL;

	RF_REQUIRE(rf_host_parse(RF_SPAN("api.example.org"), &place.host) == RF_FAULT_NONE, "host");
	RF_REQUIRE(rf_credentials_open(&outlet, &open, &all, &err) == 0, "%s", err.msg);
	*ret_request = (struct rf_forward_message){
		.place = &place,
		.arena = rf_arena_new(),
		.method = RF_SPAN("POST"),
		.path = RF_SPAN("/v1"),
		.fields = fields,
		.room = RF_LEN(fields),
		.body = RF_BODY_LENGTH,
		.length = 4,
	};
	if (has_placeholder)
		fields[ret_request->count++] =
			(struct rf_field){ RF_SPAN("X-Key"), rf_span_of(one.placeholder) };
	RF_CHECK(filter.gathers(all, &own, ret_request) > 0, "its body is not waited for");
	ret_request->gathered = RF_SPAN("body");
	if (later) {
		rf_net_free(outlet.net);
		outlet.net = make_net(later);
	}
	wish = filter.on_request(all, &own, ret_request, &refusal);
	filter.on_end(all, &own);
	rf_arena_free(ret_request->arena);
	rf_net_free(outlet.net);
	rf_credentials_close(&outlet, all);
	return wish;
}

RF_TEST(a_request_carries_its_credential)
{
	struct rf_forward_message request;

	RF_CHECK(send_over_a_change(NULL, false, &request) == RF_FORWARD_LEAVE, "refused: %s",
		 told);
	RF_CHECK(request.count == 1, "%zu fields", request.count);
}

RF_TEST(one_that_the_policy_lost_meanwhile_is_not_sent)
{
	struct rf_forward_message request;

	RF_CHECK(send_over_a_change(HEAD, false, &request) != RF_FORWARD_REFUSE, "refused: %s",
		 told);
	RF_CHECK(request.count == 0, "it was sent");
	RF_CHECK(send_over_a_change(HEAD, true, &request) == RF_FORWARD_REFUSE,
		 "a placeholder is passed on");
}

RF_TEST(nor_where_its_host_is_allowed_no_more)
{
	struct rf_forward_message request;

	send_over_a_change("version: 1\nnetwork: {allow: [api.example.net]}\n" KEY, false,
			   &request);
	RF_CHECK(request.count == 0, "it was sent");
}
