/* Keeps writes that wait for approval: see custodian.h. */
#include "server/custodian.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "audit/event.h"
#include "base/fd.h"
#include "egress/passage.h"
#include "server/api-key.h"
#include "server/clerk-watcher.h"
#include "wire/wire.h"

#define TICK_MS      500 /* by which an end of time may be late */
#define EVENTS       64
#define TENANT_COUNT 1024        /* of one tenant's that wait; of one box RF_GATE_HELD_COUNT */
#define TENANT_BYTES (16u << 20) /* so that it takes many to fill what there is for all */
#define ALL_BYTES    (256u << 20)
#define REMEMBERED   256   /* of one tenant's that are decided */
#define SEND_MS      10000 /* that a gateway has to take in all of what was approved */
#define MS           1000000ull
#define LATE         "nobody decided in time"
#define ENDED        "the server has ended"
#define UNSURE       "the watcher did not say in time that it had recorded it"
#define WAIT_LEAST   1000ull
#define WAIT_MOST    (30ull * 24 * 3600 * 1000)

/* A box whose writes wait, and its gateway's line. */
struct box {
	struct box *next;
	int fd;
	struct rf_custodian_owner owner;
};

struct item {
	struct item *next;
	struct rf_custodian_item seen; /* first that others see */
	struct box *box;               /* or NULL: it is over */
	uint64_t deadline_ns;          /* on the clock that does not jump */
	const char *untold;            /* a decision that is yet to be recorded, or NULL */
};

/* All of it under one lock; the oldest item first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct box *boxes;
static struct item *items, **last = &items;
static uint64_t last_ns;
static int waiter = -1; /* an epoll of all lines; or -1: there was none yet */

/* While something arrives; and after the end nothing does. */
static pthread_mutex_t arriving = PTHREAD_MUTEX_INITIALIZER;
static bool is_over; /* under that lock */

/* Who records what was decided without anybody: one at a time. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

static bool is_of(const struct item *item, const char *tenant)
{
	return !tenant || strcmp(item->seen.owner.tenant, tenant) == 0;
}

static bool is_kept(const struct item *item)
{
	return item->seen.state <= RF_CUSTODIAN_DECIDING;
}

/* ------------------------------------------------------------- the record */

/* On failure `*ret_is_said` means that the log may have it nevertheless, or later. */
static int record(const struct rf_custodian_item *item, const char *decision, bool *ret_is_said,
		  struct rf_err *err)
{
	struct rf_audit_event event;
	char what[512], agent[2 * RF_TERMS_NAME];

	snprintf(what, sizeof(what), "%s %s://%s:%u%.200s", item->method,
		 item->is_tls ? "https" : "http", item->host, item->port, item->path);
	snprintf(agent, sizeof(agent), "%s/%s", item->owner.tenant, item->owner.agent);
	rf_audit_event_init(&event, RF_AUDIT_APPROVAL);
	rf_audit_event_text(&event, RF_AUDIT_TENANT, item->owner.tenant);
	rf_audit_event_text(&event, RF_AUDIT_KEY, item->owner.key);
	rf_audit_event_text(&event, RF_AUDIT_BOX, item->owner.sandbox);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, item->owner.agent[0] ? agent : "");
	rf_audit_event_text(&event, RF_AUDIT_APPROVAL_ID, item->id);
	rf_audit_event_text(&event, RF_AUDIT_DECISION, decision);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_audit_event_text(&event, RF_AUDIT_HOST, item->host);
	rf_audit_event_text(&event, RF_AUDIT_METHOD, item->method);
	rf_audit_event_text(&event, RF_AUDIT_PATH, item->path);
	rf_audit_event_text(&event, RF_AUDIT_BY, item->by);
	rf_audit_event_text(&event, RF_AUDIT_REASON, item->reason);
	rf_audit_event_number(&event, RF_AUDIT_PORT, item->port);
	rf_audit_event_number(&event, RF_AUDIT_BYTES, item->size);
	rf_audit_event_number(&event, RF_AUDIT_UNTIL_MS, item->expires_ns / MS);
	if (item->decided_ns > item->asked_ns)
		rf_audit_event_number(&event, RF_AUDIT_TOOK_US,
				      (item->decided_ns - item->asked_ns) / 1000);
	return rf_clerk_watcher_tell(&event, ret_is_said, err);
}

static struct item *find_untold(void)
{
	struct item *item = items;

	while (item && !item->untold)
		item = item->next;
	return item;
}

/* What nobody waited for.  Where no watcher stands it stays to be told, and is remembered until then. */
static void tell_untold(void)
{
	struct item *item;
	struct rf_err err = RF_ERR_INIT;
	bool ignored;

	pthread_mutex_lock(&telling);
	for (;;) {
		pthread_mutex_lock(&lock);
		item = find_untold();
		pthread_mutex_unlock(&lock);
		/* It changes no more, and is not freed while it is untold. */
		if (!item || record(&item->seen, item->untold, &ignored, &err) < 0)
			break;
		pthread_mutex_lock(&lock);
		item->untold = NULL;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&telling);
}

/* ------------------------------------------------------------- what is kept; under the lock */

static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t steady_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void drop_message(struct item *item)
{
	if (item->seen.message)
		explicit_bzero(item->seen.message, item->seen.size);
	free(item->seen.message);
	item->seen.message = NULL;
}

static void unlink_item(struct item **at)
{
	struct item *item = *at;

	*at = item->next;
	if (last == &item->next)
		last = at;
	drop_message(item);
	free(item);
}

static void forget(const struct item *which)
{
	struct item **at = &items;

	while (*at && *at != which)
		at = &(*at)->next;
	if (*at)
		unlink_item(at);
}

/*
 * Of those that are decided, only some are remembered.  The tenant is copied: a caller may give the
 * name that an item has, and the item may be the first to go.
 */
static void trim(const char *whose)
{
	char tenant[sizeof(items->seen.owner.tenant)];
	size_t count = 0;

	snprintf(tenant, sizeof(tenant), "%s", whose);
	for (const struct item *item = items; item; item = item->next)
		count += is_of(item, tenant) && !is_kept(item) && !item->untold;
	for (struct item **at = &items; *at && count > REMEMBERED;) {
		if (is_of(*at, tenant) && !is_kept(*at) && !(*at)->untold) {
			unlink_item(at);
			count--;
		} else {
			at = &(*at)->next;
		}
	}
}

/* Where nobody decided: by time, or because there is nothing left to do it for. */
static void end_item(struct item *item, enum rf_custodian_state state, const char *reason)
{
	item->seen.state = state;
	item->seen.decided_ns = now_ns();
	item->untold = state == RF_CUSTODIAN_EXPIRED ? "expired" : "deny";
	snprintf(item->seen.reason, sizeof(item->seen.reason), "%s", reason);
	drop_message(item);
}

/* NULL if there is room for one more; else why there is none. */
static const char *find_no_room(const struct box *box, size_t size)
{
	size_t box_count = 0, box_bytes = size, count = 0, bytes = size, all = size;

	for (const struct item *item = items; item; item = item->next) {
		if (!is_kept(item))
			continue;
		all += item->seen.size;
		if (!is_of(item, box->owner.tenant))
			continue;
		count++;
		bytes += item->seen.size;
		box_count += item->box == box;
		box_bytes += item->box == box ? item->seen.size : 0;
	}
	if (box_count >= RF_GATE_HELD_COUNT || box_bytes > RF_GATE_HELD_BYTES)
		return "too many of this sandbox wait already";
	if (count >= TENANT_COUNT || bytes > TENANT_BYTES)
		return "too many of this tenant wait already";
	return all > ALL_BYTES ? "too many wait already" : NULL;
}

/* What is approved is all of a body, of which only a part may be shown.  Not under the lock: it may be long. */
static void hash_body(struct rf_custodian_item *item, const char *message, size_t len)
{
	static const char gap[] = "\r\n\r\n";
	const char *end = memmem(message, len, gap, sizeof(gap) - 1);
	uint8_t hash[RF_SHA256_BYTES];
	struct rf_sha256 sha;

	item->body_at = end ? (size_t)(end - message) + sizeof(gap) - 1 : len;
	rf_sha256_init(&sha);
	rf_sha256_add(&sha, message + item->body_at, len - item->body_at);
	rf_sha256_end(&sha, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(item->body_sha256 + 2 * i, 3, "%02x", hash[i]);
}

static struct item *make_item(struct box *box, const struct rf_gate_asked *asked,
			      struct rf_err *err)
{
	const struct rf_gate_held *held = &asked->held;
	uint64_t wait_ms = asked->wait_ms < WAIT_LEAST  ? WAIT_LEAST
			   : asked->wait_ms > WAIT_MOST ? WAIT_MOST
							: asked->wait_ms;
	struct item *item = calloc(1, sizeof(*item));
	char id[RF_PASSAGE_ID];

	if (item)
		item->seen.message = malloc(held->len);
	if (!item || !item->seen.message || rf_passage_name(id, err) < 0) {
		if (item)
			free(item->seen.message);
		free(item);
		rf_fail(err, -ENOMEM, "keep a request");
		return NULL;
	}
	memcpy(item->seen.message, held->message, held->len);
	item->seen.size = held->len;
	item->seen.owner = box->owner;
	item->seen.port = held->place.port;
	item->seen.is_tls = held->place.is_tls;
	snprintf(item->seen.id, sizeof(item->seen.id), "%s", id);
	snprintf(item->seen.host, sizeof(item->seen.host), "%s", held->place.host);
	snprintf(item->seen.method, sizeof(item->seen.method), "%s", held->method);
	snprintf(item->seen.path, sizeof(item->seen.path), "%s", held->path);
	item->box = box;
	item->deadline_ns = steady_ns() + wait_ms * MS;
	item->seen.asked_ns = now_ns();
	if (item->seen.asked_ns <= last_ns) /* which is the order in which they are listed */
		item->seen.asked_ns = last_ns + 1;
	last_ns = item->seen.asked_ns;
	item->seen.expires_ns = item->seen.asked_ns + wait_ms * MS;
	*last = item;
	last = &item->next;
	return item;
}

/* ------------------------------------------------------------- what gateways say, in the thread */

static void take_asked(struct box *box, const struct rf_wire_message *message)
{
	struct rf_gate_taken taken = { "", "" };
	struct rf_gate_asked asked;
	struct rf_err err = RF_ERR_INIT, ignored = RF_ERR_INIT;
	const char *full;
	struct item *item;
	bool is_said;
	int code;

	if (rf_gate_read_asked(message->body, message->len, &asked, &err) < 0) {
		taken.reason = "it can't be read";
		rf_gate_take(box->fd, message->id, &taken, &ignored);
		return;
	}
	pthread_mutex_lock(&lock);
	trim(box->owner.tenant);
	full = is_over ? "the server ends" : find_no_room(box, asked.held.len);
	item = full ? NULL : make_item(box, &asked, &err);
	pthread_mutex_unlock(&lock);
	if (item) /* which is nobody else's yet */
		hash_body(&item->seen, asked.held.message, asked.held.len);
	if (item && record(&item->seen, "asked", &is_said, &err) < 0) {
		pthread_mutex_lock(&lock);
		if (is_said)
			end_item(item, RF_CUSTODIAN_DENIED, UNSURE);
		else
			forget(item);
		pthread_mutex_unlock(&lock);
		item = NULL;
	}
	taken.id = item ? item->seen.id : "";
	taken.reason = item ? "" : full ? full : err.msg;
	code = rf_gate_take(box->fd, message->id, &taken, &ignored);
	if (!item)
		return;
	pthread_mutex_lock(&lock); /* until here it was nobody else's */
	if (code == 0)
		item->seen.state = RF_CUSTODIAN_WAITING;
	else
		end_item(item, RF_CUSTODIAN_DENIED, "its gateway does not listen");
	pthread_mutex_unlock(&lock);
}

static void take_name(struct box *box, const struct rf_wire_message *message)
{
	struct rf_err err;
	const char *name;

	if (rf_gate_read_name(message->body, message->len, &name, &err) < 0)
		return;
	pthread_mutex_lock(&lock);
	if (!box->owner.sandbox[0])
		snprintf(box->owner.sandbox, sizeof(box->owner.sandbox), "%.*s",
			 RF_APPROVAL_ASK_ID - 1, name);
	pthread_mutex_unlock(&lock);
}

static void drop_box(struct box *box)
{
	struct box **at = &boxes;

	pthread_mutex_lock(&lock);
	while (*at != box)
		at = &(*at)->next;
	*at = box->next;
	for (struct item *item = items; item; item = item->next) {
		if (item->box != box)
			continue;
		item->box = NULL;
		if (item->seen.state == RF_CUSTODIAN_WAITING)
			end_item(item, RF_CUSTODIAN_DENIED, "its sandbox has ended");
	}
	trim(box->owner.tenant);
	pthread_mutex_unlock(&lock);
	rf_wire_close(&box->fd);
	free(box);
}

/* One message of each line in turn, so that no box keeps the others from being heard. */
static void listen_to(struct box *box, struct rf_buf *in)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(box->fd, RF_WIRE_GATE, in, &message, &err);

	if (got == -EAGAIN)
		return;
	if (got > 0 && message.type == RF_WIRE_GATE_ASKED) {
		pthread_mutex_lock(&arriving);
		take_asked(box, &message);
		pthread_mutex_unlock(&arriving);
	} else if (got > 0 && message.type == RF_WIRE_GATE_NAME)
		take_name(box, &message);
	else
		drop_box(box);
}

static void look_at_clock(void)
{
	uint64_t now = steady_ns();

	pthread_mutex_lock(&lock);
	for (struct item *item = items; item; item = item->next)
		if (item->seen.state == RF_CUSTODIAN_WAITING && item->deadline_ns <= now)
			end_item(item, RF_CUSTODIAN_EXPIRED, LATE);
	pthread_mutex_unlock(&lock);
	tell_untold();
}

static void *run(void *data)
{
	struct epoll_event events[EVENTS];
	struct rf_buf in;

	(void)data;
	rf_buf_init(&in, RF_WIRE_ROOM);
	for (;;) {
		int count = epoll_wait(waiter, events, EVENTS, TICK_MS);

		for (int i = 0; i < count; i++)
			listen_to(events[i].data.ptr, &in);
		look_at_clock();
	}
	return NULL;
}

/* ------------------------------------------------------------- boxes */

/* The thread begins with the first box that needs it; under the lock. */
static int begin(struct rf_err *err)
{
	pthread_t thread;
	int code;

	if (waiter >= 0)
		return 0;
	waiter = epoll_create1(EPOLL_CLOEXEC);
	if (waiter < 0)
		return rf_fail(err, -errno, "wait for approvals");
	code = pthread_create(&thread, NULL, run, NULL);
	if (code != 0) {
		rf_fd_done(&waiter);
		return rf_fail(err, -code, "wait for approvals");
	}
	pthread_detach(thread);
	return 0;
}

static int watch(struct box *box, struct rf_err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = box };
	int code;

	pthread_mutex_lock(&lock);
	code = begin(err);
	if (code == 0) { /* before the thread can hear of it */
		box->next = boxes;
		boxes = box;
		if (epoll_ctl(waiter, EPOLL_CTL_ADD, box->fd, &event) < 0) {
			code = rf_fail(err, -errno, "wait for approvals");
			boxes = box->next;
		}
	}
	pthread_mutex_unlock(&lock);
	return code;
}

int rf_custodian_adopt(int gateway, const struct rf_clerk_asker *who, const char *agent,
		       struct rf_err *err)
{
	struct box *box = calloc(1, sizeof(*box));
	int pair[2], code;

	if (!box)
		return rf_fail(err, -ENOMEM, "wait for approvals");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		free(box);
		return rf_fail(err, -errno, "a pair of sockets");
	}
	snprintf(box->owner.tenant, sizeof(box->owner.tenant), "%s", who->tenant);
	snprintf(box->owner.key, sizeof(box->owner.key), "%s", who->key);
	snprintf(box->owner.agent, sizeof(box->owner.agent), "%.*s", RF_TERMS_NAME - 1,
		 agent ? agent : "");
	box->fd = pair[0];
	code = rf_gate_give_custody(gateway, RF_PASSAGE_BOX, pair[1], err);
	rf_fd_done(&pair[1]);
	if (code == 0)
		code = watch(box, err);
	if (code < 0) {
		rf_fd_done(&box->fd);
		free(box);
	}
	return code;
}

/* ------------------------------------------------------------- who asks */

const char *rf_custodian_whose(const struct rf_clerk_asker *who)
{
	return who->scopes & RF_SCOPE_OPERATOR ? NULL : who->tenant;
}

void rf_custodian_each(const char *tenant, uint64_t after_ns, rf_custodian_fn *fn, void *data)
{
	pthread_mutex_lock(&lock);
	for (const struct item *item = items; item; item = item->next)
		if (is_of(item, tenant) && item->seen.state == RF_CUSTODIAN_WAITING &&
		    item->seen.asked_ns > after_ns && !fn(data, &item->seen))
			break;
	pthread_mutex_unlock(&lock);
}

/* What is another tenant's is not there.  Under the lock. */
static struct item *find(const char *tenant, const char *id)
{
	for (struct item *item = items; item; item = item->next)
		if (is_of(item, tenant) && item->seen.state != RF_CUSTODIAN_ARRIVING &&
		    strcmp(item->seen.id, id) == 0)
			return item;
	return NULL;
}

static int fail_unknown(const char *id, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "there is no approval `%.31s`", id);
	return rf_fail_hint(err, "GET /v1/approvals lists those that wait");
}

int rf_custodian_look(const char *tenant, const char *id, rf_custodian_fn *fn, void *data,
		      struct rf_err *err)
{
	const struct item *item;

	pthread_mutex_lock(&lock);
	item = find(tenant, id);
	if (item)
		fn(data, &item->seen);
	pthread_mutex_unlock(&lock);
	return item ? 0 : fail_unknown(id, err);
}

/* ------------------------------------------------------------- who decides */

/* It is nobody else's to decide from here on. */
static int claim(const char *tenant, const char *id, struct item **ret_item, struct rf_err *err)
{
	static const char *const words[RF_CUSTODIAN_STATES] = {
		[RF_CUSTODIAN_DECIDING] = "somebody decides about it just now",
		[RF_CUSTODIAN_APPROVED] = "it was approved",
		[RF_CUSTODIAN_DENIED] = "it was denied",
		[RF_CUSTODIAN_EXPIRED] = "nobody decided in time, so it was denied",
	};
	struct item *item = find(tenant, id);

	if (!item)
		return fail_unknown(id, err);
	if (item->seen.state == RF_CUSTODIAN_WAITING && item->deadline_ns <= steady_ns())
		end_item(item, RF_CUSTODIAN_EXPIRED, LATE); /* which the thread has not seen yet */
	if (item->seen.state != RF_CUSTODIAN_WAITING) {
		rf_fail_say(err, -EBUSY, "approval %s: %s", id, words[item->seen.state]);
		return rf_fail_hint(err, "each is decided once");
	}
	item->seen.state = RF_CUSTODIAN_DECIDING;
	*ret_item = item;
	return 0;
}

/* Hands the gateway one end of a pair, on which the request is then written.  Under the lock: the box could end. */
static int call_gateway(const struct item *item, int *ret_fd, struct rf_err *err)
{
	const struct rf_gate_place place = { item->seen.host, item->seen.port, item->seen.is_tls };
	int pair[2], code;

	if (!item->box)
		return rf_fail_say(err, -EBUSY, "approval %s: its sandbox has ended",
				   item->seen.id);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	code = rf_gate_speak(item->box->fd, 0, &place, pair[1], err);
	rf_fd_done(&pair[1]); /* so that the gateway's end is seen */
	if (code == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	return code;
}

/*
 * False: it was not taken in as a whole, so nobody may have the descriptor, who could write the rest of it.  What is refused before it was
 * all read is answered all the same: then the gateway has hung up, and nobody reads what is written.
 */
static bool write_request(int fd, const char *message, size_t len)
{
	const uint64_t end = steady_ns() + SEND_MS * MS;
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	size_t at = 0;
	char first;

	while (at < len) {
		ssize_t n = send(fd, message + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		uint64_t now = steady_ns();

		at += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno == EAGAIN && now < end)
			poll(&room, 1, (int)((end - now) / MS) + 1);
		else if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
		else if (n < 0 && errno != EINTR)
			return false;
	}
	return true;
}

/* It is recorded as approved: sends it, or says in the record, too, that this could not be.  Until then it is nobody else's. */
static int send_item(struct item *item, int *ret_fd, struct rf_err *err)
{
	RF_AUTO_FD int fd = -1;
	int code;

	pthread_mutex_lock(&lock);
	code = call_gateway(item, &fd, err);
	pthread_mutex_unlock(&lock);
	if (code == 0 && !write_request(fd, item->seen.message, item->seen.size)) {
		code = rf_fail_say(err, -ETIMEDOUT, "approval %s: its gateway did not take it in",
				   item->seen.id);
		rf_fail_hint(err, "nothing was sent, and it waits no more");
	}
	pthread_mutex_lock(&lock);
	if (code < 0) {
		end_item(item, RF_CUSTODIAN_DENIED, "it was approved, and could not be sent");
	} else {
		item->seen.state = RF_CUSTODIAN_APPROVED;
		drop_message(item);
		trim(item->seen.owner.tenant);
		*ret_fd = rf_fd_take(&fd);
	}
	pthread_mutex_unlock(&lock);
	return code;
}

int rf_custodian_decide(const struct rf_clerk_asker *who,
			const struct rf_approval_ask_decision *decision, int *ret_fd,
			struct rf_err *err)
{
	struct item *item = NULL;
	bool is_said = false;
	int code;

	pthread_mutex_lock(&lock);
	code = claim(rf_custodian_whose(who), decision->id, &item, err);
	if (code == 0) {
		item->seen.decided_ns = now_ns();
		snprintf(item->seen.by, sizeof(item->seen.by), "%s", who->key);
		snprintf(item->seen.reason, sizeof(item->seen.reason), "%s", decision->reason);
	}
	pthread_mutex_unlock(&lock);
	if (code < 0)
		return code;
	code = record(&item->seen, decision->is_approved ? "allow" : "deny", &is_said, err);
	if (code == 0 && decision->is_approved)
		return send_item(item, ret_fd, err);
	pthread_mutex_lock(&lock);
	if (code == 0) {
		item->seen.state = RF_CUSTODIAN_DENIED;
		drop_message(item);
		trim(item->seen.owner.tenant);
	} else if (is_said) { /* the log may have it as allowed: its last word is that it was not */
		end_item(item, RF_CUSTODIAN_DENIED, UNSURE);
	} else if (!item->box) {
		end_item(item, RF_CUSTODIAN_DENIED, "its sandbox has ended");
	} else { /* it waits on */
		item->seen.state = RF_CUSTODIAN_WAITING;
		item->seen.decided_ns = 0;
		item->seen.by[0] = item->seen.reason[0] = '\0';
	}
	pthread_mutex_unlock(&lock);
	if (code < 0)
		rf_fail_in(err, is_said ? "it could not be recorded, and is denied"
					: "it can't be recorded, and is not decided");
	return code;
}

/* Those that somebody still decides about, who has taken too long and will not come back: nothing of them was sent as a whole. */
static void tell_undecided(void)
{
	static struct rf_custodian_item seen; /* one call, at the end */
	struct rf_err ignored = RF_ERR_INIT;
	uint64_t last_told = 0;
	bool is_said, has_found;

	do {
		has_found = false;
		pthread_mutex_lock(&lock);
		for (const struct item *item = items; item && !has_found; item = item->next)
			if (item->seen.state == RF_CUSTODIAN_DECIDING &&
			    item->seen.asked_ns > last_told) {
				seen = item->seen;
				last_told = seen.asked_ns;
				has_found = true;
			}
		pthread_mutex_unlock(&lock);
		snprintf(seen.reason, sizeof(seen.reason), ENDED);
	} while (has_found && record(&seen, "deny", &is_said, &ignored) == 0);
}

void rf_custodian_end(void)
{
	pthread_mutex_lock(&arriving);
	is_over = true;
	pthread_mutex_unlock(&arriving);
	pthread_mutex_lock(&lock);
	for (struct item *item = items; item; item = item->next)
		if (item->seen.state == RF_CUSTODIAN_WAITING)
			end_item(item, RF_CUSTODIAN_DENIED, ENDED);
	pthread_mutex_unlock(&lock);
	tell_untold();
	tell_undecided();
}
