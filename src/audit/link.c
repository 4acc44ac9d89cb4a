/* Whether a record continues a chain: see link.h. */
#include "audit/link.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int bad(struct rf_err *err, const char *why)
{
	return rf_fail_say(err, -EBADMSG, "%s", why);
}

static int check_place(const struct rf_link *link, const struct rf_frame *frame, struct rf_err *err)
{
	uint64_t expected = link->seq + 1;

	if (link->seq == 0)
		return 0;
	if (frame->seq == expected + 1)
		return rf_fail_say(err, -EBADMSG, "record %" PRIu64 " is missing", expected);
	if (frame->seq > expected)
		return rf_fail_say(err, -EBADMSG, "records %" PRIu64 " to %" PRIu64 " are missing",
				   expected, frame->seq - 1);
	if (frame->seq < expected)
		return rf_fail_say(err, -EBADMSG,
				   "record %" PRIu64 " stands in its place: reordered or repeated",
				   frame->seq);
	if (memcmp(frame->prev, link->hash, RF_AUDIT_HASH) != 0)
		return bad(err, "it continues another record than the one before it");
	return 0;
}

static int check_segment(struct rf_link *link, const struct rf_frame *frame, struct rf_err *err)
{
	struct rf_frame_segment segment;

	if (rf_frame_segment(frame, &segment) < 0)
		return bad(err, "it begins no file of a log");
	if (link->seq > 0 && memcmp(segment.chain, link->segment.chain, RF_AUDIT_HASH) != 0)
		return bad(err, "its file belongs to another chain");
	if (link->seq > 0 && segment.number != link->segment.number + 1)
		return rf_fail_say(err, -EBADMSG, "its file is number %" PRIu64 " of the log",
				   segment.number);
	if (link->key && memcmp(segment.key, rf_sign_key(link->key), RF_FRAME_KEY) != 0)
		return bad(err, "its file was begun with another key");
	link->segment = segment;
	return 0;
}

static int check_signature(struct rf_link *link, const struct rf_frame *frame, struct rf_err *err)
{
	struct rf_sign_head head = { .seq = link->seq };

	memcpy(head.chain, link->segment.chain, sizeof(head.chain));
	memcpy(head.hash, link->hash, sizeof(head.hash));
	if (link->key && !rf_sign_is_good(link->key, &head, frame->payload))
		return bad(err, "its signature is not the key's");
	link->signed_seq = link->seq;
	link->signatures++;
	return 0;
}

int rf_link_next(struct rf_link *link, const uint8_t *data, size_t len, bool is_first,
		 struct rf_frame *ret_frame, struct rf_err *err)
{
	uint8_t hash[RF_AUDIT_HASH];
	struct rf_frame frame;
	int code = 0;

	switch (rf_frame_parse(data, len, &frame)) {
	case RF_FRAME_SHORT:
		return 0;
	case RF_FRAME_MALFORMED:
		return bad(err, "it is no record: its head was changed");
	case RF_FRAME_WHOLE:
		break;
	}
	if (rf_digest(link->digest, data, frame.length - RF_AUDIT_HASH, hash) < 0)
		return rf_fail_say(err, -EIO, "OpenSSL does not hash");
	if (memcmp(hash, frame.hash, RF_AUDIT_HASH) != 0)
		return bad(err, "its bytes are not those that were hashed: it was changed");
	if (is_first != (frame.type == RF_FRAME_SEGMENT))
		return bad(err, is_first ? "it begins no file of a log"
					 : "it begins a file, and stands within one");
	if (check_place(link, &frame, err) < 0)
		return err->code;
	if (frame.type == RF_FRAME_SEGMENT)
		code = check_segment(link, &frame, err);
	else if (frame.type == RF_FRAME_SIGNATURE)
		code = check_signature(link, &frame, err);
	if (code < 0)
		return code;
	if (link->seq == 0) {
		link->first_seq = frame.seq;
		memcpy(link->first_prev, frame.prev, RF_AUDIT_HASH);
	}
	link->seq = frame.seq;
	link->time_ns = frame.time_ns;
	memcpy(link->hash, frame.hash, RF_AUDIT_HASH);
	*ret_frame = frame;
	return 1;
}

static bool is_hashed(const struct rf_link *link, const uint8_t *data, size_t len)
{
	uint8_t hash[RF_AUDIT_HASH];

	return rf_digest(link->digest, data, len - RF_AUDIT_HASH, hash) == 0 &&
	       memcmp(hash, data + len - RF_AUDIT_HASH, RF_AUDIT_HASH) == 0;
}

bool rf_link_is_torn(const struct rf_link *link, const uint8_t *data, size_t len)
{
	uint8_t copy[RF_FRAME_MOST];
	struct rf_frame frame;

	if (len > sizeof(copy))
		return false;
	for (size_t at = 1; at + RF_FRAME_HEAD < len; at++)
		if (rf_frame_parse(data + at, len - at, &frame) == RF_FRAME_WHOLE &&
		    is_hashed(link, data + at, frame.length))
			return false;
	if (len < RF_FRAME_HEAD + RF_AUDIT_HASH)
		return true;
	memcpy(copy, data, len);
	for (int i = 0; i < 4; i++)
		copy[i] = (uint8_t)(len >> 8 * i);
	return !is_hashed(link, copy, len);
}
