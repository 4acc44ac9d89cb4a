/*
 * One request of the API, from its head to the end of its answer.
 *
 *     AUTH   its key is not known here yet: who has the keys is asked, and nothing is read of the body meanwhile
 *     BODY   the body comes, and is kept; there is a most for each route
 *     LINE   it waits until its key may begin something more
 *     WORK   its handler has it: a question or a job is under way
 *     DONE   it is answered, or is being
 *
 * The exchange lives as long as the call does: when one ends, so does the other, and with it the job or the question that was for it alone.
 */
#ifndef RF_SERVER_API_CALL_H
#define RF_SERVER_API_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/exchange.h"
#include "result/result.h"
#include "server/api-error.h"
#include "server/holder.h"
#include "server/job.h"
#include "server/order.h"
#include "server/query.h"
#include "server/route.h"
#include "server/trace.h"
#include "server/upgrade.h"
#include "wire/tenancy.h"

struct rf_front;
struct rf_mcp_visit;
struct rf_outing;
struct rf_ported;
struct rf_transit;

enum rf_api_state {
	RF_API_AUTH,
	RF_API_BODY,
	RF_API_LINE,
	RF_API_WORK,
	RF_API_DONE
};

/* See once.h. */
enum rf_once_state {
	RF_ONCE_NONE,
	RF_ONCE_ASKED,
	RF_ONCE_UNDER_WAY,
	RF_ONCE_STORING,
	RF_ONCE_OVER /* and nobody is there to be answered */
};

struct rf_pass_told;

struct rf_api_call {
	struct rf_front *front;
	struct rf_exchange *x; /* NULL: who asked is gone, and what was asked goes on (once.h) */
	const struct rf_route *route;
	struct rf_route_parts parts;
	struct rf_holder *holder; /* or NULL: no key is needed */
	enum rf_api_state state;
	uint64_t id; /* what an answer about its key carries */
	char request_id[65];
	char traceparent[64];     /* as it came, or "" */
	unsigned status;          /* of its answer, once that has begun */
	struct rf_trace trace;    /* where it stands in that, or in one of its own */
	char part[RF_TRACE_TEXT]; /* what a run of it is told of that */
	const char *origin;       /* of the page that asks, if it may; or NULL */
	uint8_t token_hash[RF_SHA256_BYTES];
	struct rf_upgrade upgrade; /* whether it asks to go on as a WebSocket */
	char *query;               /* of its target, or NULL */
	bool wants_stream;         /* Accept: text/event-stream */
	bool wants_raw;            /* Accept: application/octet-stream */
	bool is_head;              /* of a method HEAD: nobody wants the body of its answer */
	char type[160];            /* Content-Type, or "" */
	char range[64];            /* Range, or "": there is none, or it need not be heeded */
	bool is_local;
	bool is_counted; /* it has begun something, for its key */
	bool has_body_ended;
	struct rf_buf body;
	size_t held; /* bytes of it that count toward what the front may hold */
	struct rf_order order;
	struct rf_job *job;
	struct rf_query *asked;
	struct rf_transit *transit;   /* what is to be passed on to a port, until it is; or NULL */
	struct rf_ported *ported;     /* and how far that is; serve-port.c's */
	struct rf_petition *petition; /* a question to the clerk, or NULL */
	struct rf_outing *outing;     /* its box's way out, or NULL */
	struct rf_event *timer;
	struct rf_buf out; /* of the answer, what is not sent */
	size_t out_at;
	size_t owed;             /* of it, what counts against who reads slowly */
	bool is_held;            /* the exchange asked to wait */
	bool is_stream, is_last; /* an answer in pieces; no more of them come */
	char carry[2][4];        /* of each stream: the beginning of a character */
	size_t carry_len[2];
	uint64_t since_ns;
	struct rf_api_call *next_awaiting, *next_waiting;
	void (*go)(struct rf_api_call *call); /* what it waits for */
	void (*on_gone)(
		struct rf_api_call *call); /* who is to hear that it waits no more, or NULL */
	char workspace[RF_TENANCY_NAME];   /* a sandbox's own that goes with it, or "" */
	void *extra;                       /* the handler's own; freed with free() */
	/* Where the body is told as it comes, or an answer is sent by the handler itself: what comes, its end, and that more can be sent.  Or NULL. */
	void (*on_bytes)(struct rf_api_call *call, struct rf_span bytes);
	void (*on_bytes_end)(struct rf_api_call *call);
	void (*on_room)(struct rf_api_call *call);
	/*
	 * Of a request that stands for another one (rf_api_call_become()): who hears what is answered, once and instead of the client; the error is NULL where there
	 * is none.  on_result() hears of a program's result as it is, and may be NULL.
	 */
	void (*on_answer)(struct rf_api_call *call, unsigned status, const struct rf_buf *bytes,
			  const struct rf_api_error *error);
	void (*on_result)(struct rf_api_call *call, const struct rf_result *result);
	struct rf_mcp_visit *visit; /* of /mcp: what it asks for; or NULL */
	struct rf_field more;       /* one field more of the answer's head, or none */
	/* A question to the register (wicket.h): who hears what it says, or NULL. */
	void (*on_told)(struct rf_api_call *call, const struct rf_pass_told *told);
	struct rf_api_call *next_told;
	/* What is done once (once.h): its Idempotency-Key or "", and the answer until it is kept. */
	char once[256];
	enum rf_once_state once_state;
	bool is_unbegun; /* what failed was refused before anything ran */
	void (*go_once)(struct rf_api_call *call);
	uint64_t
		room_until_ns; /* it waits for room in the warden no longer than that; 0: it does not */
	struct rf_buf kept;
	unsigned kept_status;
	struct rf_event *free_timer;
	struct rf_api_error *fated; /* an error whose reason is asked for (fate.h), or NULL */
};

/* What exchanges of the API do; `data` is a struct rf_front_side. */
extern const struct rf_exchange_ops rf_api_call_ops;

/* Who has the keys has answered: the holder, or NULL and why it is nobody's. */
void rf_api_call_admit(struct rf_api_call *call, struct rf_holder *holder,
		       const struct rf_err *why);

/* Ends what is for it alone, and frees it. */
void rf_api_call_free(struct rf_api_call *call);

/* ------------------------------------------------------------- for handlers */

/* Answers as a whole.  `json` is empty afterwards. */
void rf_api_call_answer(struct rf_api_call *call, unsigned status, struct rf_buf *json);
void rf_api_call_answer_bytes(struct rf_api_call *call, unsigned status, const char *type,
			      struct rf_buf *bytes);
void rf_api_call_answer_empty(struct rf_api_call *call, unsigned status, struct rf_fields more);
void rf_api_call_fail(struct rf_api_call *call, const struct rf_api_error *error);
void rf_api_call_fail_with(struct rf_api_call *call, const struct rf_err *err, const char *where);

/* Begins an answer that the handler sends itself, on the exchange; `length` is UINT64_MAX where it is not known.  `more` are further fields. */
void rf_api_call_begin_bytes(struct rf_api_call *call, unsigned status, const char *type,
			     uint64_t length, struct rf_fields more);

/* Answers in pieces, as events; rf_api_call_end() is the last. */
void rf_api_call_begin_events(struct rf_api_call *call);
void rf_api_call_event(struct rf_api_call *call, const char *name, const struct rf_buf *json);
void rf_api_call_event_at(struct rf_api_call *call, const char *id, const char *name,
			  const struct rf_buf *json); /* with an `id:` that Last-Event-ID names */
void rf_api_call_end(struct rf_api_call *call);

/* A line that no reader of events heeds: that there is somebody still. */
void rf_api_call_keep_alive(struct rf_api_call *call);

/*
 * Serves another request of the API on behalf of this one, as its key could ask for it: scope, parameters and all that its handler looks at are looked at.  The query
 * and the body are taken.  `serve` takes the place of its handler, or is NULL.  `on_answer` hears what comes of it, now or later.
 */
void rf_api_call_become(struct rf_api_call *call, const char *method, const char *path,
			struct rf_buf *query, struct rf_buf *body,
			void (*serve)(struct rf_api_call *call),
			void (*on_answer)(struct rf_api_call *call, unsigned status,
					  const struct rf_buf *bytes,
					  const struct rf_api_error *error));

/* What was begun for it ends: its job, its question, its place.  It can still be answered. */
void rf_api_call_let_go(struct rf_api_call *call);

/* Too much waits for the client to read it: nothing more is to be sent for now. */
bool rf_api_call_is_full(const struct rf_api_call *call);

/* A parameter of the target, decoded into `text`; false if it is not there.  -1 for a parameter that is none. */
int rf_api_call_parameter(const struct rf_api_call *call, const char *name, char *text, size_t size,
			  struct rf_api_error *error);

/* Whether its key's rate allows one more thing to be begun; else that is answered. */
bool rf_api_call_is_paced(struct rf_api_call *call);

/* Takes a place among those that its key may have at once, or waits for one: `go` is called then, now or later; or refuses. */
void rf_api_call_take_place(struct rf_api_call *call, void (*go)(struct rf_api_call *call));
/* The warden has no room for it now: true if `go` is called again in a moment; false when it has waited long enough. */
bool rf_api_call_wait_for_room(struct rf_api_call *call, void (*go)(struct rf_api_call *call));
/* It is free again, though the call goes on. */
void rf_api_call_leave_place(struct rf_api_call *call);

#endif
