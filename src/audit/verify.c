/* Proves that a log is what was written: see verify.h. */
#include "audit/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/anchor.h"
#include "audit/segment.h"

struct work {
	const struct rf_verify_options *options;
	struct rf_verify *verify;
	struct rf_link link;
	struct rf_digest *digest;
	struct rf_sign *key;
	struct rf_anchor_heads anchors;
	size_t anchor; /* the next of them to be met */
	uint64_t *numbers;
	size_t count;
	uint64_t retired, retired_seq; /* what the log says went last */
	uint8_t retired_hash[RF_AUDIT_HASH];
};

__attribute__((format(printf, 2, 3))) static void find(struct rf_verify *verify, const char *fmt,
						       ...)
{
	va_list args;

	if (verify->what[0])
		return;
	va_start(args, fmt);
	vsnprintf(verify->what, sizeof(verify->what), fmt, args);
	va_end(args);
}

static void find_record(struct work *work, uint64_t number, size_t at, const char *why)
{
	struct rf_verify *verify = work->verify;
	char name[RF_SEGMENT_NAME];

	rf_segment_name(number, name);
	verify->bad_seq = work->link.seq + 1;
	verify->bad_segment = number;
	verify->bad_offset = at;
	find(verify, "record %" PRIu64 " (%s, byte %zu): %s", verify->bad_seq, name, at, why);
}

/* ------------------------------------------------------------- records */

/* What an event says of the log itself. */
static void note_event(struct work *work, const struct rf_frame *frame)
{
	struct rf_audit_event event;
	struct rf_err err;
	unsigned kind = frame->payload_len >= 4 ? frame->payload[2] | frame->payload[3] << 8 : 0;

	work->verify->events++;
	work->verify->is_closed = kind == RF_AUDIT_CHAIN_CLOSED;
	if (kind != RF_AUDIT_CHAIN_RETIRED ||
	    rf_audit_event_decode(frame->payload, frame->payload_len, &event, &err) < 0)
		return;
	work->retired = rf_audit_event_get(&event, RF_AUDIT_SEGMENT);
	work->retired_seq = rf_audit_event_get(&event, RF_AUDIT_HEAD_SEQ);
	memcpy(work->retired_hash, event.values[RF_AUDIT_HEAD].text, RF_AUDIT_HASH);
}

/* Holds the record against what the anchor says of it. */
static bool is_anchored(struct work *work)
{
	for (; work->anchor < work->anchors.count; work->anchor++) {
		const struct rf_sign_head *head = &work->anchors.heads[work->anchor];

		if (head->seq > work->link.seq)
			return true;
		if (head->seq < work->link.seq) /* in a file that went before */
			continue;
		if (memcmp(head->hash, work->link.hash, RF_AUDIT_HASH) != 0)
			return false;
		work->verify->anchored_seq = head->seq;
		work->verify->anchors++;
	}
	return true;
}

/* Follows one file.  1: all good; 0: it ended, or went wrong, and the rest is not looked at. */
static int follow(struct work *work, const struct rf_segment *segment, bool is_last,
		  struct rf_err *err)
{
	struct rf_verify *verify = work->verify;
	size_t at = 0;

	while (at < segment->len) {
		struct rf_err why = RF_ERR_INIT;
		struct rf_frame frame;
		int code = rf_link_next(&work->link, segment->data + at, segment->len - at, at == 0,
					&frame, &why);

		if (code == -EIO)
			return rf_fail_say(err, code, "%s", why.msg);
		if (code == 0 && is_last &&
		    rf_link_is_torn(&work->link, segment->data + at, segment->len - at)) {
			verify->unfinished = segment->len - at;
			return 0;
		}
		if (code <= 0) {
			find_record(work, segment->number, at,
				    code == 0 ? "it says that it is longer than it is" : why.msg);
			return 0;
		}
		verify->records++;
		if (verify->records == 1)
			verify->first_ns = frame.time_ns;
		if (frame.type == RF_FRAME_EVENT)
			note_event(work, &frame);
		if (!is_anchored(work)) {
			work->link.seq--; /* it is this one */
			find_record(work, segment->number, at,
				    "the anchor knows another record of this number: the log was "
				    "written anew");
			return 0;
		}
		at += frame.length;
	}
	if (segment->len == 0 && !is_last)
		find_record(work, segment->number, 0, "its file is empty");
	return verify->what[0] ? 0 : 1;
}

/* ------------------------------------------------------------- the whole */

/* A log begins with its first record, or where it says itself that what came before went. */
static void check_begin(struct work *work)
{
	static const uint8_t nothing[RF_AUDIT_HASH];
	struct rf_verify *verify = work->verify;
	const struct rf_link *link = &work->link;
	uint64_t number = work->count > 0 ? work->numbers[0] : 0;
	char name[RF_SEGMENT_NAME];

	if (verify->what[0] || link->seq == 0)
		return;
	if (number == 1 && link->first_seq == 1 &&
	    memcmp(link->first_prev, nothing, RF_AUDIT_HASH) == 0)
		return;
	verify->is_retired = work->retired + 1 >= number && work->retired > 0;
	if (verify->is_retired &&
	    (work->retired + 1 > number ||
	     (work->retired_seq + 1 == link->first_seq &&
	      memcmp(work->retired_hash, link->first_prev, RF_AUDIT_HASH) == 0)))
		return;
	verify->is_retired = false;
	rf_segment_name(number, name);
	verify->bad_seq = 1;
	verify->bad_segment = number;
	find(verify,
	     "record 1: the log begins with record %" PRIu64
	     " in %s, and nothing in it says that those before were to go: they were deleted",
	     link->first_seq, name);
}

static void check_end(struct work *work)
{
	struct rf_verify *verify = work->verify;
	const struct rf_anchor_heads *anchors = &work->anchors;

	if (!work->options->anchor || verify->what[0])
		return;
	if (anchors->count == 0) {
		find(verify,
		     anchors->others || anchors->forged
			     ? "the anchor knows another log, and nothing of this one: it was put "
			       "in the other's place"
			     : "the anchor says nothing of any log");
	} else if (work->anchor < anchors->count) {
		verify->bad_seq = work->link.seq + 1;
		find(verify,
		     "record %" PRIu64
		     ": the log ends before it, and the anchor knows of records up to %" PRIu64
		     ": the end was cut off",
		     verify->bad_seq, anchors->heads[anchors->count - 1].seq);
	}
}

static int read_anchor(struct work *work, const uint8_t chain[RF_AUDIT_HASH], struct rf_err *err)
{
	if (!work->options->anchor)
		return 0;
	work->verify->has_anchor = true;
	if (rf_anchor_read(work->options->anchor, chain, work->key, &work->anchors, err) < 0)
		return err->code;
	work->verify->forged = work->anchors.forged;
	return 0;
}

/* The name of the chain, from the first file's first record, believed for as long as it takes. */
static void read_chain(const struct rf_segment *segment, uint8_t chain[RF_AUDIT_HASH])
{
	struct rf_frame_segment says;
	struct rf_frame frame;

	if (rf_frame_parse(segment->data, segment->len, &frame) == RF_FRAME_WHOLE &&
	    rf_frame_segment(&frame, &says) == 0)
		memcpy(chain, says.chain, RF_AUDIT_HASH);
}

static int look(struct work *work, struct rf_err *err)
{
	struct rf_verify *verify = work->verify;
	int code = 1;

	for (size_t i = 0; i < work->count && code == 1; i++) {
		struct rf_segment segment = { 0 };

		if (rf_segment_map(work->options->dir, work->numbers[i], &segment, err) < 0)
			return err->code;
		if (i == 0) {
			read_chain(&segment, verify->chain);
			code = read_anchor(work, verify->chain, err);
			code = code < 0 ? code : 1;
		}
		if (code == 1)
			code = follow(work, &segment, i + 1 == work->count, err);
		/* An empty file at the end is one that was not begun: it says nothing yet. */
		if (code >= 0 && work->link.seq > 0 && !verify->what[0] &&
		    (segment.len > 0 || i + 1 < work->count) &&
		    work->link.segment.number != work->numbers[i] && verify->unfinished == 0) {
			work->link.seq = 0;
			find_record(work, work->numbers[i], 0,
				    "its file says that it is another one: a file was renamed");
			code = 0;
		}
		verify->files++;
		verify->bytes += segment.len;
		rf_segment_done(&segment);
	}
	return code < 0 ? code : 0;
}

static int prepare(struct work *work, struct rf_err *err)
{
	uint8_t key[RF_FRAME_KEY];

	if (work->options->key)
		memcpy(key, work->options->key, sizeof(key));
	else if (rf_sign_read_public(work->options->dir, key, err) < 0)
		return err->code;
	if (rf_sign_public(key, &work->key, err) < 0 || rf_digest_new(&work->digest, err) < 0 ||
	    rf_segment_list(work->options->dir, &work->numbers, &work->count, err) < 0)
		return err->code;
	work->link.key = work->key;
	work->link.digest = work->digest;
	return work->count > 0 ? 0 : rf_fail_say(err, -ENOENT, "there is no audit log");
}

int rf_verify_log(const struct rf_verify_options *options, struct rf_verify *ret_verify,
		  struct rf_err *err)
{
	struct rf_verify verify = { 0 };
	struct work work = { .options = options, .verify = &verify };
	int code = prepare(&work, err);

	if (code == 0)
		code = look(&work, err);
	if (code == 0) {
		check_begin(&work);
		check_end(&work);
		verify.is_good = !verify.what[0];
		verify.first_seq = work.link.first_seq;
		verify.last_seq = work.link.seq;
		verify.signed_seq = work.link.signed_seq;
		verify.last_ns = work.link.time_ns;
		verify.signatures = work.link.signatures;
		memcpy(verify.head, work.link.hash, RF_AUDIT_HASH);
		*ret_verify = verify;
	}
	free(work.anchors.heads);
	free(work.numbers);
	rf_sign_free(work.key);
	rf_digest_free(work.digest);
	return code;
}
