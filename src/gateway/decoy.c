/* Canaries on their way out: see decoy.h. */
#include "gateway/decoy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/exact.h"

#define GATHER (256u * 1024) /* bodies up to this are looked through before anything is sent */
#define NOBODY RF_GATE_CANARIES

struct decoys {
	struct rf_outlet *outlet;
	char *names[RF_GATE_CANARIES];
	size_t count;
	struct rf_exact *values; /* in all forms; the id is the canary's number */
	bool is_caught;          /* one was sent: nothing more leaves this box */
};

/* One request whose body is looked through as it passes. */
struct passing {
	struct rf_forward_place place;
	char method[RF_GATE_METHOD], path[RF_GATE_PATH];
	struct rf_buf tail; /* the last bytes that were sent */
};

/* --- telling --- */

static void tell(struct decoys *decoys, size_t number, const struct rf_forward_place *place,
		 const char *method, const char *path, const char *where)
{
	char reason[64];
	struct rf_gate_event event = {
		.kind = RF_GATE_CANARY,
		.verdict = RF_GATE_DENIED,
		.host = place->host.text,
		.address = "",
		.port = place->port,
		.method = method,
		.path = path,
		.credential = decoys->names[number],
		.rule = "files.canaries",
		.reason = reason,
		.remedy = "",
	};

	snprintf(reason, sizeof(reason), "a planted credential in its %s", where);
	decoys->is_caught = true;
	rf_note_tell(decoys->outlet->note, &event);
}

static enum rf_forward_wish refuse(const struct rf_forward_message *request,
				   struct rf_refusal *ret_refusal)
{
	*ret_refusal = (struct rf_refusal){ .status = 403, .code = "canary" };
	snprintf(ret_refusal->rule, sizeof(ret_refusal->rule), "files.canaries");
	snprintf(ret_refusal->host, sizeof(ret_refusal->host), "%.253s:%u",
		 request->place->host.text, (unsigned)request->place->port);
	snprintf(ret_refusal->message, sizeof(ret_refusal->message),
		 "A planted credential was about to be sent: this box sends nothing more.");
	return RF_FORWARD_REFUSE;
}

/* --- requests --- */

static void on_found(void *context, size_t at, size_t len, unsigned id)
{
	size_t *found = context;

	(void)at;
	(void)len;
	*found = id;
}

static bool has(const struct decoys *decoys, struct rf_span text, size_t *found)
{
	if (text.len > 0)
		rf_exact_scan(decoys->values, text.at, text.len, 0, on_found, found);
	return *found != NOBODY;
}

/* Which part of it has one; NULL: none. */
static const char *find(const struct decoys *decoys, const struct rf_forward_message *request,
			size_t *found)
{
	if (has(decoys, request->path, found))
		return "path";
	if (request->has_query && has(decoys, request->query, found))
		return "query";
	for (size_t i = 0; i < request->count; i++)
		if (has(decoys, request->fields[i].name, found) ||
		    has(decoys, request->fields[i].value, found))
			return "head";
	return has(decoys, request->gathered, found) ? "body" : NULL;
}

static void copy_texts(const struct rf_forward_message *request, char method[RF_GATE_METHOD],
		       char path[RF_GATE_PATH])
{
	snprintf(method, RF_GATE_METHOD, "%.*s", RF_SPAN_ARG(request->method));
	snprintf(path, RF_GATE_PATH, "%.*s", RF_SPAN_ARG(request->path));
}

static enum rf_forward_wish on_sight(void *data, struct rf_forward_message *request,
				     struct rf_refusal *ret_refusal)
{
	struct decoys *decoys = data;
	char method[RF_GATE_METHOD], path[RF_GATE_PATH];
	size_t found = NOBODY;
	const char *where = find(decoys, request, &found);

	if (where) {
		size_t in_path = NOBODY;

		if (has(decoys, request->path, &in_path)) /* what is told has no value in it */
			request->path = RF_SPAN("/[canary]");
		copy_texts(request, method, path);
		tell(decoys, found, request->place, method, path, where);
	}
	return decoys->is_caught ? refuse(request, ret_refusal) : RF_FORWARD_LEAVE;
}

/* Of a body whose length nobody knows, too: a short one can be looked through as a whole. */
static size_t gathers(void *data, void **own, const struct rf_forward_message *request)
{
	(void)data;
	(void)own;
	return request->body == RF_BODY_LENGTH && request->length <= GATHER ? GATHER : 0;
}

static enum rf_forward_wish on_request(void *data, void **own, struct rf_forward_message *request,
				       struct rf_refusal *ret_refusal)
{
	struct passing *passing;

	(void)data;
	if (request->body == RF_BODY_NONE || request->gathered.at)
		return RF_FORWARD_LEAVE;
	*own = passing = calloc(1, sizeof(*passing));
	if (!passing) {
		*ret_refusal = (struct rf_refusal){ .status = 503, .code = "no_memory" };
		return RF_FORWARD_REFUSE;
	}
	passing->place = *request->place;
	copy_texts(request, passing->method, passing->path);
	rf_buf_init(&passing->tail, RF_FORWARD_GATHER);
	return RF_FORWARD_SAME;
}

/* A part of one may have been sent before the rest is seen, and is worth nothing; the request is cut. */
static int on_request_body(void *data, void **own, struct rf_span bytes, bool is_last,
			   struct rf_buf *out, struct rf_err *err)
{
	struct decoys *decoys = data;
	struct passing *passing = *own;
	struct rf_buf *tail = &passing->tail;
	size_t found = NOBODY, kept = rf_exact_longest(decoys->values);

	(void)is_last;
	rf_buf_add(tail, bytes.at, bytes.len);
	if (tail->has_failed)
		return rf_fail(err, -ENOBUFS, "look through a body");
	if (has(decoys, (struct rf_span){ tail->data, tail->len }, &found)) {
		tell(decoys, found, &passing->place, passing->method, passing->path, "body");
		return rf_fail_say(err, -EPERM, "a planted credential in a body");
	}
	if (decoys->is_caught)
		return rf_fail_say(err, -EPERM, "a planted credential was sent");
	if (tail->len > kept) {
		memmove(tail->data, tail->data + tail->len - kept, kept);
		tail->len = kept;
	}
	rf_buf_add(out, bytes.at, bytes.len);
	return 0;
}

static void on_end(void *data, void **own)
{
	struct passing *passing = *own;

	(void)data;
	if (!passing)
		return;
	rf_buf_done(&passing->tail);
	free(passing);
	*own = NULL;
}

static int on_sent(void *data, void **own, struct rf_forward_message *request, struct rf_span bytes,
		   struct rf_err *err)
{
	struct decoys *decoys = data;
	RF_AUTO_BUF struct rf_buf unused;
	struct rf_refusal refusal;
	struct passing *passing;
	size_t found = NOBODY;

	rf_buf_init(&unused, RF_FORWARD_GATHER);
	if (own && !*own) {
		*own = passing = calloc(1, sizeof(*passing));
		if (!passing)
			return rf_fail(err, -ENOMEM, "look through a frame");
		passing->place = *request->place;
		copy_texts(request, passing->method, passing->path);
		rf_buf_init(&passing->tail, RF_FORWARD_GATHER);
	}
	if (own)
		return on_request_body(data, own, bytes, false, &unused, err);
	if (has(decoys, bytes, &found)) {
		char method[RF_GATE_METHOD], path[RF_GATE_PATH];

		copy_texts(request, method, path);
		tell(decoys, found, request->place, method, path, "body");
	}
	if (!decoys->is_caught)
		return 0;
	refuse(request, &refusal);
	return rf_fail_say(err, -EPERM, "a planted credential");
}

static enum rf_forward_wish on_trailer(void *data, void **own, struct rf_forward_message *trailer,
				       struct rf_refusal *ret_refusal)
{
	(void)own;
	return trailer->status ? RF_FORWARD_LEAVE : on_sight(data, trailer, ret_refusal);
}

static const struct rf_forward_filter filter = {
	.name = "canaries",
	.on_sent = on_sent,
	.on_trailer = on_trailer,
	.on_sight = on_sight,
	.gathers = gathers,
	.on_request = on_request,
	.on_request_body = on_request_body,
	.on_end = on_end,
};

/* --- the part --- */

static int keep(struct decoys *decoys, const struct rf_gate_open *open, struct rf_err *err)
{
	decoys->values = rf_exact_new();
	if (!decoys->values)
		return rf_fail(err, -ENOMEM, "canaries");
	for (size_t i = 0; i < open->canary_count; i++) {
		const struct rf_gate_canary *one = &open->canaries[i];
		int code = rf_exact_add(decoys->values, one->value, strlen(one->value), (unsigned)i,
					err);

		if (code < 0)
			return code;
		if (code == 0)
			return rf_fail_say(err, -EINVAL, "the canary %.60s is too short",
					   one->name);
		decoys->names[i] = strdup(one->name);
		if (!decoys->names[i])
			return rf_fail(err, -ENOMEM, "canaries");
		decoys->count++;
	}
	return rf_exact_seal(decoys->values, err);
}

void rf_decoy_close(struct rf_outlet *outlet, void *own)
{
	struct decoys *decoys = own;

	(void)outlet;
	if (!decoys)
		return;
	rf_exact_free(decoys->values);
	for (size_t i = 0; i < decoys->count; i++)
		free(decoys->names[i]);
	free(decoys);
}

int rf_decoy_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
		  struct rf_err *err)
{
	struct decoys *decoys;

	if (open->canary_count == 0)
		return 0;
	*own = decoys = calloc(1, sizeof(*decoys));
	if (!decoys)
		return rf_fail(err, -ENOMEM, "canaries");
	decoys->outlet = outlet;
	if (keep(decoys, open, err) < 0)
		return err->code;
	if (!rf_outlet_add_filter(outlet, &filter, decoys))
		return rf_fail_say(err, -E2BIG, "too many filters");
	return 0;
}
