/*
 * What this machine can enforce, found out by trying it.
 *
 * One table of checks (probe-table.c).  Each check really does what a box would do, in a child process of
 * its own that holds the namespaces a box would have, and is killed if it does not answer in time.
 * A result says what was seen and never more: what could not be tried counts as absent.  Nothing
 * stays behind: no process, mount, group or file.
 *
 * Ids are for machines and do not change; titles and details are for people and may.
 */
#ifndef RF_JAIL_PROBE_H
#define RF_JAIL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/box.h"

#define RF_PROBE_MAX 64 /* checks */

enum rf_probe_state {
	RF_PROBE_ABSENT,
	RF_PROBE_PARTIAL, /* usable, and the detail says what of it is not there */
	RF_PROBE_PRESENT,
	RF_PROBE_UNNEEDED, /* a box of this caller does without, and the detail says why */
};

/* How much a box depends on it. */
enum rf_probe_need {
	RF_PROBE_WANTED,   /* without it some limit or feature is weaker, and says so */
	RF_PROBE_REQUIRED, /* without it a box is refused */
	RF_PROBE_HINT,     /* says something about the host, nothing about boxes */
};

enum rf_probe_group {
	RF_PROBE_KERNEL,
	RF_PROBE_NAMESPACES,
	RF_PROBE_MOUNTS,
	RF_PROBE_WALLS,
	RF_PROBE_LIMITS,
	RF_PROBE_MACHINE,
	RF_PROBE_HARDENING,
	RF_PROBE_GROUP_COUNT
};

/* One answer.  Its strings `id`, `title` and `meaning` are the program's own and live for ever. */
struct rf_probe_result {
	const char *id;      /* "userns_nested" */
	const char *title;   /* "a second user namespace" */
	const char *meaning; /* what a box lacks without it, a sentence */
	enum rf_probe_group group;
	enum rf_probe_need need; /* for this caller */
	bool is_waivable;        /* required, but `--weaker allow` goes without it */
	enum rf_probe_state state;
	bool is_consequence; /* absent only because another check's subject is */
	char detail[192];    /* what was seen, or "" */
	char remedy[256];    /* how to get it, or "" */
};

/* Where the groups of a box lie and what they can do: made, limited, entered and removed. */
struct rf_probe_cgroup {
	int version; /* 2, 1, or 0 for none */
	bool has_memory, has_pids, has_cpu, has_cputime, has_swap, has_kill, has_clone_into;
	char where[256];
	char why_not[192]; /* the first thing that stood in the way, or "" */
};

struct rf_probe_report {
	bool is_root;
	uid_t uid;
	struct rf_probe_result results[RF_PROBE_MAX]; /* in the table's order, group by group */
	size_t count;
	struct rf_probe_cgroup cgroup;
	enum rf_grade grades[RF_LIMIT_COUNT]; /* how well a box's limits would be kept */
	size_t missing;                       /* required checks that are absent, */
	size_t waivable; /* and how many of them `--weaker allow` goes without */
};

/*
 * Runs every check as the calling user.  `init_path` is the program ringfort-init (borrows).  Takes
 * some tens of milliseconds.  Fails only when memory or processes are gone; whatever a check finds
 * is a result, not an error.
 */
int rf_probe_run(const char *init_path, struct rf_probe_report *ret_report, struct rf_err *err);

/* Words for JSON: "present", "required", "namespaces", "sampled" ...; they do not change. */
const char *rf_probe_state_name(enum rf_probe_state state);
const char *rf_probe_need_name(enum rf_probe_need need);
const char *rf_probe_group_name(enum rf_probe_group group);

#endif
