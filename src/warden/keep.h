/*
 * What a warden and its connections are, and what is asked of it of boxes that are kept.
 *
 * A kept box belongs to the connection that asked for it as every box does, and goes on without it: what
 * is left of such a connection holds the box until that ends.
 */
#ifndef RF_WARDEN_KEEP_H
#define RF_WARDEN_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "warden/bound.h"
#include "warden/free-space.h"
#include "warden/gossip.h"
#include "warden/notice.h"
#include "warden/owner.h"
#include "warden/scribe.h"
#include "warden/ward.h"
#include "warden/warden.h"
#include "warden/work.h"
#include "warden/yard.h"
#include "wire/door.h"
#include "wire/wire.h"

struct rf_lore;

/* The whole of it. */
struct warden {
	const struct rf_warden_options *options;
	struct rf_loop *loop;
	struct rf_yard *yard;
	struct rf_lore *lore;
	struct rf_work_self self;
	struct rf_scribe *scribe; /* to a watcher, where one stands */
	struct rf_door door;      /* and who came through it */
	struct rf_owner owner;
	struct rf_event *tend_timer;
	struct rf_free_space space; /* of the disk of workspaces */
	struct rf_buf in, out;      /* of one message at a time */
	bool is_begun;
	bool is_lesser; /* this machine gives no full boxes */
};

/* One connection, and at most one run on it. */
struct client {
	struct rf_door_visitor visitor;
	struct rf_work *work;
	struct rf_scribe_note *note; /* that its run waits for; or NULL */
	struct rf_buf started;       /* what is told of it then */
	struct rf_gossip gossip;     /* what is told of its network */
	struct rf_ward *ward;        /* whose box is kept, and outlives the connection; or NULL */
	struct rf_ward_program *program; /* in a kept box, whose connection this is; or NULL */
	struct rf_notice *notice;        /* a program for one that waits for its record; or NULL */
	struct rf_reach *reach;          /* a port of a kept box that it asked for; or NULL */
	struct client *closes;           /* whose box is being ended for this one; or NULL */
	uint64_t closes_id;              /* that its answer carries */
	struct client
		*still_for; /* whom its kept box stands still for, and goes on without; or NULL */
	struct rf_bound *bound;      /* what bounds it, or NULL; counted */
	char *label;                 /* what lists say of its kept box, or NULL */
	const char *ended_why;       /* of its kept box, if that was ours to say; static; or NULL */
	struct rf_event *idle_timer; /* of its kept box, or NULL */
	uint64_t idle_ms, used_ns;   /* it ends when nobody used it for so long; last used */
	struct rf_terms_sums share;  /* of what its key\'s boxes may have together */
	bool is_counted;             /* its box is one of those that it may have */
	bool is_standing;            /* it was told that its box is there to stay */
	bool is_owner;               /* a private warden's: see owner.h */
	bool is_gone;
};

static inline struct warden *warden_of(const struct client *client)
{
	return client->visitor.door->host;
}

typedef int rf_keep_fn(struct client *client, struct rf_wire_message *message, struct rf_err *err);

/* Requests: a program in a kept box; a connection for one that runs; a connection to a port inside; what is done to a box as a whole; a hand on its network. */
rf_keep_fn rf_keep_exec, rf_keep_attach, rf_keep_reach, rf_keep_box, rf_keep_lend;

/* The connection that keeps the box with this id, if it is one that this client may see. */
int rf_keep_find(const struct client *client, const char *id, struct client **ret_keeper,
		 struct rf_err *err);

/* Its kept box stands, and ends when nobody has used it for client->idle_ms; or has ended. */
void rf_keep_begin(struct client *keeper);
void rf_keep_end(struct client *keeper);

/* A connection has one thing at a time: fails with -EBUSY where it has one. */
bool rf_keep_is_busy(const struct client *client, struct rf_err *err);

/* Sends a result, and notes who is no longer there. */
void rf_keep_send_ended(struct client *client, const struct rf_result *result, uint64_t id);

/* A connection has ended: what stands still for it goes on. */
void rf_keep_leave(const struct client *client);

/* Who asked for the end of a kept box hears of it as who keeps it does. */
void rf_keep_tell_closers(const struct client *keeper);

#endif
