/*
 * The door of a process that serves its user on a socket: who connects is looked at, and admitted or told why not.
 *
 * A visitor must be what the host is, or at least be confined by nothing (peer.h); root's must also prove that it is in no Landlock
 * domain, before it is answered anything that matters: rf_door_demand().  There are at most so many at once, and who comes when
 * no descriptor is left is turned away by a spare one, since a connection that waits would be reported again and again.
 */
#ifndef RF_WIRE_DOOR_H
#define RF_WIRE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "wire/peer.h"

/* Whose door it is, and what is done there. */
struct rf_door_rules {
	const char *who;     /* "warden", for messages */
	const char *instead; /* what who is turned away can do: a hint */
	size_t most;         /* visitors at once */
	size_t size;         /* bytes of one: see below */
	bool has_any_groups; /* visitors may live in other cgroups */
	bool is_for_all; /* of this user that nothing confines, however else they are: rf_peer_check_free() */
	bool makes_room; /* for one too many the oldest has to leave; nothing else is held for it */
	rf_event_fn *on_message; /* something came; its data is the visitor */
	/* Tells somebody why not. */
	int (*refuse)(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err);
};

struct rf_door {
	const struct rf_door_rules *rules; /* borrowed */
	void *host;                        /* whose: borrowed */
	struct rf_loop *loop;              /* borrowed */
	int listener;                      /* borrowed; or -1: nobody comes by himself */
	int spare;                         /* a descriptor that does nothing but be there */
	struct rf_event *event;            /* somebody connects; or NULL */
	struct rf_peer self;               /* what we are, and visitors must be */
	struct rf_door_visitor *visitors;
	size_t count;
};

/* One connection: the first member of the host's own struct for it, whose other bytes are zero at first. */
struct rf_door_visitor {
	struct rf_door *door;
	struct rf_door_visitor *next;
	struct rf_event *event;
	int fd;
	pid_t pid;      /* of who is at the other end */
	bool is_proven; /* root's: it is in no sandbox */
};

/*
 * Takes the lock on `fd` that only one of a kind has.  A host that was killed may have children that are about to die and
 * hold it for a moment: so it waits a moment, too.  -EWOULDBLOCK: somebody else stands.
 */
int rf_door_lock(int fd);

/* A socket `name` in the folder `run` that only its owner can connect to, in the place of an older one.  Gives a descriptor. */
int rf_door_listen(int run, const char *name, struct rf_err *err);

/* A door that is shut, so that rf_door_done() can be called in any case. */
void rf_door_init(struct rf_door *door, const struct rf_door_rules *rules, void *host);

/* Opens it on `loop`: to whoever connects to `listener`, or -1. */
int rf_door_open(struct rf_door *door, struct rf_loop *loop, int listener, struct rf_err *err);

/* Lets all go that are still there, and shuts it. */
void rf_door_done(struct rf_door *door);

/* Looks at who is at the other end of a connection; gives its pid. */
int rf_door_look(const struct rf_door *door, int fd, pid_t *ret_pid, struct rf_err *err);

/* Admits who is at the other end of `*fd` (takes, on success).  `ret_visitor` may be NULL. */
int rf_door_admit(struct rf_door *door, int *fd, pid_t pid, struct rf_door_visitor **ret_visitor,
		  struct rf_err *err);

/* Takes what a visitor sent as its proof (borrows). */
int rf_door_take_proof(struct rf_door_visitor *visitor, int fd, struct rf_err *err);

/* Fails if the visitor should have proven itself and has not. */
int rf_door_demand(const struct rf_door_visitor *visitor, struct rf_err *err);

/* Closes the connection and frees the visitor. */
void rf_door_leave(struct rf_door_visitor *visitor);

#endif
