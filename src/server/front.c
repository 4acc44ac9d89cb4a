/* ringfort-front: see front.h. */
#include "server/front.h"

#include <errno.h>
#include <fcntl.h>
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pack.h"
#include "lib/fort.h"
#include "policy/key.h"
#include "server/airlock.h"
#include "server/api-key.h"
#include "server/background.h"
#include "server/confine.h"
#include "server/mcp-session.h"
#include "server/parley.h"
#include "server/tools.h"
#include "server/wicket.h"
#include "tls/tls.h"
#include "wire/wire.h"

#define CONNECTIONS 16384
#define POLICIES    32
#define KEY_MOST    200
#define DRAIN_NS    50000000ull

/* Requests are short, and answers may take long: a run's time is its policy's. */
static const struct rf_exchange_limits limits = {
	.http = {
		.head = { .first_bytes = 16 * 1024, .line_bytes = 8 * 1024, .all_bytes = 32 * 1024 },
		.trailer = { .first_bytes = 1024, .line_bytes = 1024, .all_bytes = 4096 },
		.body = { .line_bytes = 256, .extension_bytes = 4096, .body_bytes = UINT64_MAX }, /* each route has its own */
	},
	.head_ms = 10000,
	.idle_ms = 60000,
	.stall_ms = 30000,
	.out_bytes = 256 * 1024,
	.drain_bytes = 1024 * 1024,
	.heeds_client = true,
};

/* ------------------------------------------------------------- policies */

/* Those that were read last: most requests have the same. */
static struct known {
	char *text;
	struct ringfort_policy *policy;
	uint64_t used;
} policies[POLICIES];

static int read_policy(const char *text, struct ringfort_policy **ret_policy,
		       struct rf_api_error *error)
{
	struct ringfort_error why = RINGFORT_ERROR_INIT;

	if (ringfort_policy_parse(text, strlen(text), "/", ret_policy, &why) < 0) {
		rf_api_error_say(error, RF_API_INVALID, "policy", "policy: %s", why.message);
		return rf_api_error_hint(error, "%s", why.remedy);
	}
	if ((*ret_policy)->policy->values[RF_KEY_GRANTS].list.count > 0) {
		ringfort_policy_free(*ret_policy);
		rf_api_error_say(error, RF_API_INVALID, "policy.credentials",
				 "policy.credentials: a request has none of this machine's");
		return rf_api_error_hint(error,
					 "name the tenant's in `credentials`: `ringfort credential "
					 "set` keeps them");
	}
	return 0;
}

int rf_front_policy(struct rf_front *front, const char *text,
		    const struct ringfort_policy **ret_policy, struct rf_api_error *error)
{
	static uint64_t clock;
	struct known *oldest = policies;
	struct ringfort_policy *policy;

	(void)front;
	for (size_t i = 0; i < POLICIES; i++) {
		if (policies[i].text && strcmp(policies[i].text, text) == 0) {
			policies[i].used = ++clock;
			*ret_policy = policies[i].policy;
			return 0;
		}
		if (policies[i].used < oldest->used)
			oldest = &policies[i];
	}
	if (read_policy(text, &policy, error) < 0)
		return -1;
	free(oldest->text);
	ringfort_policy_free(oldest->policy);
	*oldest = (struct known){ strdup(text), policy, ++clock };
	*ret_policy = policy;
	return 0;
}

/* ------------------------------------------------------------- keys */

static void hash_token(struct rf_span token, uint8_t hash[RF_SHA256_BYTES])
{
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, token.at, token.len);
	rf_sha256_end(&sha, hash);
}

struct rf_holder *rf_front_look_up(struct rf_front *front, struct rf_api_call *call,
				   struct rf_span token, struct rf_err *err)
{
	hash_token(token, call->token_hash);
	for (struct rf_holder *at = front->holders; at; at = at->next)
		if (rf_holder_is_of(at, call->token_hash))
			return at;
	if (token.len > KEY_MOST) {
		rf_fail_say(err, -EACCES, "this is no key of this server's");
		rf_fail_hint(err, "`ringfort key create` makes one");
		return NULL;
	}
	if (rf_wire_send(front->host, RF_WIRE_FRONT_KEY, call->id, token.at, token.len, NULL, 0,
			 err) < 0)
		return NULL;
	call->next_awaiting = front->awaiting;
	front->awaiting = call;
	return NULL;
}

void rf_front_forget_call(struct rf_front *front, struct rf_api_call *call)
{
	struct rf_api_call **at = &front->awaiting;

	while (*at && *at != call)
		at = &(*at)->next_awaiting;
	if (*at)
		*at = call->next_awaiting;
}

static struct rf_api_call *take_awaiting(struct rf_front *front, uint64_t id)
{
	struct rf_api_call *call = front->awaiting;

	while (call && call->id != id)
		call = call->next_awaiting;
	if (call)
		rf_front_forget_call(front, call);
	return call;
}

static struct rf_holder *keep_holder(struct rf_front *front, struct rf_wire_message *message,
				     struct rf_err *err)
{
	struct rf_pass_holder pass;

	if (rf_pass_take_holder(message->body, message->len, &pass, err) < 0)
		return NULL;
	return rf_holder_new(&pass, &message->fds[0], &message->fds[1], err);
}

/* Two requests may have asked for the same key: the first answer is kept, and serves both. */
static void take_holder(struct rf_front *front, struct rf_wire_message *message)
{
	struct rf_api_call *call = take_awaiting(front, message->id);
	struct rf_err err = RF_ERR_INIT;
	struct rf_holder *holder = NULL;

	if (message->id == 0) {
		rf_holder_unref(front->local_holder);
		front->local_holder = keep_holder(front, message, &err);
		return;
	}
	if (!call)
		return; /* who asked is gone */
	for (holder = front->holders; holder && !rf_holder_is_of(holder, call->token_hash);)
		holder = holder->next;
	if (!holder) {
		holder = keep_holder(front, message, &err);
		if (holder) {
			memcpy(holder->token_hash, call->token_hash, sizeof(holder->token_hash));
			holder->next = front->holders;
			front->holders = holder;
		}
	}
	rf_api_call_admit(call, holder, &err);
}

static void take_stranger(struct rf_front *front, const struct rf_wire_message *message)
{
	struct rf_api_call *call = take_awaiting(front, message->id);
	struct rf_err why = RF_ERR_INIT;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, message->body, message->len);
	rf_pack_read_err(&in, &why);
	if (call)
		rf_api_call_admit(call, NULL, &why);
}

static void withdraw(struct rf_front *front, const struct rf_wire_message *message)
{
	struct rf_holder **at = &front->holders;

	while (*at) {
		struct rf_holder *holder = *at;

		if (strcmp(holder->pass.key, message->body) != 0) {
			at = &holder->next;
			continue;
		}
		*at = holder->next;
		holder->is_withdrawn = true;
		holder->is_removed = message->id != RF_PASS_STALE;
		rf_duplex_end(&front->duplexes, holder);
		rf_holder_unref(holder);
	}
	rf_parley_revoke(front, message->body);
}

/* Another clerk has come in place of one that died. */
static void take_clerk(struct rf_front *front, struct rf_wire_message *message)
{
	if (front->local_holder && strcmp(front->local_holder->pass.key, message->body) == 0)
		rf_petition_renew(&front->local_holder->clerk, &message->fds[0]);
	for (struct rf_holder *at = front->holders; at && message->fds[0] >= 0; at = at->next)
		if (strcmp(at->pass.key, message->body) == 0)
			rf_petition_renew(&at->clerk, &message->fds[0]);
}

/* ------------------------------------------------------------- who has the keys */

/* What is under way is answered; then it is over. */
static void on_drained(void *data, int what)
{
	struct rf_front *front = data;

	(void)what;
	if (front->calls == 0 && front->lines.count == 0)
		rf_loop_stop(front->loop);
	else
		rf_event_again(front->timer, rf_loop_now() + DRAIN_NS);
}

static void drain(struct rf_front *front)
{
	struct rf_err err = RF_ERR_INIT;

	front->is_draining = true;
	rf_http_server_rest(front->ports);
	rf_parley_drain(front);
	rf_duplex_end(&front->duplexes, NULL);
	if (!front->timer && rf_loop_timer(front->loop, rf_loop_now() + DRAIN_NS, on_drained, front,
					   &front->timer, &err) < 0)
		rf_loop_stop(front->loop);
}

static int take_rules(struct rf_front *front, const struct rf_wire_message *message,
		      struct rf_err *err)
{
	rf_pass_rules_done(&front->rules);
	free(front->rules_text);
	front->rules_text = malloc(message->len);
	if (!front->rules_text)
		return rf_fail(err, -ENOMEM, "the rules of serving");
	memcpy(front->rules_text, message->body, message->len);
	return rf_pass_take_rules(front->rules_text, message->len, &front->rules, err);
}

/* Nothing of the key is left where it was received. */
static int take_papers(struct rf_front *front, const struct rf_wire_message *message,
		       struct rf_err *err)
{
	struct rf_pass_tls tls;
	int code = rf_pass_take_tls(message->body, message->len, &tls, err);

	if (code == 0 && !front->airlock)
		code = rf_fail_say(err, -EPROTO, "no TLS was announced");
	if (code == 0)
		code = rf_airlock_secure(front->airlock, tls.certificate, tls.key, tls.clients,
					 err);
	explicit_bzero(front->in.data, front->in.room);
	return code;
}

static int take(struct rf_front *front, struct rf_wire_message *message, struct rf_err *err)
{
	switch (message->type) {
	case RF_WIRE_FRONT_BEGIN:
		if (take_rules(front, message, err) < 0)
			return err->code;
		front->is_ready = true;
		return rf_wire_send(front->host, RF_WIRE_FRONT_READY, 0, NULL, 0, NULL, 0, err);
	case RF_WIRE_FRONT_TLS:
		return take_papers(front, message, err);
	case RF_WIRE_FRONT_LISTEN:
		return rf_http_server_listen(front->ports, &message->fds[0], err);
	case RF_WIRE_FRONT_HOLDER:
		take_holder(front, message);
		return 0;
	case RF_WIRE_FRONT_STRANGER:
		take_stranger(front, message);
		return 0;
	case RF_WIRE_FRONT_GUEST:
		rf_http_server_adopt(message->id == RF_PASS_CONFINED ? front->ports : front->local,
				     &message->fds[0], err);
		return 0; /* one too many is turned away, and the rest go on */
	case RF_WIRE_FRONT_CLERK:
		take_clerk(front, message);
		return 0;
	case RF_WIRE_FRONT_REVOKED:
		withdraw(front, message);
		return 0;
	case RF_WIRE_FRONT_TOLD:
		rf_wicket_hear(front, message);
		return 0;
	default:
		drain(front);
		return 0;
	}
}

/* Without who has the keys there is nothing to serve. */
static void on_host(void *data, int what)
{
	struct rf_front *front = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(front->host, RF_WIRE_HOST, &front->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0 || take(front, &message, &err) < 0)
		rf_loop_stop(front->loop);
}

/* ------------------------------------------------------------- the whole */

static void allow_many_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Who made the pair of sockets, and us. */
static pid_t server_of(const struct rf_front *front)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(front->host, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : -1;
}

static int start(struct rf_front *front, bool speaks_tls, struct rf_err *err)
{
	allow_many_files();
	rf_tools_look();
	front->tools.find = rf_tools_find;
	front->ports_side = (struct rf_front_side){ front, false };
	front->local_side = (struct rf_front_side){ front, true };
	if (rf_loop_new(&front->loop, err) < 0 ||
	    rf_http_server_new(front->loop, &limits, CONNECTIONS, &rf_api_call_ops,
			       &front->ports_side, &front->ports, err) < 0 ||
	    rf_http_server_new(front->loop, &limits, CONNECTIONS, &rf_api_call_ops,
			       &front->local_side, &front->local, err) < 0 ||
	    rf_deadlines_new(front->loop, &front->lines.deadlines, err) < 0)
		return err->code;
	front->lines.loop = front->loop;
	if (speaks_tls) {
		rf_tls_prepare();
		if (rf_airlock_new(front->loop, front->ports, &front->airlock, err) < 0)
			return err->code;
	}
	rf_http_server_form(front->ports, rf_api_error_put_refusal);
	rf_http_server_form(front->local, rf_api_error_put_refusal);
	if (rf_confine_raise(server_of(front), err) < 0)
		return err->code;
	return rf_loop_watch(front->loop, front->host, RF_LOOP_READ, on_host, front,
			     &front->host_event, err);
}

int rf_front_serve(int host, bool speaks_tls, struct rf_err *err)
{
	struct rf_front *front = calloc(1, sizeof(*front));
	int code;

	if (!front)
		return rf_fail(err, -ENOMEM, "serve");
	front->host = host;
	front->started_ns = rf_loop_now();
	rf_buf_init(&front->in, RF_WIRE_ROOM);
	code = start(front, speaks_tls, err);
	if (code == 0)
		code = rf_loop_run(front->loop, err);
	rf_airlock_free(front->airlock);
	rf_http_server_free(front->ports);
	rf_http_server_free(front->local);
	rf_background_free_all(front);
	rf_parley_free_all(front);
	rf_duplex_end(&front->duplexes, NULL);
	rf_wsline_free_all(&front->lines);
	free(front->port_host);
	rf_deadlines_free(front->lines.deadlines);
	rf_mcp_session_end_all(front);
	while (front->holders) {
		struct rf_holder *holder = front->holders;

		front->holders = holder->next;
		rf_holder_unref(holder);
	}
	rf_holder_unref(front->local_holder);
	for (size_t i = 0; i < POLICIES; i++) {
		free(policies[i].text);
		ringfort_policy_free(policies[i].policy);
	}
	rf_pass_rules_done(&front->rules);
	free(front->rules_text);
	rf_buf_done(&front->in);
	rf_loop_free(front->loop);
	free(front);
	return code;
}
