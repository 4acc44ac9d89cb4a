/*
 * Inside the probe: a row of its table, and what the function of a row works with.
 *
 * The rows stand in probe-table.c; probe.c runs them.  Their functions are in probe-space.c
 * (namespaces), probe-mount.c, probe-wall.c (calls and walls), probe-group.c (limits) and
 * probe-host.c (folders, a whole box, the host's own hardening).
 */
#ifndef RF_JAIL_PROBE_CHECK_H
#define RF_JAIL_PROBE_CHECK_H

#include <stdint.h>

#include "jail/probe.h"

/* In what child a check runs. */
enum rf_probe_place {
	RF_PROBE_HERE,     /* as the caller is */
	RF_PROBE_BUILDING, /* with the privilege that builds a box: root's, or in a user namespace */
	RF_PROBE_OWNED,    /* in a user namespace, root or not */
};

struct rf_probe_trial;
typedef void rf_probe_fn(struct rf_probe_trial *trial);

struct rf_probe_check {
	const char *id;
	enum rf_probe_group group;
	enum rf_probe_need need;
	enum rf_probe_place place;
	unsigned spaces;   /* CLONE_NEW* that the child is born with */
	const char *what;  /* the function's subject: a namespace, a file system, a file; or NULL */
	const char *after; /* the id of a check without which this one can't be tried, or NULL */
	rf_probe_fn *fn;
	const char *title, *meaning;
	const char *remedy; /* when nothing more precise is known; or NULL */
	bool is_waivable;   /* a box under `--weaker allow` goes without it (rf_box_lacks) */
	bool is_for_root;   /* required of root only; wanted by others */
};

extern const struct rf_probe_check rf_probe_checks[];
extern const size_t rf_probe_check_count;

/* One check under way.  The report is shared memory: what a child writes there stays. */
struct rf_probe_trial {
	const struct rf_probe_check *check;
	struct rf_probe_report *report;
	struct rf_probe_result *result;
	const char *init_path;
	uint64_t outside; /* the launcher's own namespace check->what, or 0 */
};

/* A box that is never started, for walls that want to be raised alone. */
struct rf_probe_stage {
	struct rf_plan plan;
	struct rf_box box;
	struct rf_box_shared shared;
	struct rf_err err;
};

void rf_probe_stage_init(struct rf_probe_stage *stage);

/* The answers.  The last one counts. */
void rf_probe_granted(struct rf_probe_trial *trial); /* present, and nothing to add */
void rf_probe_present(struct rf_probe_trial *trial, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rf_probe_partial(struct rf_probe_trial *trial, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rf_probe_unneeded(struct rf_probe_trial *trial, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Absent because a call failed with `code` (a negative errno).  Looks at what on this machine may
 * have caused that, and sets the remedy: the most precise one known, or the row's own.
 */
void rf_probe_failed(struct rf_probe_trial *trial, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets that remedy, where a cause can be seen. */
void rf_probe_cause_blame(struct rf_probe_trial *trial, int code);

/* Absent, for the reason that a wall gave. */
void rf_probe_refused(struct rf_probe_trial *trial, const struct rf_err *err);

/* Absent in our own words; the remedy is the row's. */
void rf_probe_absent(struct rf_probe_trial *trial, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Absent as a consequence: `cause`, as in "the tmpfs", must be had first. */
void rf_probe_follows(struct rf_probe_trial *trial, const char *cause);

/* Replaces the remedy. */
void rf_probe_remedy(struct rf_probe_trial *trial, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* clang-format off */
rf_probe_fn rf_probe_space_entered, rf_probe_space_cgroup, rf_probe_space_time, rf_probe_space_net, rf_probe_space_capture,
	rf_probe_space_uts, rf_probe_space_last, rf_probe_space_limit;
rf_probe_fn rf_probe_mount_api, rf_probe_mount_fresh, rf_probe_mount_idmap, rf_probe_mount_overlay;
rf_probe_fn rf_probe_wall_clone3, rf_probe_wall_close_range, rf_probe_wall_openat2,
	rf_probe_wall_landlock, rf_probe_wall_seccomp, rf_probe_wall_privileges, rf_probe_wall_keyring;
rf_probe_fn rf_probe_group_any, rf_probe_group_controller, rf_probe_group_cputime,
	rf_probe_group_swap, rf_probe_group_into, rf_probe_group_kill, rf_probe_group_children;
rf_probe_fn rf_probe_host_kernel, rf_probe_host_init, rf_probe_host_gateway, rf_probe_host_run, rf_probe_host_uids,
	rf_probe_host_audit, rf_probe_host_watch, rf_probe_host_box, rf_probe_host_lesser, rf_probe_host_cores, rf_probe_host_sysctl;
/* clang-format on */

#endif
