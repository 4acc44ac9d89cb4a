/*
 * Who serves strangers: has the keys, starts the warden and the front, and stands between them.
 *
 * The front reads what strangers send and has no right of its own.  It shows each key that it was shown to us; we look it up, make a connection to
 * the warden on the key's terms, and give it that.  So a front that was broken into has what the keys that came by have, and nothing else.  A front that dies
 * is started anew, and the boxes that are kept stay; when we are killed, the warden and they wait for the next server for a while; when
 * we are asked to end, they end, too, unless they are to be kept.
 */
#ifndef RF_SERVER_LANDLORD_H
#define RF_SERVER_LANDLORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "server/charter.h"
#include "server/papers.h"

#define RF_LANDLORD_SOCKET "api.sock" /* in $RUN, for processes of the same user */
#define RF_LANDLORD_MOST   16         /* ports */
#define RF_LANDLORD_GRACE  30         /* seconds */

struct landlord;
struct rf_loop;

struct rf_landlord_options {
	const char *listen[RF_LANDLORD_MOST + 1]; /* NULL-ended, "ADDRESS:PORT" */
	char *hosts[65], *origins[65];            /* NULL-ended */
	struct rf_papers_paths papers;            /* of TLS, for all ports */
	const char *folder;                       /* where our programs are */
	const struct rf_charter *charter;         /* all of it, borrowed */
	bool only_checks;
	bool keeps_sandboxes;   /* they outlive it for the grace, so that the next one finds them */
	uint32_t grace_s;       /* that they outlive a server that was killed */
	uint64_t reserve_bytes; /* of memory, that each box counts for at least */
	uint64_t margin_bytes;  /* that is left to the machine */
	uint64_t disk_bytes;    /* that are left of the disk of workspaces */
	const char
		*ceiling; /* of clients that need no key (borrows); NULL: as for the user's own */
	/*
	 * Of a server for one client alone, which is in this process: who hears that it can be asked.  Such a one has no socket and no lock in $RUN and no keys, so there may be any number
	 * of them, and it ends when its front does.  NULL: it is one for all.
	 */
	void (*on_ready)(void *data, struct landlord *landlord, struct rf_loop *loop);
	void *data;
};

/* Serves until a signal asks to end; or looks whether it could. */
int rf_landlord_serve(const struct rf_landlord_options *options, struct rf_err *err);

/* For who hears of on_ready(): gives a connection to the front, as a process of the user's own would have one; it does not block. */
int rf_landlord_invite(struct landlord *l, int *ret_fd, struct rf_err *err);

#endif
