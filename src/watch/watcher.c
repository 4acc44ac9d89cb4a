/* The watcher: see watcher.h. */
#include "watch/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "audit/sight.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/loop.h"
#include "watch/disk.h"
#include "watch/muster.h"
#include "watch/stance.h"
#include "wire/door.h"
#include "wire/wire.h"

#define CLIENTS_MAX  1024
#define PACKETS      16 /* of one client, before the others are heard again */
#define WORDS_MAX    16
#define MS           1000000ull
#define SKEW_MOST_MS 2000 /* that the clock may go another way than time */

struct rf_watcher {
	const struct rf_watcher_options *options;
	const struct rf_watcher_guest *guest;
	struct rf_loop *loop;
	struct rf_store *store;
	struct rf_disk *disk;
	struct rf_door door;      /* and who came through it */
	struct rf_muster *muster; /* runs that are under way */
	struct rf_buf in, clean;  /* one message, one event */
	struct rf_event *sync_timer, *sign_timer;
	bool is_dirty, is_taking_over;
	bool is_orphan; /* its owner is gone */
	struct rf_event *owner_event;
	uint64_t dirty_since_ns,
		syncing_since_ns;       /* when the oldest that is not on the disk was written */
	uint64_t kept, lost, synced_ns; /* events; and when the disk was last asked */
	int64_t clock_ms;               /* the clock, less the time since the machine is up */
	struct rf_err trouble;          /* why nothing can be kept; code 0: it can */
};

/* One connection. */
struct client {
	struct rf_door_visitor visitor;
};

static struct rf_watcher *watcher_of(const struct client *client)
{
	return client->visitor.door->host;
}

/* ------------------------------------------------------------- keeping */

/* Something is written that is not on the disk. */
static void dirty(struct rf_watcher *watcher)
{
	if (!watcher->is_dirty)
		watcher->dirty_since_ns = rf_loop_now();
	watcher->is_dirty = true;
}

/* Writes what was added; what is wrong stays known until a write goes well. */
static int commit(struct rf_watcher *watcher, struct rf_err *err)
{
	if (rf_store_commit(watcher->store, err) < 0) {
		watcher->trouble = *err;
		return err->code;
	}
	watcher->trouble = RF_ERR_INIT;
	dirty(watcher);
	return 0;
}

uint64_t rf_watcher_lag_ns(const struct rf_watcher *watcher)
{
	bool is_syncing = rf_disk_is_busy(watcher->disk);

	if (!is_syncing && !watcher->is_dirty)
		return 0;
	return rf_loop_now() - (is_syncing ? watcher->syncing_since_ns : watcher->dirty_since_ns);
}

/*
 * Whose it is, where who tells it does not know: of a tenant's agents, whose names no policy can have (policy/plan.h), and of its
 * boxes.  `tenant` has room for it.
 */
static void put_tenant(const struct rf_watcher *watcher, struct rf_audit_event *event,
		       char tenant[65])
{
	char box[33];
	const char *of_box;

	if (rf_audit_event_has(event, RF_AUDIT_TENANT))
		return;
	rf_audit_event_copy(event, RF_AUDIT_AGENT, tenant, 65);
	if (strchr(tenant, '/')) {
		*strchr(tenant, '/') = '\0';
		rf_audit_event_text(event, RF_AUDIT_TENANT, tenant);
		return;
	}
	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	of_box = box[0] ? rf_muster_tenant(watcher->muster, box) : NULL;
	snprintf(tenant, 65, "%s", of_box ? of_box : "");
	rf_audit_event_text(event, RF_AUDIT_TENANT, tenant);
}

int rf_watcher_note(struct rf_watcher *watcher, const struct rf_audit_event *event,
		    struct rf_err *err)
{
	struct rf_audit_event whole = *event;
	char tenant[65];
	uint64_t seq;

	put_tenant(watcher, &whole, tenant);
	if (rf_store_event(watcher->store, &whole, &seq, err) < 0 || commit(watcher, err) < 0)
		return err->code;
	watcher->kept++;
	return 0;
}

static void note_self(struct rf_watcher *watcher, enum rf_audit_kind kind, const char *reason)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	rf_audit_event_init(&event, kind);
	rf_audit_event_number(&event, RF_AUDIT_PID, (uint64_t)getpid());
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	if (kind == RF_AUDIT_WATCH_STARTED)
		rf_audit_event_text(&event, RF_AUDIT_VERSION, RF_VERSION);
	else
		rf_audit_event_number(&event, RF_AUDIT_COUNT, watcher->kept);
	rf_watcher_note(watcher, &event, &err);
}

static void sound(struct rf_watcher *watcher, const char *name, const char *severity,
		  const char *reason)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	rf_audit_event_init(&event, RF_AUDIT_ALARM);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, name);
	rf_audit_event_text(&event, RF_AUDIT_SEVERITY, severity);
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	rf_watcher_note(watcher, &event, &err);
}

/* ------------------------------------------------------------- runs that are under way */

static void tell_guest(struct rf_watcher *watcher, const struct rf_audit_event *event)
{
	if (watcher->guest && watcher->guest->on_event)
		watcher->guest->on_event(watcher->guest->data, watcher, event);
}

/* What was found of a run, or of a watcher, that was not there to its end, and what was done with it. */
static void note_recovery(struct rf_watcher *watcher, const struct rf_muster_run *run,
			  const char *what, const char *done, const char *reason)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	rf_audit_event_init(&event, RF_AUDIT_RECOVERY);
	rf_audit_event_text(&event, RF_AUDIT_BOX, run->box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, run->agent);
	rf_audit_event_text(&event, RF_AUDIT_TENANT, run->tenant);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, run->program);
	rf_audit_event_number(&event, RF_AUDIT_PID, (uint64_t)run->pid);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, done);
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	if (rf_watcher_note(watcher, &event, &err) == 0)
		tell_guest(watcher, &event);
}

/* Tells of a run whose launcher is gone, in its place. */
static void on_lost(void *data, const struct rf_muster_run *run)
{
	struct rf_watcher *watcher = data;
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	if (watcher->is_taking_over)
		note_recovery(watcher, run, "a run without an end", "ended",
			      "its launcher is gone, and nobody was there to see it");
	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, run->box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, run->agent);
	rf_audit_event_text(&event, RF_AUDIT_TENANT, run->tenant);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "lost");
	rf_audit_event_text(&event, RF_AUDIT_REASON, "its launcher ended without a word of it");
	rf_watcher_note(watcher, &event, &err);
	tell_guest(watcher, &event);
}

/* Also for the next watcher, which reads the log from here on. */
static void on_kept(void *data, const struct rf_muster_run *run)
{
	note_recovery(data, run, "a run that goes on", RF_MUSTER_ADOPTED,
		      "its launcher lives, and will tell of its end");
}

/* Goes on where the watcher before this one ended, or was ended. */
static void take_over(struct rf_watcher *watcher, const struct rf_muster_past *past)
{
	const struct rf_muster_run before = { .pid = past->killed };

	watcher->is_taking_over = true;
	if (past->killed > 0)
		note_recovery(watcher, &before, "a watcher that did not end in order", "taken over",
			      "what it had acknowledged is here");
	rf_muster_take_over(watcher->muster, on_kept);
	watcher->is_taking_over = false;
}

/* ------------------------------------------------------------- clients */

static void forget(struct client *client)
{
	rf_muster_leave(watcher_of(client)->muster, client, client->visitor.pid);
	rf_door_leave(&client->visitor);
}

/* Whoever was not answered tells an end to the next watcher; this one, or the one before, had written it all the same. */
static bool is_told_again(const struct rf_watcher *watcher, const struct rf_audit_event *event)
{
	char box[33];

	if (event->kind != RF_AUDIT_RUN_ENDED)
		return false;
	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	return rf_muster_has_ended(watcher->muster, box);
}

/* Adds one event, as it may be kept: read, with who tells it as its user, and without secrets. */
static int add_event(struct client *client, const void *data, size_t len, uint64_t *ret_seq,
		     struct rf_err *err)
{
	struct rf_watcher *watcher = watcher_of(client);
	struct rf_audit_event event;
	char tenant[65];

	if (rf_audit_event_decode(data, len, &event, err) < 0)
		return err->code;
	if (rf_audit_event_is_own(event.kind))
		return rf_fail_say(err, -EPERM, "an event %s is the watcher's own",
				   rf_audit_event_kind_name(event.kind));
	if (is_told_again(watcher, &event)) {
		*ret_seq = rf_store_seq(watcher->store);
		return 0;
	}
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	put_tenant(watcher, &event, tenant);
	rf_buf_clear(&watcher->clean);
	if (rf_audit_event_encode(&event, &watcher->clean, err) < 0)
		return err->code;
	return rf_store_told(watcher->store, &event, watcher->clean.data, watcher->clean.len,
			     ret_seq, err);
}

/* Goes through the events of a message; `fn` is called for each. */
static int each_event(const struct rf_wire_message *message,
		      int (*fn)(struct client *client, const void *data, size_t len, uint64_t *seq,
				struct rf_err *err),
		      struct client *client, uint64_t *seq, size_t *count, struct rf_err *err)
{
	size_t at = 0;

	while (at < message->len) {
		uint32_t len = 0;

		if (message->len - at >= sizeof(len))
			memcpy(&len, message->body + at, sizeof(len));
		at += sizeof(len);
		if (at > message->len || len == 0 || len > message->len - at)
			return rf_fail_say(err, -EBADMSG, "TELL with an event of %u bytes", len);
		if (fn(client, message->body + at, len, seq, err) < 0)
			return err->code;
		at += len;
		(*count)++;
	}
	return 0;
}

/* After it is written: runs that are under way, and who reads along. */
static int follow_event(struct client *client, const void *data, size_t len, uint64_t *seq,
			struct rf_err *err)
{
	struct rf_audit_event event;
	char tenant[65];

	(void)seq;
	if (rf_audit_event_decode(data, len, &event, err) < 0)
		return err->code;
	if (is_told_again(watcher_of(client), &event))
		return 0;
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	event.time_ns = rf_store_now();
	put_tenant(watcher_of(client), &event, tenant);
	rf_muster_hear(watcher_of(client)->muster, &event, client);
	tell_guest(watcher_of(client), &event);
	return 0;
}

/* All of a message or nothing of it. */
static int serve_tell(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_watcher *watcher = watcher_of(client);
	struct rf_err ignored = RF_ERR_INIT;
	uint64_t seq = 0;
	size_t count = 0, again = 0;
	int code;

	if (rf_door_demand(&client->visitor, err) < 0)
		return err->code;
	if (each_event(message, add_event, client, &seq, &count, err) < 0) {
		watcher->lost += count + 1;
		rf_store_forget(watcher->store);
		return err->code;
	}
	if (commit(watcher, err) < 0) {
		watcher->lost += count;
		return err->code;
	}
	watcher->kept += count;
	code = rf_wire_send(client->visitor.fd, RF_WIRE_KEPT, message->id, &seq, sizeof(seq), NULL,
			    0, err);
	/* Also of one that is dead by now: what it told is in the log, and its run not lost. */
	each_event(message, follow_event, client, &seq, &again, &ignored);
	return code < 0 ? -EPIPE : 0; /* it does not read */
}

static void tell_status(const struct rf_watcher *watcher, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_bool(&json, "stands", true);
	rf_json_int(&json, "pid", getpid());
	rf_json_string(&json, "version", RF_VERSION);
	rf_json_bool(&json, "keeps", watcher->trouble.code == 0);
	rf_json_string(&json, "trouble", watcher->trouble.code ? watcher->trouble.msg : NULL);
	rf_json_int(&json, "last_record", (int64_t)rf_store_seq(watcher->store));
	rf_json_int(&json, "kept", (int64_t)watcher->kept);
	rf_json_int(&json, "refused", (int64_t)watcher->lost);
	rf_json_int(&json, "clients", (int64_t)watcher->door.count);
	rf_json_bool(&json, "unsynced", watcher->is_dirty);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static int serve_ask(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_watcher *watcher = watcher_of(client);
	const struct rf_watcher_guest *guest = watcher->guest;
	const char *words[WORDS_MAX] = { "" };
	RF_AUTO_BUF struct rf_buf out;
	size_t count = 0;
	int code = 0;

	rf_buf_init(&out, (size_t)1 << 20);
	if (rf_door_demand(&client->visitor, err) < 0)
		return err->code;
	if (message->body[message->len - 1] != '\0')
		return rf_fail_say(err, -EBADMSG, "ASK without an end");
	for (size_t at = 0; at < message->len && count < WORDS_MAX; count++) {
		words[count] = message->body + at;
		at += strlen(words[count]) + 1;
	}
	if (count == 1 && strcmp(words[0], "status") == 0) {
		tell_status(watcher, &out);
		code = 1;
	} else if (guest && guest->on_ask) {
		code = guest->on_ask(guest->data, watcher, client->visitor.pid, words, count, &out,
				     err);
	}
	if (code == 0)
		return rf_fail_say(err, -EINVAL, "the watcher does not know `%.40s`", words[0]);
	if (code < 0)
		return code;
	code = rf_wire_send(client->visitor.fd, RF_WIRE_TOLD, message->id, out.data, out.len, NULL,
			    0, err);
	return code < 0 ? -EPIPE : 0;
}

/* Is not answered unless it is wrong. */
static int serve_prove(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	return rf_door_take_proof(&client->visitor, message->fds[0], err);
}

/* A box is shown by who told of it, and by nobody else. */
static int serve_live(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	const struct rf_watcher_guest *guest = watcher_of(client)->guest;
	struct rf_sight sight;

	if (rf_sight_unpack(message->body, message->len, &sight, err) < 0)
		return err->code;
	if (!rf_muster_has(watcher_of(client)->muster, sight.box, client, client->visitor.pid))
		return rf_fail_say(err, -ENOENT, "LIVE: nobody here told of box %s", sight.box);
	if (guest && guest->on_sight &&
	    guest->on_sight(guest->data, watcher_of(client), client->visitor.pid, &sight,
			    &message->fds[0], &message->fds[1], err) < 0)
		return err->code;
	if (rf_wire_send(client->visitor.fd, RF_WIRE_TOLD, message->id, NULL, 0, NULL, 0, err) < 0)
		return -EPIPE;
	return 0;
}

/* All that can be said to a watcher. */
/* clang-format off */
static int (*const serve[RF_WIRE_COUNT])(struct client *client, struct rf_wire_message *message,
					 struct rf_err *err) = {
	[RF_WIRE_PROVE] = serve_prove,
	[RF_WIRE_TELL]  = serve_tell,
	[RF_WIRE_ASK]   = serve_ask,
	[RF_WIRE_LIVE]  = serve_live,
};
/* clang-format on */

/* What can't be kept or answered is told so; bytes that are no message end the connection. */
static void on_message(void *data, int what)
{
	struct client *client = data;
	struct rf_watcher *watcher = watcher_of(client);

	(void)what;
	for (int i = 0; i < PACKETS; i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err = RF_ERR_INIT, ignored;
		int got = rf_wire_receive(client->visitor.fd, RF_WIRE_TELLER, &watcher->in,
					  &message, &err);

		if (got == -EAGAIN)
			return;
		if (got < 0)
			rf_wire_lose(client->visitor.fd, 0, &err, &ignored);
		if (got > 0) {
			got = serve[message.type](client, &message, &err);
			if (got < 0 && got != -EPIPE &&
			    rf_wire_lose(client->visitor.fd, message.id, &err, &ignored) == 0)
				got = 0;
			if (got == 0)
				continue;
		}
		forget(client);
		return;
	}
}

static const struct rf_door_rules rules = {
	.who = "watcher",
	.instead = "start a watcher where the client is",
	.most = CLIENTS_MAX,
	.size = sizeof(struct client),
	.has_any_groups = true, /* its boxes are not ours */
	.on_message = on_message,
	.refuse = rf_wire_lose,
};

/* ------------------------------------------------------------- time passes */

static int64_t clock_ms(void)
{
	return (int64_t)(rf_store_now() / MS) - (int64_t)(rf_loop_now() / MS);
}

/* A clock that was set tells nothing of when: so the log says that it was. */
static void look_at_clock(struct rf_watcher *watcher)
{
	int64_t now = clock_ms(), skew = now - watcher->clock_ms;
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	watcher->clock_ms = now;
	if (skew < SKEW_MOST_MS && skew > -SKEW_MOST_MS)
		return;
	rf_audit_event_init(&event, RF_AUDIT_CLOCK_JUMP);
	rf_audit_event_number(&event, RF_AUDIT_SKEW_MS, (uint64_t)skew);
	rf_watcher_note(watcher, &event, &err);
}

/* Who started it has ended, or was ended: what it started may have ends yet to be told of. */
static void on_owner(void *data, int what)
{
	struct rf_watcher *watcher = data;
	char byte;

	(void)what;
	if (recv(watcher->options->owner, &byte, sizeof(byte), MSG_DONTWAIT) != 0)
		return;
	rf_event_cancel(watcher->owner_event);
	watcher->owner_event = NULL;
	watcher->is_orphan = true;
}

static void on_sync(void *data, int what)
{
	struct rf_watcher *watcher = data;
	int sync, anchor;

	(void)what;
	if (watcher->is_orphan && watcher->door.count == 0)
		rf_loop_stop(watcher->loop);
	if (watcher->is_dirty && rf_disk_sync(watcher->disk, rf_store_fd(watcher->store))) {
		watcher->is_dirty = false;
		watcher->syncing_since_ns = watcher->dirty_since_ns;
	}
	rf_disk_errors(watcher->disk, &sync, &anchor);
	if (sync < 0) {
		rf_fail(&watcher->trouble, sync, "sync the audit log");
		sound(watcher, "disk", "critical", "the log could not be put on disk");
	}
	if (anchor < 0)
		sound(watcher, "anchor", "high", "an anchor could not be told of a head");
	rf_event_again(watcher->sync_timer, rf_loop_now() + RF_WATCHER_SYNC_MS * MS);
}

static void on_sign(void *data, int what)
{
	struct rf_watcher *watcher = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	look_at_clock(watcher);
	if (rf_store_tend(watcher->store, &err) < 0 || rf_store_sign(watcher->store, &err) < 0)
		watcher->trouble = err;
	else
		dirty(watcher);
	rf_event_again(watcher->sign_timer, rf_loop_now() + RF_WATCHER_SIGN_MS * MS);
}

static void on_head(void *data, const struct rf_anchor_line *line)
{
	struct rf_watcher *watcher = data;

	if (watcher->disk)
		rf_disk_tell(watcher->disk, line);
}

static void on_signal(void *data, int signal)
{
	struct rf_watcher *watcher = data;

	(void)signal;
	rf_loop_stop(watcher->loop);
}

/* ------------------------------------------------------------- the whole */

static int start(struct rf_watcher *watcher, struct rf_err *err)
{
	struct rf_store_options store = watcher->options->store;
	struct rf_muster_past past;
	struct rf_err ignored = RF_ERR_INIT;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0)
		return rf_fail(err, -errno, "hold signals");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of a write, and no end */
	store.on_head = on_head;
	store.data = watcher;
	if (rf_loop_new(&watcher->loop, err) < 0 ||
	    rf_muster_new(watcher->loop, on_lost, watcher, &watcher->muster, err) < 0)
		return err->code;
	rf_muster_read(watcher->muster, store.dir, &past, &ignored); /* as far as it can be read */
	if (rf_disk_new(watcher->options->anchors, &watcher->disk, err) < 0 ||
	    rf_store_open(&store, &watcher->store, err) < 0 ||
	    rf_loop_signals(watcher->loop, &ends, on_signal, watcher, err) < 0 ||
	    rf_loop_timer(watcher->loop, rf_loop_now() + RF_WATCHER_SYNC_MS * MS, on_sync, watcher,
			  &watcher->sync_timer, err) < 0 ||
	    rf_loop_timer(watcher->loop, rf_loop_now() + RF_WATCHER_SIGN_MS * MS, on_sign, watcher,
			  &watcher->sign_timer, err) < 0 ||
	    rf_door_open(&watcher->door, watcher->loop, watcher->options->listener, err) < 0)
		return err->code;
	if (watcher->options->owner >= 0 &&
	    rf_loop_watch(watcher->loop, watcher->options->owner, RF_LOOP_READ, on_owner, watcher,
			  &watcher->owner_event, err) < 0)
		return err->code;
	rf_stance_cut(watcher->options->anchors[0] != NULL);
	if (watcher->guest && watcher->guest->on_begin &&
	    watcher->guest->on_begin(watcher->guest->data, watcher, watcher->loop, err) < 0)
		return err->code;
	watcher->clock_ms = clock_ms();
	note_self(watcher, RF_AUDIT_WATCH_STARTED, rf_store_found(watcher->store));
	take_over(watcher, &past);
	return watcher->trouble.code
		       ? rf_fail_say(err, watcher->trouble.code, "%s", watcher->trouble.msg)
		       : 0;
}

int rf_watcher_serve(const struct rf_watcher_options *options, const struct rf_watcher_guest *guest,
		     struct rf_err *err)
{
	struct rf_watcher watcher = { .options = options, .guest = guest };
	int code;

	rf_door_init(&watcher.door, &rules, &watcher);
	rf_buf_init(&watcher.in, RF_WIRE_ROOM);
	rf_buf_init(&watcher.clean, (size_t)2 * RF_AUDIT_EVENT_MAX);
	code = start(&watcher, err);
	if (code == 0)
		code = rf_loop_run(watcher.loop, err);
	if (guest && guest->on_finish)
		guest->on_finish(guest->data);
	rf_door_done(&watcher.door); /* whose runs go on, and are the next watcher's */
	if (watcher.store) {
		note_self(&watcher, RF_AUDIT_WATCH_ENDED, code < 0 ? err->msg : NULL);
		rf_store_close(watcher.store, "the watcher ended");
	}
	rf_disk_free(watcher.disk);
	rf_muster_free(watcher.muster);
	rf_loop_free(watcher.loop);
	rf_buf_done(&watcher.in);
	rf_buf_done(&watcher.clean);
	return code;
}
