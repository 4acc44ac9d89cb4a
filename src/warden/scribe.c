/* A warden's line to the watcher: see scribe.h. */
#include "warden/scribe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "audit/teller.h"
#include "base/fd.h"
#include "wire/client.h"

#define MS 1000000ull
#define AGAIN_MS                                                                                   \
	250 /* until a watcher is looked for again; and twice as long each time after that, */
#define RARELY_MS  32000 /* up to this */
#define NOTES_MOST 4096
#define TRIES_MOST 8 /* watchers that went away with it */

struct rf_scribe_note {
	struct rf_scribe_note *next;
	uint64_t id, until_ns;
	enum rf_wire_type type;
	struct rf_buf body;
	int fds[2];       /* that go with it, or -1 */
	rf_scribe_fn *fn; /* or NULL: nobody waits */
	void *data;
	int tries;
	bool is_sent;
	bool is_void; /* nobody wants to know: it is there only because its answer may come */
};

struct rf_scribe {
	struct rf_loop *loop;
	int fd; /* or -1: not connected */
	struct rf_event *event, *timer;
	struct rf_scribe_note *notes, **last; /* in the order in which they are answered */
	size_t count;
	uint64_t id;  /* of the last message */
	uint64_t era; /* how often it was connected */
	struct rf_buf in;
	uint64_t again_ms;
	bool is_late; /* an answer is overdue */
};

/* ------------------------------------------------------------- notes */

static void free_note(struct rf_scribe_note *note)
{
	rf_buf_done(&note->body);
	rf_fd_done(&note->fds[0]);
	rf_fd_done(&note->fds[1]);
	free(note);
}

static void remove_note(struct rf_scribe *scribe, struct rf_scribe_note *note)
{
	struct rf_scribe_note **at = &scribe->notes;

	while (*at != note)
		at = &(*at)->next;
	*at = note->next;
	if (!note->next)
		scribe->last = at;
	scribe->count--;
}

static struct rf_scribe_note *first_awaited(const struct rf_scribe *scribe)
{
	struct rf_scribe_note *note = scribe->notes;

	while (note && !note->fn)
		note = note->next;
	return note;
}

bool rf_scribe_is_awaited(const struct rf_scribe *scribe)
{
	return first_awaited(scribe) != NULL;
}

/* Each has as long as the next one: the first that is waited for is the first that is overdue. */
static void set_timer(const struct rf_scribe *scribe)
{
	const struct rf_scribe_note *note = first_awaited(scribe);

	if (note)
		rf_event_again(scribe->timer, note->until_ns);
	else if (scribe->notes && scribe->fd < 0)
		rf_event_again(scribe->timer, rf_loop_now() + scribe->again_ms * MS);
}

/* Tells who waits, who may send the next note while he is told. */
static void answer(struct rf_scribe_note *note, const char *text, const struct rf_err *why)
{
	rf_scribe_fn *fn = note->fn;

	note->fn = NULL;
	if (fn)
		fn(note->data, text, why);
}

/* Nobody is going to be answered; what nobody waits for stays for another watcher. */
static void answer_all(struct rf_scribe *scribe, const struct rf_err *why)
{
	struct rf_scribe_note *note;

	while ((note = first_awaited(scribe))) {
		note->is_void = true;
		answer(note, NULL, why);
	}
}

/* ------------------------------------------------------------- the connection */

static void on_message(void *data, int what);

static void disconnect(struct rf_scribe *scribe)
{
	rf_event_cancel(scribe->event);
	scribe->event = NULL;
	rf_fd_done(&scribe->fd);
	scribe->is_late = false;
	/* The next watcher is told again what this one may not have written. */
	for (struct rf_scribe_note *note = scribe->notes, *next; note; note = next) {
		next = note->next;
		note->is_sent = false;
		if (note->is_void || ++note->tries > TRIES_MOST) {
			remove_note(scribe, note);
			free_note(note);
		}
	}
}

static int reconnect(struct rf_scribe *scribe, struct rf_err *err)
{
	pid_t pid;

	if (scribe->fd >= 0)
		return 0;
	if (rf_client_connect_to(RF_TELLER_SOCKET, "watcher", 0, &scribe->fd, &pid, err) < 0)
		return err->code;
	scribe->again_ms = AGAIN_MS;
	scribe->era++;
	if (rf_loop_watch(scribe->loop, scribe->fd, RF_LOOP_READ, on_message, scribe,
			  &scribe->event, err) < 0) {
		rf_fd_done(&scribe->fd);
		return err->code;
	}
	return 0;
}

int rf_scribe_reach(struct rf_scribe *scribe, struct rf_err *err)
{
	if (scribe->is_late)
		return rf_fail_say(err, -ETIMEDOUT, "the watcher does not answer");
	return reconnect(scribe, err);
}

int rf_scribe_demand(struct rf_scribe *scribe, struct rf_err *err)
{
	struct pollfd line = { 0 };

	if (rf_scribe_reach(scribe, err) < 0)
		return err->code;
	line.fd = scribe->fd;
	if (poll(&line, 1, 0) > 0 && line.revents & (POLLHUP | POLLERR))
		return rf_fail_say(err, -ECONNREFUSED, "the watcher is gone");
	return 0;
}

uint64_t rf_scribe_era(const struct rf_scribe *scribe)
{
	return scribe->fd >= 0 ? scribe->era : 0;
}

/* Sends what is to be sent, as much as there is room for.  A connection that broke is told by the loop. */
static void push(struct rf_scribe *scribe)
{
	struct rf_err ignored = RF_ERR_INIT;
	int code = 0;

	for (struct rf_scribe_note *note = scribe->notes, *next;
	     note && scribe->fd >= 0 && code == 0; note = next) {
		next = note->next;
		if (note->is_sent)
			continue;
		if (note->is_void) {
			remove_note(scribe, note);
			free_note(note);
			continue;
		}
		note->id = ++scribe->id;
		code = rf_wire_send(scribe->fd, note->type, note->id, note->body.data,
				    note->body.len, note->fds,
				    (size_t)(note->fds[0] >= 0) + (size_t)(note->fds[1] >= 0),
				    &ignored);
		note->is_sent = code == 0;
		/* Another watcher has not heard of that box. */
		note->is_void |= note->is_sent && note->type == RF_WIRE_LIVE;
	}
	if (scribe->event)
		rf_event_want(scribe->event, RF_LOOP_READ | (code == -EAGAIN ? RF_LOOP_WRITE : 0));
}

/* The watcher is gone: another may stand in its place, and is told all that this one did not answer. */
static void move_on(struct rf_scribe *scribe, const struct rf_err *why)
{
	struct rf_err err = RF_ERR_INIT;

	disconnect(scribe);
	if (why)
		answer_all(scribe, why);
	else if (scribe->notes && reconnect(scribe, &err) < 0)
		answer_all(scribe, &err);
	push(scribe);
	set_timer(scribe);
}

/* ------------------------------------------------------------- answers */

static void take_answer(struct rf_scribe *scribe, const struct rf_wire_message *message)
{
	struct rf_scribe_note *note = scribe->notes;
	struct rf_err why = RF_ERR_INIT;

	scribe->is_late = false;
	remove_note(scribe, note);
	if (message->type == RF_WIRE_LOST)
		rf_wire_refused(message, &why);
	answer(note, why.code ? NULL : message->type == RF_WIRE_TOLD ? message->body : "", &why);
	free_note(note);
}

/* True if the message answers the first note; one to nobody says why the connection ends. */
static bool is_expected(const struct rf_scribe *scribe, const struct rf_wire_message *message)
{
	const struct rf_scribe_note *note = scribe->notes;

	return note && note->is_sent && message->id == note->id &&
	       (message->type == RF_WIRE_LOST ||
		message->type == (note->type == RF_WIRE_TELL ? RF_WIRE_KEPT : RF_WIRE_TOLD));
}

/* Takes all answers that are there.  False if the connection is no more. */
static bool hear(struct rf_scribe *scribe)
{
	for (;;) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err = RF_ERR_INIT;
		int got = rf_wire_receive(scribe->fd, RF_WIRE_WATCHER, &scribe->in, &message, &err);

		if (got == -EAGAIN)
			return true;
		if (got > 0 && is_expected(scribe, &message)) {
			take_answer(scribe, &message);
			continue;
		}
		if (got > 0 && message.type == RF_WIRE_LOST && message.id == 0)
			rf_wire_refused(&message, &err);
		else if (got > 0)
			rf_fail_say(&err, -EPROTO, "the watcher answers something else");
		move_on(scribe, got == 0 ? NULL : &err);
		return false;
	}
}

static void on_message(void *data, int what)
{
	struct rf_scribe *scribe = data;

	(void)what;
	if (hear(scribe)) {
		push(scribe);
		set_timer(scribe);
	}
}

/* Whoever has waited long enough hears that there is no answer; or it is time to look for a watcher. */
static void on_time(void *data, int what)
{
	struct rf_scribe *scribe = data;
	struct rf_scribe_note *note;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	while ((note = first_awaited(scribe)) && note->until_ns <= rf_loop_now()) {
		scribe->is_late = scribe->fd >= 0;
		note->is_void = true;
		rf_fail_say(&err, -ETIMEDOUT, "the watcher does not answer");
		answer(note, NULL, &err);
	}
	if (scribe->fd < 0 && scribe->notes) {
		if (reconnect(scribe, &err) == 0)
			push(scribe);
		else if (scribe->again_ms < RARELY_MS)
			scribe->again_ms *= 2;
	}
	set_timer(scribe);
}

/* ------------------------------------------------------------- the whole */

/* The same as rf_scribe_say(), with a descriptor (taken, whatever comes of it) or -1. */
static int say(struct rf_scribe *scribe, enum rf_wire_type type, struct rf_buf *body, int fds[2],
	       rf_scribe_fn *fn, void *data, struct rf_scribe_note **ret_note, struct rf_err *err)
{
	struct rf_scribe_note *note = scribe->count < NOTES_MOST ? calloc(1, sizeof(*note)) : NULL;

	if (!note || body->has_failed) {
		if (fds)
			rf_fd_done(&fds[0]);
		if (fds)
			rf_fd_done(&fds[1]);
		free(note);
		return rf_fail(err, -ENOMEM, "tell the watcher");
	}
	*note = (struct rf_scribe_note){
		.type = type,
		.body = *body,
		.fds = { fds ? fds[0] : -1, fds ? fds[1] : -1 },
		.fn = fn,
		.data = data,
	};
	note->until_ns = rf_loop_now() + RF_SCRIBE_WAIT_MS * MS;
	rf_buf_init(body, body->max);
	*scribe->last = note;
	scribe->last = &note->next;
	scribe->count++;
	if (reconnect(scribe, err) == 0)
		push(scribe);
	set_timer(scribe);
	if (ret_note)
		*ret_note = note;
	return 0;
}

int rf_scribe_say(struct rf_scribe *scribe, enum rf_wire_type type, struct rf_buf *body,
		  rf_scribe_fn *fn, void *data, struct rf_scribe_note **ret_note,
		  struct rf_err *err)
{
	return say(scribe, type, body, NULL, fn, data, ret_note, err);
}

int rf_scribe_show(struct rf_scribe *scribe, struct rf_buf *sight, int pidfd, int hand,
		   struct rf_err *err)
{
	int fds[2] = { rf_fd_copy(pidfd, 3), -1 };

	if (fds[0] < 0)
		return rf_fail(err, -errno, "show a box to the watcher");
	if (hand >= 0)
		fds[1] = rf_fd_copy(hand, 3); /* without it, it can be shown all the same */
	return say(scribe, RF_WIRE_LIVE, sight, fds, NULL, NULL, NULL, err);
}

void rf_scribe_drop(struct rf_scribe_note *note)
{
	note->fn = NULL;
	note->is_void = true;
}

int rf_scribe_new(struct rf_loop *loop, struct rf_scribe **ret_scribe, struct rf_err *err)
{
	struct rf_scribe *scribe = calloc(1, sizeof(*scribe));

	if (!scribe)
		return rf_fail(err, -ENOMEM, "a line to the watcher");
	*scribe = (struct rf_scribe){
		.loop = loop, .fd = -1, .again_ms = AGAIN_MS, .last = &scribe->notes
	};
	rf_buf_init(&scribe->in, RF_WIRE_ROOM);
	*ret_scribe = scribe;
	return rf_loop_timer(loop, UINT64_MAX, on_time, scribe, &scribe->timer, err);
}

/* By hand: the loop has ended. */
static void flush(struct rf_scribe *scribe)
{
	uint64_t until = rf_loop_now() + RF_SCRIBE_WAIT_MS * MS;

	while (scribe->fd >= 0 && scribe->notes && !scribe->is_late && rf_loop_now() < until) {
		struct pollfd wait = { .fd = scribe->fd, .events = POLLIN };

		if (poll(&wait, 1, (int)((until - rf_loop_now()) / MS) + 1) > 0)
			on_message(scribe, 0);
	}
}

void rf_scribe_free(struct rf_scribe *scribe)
{
	if (!scribe)
		return;
	flush(scribe);
	rf_event_cancel(scribe->event);
	rf_event_cancel(scribe->timer);
	rf_fd_done(&scribe->fd);
	for (struct rf_scribe_note *note = scribe->notes, *next; note; note = next) {
		next = note->next;
		free_note(note);
	}
	rf_buf_done(&scribe->in);
	free(scribe);
}
