/* What a request that is forwarded consists of: for forward.c, which sends it, and forward-line.c, which reads and judges it. */
#ifndef RF_GATEWAY_FORWARD_INSIDE_H
#define RF_GATEWAY_FORWARD_INSIDE_H

#include "gateway/judge.h"
#include "gateway/outlet.h"
#include "http/address.h"

struct rf_tunnel;
struct rf_frames;

/* A connection of the box's, with an exchange on it. */
struct rf_forward_line {
	struct rf_exchange_host host;
	struct rf_outlet *outlet;
	struct rf_forward_line *next, **link;
	struct rf_forward_place place;
	bool is_approved; /* what is spoken on it was approved: one request, and none after it */
	bool is_spent;    /* which was spoken */
};

/* One request, from its head to the end of both sides. */
struct rf_forward {
	struct rf_outlet *outlet;
	struct rf_forward *next, **link;
	struct rf_exchange *exchange; /* until its end */
	struct rf_call *call;         /* while there is one */
	struct rf_way *way;           /* on its way to be one */
	struct rf_tunnel *tunnel;     /* what both became */
	struct rf_frames *frames;     /* what passes there, where it is looked into; or NULL */
	struct rf_forward_place place;
	struct rf_judge judge;
	struct rf_forward_message request, answer;
	struct rf_url_path path; /* as the policy judges it */
	struct rf_span upgrade;
	struct rf_fields up_trailer, down_trailer; /* what follows the bodies; in the arena */
	enum rf_forward_wish up_wish[RF_FORWARD_FILTERS], down_wish[RF_FORWARD_FILTERS];
	void *own[RF_FORWARD_FILTERS];
	bool was_filtered, was_sent; /* the latter: to a server, or so it may be */
	struct rf_buf gathered, pieces[2];
	size_t gather_most;
	struct rf_deadline up_pause, down_pause;
	struct rf_deadline down_hold; /* how long filters may keep back what came */
	uint64_t began_ns, up_bytes, down_bytes;
	unsigned status;
	bool is_gathering, is_waiting, is_silent, is_received, is_refused, is_retried, is_answered,
		is_held, is_approved, has_frames, wants_trailers;
	uint64_t asked_id; /* it waits to hear whether it was taken (custody.h); or 0 */
	bool is_up_slow, is_up_full, is_down_slow, is_down_full;
	const char *reason; /* why it failed, or NULL */
	char address[RF_ADDRESS_TEXT], failure[160];
	/* Last, and not cleared: room that is counted elsewhere. */
	struct rf_field request_fields[RF_FORWARD_FIELDS], answer_fields[RF_FORWARD_FIELDS];
};

/* Zeroed but for the fields, with an arena that may be NULL; NULL when memory is gone.  And the end of it. */
struct rf_forward *rf_forward_alloc(struct rf_gateway *gateway);
void rf_forward_release(struct rf_gateway *gateway, struct rf_forward *f);

/* Begins, on a request that has come; NULL when memory is gone. */
struct rf_forward *rf_forward_new(struct rf_outlet *outlet, struct rf_exchange *exchange);

/* It was read, judged, and where that was wanted gathered: runs the filters, and sends it. */
void rf_forward_start(struct rf_forward *f);

/* Lets the filters look at the request as far as it is known.  False: it was refused. */
bool rf_forward_show(struct rf_forward *f);

/* Answers in our own words, if nothing was answered yet; else the answer is cut. */
void rf_forward_refuse(struct rf_forward *f, const struct rf_refusal *refusal);
void rf_forward_refuse_with(struct rf_forward *f, unsigned status, const char *code,
			    const char *message);

/* The same for what one of ours denies: its words go into the event. */
void rf_forward_deny(struct rf_forward *f, const struct rf_refusal *refusal);

/* Ends what is under way and was judged anew: with a refusal where nothing was answered yet, else with a cut. */
void rf_forward_cut(struct rf_forward *f, const char *reason);

/*
 * Leads a piece of a body through the filters that wish for it, in their order or against it (forward-filter.c).  What comes out lies in one of two
 * buffers, or is what came in.
 */
int rf_forward_filter_body(struct rf_forward *f, bool is_up, struct rf_span *bytes, bool is_last);
bool rf_forward_has_filter(const struct rf_forward *f, const enum rf_forward_wish *wishes);

/* Keeps a trailer, as far as filters let it pass.  False: `*ret_refusal` says why the message ends here. */
bool rf_forward_take_trailer(struct rf_forward *f, bool is_up, struct rf_fields fields,
			     struct rf_refusal *ret_refusal);

/* Callbacks of the exchange. */
void rf_forward_on_body(void *own, struct rf_exchange *exchange, struct rf_span bytes);
void rf_forward_on_body_end(void *own, struct rf_exchange *exchange, struct rf_fields trailer);
void rf_forward_on_room(void *own, struct rf_exchange *exchange);
void rf_forward_on_end(void *own, struct rf_exchange *exchange, bool is_whole);

#endif
