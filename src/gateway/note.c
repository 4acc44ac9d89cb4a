/* What happened, told to who has the box: see note.h. */
#include "gateway/note.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "gateway/annals.h"

#define KEPT_BYTES   (1024 * 1024)
#define EVENT_BYTES  (16 * 1024)
#define RESERVE      (KEPT_BYTES / 2) /* for the end of what is under way */
#define SEEN         64               /* denials that are remembered, not to be told twice */
#define AGAIN_NS     2000000000ull
#define LATER_NS     5000000ull  /* by which what went well may be late */
#define RETRY_NS     20000000ull /* after which a client that did not listen is tried again */
#define TOGETHER     64          /* events that are sent in one message */
#define PACKET_BYTES EVENT_BYTES /* and their bytes, of more than one */

struct seen {
	uint64_t hash, at_ns;
};

struct rf_note {
	int fd;
	uint64_t box;
	struct rf_gate_counts counts;
	struct rf_annals *annals; /* or NULL */
	struct rf_deadline later;
	bool is_due;
	struct rf_buf kept; /* each a size, and that many bytes */
	size_t at;          /* those before it are told */
	bool is_finished, is_told;
	struct seen seen[SEEN];
};

static void on_later(void *data)
{
	struct rf_note *note = data;

	note->is_due = false;
	rf_note_flush(note);
}

int rf_note_new(struct rf_deadlines *deadlines, int fd, uint64_t box, struct rf_note **ret_note,
		struct rf_err *err)
{
	struct rf_note *note = calloc(1, sizeof(*note));

	if (!note)
		return rf_fail(err, -ENOMEM, "events");
	if (rf_deadline_init(&note->later, deadlines, on_later, note) < 0) {
		free(note);
		return rf_fail(err, -ENOMEM, "events");
	}
	note->fd = fd;
	note->box = box;
	rf_buf_init(&note->kept, KEPT_BYTES);
	*ret_note = note;
	return 0;
}

void rf_note_free(struct rf_note *note)
{
	if (!note)
		return;
	rf_deadline_done(&note->later);
	rf_buf_done(&note->kept);
	free(note);
}

void rf_note_keep(struct rf_note *note, struct rf_annals *annals)
{
	note->annals = annals;
}

struct rf_gate_counts *rf_note_counts(struct rf_note *note)
{
	return &note->counts;
}

static uint64_t hash_of(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash * 0x100000001b3ull;
}

/* Whether the same refusal was told a moment ago.  Two that share a place are told more often than they need. */
static bool is_repeated(struct rf_note *note, const struct rf_gate_event *event)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ (uint64_t)event->kind << 32 ^ event->port;
	uint64_t now = rf_loop_now();
	struct seen *seen;

	hash = hash_of(hash_of(hash_of(hash_of(hash, event->host), event->method), event->path),
		       event->reason);
	seen = &note->seen[hash % SEEN];
	if (seen->hash == hash && now - seen->at_ns < AGAIN_NS)
		return true;
	*seen = (struct seen){ hash, now };
	return false;
}

/* Sends some of those that are kept, in one message: each one costs the kernel, and wakes the client.  0, or -EAGAIN. */
static int send_some(struct rf_note *note)
{
	struct rf_wire_head head = { 0, RF_WIRE_VERSION, RF_WIRE_GATE_EVENT, note->box };
	struct iovec parts[1 + TOGETHER] = { { &head, sizeof(head) } };
	struct msghdr packet = { .msg_iov = parts, .msg_iovlen = 1 };
	size_t at = note->at;

	while (at < note->kept.len && packet.msg_iovlen < RF_LEN(parts)) {
		uint32_t len;

		memcpy(&len, note->kept.data + at, sizeof(len));
		if (head.length > 0 && head.length + len > PACKET_BYTES)
			break;
		parts[packet.msg_iovlen++] =
			(struct iovec){ note->kept.data + at + sizeof(len), len };
		head.length += len;
		at += sizeof(len) + len;
	}
	if (sendmsg(note->fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			return -EAGAIN;
		note->counts.lost_events += packet.msg_iovlen - 1; /* there is nobody to tell */
	}
	note->at = at;
	if (note->at > KEPT_BYTES / 2) { /* room for what comes while the client is slow */
		memmove(note->kept.data, note->kept.data + note->at, note->kept.len - note->at);
		note->kept.len -= note->at;
		note->at = 0;
	}
	return 0;
}

static void tell_later(struct rf_note *note, uint64_t after_ns)
{
	if (!note->is_due)
		rf_deadline_set(&note->later, rf_loop_now() + after_ns);
	note->is_due = true;
}

bool rf_note_flush(struct rf_note *note)
{
	struct rf_err err;

	while (note->at < note->kept.len)
		if (send_some(note) < 0) {
			tell_later(note, RETRY_NS);
			return false;
		}
	rf_buf_clear(&note->kept);
	note->at = 0;
	if (note->is_finished && !note->is_told) {
		int code = rf_gate_send_done(note->fd, note->box, &note->counts, &err);

		note->is_told = code != -EAGAIN;
		return note->is_told;
	}
	return true;
}

bool rf_note_hold(struct rf_note *note, const struct rf_gate_held *held)
{
	struct rf_err err;

	return rf_gate_send_held(note->fd, note->box, held, &err) == 0;
}

bool rf_note_has_room(const struct rf_note *note)
{
	return note->kept.max - note->kept.len > RESERVE;
}

void rf_note_finish(struct rf_note *note)
{
	note->is_finished = true;
	rf_note_flush(note);
}

static void tell(struct rf_note *note, struct rf_gate_event *event, bool was_sent)
{
	RF_AUTO_BUF struct rf_buf body;
	struct timespec now;
	uint32_t len;

	rf_buf_init(&body, EVENT_BYTES);
	if (event->verdict == RF_GATE_DENIED) {
		note->counts.denied++;
		if (!was_sent && is_repeated(note, event))
			return;
		if (!was_sent && !rf_note_has_room(note)) { /* what is left is for what was done */
			note->counts.lost_events++;
			return;
		}
	}
	note->counts.held += event->verdict == RF_GATE_HELD;
	clock_gettime(CLOCK_REALTIME, &now);
	event->time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	rf_gate_pack_event(event, &body);
	len = (uint32_t)body.len;
	if (note->annals && !body.has_failed)
		rf_annals_hear(note->annals, event, body.data, body.len);
	if (body.has_failed || note->kept.max - note->kept.len < sizeof(len) + len) {
		note->counts.lost_events++;
		return;
	}
	rf_buf_add(&note->kept, &len, sizeof(len));
	rf_buf_add(&note->kept, body.data, body.len);
	if (event->verdict == RF_GATE_ALLOWED && note->kept.len - note->at < PACKET_BYTES - 1024)
		tell_later(note, LATER_NS);
	else
		rf_note_flush(note);
}

void rf_note_tell(struct rf_note *note, struct rf_gate_event *event)
{
	tell(note, event, false);
}

void rf_note_tell_sent(struct rf_note *note, struct rf_gate_event *event)
{
	tell(note, event, true);
}
