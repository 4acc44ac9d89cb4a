/* What happened, told to who has the box: see note.h. */
#include "gateway/note.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"

#define KEPT_BYTES  (1024 * 1024)
#define EVENT_BYTES (16 * 1024)
#define SEEN        64 /* denials that are remembered, not to be told twice */
#define AGAIN_NS    2000000000ull

struct seen {
	uint64_t hash, at_ns;
};

struct rf_note {
	int fd;
	uint64_t box;
	struct rf_gate_counts counts;
	struct rf_buf kept; /* each a size, and that many bytes */
	size_t at;          /* those before it are told */
	bool is_finished, is_told;
	void (*on_kept)(void *data);
	void *data;
	struct seen seen[SEEN];
};

int rf_note_new(int fd, uint64_t box, struct rf_note **ret_note, struct rf_err *err)
{
	struct rf_note *note = calloc(1, sizeof(*note));

	if (!note)
		return rf_fail(err, -ENOMEM, "events");
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
	rf_buf_done(&note->kept);
	free(note);
}

void rf_note_on_kept(struct rf_note *note, void (*fn)(void *data), void *data)
{
	note->on_kept = fn;
	note->data = data;
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

static bool send_one(struct rf_note *note, const void *body, size_t len, enum rf_wire_type type)
{
	struct rf_err err;
	int code = rf_wire_send(note->fd, type, note->box, body, len, NULL, 0, &err);

	if (code < 0 && code != -EAGAIN)
		note->counts.lost_events++; /* there is nobody to tell */
	return code != -EAGAIN;
}

bool rf_note_flush(struct rf_note *note)
{
	while (note->at < note->kept.len) {
		uint32_t len;

		memcpy(&len, note->kept.data + note->at, sizeof(len));
		if (!send_one(note, note->kept.data + note->at + sizeof(len), len,
			      RF_WIRE_GATE_EVENT))
			return false;
		note->at += sizeof(len) + len;
	}
	rf_buf_clear(&note->kept);
	note->at = 0;
	if (note->is_finished && !note->is_told) {
		RF_AUTO_BUF struct rf_buf body;

		rf_buf_init(&body, EVENT_BYTES);
		rf_gate_pack_counts(&note->counts, &body);
		note->is_told = send_one(note, body.data, body.len, RF_WIRE_GATE_DONE);
		return note->is_told;
	}
	return true;
}

bool rf_note_hold(struct rf_note *note, const struct rf_gate_held *held)
{
	struct rf_err err;

	return rf_gate_send_held(note->fd, note->box, held, &err) == 0;
}

void rf_note_finish(struct rf_note *note)
{
	note->is_finished = true;
	rf_note_flush(note);
}

void rf_note_tell(struct rf_note *note, struct rf_gate_event *event)
{
	RF_AUTO_BUF struct rf_buf body;
	struct timespec now;
	uint32_t len;

	if (event->verdict == RF_GATE_DENIED) {
		note->counts.denied++;
		if (is_repeated(note, event))
			return;
	}
	note->counts.held += event->verdict == RF_GATE_HELD;
	clock_gettime(CLOCK_REALTIME, &now);
	event->time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	rf_buf_init(&body, EVENT_BYTES);
	rf_gate_pack_event(event, &body);
	if (body.has_failed) {
		note->counts.lost_events++;
		return;
	}
	if (note->kept.len == 0 && send_one(note, body.data, body.len, RF_WIRE_GATE_EVENT))
		return;
	len = (uint32_t)body.len;
	if (note->kept.max - note->kept.len < sizeof(len) + len) {
		note->counts.lost_events++;
		return;
	}
	rf_buf_add(&note->kept, &len, sizeof(len));
	rf_buf_add(&note->kept, body.data, body.len);
	if (note->on_kept)
		note->on_kept(note->data);
}
