/*
 * Something done with a workspace and its checkpoints: by a program in a box of its own, which has all of the workspace and nothing else.
 *
 * What sandboxes wrote is looked at by no process that has rights.  Where a sandbox is named, everything in it stands still meanwhile.
 */
#ifndef RF_SERVER_BOX_SITE_H
#define RF_SERVER_BOX_SITE_H

#include "server/api-call.h"
#include "wire/tenancy.h"

#define RF_BOX_SITE_WORDS 3

struct rf_box_site_deed {
	const char *script; /* for /bin/sh, in /work: `files` and `points` */
	bool stands_still;
	/* What it wrote, and with the sandbox going on again: answers. */
	void (*on_done)(struct rf_api_call *call, const struct rf_buf *output);
};

/* What is under way; the call's `extra`. */
struct rf_box_site {
	const struct rf_box_site_deed *deed;
	char workspace[RF_TENANCY_NAME];
	char box[24];                                   /* the sandbox, or "" */
	char words[RF_BOX_SITE_WORDS][RF_TENANCY_NAME]; /* "$1" and so on */
	bool is_frozen;                                 /* by us */
	struct rf_buf output;
	struct rf_api_error error; /* its `message` is "" where all is well */
};

/* The workspace that the first box of an answer to LIST has ("": none).  False: there is no box. */
bool rf_box_site_find(const struct rf_wire_message *answer, char workspace[RF_TENANCY_NAME],
		      bool *ret_is_running);

/* Begins: of the workspace, or the sandbox, that the path names.  Gives what the words are to be written to, or NULL: it is answered. */
struct rf_box_site *rf_box_site_new(struct rf_api_call *call, const struct rf_box_site_deed *deed);
void rf_box_site_go(struct rf_api_call *call);

#endif
