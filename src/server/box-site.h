/*
 * Something done with a workspace and its checkpoints: by a program in a box of its own, which has all of the workspace and nothing else.
 *
 * What sandboxes wrote is looked at by no process that has rights.  Where a sandbox is named, everything in it stands still meanwhile; where all that have the workspace
 * are to, everything in those does.  Of what changes a workspace there is one thing under way at a time; the next one waits for its turn.
 */
#ifndef RF_SERVER_BOX_SITE_H
#define RF_SERVER_BOX_SITE_H

#include "server/api-call.h"
#include "wire/tenancy.h"

#define RF_BOX_SITE_WORDS 3
#define RF_BOX_SITE_ID    24 /* bytes of a sandbox's, with a NUL */

enum rf_box_site_still {
	RF_BOX_SITE_MOVES, /* nobody stands still */
	RF_BOX_SITE_STILL, /* the sandbox that was named does */
	RF_BOX_SITE_ALL    /* every sandbox that has the workspace does */
};

struct rf_box_site_deed {
	const char *script; /* for /bin/sh, in /work: `files` and `points` */
	enum rf_box_site_still still;
	bool changes; /* something besides: two of these would be in each other's way */
	/* What it wrote, and with the sandbox going on again: answers. */
	void (*on_done)(struct rf_api_call *call, const struct rf_buf *output);
	bool copies; /* all files once more: the clerk is asked first whether there is room for them */
	/* It came to nothing, or who asked is gone: what was laid aside for it goes.  Answers nothing.  Or NULL. */
	void (*on_failed)(struct rf_api_call *call);
};

/* One that is to stand still. */
struct rf_box_site_box {
	char id[RF_BOX_SITE_ID];
	int line; /* while this connection lasts, it does: so it goes on, too, when we are killed */
};

/* What is under way; the call's `extra`. */
struct rf_box_site {
	const struct rf_box_site_deed *deed;
	char workspace[RF_TENANCY_NAME];
	char box[RF_BOX_SITE_ID];                       /* the sandbox, or "" */
	char words[RF_BOX_SITE_WORDS][RF_TENANCY_NAME]; /* "$1" and so on */
	struct rf_box_site_box *boxes;                  /* that are to stand still */
	size_t box_count, frozen;                       /* of them, the first so many do, by us */
	struct rf_buf output;
	struct rf_api_error error; /* its `message` is "" where all is well */
	/* Whose workspace is being changed, or is to be when it is its turn: in the list of all such. */
	struct rf_api_call *call;
	const char *tenant;
	bool is_changing;
	struct rf_box_site *next;
};

/* The workspace that the first box of an answer to LIST has ("": none).  False: there is no box. */
bool rf_box_site_find(const struct rf_wire_message *answer, char workspace[RF_TENANCY_NAME],
		      bool *ret_is_running);

/* Begins: of the workspace, or the sandbox, that the path names.  Gives what the words are to be written to, or NULL: it is answered. */
struct rf_box_site *rf_box_site_new(struct rf_api_call *call, const struct rf_box_site_deed *deed);
void rf_box_site_go(struct rf_api_call *call);

/* From on_done(): the same call goes on with something else, in this workspace; its words are the site's. */
void rf_box_site_go_on(struct rf_api_call *call, const struct rf_box_site_deed *deed,
		       const char *workspace);

#endif
