/*
 * The system calls of a box: one table, from which the filter is built and the plan explained.
 *
 * A call is allowed, allowed with a look at its arguments, answered without being made, or refused.
 * Numbers that the table does not name are refused with ENOSYS, as an older kernel would, so that
 * programs fall back to what they used before.
 */
#ifndef RF_JAIL_CALLS_H
#define RF_JAIL_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/plan.h"

enum rf_call_check {
	RF_CHECK_NONE,
	RF_CHECK_MODE_1,     /* argument 1 is a mode without setuid and setgid bits */
	RF_CHECK_MODE_2,     /* the same for argument 2 */
	RF_CHECK_OPEN,       /* open(path, flags, mode): a file made here is not setuid */
	RF_CHECK_OPENAT,     /* openat(dir, path, flags, mode) */
	RF_CHECK_NODE_1,     /* mknod: a plain file, pipe or socket, not setuid */
	RF_CHECK_NODE_2,     /* mknodat */
	RF_CHECK_CLONE,      /* no new namespace */
	RF_CHECK_SOCKET,     /* families and protocols of the plan */
	RF_CHECK_SOCKETPAIR, /* unix only, and not for datagrams where unix sockets are off */
	RF_CHECK_IOCTL,      /* terminals, sockets, and few others: none that types or snapshots */
	RF_CHECK_PERSONALITY,
	RF_CHECK_RENAME,    /* leaves no whiteout, which is a device node */
	RF_CHECK_SETRLIMIT, /* core limits are left alone: see rlimit.c */
	RF_CHECK_PRLIMIT,
	RF_CHECK_FCNTL,         /* no leases, no directory signals */
	RF_CHECK_HUGE,          /* mmap, memfd_create, shmget: no pages of the host's pool */
	RF_CHECK_FUTEX,         /* those that others wait at stay there */
	RF_CHECK_PRCTL,         /* no table of futexes of any size */
	RF_CHECK_SOCKET_OPTION, /* no flow labels, of which a machine has few */
	RF_CHECK_MESSAGE,       /* no urgent byte, which unix sockets keep in a queue of its own */
	RF_CHECK_LANDLOCK,      /* no flag that keeps refusals out of the kernel's log */
	/* What pid 1, which has the box's uid, needs to end the box in time: */
	RF_CHECK_SPARES_INIT, /* argument 0 is not 1 */
	RF_CHECK_SPARES_INITS, /* setpriority, ioprio_set: nor a group or a user that it belongs to */
	/* In a lesser box, which shares its uid and pids with others: */
	RF_CHECK_OWN_PID,      /* argument 0 is 0, the caller */
	RF_CHECK_OWN_PRIORITY, /* setpriority, ioprio_set: of the caller or its group */
	RF_CHECK_NAME,         /* bind: only where a socket may have a name that is no path */
};

enum rf_call_verdict {
	RF_CALL_ALLOW,
	RF_CALL_FAKE,    /* answered with success, and not made */
	RF_CALL_REFUSE,  /* EPERM */
	RF_CALL_ABSENT,  /* ENOSYS: programs know what to do without it */
	RF_CALL_LACKING, /* EOPNOTSUPP, as on a file system that can't */
	RF_CALL_ASK,     /* the deputy does it, or it is refused: see deputy.h */
};

/* What a call does to a tree of the host that the box may write, beyond the content of files. */
enum rf_call_effect {
	RF_EFFECT_NONE,
	RF_EFFECT_ATTRIBUTES, /* sets what overlayfs and others read as orders of their own */
	RF_EFFECT_ALLOCATION, /* takes space that no counter of written bytes sees */
	RF_EFFECT_HOLDING,    /* keeps a file's space where nobody finds the file */
};

struct rf_call {
	const char *name;
	int nr;
};

/* Calls that share a fate and the reason for it. */
struct rf_call_group {
	const char *why;
	enum rf_call_verdict verdict;
	enum rf_call_verdict in_strict;  /* the verdict under `syscalls: strict` */
	enum rf_call_verdict in_sampled; /* where memory is only sampled */
	enum rf_call_verdict in_floor;   /* under `syscalls: floor`, where a profile decides */
	enum rf_call_check check;        /* of what is allowed */
	const struct rf_call *calls;
	size_t count;
	enum rf_call_verdict in_lesser;     /* in a lesser box, or ALLOW: as elsewhere */
	enum rf_call_check check_in_lesser; /* or NONE: as elsewhere */
	bool is_for_lesser_init;            /* which needs it, whatever the others say */
	enum rf_call_effect effect;         /* that the options can take away */
};

extern const struct rf_call_group rf_call_groups[];
extern const size_t rf_call_group_count;

/* What the filter depends on, beyond the table. */
struct rf_call_options {
	enum rf_syscalls syscalls;
	bool has_unix;         /* unix sockets may be made, besides pairs */
	bool has_inet;         /* inet and route sockets may be made */
	bool is_sampled;       /* memory has no hard limit: what a sampler can't see is refused */
	bool is_lesser;        /* no namespaces: what Landlock does not see is refused, */
	bool has_deputy;       /* or asked of the launcher */
	bool lacks_attributes; /* extended ones can't be set: the tree is the host's */
	bool lacks_allocation; /* space can't be claimed: only what is written is counted */
	bool lacks_holding;    /* nor kept out of sight: a layer is looked at for what it takes */
};

/* Those of a full box with this plan, whose memory has a hard limit.  Pure. */
struct rf_call_options rf_call_options_of(const struct rf_plan *plan);

/* What is looked at in an allowed call of the group. */
enum rf_call_check rf_call_check(const struct rf_call_group *group,
				 const struct rf_call_options *options);

enum rf_call_verdict rf_call_verdict(const struct rf_call_group *group,
				     const struct rf_call_options *options);

/* More numbers than any architecture has. */
#define RF_CALL_NUMBERS 512

/* The number of a call that this architecture has, by its name, or -1; and the other way round. */
int rf_call_find(const char *name);
const char *rf_call_name(int nr); /* "?" for one that the table does not name */

/* True for the name of a call that only other architectures have: nothing here can make it. */
bool rf_call_is_foreign(const char *name);

/* The name of a call that `word` may have been meant as, or NULL. */
const char *rf_call_nearest(const char *word);

#endif
