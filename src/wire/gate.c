/* What is said to a gateway, and by it: see gate.h. */
#include "wire/gate.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pack.h"
#include "wire/client.h"
#include "wire/peer.h"

#define EVENT_MAX  (16 * 1024)
#define COUNTS_MAX 256
#define READY_MAX  (RF_GATE_PEM + 64)
#define OPEN_MAX   (4 * 1024 * 1024)

/* clang-format off */
static const char *const kinds[] = {
	[RF_GATE_CONNECT]    = "connect",
	[RF_GATE_REQUEST]    = "request",
	[RF_GATE_DNS]        = "dns",
	[RF_GATE_LIMIT]      = "limit",
	[RF_GATE_BREAKER]    = "breaker",
	[RF_GATE_CREDENTIAL] = "credential",
	[RF_GATE_SECRET]     = "secret",
	[RF_GATE_PUBLISHED]  = "published",
	[RF_GATE_CANARY]     = "canary",
};
static const char *const verdicts[] = {
	[RF_GATE_ALLOWED]  = "allowed",
	[RF_GATE_DENIED]   = "denied",
	[RF_GATE_REPORTED] = "reported",
	[RF_GATE_HELD]     = "held",
};

/* The texts of an event, in their order. */
static const struct {
	size_t at, size;
} texts[] = {
	{ offsetof(struct rf_gate_event, host),       RF_GATE_HOST },
	{ offsetof(struct rf_gate_event, address),    RF_GATE_HOST },
	{ offsetof(struct rf_gate_event, method),     RF_GATE_NAME },
	{ offsetof(struct rf_gate_event, path),       RF_GATE_PATH },
	{ offsetof(struct rf_gate_event, credential), RF_GATE_NAME },
	{ offsetof(struct rf_gate_event, rule),       RF_GATE_WORDS },
	{ offsetof(struct rf_gate_event, reason),     RF_GATE_WORDS },
	{ offsetof(struct rf_gate_event, remedy),     RF_GATE_WORDS },
};

/* And its numbers. */
static const size_t numbers[] = {
	offsetof(struct rf_gate_event, time_ms),
	offsetof(struct rf_gate_event, up_bytes),
	offsetof(struct rf_gate_event, down_bytes),
	offsetof(struct rf_gate_event, duration_us),
	offsetof(struct rf_gate_event, cost),
};
/* clang-format on */

_Static_assert(RF_LEN(kinds) == RF_GATE_KIND_COUNT, "each kind has a name");
_Static_assert(RF_LEN(verdicts) == RF_GATE_VERDICT_COUNT, "each verdict has a name");
_Static_assert(RF_LINE_COUNT == 4 && RF_GATE_STOCK == 8, "as many as the table in wire.c says");

const char *rf_gate_kind_name(enum rf_gate_kind kind)
{
	return kind < RF_GATE_KIND_COUNT ? kinds[kind] : "?";
}

const char *rf_gate_verdict_name(enum rf_gate_verdict verdict)
{
	return verdict < RF_GATE_VERDICT_COUNT ? verdicts[verdict] : "?";
}

/* ------------------------------------------------------------- OPEN */

void rf_gate_pack_open(const struct rf_gate_open *open, struct rf_buf *out)
{
	rf_pack_string(out, open->box);
	rf_pack_string(out, open->agent);
	rf_pack_string(out, open->policy);
	rf_pack_bool(out, open->holds_writes);
	rf_pack_bool(out, open->looks_everywhere);
	rf_pack_string(out, open->roots ? open->roots : "");
	rf_pack_u32(out, (uint32_t)open->credential_count);
	for (size_t i = 0; i < open->credential_count; i++) {
		rf_pack_string(out, open->credentials[i].name);
		rf_pack_string(out, open->credentials[i].value);
		rf_pack_string(out, open->credentials[i].placeholder);
	}
	rf_pack_u32(out, (uint32_t)open->canary_count);
	for (size_t i = 0; i < open->canary_count; i++) {
		rf_pack_string(out, open->canaries[i].name);
		rf_pack_string(out, open->canaries[i].value);
	}
}

static void read_credentials(struct rf_pack_reader *in, struct rf_gate_open *open)
{
	uint32_t count = rf_pack_read_below(in, RF_GATE_CREDENTIALS + 1);
	struct rf_gate_credential *credentials;

	if (count == 0 || in->has_failed)
		return;
	credentials = calloc(count, sizeof(*credentials));
	open->credentials = credentials;
	if (!credentials)
		in->has_failed = true;
	for (; open->credential_count < count && !in->has_failed; open->credential_count++) {
		struct rf_gate_credential *one = &credentials[open->credential_count];

		one->name = rf_pack_read_string(in, RF_GATE_NAME);
		one->value = rf_pack_read_string(in, RF_GATE_SECRET_MAX);
		one->placeholder = rf_pack_read_string(in, RF_GATE_SECRET_MAX);
	}
}

static void read_canaries(struct rf_pack_reader *in, struct rf_gate_open *open)
{
	uint32_t count = rf_pack_read_below(in, RF_GATE_CANARIES + 1);
	struct rf_gate_canary *canaries;

	if (count == 0 || in->has_failed)
		return;
	canaries = calloc(count, sizeof(*canaries));
	open->canaries = canaries;
	if (!canaries)
		in->has_failed = true;
	for (; open->canary_count < count && !in->has_failed; open->canary_count++) {
		struct rf_gate_canary *one = &canaries[open->canary_count];

		one->name = rf_pack_read_string(in, RF_GATE_PATH);
		one->value = rf_pack_read_string(in, RF_GATE_SECRET_MAX);
	}
}

int rf_gate_read_open(const void *data, size_t len, struct rf_gate_open *ret_open,
		      struct rf_err *err)
{
	struct rf_gate_open open = { 0 };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	open.box = rf_pack_read_string(&in, RF_GATE_NAME);
	open.agent = rf_pack_read_string(&in, RF_GATE_NAME);
	open.policy = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES + 1);
	open.holds_writes = rf_pack_read_bool(&in);
	open.looks_everywhere = rf_pack_read_bool(&in);
	open.roots = rf_pack_read_string(&in, RF_GATE_ROOTS);
	read_credentials(&in, &open);
	read_canaries(&in, &open);
	if (!rf_pack_is_whole(&in)) {
		rf_gate_open_done(&open);
		return rf_fail_say(err, -EBADMSG, "what a box asks a gateway for is malformed");
	}
	*ret_open = open;
	return 0;
}

void rf_gate_open_done(struct rf_gate_open *open)
{
	free((void *)(uintptr_t)open->credentials);
	free((void *)(uintptr_t)open->canaries);
	*open = (struct rf_gate_open){ 0 };
}

/* ------------------------------------------------------------- EVENT */

/* At most `size` - 1 bytes of it, and no part of a character at its end. */
static void pack_cut(struct rf_buf *out, const char *text, size_t size)
{
	char cut[RF_GATE_PATH];
	size_t len;

	if (!text || strnlen(text, size) < size) {
		rf_pack_string(out, text ? text : "");
		return;
	}
	for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	memcpy(cut, text, len);
	cut[len] = '\0';
	rf_pack_string(out, cut);
}

void rf_gate_pack_event(const struct rf_gate_event *event, struct rf_buf *out)
{
	const char *base = (const char *)event;

	rf_pack_u32(out, event->kind);
	rf_pack_u32(out, event->verdict);
	rf_pack_u32(out, event->port);
	rf_pack_u32(out, event->status);
	for (size_t i = 0; i < RF_LEN(numbers); i++) {
		uint64_t number;

		memcpy(&number, base + numbers[i], sizeof(number));
		rf_pack_u64(out, number);
	}
	for (size_t i = 0; i < RF_LEN(texts); i++) {
		const char *text;

		memcpy((void *)&text, base + texts[i].at, sizeof(text));
		pack_cut(out, text, texts[i].size);
	}
}

int rf_gate_read_event(const void *data, size_t len, struct rf_gate_event *ret_event,
		       size_t *ret_used, struct rf_err *err)
{
	struct rf_gate_event event = { 0 };
	char *base = (char *)&event;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	event.kind = (enum rf_gate_kind)rf_pack_read_below(&in, RF_GATE_KIND_COUNT);
	event.verdict = (enum rf_gate_verdict)rf_pack_read_below(&in, RF_GATE_VERDICT_COUNT);
	event.port = rf_pack_read_below(&in, UINT16_MAX + 1);
	event.status = rf_pack_read_below(&in, 1000);
	for (size_t i = 0; i < RF_LEN(numbers); i++) {
		uint64_t number = rf_pack_read_u64(&in);

		memcpy(base + numbers[i], &number, sizeof(number));
	}
	for (size_t i = 0; i < RF_LEN(texts); i++) {
		const char *text = rf_pack_read_string(&in, texts[i].size);

		memcpy(base + texts[i].at, (const void *)&text, sizeof(text));
	}
	if (in.has_failed)
		return rf_fail_say(err, -EBADMSG, "a gateway's event is malformed");
	*ret_used = (size_t)(in.at - (const char *)data);
	*ret_event = event;
	return 0;
}

/* ------------------------------------------------------------- SPEAK and HELD */

static void read_place(struct rf_pack_reader *in, struct rf_gate_place *ret_place)
{
	ret_place->host = rf_pack_read_string(in, RF_GATE_HOST);
	ret_place->port = (uint16_t)rf_pack_read_below(in, UINT16_MAX + 1);
	ret_place->is_tls = rf_pack_read_bool(in);
}

void rf_gate_pack_place(const struct rf_gate_place *place, struct rf_buf *out)
{
	rf_pack_string(out, place->host);
	rf_pack_u32(out, place->port);
	rf_pack_bool(out, place->is_tls);
}

int rf_gate_read_place(const void *data, size_t len, struct rf_gate_place *ret_place,
		       struct rf_err *err)
{
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	read_place(&in, ret_place);
	return rf_pack_is_whole(&in) ? 0 : rf_fail_say(err, -EBADMSG, "a place is malformed");
}

/* The message's bytes are the rest of the body: they may have NULs among them. */
void rf_gate_pack_held(const struct rf_gate_held *held, struct rf_buf *out)
{
	rf_gate_pack_place(&held->place, out);
	rf_pack_string(out, held->method);
	rf_pack_string(out, held->path);
	rf_buf_add(out, held->message, held->len);
}

int rf_gate_read_held(const void *data, size_t len, struct rf_gate_held *ret_held,
		      struct rf_err *err)
{
	struct rf_gate_held held = { 0 };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	read_place(&in, &held.place);
	held.method = rf_pack_read_string(&in, RF_GATE_METHOD);
	held.path = rf_pack_read_string(&in, RF_GATE_PATH);
	held.message = in.at;
	held.len = (size_t)(in.end - in.at);
	if (in.has_failed || held.len == 0 || held.len > RF_GATE_HELD_MAX)
		return rf_fail_say(err, -EBADMSG, "a request that was held is malformed");
	*ret_held = held;
	return 0;
}

/* ------------------------------------------------------------- ASKED, TAKEN and NAME */

void rf_gate_pack_asked(const struct rf_gate_asked *asked, struct rf_buf *out)
{
	rf_pack_u64(out, asked->wait_ms);
	rf_gate_pack_held(&asked->held, out);
}

int rf_gate_read_asked(const void *data, size_t len, struct rf_gate_asked *ret_asked,
		       struct rf_err *err)
{
	struct rf_gate_asked asked;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	asked.wait_ms = rf_pack_read_u64(&in);
	if (in.has_failed)
		return rf_fail_say(err, -EBADMSG, "a request that waits is malformed");
	if (rf_gate_read_held(in.at, (size_t)(in.end - in.at), &asked.held, err) < 0)
		return err->code;
	*ret_asked = asked;
	return 0;
}

void rf_gate_pack_taken(const struct rf_gate_taken *taken, struct rf_buf *out)
{
	rf_pack_string(out, taken->id);
	rf_pack_string(out, taken->reason);
}

int rf_gate_read_taken(const void *data, size_t len, struct rf_gate_taken *ret_taken,
		       struct rf_err *err)
{
	struct rf_gate_taken taken;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	taken.id = rf_pack_read_string(&in, RF_GATE_NAME);
	taken.reason = rf_pack_read_string(&in, RF_GATE_WORDS);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "the answer to a request is malformed");
	*ret_taken = taken;
	return 0;
}

int rf_gate_read_name(const void *data, size_t len, const char **ret_name, struct rf_err *err)
{
	struct rf_pack_reader in;
	const char *name;

	rf_pack_read_init(&in, data, len);
	name = rf_pack_read_string(&in, RF_GATE_NAME);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "a box's name is malformed");
	*ret_name = name;
	return 0;
}

/* ------------------------------------------------------------- DONE */

void rf_gate_pack_counts(const struct rf_gate_counts *counts, struct rf_buf *out)
{
	rf_pack_u64(out, counts->connections);
	rf_pack_u64(out, counts->requests);
	rf_pack_u64(out, counts->names);
	rf_pack_u64(out, counts->denied);
	rf_pack_u64(out, counts->held);
	rf_pack_u64(out, counts->up_bytes);
	rf_pack_u64(out, counts->down_bytes);
	rf_pack_u64(out, counts->lost_events);
}

int rf_gate_read_counts(const void *data, size_t len, struct rf_gate_counts *ret_counts,
			struct rf_err *err)
{
	struct rf_gate_counts counts;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	counts.connections = rf_pack_read_u64(&in);
	counts.requests = rf_pack_read_u64(&in);
	counts.names = rf_pack_read_u64(&in);
	counts.denied = rf_pack_read_u64(&in);
	counts.held = rf_pack_read_u64(&in);
	counts.up_bytes = rf_pack_read_u64(&in);
	counts.down_bytes = rf_pack_read_u64(&in);
	counts.lost_events = rf_pack_read_u64(&in);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "a gateway's counters are malformed");
	*ret_counts = counts;
	return 0;
}

/* ------------------------------------------------------------- the gateway's side */

static int send_packed(int fd, enum rf_wire_type type, uint64_t box, const struct rf_buf *body,
		       struct rf_err *err)
{
	if (body->has_failed)
		return rf_fail_say(err, -E2BIG, "%s is too long", rf_wire_name(type));
	return rf_wire_send(fd, type, box, body->data, body->len, NULL, 0, err);
}

int rf_gate_send_ready(int fd, uint64_t box, const char *pem, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, READY_MAX);
	rf_pack_string(&body, pem ? pem : "");
	return send_packed(fd, RF_WIRE_GATE_READY, box, &body, err);
}

int rf_gate_send_event(int fd, uint64_t box, const struct rf_gate_event *event, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, EVENT_MAX);
	rf_gate_pack_event(event, &body);
	return send_packed(fd, RF_WIRE_GATE_EVENT, box, &body, err);
}

int rf_gate_send_done(int fd, uint64_t box, const struct rf_gate_counts *counts, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, COUNTS_MAX);
	rf_gate_pack_counts(counts, &body);
	return send_packed(fd, RF_WIRE_GATE_DONE, box, &body, err);
}

int rf_gate_send_held(int fd, uint64_t box, const struct rf_gate_held *held, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_GATE_HELD_MAX + EVENT_MAX);
	rf_gate_pack_held(held, &body);
	return send_packed(fd, RF_WIRE_GATE_HELD, box, &body, err);
}

int rf_gate_send_asked(int fd, uint64_t id, const struct rf_gate_asked *asked, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_GATE_HELD_MAX + EVENT_MAX);
	rf_gate_pack_asked(asked, &body);
	return send_packed(fd, RF_WIRE_GATE_ASKED, id, &body, err);
}

/* ------------------------------------------------------------- the client's side */

int rf_gate_start(const char *program, bool has_masks, int *ret_fd, struct rf_err *err)
{
	static const char *const words[] = { "ringfort-gateway", "--fd", "3", NULL };
	static const char *const more[] = { "ringfort-gateway", "--mask", "--fd", "3", NULL };

	return rf_client_start(program, has_masks ? more : words, "gateway", ret_fd, err);
}

/* One that lives elsewhere, or has other rights, would refuse us. */
static int compare(int fd, rf_peer_self_fn *fn, struct rf_err *err)
{
	const struct rf_peer *known = fn ? fn() : NULL;
	struct rf_peer self = { 0 };

	if (known)
		self = *known;
	self.has_any_groups = true; /* our boxes do not live in the gateway's */
	if (!known && rf_peer_note_self(&self, err) < 0)
		return err->code;
	return rf_peer_compare(fd, RF_GATE_NOTE, "gateway", &self, err);
}

int rf_gate_connect(rf_peer_self_fn *self, int *ret_fd, struct rf_err *err)
{
	RF_AUTO_FD int fd = -1;
	pid_t pid;

	if (rf_client_connect_to(RF_GATE_SOCKET, "gateway", RF_CLIENT_WAIT_MS, &fd, &pid, err) <
		    0 ||
	    compare(fd, self, err) < 0)
		return err->code;
	*ret_fd = rf_fd_take(&fd);
	return 0;
}

int rf_gate_ask(int fd, uint64_t box, const struct rf_gate_open *open, struct rf_err *err)
{
	struct rf_buf body;
	int code;

	rf_buf_init(&body, OPEN_MAX);
	rf_gate_pack_open(open, &body);
	code = send_packed(fd, RF_WIRE_GATE_OPEN, box, &body, err);
	if (body.data)
		explicit_bzero(body.data, body.len);
	rf_buf_done(&body);
	return code;
}

static int read_ready(const struct rf_wire_message *message, const char **ret_pem,
		      struct rf_err *err)
{
	struct rf_pack_reader in;
	const char *pem;

	rf_pack_read_init(&in, message->body, message->len);
	pem = rf_pack_read_string(&in, RF_GATE_PEM);
	if (message->type != RF_WIRE_GATE_READY || !rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "%s, and no READY, from the gateway",
				   rf_wire_name(message->type));
	*ret_pem = pem;
	return 0;
}

int rf_gate_await(int fd, uint64_t box, int timeout_ms, struct rf_buf *buf, const char **ret_pem,
		  struct rf_err *err)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int got;

	do
		got = poll(&wait, 1, timeout_ms);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return rf_fail_say(err, -ETIMEDOUT, "the gateway does not answer");
	got = rf_wire_receive(fd, RF_WIRE_GATE, buf, &message, err);
	if (got == 0)
		return rf_fail_say(err, -ECONNRESET, "the gateway has ended");
	if (got < 0)
		return got;
	/* A refusal without a box is of the connection as a whole. */
	if (message.type == RF_WIRE_REFUSED && (message.id == box || message.id == 0))
		return rf_wire_refused(&message, err);
	if (message.id != box)
		return rf_fail_say(err, -EBADMSG, "the gateway answers for another box");
	return read_ready(&message, ret_pem, err);
}

int rf_gate_give_lines(int fd, uint64_t box, const int lines[RF_LINE_COUNT], struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_LINES, box, NULL, 0, lines, RF_LINE_COUNT, err);
}

static int send_port(int fd, enum rf_wire_type type, uint64_t box, uint32_t port, int listener,
		     struct rf_err *err)
{
	return rf_wire_send(fd, type, box, &port, sizeof(port), &listener, 1, err);
}

int rf_gate_give_port(int fd, uint64_t box, uint16_t port, int listener, struct rf_err *err)
{
	return send_port(fd, RF_WIRE_GATE_PORT, box, port, listener, err);
}

int rf_gate_publish(int fd, uint64_t box, uint16_t port, int listener, struct rf_err *err)
{
	return send_port(fd, RF_WIRE_GATE_PUBLISH, box, port, listener, err);
}

int rf_gate_give_stock(int fd, uint64_t box, const int stock[RF_GATE_STOCK], struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_STOCK, box, NULL, 0, stock, RF_GATE_STOCK, err);
}

int rf_gate_give_hand(int fd, uint64_t box, int hand, bool is_bounded, struct rf_err *err)
{
	uint32_t bound = is_bounded;

	return rf_wire_send(fd, RF_WIRE_GATE_HAND, box, &bound, sizeof(bound), &hand, 1, err);
}

int rf_gate_bound(int fd, uint64_t box, const char *policy, struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_BOUND, box, policy, strlen(policy), NULL, 0, err);
}

int rf_gate_give_custody(int fd, uint64_t box, int custody, struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_CUSTODY, box, NULL, 0, &custody, 1, err);
}

int rf_gate_take(int fd, uint64_t id, const struct rf_gate_taken *taken, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, COUNTS_MAX + RF_GATE_WORDS);
	rf_gate_pack_taken(taken, &body);
	return send_packed(fd, RF_WIRE_GATE_TAKEN, id, &body, err);
}

int rf_gate_name(int fd, uint64_t box, const char *name, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_GATE_NAME + 16);
	rf_pack_string(&body, name);
	return send_packed(fd, RF_WIRE_GATE_NAME, box, &body, err);
}

int rf_gate_seal(int fd, uint64_t box, const char *policy, struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_SEAL, box, policy, strlen(policy), NULL, 0, err);
}

int rf_gate_change(int fd, uint64_t box, const char *policy, struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_CHANGE, box, policy, strlen(policy), NULL, 0, err);
}

int rf_gate_close(int fd, uint64_t box, struct rf_err *err)
{
	return rf_wire_send(fd, RF_WIRE_GATE_CLOSE, box, NULL, 0, NULL, 0, err);
}

int rf_gate_tell_books(int fd, uint64_t box, const struct rf_buf *text, struct rf_err *err)
{
	return send_packed(fd, RF_WIRE_GATE_BOOKS, box, text, err);
}

int rf_gate_speak(int fd, uint64_t box, const struct rf_gate_place *place, int socket,
		  struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, EVENT_MAX);
	rf_gate_pack_place(place, &body);
	if (body.has_failed)
		return rf_fail(err, -ENOMEM, "a message");
	return rf_wire_send(fd, RF_WIRE_GATE_SPEAK, box, body.data, body.len, &socket, 1, err);
}

int rf_gate_more(struct rf_gate_news *news, struct rf_err *err)
{
	size_t used;

	if (news->more_len == 0)
		return 0;
	if (rf_gate_read_event(news->more, news->more_len, &news->event, &used, err) < 0)
		return err->code;
	news->more += used;
	news->more_len -= used;
	return 1;
}

int rf_gate_next(int fd, struct rf_buf *buf, struct rf_gate_news *ret_news, struct rf_err *err)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_gate_news news = { 0 };
	int code = rf_wire_receive(fd, RF_WIRE_GATE, buf, &message, err);

	if (code <= 0)
		return code;
	news.box = message.id;
	switch (message.type) {
	case RF_WIRE_GATE_EVENT:
		news.more = message.body;
		news.more_len = message.len;
		code = rf_gate_more(&news, err);
		if (code == 0)
			code = rf_fail_say(err, -EBADMSG, "a message without an event");
		break;
	case RF_WIRE_GATE_HELD:
		news.is_held = true;
		code = rf_gate_read_held(message.body, message.len, &news.held, err);
		break;
	case RF_WIRE_GATE_DONE:
		news.is_done = true;
		code = rf_gate_read_counts(message.body, message.len, &news.counts, err);
		break;
	case RF_WIRE_REFUSED:
		news.is_refused = true;
		code = rf_wire_refused(&message, &news.why) == -EBADMSG
			       ? rf_fail_say(err, -EBADMSG, "a malformed refusal")
			       : 0;
		break;
	default:
		code = rf_fail_say(err, -EBADMSG, "%s from the gateway, unasked",
				   rf_wire_name(message.type));
	}
	if (code < 0)
		return code;
	*ret_news = news;
	return 1;
}
