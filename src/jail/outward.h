/*
 * The way out of one box: its part of a conversation with a gateway (wire/gate.h), on the loop of the run.
 *
 * Life cycle: rf_outward_init() → the box is asked for (rf_gate_ask()) → rf_outward_await() → rf_outward_give() →
 * rf_outward_watch() → rf_outward_end() → rf_outward_done(); where others are served meanwhile, rf_outward_part() comes before the end.  What the gateway refuses the box becomes
 * denials of the result.  A gateway that ends takes the network with it and nothing else: the result says so.
 */
#ifndef RF_JAIL_OUTWARD_H
#define RF_JAIL_OUTWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "jail/capture.h"
#include "result/result.h"
#include "wire/gate.h"
#include "wire/held.h"

#define RF_OUTWARD_DENIALS 256 /* that are listed */
#define RF_OUTWARD_PORTS   16  /* that one box may publish */

struct rf_outward {
	int fd;        /* the gateway's connection, owned; or -1: there is none */
	uint64_t box;  /* what the gateway calls it */
	bool is_ready; /* it has answered */
	struct {
		int listener;      /* outside; owned */
		uint16_t inside;   /* the port that it leads to */
	} ports[RF_OUTWARD_PORTS]; /* that are published */
	size_t port_count;
	struct rf_buf buf; /* what was received last */
	const char *pem;   /* in it, until something else is received; "" if there is none */
	struct rf_event *event;
	struct rf_result
		*found; /* holds denials until the run's result is complete; NULL: there are none */
	bool is_over;   /* nothing more will come */
	bool is_lost;   /* because the gateway has ended before its time */
	bool is_closed; /* it knows that the box is over */
	bool is_late;   /* and has not told the rest in time */
	struct rf_gate_counts counts;
	uint64_t unlisted;        /* denials for which there was no room */
	struct rf_held_list held; /* requests of a trial run that were not sent */
	/* It was closed, and its last words are awaited: see rf_outward_part(). */
	void (*on_parted)(void *data);
	void *parted_data;
	struct rf_event *patience;
	struct rf_err refused;            /* why the gateway would not do what it was told; or 0 */
	char canary[RF_GATE_PATH];        /* the path of one that was sent, and refused; or "" */
	char canary_to[RF_GATE_HOST + 8]; /* and where to */
	/* Told when one is; may be NULL. */
	void (*on_canary)(void *data);
	void *canary_data;
	/* Told of everything that happens, before it is in the result; may be NULL. */
	void (*on_event)(void *data, const struct rf_gate_event *event);
	void *data;
};

void rf_outward_init(struct rf_outward *outward);

/*
 * A conversation can go on in another process: the launcher gives it, once the gateway is ready and knows what is published, and has none
 * any more; a warden adopts it (takes `*fd`).
 */
int rf_outward_hand_over(struct rf_outward *outward, int *ret_fd, struct rf_err *err);
void rf_outward_adopt(struct rf_outward *outward, int *fd);

/* Waits until the gateway is ready; at once if that was heard already. */
int rf_outward_await(struct rf_outward *outward, struct rf_err *err);

/* Hands the box's sockets over (takes: they are closed here). */
int rf_outward_give(struct rf_outward *outward, struct rf_capture *capture, struct rf_err *err);

/*
 * The box's network is to be no more than `policy` says (borrows), whatever was asked for; before its sockets are handed over.  If the gateway can't do
 * that, the box has none, and the result says why.
 */
struct rf_policy;
int rf_outward_bound(const struct rf_outward *outward, const struct rf_policy *policy,
		     struct rf_err *err);

/*
 * Lends somebody else a hand on the box's policy: gives one end of a socket whose other end the gateway has.  `is_bounded`: the box's network is never to be
 * more than it was at first.
 */
int rf_outward_lend(struct rf_outward *outward, bool is_bounded, int *ret_fd, struct rf_err *err);

/* Listens to what happens. */
int rf_outward_watch(struct rf_outward *outward, struct rf_loop *loop, struct rf_err *err);

/* Hears what was told so far, or waits for the first of it: for a caller that has no loop.  False if nothing was. */
bool rf_outward_listen(struct rf_outward *outward, int wait_ms);

/* The box is about to be over: its gateway can begin to tell what is left while the kernel takes the box down. */
void rf_outward_close(struct rf_outward *outward);

/*
 * The box is over, and the loop goes on: rf_outward_end() can be called without waiting when on_parted(data) is.  False if it can be
 * at once.
 */
bool rf_outward_part(struct rf_outward *outward, struct rf_loop *loop,
		     void (*on_parted)(void *data), void *data);

/* The box is over: hears all that is left to tell, and puts what is worth it into the result. */
void rf_outward_end(struct rf_outward *outward, struct rf_result *result);

/* Ends the conversation, and with it the box's network, at any point of the way. */
void rf_outward_done(struct rf_outward *outward);

#endif
