/* WebSocket frames: see websocket.h. */
#include "http/websocket.h"

#include <endian.h>
#include <limits.h>

#include "base/base64.h"
#include "base/sha1.h"

#define FIN      0x80
#define RESERVED 0x70
#define KIND     0x0f
#define MASKED   0x80
#define LENGTH   0x7f

#define KEY_BYTES      16
#define KEY_CHARACTERS 24 /* of them, in base64 */
#define ACCEPT_GUID    "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

const struct rf_websocket_limits rf_websocket_usual = {
	.frame_bytes = 16 << 20,
	.message_bytes = 64 << 20,
	.fragments = 65536,
};

/* clang-format off */
static const struct {
	uint16_t code;
	const char *words;
} faults[RF_WEBSOCKET_FAULT_COUNT] = {
	[RF_WEBSOCKET_FAULT_NONE]      = { 1000, "nothing" },
	[RF_WEBSOCKET_FAULT_RESERVED]  = { 1002, "a reserved bit, and no extension was agreed upon" },
	[RF_WEBSOCKET_FAULT_KIND]      = { 1002, "a frame of a kind that does not exist" },
	[RF_WEBSOCKET_FAULT_MASK]      = { 1002, "a client's frame that is not masked, or a server's that is" },
	[RF_WEBSOCKET_FAULT_LENGTH]    = { 1002, "a frame's length that is not in its shortest form" },
	[RF_WEBSOCKET_FAULT_CONTROL]   = { 1002, "a control frame in fragments, or longer than 125 bytes" },
	[RF_WEBSOCKET_FAULT_NO_FIRST]  = { 1002, "a further fragment of a message that never began" },
	[RF_WEBSOCKET_FAULT_NOT_LAST]  = { 1002, "a message that begins within another one" },
	[RF_WEBSOCKET_FAULT_UTF8]      = { 1007, "a text that is not UTF-8" },
	[RF_WEBSOCKET_FAULT_CLOSE]     = { 1002, "a close with half a code, or one that may not be sent" },
	[RF_WEBSOCKET_FAULT_LONG]      = { 1009, "a frame or a message that is too long" },
	[RF_WEBSOCKET_FAULT_FRAGMENTS] = { 1009, "a message in too many fragments" },
};
/* clang-format on */

const char *rf_websocket_fault_words(enum rf_websocket_fault fault)
{
	return (unsigned)fault < RF_WEBSOCKET_FAULT_COUNT ? faults[fault].words
							  : "an unknown fault";
}

uint16_t rf_websocket_fault_code(enum rf_websocket_fault fault)
{
	return (unsigned)fault < RF_WEBSOCKET_FAULT_COUNT ? faults[fault].code : 1002;
}

/* What the octet that begins a character says about those behind it.  RFC 3629, 4. */
static bool begin_character(struct rf_websocket_utf8 *utf8, uint8_t octet)
{
	utf8->low = 0x80;
	utf8->high = 0xbf;
	if (octet < 0x80)
		return true;
	if (octet >= 0xc2 && octet <= 0xdf) {
		utf8->left = 1;
	} else if ((octet & 0xf0) == 0xe0) {
		utf8->left = 2;
		if (octet == 0xe0)
			utf8->low = 0xa0; /* else overlong */
		if (octet == 0xed)
			utf8->high = 0x9f; /* else a surrogate */
	} else if (octet >= 0xf0 && octet <= 0xf4) {
		utf8->left = 3;
		if (octet == 0xf0)
			utf8->low = 0x90; /* else overlong */
		if (octet == 0xf4)
			utf8->high = 0x8f; /* else above U+10FFFF */
	} else {
		return false;
	}
	return true;
}

bool rf_websocket_utf8_next(struct rf_websocket_utf8 *utf8, struct rf_span text)
{
	size_t at = 0;

	while (at < text.len) {
		uint8_t octet = (uint8_t)text.at[at];
		uint64_t eight;

		if (utf8->left == 0 && text.len - at >= sizeof eight) {
			memcpy(&eight, text.at + at, sizeof eight);
			if ((eight & 0x8080808080808080u) == 0) {
				at += sizeof eight;
				continue;
			}
		}
		at++;
		if (utf8->left == 0) {
			if (!begin_character(utf8, octet))
				return false;
			continue;
		}
		if (octet < utf8->low || octet > utf8->high)
			return false;
		utf8->left--;
		utf8->low = 0x80;
		utf8->high = 0xbf;
	}
	return true;
}

void rf_websocket_mask(char *bytes, size_t len, const uint8_t key[4], uint64_t at)
{
	uint8_t turned[8];
	uint64_t eight, with;
	size_t i = 0;

	for (size_t j = 0; j < sizeof turned; j++)
		turned[j] = key[(at + j) % 4];
	memcpy(&with, turned, sizeof with);
	for (; len - i >= sizeof eight; i += sizeof eight) {
		memcpy(&eight, bytes + i, sizeof eight);
		eight ^= with;
		memcpy(bytes + i, &eight, sizeof eight);
	}
	for (size_t j = 0; i < len; i++, j++)
		bytes[i] = (char)((uint8_t)bytes[i] ^ turned[j]);
}

static bool is_control(enum rf_websocket_kind kind)
{
	return (kind & 8) != 0;
}

static bool kind_exists(unsigned kind)
{
	return kind <= RF_WEBSOCKET_BINARY ||
	       (kind >= RF_WEBSOCKET_CLOSE && kind <= RF_WEBSOCKET_PONG);
}

/* The length of a head whose first two octets are there. */
static uint8_t head_len(const uint8_t *head)
{
	unsigned len = head[1] & LENGTH;

	return (uint8_t)(2 + (len == 126 ? 2 : 0) + (len == 127 ? 8 : 0) +
			 (head[1] & MASKED ? 4 : 0));
}

/* What can be refused of a head's first two octets is: nobody waits for eight more. */
static enum rf_websocket_fault judge_begin(const struct rf_websocket *websocket)
{
	const uint8_t *head = websocket->head;
	unsigned kind = head[0] & KIND;

	if (head[0] & RESERVED)
		return RF_WEBSOCKET_FAULT_RESERVED;
	if (!kind_exists(kind))
		return RF_WEBSOCKET_FAULT_KIND;
	if (!!(head[1] & MASKED) != websocket->is_masked)
		return RF_WEBSOCKET_FAULT_MASK;
	if (is_control(kind))
		return (head[1] & LENGTH) > RF_WEBSOCKET_CONTROL || !(head[0] & FIN)
			       ? RF_WEBSOCKET_FAULT_CONTROL
			       : RF_WEBSOCKET_FAULT_NONE;
	if (kind == RF_WEBSOCKET_MORE_OF_IT && !websocket->in_message)
		return RF_WEBSOCKET_FAULT_NO_FIRST;
	if (kind != RF_WEBSOCKET_MORE_OF_IT && websocket->in_message)
		return RF_WEBSOCKET_FAULT_NOT_LAST;
	return RF_WEBSOCKET_FAULT_NONE;
}

/* The payload's length; a longer form than it needs has two readings, and is refused. */
static enum rf_websocket_fault read_len(struct rf_websocket *websocket)
{
	const uint8_t *head = websocket->head;
	unsigned len = head[1] & LENGTH;
	uint16_t two;
	uint64_t eight;

	websocket->size = len;
	if (len == 126) {
		memcpy(&two, head + 2, sizeof two);
		websocket->size = be16toh(two);
		if (websocket->size < 126)
			return RF_WEBSOCKET_FAULT_LENGTH;
	} else if (len == 127) {
		memcpy(&eight, head + 2, sizeof eight);
		websocket->size = be64toh(eight);
		if (websocket->size <= UINT16_MAX || websocket->size > INT64_MAX)
			return RF_WEBSOCKET_FAULT_LENGTH;
	}
	return RF_WEBSOCKET_FAULT_NONE;
}

static enum rf_websocket_fault begin_fragment(struct rf_websocket *websocket,
					      const struct rf_websocket_limits *limits)
{
	if (websocket->kind != RF_WEBSOCKET_MORE_OF_IT) {
		websocket->is_text = websocket->kind == RF_WEBSOCKET_TEXT;
		websocket->in_message = true;
		websocket->message = 0;
		websocket->fragments = 0;
		websocket->utf8 = (struct rf_websocket_utf8){ 0 };
	}
	if (websocket->size > limits->frame_bytes || websocket->message > limits->message_bytes ||
	    websocket->size > limits->message_bytes - websocket->message)
		return RF_WEBSOCKET_FAULT_LONG;
	websocket->message += websocket->size;
	if (++websocket->fragments > limits->fragments)
		return RF_WEBSOCKET_FAULT_FRAGMENTS;
	return RF_WEBSOCKET_FAULT_NONE;
}

/* A head that is whole. */
static enum rf_websocket_fault take_head(struct rf_websocket *websocket,
					 const struct rf_websocket_limits *limits)
{
	enum rf_websocket_fault fault = read_len(websocket);

	if (fault != RF_WEBSOCKET_FAULT_NONE)
		return fault;
	websocket->kind = websocket->head[0] & KIND;
	websocket->is_last = websocket->head[0] & FIN;
	websocket->at = 0;
	if (websocket->is_masked)
		memcpy(websocket->key, websocket->head + websocket->need - 4, 4);
	return is_control(websocket->kind) ? RF_WEBSOCKET_FAULT_NONE
					   : begin_fragment(websocket, limits);
}

/* Reads one head, or a part of it.  Returns how many bytes were used. */
static size_t read_head(struct rf_websocket *websocket, const struct rf_websocket_limits *limits,
			const char *bytes, size_t len)
{
	size_t used = 0;

	while (used < len && websocket->fault == RF_WEBSOCKET_FAULT_NONE) {
		websocket->head[websocket->have++] = (uint8_t)bytes[used++];
		if (websocket->have == 2) {
			websocket->need = head_len(websocket->head);
			websocket->fault = judge_begin(websocket);
		}
		if (websocket->have >= 2 && websocket->have == websocket->need &&
		    websocket->fault == RF_WEBSOCKET_FAULT_NONE) {
			websocket->fault = take_head(websocket, limits);
			break;
		}
	}
	return used;
}

static bool head_is_whole(const struct rf_websocket *websocket)
{
	return websocket->have >= 2 && websocket->have == websocket->need;
}

bool rf_websocket_code_is_good(unsigned code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
	       (code >= 3000 && code <= 4999);
}

static enum rf_websocket_fault read_close(struct rf_websocket *websocket,
					  struct rf_websocket_event *event)
{
	struct rf_websocket_utf8 utf8 = { 0 };

	websocket->is_closed = true;
	event->code = RF_WEBSOCKET_NO_CODE;
	if (event->payload.len == 0)
		return RF_WEBSOCKET_FAULT_NONE;
	if (event->payload.len == 1)
		return RF_WEBSOCKET_FAULT_CLOSE;
	event->code =
		(uint16_t)((uint8_t)websocket->control[0] << 8 | (uint8_t)websocket->control[1]);
	event->payload = rf_span_part(event->payload, 2, event->payload.len - 2);
	if (!rf_websocket_code_is_good(event->code))
		return RF_WEBSOCKET_FAULT_CLOSE;
	if (!rf_websocket_utf8_next(&utf8, event->payload) || utf8.left > 0)
		return RF_WEBSOCKET_FAULT_UTF8;
	return RF_WEBSOCKET_FAULT_NONE;
}

static enum rf_websocket_answer fail(struct rf_websocket *websocket, enum rf_websocket_fault fault)
{
	websocket->fault = fault;
	return RF_WEBSOCKET_BAD;
}

static enum rf_websocket_answer tell_control(struct rf_websocket *websocket,
					     struct rf_websocket_event *event)
{
	*event = (struct rf_websocket_event){
		.kind = websocket->kind,
		.is_end = true,
		.payload = { websocket->control, (size_t)websocket->size },
	};
	websocket->have = 0;
	if (websocket->kind == RF_WEBSOCKET_CLOSE) {
		enum rf_websocket_fault fault = read_close(websocket, event);

		if (fault != RF_WEBSOCKET_FAULT_NONE)
			return fail(websocket, fault);
	}
	return RF_WEBSOCKET_CONTROL_FRAME;
}

static enum rf_websocket_answer tell_data(struct rf_websocket *websocket, struct rf_span payload,
					  struct rf_websocket_event *event)
{
	bool frame_ends = websocket->at == websocket->size;

	*event = (struct rf_websocket_event){
		.kind = websocket->is_text ? RF_WEBSOCKET_TEXT : RF_WEBSOCKET_BINARY,
		.is_end = frame_ends && websocket->is_last,
		.payload = payload,
	};
	if (websocket->is_text && (!rf_websocket_utf8_next(&websocket->utf8, payload) ||
				   (event->is_end && websocket->utf8.left > 0)))
		return fail(websocket, RF_WEBSOCKET_FAULT_UTF8);
	if (frame_ends)
		websocket->have = 0;
	if (event->is_end)
		websocket->in_message = false;
	return RF_WEBSOCKET_DATA;
}

/* A frame's payload, or the next piece of it.  An empty fragment that is not the last one has nothing to tell. */
static enum rf_websocket_answer read_payload(struct rf_websocket *websocket, char *bytes,
					     size_t len, size_t *used,
					     struct rf_websocket_event *event)
{
	uint64_t left = websocket->size - websocket->at;
	size_t take = left < len ? (size_t)left : len;

	if (websocket->is_masked)
		rf_websocket_mask(bytes, take, websocket->key, websocket->at);
	if (is_control(websocket->kind) && take > 0)
		memcpy(websocket->control + websocket->at, bytes, take);
	websocket->at += take;
	*used += take;
	if (is_control(websocket->kind))
		return websocket->at == websocket->size ? tell_control(websocket, event)
							: RF_WEBSOCKET_WANTS;
	if (take == 0 && (left > 0 || !websocket->is_last)) {
		if (left == 0)
			websocket->have = 0;
		return RF_WEBSOCKET_WANTS;
	}
	return tell_data(websocket, (struct rf_span){ bytes, take }, event);
}

enum rf_websocket_answer rf_websocket_next(struct rf_websocket *websocket,
					   const struct rf_websocket_limits *limits, char *bytes,
					   size_t len, size_t *ret_used,
					   struct rf_websocket_event *ret_event)
{
	enum rf_websocket_answer answer;

	*ret_used = 0;
	*ret_event = (struct rf_websocket_event){ 0 };
	do {
		if (websocket->fault != RF_WEBSOCKET_FAULT_NONE)
			return RF_WEBSOCKET_BAD;
		if (websocket->is_closed)
			return RF_WEBSOCKET_WANTS;
		if (!head_is_whole(websocket))
			*ret_used +=
				read_head(websocket, limits, bytes + *ret_used, len - *ret_used);
		if (websocket->fault != RF_WEBSOCKET_FAULT_NONE)
			return RF_WEBSOCKET_BAD;
		if (!head_is_whole(websocket))
			return RF_WEBSOCKET_WANTS;
		answer = read_payload(websocket, bytes + *ret_used, len - *ret_used, ret_used,
				      ret_event);
		if (answer != RF_WEBSOCKET_WANTS)
			return answer;
	} while (*ret_used < len);
	return RF_WEBSOCKET_WANTS;
}

size_t rf_websocket_head(uint8_t head[RF_WEBSOCKET_HEAD], enum rf_websocket_kind kind, bool is_last,
			 uint64_t len, const uint8_t *key)
{
	size_t at = 2;

	head[0] = (uint8_t)(kind | (is_last ? FIN : 0));
	if (len < 126) {
		head[1] = (uint8_t)len;
	} else if (len <= UINT16_MAX) {
		uint16_t two = htobe16((uint16_t)len);

		head[1] = 126;
		memcpy(head + at, &two, sizeof two);
		at += sizeof two;
	} else {
		uint64_t eight = htobe64(len);

		head[1] = 127;
		memcpy(head + at, &eight, sizeof eight);
		at += sizeof eight;
	}
	if (key) {
		head[1] |= MASKED;
		memcpy(head + at, key, 4);
		at += 4;
	}
	return at;
}

size_t rf_websocket_close(char payload[RF_WEBSOCKET_CONTROL], uint16_t code, struct rf_span reason)
{
	size_t len = reason.len;

	payload[0] = (char)(code >> 8);
	payload[1] = (char)code;
	if (len > RF_WEBSOCKET_CONTROL - 2) {
		len = RF_WEBSOCKET_CONTROL - 2;
		while (len > 0 && ((uint8_t)reason.at[len] & 0xc0) == 0x80)
			len--;
	}
	if (len > 0)
		memcpy(payload + 2, reason.at, len);
	return len + 2;
}

bool rf_websocket_key_is_good(struct rf_span key)
{
	char bytes[KEY_CHARACTERS];

	return key.len == KEY_CHARACTERS && !memchr(key.at, '\n', key.len) &&
	       !memchr(key.at, '\r', key.len) &&
	       rf_base64_decode(key.at, key.len, bytes) == KEY_BYTES;
}

void rf_websocket_accept(struct rf_span key, struct rf_buf *out)
{
	uint8_t sum[RF_SHA1_SIZE];
	struct rf_sha1 sha;

	rf_sha1_init(&sha);
	rf_sha1_add(&sha, key.at, key.len);
	rf_sha1_add(&sha, ACCEPT_GUID, sizeof ACCEPT_GUID - 1);
	rf_sha1_end(&sha, sum);
	rf_base64_encode(sum, sizeof sum, out);
}
