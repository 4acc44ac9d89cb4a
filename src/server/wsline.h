/*
 * One WebSocket of the API's: messages in and out, on a connection that a request was made on.
 *
 * A line belongs to its owner until it tells on_end(), or until the owner closes it; then it says goodbye by itself and is gone.  Text comes as a whole, and may have 256 KiB; other bytes come
 * in pieces as they arrive.  Both ways slow down when one side does.  A client that says nothing for long is asked whether it is there, and is gone if it does not answer.
 */
#ifndef RF_SERVER_WSLINE_H
#define RF_SERVER_WSLINE_H

#include "http/deadline.h"
#include "http/exchange.h"
#include "http/websocket.h"

#define RF_WSLINE_TEXT (256 * 1024)

/* What lines are closed with, besides what RFC 6455 has. */
enum rf_wsline_code {
	RF_WSLINE_DONE = 1000,
	RF_WSLINE_GOING = 1001,   /* the server ends */
	RF_WSLINE_REFUSED = 1008, /* what was asked for can't be */
	RF_WSLINE_LARGE = 1009,
	RF_WSLINE_FAILED = 1011,
	RF_WSLINE_TAKEN = 4001, /* another connection has its terminal */
};

struct rf_wsline;
struct rf_upgrade;

/* None is called from within a call of the owner's. */
struct rf_wsline_ops {
	void (*on_text)(void *data, struct rf_span text);
	void (*on_bytes)(void *data, struct rf_span bytes);
	void (*on_room)(void *data); /* it is not full any more */
	void (*on_end)(
		void *data); /* the client is gone, and the line is not the owner's any more */
};

/* What all lines of one process have in common. */
struct rf_wsline_host {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_wsline *first;
	size_t count;
};

/* Answers the request of `x` with 101, and goes on with its connection.  On failure it can still be answered otherwise. */
int rf_wsline_new(struct rf_wsline_host *host, struct rf_exchange *x,
		  const struct rf_upgrade *upgrade, const struct rf_wsline_ops *ops, void *data,
		  struct rf_wsline **ret_line, struct rf_err *err);

/* Sends a message: text, or bytes behind one that says which stream's they are (copies). */
void rf_wsline_say(struct rf_wsline *line, struct rf_span text);
void rf_wsline_send(struct rf_wsline *line, char stream, struct rf_span bytes);

/* Too much waits for the client to read it: nothing more is to be sent until on_room(). */
bool rf_wsline_is_full(const struct rf_wsline *line);

/* Whether nothing is to be read of what the client sends. */
void rf_wsline_pause(struct rf_wsline *line, bool is_paused);

/* What was sent is sent, and the reason; the line is not the owner's any more.  Accepts NULL. */
void rf_wsline_close(struct rf_wsline *line, uint16_t code, const char *reason);

/* Cuts all; no owner is told. */
void rf_wsline_free_all(struct rf_wsline_host *host);

#endif
