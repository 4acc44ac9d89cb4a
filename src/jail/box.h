/*
 * A box: one plan being carried out by the kernel.
 *
 * Life cycle: rf_box_init() → rf_box_start() → the program runs → rf_box_done().  A box can also be
 * built before anybody wants one: rf_box_build() leaves pid 1 waiting, and rf_box_wake() tells it what
 * to run.  Once started, a
 * box is pid 1 of its own pid namespace; when that dies, all of it is dead.  rf_box_done() ends
 * whatever is left and takes everything away again, at any point of the way.
 *
 * The walls are raised by a child of the launcher on its way to becoming pid 1.  It shares the
 * launcher's memory until then, and tells what it has to say (an error, what this machine lacks, how
 * long each wall took) in `struct rf_box_shared`.
 */
#ifndef RF_JAIL_BOX_H
#define RF_JAIL_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "init/orders.h"
#include "jail/capture.h"
#include "jail/cgroup.h"
#include "jail/hidden.h"
#include "jail/program.h"
#include "policy/plan.h"
#include "result/result.h"

struct rf_parts;
struct rlimit;
struct rf_filter;
struct rf_footprint;
struct rf_ruleset;

#define RF_BOX_MISSING_MAX 16
#define RF_BOX_WALLS_MAX   12
#define RF_BOX_HELD        8
#define RF_BOX_HOLDERS     20 /* namespaces that one box may need: owners of trees, and the last */

/* Written by the child that raises the walls, read by the launcher. */
struct rf_box_shared {
	struct rf_err err;
	bool has_failed; /* `err` tells why no pid 1 came of the child */
	char missing[RF_BOX_MISSING_MAX][96];
	uint32_t missing_count;
	bool lacks_overlay; /* what failed is a mount that a copy could take the place of */
	bool has_layer;     /* in memory, and handed over: see ration.h */
	int32_t landlock_abi;
	bool is_lesser;      /* without namespaces: see lesser.h */
	bool has_deputy;     /* and the launcher changes modes and times for it: see deputy.h */
	bool is_watched;     /* the launcher is asked about calls with paths: see onlooker.h */
	bool has_sent_lines; /* the box's sockets come by the channel: see netns.c */
	uint64_t wall_ns[RF_BOX_WALLS_MAX]; /* time that each wall took inside */
	uint64_t ready_ns;                  /* all walls up, CLOCK_MONOTONIC */
};

struct rf_box {
	const struct rf_plan *plan; /* borrowed */
	char id[17];
	bool is_root;
	uid_t host_uid; /* the box's identity outside */
	gid_t host_gid;
	pid_t pid; /* of pid 1, outside; 0 before the start */
	int pidfd;
	int self;        /* a pidfd of the launcher, for pid 1 */
	int channel[2];  /* [0] the launcher's end, [1] the box's */
	int stdio[3][2]; /* pipes: [0] the read end, [1] the write end */
	int pty[2];      /* instead, where the plan has a terminal: master, slave */
	struct rf_capture
		capture; /* sockets in its network, for a gateway; closed once it has them */
	int init;        /* the program ringfort-init */
	int (*on_orders)(void *data,
			 struct rf_err *err); /* before it is told what to run; or NULL */
	void *on_orders_data;
	const struct rf_parts
		*parts; /* made beforehand by a launcher that stays; or NULL; borrowed */
	int network; /* a namespace made beforehand for this box alone; or -1: it makes its own */
	pid_t group_of;  /* whose groups the box's lie beneath; 0: ours */
	bool is_ahead;   /* built before it is known what it will run */
	bool is_kept;    /* runs nothing by itself, but what it is told to: see task.h */
	bool is_served;  /* by a launcher that has other boxes; its streams are given */
	int seal;        /* as root: the last user namespace */
	pid_t hands;     /* work on another processor while it is built, or 0 */
	int hands_pidfd; /* theirs, or -1 */
	int mounts; /* built ahead: its mount namespace, so that pid 1's end need not take it down */
	int tripwire;                 /* says when a canary was touched, or -1: see tripwire.h */
	int wires[64];                /* its watches, by index into plan->canaries */
	int uid_lock;                 /* holds host_uid */
	const struct rlimit *callers; /* limits of who asked, where they are not ours; or NULL */
	const void *callers_cpus;     /* their processors, RF_ORDERS_CPUS words of bits; or NULL */
	int nice;                     /* and their priority, or 0 */
	bool has_neighbours;          /* other boxes of this owner live */
	bool has_dead_neighbours;     /* records of killed launchers were seen */
	int record;                   /* the locked file in $RUN/boxes, or -1 */
	struct rf_program_set *programs; /* the only ones that can be run; NULL: all */
	bool is_heard;                   /* what the kernel refuses is to be logged */
	bool seals_memfds;               /* inside: the kernel lets no memfd be executed */
	int proc_sys;                    /* inside: the box's own /proc/sys, before it is locked */
	struct rf_cgroup cgroup;
	struct rf_ruleset **profiles; /* the plan's system call profiles, read; or NULL */
	size_t profile_count;
	struct rf_filter *filter;       /* of a box built ahead; or NULL: made by the child */
	struct rf_footprint *footprint; /* where it is noted what it uses; or NULL; borrowed */
	struct rf_box_shared *shared;
	int pool;   /* as root: of the layers over one of the trees, mapped; or -1 */
	int owners; /* as root: what maps them so, for a layer in memory; or -1 */
	int *trees; /* detached mounts by index into plan->places, or -1 */
	struct rf_hidden_list hidden;  /* what the box must not see of them */
	bool has_owner_uid;            /* host_uid is that of a tree which can't be mapped */
	pid_t holders[RF_BOX_HOLDERS]; /* that held namespaces for us, dead and not yet reaped */
	size_t holder_count;
	uint64_t cpus[RF_ORDERS_CPUS];        /* the caller's processors, while we stay on one */
	uint32_t cpus_bytes;                  /* 0: we do not */
	uint32_t facts;                       /* enum rf_proof bits that must be proven */
	enum rf_grade grades[RF_LIMIT_COUNT]; /* what is kept, and how well */
	bool has_ration;     /* what it writes to disks is looked at: see ration.h */
	char uncounted[192]; /* a writable tree in which nobody counts, and what it is; or "" */
	uint64_t outside_ns[RF_BOX_WALLS_MAX];
	uint64_t started_ns;
	/* Of a lesser box only: see lesser.h. */
	bool is_lesser;
	bool has_bounding;     /* capabilities stay in the bounding set */
	int landlock_abi;      /* known before the walls go up */
	int scratch_lock;      /* says that the scratch folder is in use, or -1 */
	int listener;          /* gives the calls that the deputy answers, or the onlooker; or -1 */
	int rulesets[2];       /* Landlock's for pid 1, and for the program */
	int held[RF_BOX_HELD]; /* what rulesets name in /proc, kept in the kernel's memory */
	uint64_t tasks_outside;   /* that RLIMIT_NPROC counts too */
	struct rf_err why_lesser; /* what stood in the way of a full one */
	char scratch[48];         /* its folder on the host, or "" */
	char workdir[64];         /* in place of the plan's, or "" */
	char swapped[3][64];      /* variables of `env` */
	char **env;               /* in place of the plan's, or NULL */
};

void rf_box_init(struct rf_box *box, const struct rf_plan *plan);

/*
 * Raises all walls and starts pid 1, which waits for its orders; then proves what can be seen from
 * outside and sends them.  `init_path` is the program ringfort-init.  On failure nothing runs and
 * rf_box_done() cleans up.
 */
int rf_box_start(struct rf_box *box, const char *init_path, struct rf_err *err);

/*
 * The same, but pid 1 is left waiting for orders.  Standard streams are nobody's yet.  Not for a plan
 * with a terminal, nor for a lesser box.
 */
int rf_box_build(struct rf_box *box, const char *init_path, struct rf_err *err);

/*
 * Sends a box that was built ahead its orders: to run what `plan` (borrows) says, a plan of the same
 * shape as the one that it was built for, with the streams that it was given.
 */
int rf_box_wake(struct rf_box *box, const struct rf_plan *plan, unsigned umask, struct rf_err *err);

/*
 * The same for a box that is kept: it runs nothing, and what it is told to later (task.h) has streams of its own.
 */
int rf_box_keep(struct rf_box *box, const struct rf_plan *plan, struct rf_err *err);

/* Makes a pipe of somebody's, without a path, one that a program of the box can open again. */
int rf_box_own_stream(const struct rf_box *box, int stream, struct rf_err *err);

/* Gives it its id, if it has none: for who must know it before the box is built. */
int rf_box_name(struct rf_box *box, struct rf_err *err);

/* False for a plan whose box can't be built ahead: a terminal, profiles, too many words. */
bool rf_box_can_wait(const struct rf_plan *plan);

/* Gives the box its ends of somebody's pipes (takes), instead of pipes of our own. */
void rf_box_give_streams(struct rf_box *box, const int streams[3]);

/*
 * Throws away what was made of a box that did not start, to make it once more.  What others gave it, and know of it, stays: its id, who is
 * asked before it gets orders, its streams, its programs and whose groups it lies beneath.
 */
void rf_box_renew(struct rf_box *box);

/* Gives the launcher its processors back once the program has started. */
void rf_box_spread_out(struct rf_box *box);

/* Kills everything in the box.  Returns at once. */
void rf_box_kill(const struct rf_box *box);

/* Ends what runs and waits for it. */
void rf_box_stop(struct rf_box *box);

/* The same, and takes away all that was made. */
void rf_box_done(struct rf_box *box);

/* Says that the program's working directory could not be entered. */
int rf_box_fail_workdir(const char *workdir, int code, struct rf_err *err);

/*
 * Notes that this machine lacks something the plan wants.  Returns 0 if the plan may be weaker;
 * otherwise fails with what is missing and the remedy.
 */
int rf_box_lacks(struct rf_box *box, const char *what, const char *remedy, struct rf_err *err);

#endif
