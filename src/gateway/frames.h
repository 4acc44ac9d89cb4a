/*
 * A WebSocket that is looked into: frames of both sides, read strictly, shown to the box's filters, and passed on.
 *
 * What the box sends passes as it came, after it was looked through: a placeholder that is not for that server, or a canary, ends the
 * connection.  What the server sends is masked as any answer is, message by message however it was cut, and framed anew; nothing is kept back behind the
 * end of a message.  No extension is agreed upon (see rf_frames_prepare()), so that payloads are what they are.
 */
#ifndef RF_GATEWAY_FRAMES_H
#define RF_GATEWAY_FRAMES_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/span.h"

struct rf_forward;
struct rf_frames;

/* True for the name of the one protocol that is HTTP's own; any other that a connection is switched to is bytes that nobody reads. */
bool rf_frames_is_websocket(struct rf_span protocol);

/*
 * Whether the answer proves that its server speaks WebSocket: it has the sum of the request's key.  A server that says 101
 * because it says whatever it is asked for would read what follows as requests, which nobody has judged.
 */
bool rf_frames_is_proved(const struct rf_forward *f);

/* Whether this request asks for one, and the box has a filter for frames.  Then no extension is asked for. */
bool rf_frames_prepare(struct rf_forward *f);

/* Whether the answer agrees to what was asked for, and to nothing more. */
bool rf_frames_may_open(const struct rf_forward *f);

/* Borrows the request, whose filters keep what they know in it.  NULL when memory is gone. */
struct rf_frames *rf_frames_new(struct rf_forward *f);
void rf_frames_free(struct rf_frames *frames);

/* Bytes of one side (borrows): appends to `out` what passes.  A negative errno ends the connection; `f->reason` says why. */
int rf_frames_pass(void *frames, bool is_up, struct rf_span bytes, struct rf_buf *out);

#endif
