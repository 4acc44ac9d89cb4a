/*
 * WebSocket (RFC 6455): frames from pieces of bytes, and frames to write.
 *
 * Pure: no system call, no memory, no clock.  The reader is as strict as the RFC lets it be: no extension, so no reserved bit and no reserved
 * kind; lengths in their shortest form; a client masks and a server does not; control frames are short and whole; a text is UTF-8, over
 * all its fragments; a close has a code that may be sent.  A message is never kept: its payload is told piece by piece, however it was cut, so that
 * memory does not depend on what a peer sends.  What is read was unmasked where it stands.
 */
#ifndef RF_HTTP_WEBSOCKET_H
#define RF_HTTP_WEBSOCKET_H

#include <stdint.h>

#include "base/buf.h"
#include "http/span.h"

#define RF_WEBSOCKET_CONTROL 125  /* bytes of a control frame's payload, at most */
#define RF_WEBSOCKET_HEAD    14   /* bytes of a frame's head, at most */
#define RF_WEBSOCKET_NO_CODE 1005 /* a close that gives no reason */

/* The kinds of frames, as they stand in them. */
enum rf_websocket_kind {
	RF_WEBSOCKET_MORE_OF_IT = 0, /* a further fragment of a message */
	RF_WEBSOCKET_TEXT = 1,
	RF_WEBSOCKET_BINARY = 2,
	RF_WEBSOCKET_CLOSE = 8,
	RF_WEBSOCKET_PING = 9,
	RF_WEBSOCKET_PONG = 10,
};

/* The rules that a frame can break. */
enum rf_websocket_fault {
	RF_WEBSOCKET_FAULT_NONE,
	RF_WEBSOCKET_FAULT_RESERVED,
	RF_WEBSOCKET_FAULT_KIND,
	RF_WEBSOCKET_FAULT_MASK,
	RF_WEBSOCKET_FAULT_LENGTH,
	RF_WEBSOCKET_FAULT_CONTROL,
	RF_WEBSOCKET_FAULT_NO_FIRST,
	RF_WEBSOCKET_FAULT_NOT_LAST,
	RF_WEBSOCKET_FAULT_UTF8,
	RF_WEBSOCKET_FAULT_CLOSE,
	RF_WEBSOCKET_FAULT_LONG,
	RF_WEBSOCKET_FAULT_FRAGMENTS,
	RF_WEBSOCKET_FAULT_COUNT
};

struct rf_websocket_limits {
	uint64_t frame_bytes;   /* of one frame's payload */
	uint64_t message_bytes; /* of all fragments of a message together */
	uint32_t fragments;     /* of one message */
};

/* 16 MiB a frame, 64 MiB a message, 65536 fragments. */
extern const struct rf_websocket_limits rf_websocket_usual;

/* UTF-8 that comes in pieces.  All zero at its beginning. */
struct rf_websocket_utf8 {
	uint8_t left;      /* bytes of the character that are to come */
	uint8_t low, high; /* what the next one may be, if any is to come */
};

/*
 * One direction of a connection.  All zero at its beginning but for `is_masked`: whether frames must be masked (a client's) or must not be (a server's).
 */
struct rf_websocket {
	bool is_masked;
	bool is_last;    /* this frame ends its message */
	bool is_text;    /* the message that is under way */
	bool in_message; /* a first fragment came, and the last one did not */
	bool is_closed;  /* a close came, and nothing may follow */
	enum rf_websocket_fault fault;
	enum rf_websocket_kind kind; /* of this frame */
	uint8_t have, need;          /* of this frame's head */
	uint8_t head[RF_WEBSOCKET_HEAD];
	uint8_t key[4];
	uint64_t at, size;  /* of this frame's payload */
	uint64_t message;   /* bytes of the message announced so far */
	uint32_t fragments; /* of it */
	struct rf_websocket_utf8 utf8;
	char control[RF_WEBSOCKET_CONTROL]; /* a control frame's payload */
};

enum rf_websocket_answer {
	RF_WEBSOCKET_WANTS, /* all bytes are used, and nothing is to be told */
	RF_WEBSOCKET_DATA, /* `payload` is the next piece of a message, possibly empty; `is_end` tells its last one */
	RF_WEBSOCKET_CONTROL_FRAME, /* `kind` says which, `payload` what is in it */
	RF_WEBSOCKET_BAD            /* websocket->fault says why; nothing is read any more */
};

struct rf_websocket_event {
	enum rf_websocket_kind kind; /* of a message: TEXT or BINARY */
	bool is_end;
	struct rf_span payload; /* good until the next call, and for as long as the bytes stay */
	uint16_t
		code; /* of a close; RF_WEBSOCKET_NO_CODE without one.  `payload` is then the reason. */
};

/*
 * Reads on in `len` bytes (borrows, and unmasks those that it uses where they are).  Gives how many were used: behind a close none are.
 */
enum rf_websocket_answer rf_websocket_next(struct rf_websocket *websocket,
					   const struct rf_websocket_limits *limits, char *bytes,
					   size_t len, size_t *ret_used,
					   struct rf_websocket_event *ret_event);

/* The rule in words that fit behind "refused: ", and the code to close with. */
const char *rf_websocket_fault_words(enum rf_websocket_fault fault);
uint16_t rf_websocket_fault_code(enum rf_websocket_fault fault);

/*
 * Writes a frame's head into `head`, and returns its length.  `key` masks (four bytes that nobody can foretell, borrows), NULL does not; the payload is then to be given to
 * rf_websocket_mask().
 */
size_t rf_websocket_head(uint8_t head[RF_WEBSOCKET_HEAD], enum rf_websocket_kind kind, bool is_last,
			 uint64_t len, const uint8_t *key);

/* Masks, or unmasks, `len` bytes which stand `at` bytes behind the payload's beginning. */
void rf_websocket_mask(char *bytes, size_t len, const uint8_t key[4], uint64_t at);

/* Writes a close's payload; the reason (UTF-8, borrows) is cut between characters if it is too long.  Returns its length. */
size_t rf_websocket_close(char payload[RF_WEBSOCKET_CONTROL], uint16_t code, struct rf_span reason);

/* Whether a peer may send this code. */
bool rf_websocket_code_is_good(unsigned code);

/* Reads on in a text; false if it is no UTF-8.  It may end where utf8->left is 0. */
bool rf_websocket_utf8_next(struct rf_websocket_utf8 *utf8, struct rf_span text);

/*
 * The opening handshake.  The key of a client is 16 bytes in base64, and nothing else; the answer to it is appended to `out`.
 */
bool rf_websocket_key_is_good(struct rf_span key);
void rf_websocket_accept(struct rf_span key, struct rf_buf *out);

#endif
