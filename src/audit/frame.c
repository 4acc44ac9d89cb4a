/* A record of the audit log, as bytes: see frame.h. */
#include "audit/frame.h"

#include <errno.h>
#include <string.h>

static const char magic[8] = "RFAUDIT1";

static void put(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* How long a payload of a type is. */
static bool is_right_length(unsigned type, size_t len)
{
	switch (type) {
	case RF_FRAME_SEGMENT:
		return len == RF_FRAME_SEGMENT_BYTES;
	case RF_FRAME_EVENT:
		return len > 0 && len <= RF_AUDIT_EVENT_MAX;
	case RF_FRAME_SIGNATURE:
		return len == RF_FRAME_SIGNED;
	default:
		return false;
	}
}

enum rf_frame_state rf_frame_parse(const uint8_t *data, size_t len, struct rf_frame *ret_frame)
{
	uint64_t length, type;

	if (len < RF_FRAME_HEAD)
		return RF_FRAME_SHORT;
	length = get(data, 4);
	type = get(data + 6, 2);
	if (get(data + 4, 2) != RF_FRAME_VERSION || length < RF_FRAME_HEAD + RF_AUDIT_HASH ||
	    !is_right_length((unsigned)type, length - RF_FRAME_HEAD - RF_AUDIT_HASH))
		return RF_FRAME_MALFORMED;
	if (length > len)
		return RF_FRAME_SHORT;
	*ret_frame = (struct rf_frame){
		.length = (uint32_t)length,
		.type = (enum rf_frame_type)type,
		.seq = get(data + 8, 8),
		.time_ns = get(data + 16, 8),
		.prev = data + 24,
		.payload = data + RF_FRAME_HEAD,
		.payload_len = length - RF_FRAME_HEAD - RF_AUDIT_HASH,
		.hash = data + length - RF_AUDIT_HASH,
	};
	return RF_FRAME_WHOLE;
}

uint8_t *rf_frame_put(struct rf_buf *out, enum rf_frame_type type, uint64_t seq, uint64_t time_ns,
		      const uint8_t prev[RF_AUDIT_HASH], const void *payload, size_t len)
{
	size_t length = RF_FRAME_HEAD + len + RF_AUDIT_HASH;
	uint8_t *at = (uint8_t *)rf_buf_reserve(out, length);

	if (!at)
		return NULL;
	put(at, length, 4);
	put(at + 4, RF_FRAME_VERSION, 2);
	put(at + 6, type, 2);
	put(at + 8, seq, 8);
	put(at + 16, time_ns, 8);
	memcpy(at + 24, prev, RF_AUDIT_HASH);
	memcpy(at + RF_FRAME_HEAD, payload, len);
	rf_buf_grew(out, length);
	return at;
}

void rf_frame_put_segment(const struct rf_frame_segment *segment,
			  uint8_t bytes[RF_FRAME_SEGMENT_BYTES])
{
	memcpy(bytes, magic, sizeof(magic));
	put(bytes + 8, segment->number, 8);
	memcpy(bytes + 16, segment->chain, sizeof(segment->chain));
	memcpy(bytes + 48, segment->key, sizeof(segment->key));
}

int rf_frame_segment(const struct rf_frame *frame, struct rf_frame_segment *ret_segment)
{
	if (frame->type != RF_FRAME_SEGMENT || memcmp(frame->payload, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	ret_segment->number = get(frame->payload + 8, 8);
	memcpy(ret_segment->chain, frame->payload + 16, sizeof(ret_segment->chain));
	memcpy(ret_segment->key, frame->payload + 48, sizeof(ret_segment->key));
	return 0;
}
