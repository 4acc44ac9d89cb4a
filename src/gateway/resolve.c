/*
 * Names to addresses: see resolve.h.
 *
 * An entry is a name that was asked for: what is known of it, and who waits.  c-ares may answer from within the question, so answers are always
 * handed on from the loop, by the entry's deadline.
 */
#include "gateway/resolve.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/host.h"

#define SECOND      1000000000ull
#define PLACES      256
#define ENTRIES     1024 /* names that are kept */
#define TTL_LEAST_S 1
#define TTL_MOST_S  300
#define TTL_NONE_S  2 /* of what failed */
#define SOCKETS     32
#define TRY_MS      2000
#define TRIES       3

struct entry {
	struct rf_resolve *resolve;
	struct entry *next;          /* in the same place */
	struct entry *newer, *older; /* by when it was last asked for */
	struct rf_resolve_query *waiters;
	struct rf_deadline soon;
	struct rf_resolve_answer answer;
	uint64_t until_ns; /* the answer holds */
	bool is_asking;
	char name[RF_HOST_TEXT + 1];
};

struct rf_resolve_query {
	struct rf_resolve_query *next, **link;
	rf_resolve_fn *fn;
	void *data;
};

struct rf_resolve {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	ares_channel channel;
	bool is_ready;
	struct rf_deadline timer;
	struct socket {
		struct rf_resolve *resolve;
		int fd; /* -1: free */
		struct rf_event *event;
	} sockets[SOCKETS];
	struct entry *places[PLACES];
	struct entry *newest, *oldest;
	size_t count;
};

/* ------------------------------------------------------------- c-ares on the loop */

static void set_timer(struct rf_resolve *resolve)
{
	struct timeval wait;

	if (!ares_timeout(resolve->channel, NULL, &wait)) {
		rf_deadline_cancel(&resolve->timer);
		return;
	}
	rf_deadline_set(&resolve->timer, rf_loop_now() + (uint64_t)wait.tv_sec * SECOND +
						 (uint64_t)wait.tv_usec * 1000 + 1000000);
}

static void on_timer(void *data)
{
	struct rf_resolve *resolve = data;

	ares_process_fd(resolve->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(resolve);
}

static void on_socket(void *data, int what)
{
	struct socket *socket = data;
	struct rf_resolve *resolve = socket->resolve;
	int fd = socket->fd;

	ares_process_fd(resolve->channel,
			what & (RF_LOOP_READ | RF_LOOP_HANGUP) ? fd : ARES_SOCKET_BAD,
			what & RF_LOOP_WRITE ? fd : ARES_SOCKET_BAD);
	set_timer(resolve);
}

/* c-ares tells what it waits for.  What can't be watched times out. */
static void on_wish(void *data, ares_socket_t fd, int wants_read, int wants_write)
{
	struct rf_resolve *resolve = data;
	int want = (wants_read ? RF_LOOP_READ : 0) | (wants_write ? RF_LOOP_WRITE : 0);
	struct rf_err err;
	size_t at = 0, room = SOCKETS;

	for (; at < SOCKETS && resolve->sockets[at].fd != fd; at++)
		if (resolve->sockets[at].fd < 0)
			room = at;
	if (at < SOCKETS && want) {
		rf_event_want(resolve->sockets[at].event, want);
	} else if (at < SOCKETS) {
		rf_event_cancel(resolve->sockets[at].event);
		resolve->sockets[at].fd = -1;
		resolve->sockets[at].event = NULL;
	} else if (want && room < SOCKETS) {
		resolve->sockets[room].fd = fd;
		if (rf_loop_watch(resolve->loop, fd, want, on_socket, &resolve->sockets[room],
				  &resolve->sockets[room].event, &err) < 0)
			resolve->sockets[room].fd = -1;
	}
}

/* Reads the machine's settings; done at the first question, for most runs know their hosts. */
static int make_ready(struct rf_resolve *resolve, struct rf_err *err)
{
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.sock_state_cb = on_wish,
		.sock_state_cb_data = resolve,
	};
	int code;

	if (resolve->is_ready)
		return 0;
	code = ares_init_options(&resolve->channel, &options,
				 ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
					 ARES_OPT_SOCK_STATE_CB);
	if (code != ARES_SUCCESS)
		return rf_fail_say(err, -EIO, "the resolver does not start: %s",
				   ares_strerror(code));
	resolve->is_ready = true;
	return 0;
}

/* ------------------------------------------------------------- entries */

static size_t place_of(const char *name)
{
	size_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 ^ (unsigned char)*name;
	return hash % PLACES;
}

static void unlink_age(struct entry *entry)
{
	struct rf_resolve *resolve = entry->resolve;

	*(entry->newer ? &entry->newer->older : &resolve->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &resolve->oldest) = entry->newer;
}

static void link_newest(struct entry *entry)
{
	struct rf_resolve *resolve = entry->resolve;

	entry->newer = NULL;
	entry->older = resolve->newest;
	*(resolve->newest ? &resolve->newest->newer : &resolve->oldest) = entry;
	resolve->newest = entry;
}

static void forget(struct entry *entry)
{
	struct entry **at = &entry->resolve->places[place_of(entry->name)];

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	unlink_age(entry);
	entry->resolve->count--;
	rf_deadline_done(&entry->soon);
	free(entry);
}

/* Makes room by forgetting what nobody waits for, the oldest first. */
static void make_room(struct rf_resolve *resolve)
{
	struct entry *newer;

	for (struct entry *entry = resolve->oldest; entry && resolve->count >= ENTRIES;
	     entry = newer) {
		newer = entry->newer;
		if (!entry->is_asking && !entry->waiters)
			forget(entry);
	}
}

static void on_soon(void *data)
{
	struct entry *entry = data;
	struct rf_resolve_answer answer = entry->answer;

	/* Whoever is told may ask again, or cancel another; the entry itself stays while anybody waits. */
	while (entry->waiters) {
		struct rf_resolve_query *query = entry->waiters;

		entry->waiters = query->next;
		if (query->next)
			query->next->link = &entry->waiters;
		query->fn(query->data, &answer);
		free(query);
	}
}

static struct entry *find(struct rf_resolve *resolve, const char *name)
{
	struct entry *entry = resolve->places[place_of(name)];

	while (entry && strcmp(entry->name, name) != 0)
		entry = entry->next;
	return entry;
}

static struct entry *add(struct rf_resolve *resolve, const char *name)
{
	struct entry *entry, **at = &resolve->places[place_of(name)];

	make_room(resolve);
	entry = resolve->count < 2 * ENTRIES ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	entry->resolve = resolve;
	if (rf_deadline_init(&entry->soon, resolve->deadlines, on_soon, entry) < 0) {
		free(entry);
		return NULL;
	}
	strncpy(entry->name, name, sizeof(entry->name) - 1);
	entry->next = *at;
	*at = entry;
	link_newest(entry);
	resolve->count++;
	return entry;
}

/* ------------------------------------------------------------- answers */

static uint64_t take_list(struct entry *entry, const struct ares_addrinfo *list)
{
	uint64_t ttl = TTL_MOST_S;
	uint16_t port;

	for (const struct ares_addrinfo_node *node = list->nodes;
	     node && entry->answer.count < RF_RESOLVE_MOST; node = node->ai_next) {
		if (!rf_address_from(node->ai_addr, &entry->answer.list[entry->answer.count],
				     &port))
			continue;
		entry->answer.count++;
		if (node->ai_ttl >= 0 && (uint64_t)node->ai_ttl < ttl)
			ttl = (uint64_t)node->ai_ttl;
	}
	return ttl < TTL_LEAST_S ? TTL_LEAST_S : ttl;
}

static void on_list(void *data, int status, int timeouts, struct ares_addrinfo *list)
{
	struct entry *entry = data;
	uint64_t ttl = TTL_NONE_S;

	entry->is_asking = false;
	entry->answer = (struct rf_resolve_answer){ .code = -EIO, .why = ares_strerror(status) };
	if (status == ARES_SUCCESS && list)
		ttl = take_list(entry, list);
	if (entry->answer.count > 0)
		entry->answer.code = 0;
	else if (status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_SUCCESS)
		entry->answer.code = -ENOENT;
	else if (status == ARES_ETIMEOUT)
		entry->answer.code = -ETIMEDOUT;
	if (list)
		ares_freeaddrinfo(list);
	entry->until_ns = rf_loop_now() + ttl * SECOND;
	rf_deadline_set(&entry->soon, rf_loop_now());
}

static void ask(struct entry *entry)
{
	static const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};

	entry->is_asking = true;
	ares_getaddrinfo(entry->resolve->channel, entry->name, NULL, &hints, on_list, entry);
	set_timer(entry->resolve);
}

int rf_resolve_ask(struct rf_resolve *resolve, const char *name, rf_resolve_fn *fn, void *data,
		   struct rf_resolve_query **ret_query, struct rf_err *err)
{
	struct rf_resolve_query *query;
	struct entry *entry;

	if (make_ready(resolve, err) < 0)
		return err->code;
	entry = find(resolve, name);
	if (!entry)
		entry = add(resolve, name);
	query = entry ? calloc(1, sizeof(*query)) : NULL;
	if (!query)
		return rf_fail(err, -ENOMEM, "resolve a name");
	unlink_age(entry);
	link_newest(entry);
	*query = (struct rf_resolve_query){ entry->waiters, &entry->waiters, fn, data };
	if (query->next)
		query->next->link = &query->next;
	entry->waiters = query;
	*ret_query = query;
	if (entry->is_asking)
		return 0;
	if (entry->until_ns > rf_loop_now())
		rf_deadline_set(&entry->soon, rf_loop_now());
	else
		ask(entry);
	return 0;
}

void rf_resolve_cancel(struct rf_resolve_query *query)
{
	if (!query)
		return;
	*query->link = query->next;
	if (query->next)
		query->next->link = query->link;
	free(query);
}

int rf_resolve_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		   struct rf_resolve **ret_resolve, struct rf_err *err)
{
	struct rf_resolve *resolve = calloc(1, sizeof(*resolve));

	if (!resolve)
		return rf_fail(err, -ENOMEM, "resolver");
	resolve->loop = loop;
	resolve->deadlines = deadlines;
	for (size_t i = 0; i < SOCKETS; i++) {
		resolve->sockets[i].resolve = resolve;
		resolve->sockets[i].fd = -1;
	}
	if (rf_deadline_init(&resolve->timer, deadlines, on_timer, resolve) < 0) {
		free(resolve);
		return rf_fail(err, -ENOMEM, "resolver");
	}
	*ret_resolve = resolve;
	return 0;
}

void rf_resolve_free(struct rf_resolve *resolve)
{
	struct entry *older;

	if (!resolve)
		return;
	if (resolve->is_ready)
		ares_destroy(resolve->channel); /* which answers what is asked */
	for (struct entry *entry = resolve->newest; entry; entry = older) {
		older = entry->older;
		rf_deadline_done(&entry->soon);
		free(entry);
	}
	rf_deadline_done(&resolve->timer);
	free(resolve);
}
