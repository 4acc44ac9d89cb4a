/*
 * The view from inside: what a path is in the box that a plan describes, without making one.
 *
 * Names are followed as the kernel would follow them there, symbolic links included, place by
 * place.  What lies on the host is looked at by the caller's function, so that this folder makes no
 * system call and a test can invent a host.
 */
#ifndef RF_POLICY_VIEW_H
#define RF_POLICY_VIEW_H

#include "policy/files.h"
#include "policy/plan.h"

enum rf_view_kind {
	RF_VIEW_NOTHING, /* there is nothing of that name */
	RF_VIEW_FILE,
	RF_VIEW_FOLDER,
	RF_VIEW_LINK,    /* in what a host says; never at the end of a walk */
	RF_VIEW_OTHER,   /* a device, pipe or socket */
	RF_VIEW_SCRATCH, /* beneath a scratch place: nothing at the start, and then the box's own */
	RF_VIEW_KERNEL,  /* in /proc or /dev/pts: what there is depends on the box's processes */
	RF_VIEW_HIDDEN,  /* masked */
	RF_VIEW_CLOSED,  /* behind a folder that the box may not search */
	RF_VIEW_LOOP,    /* too many links */
};

/* What the host has under a name, and what the box's user may do there by the file's own mode. */
struct rf_view_sight {
	enum rf_view_kind kind; /* NOTHING, FILE, FOLDER, LINK, OTHER or HIDDEN */
	unsigned can;           /* enum rf_right; for a folder EXEC is to search it */
	const char *rule;       /* that hides it, or NULL */
	char target[RF_FILES_PATH];
};

/* Looks at `path` on the host, without following it; it shows in the box as part of `place`. */
typedef void rf_view_look_fn(void *data, const struct rf_place *place, const char *path,
			     struct rf_view_sight *ret_sight);

struct rf_view_host {
	rf_view_look_fn *look;
	void *data;
};

/* The end of a walk. */
struct rf_view {
	enum rf_view_kind kind;
	unsigned can;
	bool has_links;               /* symbolic links were followed on the way */
	const char *denied;           /* HIDDEN by this pattern of files.deny, or NULL */
	const char *rule;             /* HIDDEN by this rule, or NULL */
	const struct rf_place *place; /* that governs it, or NULL: the root's own folders */
	char path[RF_FILES_PATH];     /* where it really is, in the box */
	char source[RF_FILES_PATH];   /* where that is on the host, or "" */
	bool has_parent;              /* NOTHING: the folder that would hold it is there ... */
	unsigned parent_can;          /* ... and what may be done in it */
};

/* Follows `path`, absolute in the box. */
void rf_view_walk(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		  struct rf_view *ret_view);

/* The place that governs `path`: the longest that holds it; NULL if none does. */
const struct rf_place *rf_view_place(const struct rf_plan *plan, const char *path);

#endif
