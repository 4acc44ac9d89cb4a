/* Credentials of a box: see credentials.h. */
#include "gateway/credentials.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "filter/exact.h"
#include "gateway/edict.h"
#include "gateway/inject.h"
#include "gateway/spend.h"
#include "gateway/vault.h"

#define MS          1000000ull
#define GATHER      (256u * 1024) /* bodies up to this are looked through before anything is sent */
#define GATHER_SIGN (8u * 1024 * 1024) /* and up to this where they are signed */
#define TAIL        (128u * 1024)      /* bytes that a form of a placeholder may be long */

static_assert(RF_GATE_CREDENTIALS <= 64, "a bit for each");

struct secret {
	struct rf_span name, value, placeholder;
	struct rf_spend spent, paid; /* in this box, where nobody keeps books on all */
	uint64_t uses;               /* of it, since the box began */
	bool is_spent;               /* and told so */
};

struct credentials {
	struct rf_outlet *outlet;
	struct rf_vault *vault;
	struct secret secrets[RF_GATE_CREDENTIALS];
	size_t count;
	struct rf_exact *placeholders; /* in all forms; the id is the secret's number */
};

/* One request. */
struct use {
	uint64_t bound;  /* secrets that it may carry */
	uint64_t barred; /* those whose placeholder it must not have */
	struct rf_inject_wiped wiped;
	struct rf_buf tail; /* the body's last bytes: sent, and then those that wait */
	size_t sent;
	size_t body;        /* the secret that goes into the body, or the count */
	struct rf_buf form; /* its value, as this body has it */
};

/* --- telling --- */

static void tell(const struct credentials *all, const struct secret *secret,
		 const struct rf_forward_message *request, enum rf_gate_verdict verdict,
		 const char *reason, uint64_t cost)
{
	char method[32], path[RF_GATE_PATH];
	struct rf_gate_event event = {
		.kind = RF_GATE_CREDENTIAL,
		.verdict = verdict,
		.host = request->place->host.text,
		.address = "",
		.port = request->place->port,
		.method = method,
		.path = path,
		.credential = secret->name.at,
		.rule = "credentials",
		.reason = reason,
		.remedy = "",
		.cost = cost,
	};

	snprintf(method, sizeof(method), "%.*s", RF_SPAN_ARG(request->method));
	snprintf(path, sizeof(path), "%.*s", RF_SPAN_ARG(request->path));
	rf_note_tell(all->outlet->note, &event);
}

static enum rf_forward_wish refuse(const struct credentials *all, const struct secret *secret,
				   const struct rf_forward_message *request, const char *code,
				   const char *reason, struct rf_refusal *ret_refusal)
{
	tell(all, secret, request, RF_GATE_DENIED, reason, 0);
	*ret_refusal = (struct rf_refusal){ .status = 403, .code = code };
	snprintf(ret_refusal->rule, sizeof(ret_refusal->rule), "credentials.%.200s",
		 secret->name.at);
	snprintf(ret_refusal->host, sizeof(ret_refusal->host), "%.253s:%u",
		 request->place->host.text, (unsigned)request->place->port);
	snprintf(ret_refusal->message, sizeof(ret_refusal->message),
		 "The credential \"%.60s\": %.180s.", secret->name.at, reason);
	return RF_FORWARD_REFUSE;
}

/* --- what a request may carry --- */

/* NULL if the policy, which changes while a box lives, does not have it any more. */
static const struct rf_net_credential *rule_of(const struct credentials *all, size_t number)
{
	const struct rf_net *net = all->outlet->net;

	for (size_t i = 0; i < net->credential_count; i++)
		if (strcmp(net->credentials[i].name, all->secrets[number].name.at) == 0)
			return &net->credentials[i];
	return NULL;
}

/* By the rules alone, without a look at how the bytes travel. */
static uint64_t bound_to(const struct credentials *all, const struct rf_forward_message *request)
{
	const struct rf_net *net = all->outlet->net;
	const struct rf_forward_place *place = request->place;
	char *room = rf_arena_alloc(request->arena, RF_URL_PATH_ROOM(request->path.len) + 4);
	struct rf_net_verdict verdict;
	struct rf_url_path path;
	uint64_t bound = 0;

	/* The path is in that form already; what was odd about it is read anew. */
	if (!room || rf_url_path_read(request->path, room, RF_URL_PATH_ROOM(request->path.len) + 4,
				      &path) != RF_FAULT_NONE)
		return 0;
	verdict = rf_net_judge_request(net, &place->host, place->port, request->method, &path);
	for (size_t i = 0; i < all->count; i++) {
		const struct rf_net_credential *rule = rule_of(all, i);

		if (rule && rf_net_is_bound(net, rule, &verdict, &place->host, place->port,
					    request->method, &path))
			bound |= 1ull << i;
	}
	return bound;
}

/*
 * By the policy as it is now.  Whoever keeps the result over a turn of the loop, in which a body may
 * arrive and the policy change, asks again before a value is put anywhere.
 */
static void bind_use(const struct credentials *all, const struct rf_forward_message *request,
		     struct use *use)
{
	use->bound = request->place->is_tls ? bound_to(all, request) : 0;
	use->barred = ~use->bound;
}

static struct use *use_of(struct credentials *all, void **own,
			  const struct rf_forward_message *request)
{
	struct use *use = *own;

	if (use)
		return use;
	*own = use = calloc(1, sizeof(*use));
	if (!use)
		return NULL;
	bind_use(all, request, use);
	use->body = all->count;
	rf_buf_init(&use->tail, 2 * TAIL + 4 * 1024 * 1024);
	rf_buf_init(&use->form, 256 * 1024);
	return use;
}

static void on_end(void *data, void **own)
{
	struct use *use = *own;

	if (!use)
		return;
	rf_inject_wipe(&use->wiped);
	if (use->form.data)
		explicit_bzero(use->form.data, use->form.len);
	rf_buf_done(&use->form);
	rf_buf_done(&use->tail);
	free(use);
	*own = NULL;
}

/* --- placeholders --- */

static void on_found(void *context, size_t at, size_t len, unsigned id)
{
	uint64_t *found = context;

	(void)at;
	(void)len;
	*found |= 1ull << id;
}

static void look(const struct credentials *all, struct rf_span text, uint64_t *found)
{
	if (text.len > 0)
		rf_exact_scan(all->placeholders, text.at, text.len, 0, on_found, found);
}

/* Those that a request's head has, and its body if that is here. */
static uint64_t find(const struct credentials *all, const struct rf_forward_message *request)
{
	uint64_t found = 0;

	look(all, request->path, &found);
	if (request->has_query)
		look(all, request->query, &found);
	for (size_t i = 0; i < request->count; i++) {
		look(all, request->fields[i].name, &found);
		look(all, request->fields[i].value, &found);
	}
	look(all, request->gathered, &found);
	return found;
}

static size_t first_of(uint64_t set)
{
	return (size_t)__builtin_ctzll(set);
}

static enum rf_forward_wish refuse_found(const struct credentials *all, uint64_t found,
					 const struct rf_forward_message *request,
					 struct rf_refusal *ret_refusal)
{
	const struct secret *secret = &all->secrets[first_of(found)];

	if (!request->place->is_tls && bound_to(all, request) & found)
		return refuse(all, secret, request, "credential_in_clear",
			      "it is sent over TLS alone, and this connection is in clear",
			      ret_refusal);
	return refuse(all, secret, request, "credential_not_bound",
		      "its placeholder was on its way to a place that it is not bound to",
		      ret_refusal);
}

/* --- requests --- */

static size_t gathers(void *data, void **own, const struct rf_forward_message *request)
{
	struct credentials *all = data;
	struct use *use = use_of(all, own, request);

	for (size_t i = 0; use && i < all->count; i++) {
		const struct rf_net_credential *rule = rule_of(all, i);

		if (use->bound >> i & 1 && rule && rf_inject_needs_body(rule, request))
			return GATHER_SIGN;
	}
	return request->body == RF_BODY_LENGTH && request->length <= GATHER ? GATHER : 0;
}

/* Two credentials for the same field: the one whose placeholder is there, or the first. */
static bool is_overruled(const struct credentials *all, const struct use *use, uint64_t found,
			 size_t number, const struct rf_net_credential *rule)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct rf_net_credential *other = rule_of(all, i);
		bool is_found = found >> i & 1, am_found = found >> number & 1;

		if (i == number || !(use->bound >> i & 1) || !other || rule->how == RF_NET_BODY ||
		    other->how == RF_NET_BODY || other->how == RF_NET_CERTIFICATE ||
		    (rule->how == RF_NET_QUERY) != (other->how == RF_NET_QUERY))
			continue;
		if (rule->how == RF_NET_HEADER && other->how == RF_NET_HEADER &&
		    strcasecmp(rule->field, other->field) != 0)
			continue;
		if ((is_found && !am_found) || (is_found == am_found && i < number))
			return true;
	}
	return false;
}

static uint64_t count_of(struct rf_span text, struct rf_span part)
{
	uint64_t count = 0;
	const char *at = text.at, *end = text.at + text.len;

	while (text.len > 0 && (at = memmem(at, (size_t)(end - at), part.at, part.len))) {
		count++;
		at += part.len;
	}
	return count;
}

/* Its value stands in the body where the placeholder does: the length is known if the body is. */
static enum rf_forward_wish use_in_body(struct credentials *all, struct use *use, size_t number,
					struct rf_forward_message *request)
{
	const struct secret *secret = &all->secrets[number];
	uint64_t count;

	if (rf_inject_form(secret->value, request, &use->form) < 0)
		return RF_FORWARD_REFUSE;
	use->body = number;
	if (!request->gathered.at)
		return RF_FORWARD_CHANGE;
	count = count_of(request->gathered, secret->placeholder);
	request->length += count * use->form.len - count * secret->placeholder.len;
	return RF_FORWARD_SAME;
}

/* --- budgets --- */

#define SLICES 32 /* of a period, in which the watcher counts */

/* In how many milliseconds it may be used again, by the watcher's books or, where there are none, by our own; 0: now. */
static uint64_t wait_for(const struct credentials *all, struct secret *secret,
			 const struct rf_net_credential *rule)
{
	const struct rf_edict *edict = all->outlet->edict;
	uint64_t now_ms = rf_loop_now() / MS, uses, money, wait;

	if (rule->money != RF_LIMIT_NONE && rule->cost > 0) {
		if (!rf_edict_spent(edict, secret->name.at, rule->money_ms, secret->uses,
				    rule->cost, &uses, &money))
			wait = rf_spend_take(&secret->paid, rule->money / rule->cost,
					     rule->money_ms, now_ms);
		else
			wait = money > rule->money || rule->cost > rule->money - money
				       ? rule->money_ms / SLICES
				       : 0;
		if (wait > 0)
			return wait;
	}
	if (rule->budget == RF_LIMIT_NONE ||
	    !rf_edict_spent(edict, secret->name.at, rule->budget_ms, secret->uses, 0, &uses,
			    &money))
		return rf_spend_take(&secret->spent, rule->budget, rule->budget_ms, now_ms);
	return uses >= rule->budget ? rule->budget_ms / SLICES : 0;
}

/* That it is spent, and that it is not any more, is told once. */
static void tell_spent(const struct credentials *all, struct secret *secret, uint64_t wait)
{
	struct rf_gate_event event = {
		.kind = RF_GATE_BREAKER,
		.verdict = RF_GATE_ALLOWED,
		.credential = secret->name.at,
		.method = wait > 0 ? "closed" : "open",
		.rule = wait > 0 ? "open" : "closed",
		.reason = wait > 0 ? "its budget is spent" : "",
		.duration_us = wait * 1000,
	};

	if (secret->is_spent != (wait > 0))
		rf_note_tell(all->outlet->note, &event);
	secret->is_spent = wait > 0;
}

static enum rf_forward_wish refuse_spent(const struct credentials *all, const struct secret *secret,
					 const struct rf_forward_message *request, uint64_t wait,
					 const char *barred, struct rf_refusal *ret_refusal)
{
	char reason[RF_BOOKS_REASON + 32];

	snprintf(reason, sizeof(reason), "its breaker is open: %s", barred ? barred : "");
	refuse(all, secret, request, barred ? "credential_breaker_open" : "credential_budget",
	       barred ? reason : "its budget is spent", ret_refusal);
	ret_refusal->status = barred ? 503 : 429;
	if (wait < UINT32_MAX)
		ret_refusal->retry_s = (unsigned)(wait / 1000 + 1);
	return RF_FORWARD_REFUSE;
}

static enum rf_forward_wish apply(struct credentials *all, struct use *use, size_t number,
				  const struct rf_net_credential *rule,
				  struct rf_forward_message *request,
				  struct rf_refusal *ret_refusal)
{
	struct secret *secret = &all->secrets[number];
	struct rf_err err = RF_ERR_INIT;
	uint64_t wait;
	const char *barred = rf_edict_bars(all->outlet->edict, true, secret->name.at, NULL,
					   rf_loop_now() / MS, &wait);

	if (barred)
		return refuse_spent(all, secret, request, wait, barred, ret_refusal);
	wait = wait_for(all, secret, rule);
	tell_spent(all, secret, wait);
	if (wait > 0)
		return refuse_spent(all, secret, request, wait, NULL, ret_refusal);
	secret->uses++;
	if (rule->how == RF_NET_BODY) {
		enum rf_forward_wish wish = use_in_body(all, use, number, request);

		tell(all, secret, request, RF_GATE_ALLOWED, "", rule->cost);
		return wish;
	}
	if (rf_inject_head(rule, secret->value, request, time(NULL), &use->wiped, &err) < 0)
		return refuse(all, secret, request, "credential_failed", err.msg, ret_refusal);
	tell(all, secret, request, RF_GATE_ALLOWED, "", rule->cost);
	return RF_FORWARD_LEAVE;
}

static enum rf_forward_wish on_request(void *data, void **own, struct rf_forward_message *request,
				       struct rf_refusal *ret_refusal)
{
	struct credentials *all = data;
	struct use *use = use_of(all, own, request);
	enum rf_forward_wish wish = RF_FORWARD_LEAVE;
	uint64_t found;

	if (!use) {
		*ret_refusal = (struct rf_refusal){ .status = 503, .code = "no_memory" };
		return RF_FORWARD_REFUSE;
	}
	bind_use(all, request, use); /* its body may have taken its time */
	found = find(all, request);
	if (found & use->barred)
		return refuse_found(all, found & use->barred, request, ret_refusal);
	for (size_t i = 0; i < all->count; i++) {
		const struct rf_net_credential *rule = rule_of(all, i);
		enum rf_forward_wish one;

		if (!(use->bound >> i & 1) || !rule || rule->how == RF_NET_CERTIFICATE ||
		    is_overruled(all, use, found, i, rule))
			continue;
		/* What goes into a body goes where its placeholder is; a body that is not here yet may have it. */
		if (rule->how == RF_NET_BODY &&
		    (request->body == RF_BODY_NONE || use->body < all->count ||
		     (request->gathered.at && !(found >> i & 1))))
			continue;
		one = apply(all, use, i, rule, request, ret_refusal);
		if (one == RF_FORWARD_REFUSE)
			return one;
		wish = one > wish ? one : wish;
	}
	/* A body that was not looked through before is, as it passes. */
	if (wish == RF_FORWARD_LEAVE && request->body != RF_BODY_NONE && !request->gathered.at)
		wish = RF_FORWARD_SAME;
	return wish;
}

/* --- bodies --- */

/* Writes what is in the tail, up to `len`, with the value where the placeholder is. */
static void write_out(const struct credentials *all, const struct use *use, struct rf_span text,
		      struct rf_buf *out)
{
	struct rf_span placeholder =
		use->body < all->count ? all->secrets[use->body].placeholder : RF_SPAN("");

	while (text.len > 0 && placeholder.len > 0) {
		const char *at = memmem(text.at, text.len, placeholder.at, placeholder.len);

		if (!at)
			break;
		rf_buf_add(out, text.at, (size_t)(at - text.at));
		rf_buf_add(out, use->form.data, use->form.len);
		text = rf_span_part(text, (size_t)(at - text.at) + placeholder.len, text.len);
	}
	rf_buf_add(out, text.at, text.len);
}

/* How many of the last bytes may be the beginning of the placeholder that is replaced. */
static size_t open_end(const struct credentials *all, const struct use *use, struct rf_span text)
{
	struct rf_span placeholder;
	size_t len;

	if (use->body == all->count)
		return 0;
	placeholder = all->secrets[use->body].placeholder;
	len = placeholder.len - 1 < text.len ? placeholder.len - 1 : text.len;
	while (len > 0 && memcmp(text.at + text.len - len, placeholder.at, len) != 0)
		len--;
	return len;
}

/* As many bytes as a form that is not whole yet can have here: whoever sends byte by byte has no more than these looked through each time. */
static size_t tail_of(const struct credentials *all)
{
	return rf_exact_longest(all->placeholders);
}

/*
 * The tail holds bytes that were sent, so that a placeholder is found wherever it was cut, and behind `sent` of them those that wait.  What is
 * part of a barred placeholder may be sent before the rest is seen: it is no secret, and the request is cut.
 */
static int on_request_body(void *data, void **own, struct rf_span bytes, bool is_last,
			   struct rf_buf *out, struct rf_err *err)
{
	struct credentials *all = data;
	struct use *use = *own;
	uint64_t found = 0;
	struct rf_span text;
	size_t held;

	rf_buf_add(&use->tail, bytes.at, bytes.len);
	if (use->tail.has_failed)
		return rf_fail(err, -ENOBUFS, "look through a body");
	text = (struct rf_span){ use->tail.data, use->tail.len };
	look(all, text, &found);
	if (found & use->barred)
		return rf_fail_say(err, -EPERM, "a credential's placeholder in a body");
	text = rf_span_part(text, use->sent, text.len);
	held = is_last ? 0 : open_end(all, use, text);
	text.len -= held;
	write_out(all, use, text, out);
	use->sent += text.len;
	if (use->sent > tail_of(all)) {
		size_t gone = use->sent - tail_of(all);

		memmove(use->tail.data, use->tail.data + gone, use->tail.len - gone);
		use->tail.len -= gone;
		use->sent -= gone;
	}
	return 0;
}

/* Nothing is put into frames; the same as of a body. */
static int on_sent(void *data, void **own, struct rf_forward_message *request, struct rf_span bytes,
		   struct rf_err *err)
{
	struct credentials *all = data;
	struct rf_refusal ignored;
	uint64_t found = 0;
	struct use *use;

	if (!own) {
		uint64_t barred = request->place->is_tls ? ~bound_to(all, request) : ~0ull;

		look(all, bytes, &found);
		found &= barred;
	} else {
		use = use_of(all, own, request);
		if (!use)
			return rf_fail(err, -ENOMEM, "look through a frame");
		rf_buf_add(&use->tail, bytes.at, bytes.len);
		if (use->tail.has_failed)
			return rf_fail(err, -ENOBUFS, "look through a frame");
		look(all, (struct rf_span){ use->tail.data, use->tail.len }, &found);
		found &= use->barred;
		if (use->tail.len > tail_of(all)) {
			memmove(use->tail.data, use->tail.data + use->tail.len - tail_of(all),
				tail_of(all));
			use->tail.len = tail_of(all);
		}
	}
	if (!found)
		return 0;
	refuse_found(all, found, request, &ignored);
	return rf_fail_say(err, -EPERM, "a credential's placeholder that is not for that server");
}

/* Nothing is put in there; a placeholder that is on its way to nobody it is for ends the request. */
static enum rf_forward_wish on_trailer(void *data, void **own, struct rf_forward_message *trailer,
				       struct rf_refusal *ret_refusal)
{
	struct credentials *all = data;
	const struct use *use = trailer->status ? NULL : use_of(all, own, trailer);
	uint64_t found = 0;

	if (trailer->status)
		return RF_FORWARD_LEAVE;
	for (size_t i = 0; i < trailer->count; i++) {
		look(all, trailer->fields[i].name, &found);
		look(all, trailer->fields[i].value, &found);
	}
	if (!use || found & use->barred)
		return use ? refuse_found(all, found & use->barred, trailer, ret_refusal)
			   : RF_FORWARD_REFUSE;
	return RF_FORWARD_LEAVE;
}

static const struct rf_forward_filter filter = {
	.name = "credentials",
	.on_sent = on_sent,
	.on_trailer = on_trailer,
	.gathers = gathers,
	.on_request = on_request,
	.on_request_body = on_request_body,
	.on_end = on_end,
};

/* --- the part --- */

static int keep_secrets(struct credentials *all, const struct rf_gate_open *open,
			struct rf_err *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < open->credential_count; i++)
		bytes += strlen(open->credentials[i].name) + strlen(open->credentials[i].value) +
			 strlen(open->credentials[i].placeholder) + 3;
	if (rf_vault_new(bytes, &all->vault, err) < 0)
		return err->code;
	all->placeholders = rf_exact_new();
	if (!all->placeholders)
		return rf_fail(err, -ENOMEM, "credentials");
	for (size_t i = 0; i < open->credential_count; i++) {
		const struct rf_gate_credential *one = &open->credentials[i];
		struct secret *secret = &all->secrets[i];

		secret->name = rf_vault_keep(all->vault, rf_span_of(one->name));
		secret->value = rf_vault_keep(all->vault, rf_span_of(one->value));
		secret->placeholder = rf_vault_keep(all->vault, rf_span_of(one->placeholder));
		if (!secret->placeholder.at || secret->value.len == 0)
			return rf_fail_say(err, -EINVAL, "credential \"%.60s\" is empty",
					   one->name);
		if (secret->placeholder.len > 0 &&
		    rf_exact_add(all->placeholders, secret->placeholder.at, secret->placeholder.len,
				 (unsigned)i, err) < 0)
			return err->code;
		all->count++;
	}
	if (rf_exact_seal(all->placeholders, err) < 0)
		return err->code;
	return rf_vault_seal(all->vault, err);
}

void rf_credentials_close(struct rf_outlet *outlet, void *own)
{
	struct credentials *all = own;

	(void)outlet;
	if (!all)
		return;
	rf_exact_free(all->placeholders);
	rf_vault_free(all->vault);
	free(all);
}

int rf_credentials_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
			struct rf_err *err)
{
	struct credentials *all;

	if (open->credential_count == 0)
		return 0;
	if (open->credential_count > RF_GATE_CREDENTIALS)
		return rf_fail_say(err, -E2BIG, "more than %d credentials", RF_GATE_CREDENTIALS);
	*own = all = calloc(1, sizeof(*all));
	if (!all)
		return rf_fail(err, -ENOMEM, "credentials");
	all->outlet = outlet;
	if (keep_secrets(all, open, err) < 0)
		return err->code;
	if (!rf_outlet_add_filter(outlet, &filter, all))
		return rf_fail_say(err, -E2BIG, "too many filters");
	return 0;
}
